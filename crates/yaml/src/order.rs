//! Sorts keys as Python's `sorted()` does, because `yaml.dump` writes sorted mappings.

use std::cmp::Ordering;

use num_bigint::BigInt;

use reclass_base::value::{DateTime, Value};

/// Sorts by key; keeps the order if Python cannot compare two of the keys.
pub(super) fn sort_by_key<T>(mut items: Vec<T>, key: impl Fn(&T) -> &Value) -> Vec<T> {
    let mut groups = items.iter().map(|item| sort_group(key(item)));
    let first = groups.next();
    if items.len() < 2
        || first.is_none_or(|first| first == SortGroup::Other || groups.any(|sort_group| sort_group != first))
    {
        return items;
    }
    if first == Some(SortGroup::Str) {
        items.sort_by(|a, b| key(a).as_str().cmp(&key(b).as_str()));
        return items;
    }
    items.sort_by(|a, b| compare(key(a), key(b)).unwrap_or(Ordering::Equal));
    items
}

/// Types that Python can compare with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SortGroup {
    Number,
    Str,
    Binary,
    Date,
    Naive,
    Aware,
    Other,
}

fn sort_group(value: &Value) -> SortGroup {
    match value {
        // `nan` is neither less nor greater than anything, so its place depends on Python's algorithm.
        Value::Float(number) if number.is_nan() => SortGroup::Other,
        Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) => SortGroup::Number,
        Value::Str(_) => SortGroup::Str,
        Value::Binary(_) => SortGroup::Binary,
        Value::Date(_) => SortGroup::Date,
        Value::DateTime(time) if time.offset.is_some() => SortGroup::Aware,
        Value::DateTime(_) => SortGroup::Naive,
        _ => SortGroup::Other,
    }
}

fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Some(a.as_str().cmp(b.as_str())),
        (Value::Binary(a), Value::Binary(b)) => Some(a.cmp(b)),
        (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
        (Value::DateTime(a), Value::DateTime(b)) => Some(microseconds(a).cmp(&microseconds(b))),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Float(a), b) => Some(compare_float(*a, &integer(b)?)?),
        (a, Value::Float(b)) => Some(compare_float(*b, &integer(a)?)?.reverse()),
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (a, b) => Some(integer(a)?.cmp(&integer(b)?)),
    }
}

fn integer(value: &Value) -> Option<BigInt> {
    match value {
        Value::Bool(flag) => Some(u8::from(*flag).into()),
        Value::Int(number) => Some((*number).into()),
        Value::BigInt(number) => Some((**number).clone()),
        _ => None,
    }
}

/// Exact, as in Python: the integer is not converted to a float.
fn compare_float(float: f64, integer: &BigInt) -> Option<Ordering> {
    if float.is_infinite() {
        return float.partial_cmp(&0.0);
    }
    let whole: BigInt = format!("{:.0}", float.trunc()).parse().ok()?;
    Some(whole.cmp(integer).then(float.fract().partial_cmp(&0.0)?))
}

/// Microseconds since the year zero, in UTC if the time has an offset.
fn microseconds(time: &DateTime) -> i64 {
    let (year, month, day) =
        (i64::from(time.date.year), i64::from(time.date.month), i64::from(time.date.day));
    // Days as in the proleptic Gregorian calendar, with years that begin in March.
    let year = if month <= 2 { year - 1 } else { year };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * ((month + 9) % 12) + 2) / 5 + day;
    let clock = i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + i64::from(time.second);
    let seconds = days * 86400 + clock - i64::from(time.offset.unwrap_or(0));
    seconds * 1_000_000 + i64::from(time.microsecond)
}
