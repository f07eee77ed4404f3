//! Folding combines the values that layers have for one path, a stack, into one whnf.
//!
//! The rules and their order are those of `ValueList.render` in the Python forks: null counts as nothing, `~`
//! starts anew, a constant stays unchanged, mappings merge, lists extend, and everything else depends on the
//! `allow_…` settings (rulings M1–M5). Values that later ones replace are not evaluated (R16). At the end, they
//! are examined for missing references (R6).

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::trace::{Effect, Tracer};
use super::{Evaluator, Found, Mode, Stop, Whnf};
use crate::model::merge::{map_of_values, merge_maps, normalize, stack_maps, with_closed_stacks};
use crate::model::merge_options::{Declaration, PathRules, Strategy};
use crate::model::slot::{KeyPrefix, ListSlot, MapSlot, Results, Slot, StackEntry, StackSlot, from_value};
use reclass_base::error::help::{MergeSlip, NO_BREAK};
use reclass_base::error::{Fault, Kind};
use reclass_base::path::join_path;
use reclass_base::source::Origin;
use reclass_base::value::{Key, ObjectCopies, Value};
use reclass_yaml::is_tight_mapping;

/// Values that later ones replaced, to be examined after everything else is evaluated.
pub(super) struct Replaced {
    entries: Vec<StackEntry>,
    path: Vec<Key>,
    /// Whether the path is one of the exports.
    export: bool,
    by_container: bool,
}

/// The entry of a stack that failed.
pub(super) struct FailedEntry {
    /// Its index.
    pub at: usize,
    pub stop: Stop,
    /// Whether a missing reference in it would be an error, because nothing makes up for it.
    pub certain: bool,
}

impl FailedEntry {
    fn at(at: usize, stop: Stop) -> FailedEntry {
        FailedEntry { at, stop, certain: true }
    }
}

/// The setting and the section with the rules by which lists merge.
const MERGE_OPTIONS: &str = "merge_options";

/// More values of layers than all paths of a node have together.
const MANY: usize = 10_000;

/// The nesting within which a later layer is expected to end a container that merges into its own inside.
const FEW: usize = 8;

/// The kinds of values that merging distinguishes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MergeKind {
    Map,
    List,
    Scalar,
}

impl MergeKind {
    fn of(whnf: &Whnf) -> MergeKind {
        match whnf {
            Whnf::Map(_) | Whnf::Raw(_) | Whnf::Value(Value::Map(_)) => MergeKind::Map,
            Whnf::List(_) | Whnf::Value(Value::List(_)) => MergeKind::List,
            Whnf::Value(_) => MergeKind::Scalar,
        }
    }
    fn name(self) -> &'static str {
        match self {
            MergeKind::Map => "mapping",
            MergeKind::List => "list",
            MergeKind::Scalar => "scalar",
        }
    }
}

