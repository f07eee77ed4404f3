//! Recognizes the cause of a difference by its two values and by where the new one comes from.
//!
//! | cause        | what it looks like                                                                         |
//! |--------------|--------------------------------------------------------------------------------------------|
//! | [`MAPPED`]   | a class brings the new value, a class mapping brings the class, and the old node has none  |
//! | [`MATCHED`]  | the same, and the Python programs try the mapping with another name of the node            |
//! | [`REFERRED`] | the old value is the new one of a parameter that refers here, or of the one referred to    |
//! | [`MERGED`]   | a merge key (`<<`) brings the new value, and the old one is in another mapping of the file |

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::normal::{OldForm, in_form};
use super::old::{OldAnswers, OldNode};
use super::rules::{MAPPED, MATCHED, MERGED, REFERRED};
use crate::diff::{NodeChange, Section};
use crate::explain::{ValuePlaces, Wanted, WantedPlaces, places};
use reclass::parts::engine::context::{Computation, Layers, NodeRequest};
use reclass::parts::engine::sequence::IncludedBy;
use reclass::parts::model::layer::Layer;
use reclass::parts::model::slot::{MapSlot, Slot};
use reclass::parts::model::template::Part;
use reclass_base::pystr;
use reclass_base::source::FileId;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text, Value};
use reclass_yaml::compose::{Data, Node, compose};
use reclass_yaml::to_value;

/// The distinct values of each key of a file that uses merge keys.
type KeyValues = FxHashMap<Text, ValuesOfKey>;

/// The distinct values of a key in the mappings of a file, by their text.
#[derive(Default)]
struct ValuesOfKey {
    /// In mappings with merge keys.
    merged: IndexMap<String, Value>,
    /// In all mappings.
    all: IndexMap<String, Value>,
}

/// Recognizes causes in the nodes of an inventory.
pub(super) struct Recognizer<'a> {
    now: &'a Computation<'a>,
    old: &'a OldAnswers,
    /// By file; `None` for one without merge keys.
    files: FxHashMap<FileId, Option<KeyValues>>,
}

impl<'a> Recognizer<'a> {
    pub fn new(now: &'a Computation<'a>, old: &'a OldAnswers) -> Recognizer<'a> {
        Recognizer { now, old, files: FxHashMap::default() }
    }

    /// The cause of each change of a node, as a code of [`evidence`](super::rules::evidence).
    pub fn causes(&mut self, name: &Text, changes: &[&NodeChange]) -> Vec<Option<&'static str>> {
        let Ok(layers) = self.now.layers(NodeRequest::plain(name)) else { return vec![None; changes.len()] };
        let mapped = Mapped::of(self.now, self.old.nodes.get(name), &layers);
        let mapped = mapped.causes(self.now, &layers, changes);
        let references = References::of(&layers);
        let parameters = if references.is_empty() {
            None
        } else {
            self.now.answer(NodeRequest::plain(name)).ok().map(|answer| answer.info.parameters.clone())
        };
        let mut found = Vec::with_capacity(changes.len());
        for (change, mapped) in changes.iter().zip(mapped) {
            let is_parameter = change.section == Section::Parameters;
            let parameters = parameters.as_ref().filter(|_| is_parameter);
            found.push(if mapped.is_some() {
                mapped
            } else if parameters.is_some_and(|own| references.explain(change, own, self.old.form)) {
                Some(REFERRED)
            } else if is_parameter && layers.all().any(|layer| self.is_merged(layer.file, change)) {
                Some(MERGED)
            } else {
                None
            });
        }
        found
    }

    /// Whether a merge key of a file brings the new value, and the old one is the value of another mapping of it.
    fn is_merged(&mut self, file: FileId, change: &NodeChange) -> bool {
        let (now, form) = (self.now, self.old.form);
        let Some(values) = self.files.entry(file).or_insert_with(|| key_values(now, file, form)) else {
            return false;
        };
        (0..change.path.len()).any(|at| {
            let (key, below) = (&change.path[at], &change.path[at + 1..]);
            let Some(known) = key.as_str().and_then(|key| values.get(key)) else { return false };
            let has = |values: &IndexMap<String, Value>, wanted: Option<&Value>| {
                values.values().any(|value| lookup(value, below) == wanted)
            };
            has(&known.merged, change.new.as_ref()) && has(&known.all, change.old.as_ref())
        })
    }
}

