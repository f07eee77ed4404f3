//! Scalars: the text of a scalar to a value, as in `PyYAML`'s `SafeLoader` (ruling Y1).
//!
//! [`implicit`] decides the type of a plain scalar; it is `resolver.py` with code in place of
//! regular expressions. [`construct`] makes the value for a tag (`constructor.py`). With an explicit
//! tag more texts are valid, because Python's `int()` and `float()` accept more than the resolver.

use std::sync::Arc;

use num_bigint::{BigInt, BigUint};

use super::timestamp;
use reclass_base::base64;
use reclass_base::error::Kind;
use reclass_base::value::Value;

/// Maximum decimal digits of an integer, `sys.int_info.default_max_str_digits` of Python 3.11.
const INT_DIGITS: u32 = 4300;
/// Bits of the largest integer with that many digits.
const INT_BITS: u64 = 14_285;
/// Maximum parts of a sexagesimal number; the cost grows with their square.
const SEXAGESIMAL_PARTS: usize = 10_000;

/// The tags that the loader knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tag {
    Null,
    Bool,
    Int,
    Float,
    Binary,
    Timestamp,
    Omap,
    Pairs,
    Set,
    Str,
    Seq,
    Map,
    Merge,
    Value,
    /// A plain scalar of YAML 1.2, whatever it is.
    Plain12,
}

impl Tag {
    /// The tag of a full name, `tag:yaml.org,2002:int`.
    pub(super) fn from_uri(uri: &str) -> Option<Tag> {
        Some(match uri.strip_prefix("tag:yaml.org,2002:")? {
            "str" => Tag::Str,
            "int" => Tag::Int,
            "null" => Tag::Null,
            "bool" => Tag::Bool,
            "float" => Tag::Float,
            "binary" => Tag::Binary,
            "timestamp" => Tag::Timestamp,
            "omap" => Tag::Omap,
            "pairs" => Tag::Pairs,
            "set" => Tag::Set,
            "seq" => Tag::Seq,
            "map" => Tag::Map,
            "merge" => Tag::Merge,
            "value" => Tag::Value,
            _ => return None,
        })
    }
}

/// The type of a plain scalar.
pub(super) fn implicit(text: &str) -> Tag {
    let Some(first) = text.bytes().next() else {
        return Tag::Null;
    };
    // Python's `$` also matches before a final line break.
    let text = text.strip_suffix('\n').unwrap_or(text);
    match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => implicit_number(text.as_bytes()),
        b'~' if text == "~" => Tag::Null,
        b'<' if text == "<<" => Tag::Merge,
        b'=' if text == "=" => Tag::Value,
        // No word is longer than `false`.
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' if text.len() <= 5 => {
            match text {
                "null" | "Null" | "NULL" => Tag::Null,
                "yes" | "Yes" | "YES" | "no" | "No" | "NO" | "true" | "True" | "TRUE" | "false" | "False"
                | "FALSE" | "on" | "On" | "ON" | "off" | "Off" | "OFF" => Tag::Bool,
                _ => Tag::Str,
            }
        }
        _ => Tag::Str,
    }
}

/// The value of a plain scalar in YAML 1.2, as reclass-rs reads it; `None` for a string.
fn implicit12(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Value::Null),
        "true" | "True" | "TRUE" => return Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Value::Bool(false)),
        ".nan" | ".NaN" | ".NAN" => return Some(Value::Float(f64::NAN)),
        _ => {}
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Some(Value::Float(f64::INFINITY.copysign(f64::from(sign))));
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = unsigned.strip_prefix(prefix) {
            return i64::from_str_radix(digits, radix)
                .ok()
                .map(|number| Value::Int(number * i64::from(sign)));
        }
    }
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if !unsigned.contains(|c: char| c.is_ascii_digit()) || !unsigned.chars().all(is_number) {
        return None;
    }
    // Zeros in front make a string.
    if unsigned.len() > 1 && unsigned.starts_with('0') && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match text.parse::<i64>() {
        Ok(number) => Some(Value::Int(number)),
        Err(_) => text.parse().ok().map(Value::Float),
    }
}

fn implicit_number(text: &[u8]) -> Tag {
    if is_float(text) {
        Tag::Float
    } else if is_int(text) {
        Tag::Int
    } else if is_timestamp(text) {
        Tag::Timestamp
    } else {
        Tag::Str
    }
}

fn unsigned(text: &[u8]) -> &[u8] {
    match text {
        [b'+' | b'-', rest @ ..] => rest,
        _ => text,
    }
}

