//! Turns a file with a schema into JSON, and keeps the positions, so that a message about a part of the schema has its
//! line.

use std::sync::Arc;

use serde_json::Value as Json;

use super::instance::json;
use crate::errors::SCHEMA_INVALID;
use reclass::parts::engine::SchemaFile;
use reclass::parts::storage::fs;
use reclass_base::error::{Error, Fault, Result};
use reclass_base::pystr;
use reclass_base::settings::Settings;
use reclass_base::source::Site;
use reclass_yaml::compose::{Data, Document, DocumentLimits, Node, compose_within};
use reclass_yaml::to_value;

#[derive(Debug)]
pub(super) struct SchemaDocument {
    /// Its path, as messages show it.
    pub shown: Arc<str>,
    /// Its address for `$ref`, which other files of the folder can name relatively.
    pub uri: String,
    pub json: Json,
    document: Document,
}

/// Begins the addresses of schemas.
pub(super) const SCHEME: &str = "inventory";

impl SchemaDocument {
    pub fn read(file: &SchemaFile, settings: &Settings) -> Result<SchemaDocument> {
        let bytes = file.bytes.clone()?;
        let here = |mut error: Error| {
            for fault in error.faults_mut() {
                let notes = fault.notes.iter_mut().filter_map(|note| note.site.as_mut());
                fault.site.iter_mut().chain(notes).for_each(|site| site.path = file.shown.clone());
            }
            error
        };
        // In JSON, `1e-8` is a number.
        let is_json =
            file.names.last().and_then(|name| name.rsplit_once('.')).is_some_and(|(_, end)| end == "json");
        let limits = DocumentLimits::of(settings);
        let limits = DocumentLimits { yaml12: limits.yaml12 || is_json, ..limits };
        let document = compose_within(&bytes, limits).map_err(here)?;
        let uri = format!("{SCHEME}:///{}/{}", file.folder, fs::percent_encoded(&file.names.join("/")));
        let json = document.root.as_ref().map_or(Json::Null, |root| json(&to_value(root)));
        let read = SchemaDocument { shown: file.shown.clone(), uri, json, document };
        if !read.json.is_object() && !read.json.is_boolean() {
            return Err(read.invalid("", "a schema is a mapping", None).into());
        }
        Ok(read)
    }

    /// The address of a part.
    pub fn address(&self, pointer: &str) -> String {
        format!("{}#{}", self.uri, fs::percent_encoded(pointer))
    }

    /// Keys that are written twice.
    pub fn duplicates(&self) -> impl Iterator<Item = Fault> + '_ {
        self.document.warnings.iter().map(|(later, _, warning)| warning.clone().at_site(self.site_of(*later)))
    }

    fn site_of(&self, index: u32) -> Site {
        let span = self.document.spans.get(index as usize).copied().unwrap_or_default();
        Site::at(self.shown.clone(), span)
    }

    /// The place of a part. Of an entry of a mapping it is the key.
    pub fn site(&self, pointer: &str) -> Site {
        let Some(mut node) = self.document.root.as_ref() else { return Site::file(self.shown.clone()) };
        let mut index = node.index;
        for name in segments(pointer) {
            match child(node, &name) {
                Some((at, below)) => (index, node) = (at, below),
                None => break,
            }
        }
        self.site_of(index)
    }

    /// The fault that this part is no schema.
    pub fn invalid(&self, pointer: &str, message: impl Into<String>, help: Option<&str>) -> Fault {
        SCHEMA_INVALID.fault(message, help).at_site(self.site(pointer))
    }
}

/// The entry of a mapping or the item of a list, with the number of its first node.
fn child<'n>(node: &'n Node, name: &str) -> Option<(u32, &'n Node)> {
    match &node.data {
        Data::Map(entries) => {
            let entry = entries.iter().find(|entry| pystr::str(&entry.key.0) == name)?;
            Some((entry.key_index, &entry.value))
        }
        Data::List(items) => items.get(name.parse::<usize>().ok()?).map(|item| (item.index, item)),
        Data::Value(_) => None,
    }
}

/// The names in a JSON pointer.
pub(super) fn segments(pointer: &str) -> impl Iterator<Item = String> + '_ {
    pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"))
}

/// A JSON pointer with one more name.
pub(super) fn joined(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}
