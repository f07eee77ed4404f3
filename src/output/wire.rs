//! Converts a value to a form that Salt carries to a minion unchanged.
//!
//! Salt packs a pillar with msgpack and unpacks it on the minion. Some types change in transit: a timestamp
//! loses its offset, a big integer becomes a string. Others make the whole pillar unusable. The converted
//! value equals the value on the minion, and nothing is lost silently (ruling Y4):
//!
//! | value                                | carried as                                  |
//! |--------------------------------------|---------------------------------------------|
//! | null, boolean, float, string         | itself                                      |
//! | integer in −2⁶³ … 2⁶⁴−1              | itself                                      |
//! | integer beyond                       | an error                                    |
//! | date, timestamp                      | ISO 8601 text with the offset               |
//! | binary that is UTF-8                 | its text, as Salt converts it               |
//! | other binary                         | itself                                      |
//! | list, pair, set                      | a list                                      |
//! | mapping                              | a mapping in its order                      |
//! | key: null, boolean, integer, float   | itself                                      |
//! | key: date, timestamp, UTF-8 binary   | its text                                    |
//! | key: anything else                   | an error                                    |
//! | two keys that become one             | an error                                    |
//! | more than [`DEPTH`] containers deep  | an error                                    |
//!
//! Errors name the paths of all parameters that cannot be carried, never a value. Values that need no change
//! are not copied.

use num_bigint::BigInt;

use reclass_base::error::{Error, Fault, Kind, MAX_FAULTS, Result, article, push_fault, short};
use reclass_base::pystr;
use reclass_base::value::{Key, Map, Value};

/// Maximum nesting depth of containers. A Salt 3008 minion searches its pillar for secrets. It fails with a
/// `RecursionError` somewhere above depth 130, and at 200 it no longer answers at all; Salt's wire format
/// carries 600.
pub const DEPTH: usize = 128;

/// The value as Salt's wire format carries it.
///
/// `root` names the whole value in errors that concern no single parameter. `delimiter` separates the keys of
/// a path, as in references.
pub fn carry(value: &Value, root: &str, delimiter: &str) -> Result<Value> {
    let mut carrier = Carrier { root, delimiter, path: Vec::new(), faults: Vec::new() };
    let changed = carrier.value(value);
    if carrier.faults.is_empty() {
        Ok(changed.unwrap_or_else(|| value.clone()))
    } else {
        Err(Error::new(carrier.faults))
    }
}

/// Whether a value is a scalar that is carried unchanged without a check.
fn is_plain(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_))
}

/// Converts values for the wire and collects faults.
struct Carrier<'a> {
    root: &'a str,
    delimiter: &'a str,
    /// The path of the current value.
    path: Vec<PathPart>,
    /// The faults in document order.
    faults: Vec<Fault>,
}

/// A key or an index in a path.
enum PathPart {
    Key(Key),
    Index(usize),
}

impl PathPart {
    fn text(&self) -> String {
        match self {
            PathPart::Key(key) => pystr::str(&key.0),
            PathPart::Index(index) => index.to_string(),
        }
    }
}

