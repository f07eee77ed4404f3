//! References: the texts, queries and mappings that refer to a value, the files that set it too, and the entries and
//! class mappings that lead to a class.

use crate::editor::{Item, ItemAt};
use lsp_types::{Location, Position};
use reclass::error::{Fault, Kind};
use reclass::source::Site;
use reclass::value::Text;
use reclass_analysis::list::{self, NodeFilter};

use crate::answers::definition::{classes_of_entry, setters};
use crate::answers::listed;
use crate::text::{location, uri_of};
use crate::workspace::Cursor;

/// The places that refer to the thing at a place. In the file of a class, above all keys, it is the class.
pub fn references(place: &Cursor<'_>) -> Vec<Location> {
    let own = place.workspace.names.files.get(place.path).filter(|file| file.is_class);
    let mut places = match (place.item(), own) {
        (Some(found), _) => of_item(place, &found),
        (None, Some(class)) => entries(place, &class.name),
        (None, None) => Vec::new(),
    };
    let order =
        |place: &Location| -> (String, Position) { (place.uri.as_str().to_owned(), place.range.start) };
    places.sort_by_key(order);
    places.dedup();
    places
}

fn of_item(place: &Cursor<'_>, found: &ItemAt) -> Vec<Location> {
    match &found.item {
        Item::Class(written) => {
            let classes = classes_of_entry(place, written, found.range.start);
            classes.iter().flat_map(|name| entries(place, name)).collect()
        }
        Item::Reference(path) => values(place, path),
        Item::Key { path, export } => {
            let mut places = if *export { queries(place, path) } else { values(place, path) };
            places.extend(setters(place, path, *export));
            // The key itself is no reference.
            let (own, here) = (uri_of(place.path), place.encoding.range(place.text, &found.range));
            places.retain(|one| Some(&one.uri) != own.as_ref() || one.range != here);
            places
        }
    }
}

/// The references to a parameter.
fn values(place: &Cursor<'_>, path: &str) -> Vec<Location> {
    let found = list::references(&place.workspace.inventory, &[path.to_owned()], &NodeFilter::default());
    let rows = found.map(|found| found.rows).unwrap_or_default();
    rows.iter().filter_map(|row| at(place, row.site.as_ref()?)).collect()
}

fn queries(place: &Cursor<'_>, path: &str) -> Vec<Location> {
    let found = list::queries_of_export(&place.workspace.inventory, path).unwrap_or_default();
    found.iter().filter_map(|site| at(place, site)).collect()
}

fn at(place: &Cursor<'_>, site: &Site) -> Option<Location> {
    location(site, place.text_of(&site.path).as_deref(), place.encoding)
}

/// The entries of lists and the class mappings that lead to a class.
fn entries(place: &Cursor<'_>, name: &str) -> Vec<Location> {
    let names = &place.workspace.names;
    let Some(class) = names.classes.get(name) else { return Vec::new() };
    let mut places: Vec<Location> = class.mapped_by.keys().filter_map(|one| mapping(place, one)).collect();
    for path in &class.listed_by {
        let Some(text) = place.text_of(path) else { continue };
        let Some(uri) = uri_of(&**path) else { continue };
        let entries = listed(names, path, &text).into_iter();
        let entries = entries.filter(|(_, classes)| classes.iter().any(|class| ***class == *name));
        places.extend(
            entries.map(|(bytes, _)| Location::new(uri.clone(), place.encoding.range(&text, &bytes))),
        );
    }
    places
}

/// The place of a class mapping in the settings file, if it comes from one.
fn mapping(place: &Cursor<'_>, mapping: &Text) -> Option<Location> {
    let kind = Kind::SettingPattern {
        name: "class_mappings".into(),
        pattern: mapping.to_string(),
        message: String::new(),
    };
    let asked = Fault { setting: Some(("class_mappings", mapping.clone())), ..Fault::new(kind) };
    let found = place.workspace.found.file.noticed(&[asked]);
    let site = found.into_iter().find(|found| found.setting.is_some())?.site?;
    at(place, &site)
}
