//! Acts out the old rules that need only an answer and its layers.

use rustc_hash::FxHashMap;

use super::normal::{OldForm, with_timestamps};
use reclass::parts::engine::answer::NodeInfo;
use reclass::parts::engine::context::Layers;
use reclass::parts::engine::sequence::{AUTOMATIC, IncludedBy};
use reclass::parts::model::layer::Applications;
use reclass_base::error::{Fault, Kind, Result};
use reclass_base::old_rules::{OldRule, OldRules};
use reclass_base::source::FileId;
use reclass_base::value::{Key, Map, Text, Value};

/// Changes an answer as these rules do.
pub(super) fn act(
    info: &mut NodeInfo,
    rules: OldRules,
    form: OldForm,
    layers: impl FnOnce() -> Result<Layers>,
) -> Result<()> {
    let is_duplicate = |fault: &Fault| matches!(fault.kind, Kind::DuplicateKey { .. });
    if rules.has(OldRule::UniqueKeys)
        && let Some(duplicate) = info.warnings.iter().find(|warning| is_duplicate(warning))
    {
        return Err(duplicate.clone().into());
    }
    if rules.has(OldRule::RemovalsInClass) {
        info.applications = by_class(&layers()?);
    } else if rules.has(OldRule::RemovalsBefore) {
        info.applications = removed_before(layers()?.all().map(|layer| &layer.applications));
    }
    if rules.has(OldRule::BaseEnvironment) {
        info.environment = Value::text("base");
        if let Value::Map(parameters) = &info.parameters
            && let Some(Value::Map(about)) = parameters.get(AUTOMATIC)
        {
            let about = with(about, "environment", info.environment.clone());
            info.parameters = with(parameters, AUTOMATIC, about);
        }
    }
    if form == OldForm::Pillar && rules.has(OldRule::Timestamps) {
        info.parameters = with_timestamps(&info.parameters);
    }
    Ok(())
}

/// The mapping with another value of this key.
fn with(map: &Map, key: &str, value: Value) -> Value {
    let mut map = map.clone();
    map.insert(Key::from(key), value);
    Value::map(map)
}

/// As salt-formulas/reclass: the applications of a class and of all that it includes become one list, which keeps no
/// removals, before they merge into the list of the includer.
fn by_class(merged: &Layers) -> Vec<Text> {
    let steps = merged.linearization.sequence.steps();
    let included: Vec<_> = steps.iter().flat_map(|step| &step.added.included).collect();
    let of_file: FxHashMap<FileId, &Applications> =
        merged.all().map(|layer| (layer.file, &layer.applications)).collect();
    let mut lists: Vec<Vec<Text>> = vec![Vec::new(); included.len() + 1];
    // A file comes before the files that it includes, so the last one is complete first. The lists of the
    // included files are collected in reverse.
    let mut of_included: Vec<Vec<usize>> = vec![Vec::new(); included.len() + 1];
    for (at, file) in included.iter().enumerate() {
        let by = if let IncludedBy::Includer(index) = file.by { index } else { 0 };
        of_included[by].push(at + 1);
    }
    for at in (0..lists.len()).rev() {
        let file = at.checked_sub(1).map_or(merged.layer.file, |at| included[at].file);
        let mut all: Vec<Text> = Vec::new();
        for name in of_included[at].iter().flat_map(|inner| &lists[*inner]) {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
        if let Some(own) = of_file.get(&file) {
            all.retain(|name| !own.removals.iter().any(|(removed, _)| removed == name));
            for (added, _) in &own.additions {
                if !all.contains(added) {
                    all.push(added.clone());
                }
            }
        }
        lists[at] = all;
    }
    lists.swap_remove(0)
}

/// As reclass-rs: a removal of an absent application removes its next addition.
fn removed_before<'a>(layers: impl Iterator<Item = &'a Applications>) -> Vec<Text> {
    let mut all: Vec<Text> = Vec::new();
    let mut pending: Vec<Text> = Vec::new();
    for layer in layers {
        for (removed, _) in &layer.removals {
            match all.iter().position(|name| name == removed) {
                Some(at) => drop(all.remove(at)),
                None => pending.push(removed.clone()),
            }
        }
        for (added, _) in &layer.additions {
            if let Some(at) = pending.iter().position(|name| name == added) {
                pending.remove(at);
            } else if !all.contains(added) {
                all.push(added.clone());
            }
        }
    }
    all
}