/// The text without its longest prefix of such bytes.
fn skip(text: &[u8], belongs: impl Fn(u8) -> bool) -> &[u8] {
    let length = text.iter().position(|byte| !belongs(*byte)).unwrap_or(text.len());
    &text[length..]
}

fn digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

/// The text after `(?::[0-5]?[0-9])+`; `None` without a match.
fn skip_sexagesimal(mut text: &[u8]) -> Option<&[u8]> {
    let mut found = None;
    while let [b':', rest @ ..] = text {
        text = match rest {
            [b'0'..=b'5', b'0'..=b'9', rest @ ..] | [b'0'..=b'9', rest @ ..] => rest,
            _ => return found,
        };
        found = Some(text);
    }
    found
}

fn is_exponent(text: &[u8]) -> bool {
    matches!(text, [b'e' | b'E', b'+' | b'-', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

fn is_float(text: &[u8]) -> bool {
    let number = unsigned(text);
    match number {
        [b'.', b'0'..=b'9', rest @ ..] => {
            let rest = skip(rest, digit_or_underscore);
            number.len() == text.len() && (rest.is_empty() || is_exponent(rest))
        }
        [b'.', rest @ ..] => {
            matches!(rest, b"inf" | b"Inf" | b"INF")
                || number.len() == text.len() && matches!(rest, b"nan" | b"NaN" | b"NAN")
        }
        [b'0'..=b'9', rest @ ..] => match skip(rest, digit_or_underscore) {
            [b'.', rest @ ..] => {
                let rest = skip(rest, digit_or_underscore);
                rest.is_empty() || is_exponent(rest)
            }
            rest => match skip_sexagesimal(rest) {
                Some([b'.', rest @ ..]) => skip(rest, digit_or_underscore).is_empty(),
                _ => false,
            },
        },
        _ => false,
    }
}

fn is_int(text: &[u8]) -> bool {
    match unsigned(text) {
        b"0" => true,
        [b'0', b'b', rest @ ..] => {
            !rest.is_empty() && rest.iter().all(|byte| matches!(byte, b'0' | b'1' | b'_'))
        }
        [b'0', b'x', rest @ ..] => {
            !rest.is_empty() && rest.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'_')
        }
        [b'0', rest @ ..] => rest.iter().all(|byte| matches!(byte, b'0'..=b'7' | b'_')),
        [b'1'..=b'9', rest @ ..] => {
            let rest = skip(rest, digit_or_underscore);
            rest.is_empty() || skip_sexagesimal(rest).is_some_and(<[u8]>::is_empty)
        }
        _ => false,
    }
}

fn is_timestamp(text: &[u8]) -> bool {
    match timestamp::split(text) {
        Some(parts) => parts.time.is_some() || text.len() == 10,
        None => false,
    }
}

/// The value of a text with a tag; tags of collections are errors.
pub(super) fn construct(tag: Tag, text: &str) -> Result<Value, Kind> {
    match tag {
        Tag::Str => Ok(Value::text(text)),
        Tag::Plain12 => Ok(implicit12(text).unwrap_or_else(|| Value::text(text))),
        Tag::Null => Ok(Value::Null),
        Tag::Bool => match text.to_lowercase().as_str() {
            "yes" | "true" | "on" => Ok(Value::Bool(true)),
            "no" | "false" | "off" => Ok(Value::Bool(false)),
            _ => Err(invalid("boolean")),
        },
        Tag::Int => int(text),
        Tag::Float => float(text).map(Value::Float),
        Tag::Binary => base64::decode(text)
            .map(|bytes| Value::Binary(bytes.into()))
            .ok_or_else(|| invalid("base64 data")),
        Tag::Timestamp => timestamp::construct(text),
        Tag::Omap | Tag::Pairs | Tag::Set | Tag::Seq | Tag::Map | Tag::Merge | Tag::Value => {
            Err(Kind::YamlTag { tag: None })
        }
    }
}

fn invalid(what: &str) -> Kind {
    Kind::YamlSyntax { message: format!("invalid {what}"), help: None }
}

fn int(text: &str) -> Result<Value, Kind> {
    if let Some(number) = small_int(text.as_bytes()) {
        return Ok(Value::Int(number));
    }
    let text: String = text.chars().filter(|character| *character != '_').collect();
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let number = if digits == "0" {
        BigInt::ZERO
    } else if let Some(bits) = digits.strip_prefix("0b") {
        python_int(bits, 2)?
    } else if let Some(nibbles) = digits.strip_prefix("0x") {
        python_int(nibbles, 16)?
    } else if digits.starts_with('0') {
        python_int(digits, 8)?
    } else if digits.contains(':') {
        let mut number = BigInt::ZERO;
        for part in sexagesimal(digits)? {
            number = number * 60 + python_int(part, 10)?;
        }
        number
    } else {
        python_int(digits, 10)?
    };
    if number.bits() >= INT_BITS && *number.magnitude() >= BigUint::from(10u8).pow(INT_DIGITS) {
        return Err(too_long());
    }
    let number = if negative { -number } else { number };
    Ok(match i64::try_from(&number) {
        Ok(number) => Value::Int(number),
        Err(_) => Value::BigInt(Arc::new(number)),
    })
}

/// Fast path for decimals of at most 18 digits.
fn small_int(text: &[u8]) -> Option<i64> {
    let digits = unsigned(text);
    let leading_zero = digits.first() == Some(&b'0') && digits.len() > 1;
    if leading_zero || digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    Some(if text.first() == Some(&b'-') { -number } else { number })
}

fn too_long() -> Kind {
    let what = "the number of decimal digits of an integer".into();
    Kind::YamlLimit { what, limit: INT_DIGITS as usize, setting: None }
}

fn sexagesimal(text: &str) -> Result<std::str::Split<'_, char>, Kind> {
    if text.matches(':').count() >= SEXAGESIMAL_PARTS {
        return Err(Kind::YamlLimit {
            what: "the length of a sexagesimal number".into(),
            limit: SEXAGESIMAL_PARTS,
            setting: None,
        });
    }
    Ok(text.split(':'))
}

/// Python's `int(text, radix)`, for a text without underscores.
fn python_int(text: &str, radix: u32) -> Result<BigInt, Kind> {
    let text = plain_digits(text);
    let text = text.trim_matches(is_python_space);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefixes = match radix {
        2 => ["0b", "0B"],
        8 => ["0o", "0O"],
        16 => ["0x", "0X"],
        _ => [":", ":"],
    };
    let digits = prefixes.iter().find_map(|prefix| digits.strip_prefix(prefix)).unwrap_or(digits);
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(invalid("integer"));
    }
    // Python counts the digits of a decimal with leading zeros; `int` checks the other radixes again.
    let bits = match radix {
        10 => 0,
        radix => digits.trim_start_matches('0').len() as u64 * u64::from(radix.ilog2()),
    };
    if (radix == 10 && digits.len() > INT_DIGITS as usize) || bits > INT_BITS + 4 {
        return Err(too_long());
    }
    let number = BigInt::parse_bytes(digits.as_bytes(), radix).ok_or_else(|| invalid("integer"))?;
    Ok(if negative { -number } else { number })
}