impl Evaluator<'_> {
    pub(super) fn fold(&mut self, stack: &Arc<StackSlot>) -> Result<Found, Stop> {
        let skip = replaced_count(&stack.entries);
        let forgive = self.settings.ignore_overwritten_missing_references;
        let entries = &stack.entries[skip..];
        let found = self.fold_entries(entries, entries.len(), forgive);
        if skip > 0 && (skip > 1 || stack.entries[..skip].iter().any(|entry| entry.slot.dynamic())) {
            if self.settings.verbose_warnings {
                let origin = stack.entries[skip - 1].slot.origin();
                let warning = self.place(Fault::new(Kind::DroppedUnrendered {}), origin, None);
                self.warn(warning);
            }
            let by_container = found.as_ref().is_ok_and(|found| found.whnf.is_container());
            self.set_aside(stack.entries[..skip].to_vec(), by_container);
        }
        found.map_err(|failed| failed.stop)
    }

    /// Remembers replaced values of this path, which are examined last.
    fn set_aside(&mut self, entries: Vec<StackEntry>, by_container: bool) {
        self.own = true;
        let (path, export) = (self.path_keys().to_vec(), self.is_export());
        self.replaced.push(Replaced { entries, path, export, by_container });
    }

    /// Whether the next entry replaces the first one, a text with references that need not be evaluated
    /// because the value is a scalar in any case (R16). The value of the next entry is kept for its turn.
    fn replaces_text(&mut self, entries: &[StackEntry], ahead: &mut Option<Found>) -> bool {
        let text = |slot: &Slot| matches!(slot, Slot::Text(template, _) if template.parts.len() > 1);
        match entries {
            [entry, next, ..] if text(&entry.slot) && !entry.prefix.constant => match &next.slot {
                slot if text(slot) => true,
                slot => {
                    *ahead = self.compute(slot).ok();
                    ahead.as_ref().is_some_and(|found| MergeKind::of(&found.whnf) == MergeKind::Scalar)
                }
            },
            _ => false,
        }
    }

    /// Folds entries. `total` is their number to the end of the stack: no later value can make up for a
    /// missing reference in the last one. `forgive` is whether later values may do so at all.
    pub(super) fn fold_entries(
        &mut self,
        entries: &[StackEntry],
        total: usize,
        forgive: bool,
    ) -> Result<Found, FailedEntry> {
        let mut output = Whnf::Value(Value::Null).into();
        self.fold_into(&mut output, entries, total, forgive, &mut ())?;
        Ok(output)
    }

    /// The same, and reports each step. `output` is null at first, and the result at the end.
    pub(super) fn fold_into<T: Tracer>(
        &mut self,
        output: &mut Found,
        entries: &[StackEntry],
        total: usize,
        forgive: bool,
        tracer: &mut T,
    ) -> Result<(), FailedEntry> {
        if let Some(stop) = self.too_alike(entries) {
            return Err(FailedEntry::at(0, stop));
        }
        let mut output_origin = Origin::NONE;
        let (mut constant, mut changed) = (false, false);
        let (mut missing, mut replaced, mut ahead) = (None, Vec::new(), None);
        // A fast evaluation that fails is repeated, and a trace shows the value of each text.
        let lazy = !T::TRACES && !self.is_fast();
        for (index, entry) in entries.iter().enumerate() {
            let origin = entry.slot.origin();
            self.at_entry(origin);
            self.folded += 1;
            if self.folded > self.most_folded() {
                return Err(FailedEntry::at(index, self.too_many(origin)));
            }
            // Nothing overwrites a constant.
            let forgive = forgive && !(entry.prefix.constant && self.settings.strict_constant_parameters);
            let mut forgiven = false;
            let known = ahead.take();
            if lazy
                && !constant
                && !output.whnf.is_container()
                && self.replaces_text(&entries[index..], &mut ahead)
            {
                replaced.push(entry.clone());
                continue;
            }
            let new = match known.map_or_else(|| self.compute(&entry.slot), Ok) {
                Ok(found) => found,
                Err(Stop::Missing(not_found))
                    if forgive && !output.whnf.is_container() && index + 1 != total =>
                {
                    self.warn_overwritten(&not_found.fault);
                    missing.get_or_insert((index, not_found));
                    forgiven = true;
                    Whnf::Value(Value::Null).into()
                }
                Err(stop) => {
                    let certain = !forgive || output.whnf.is_container() || index + 1 == total;
                    let stop = if changed { self.reported(stop) } else { stop };
                    return Err(FailedEntry { at: index, stop, certain });
                }
            };
            if new.from_reference && new.whnf.is_container() && self.never_ends(&new) {
                return Err(FailedEntry::at(index, self.endless(&new, origin).into()));
            }
            let at = |stop| FailedEntry::at(index, stop);
            if constant {
                // Repeating the same value is no change (M5).
                let strict = self.settings.strict_constant_parameters;
                let same = !strict || self.same_value(output, &new).map_err(at)?;
                let effect = match (strict, same) {
                    (false, _) => Effect::Ignored,
                    (true, true) => Effect::Repeats,
                    (true, false) => Effect::Conflicts,
                };
                let setting = (effect != Effect::Repeats).then_some("strict_constant_parameters");
                tracer.step(effect, setting, &new);
                if !same {
                    let fault = self
                        .place(Fault::new(Kind::ConstantChanged {}), origin, None)
                        .note("the constant is set here", self.site(output_origin));
                    // Each change is reported.
                    self.report_once(fault.into());
                    changed = true;
                }
                continue;
            }
            let lists = entry.rules.as_deref().and_then(PathRules::declaration);
            let lists = lists.filter(|_| new.whnf.is_list());
            let (effect, setting) = match index {
                _ if forgiven => (Effect::Missing, None),
                0 => (Effect::Sets, None),
                _ if output.whnf.is_null() || entry.prefix.overrides => (Effect::Replaces, None),
                _ => match (self.effect(&output.whnf, &new.whnf), lists) {
                    ((Effect::Extends, _), Some(Declaration { strategy: Strategy::Replace, .. })) => {
                        (Effect::Replaces, Some(MERGE_OPTIONS))
                    }
                    (effect, _) => effect,
                },
            };
            if matches!(effect, Effect::Sets | Effect::Replaces | Effect::Missing) {
                tracer.replaced(take(output));
            }
            tracer.step(effect, setting, &new);
            if effect == Effect::Conflicts {
                return Err(at(self.conflict(output, output_origin, &new, origin, setting)));
            }
            self.take_in(output, output_origin, new, (entry, effect), lists, tracer).map_err(at)?;
            tracer.result(output);
            output_origin = origin;
            constant |= entry.prefix.constant;
        }
        if !replaced.is_empty() {
            self.set_aside(replaced, output.whnf.is_container());
        }
        match missing {
            _ if changed => Err(FailedEntry::at(entries.len() - 1, Stop::Reported)),
            Some((index, not_found)) if output.whnf.is_container() => {
                Err(FailedEntry::at(index, self.problem(*not_found).into()))
            }
            _ => Ok(()),
        }
    }

    /// Combines the output with the value of an entry. A container that nobody else holds grows in place.
    fn take_in<T: Tracer>(
        &mut self,
        output: &mut Found,
        before: Origin,
        new: Found,
        (entry, effect): (&StackEntry, Effect),
        lists: Option<&Declaration>,
        tracer: &mut T,
    ) -> Result<(), Stop> {
        match (effect, lists, entry.rules.as_deref()) {
            (Effect::Sets | Effect::Replaces | Effect::Extends, Some(declaration), _) => {
                let lists = (&take(output).whnf, &new.whnf);
                let list = self.merge_lists(lists, before, entry, declaration, tracer)?;
                *output = Whnf::List(Arc::new(list)).into();
            }
            (Effect::Merges, _, rules) => self.merge_into::<T>(output, new, entry, rules),
            (Effect::Extends, ..) => self.extend(output, before, &new.whnf, entry.slot.origin())?,
            (_, _, Some(rules)) => *output = self.under(new, entry, rules),
            _ => *output = new,
        }
        Ok(())
    }

    /// Whether two whnfs have the same value. A whnf that depends on this path has no value yet, so the
    /// comparison counts as a change. It is no cycle of the inventory.
    fn same_value(&mut self, one: &Found, other: &Found) -> Result<bool, Stop> {
        let before = self.faults.len();
        let values = self.deep_found(one).and_then(|one| Ok((one, self.deep_found(other)?)));
        let cycle = |fault: &Fault| matches!(fault.kind, Kind::ReferenceCycle { .. });
        let recorded = self.faults.len();
        let mut index = 0;
        self.faults.retain(|fault| {
            index += 1;
            index <= before || !cycle(fault)
        });
        match values {
            Ok((one, other)) => Ok(one == other),
            Err(Stop::Fault(fault)) if cycle(&fault) => Ok(false),
            Err(Stop::Reported) if self.faults.len() < recorded => Ok(false),
            Err(stop) => Err(stop),
        }
    }

    /// The maximum number of values of layers to merge. An explanation has a lower limit, because it folds
    /// repeatedly.
    pub(super) fn most_folded(&self) -> usize {
        let limit = self.settings.limit_values as usize;
        if self.mode == Mode::Explain { limit / 8 } else { limit }
    }

    pub(super) fn too_many(&self, origin: Origin) -> Stop {
        let limit = self.settings.limit_values as usize;
        self.limit_exceeded("the number of values of layers that are merged", limit, "limit_values", origin)
    }

    /// The error for very many values from few origins. If a container merges into its own inside, a request
    /// for one path of it has twice as many values at each level.
    fn too_alike(&self, entries: &[StackEntry]) -> Option<Stop> {
        if entries.len() <= 2 * MANY {
            return None;
        }
        let places: FxHashSet<Origin> = entries.iter().map(|entry| entry.slot.origin()).collect();
        (places.len() < entries.len() / 64).then(|| self.too_many(entries[0].slot.origin()))
    }

    /// Whether a container merges into its own inside, level after level. Each level is a new container, and
    /// a later layer may end the repetition, so only the number of levels reveals it: containers in files
    /// nest less than half as deep as the limit. If several layers contain the reference, each level has
    /// twice as many values; then the number of values reveals it. In fast mode paths are missing; if there
    /// is a problem, everything is evaluated again with paths.
    fn never_ends(&self, found: &Found) -> bool {
        let target = || found.target.as_deref().is_some_and(|target| self.path_keys().starts_with(target));
        let inside = || self.is_fast() || target();
        self.nesting() > self.settings.limit_depth as usize / 2
            || self.folded > MANY && self.nesting() > FEW && inside()
    }

    /// The fault of a container that merges into its own inside, level after level. The end of the path
    /// repeats the keys between the container and the reference to it.
    fn endless(&self, found: &Found, origin: Origin) -> Fault {
        let delimiter = &self.settings.delimiter;
        let path = self.path_keys();
        let target = found.target.as_deref().unwrap_or_default();
        let repeats = |length: &usize| path.ends_with(&path[path.len() - 2 * length..path.len() - length]);
        let period = (1..=path.len() / 2).find(repeats).unwrap_or_default();
        let inside = join_path(&[target, &path[path.len() - period..]].concat(), delimiter);
        let target = join_path(target, delimiter);
        let fault = Fault::new(Kind::ReferenceCycle { cycle: format!("{target} -> {inside} -> {target}") })
            .note(format!("'{inside}' is set here"), self.site(origin));
        self.place(fault.in_path(inside), origin, None)
    }

    /// The effect of a value on the current one, and the setting that decides it.
    fn effect(&self, earlier: &Whnf, later: &Whnf) -> (Effect, Option<&'static str>) {
        let settings = self.settings;
        let replaces = |allowed| if allowed { Effect::Replaces } else { Effect::Conflicts };
        match (MergeKind::of(earlier), MergeKind::of(later)) {
            (MergeKind::Map, MergeKind::Map) => (Effect::Merges, None),
            (MergeKind::List, MergeKind::List) => (Effect::Extends, None),
            (MergeKind::Scalar, MergeKind::Scalar) => (Effect::Replaces, None),
            (MergeKind::Map, MergeKind::List) | (MergeKind::List, MergeKind::Map) => {
                (Effect::Conflicts, None)
            }
            (_, MergeKind::Scalar) if later.is_null() && settings.allow_none_override => {
                (Effect::Replaces, Some("allow_none_override"))
            }
            (MergeKind::Map, MergeKind::Scalar) => {
                (replaces(settings.allow_scalar_over_dict), Some("allow_scalar_over_dict"))
            }
            (MergeKind::List, MergeKind::Scalar) => {
                (replaces(settings.allow_scalar_over_list), Some("allow_scalar_over_list"))
            }
            (MergeKind::Scalar, MergeKind::Map) => {
                (replaces(settings.allow_dict_over_scalar), Some("allow_dict_over_scalar"))
            }
            (MergeKind::Scalar, MergeKind::List) if settings.allow_list_over_scalar => {
                (Effect::Extends, Some("allow_list_over_scalar"))
            }
            (MergeKind::Scalar, MergeKind::List) => (Effect::Conflicts, Some("allow_list_over_scalar")),
        }
    }

    /// The fault of a value that conflicts with the current one.
    fn conflict(
        &self,
        earlier: &Found,
        before: Origin,
        later: &Found,
        origin: Origin,
        setting: Option<&'static str>,
    ) -> Stop {
        let null = later.whnf.is_null();
        let kind = Kind::MergeType {
            later: if null { "null" } else { MergeKind::of(&later.whnf).name() },
            earlier: MergeKind::of(&earlier.whnf).name(),
            setting: if null { Some("allow_none_override") } else { setting },
            replacing: self.replacing_key(),
            slip: [&earlier.whnf, &later.whnf]
                .into_iter()
                .find_map(scalar_slip)
                .or_else(|| has_dashes(&earlier.whnf, &later.whnf).then_some(MergeSlip::Dashes)),
        };
        let earlier = MergeKind::of(&earlier.whnf).name();
        let fault = self.place(Fault::new(kind), origin, None);
        fault.note(format!("the {earlier} is set here"), self.site(before)).into()
    }

    /// The key of the current path with the prefix that replaces.
    fn replacing_key(&self) -> Option<String> {
        let key = self.path_keys().last()?.as_str()?;
        let prefix = self.prefixes.text(KeyPrefix { overrides: true, constant: false });
        (!prefix.is_empty()).then(|| prefix + key)
    }

    /// Merges a later mapping into the output. A mapping with one owner changes in place.
    fn merge_into<T: Tracer>(
        &mut self,
        output: &mut Found,
        later: Found,
        entry: &StackEntry,
        rules: Option<&PathRules>,
    ) {
        let origin = entry.slot.origin();
        let earlier = take(output);
        let earlier = self.mapping(earlier, origin);
        let mut later = self.mapping(later, origin);
        if let Some(rules) = rules.filter(|_| !has_rules(&entry.slot)) {
            later = rules.apply_to(is_data(&entry.slot), &later, &self.prefixes);
        }
        let merge = if T::TRACES { stack_maps } else { merge_maps };
        *output = Whnf::Map(merge(earlier, &later, &self.prefixes)).into();
    }

    /// A first value under merge options: they hold for the lists in a mapping.
    fn under(&mut self, found: Found, entry: &StackEntry, rules: &PathRules) -> Found {
        if MergeKind::of(&found.whnf) != MergeKind::Map || has_rules(&entry.slot) {
            return found;
        }
        let map = self.mapping(found.clone(), entry.slot.origin());
        let new = rules.apply_to(is_data(&entry.slot), &map, &self.prefixes);
        if Arc::ptr_eq(&map, &new) { found } else { Whnf::Map(new).into() }
    }

    /// A mapping ready to be merged. The stacks of one from a reference are closed (M4).
    pub fn mapping(&mut self, found: Found, origin: Origin) -> Arc<MapSlot> {
        if let Whnf::Map(map) = &found.whnf {
            self.use_map(map);
        }
        match found.whnf {
            Whnf::Map(map) if found.from_reference => with_closed_stacks(&map, &self.prefixes),
            Whnf::Map(map) => map,
            Whnf::Raw(raw) => Arc::new(normalize(&raw, &self.prefixes)),
            Whnf::Value(Value::Map(map)) => Arc::new(map_of_values(&map, origin, &self.prefixes)),
            Whnf::List(_) | Whnf::Value(_) => Arc::new(MapSlot::empty()),
        }
    }

    /// Adds the items of a later list. A list with one owner grows in place.
    fn extend(
        &mut self,
        output: &mut Found,
        before: Origin,
        later: &Whnf,
        origin: Origin,
    ) -> Result<(), Stop> {
        let earlier = take(output);
        let mut list = match earlier.whnf {
            Whnf::List(list) => Arc::try_unwrap(list).unwrap_or_else(|shared| {
                let mut copying = ObjectCopies::default();
                // The forks copy the objects of the first list (Y7). Those in containers in it stay shared here.
                let copy = |item: &Slot| match item {
                    Slot::Value(value, origin) => Slot::Value(copying.value(value), *origin),
                    other => other.clone(),
                };
                let items = shared.items.iter().map(copy).collect();
                ListSlot { items, origin, dynamic: shared.dynamic, results: Results::default() }
            }),
            other => ListSlot::new(items(&other, before).collect(), origin),
        };
        let most = self.settings.limit_values as usize;
        let budget = most.saturating_sub(list.items.len());
        list.extend(items(later, origin).take(budget + 1), origin);
        if list.items.len() > most {
            let what = "the number of values that references repeat";
            return Err(self.limit_exceeded(what, most, "limit_values", origin));
        }
        *output = Whnf::List(Arc::new(list)).into();
        Ok(())
    }

    fn warn_overwritten(&mut self, fault: &Fault) {
        if let (Kind::ReferenceNotFound { reference, .. }, false) = (&fault.kind, self.mode == Mode::Explain)
        {
            let kind = Kind::OverwrittenReference { reference: reference.clone() };
            self.warn(Fault { kind, ..fault.clone() });
        }
    }

    /// Examines the values that later ones replaced. Their missing references are warnings or errors, as in any
    /// overwritten value (R6). Their cycles are ignored (R16). Their type conflicts are errors.
    pub fn examine_replaced(&mut self) {
        while let Some(replaced) = self.replaced.pop() {
            let before = self.enter(replaced.path.iter());
            self.exports = replaced.export;
            let entries = &replaced.entries;
            // A missing reference that a container replaces is an error (R6).
            let forgive = self.settings.ignore_overwritten_missing_references && !replaced.by_container;
            self.rest_of_entries(entries, forgive, true);
            self.leave(before);
        }
        self.examine_deferred();
    }
}