impl Carrier<'_> {
    /// The converted value; `None` if it stays unchanged or has a fault.
    fn value(&mut self, value: &Value) -> Option<Value> {
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => None,
            Value::BigInt(number) => {
                self.number(number);
                None
            }
            Value::Binary(bytes) => std::str::from_utf8(bytes).ok().map(Value::text),
            Value::Date(_) | Value::DateTime(_) => Some(Value::text(pystr::iso(value, 'T'))),
            Value::List(items) => self.items(items).map(Value::list),
            Value::Tuple(items) | Value::Set(items) => {
                Some(Value::list(self.items(items).unwrap_or_else(|| (**items).clone())))
            }
            Value::Map(map) => self.map(map).map(Value::map),
        }
    }

    fn items(&mut self, items: &[Value]) -> Option<Vec<Value>> {
        self.enter()?;
        let mut changed: Option<Vec<Value>> = None;
        for (index, item) in items.iter().enumerate() {
            self.path.push(PathPart::Index(index));
            if let Some(new) = self.value(item) {
                changed.get_or_insert_with(|| items.to_vec())[index] = new;
            }
            self.path.pop();
        }
        changed
    }

    fn map(&mut self, map: &Map) -> Option<Map> {
        self.enter()?;
        if map.keys().any(|key| !is_plain(&key.0)) {
            return Some(self.map_with_keys(map));
        }
        let mut changed: Option<Map> = None;
        for (index, (key, value)) in map.iter().enumerate() {
            self.path.push(PathPart::Key(key.clone()));
            if let Some(new) = self.value(value)
                && let Some((_, place)) = changed.get_or_insert_with(|| map.clone()).get_index_mut(index)
            {
                *place = new;
            }
            self.path.pop();
        }
        changed
    }

    /// Converts a mapping whose keys may change too.
    fn map_with_keys(&mut self, map: &Map) -> Map {
        let mut entries = Vec::with_capacity(map.len());
        for (key, value) in map {
            let key = self.key(key).unwrap_or_else(|| key.clone());
            self.path.push(PathPart::Key(key.clone()));
            entries.push((key, self.value(value).unwrap_or_else(|| value.clone())));
            self.path.pop();
        }
        let mut changed = Map::default();
        for (key, value) in entries {
            if changed.insert(key.clone(), value).is_some() {
                self.path.push(PathPart::Key(key));
                self.fault("two keys become the same text on the way to the minion");
                self.path.pop();
            }
        }
        changed
    }

    /// The converted key; `None` if it stays unchanged or has a fault.
    fn key(&mut self, key: &Key) -> Option<Key> {
        let text = match &key.0 {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {
                return None;
            }
            Value::BigInt(number) => {
                self.number(number);
                return None;
            }
            time @ (Value::Date(_) | Value::DateTime(_)) => pystr::iso(time, 'T'),
            Value::Binary(bytes) => {
                let Ok(text) = std::str::from_utf8(bytes) else {
                    self.fault("a binary key cannot be carried to a minion");
                    return None;
                };
                text.to_owned()
            }
            Value::List(_) | Value::Tuple(_) | Value::Set(_) | Value::Map(_) => {
                self.fault(&format!("{} as a key cannot be carried to a minion", article(key.0.type_name())));
                return None;
            }
        };
        Some(Key(Value::text(text)))
    }

    fn number(&mut self, number: &BigInt) {
        if i64::try_from(number).is_err() && u64::try_from(number).is_err() {
            self.fault("an integer of more than 64 bits cannot be carried to a minion; write it as a string");
        }
    }

    /// Enters a container; `None` if it is too deep.
    fn enter(&mut self) -> Option<()> {
        if self.path.len() < DEPTH {
            return Some(());
        }
        self.fault(&format!("more than {DEPTH} levels of mappings and lists cannot be carried to a minion"));
        None
    }

    fn fault(&mut self, what: &str) {
        if self.faults.len() > MAX_FAULTS {
            return;
        }
        let text = |step: &PathPart| short(&step.text()).into_owned();
        let joined = |path: &[PathPart]| path.iter().map(text).collect::<Vec<_>>().join(self.delimiter);
        let path = match self.path.as_slice() {
            [] => self.root.to_owned(),
            // For a deep path only the beginning is shown; the rest would fill the screen.
            [first @ .., _] if first.len() > 16 => format!("{}{}…", joined(&self.path[..16]), self.delimiter),
            path => joined(path),
        };
        push_fault(&mut self.faults, Fault::new(Kind::WireType { what: what.to_owned() }).in_path(path));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use reclass_base::value::{Date, DateTime};

    fn map(entries: Vec<(Value, Value)>) -> Value {
        Value::map(entries.into_iter().map(|(key, value)| (Key(key), value)).collect())
    }
    fn text(text: &str) -> Value {
        Value::text(text)
    }
    fn date() -> Value {
        Value::Date(Arc::new(Date { year: 2001, month: 2, day: 3 }))
    }
    fn time(microsecond: u32, offset: Option<i32>) -> Value {
        let date = Date { year: 2001, month: 12, day: 14 };
        Value::DateTime(Arc::new(DateTime { date, hour: 21, minute: 59, second: 43, microsecond, offset }))
    }
    fn big(text: &str) -> Value {
        Value::BigInt(Arc::new(text.parse().unwrap()))
    }
    fn carried(value: &Value) -> Value {
        carry(value, "parameters", ":").unwrap()
    }
    /// The message and the path of the refusal.
    fn refusal(value: &Value) -> (String, String) {
        let error = carry(value, "parameters", ":").unwrap_err();
        let fault = error.first();
        assert_eq!(fault.code(), "wire-type");
        (fault.kind.to_string(), fault.path.clone().unwrap())
    }

    #[test]
    fn plain_data_is_not_copied() {
        let value = map(vec![
            (text("a"), Value::list(vec![Value::Null, Value::Bool(true), Value::Int(i64::MIN)])),
            (Value::Int(1), map(vec![(Value::Null, Value::Float(f64::INFINITY))])),
            (Value::Float(2.5), big("18446744073709551615")),
        ]);
        let (Value::Map(before), Value::Map(after)) = (&value, &carried(&value)) else { panic!("a map") };
        assert!(Arc::ptr_eq(before, after));
    }

    #[test]
    fn unchanged_siblings_stay_shared() {
        let sibling = Arc::new(vec![Value::Int(1)]);
        let value = map(vec![(text("d"), date()), (text("l"), Value::List(sibling.clone()))]);
        let carried = carried(&value);
        let Some(Value::List(after)) = carried.as_map().unwrap().get("l") else { panic!("a list") };
        assert!(Arc::ptr_eq(&sibling, after));
    }

    #[test]
    fn dates_and_timestamps_are_iso_8601() {
        for (value, expected) in [
            (date(), "2001-02-03"),
            (time(0, None), "2001-12-14T21:59:43"),
            (time(100_000, Some(-18000)), "2001-12-14T21:59:43.100000-05:00"),
            (time(0, Some(0)), "2001-12-14T21:59:43+00:00"),
            (time(1, Some(19800)), "2001-12-14T21:59:43.000001+05:30"),
        ] {
            assert_eq!(carried(&value), text(expected));
        }
    }

    #[test]
    fn sets_and_pairs_are_lists() {
        let pair = Value::Tuple(Arc::new(vec![text("k"), date()]));
        let set = Value::Set(Arc::new(vec![text("x"), pair]));
        let expected = Value::list(vec![text("x"), Value::list(vec![text("k"), text("2001-02-03")])]);
        assert_eq!(carried(&set), expected);
    }

    #[test]
    fn binary_is_what_salt_makes_of_it() {
        assert_eq!(carried(&Value::Binary(Arc::new(b"abc".to_vec()))), text("abc"));
        let raw = Value::Binary(Arc::new(b"\xff\x00".to_vec()));
        assert_eq!(carried(&raw), raw);
    }

    #[test]
    fn integers_beyond_64_bits_are_refused_with_their_path() {
        let inside = Value::list(vec![big("-9223372036854775808"), big("18446744073709551615")]);
        assert_eq!(carried(&inside), inside);
        for number in ["18446744073709551616", "-9223372036854775809"] {
            let value =
                map(vec![(text("a"), Value::list(vec![Value::Null, map(vec![(text("b"), big(number))])]))]);
            let (what, path) = refusal(&value);
            assert_eq!(path, "a:1:b");
            assert!(!what.contains(number), "{what}");
        }
    }

    #[test]
    fn all_that_cannot_be_carried_is_reported() {
        let raw = || Value::Binary(Arc::new(b"\xff".to_vec()));
        let value = map(vec![
            (text("a"), Value::list(vec![big("99999999999999999999"), big("-99999999999999999999")])),
            (text("b"), map(vec![(raw(), big("99999999999999999999"))])),
            (text("c"), map(vec![(date(), Value::Null), (text("2001-02-03"), Value::Null)])),
            (text("d"), date()),
        ]);
        let error = carry(&value, "parameters", ":").unwrap_err();
        let paths: Vec<_> = error.faults().iter().filter_map(|fault| fault.path.as_deref()).collect();
        assert_eq!(paths, ["a:0", "a:1", "b", r"b:b'\xff'", "c:2001-02-03"]);
    }

    #[test]
    fn many_problems_are_reported_in_part() {
        let value = Value::list(vec![big("99999999999999999999"); 100_000]);
        let value = map(vec![(text(&"x".repeat(1_000_000)), value)]);
        let error = carry(&value, "parameters", ":").unwrap_err();
        assert_eq!(error.faults().len(), MAX_FAULTS);
        assert_eq!(
            error.faults()[MAX_FAULTS - 1].notes[0].text,
            "there are more; only the first ones are reported"
        );
        assert!(error.faults().iter().all(|fault| fault.path.as_ref().unwrap().len() < 3_000));
    }

    #[test]
    fn keys_are_scalars() {
        let value = map(vec![(text("z"), Value::Null), (date(), Value::Int(1)), (Value::Int(3), date())]);
        let expected = map(vec![
            (text("z"), Value::Null),
            (text("2001-02-03"), Value::Int(1)),
            (Value::Int(3), text("2001-02-03")),
        ]);
        let carried = carried(&value);
        assert_eq!(carried, expected);
        assert_eq!(carried.as_map().unwrap().get_index(1).unwrap().0.as_str(), Some("2001-02-03"));

        let pair = Value::Tuple(Arc::new(vec![Value::Int(1)]));
        assert_eq!(refusal(&map(vec![(text("a"), map(vec![(pair, Value::Null)]))])).1, "a");
        assert_eq!(refusal(&map(vec![(big("99999999999999999999"), Value::Null)])).1, "parameters");
    }

    #[test]
    fn keys_that_become_one_are_refused() {
        for entries in [
            vec![(date(), Value::Null), (text("2001-02-03"), Value::Null)],
            vec![(text("2001-02-03"), Value::Null), (date(), Value::Null)],
        ] {
            let (what, path) = refusal(&map(vec![(text("a"), map(entries))]));
            assert_eq!(path, "a:2001-02-03");
            assert!(what.contains("two keys"), "{what}");
        }
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| (0..depth).fold(Value::Null, |inner, _| Value::list(vec![inner]));
        assert_eq!(carried(&nested(DEPTH)), nested(DEPTH));
        let (what, path) = refusal(&nested(DEPTH + 1));
        assert!(what.contains("128"), "{what}");
        assert!(path.starts_with("0:0:") && path.ends_with('…'), "{path}");
    }
}