fn float(text: &str) -> Result<f64, Kind> {
    let text: String = text.chars().filter(|character| *character != '_').collect();
    let text = text.to_lowercase();
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let number = if digits == ".inf" {
        f64::INFINITY
    } else if digits == ".nan" {
        return Ok(f64::NAN);
    } else if digits.contains(':') {
        // From the last part, with exact powers of sixty: the order affects rounding.
        let mut number = 0.0;
        let mut base = BigInt::from(1);
        for part in sexagesimal(digits)?.rev() {
            // In Python, a power that exceeds a float is an OverflowError.
            let weight: f64 = base.to_string().parse().map_err(|_| invalid("float"))?;
            if weight.is_infinite() {
                return Err(invalid("float"));
            }
            number += python_float(part)? * weight;
            base *= 60;
        }
        number
    } else if digits.is_empty() {
        return Err(invalid("float"));
    } else {
        python_float(digits)?
    };
    Ok(if negative { -number } else { number })
}

/// Python's `float(text)`, for a text without underscores.
fn python_float(text: &str) -> Result<f64, Kind> {
    plain_digits(text).trim_matches(is_python_space).parse().map_err(|_| invalid("float"))
}

fn is_python_space(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
}

/// The zeros of all scripts with digits for `int()` and `float()` (Unicode 14, category Nd).
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50,
    0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40,
    0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066,
    0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950,
    0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6,
    0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// Replaces digits of other scripts by ASCII digits.
fn plain_digits(text: &str) -> std::borrow::Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let plain = |character: char| {
        let code = u32::from(character);
        let before = ZEROS.partition_point(|zero| *zero <= code);
        let digit = before
            .checked_sub(1)
            .and_then(|index| code.checked_sub(ZEROS[index]))
            .filter(|digit| *digit < 10);
        digit.and_then(|digit| char::from_digit(digit, 10)).unwrap_or(character)
    };
    text.chars().map(plain).collect::<String>().into()
}
