//! Final data: every reference is resolved, and the types are those that `PyYAML` gives to Python.
//!
//! Values are immutable and shared: a clone copies a pointer. Equality is strict: types, the order
//! of keys and the sign of zero count, and `nan` equals `nan`. [`Key`] has the looser equality of
//! Python's dict keys, where `1`, `1.0` and `true` are one key.

mod copy;
mod serialize;
mod weak;

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use arcstr::ArcStr;
use num_bigint::BigInt;

pub use copy::{ObjectCopies, has_objects};
pub use serialize::{INDEX, apart};
pub use weak::WeakContainer;

/// Bytes of memory of a text, without its letters.
pub const TEXT: usize = 24;

/// Bytes of memory of a container, without its entries.
pub const CONTAINER: usize = 96;

/// Shared, immutable text, one word wide. Equal pointers are equal texts.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Text(ArcStr);

impl Text {
    /// True if both are the same allocation.
    pub fn same(&self, other: &Text) -> bool {
        ArcStr::ptr_eq(&self.0, &other.0)
    }
    /// True if this is the only owner of the allocation.
    pub fn is_alone(&self) -> bool {
        ArcStr::strong_count(&self.0) == Some(1)
    }
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// The address of the allocation, a key for caches of objects built from the text.
    pub fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }
}
impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}
impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        &self.0
    }
}
impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}
impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(ArcStr::from(text))
    }
}
impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(ArcStr::from(text))
    }
}
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// A calendar date, as YAML 1.1 writes it (`2001-12-14`). Year 1 to 9999.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Date {
    /// 1 to 9999.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

/// A date and time with an optional offset from UTC, as Python's `datetime`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DateTime {
    /// The date.
    pub date: Date,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999999.
    pub microsecond: u32,
    /// Offset from UTC in seconds; `None` for a naive time.
    pub offset: Option<i32>,
}

/// Plain data. Ordered maps, shared containers, no references.
///
/// Dates, sets and tuples are behind an [`Arc`] because Python's YAML writer
/// gives two occurrences of one object an anchor and an alias: the identity of
/// the allocation is the identity of the Python object.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `null`, Python's `None`.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// An integer outside of 64 bits.
    BigInt(Arc<BigInt>),
    /// A float.
    Float(f64),
    /// A string.
    Str(Text),
    /// `!!binary`, Python's `bytes`.
    Binary(Arc<Vec<u8>>),
    /// A date.
    Date(Arc<Date>),
    /// A date and time.
    DateTime(Arc<DateTime>),
    /// A list.
    List(Arc<Vec<Value>>),
    /// A tuple: the pairs of `!!omap` and `!!pairs`.
    Tuple(Arc<Vec<Value>>),
    /// `!!set`, in the order of the document.
    Set(Arc<Vec<Value>>),
    /// A mapping.
    Map(Arc<Map>),
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::BigInt(a), Value::BigInt(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Binary(a), Value::Binary(b)) => a == b,
            (Value::Date(a), Value::Date(b)) => a == b,
            (Value::DateTime(a), Value::DateTime(b)) => a == b,
            (Value::List(a), Value::List(b))
            | (Value::Tuple(a), Value::Tuple(b))
            | (Value::Set(a), Value::Set(b)) => Arc::ptr_eq(a, b) || a == b,
            (Value::Map(a), Value::Map(b)) => {
                let same = |(a, b): ((&Key, &Value), (&Key, &Value))| a.0.same(b.0) && a.1 == b.1;
                Arc::ptr_eq(a, b) || (a.len() == b.len() && a.iter().zip(b.iter()).all(same))
            }
            _ => false,
        }
    }
}

/// The mapping of a [`Value`]: insertion order is part of it.
pub type Map = crate::table::Table<Value>;

impl Value {
    /// A string value.
    pub fn text(text: impl Into<Text>) -> Value {
        Value::Str(text.into())
    }
    /// A list value.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(Arc::new(items))
    }
    /// A list of strings.
    pub fn texts(items: &[Text]) -> Value {
        Value::list(items.iter().cloned().map(Value::Str).collect())
    }
    /// A map value.
    pub fn map(map: Map) -> Value {
        Value::Map(Arc::new(map))
    }
    /// A map value with these keys.
    pub fn record<const N: usize>(entries: [(&str, Value); N]) -> Value {
        Value::map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }
    /// The map of a mapping.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }
    /// The address of a mapping or a list. Containers in use at the same time have different addresses.
    pub fn container_address(&self) -> Option<usize> {
        match self {
            Value::Map(map) => Some(Arc::as_ptr(map).addr()),
            Value::List(list) => Some(Arc::as_ptr(list).addr()),
            _ => None,
        }
    }
    /// The name of the type for users: `string`, `list`, `mapping` and so on.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Int(_) | Value::BigInt(_) => "integer",
            Value::Float(_) => "float",
            Value::Str(_) => "string",
            Value::Binary(_) => "binary",
            Value::Date(_) => "date",
            Value::DateTime(_) => "timestamp",
            Value::List(_) => "list",
            Value::Tuple(_) => "pair",
            Value::Set(_) => "set",
            Value::Map(_) => "mapping",
        }
    }
}

