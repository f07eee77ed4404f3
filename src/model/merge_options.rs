//! Merge options say how lists merge: the section `merge_options` of a file, and the setting of that name.
//!
//! A declaration names a pattern of parameter paths and a strategy. It holds from its own layer on. A layer
//! that declarations hold for gets its rules once, when it takes its place in a linearization: each list, and
//! each reference that may bring one, becomes a stack with the rules of its path. Merging then works as
//! always, and the fold of the stack applies the strategy. Without declarations no layer changes.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::model::merge::Prefixes;
use crate::model::slot::{MapSlot, Slot, StackEntry, StackSlot};
use reclass_base::error::{Fault, Kind};
use reclass_base::pattern::{PathPattern, Progress};
use reclass_base::settings::Settings;
use reclass_base::similar::nearest;
use reclass_base::source::Origin;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text, Value};

/// How the items of two lists become one list.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Strategy {
    /// The later items follow the earlier ones, as without merge options.
    #[default]
    Extend,
    /// The later list replaces the earlier one.
    Replace,
    /// Of equal items, the first one stays.
    Unique,
    /// Items are mappings. Those with equal values at these keys are one item.
    By {
        /// The keys that identify an item; at least one.
        keys: Vec<Text>,
        /// Whether a later item replaces the earlier one. Otherwise it merges into it.
        replace: bool,
    },
}

impl Strategy {
    /// The keys that identify an item; none if items are compared as a whole.
    pub fn keys(&self) -> &[Text] {
        match self {
            Strategy::By { keys, .. } => keys,
            Strategy::Extend | Strategy::Replace | Strategy::Unique => &[],
        }
    }
}

/// A strategy for the paths of a pattern.
#[derive(Debug)]
pub struct Declaration {
    /// The paths that it is for.
    pub pattern: PathPattern,
    /// How values are merged there.
    pub strategy: Strategy,
    /// Whether items with a leading `~` remove earlier ones.
    pub remove: bool,
    /// Where it is written; no file for the setting.
    pub origin: Origin,
}

/// The declarations in force after a layer, in the order in which they were declared. A later one counts more.
#[derive(Default, Debug)]
pub struct MergeRules(Vec<Arc<Declaration>>);

/// The declarations that match a path, or that may match a path below it.
#[derive(Clone, Debug)]
pub struct PathRules {
    rules: Arc<MergeRules>,
    /// Indexes of the declarations, in order.
    matching: Vec<(usize, Progress)>,
    /// Whether a reference brings what is at the path, so that a `~` in it removes nothing (M11).
    pub data: bool,
}

/// Whether files may have a section `merge_options`.
pub fn enabled(settings: &Settings) -> bool {
    matches!(settings.merge_options, Value::Bool(true) | Value::Map(_))
}

/// The declarations of the setting, in force before every layer; `None` if there are none.
pub fn of_settings(settings: &Settings) -> Result<Option<Arc<MergeRules>>, Fault> {
    let map = match &settings.merge_options {
        Value::Map(map) => map,
        Value::Bool(_) | Value::Null => return Ok(None),
        other => {
            let expected = "true, false or a mapping of patterns to strategies".to_owned();
            let actual = reclass_base::error::article(other.type_name());
            let name = "merge_options".to_owned();
            return Err(Fault::new(Kind::SettingType { name, expected, actual }));
        }
    };
    if let Some(invalid) = too_many(map.len()) {
        return Err(invalid.in_setting("".into()));
    }
    let mut declarations = Vec::with_capacity(map.len());
    for (pattern, value) in map.iter() {
        let declaration = declaration(&pattern.0, value, &settings.delimiter, Origin::NONE);
        let word = value.as_str().or(pattern.as_str()).unwrap_or_default();
        declarations.push(Arc::new(declaration.map_err(|invalid| invalid.in_setting(word.into()))?));
    }
    Ok((!declarations.is_empty()).then(|| Arc::new(MergeRules(declarations))))
}

