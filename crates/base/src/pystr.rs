//! Python's `str()` and `repr()` of a value, because a value embedded in text looks as the Python
//! programs print it (R2).
//!
//! Sets keep the order of the document; Python has no defined order.

mod printable;

use std::fmt::Write;

use crate::stack::grow;
use crate::value::{DateTime, Value};

/// Python's `str(value)`.
pub fn str(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        Value::Date(_) | Value::DateTime(_) => iso(value, ' '),
        _ => repr(value),
    }
}

/// Python's `repr(value)`.
pub fn repr(value: &Value) -> String {
    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = write_repr(&mut text, value);
    text
}

/// Python's `repr()` of a float: the shortest digits that read back, as `%r` lays them out.
pub fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf".into() } else { "inf".into() };
    }
    // Rust finds as many digits, but Python prefers an even last digit if two texts are equally near.
    let mut scientific = format!("{number:e}");
    let digits = scientific.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let even = format!("{number:.*e}", digits.saturating_sub(1));
    if even.parse() == Ok(number) {
        scientific = even;
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let places =
            usize::try_from(exponent.saturating_neg().saturating_add_unsigned(mantissa_places(mantissa)));
        return format!("{number:.*}", places.unwrap_or(0).max(1));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Number of digits after the point.
fn mantissa_places(mantissa: &str) -> u32 {
    let places = mantissa.split_once('.').map_or(0, |(_, places)| places.len());
    u32::try_from(places).unwrap_or(0)
}

/// `date.isoformat()` and `datetime.isoformat(separator)`; empty for other values.
pub fn iso(value: &Value, separator: char) -> String {
    match value {
        Value::Date(date) => format!("{:04}-{:02}-{:02}", date.year, date.month, date.day),
        Value::DateTime(time) => iso_time(time, separator),
        _ => String::new(),
    }
}

fn iso_time(time: &DateTime, separator: char) -> String {
    let DateTime { date, hour, minute, second, microsecond, offset } = time;
    let mut text = format!(
        "{:04}-{:02}-{:02}{separator}{hour:02}:{minute:02}:{second:02}",
        date.year, date.month, date.day
    );
    if *microsecond != 0 {
        let _ = write!(text, ".{microsecond:06}");
    }
    if let Some(offset) = offset {
        let (sign, seconds) = (if *offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
        let _ = write!(text, "{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
        if seconds % 60 != 0 {
            let _ = write!(text, ":{:02}", seconds % 60);
        }
    }
    text
}

fn write_repr(out: &mut String, value: &Value) -> std::fmt::Result {
    match value {
        Value::Null => out.write_str("None"),
        Value::Bool(true) => out.write_str("True"),
        Value::Bool(false) => out.write_str("False"),
        Value::Int(number) => write!(out, "{number}"),
        Value::BigInt(number) => write!(out, "{number}"),
        Value::Float(number) => out.write_str(&float(*number)),
        Value::Str(text) => write_str(out, text),
        Value::Binary(bytes) => write_bytes(out, bytes),
        Value::Date(date) => write!(out, "datetime.date({}, {}, {})", date.year, date.month, date.day),
        Value::DateTime(time) => write_datetime(out, time),
        Value::List(items) => write_items(out, "[", items, "]"),
        Value::Tuple(items) if items.len() == 1 => write_items(out, "(", items, ",)"),
        Value::Tuple(items) => write_items(out, "(", items, ")"),
        Value::Set(items) if items.is_empty() => out.write_str("set()"),
        Value::Set(items) => write_items(out, "{", items, "}"),
        Value::Map(map) => {
            out.write_char('{')?;
            for (number, (key, value)) in map.iter().enumerate() {
                if number > 0 {
                    out.write_str(", ")?;
                }
                write_repr(out, &key.0)?;
                out.write_str(": ")?;
                grow(|| write_repr(out, value))?;
            }
            out.write_char('}')
        }
    }
}

fn write_items(out: &mut String, open: &str, items: &[Value], close: &str) -> std::fmt::Result {
    out.write_str(open)?;
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.write_str(", ")?;
        }
        grow(|| write_repr(out, item))?;
    }
    out.write_str(close)
}

fn write_str(out: &mut String, text: &str) -> std::fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.write_char(quote)?;
    for character in text.chars() {
        match character {
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\\' => out.write_str("\\\\")?,
            _ if character == quote => write!(out, "\\{quote}")?,
            _ if printable::is_printable(character) => out.write_char(character)?,
            _ => match u32::from(character) {
                code @ ..=0xff => write!(out, "\\x{code:02x}")?,
                code @ ..=0xffff => write!(out, "\\u{code:04x}")?,
                code => write!(out, "\\U{code:08x}")?,
            },
        }
    }
    out.write_char(quote)
}

fn write_bytes(out: &mut String, bytes: &[u8]) -> std::fmt::Result {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    write!(out, "b{quote}")?;
    for byte in bytes {
        match byte {
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            b'\\' => out.write_str("\\\\")?,
            b' '..=b'~' if char::from(*byte) == quote => write!(out, "\\{quote}")?,
            b' '..=b'~' => out.write_char(char::from(*byte))?,
            _ => write!(out, "\\x{byte:02x}")?,
        }
    }
    out.write_char(quote)
}

fn write_datetime(out: &mut String, time: &DateTime) -> std::fmt::Result {
    let DateTime { date, hour, minute, second, microsecond, offset } = time;
    write!(out, "datetime.datetime({}, {}, {}, {hour}, {minute}", date.year, date.month, date.day)?;
    if *second != 0 || *microsecond != 0 {
        write!(out, ", {second}")?;
    }
    if *microsecond != 0 {
        write!(out, ", {microsecond}")?;
    }
    match offset {
        None => {}
        Some(0) => out.write_str(", tzinfo=datetime.timezone.utc")?,
        Some(offset) => {
            out.write_str(", tzinfo=datetime.timezone(datetime.timedelta(")?;
            let (days, seconds) = (offset.div_euclid(86400), offset.rem_euclid(86400));
            match (days, seconds) {
                (0, seconds) => write!(out, "seconds={seconds}")?,
                (days, 0) => write!(out, "days={days}")?,
                (days, seconds) => write!(out, "days={days}, seconds={seconds}")?,
            }
            out.write_str("))")?;
        }
    }
    out.write_char(')')
}