/// A key of a mapping: any scalar. Equal as Python's dict keys are: by the exact
/// value across booleans, integers and floats, by text for strings.
///
/// A `str` can be looked up in a [`Map`] without building a key.
#[derive(Clone, Debug)]
pub struct Key(pub Value);

impl Key {
    /// True if the keys are equal as values: `1` is not `1.0`.
    pub fn same(&self, other: &Key) -> bool {
        self.0 == other.0
    }
    /// The text of a string key.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_str()
    }
    fn as_number(&self) -> Option<Number<'_>> {
        match &self.0 {
            Value::Bool(flag) => Some(Number::Int(i64::from(*flag))),
            Value::Int(number) => Some(Number::Int(*number)),
            Value::BigInt(number) => Some(Number::Big(Cow::Borrowed(number))),
            Value::Float(number) => Some(Number::of(*number)),
            _ => None,
        }
    }
}

/// A number in canonical form: equal numbers have equal forms.
#[derive(PartialEq, Hash)]
enum Number<'a> {
    Int(i64),
    /// An integer outside of 64 bits.
    Big(Cow<'a, BigInt>),
    /// The bits of a float that is not an integer.
    Float(u64),
}

impl Number<'_> {
    fn of(number: f64) -> Number<'static> {
        const BEYOND: f64 = 9_223_372_036_854_775_808.0;
        if number.is_nan() {
            // PyYAML has one object for all of them, and dicts compare the identity of objects first.
            Number::Float(f64::NAN.to_bits())
        } else if number.is_infinite() || number.fract() != 0.0 {
            Number::Float(number.to_bits())
        } else if (-BEYOND..BEYOND).contains(&number) {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and within 64 bits")]
            Number::Int(number as i64)
        } else {
            let bits = number.to_bits();
            let mantissa = BigInt::from(bits & ((1 << 52) - 1) | 1 << 52);
            let whole = mantissa << ((bits >> 52 & 0x7ff) - 1075);
            Number::Big(Cow::Owned(if number < 0.0 { -whole } else { whole }))
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        match (&self.0, &other.0) {
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (a, b) => match (self.as_number(), other.as_number()) {
                (Some(a), Some(b)) => a == b,
                (None, None) => a == b,
                _ => false,
            },
        }
    }
}
impl Eq for Key {}
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            // The hash of `str`, so that a text can look up a key.
            Value::Str(text) => text.hash(state),
            Value::Binary(bytes) => bytes.hash(state),
            Value::Date(date) => date.hash(state),
            Value::DateTime(time) => time.hash(state),
            _ => self.as_number().hash(state),
        }
    }
}
impl indexmap::Equivalent<Key> for str {
    fn equivalent(&self, key: &Key) -> bool {
        key.as_str() == Some(self)
    }
}
impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key(Value::Str(text.into()))
    }
}
impl From<Text> for Key {
    fn from(text: Text) -> Key {
        Key(Value::Str(text))
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher as _, RandomState};

    use super::*;

    /// The numbers of each row are one key for `CPython`; different rows are different keys.
    #[test]
    fn keys_are_those_of_python() {
        let big = |text: &str| Value::BigInt(Arc::new(text.parse().expect("a number")));
        let rows = [
            vec![Value::Int(1), Value::Float(1.0), Value::Bool(true)],
            vec![Value::Int(0), Value::Float(0.0), Value::Float(-0.0), Value::Bool(false)],
            vec![Value::Int(9_007_199_254_740_992), Value::Float(9_007_199_254_740_992.0)],
            vec![Value::Int(9_007_199_254_740_993)],
            vec![Value::Int(i64::MIN), Value::Float(-9_223_372_036_854_775_808.0)],
            vec![Value::Int(i64::MAX)],
            vec![big("9223372036854775808"), Value::Float(9_223_372_036_854_775_808.0)],
            vec![big("100000000000000000000"), Value::Float(1e20)],
            vec![big("-100000000000000000000"), Value::Float(-1e20)],
            vec![big("100000000000000000001")],
            vec![Value::Float(f64::MAX)],
            vec![Value::Float(1.5)],
            vec![Value::Float(f64::INFINITY)],
            vec![Value::Float(f64::NEG_INFINITY)],
            vec![Value::Float(f64::NAN)],
            vec![Value::Float(f64::MIN_POSITIVE)],
            vec![Value::text("1")],
            vec![Value::Null],
        ];
        let state = RandomState::new();
        let keys: Vec<(usize, Key)> = (0..)
            .zip(rows)
            .flat_map(|(row, values)| values.into_iter().map(move |value| (row, Key(value))))
            .collect();
        for (row, one) in &keys {
            for (other_row, other) in &keys {
                assert_eq!(one == other, row == other_row, "{one:?} {other:?}");
                assert!(one != other || state.hash_one(one) == state.hash_one(other), "{one:?} {other:?}");
            }
        }
    }
}
