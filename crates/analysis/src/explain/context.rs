//! Explains the context of a node: which lists name a class, which layers add or remove an application, and
//! which source sets the environment.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::budget::Budget;
use super::data::{ApplicationStep, ApplicationTrace, ClassListing, ClassTrace, EnvironmentTrace};
use super::place::ValuePlaces;
use reclass::parts::engine::{Computation, IncludedBy, IncludedFile, Layers, ListedClass};
use reclass_base::error::Link;
use reclass_base::pattern::{Glob, chosen};
use reclass_base::source::{FileId, Origin};
use reclass_base::value::Text;
use reclass_yaml::compose::{Data, compose};

/// The environment of a node.
pub fn environment(
    computation: &Computation<'_>,
    layers: &Layers,
    requested: Option<&Text>,
) -> EnvironmentTrace {
    let value = layers.environment.clone();
    if requested.is_some() {
        return EnvironmentTrace { value, source: "request", place: None };
    }
    if layers.layer.environment.is_none() {
        return EnvironmentTrace { value, source: "default_environment", place: None };
    }
    let place = section(computation, layers.layer.file, "environment")
        .map(|origin| ValuePlaces::new(computation, layers).of(origin, "node"));
    EnvironmentTrace { value, source: "node", place }
}

/// The origin of a section's value in a file.
fn section(computation: &Computation<'_>, file: FileId, name: &str) -> Option<Origin> {
    let text = computation.inputs.files.text(&computation.inputs.files.path_of(file)?)?;
    let document = compose(text.as_bytes()).ok()?;
    let Data::Map(entries) = document.root?.data else { return None };
    let entry = entries.iter().find(|entry| entry.key.as_str() == Some(name))?;
    Some(Origin { file, node: entry.value.index })
}

/// The classes that match any of the globs, within the budget.
pub(super) fn classes(
    computation: &Computation<'_>,
    layers: &Layers,
    globs: &[Glob],
    budget: &Budget,
) -> Vec<ClassTrace> {
    let chains = layers.linearization.include_chains();
    let (all, listings) = (chains.all(), chains.listings());
    let inputs = computation.inputs;
    let (mut by_file, mut by_name) = (FxHashMap::default(), FxHashMap::default());
    for one in all.iter().skip(1) {
        by_file.entry(one.file).or_insert(one);
        by_name.entry(&one.name).or_insert(one);
    }
    // In merge order, then the missing ones.
    let merged = layers.linearization.layers().filter_map(|layer| by_file.get(&layer.file));
    let mut names: IndexMap<&Text, Vec<&ListedClass>> = merged.map(|one| (&one.name, Vec::new())).collect();
    for listed in &listings {
        names.entry(&listed.class).or_default().push(listed);
    }
    names.retain(|name, _| chosen(globs, name));
    let again = again(layers);
    let own = layers.all();
    let written: FxHashMap<Origin, &Text> = own
        .flat_map(|layer| &layer.classes)
        .filter(|entry| entry.template.is_some() || entry.wild)
        .map(|entry| (entry.origin, &entry.name))
        .collect();
    names
        .into_iter()
        .map(|(name, listings)| {
            let included = by_name.get(name).copied();
            let path = included.and_then(|included| inputs.files.path_of(included.file));
            let mut entries = Vec::new();
            for listed in listings {
                if budget.is_full() {
                    break;
                }
                let mut chain = match &listed.by {
                    IncludedBy::Includer(index) => chains.chain(*index, inputs),
                    IncludedBy::Node | IncludedBy::Mapping(_) => Vec::new(),
                };
                let site = reclass::parts::evaluate::site(inputs, listed.origin, None);
                chain.push(Link {
                    includer: chains.includer(&listed.by),
                    class: listed.class.clone(),
                    site: site.clone(),
                });
                let effective = included
                    .is_some_and(|included| included.listed == listed.origin && same(included, &listed.by));
                let written = written.get(&listed.origin).map(|name| (*name).clone());
                entries.push(ClassListing {
                    site,
                    chain: chain.clone(),
                    effective,
                    written: written.clone(),
                });
                budget.take_links(chain.len());
                for &origin in again.get(&listed.origin).into_iter().flatten() {
                    if !budget.take_links(chain.len()) {
                        break;
                    }
                    let site = reclass::parts::evaluate::site(inputs, origin, None);
                    let mut chain = chain.clone();
                    if let Some(last) = chain.last_mut() {
                        last.site.clone_from(&site);
                    }
                    entries.push(ClassListing { site, chain, effective: false, written: written.clone() });
                }
            }
            // A list is complete only after the lists of the classes in it. So the effective entry need not
            // come first.
            entries.sort_by_key(|listing: &ClassListing| !listing.effective);
            // A mapping may occur twice, or name a class twice. Only the first entry includes the class.
            entries.iter_mut().skip(1).for_each(|listing| listing.effective = false);
            ClassTrace { name: name.clone(), file: path, listings: entries }
        })
        .collect()
}

/// Further entries for the same class in the same list, by the origin of the first entry.
fn again(layers: &Layers) -> FxHashMap<Origin, Vec<Origin>> {
    let mut again: FxHashMap<Origin, Vec<Origin>> = FxHashMap::default();
    for layer in layers.all() {
        if layer.repeated_classes.is_empty() {
            continue;
        }
        let first: FxHashMap<_, _> = layer.classes.iter().map(|one| (&one.name, one.origin)).collect();
        for (name, origin) in &layer.repeated_classes {
            if let Some(first) = first.get(name).filter(|first| **first != Origin::NONE) {
                again.entry(*first).or_default().push(*origin);
            }
        }
    }
    again
}

fn same(included: &IncludedFile, by: &IncludedBy) -> bool {
    match (&included.by, by) {
        (IncludedBy::Includer(one), IncludedBy::Includer(other)) => one == other,
        (IncludedBy::Mapping(one), IncludedBy::Mapping(other)) => one == other,
        _ => false,
    }
}

/// The applications that match any of the globs, in the order of their first mention, within the budget.
pub(super) fn applications(
    computation: &Computation<'_>,
    layers: &Layers,
    globs: &[Glob],
    budget: &Budget,
) -> Vec<ApplicationTrace> {
    let places = ValuePlaces::new(computation, layers);
    let mut traces: IndexMap<Text, ApplicationTrace> = IndexMap::new();
    for layer in layers.all() {
        let own = &layer.applications;
        let added = own.additions.iter().chain(&own.ineffective).map(|one| (one, false));
        let mut entries: Vec<_> = own.removals.iter().map(|one| (one, true)).chain(added).collect();
        // In list order: an application that a later entry removes was present before.
        entries.sort_by_key(|((_, origin), _)| origin.node);
        for ((name, origin), removes) in entries {
            if !chosen(globs, name) {
                continue;
            }
            let new = || ApplicationTrace { name: name.clone(), present: false, steps: Vec::new() };
            let trace = traces.entry(name.clone()).or_insert_with(new);
            let effect = match (removes, trace.present) {
                (true, true) => "removes",
                (true, false) => "misses",
                (false, true) => "repeats",
                (false, false) => "adds",
            };
            trace.present = !removes;
            let place = places.of(*origin, "class mapping");
            if !budget.take_links(place.chain.len()) {
                break;
            }
            trace.steps.push(ApplicationStep { effect, place });
        }
    }
    traces.into_values().collect()
}
