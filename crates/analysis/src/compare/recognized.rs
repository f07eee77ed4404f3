//! Recognizes the cause of a difference by its two values and by the explanation of the new one.
//!
//! | in           | what it looks like                                                                             |
//! |--------------|------------------------------------------------------------------------------------------------|
//! | `values`     | one value is what another program makes of the same file                                       |
//! | `mapped`     | a class gives the new value, or the old one from another place, and a mapping brings the class |
//! | `references` | the old value is the new one of a parameter that refers here, or of the one referred to        |
//! | `merge_keys` | a merge key (`<<`) brings the new value, and the old one is in another mapping of the file     |
//! | `refused`    | the node has what only this program accepts                                                    |
//!
//! A value that refers to one with a cause has the same cause, and so has the answer of a query.

mod mapped;
mod merge_keys;
mod references;
mod refused;
mod values;

use rustc_hash::{FxHashMap, FxHashSet};

use super::causes::{Cause, IGNORED_NAME};
use super::normal::{OldForm, normal};
use super::old::{OldAnswers, OldNode, OldSections};
use crate::diff::{NodeChange, Renderer, Section, changes};
use crate::explain::{ReferenceTrace, ValuePlaces, ValueTrace, Wanted, traces};
use mapped::Mapped;
use merge_keys::MergeKeys;
use reclass::NodeInfo;
use reclass::parts::engine::Layers;
use reclass::parts::model::Query;
use reclass::parts::output::wire::carry;
use reclass_base::error::{Fault, Result};
use reclass_base::value::{Key, Map, Text, Value};
use references::BroughtMappings;

/// Maximum number of items of one list whose explanation is read.
const MOST_ITEMS: usize = 50;

/// A node, with the answers of both sides.
pub(super) struct Sides<'n> {
    pub name: &'n Text,
    pub old: &'n OldSections,
    /// The answer of this side, in the form of the old one.
    pub new: &'n NodeInfo,
    /// Whether to look at the nodes that answer its queries.
    pub asks: bool,
}

/// Recognizes causes in the nodes of an inventory, in one thread.
pub(super) struct Recognizer<'r, 'a> {
    pub renderer: &'r Renderer<'a>,
    pub old: &'r OldAnswers,
    pub kept: &'r mut Kept,
}

/// What a thread keeps for the next nodes.
#[derive(Default)]
pub(super) struct Kept {
    merge_keys: MergeKeys,
    /// The causes of the changed exports of each node that a query is about.
    exports: FxHashMap<Text, Vec<(Cause, Vec<Key>)>>,
}

impl Recognizer<'_, '_> {
    /// The answer of this side for a node, in the form of the old ones.
    pub fn render(&self, name: &Text) -> Option<Result<NodeInfo>> {
        let form = self.old.form;
        let formed = |mut info: NodeInfo| {
            if form == OldForm::Pillar {
                info.parameters = carry(&info.parameters, "the pillar", self.renderer.delimiter())?;
            }
            for section in [&mut info.environment, &mut info.parameters, &mut info.exports] {
                *section = normal(section, form);
            }
            Ok(info)
        };
        self.renderer.render(name).map(|info| info.and_then(formed))
    }

    /// The changes of a node, split, each with its cause.
    pub fn of_changes(&mut self, node: &Sides<'_>) -> Vec<(Cause, NodeChange)> {
        let changes = changes(&node.old.completed(node.new, self.old.form), node.new, &|_| None);
        let changes: Vec<NodeChange> = changes.into_iter().flat_map(NodeChange::split).collect();
        let mut causes = values::causes(node.name, &changes, self.old.form);
        if causes.contains(&None)
            && let Ok(layers) = self.renderer.layers(node.name)
        {
            self.of_layers(node, &layers, &changes, &mut causes);
        }
        let causes = causes.into_iter().map(|cause| cause.unwrap_or(Cause::Unexplained));
        causes.zip(changes).collect()
    }

