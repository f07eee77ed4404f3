//! Definition: the file of a class, the places that set a value.

use std::collections::HashSet;
use std::path::Path;

use crate::editor::{Item, keys_in};
use lsp_types::{Location, Range};
use reclass::source::Site;
use reclass::value::Text;
use reclass_analysis::explain::{Selection, ValueTrace};

use crate::text::{Lines, location, uri_of};
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
        Item::Key { path, export } => match values(place, path, *export) {
            // A query names exports of other nodes.
            found if found.is_empty() && *export => setters(place, path, true),
            found => found,
        },
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
pub fn classes_of_entry(place: &Cursor<'_>, written: &str, start: usize) -> Vec<Text> {
    let names = &place.workspace.names;
    if let Some(name) = names.class(place.path, written) {
        return vec![name.clone()];
    }
    // A name with references or a pattern: the chosen node knows what it became, or else any node.
    let of_any = || names.classes_of(place.path, written).into_iter().cloned().collect();
    let selection = Selection { classes: vec!["*".into()], ..Selection::default() };
    let explained = place.node().and_then(|node| place.workspace.explain(&node, selection));
    let Some(explanation) = explained else { return of_any() };
    let position = place.encoding.position(place.text, start);
    let is_here =
        |site: &Site| *site.path == *place.path && place.encoding.site(place.text, site).start == position;
    let listed = explanation
        .classes
        .into_iter()
        .filter(|class| class.listings.iter().any(|listing| listing.site.as_ref().is_some_and(is_here)));
    let found: Vec<Text> = listed.map(|class| class.name).collect();
    if found.is_empty() { of_any() } else { found }
}

/// The keys by which files set a parameter in the nodes that have the file, or an export in any node.
pub fn setters(place: &Cursor<'_>, path: &str, export: bool) -> Vec<Location> {
    let settings = place.workspace.inventory.settings();
    let wanted = Item::Key { path: path.to_owned(), export };
    let mut found = Vec::new();
    for file in place.workspace.names.setters(place.path, path, export, &settings.delimiter) {
        let (Some(text), Some(uri)) = (place.text_of(file), uri_of(&**file)) else { continue };
        let lines = Lines::new(&text, place.encoding);
        let keys = keys_in(&text, settings).into_iter().filter(|key| key.item == wanted);
        found.extend(keys.map(|key| Location::new(uri.clone(), lines.range(&key.range))));
    }
    found
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
