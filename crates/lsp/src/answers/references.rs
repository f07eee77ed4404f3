//! References: the texts, queries and mappings that refer to a value, and the files that list a class.

use lsp_types::Location;
use reclass::editor::Item;
use reclass::list::{self, NodeFilter};

use crate::answers::definition::class_of_entry;
use crate::answers::listed;
use crate::text::{location, uri_of};
use crate::workspace::Cursor;

/// The places that refer to the thing at a place. In the file of a class, above all keys, it is the class.
pub fn references(place: &Cursor<'_>) -> Vec<Location> {
    let names = &place.workspace.names;
    let class = match place.item() {
        Some(found) => match found.item {
            Item::Class(written) => class_of_entry(place, &written, found.range.start),
            Item::Reference(path) | Item::Key { path, export: false } => return values(place, &path),
            Item::Key { .. } => None,
        },
        None => names.files.get(place.path).filter(|file| file.is_class).map(|file| file.name.clone()),
    };
    class.map_or_else(Vec::new, |name| entries(place, &name))
}

/// The references to a parameter.
fn values(place: &Cursor<'_>, path: &str) -> Vec<Location> {
    let Ok(found) = list::references(&place.workspace.inventory, &[path.to_owned()], &NodeFilter::default())
    else {
        return Vec::new();
    };
    let sites = found.rows.iter().filter_map(|row| row.site.as_ref());
    sites.filter_map(|site| location(site, place.text_of(&site.path).as_deref(), place.encoding)).collect()
}

/// The entries of lists that name a class.
fn entries(place: &Cursor<'_>, name: &str) -> Vec<Location> {
    let mut places = Vec::new();
    let names = &place.workspace.names;
    let listed_by = names.classes.get(name).map(|class| &class.listed_by);
    for path in listed_by.into_iter().flatten() {
        let Some(text) = place.text_of(path) else { continue };
        let Some(uri) = uri_of(&**path) else { continue };
        let entries = listed(names, path, &text).into_iter().filter(|(_, class)| ***class == *name);
        places.extend(
            entries.map(|(bytes, _)| Location::new(uri.clone(), place.encoding.range(&text, &bytes))),
        );
    }
    places.sort_by_key(|place| (place.uri.as_str().to_owned(), place.range.start));
    places
}