/// The value below these keys.
fn lookup<'v>(value: &'v Value, path: &[Key]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.as_map()?.get(key))
}

/// The values of a file by key; `None` without merge keys.
fn key_values(now: &Computation<'_>, file: FileId, form: OldForm) -> Option<KeyValues> {
    let text = now.inputs.files.text(&now.inputs.files.path_of(file)?)?;
    let document = compose(text.contains("<<").then_some(text.as_bytes())?).ok()?;
    let mut values = KeyValues::default();
    collect(document.root.as_ref()?, form, &mut values);
    values.values().any(|known| !known.merged.is_empty()).then_some(values)
}

fn collect(node: &Node, form: OldForm, values: &mut KeyValues) {
    match &node.data {
        Data::Value(_) => {}
        Data::List(items) => grow(|| items.iter().for_each(|item| collect(item, form, values))),
        Data::Map(entries) => grow(|| {
            // The keys of a mapping come after it. What a merge key brings is written before.
            let has_merge_key = entries.iter().any(|entry| entry.key_index < node.index);
            for entry in entries.iter() {
                if let Some(key) = entry.key.as_str() {
                    let value = in_form(&to_value(&entry.value), form);
                    let known = values.entry(key.into()).or_default();
                    let text = pystr::repr(&value);
                    if has_merge_key {
                        known.merged.entry(text.clone()).or_insert_with(|| value.clone());
                    }
                    known.all.entry(text).or_insert(value);
                }
                collect(&entry.value, form, values);
            }
        }),
    }
}

/// The classes of a node that only class mappings bring, and that the old node does not have, with the cause.
#[derive(Default)]
struct Mapped {
    classes: FxHashMap<Text, &'static str>,
    files: FxHashMap<FileId, &'static str>,
}

impl Mapped {
    fn of(now: &Computation<'_>, old: Option<&OldNode>, layers: &Layers) -> Mapped {
        let mut mapped = Mapped::default();
        let Some(OldNode::Answer(sections)) = old else { return mapped };
        let Some(old) = sections.classes.as_ref().filter(|_| !now.settings.class_mappings.is_empty()) else {
            return mapped;
        };
        let old: FxHashSet<&Text> = old.iter().collect();
        let tried = tried_before(now, &layers.name);
        // A class comes before the classes that it includes.
        let mut causes: Vec<Option<&'static str>> = Vec::new();
        for included in layers.linearization.include_chains().all() {
            let by = match &included.by {
                IncludedBy::Node => None,
                IncludedBy::Mapping(mapping) => match &tried {
                    Some(tried) if !tried.contains(mapping) => Some(MATCHED),
                    _ => Some(MAPPED),
                },
                IncludedBy::Includer(index) => causes.get(*index).copied().flatten(),
            };
            let cause = by.filter(|_| !old.contains(&included.name));
            causes.push(cause);
            if let Some(cause) = cause {
                mapped.classes.insert(included.name, cause);
                mapped.files.insert(included.file, cause);
            }
        }
        mapped
    }

