//! Parses YAML 1.1 timestamps to dates, or dates and times, as `PyYAML` does.

use std::sync::Arc;

use reclass_base::error::Kind;
use reclass_base::value::{Date, DateTime, Value};

/// The parts of a timestamp, not yet checked for their range.
#[derive(Default)]
pub(super) struct Parts {
    year: u32,
    month: u32,
    day: u32,
    /// The time after the date.
    pub(super) time: Option<Time>,
}

#[derive(Default)]
pub(super) struct Time {
    hour: u32,
    minute: u32,
    second: u32,
    microsecond: u32,
    offset: Option<i32>,
}

/// A number of `fewest` to `most` digits.
fn number(text: &mut &[u8], fewest: usize, most: usize) -> Option<u32> {
    let length = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    if length < fewest {
        return None;
    }
    let (digits, rest) = text.split_at(length);
    *text = rest;
    Some(digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
}

fn take(text: &mut &[u8], byte: u8) -> bool {
    match text.split_first() {
        Some((first, rest)) if *first == byte => {
            *text = rest;
            true
        }
        _ => false,
    }
}

fn skip_blanks(text: &mut &[u8]) -> bool {
    let length = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    *text = &text[length..];
    length > 0
}

/// `PyYAML`'s `timestamp_regexp`: month and day may have one digit.
pub(super) fn split(mut text: &[u8]) -> Option<Parts> {
    let text = &mut text;
    let mut parts = Parts { year: number(text, 4, 4)?, ..Parts::default() };
    if !take(text, b'-') {
        return None;
    }
    parts.month = number(text, 1, 2)?;
    if !take(text, b'-') {
        return None;
    }
    parts.day = number(text, 1, 2)?;
    if !text.is_empty() {
        if !take(text, b'T') && !take(text, b't') && !skip_blanks(text) {
            return None;
        }
        parts.time = Some(split_time(text)?);
    }
    text.is_empty().then_some(parts)
}

fn split_time(text: &mut &[u8]) -> Option<Time> {
    let mut time = Time { hour: number(text, 1, 2)?, ..Time::default() };
    if !take(text, b':') {
        return None;
    }
    time.minute = number(text, 2, 2)?;
    if !take(text, b':') {
        return None;
    }
    time.second = number(text, 2, 2)?;
    if take(text, b'.') {
        let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = text.split_at(length);
        *text = rest;
        // Digits after microseconds are dropped.
        time.microsecond = (0..6).fold(0, |number, place| {
            number * 10 + digits.get(place).map_or(0, |digit| u32::from(digit - b'0'))
        });
    }
    if text.is_empty() {
        return Some(time);
    }
    skip_blanks(text);
    if take(text, b'Z') {
        time.offset = Some(0);
        return Some(time);
    }
    let sign = if take(text, b'-') {
        -1
    } else if take(text, b'+') {
        1
    } else {
        return None;
    };
    let hours = number(text, 1, 2)?;
    let minutes = if take(text, b':') { number(text, 2, 2)? } else { 0 };
    time.offset = Some(sign * i32::try_from(hours * 3600 + minutes * 60).ok()?);
    Some(time)
}

/// The value of a timestamp; nonexistent dates and times are errors.
pub(super) fn construct(text: &str) -> Result<Value, Kind> {
    let invalid = || Kind::YamlSyntax { message: "invalid timestamp".into(), help: None };
    let parts = split(text.strip_suffix('\n').unwrap_or(text).as_bytes()).ok_or_else(invalid)?;
    let leap = parts.year % 4 == 0 && (parts.year % 100 != 0 || parts.year % 400 == 0);
    let days = match parts.month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    let narrow = |number: u32| u8::try_from(number).map_err(|_| invalid());
    if parts.year == 0 || parts.day == 0 || parts.day > days {
        return Err(invalid());
    }
    let year = u16::try_from(parts.year).map_err(|_| invalid())?;
    let date = Date { year, month: narrow(parts.month)?, day: narrow(parts.day)? };
    let Some(time) = parts.time else {
        return Ok(Value::Date(Arc::new(date)));
    };
    let far = time.offset.is_some_and(|offset| offset.abs() >= 24 * 3600);
    if time.hour > 23 || time.minute > 59 || time.second > 59 || far {
        return Err(invalid());
    }
    Ok(Value::DateTime(Arc::new(DateTime {
        date,
        hour: narrow(time.hour)?,
        minute: narrow(time.minute)?,
        second: narrow(time.second)?,
        microsecond: time.microsecond,
        offset: time.offset,
    })))
}