/// Whether the lists inside have their merge options already: those of a mapping that is written in a layer.
fn has_rules(slot: &Slot) -> bool {
    matches!(slot, Slot::Map(_))
}

/// Whether a value is a text such as `port:80`, which may be a key and its value.
fn scalar_slip(whnf: &Whnf) -> Option<MergeSlip> {
    let Whnf::Value(Value::Str(text)) = whnf else { return None };
    let is_name =
        |key: &str| !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    if text.contains(&format!(":{NO_BREAK}")) {
        return Some(MergeSlip::NoBreak);
    }
    if is_tight_mapping(text) {
        return Some(MergeSlip::Tight);
    }
    text.split_once('=').is_some_and(|(key, _)| is_name(key.trim())).then_some(MergeSlip::Equals)
}

/// Whether a list of mappings is merged over a mapping.
fn has_dashes(earlier: &Whnf, later: &Whnf) -> bool {
    let is_mapping = |slot: &Slot| match slot {
        Slot::Map(_) | Slot::Raw(_) => true,
        Slot::Value(value, _) => value.as_map().is_some(),
        _ => false,
    };
    let items_are = match later {
        Whnf::List(list) => !list.items.is_empty() && list.items.iter().all(is_mapping),
        Whnf::Value(Value::List(items)) => {
            !items.is_empty() && items.iter().all(|item| item.as_map().is_some())
        }
        _ => false,
    };
    items_are && MergeKind::of(earlier) == MergeKind::Map
}