    /// The cause of each change whose new value they bring.
    fn causes(
        &self,
        now: &Computation<'_>,
        layers: &Layers,
        changes: &[&NodeChange],
    ) -> Vec<Option<&'static str>> {
        if self.classes.is_empty() {
            return vec![None; changes.len()];
        }
        let adding = |name: &str| {
            let adds =
                |layer: &&Arc<Layer>| layer.applications.additions.iter().any(|(known, _)| &**known == name);
            layers.all().filter(adds).find_map(|layer| self.files.get(&layer.file)).copied()
        };
        let wanted = |change: &&NodeChange| Wanted {
            path: change.path.clone(),
            export: change.section == Section::Exports,
            items: change.items.iter().filter(|item| item.added).map(|item| item.index).collect(),
        };
        let wanted: Vec<Wanted> = changes.iter().map(wanted).collect();
        let found = places(&ValuePlaces::new(now, layers), &wanted);
        let cause = |(change, mut found): (&&NodeChange, WantedPlaces)| match change.section {
            Section::Environment => None,
            Section::Classes => self.classes.get(added(change)?).copied(),
            Section::Applications => adding(added(change)?),
            Section::Parameters | Section::Exports => {
                let place = match change.items.first() {
                    Some(_) => found.items.pop().flatten(),
                    None => found.place.filter(|_| change.new.is_some()),
                };
                self.classes.get(&place?.class?).copied()
            }
        };
        changes.iter().zip(found).map(cause).collect()
    }
}

/// The mappings that match a node as the Python programs name it, if that is not as it is named here (S19).
fn tried_before(now: &Computation<'_>, node: &Text) -> Option<FxHashSet<Text>> {
    let item = now.catalog.nodes.get(node).filter(|_| now.settings.class_mappings_match_path)?;
    let classes = now.mappings.classes(&[&item.pathname(now.settings)], None).ok()?;
    Some(classes.into_iter().flat_map(|one| one.repeated.into_iter().chain([one.mapping])).collect())
}

/// The name that a change adds to the classes or applications.
fn added(change: &NodeChange) -> Option<&str> {
    let item = change.items.first().filter(|item| item.added)?;
    change.item(item)?.as_str()
}

/// The parameters that are references to others, in any layer of a node.
#[derive(Default)]
struct References {
    /// What refers to a path, and what a path refers to.
    related: FxHashMap<Vec<Text>, Vec<Vec<Text>>>,
}

impl References {
    fn of(layers: &Layers) -> References {
        let mut references = References::default();
        for layer in layers.all() {
            references.collect(&layer.parameters, &mut Vec::new());
        }
        references
    }

    fn is_empty(&self) -> bool {
        self.related.is_empty()
    }

    fn collect(&mut self, map: &MapSlot, path: &mut Vec<Text>) {
        if !map.dynamic {
            return;
        }
        for (key, slot) in map.entries.iter() {
            if let Some(key) = key.as_str() {
                path.push(key.into());
                self.slot(slot, path);
                path.pop();
            }
        }
    }

    fn slot(&mut self, slot: &Slot, path: &mut Vec<Text>) {
        match slot {
            Slot::Text(template, _) => {
                if let [Part::Reference(reference)] = &template.parts[..]
                    && let Some(fixed) = &reference.fixed
                {
                    let (from, to) = (path.clone(), fixed.segments.clone());
                    self.related.entry(to.clone()).or_default().push(from.clone());
                    self.related.entry(from).or_default().push(to);
                }
            }
            Slot::Map(map) => grow(|| self.collect(map, path)),
            Slot::Stack(stack) => {
                grow(|| stack.entries.iter().for_each(|entry| self.slot(&entry.slot, path)));
            }
            Slot::Value(..) | Slot::Query(..) | Slot::List(_) | Slot::Raw(_) => {}
        }
    }

    /// Whether the old value is that of the same path below a parameter that refers to one around it, or of the
    /// one that this refers to.
    fn explain(&self, change: &NodeChange, parameters: &Value, form: OldForm) -> bool {
        let Some(old) = &change.old else { return false };
        let text = |key: &Key| key.as_str().map(Text::from);
        let Some(path) = change.path.iter().map(text).collect::<Option<Vec<Text>>>() else { return false };
        // A reference to the value itself brings no mapping.
        (1..path.len()).any(|length| {
            let related = self.related.get(&path[..length]).into_iter().flatten();
            related.into_iter().any(|other| {
                let other: Vec<Key> =
                    other.iter().chain(&path[length..]).map(|key| Key::from(&**key)).collect();
                lookup(parameters, &other).is_some_and(|value| in_form(value, form) == *old)
            })
        })
    }
}