/// Why a declaration is invalid.
#[derive(Debug)]
pub struct InvalidOption {
    message: String,
    similar: Option<String>,
}

impl InvalidOption {
    fn new(message: impl Into<String>) -> InvalidOption {
        InvalidOption { message: message.into(), similar: None }
    }

    /// The fault of an entry of a file.
    pub fn in_file(self) -> Fault {
        Fault::new(Kind::MergeOption { message: self.message, similar: self.similar })
    }

    /// The fault of the setting, at this word of its value.
    fn in_setting(self, word: Text) -> Fault {
        let message = format!("in the settings, {}", self.message);
        let kind = Kind::MergeOption { message, similar: self.similar };
        Fault { setting: Some(("merge_options", word)), ..Fault::new(kind) }
    }
}

/// The longest pattern, in bytes. Comparing it with a key takes time for each of its characters.
const LONGEST_PATTERN: usize = 200;
/// The most patterns of one file. Each key of a layer is compared with each of them.
const MOST_PATTERNS: usize = 200;

const WORDS: [&str; 3] = ["extend", "replace", "unique"];
const FIELDS: [&str; 4] = ["strategy", "by", "items", "remove"];

/// Reads one entry of `merge_options`.
pub fn declaration(
    pattern: &Value,
    value: &Value,
    delimiter: &str,
    origin: Origin,
) -> Result<Declaration, InvalidOption> {
    let Value::Str(pattern) = pattern else {
        return Err(InvalidOption::new("a pattern of paths must be a string"));
    };
    if pattern.len() > LONGEST_PATTERN {
        return Err(InvalidOption::new(format!("a pattern is longer than {LONGEST_PATTERN} bytes")));
    }
    let pattern = PathPattern::new(pattern, delimiter);
    let (strategy, remove) = match value {
        Value::Str(word) => (strategy(word)?, false),
        Value::Map(map) => {
            for key in map.keys() {
                let name = reclass_base::pystr::str(&key.0);
                if !FIELDS.contains(&name.as_str()) {
                    let similar = nearest(&name, FIELDS).map(str::to_owned);
                    let message = format!("a strategy has no field '{name}'");
                    return Err(InvalidOption { message, similar });
                }
            }
            let word = match map.get("strategy") {
                None => None,
                Some(Value::Str(word)) => Some(strategy(word)?),
                Some(_) => return Err(InvalidOption::new("'strategy' must be a word")),
            };
            let replace = match map.get("items") {
                None => None,
                Some(Value::Str(word)) if &**word == "merge" => Some(false),
                Some(Value::Str(word)) if &**word == "replace" => Some(true),
                Some(_) => return Err(InvalidOption::new("'items' must be 'merge' or 'replace'")),
            };
            let remove = match map.get("remove") {
                None => false,
                Some(Value::Bool(remove)) => *remove,
                Some(_) => return Err(InvalidOption::new("'remove' must be true or false")),
            };
            let strategy = match (map.get("by"), word) {
                (Some(_), Some(_)) => {
                    return Err(InvalidOption::new("'by' and 'strategy' exclude each other"));
                }
                (Some(by), None) => Strategy::By { keys: keys(by)?, replace: replace == Some(true) },
                (None, _) if replace.is_some() => {
                    return Err(InvalidOption::new("'items' needs 'by'"));
                }
                (None, word) => word.unwrap_or_default(),
            };
            (strategy, remove)
        }
        _ => return Err(InvalidOption::new("a strategy must be a word or a mapping")),
    };
    Ok(Declaration { pattern, strategy, remove, origin })
}

fn strategy(word: &str) -> Result<Strategy, InvalidOption> {
    match word {
        "extend" => Ok(Strategy::Extend),
        "replace" => Ok(Strategy::Replace),
        "unique" => Ok(Strategy::Unique),
        _ => Err(InvalidOption {
            message: format!("there is no strategy '{word}'"),
            similar: nearest(word, WORDS).map(str::to_owned),
        }),
    }
}