/// Whether a reference or a query brings the value, so that a `~` in it removes no item (M11).
pub(super) fn is_data(slot: &Slot) -> bool {
    !matches!(slot, Slot::Map(_) | Slot::Raw(_))
}

/// Moves a value out and leaves null.
fn take(found: &mut Found) -> Found {
    std::mem::replace(found, Whnf::Value(Value::Null).into())
}

/// The entries that no `~` replaces.
pub(super) fn standing(entries: &[StackEntry]) -> &[StackEntry] {
    &entries[replaced_count(entries)..]
}

/// The number of entries that the last `~` replaces. After a constant, a `~` replaces nothing.
fn replaced_count(entries: &[StackEntry]) -> usize {
    let constant = entries.iter().position(|entry| entry.prefix.constant).unwrap_or(entries.len());
    let replacing =
        |(index, entry): (usize, &StackEntry)| (entry.prefix.overrides && index <= constant).then_some(index);
    entries.iter().enumerate().filter_map(replacing).next_back().unwrap_or(0)
}

/// The items of a list. A scalar is a list with one item.
pub(super) fn items(whnf: &Whnf, origin: Origin) -> Box<dyn Iterator<Item = Slot> + '_> {
    match whnf {
        Whnf::List(list) => Box::new(list.items.iter().cloned()),
        Whnf::Value(Value::List(items)) => Box::new(items.iter().map(move |item| from_value(item, origin))),
        Whnf::Value(value) => Box::new(std::iter::once(Slot::Value(value.clone(), origin))),
        Whnf::Map(_) | Whnf::Raw(_) => Box::new(std::iter::empty()),
    }
}
