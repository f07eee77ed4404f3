//! Definition: the file of a class, the places that set a value.

use std::collections::HashSet;
use std::path::Path;

use lsp_types::{Location, Range};
use reclass::editor::Item;
use reclass::explain::{Selection, ValueTrace};
use reclass::source::Site;
use reclass::value::Text;

use crate::text::{location, uri_of};
use crate::workspace::Cursor;

/// The places of the definition of the thing at a place.
pub fn definition(place: &Cursor<'_>) -> Vec<Location> {
    let Some(found) = place.item() else { return Vec::new() };
    match &found.item {
        Item::Class(written) => classes_of_entry(place, written, found.range.start)
            .iter()
            .filter_map(|name| file(&place.workspace.names.classes.get(&**name)?.path))
            .collect(),
        Item::Reference(path) => values(place, path, false),
        Item::Key { path, export } => values(place, path, *export),
    }
}

fn file(path: &str) -> Option<Location> {
    Some(Location::new(uri_of(Path::new(path))?, Range::default()))
}

/// The class that an entry of a list leads to.
pub fn class_of_entry(place: &Cursor<'_>, written: &str, start: usize) -> Option<Text> {
    classes_of_entry(place, written, start).into_iter().next()
}

/// The classes that an entry of a list leads to: several for a pattern.
fn classes_of_entry(place: &Cursor<'_>, written: &str, start: usize) -> Vec<Text> {
    let names = &place.workspace.names;
    if let Some(name) = names.class(place.path, written) {
        return vec![name.clone()];
    }
    // A name with references or a pattern: the node knows what it became.
    let Some(node) = place.node() else { return Vec::new() };
    let selection = Selection { classes: vec!["*".into()], ..Selection::default() };
    let Some(explanation) = place.workspace.explain(&node, selection) else { return Vec::new() };
    let position = place.encoding.position(place.text, start);
    let is_here =
        |site: &Site| *site.path == *place.path && place.encoding.site(place.text, site).start == position;
    let listed = explanation
        .classes
        .into_iter()
        .filter(|class| class.listings.iter().any(|listing| listing.site.as_ref().is_some_and(is_here)));
    listed.map(|class| class.name).collect()
}

/// The places of the layers that set a value, the last one first.
fn values(place: &Cursor<'_>, path: &str, export: bool) -> Vec<Location> {
    let Some((_, explanation)) = place.explain(path, export) else { return Vec::new() };
    let traces = explanation.parameters.iter().chain(&explanation.exports);
    let mut seen = HashSet::new();
    let found = traces.flat_map(sites).filter(|site| seen.insert(*site));
    found.filter_map(|site| location(site, place.text_of(&site.path).as_deref(), place.encoding)).collect()
}

fn sites(trace: &ValueTrace) -> impl Iterator<Item = &Site> {
    let steps = trace.steps.iter().rev().filter_map(|step| step.place.site.as_ref());
    let own = trace.place.iter().filter_map(|place| place.site.as_ref()).filter(|_| trace.steps.is_empty());
    steps.chain(own)
}