    /// Completes the causes with those that the layers of the node show.
    fn of_layers(
        &mut self,
        node: &Sides<'_>,
        layers: &Layers,
        changes: &[NodeChange],
        causes: &mut [Option<Cause>],
    ) {
        let now = self.renderer.computation();
        let mapped = Mapped::of(now, node.old.classes.as_deref(), &node.new.classes, layers);
        let references = BroughtMappings::of(layers, &node.new.parameters, self.renderer.delimiter());
        let mut queries = Vec::new();
        for layer in layers.all().filter(|_| node.asks) {
            layer.parameters.queries(&mut |path, query, _| queries.push((path.to_vec(), query)));
        }
        let removals = layers.all().flat_map(|layer| &layer.applications.removals);
        let removals: FxHashSet<&str> = removals.map(|(name, _)| &**name).collect();
        for (change, cause) in changes.iter().zip(causes.iter_mut()).filter(|(_, cause)| cause.is_none()) {
            *cause = match change.section {
                Section::Environment | Section::Exports => None,
                Section::Classes => mapped.item(change),
                Section::Applications => mapped.item(change).or_else(|| removed(change, &removals)),
                Section::Parameters if references.explain(change) => Some(Cause::MergedOverReference),
                Section::Parameters => self.of_query(change, &queries).or_else(|| {
                    let brings = |file| self.kept.merge_keys.bring(now, file, change, self.old.form);
                    layers.all().map(|layer| layer.file).any(brings).then_some(Cause::MergeKey)
                }),
            };
        }
        let is_value = |section| matches!(section, Section::Parameters | Section::Exports);
        let open: Vec<usize> =
            (0..changes.len()).filter(|at| causes[*at].is_none() && is_value(changes[*at].section)).collect();
        // The items of a list are much alike.
        let mut explained: FxHashMap<(Section, &[Key]), usize> = FxHashMap::default();
        let (sought, others): (Vec<usize>, Vec<usize>) = open.into_iter().partition(|at| {
            let count = explained.entry((changes[*at].section, &*changes[*at].path)).or_default();
            *count += 1;
            *count <= MOST_ITEMS
        });
        let wanted: Vec<Wanted> = sought.iter().map(|at| wanted(&changes[*at])).collect();
        let traces = traces(&ValuePlaces::new(now, layers), &wanted);
        for (at, trace) in sought.iter().zip(&traces) {
            causes[*at] = mapped.reordered(&changes[*at], trace, self.old.form);
        }
        let known = KnownCauses::of(&mapped, changes, causes);
        let mut of_lists: FxHashMap<(Section, &[Key]), Cause> = FxHashMap::default();
        for (at, trace) in sought.iter().zip(&traces) {
            let change = &changes[*at];
            causes[*at] =
                causes[*at].or_else(|| known.of_trace(trace)).or_else(|| of_other_node(change, trace));
            if let Some(cause) = causes[*at].filter(|_| !change.items.is_empty()) {
                of_lists.entry((change.section, &change.path)).or_insert(cause);
            }
        }
        // Lost items have the cause of the gained items of their list.
        for at in sought.into_iter().chain(others) {
            let is_alike = changes[at].items.first().is_some_and(|item| {
                !item.added || explained[&(changes[at].section, &*changes[at].path)] > MOST_ITEMS
            });
            if is_alike {
                causes[at] = causes[at].or(of_lists.get(&(changes[at].section, &*changes[at].path)).copied());
            }
        }
    }

    /// The cause of a change in the answer of a query: that of the exports it asks for, of the node that changed.
    fn of_query(&mut self, change: &NodeChange, queries: &[(Vec<Key>, &Query)]) -> Option<Cause> {
        let (_, query) = queries.iter().rfind(|(path, _)| change.path.starts_with(path))?;
        let exports = query.value.iter().chain(query.comparisons().map(|test| &test.export));
        let exports: Vec<Vec<Key>> =
            exports.map(|path| path.iter().cloned().map(Key::from).collect()).collect();
        let is_asked =
            |path: &[Key]| exports.iter().any(|one| one.starts_with(path) || path.starts_with(one));
        let maps = [&change.old, &change.new].into_iter().flatten().filter_map(Value::as_map);
        let names = change.path.iter().chain(maps.flat_map(Map::keys)).filter_map(Key::as_str);
        let item = change.items.first().and_then(|item| change.item(item)?.as_str());
        names.chain(item).find_map(|name| {
            let asked = self.of_exports(&name.into()).iter().filter(|(_, path)| is_asked(path));
            // No cause is less than any.
            asked.map(|(cause, _)| *cause).min().filter(|cause| *cause != Cause::Unexplained)
        })
    }

    /// The causes of the changed exports of a node.
    fn of_exports(&mut self, name: &Text) -> &[(Cause, Vec<Key>)] {
        if !self.kept.exports.contains_key(name) {
            let mut exports = Vec::new();
            if let Some(OldNode::Answer(old)) = self.old.nodes.get(name)
                && let Some(Ok(new)) = self.render(name)
            {
                let changes = self.of_changes(&Sides { name, old, new: &new, asks: false });
                let changes = changes.into_iter().filter(|(_, change)| change.section == Section::Exports);
                exports.extend(changes.map(|(cause, change)| (cause, change.path)));
            }
            self.kept.exports.insert(name.clone(), exports);
        }
        &self.kept.exports[name]
    }