fn keys(by: &Value) -> Result<Vec<Text>, InvalidOption> {
    let key = |value: &Value| match value {
        Value::Str(key) => Some(key.clone()),
        _ => None,
    };
    let keys: Option<Vec<Text>> = match by {
        Value::List(items) => items.iter().map(key).collect(),
        one => key(one).map(|key| vec![key]),
    };
    keys.filter(|keys| !keys.is_empty())
        .ok_or_else(|| InvalidOption::new("'by' must be the name of a key or a list of such names"))
}

/// The strategy as in a file.
impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.strategy {
            Strategy::Extend => f.write_str("extend")?,
            Strategy::Replace => f.write_str("replace")?,
            Strategy::Unique => f.write_str("unique")?,
            Strategy::By { keys, replace } => {
                let items = if *replace { ", items: replace" } else { "" };
                write!(f, "by: {}{items}", keys.join(", "))?;
            }
        }
        f.write_str(if self.remove { ", remove: true" } else { "" })
    }
}

impl Declaration {
    /// Whether it changes nothing, compared with no declaration.
    fn is_plain(&self) -> bool {
        self.strategy == Strategy::Extend && !self.remove
    }
}

impl MergeRules {
    /// The declarations in force after a layer that has these declarations. A pattern that is declared again
    /// counts as declared last.
    pub fn after(rules: Option<&Arc<MergeRules>>, own: &[Arc<Declaration>]) -> Option<Arc<MergeRules>> {
        if own.is_empty() {
            return rules.cloned();
        }
        let again: FxHashSet<&str> = own.iter().map(|own| &*own.pattern.source).collect();
        let earlier = rules.iter().flat_map(|rules| &rules.0);
        let earlier = earlier.filter(|one| !again.contains(&*one.pattern.source));
        Some(Arc::new(MergeRules(earlier.chain(own).cloned().collect())))
    }

    /// The declarations in force.
    pub fn declarations(&self) -> impl Iterator<Item = &Declaration> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Whether both have the same declarations.
    pub fn same(&self, other: &MergeRules) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// The parameters of a layer, with the rules of each list.
    pub fn apply(self: &Arc<MergeRules>, map: &Arc<MapSlot>, prefixes: &Prefixes) -> Arc<MapSlot> {
        self.top().apply(map, prefixes)
    }

    /// The keys by which the items of a list at a path are identified.
    pub fn keys_at(self: &Arc<MergeRules>, path: &[Key], prefixes: &Prefixes) -> Option<Vec<Text>> {
        let rules = path.iter().try_fold(self.top(), |rules, key| rules.below(key, prefixes))?;
        match &rules.declaration()?.strategy {
            Strategy::By { keys, .. } => Some(keys.clone()),
            _ => None,
        }
    }

    /// The rules above the first key.
    fn top(self: &Arc<MergeRules>) -> PathRules {
        let matching = self.0.iter().map(|one| one.pattern.start()).enumerate().collect();
        PathRules { rules: self.clone(), matching, data: false }
    }
}

impl PathRules {
    /// The declaration that counts for a list at this path.
    pub fn declaration(&self) -> Option<&Declaration> {
        self.matching().next().filter(|declaration| !declaration.is_plain())
    }

    /// The declarations that match this path, the last one first.
    pub fn matching(&self) -> impl Iterator<Item = &Declaration> {
        let all = self.matching.iter().rev();
        all.map(|(at, progress)| (&*self.rules.0[*at], progress))
            .filter(|(declaration, progress)| declaration.pattern.is_match(progress))
            .map(|(declaration, _)| declaration)
    }

    /// The declarations that match this path, or may match a path below it.
    pub fn possible(&self) -> impl Iterator<Item = &Declaration> {
        self.matching.iter().map(|(at, _)| &*self.rules.0[*at])
    }