    /// The cause of an answer where the old program has none.
    pub fn of_refusal(&self, name: &Text, new: &NodeInfo) -> Option<Cause> {
        let layers = self.renderer.layers(name).ok()?;
        refused::cause(new, &layers, self.renderer.computation().settings, self.old.form)
    }

    /// The cause of errors here where the old program has an answer.
    pub fn of_errors(
        &self,
        name: &Text,
        old: &OldSections,
        faults: &[Fault],
        options: &Map,
    ) -> Option<Cause> {
        let faults = || faults.iter().flat_map(|fault| std::iter::once(fault).chain(&fault.causes));
        let mapped = || {
            let (now, classes) = (self.renderer.computation(), old.classes.as_deref()?);
            faults().find_map(|fault| mapped::of_fault(now, name, classes, fault))
        };
        let is_ignored = || {
            options.contains_key("ignore_class_notfound")
                && options.contains_key(IGNORED_NAME)
                && faults().any(|fault| fault.code() == "class-not-found")
        };
        let ruling = faults().map(Fault::code).find_map(Cause::of_error).or_else(mapped);
        ruling.or_else(|| is_ignored().then_some(Cause::IgnoredName))
    }
}

/// The value below these keys.
fn lookup<'v>(value: &'v Value, path: &[Key]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.as_map()?.get(key))
}

/// The path to explain for a change: of an item that a list gains, or of the value.
fn wanted(change: &NodeChange) -> Wanted {
    let item = change.items.first().filter(|item| item.added);
    let index = item.and_then(|item| i64::try_from(item.index).ok()).map(|index| Key(Value::Int(index)));
    let path = change.path.iter().cloned().chain(index).collect();
    Wanted { path, export: change.section == Section::Exports, items: Vec::new() }
}

/// S8: the cause of an application that a class removes.
fn removed(change: &NodeChange, removals: &FxHashSet<&str>) -> Option<Cause> {
    let item = change.items.first()?;
    removals.get(change.item(item)?.as_str()?)?;
    Some(if item.added && !item.moved { Cause::EarlyRemoval } else { Cause::NestedRemoval })
}

/// M10: the old list has more items than the new one, and its first layer has a `~`.
fn of_other_node(change: &NodeChange, trace: &ValueTrace) -> Option<Cause> {
    let (Some(Value::List(old)), Some(Value::List(new))) = (&change.old, &change.new) else { return None };
    let is_lost = change.items.first().is_some_and(|item| !item.added);
    let first = trace.steps.iter().find(|step| step.counts)?;
    (is_lost && old.len() > new.len() && first.prefix.contains('~')).then_some(Cause::OtherNodesItem)
}

struct KnownCauses<'k> {
    mapped: &'k Mapped,
    /// By the path of a changed parameter.
    at: FxHashMap<&'k [Key], Cause>,
    /// By each path above one.
    above: FxHashMap<&'k [Key], Cause>,
}

impl<'k> KnownCauses<'k> {
    fn of(mapped: &'k Mapped, changes: &'k [NodeChange], causes: &[Option<Cause>]) -> KnownCauses<'k> {
        let mut known = KnownCauses { mapped, at: FxHashMap::default(), above: FxHashMap::default() };
        for (change, cause) in changes.iter().zip(causes) {
            let Some(cause) = cause.filter(|_| change.section == Section::Parameters) else { continue };
            known.at.entry(&change.path).or_insert(cause);
            for length in 0..change.path.len() {
                known.above.entry(&change.path[..length]).or_insert(cause);
            }
        }
        known
    }

    /// The cause of a value that a class mapping brings, or that refers to a value with a cause.
    fn of_trace(&self, trace: &ValueTrace) -> Option<Cause> {
        let class = trace.place.as_ref().and_then(|place| place.class.as_ref());
        class.and_then(|class| self.mapped.class(class)).or_else(|| {
            let counts = trace.steps.iter().filter(|step| step.counts);
            counts.flat_map(|step| &step.references).find_map(|reference| self.of_reference(reference))
        })
    }

    fn of_reference(&self, reference: &ReferenceTrace) -> Option<Cause> {
        let path = reference.path.as_ref();
        path.and_then(|path| self.at(path))
            .or_else(|| self.of_trace(reference.trace.as_deref()?))
            .or_else(|| reference.inner.iter().find_map(|inner| self.of_reference(inner)))
    }

    /// The cause of a change at, above or below the path of a parameter.
    fn at(&self, path: &[Key]) -> Option<Cause> {
        let around = (0..=path.len()).rev().find_map(|length| self.at.get(&path[..length]));
        around.or_else(|| self.above.get(path)).copied()
    }
}