    /// The rules one key further down; `None` if no declaration can match there.
    fn below(&self, key: &Key, prefixes: &Prefixes) -> Option<PathRules> {
        let bare = key.as_str().map(|text| prefixes.name(text)).filter(|bare| Some(*bare) != key.as_str());
        let key = &bare.map_or_else(|| key.clone(), Key::from);
        self.stepped(|pattern, progress| pattern.step(progress, key))
    }

    /// The same as [`PathRules::apply`] for a mapping that a reference brings if `data` is set.
    pub fn apply_to(&self, data: bool, map: &Arc<MapSlot>, prefixes: &Prefixes) -> Arc<MapSlot> {
        if data && !self.data {
            return PathRules { data, ..self.clone() }.apply(map, prefixes);
        }
        self.apply(map, prefixes)
    }

    /// The rules of the items of a list: patterns with `*` or `**` in place of the index.
    pub fn items(&self) -> Option<PathRules> {
        self.stepped(PathPattern::step_any)
    }

    fn stepped(&self, step: impl Fn(&PathPattern, &Progress) -> Progress) -> Option<PathRules> {
        let step = |(at, progress): &(usize, Progress)| {
            let next = step(&self.rules.0[*at].pattern, progress);
            (!next.is_dead()).then_some((*at, next))
        };
        let matching: Vec<_> = self.matching.iter().filter_map(step).collect();
        (!matching.is_empty()).then(|| PathRules { rules: self.rules.clone(), matching, ..*self })
    }

    /// A mapping at this path, with the rules of each list in it.
    pub fn apply(&self, map: &Arc<MapSlot>, prefixes: &Prefixes) -> Arc<MapSlot> {
        let mut changed = false;
        let mut ruled = |(key, slot): (&Key, &Slot)| {
            let new = self.below(key, prefixes).and_then(|below| below.slot(slot, prefixes));
            changed |= new.is_some();
            (key.clone(), new.unwrap_or_else(|| slot.clone()))
        };
        let entries = map.entries.iter().map(&mut ruled).collect();
        if !changed {
            return map.clone();
        }
        Arc::new(MapSlot {
            prefixed: map.prefixed,
            typed: map.typed,
            ..MapSlot::new(entries, map.origin, false)
        })
    }

    /// The slot with its rules; `None` if they change nothing.
    fn slot(self, slot: &Slot, prefixes: &Prefixes) -> Option<Slot> {
        match slot {
            Slot::Map(map) => {
                let new = grow(|| self.apply(map, prefixes));
                (!Arc::ptr_eq(&new, map)).then_some(Slot::Map(new))
            }
            Slot::List(_) | Slot::Value(Value::List(_), _) if self.declaration().is_none() => None,
            Slot::Value(value, _) if !matches!(value, Value::List(_) | Value::Map(_)) => None,
            Slot::Stack(stack) => {
                let rules = Arc::new(self);
                let entry = |entry: &StackEntry| StackEntry {
                    slot: match &entry.slot {
                        Slot::Map(map) => Slot::Map(grow(|| rules.apply(map, prefixes))),
                        other => other.clone(),
                    },
                    prefix: entry.prefix,
                    rules: Some(rules.clone()),
                };
                Some(Slot::Stack(Arc::new(StackSlot::new(stack.entries.iter().map(entry).collect()))))
            }
            other => {
                let entry = StackEntry { rules: Some(Arc::new(self)), ..StackEntry::plain(other.clone()) };
                Some(Slot::Stack(Arc::new(StackSlot::new(vec![entry]))))
            }
        }
    }
}

/// Refuses more patterns than each key can be compared with.
pub fn too_many(patterns: usize) -> Option<InvalidOption> {
    let message = || format!("there are more than {MOST_PATTERNS} patterns");
    (patterns > MOST_PATTERNS).then(|| InvalidOption::new(message()))
}
