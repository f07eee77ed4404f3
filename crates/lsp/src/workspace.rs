//! One inventory of the editor, and the texts that are open.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use reclass::editor::{InventoryNames, ItemAt, item_at};
use reclass::error::Result;
use reclass::explain::{Explanation, Selection, explain};
use reclass::files::roots;
use reclass::lint::lint_options;
use reclass::redact::Redaction;
use reclass::value::Value;
use reclass::{Finding, Inventory, Request};

use crate::FoundInventory;
use crate::text::Encoding;

/// An inventory and what is known of it.
pub struct Workspace {
    pub found: FoundInventory,
    pub inventory: Inventory,
    /// Its nodes and classes after the last check.
    pub names: InventoryNames,
    /// The findings of the last check.
    pub findings: Vec<Finding>,
    /// The parameters of nodes when they last rendered: the text is broken while somebody types a reference.
    parameters: RefCell<HashMap<String, Value>>,
    /// The node that somebody chose.
    pub node: Option<String>,
    /// How often its texts changed. A check of older texts is not shown.
    pub generation: u64,
    /// The folders of its nodes and classes.
    roots: Vec<PathBuf>,
    /// Whether its folder left the editor's workspace.
    pub closed: bool,
}

/// A text that is open in the editor.
pub struct OpenText {
    pub text: String,
    pub version: i32,
}

/// The documents by path.
pub type OpenTexts = BTreeMap<PathBuf, OpenText>;

impl Workspace {
    /// Opens an inventory. Its first check fills the rest.
    pub fn open(found: FoundInventory) -> Result<Workspace> {
        let inventory = Inventory::open(&lint_options(&found.options))?;
        let settings = inventory.settings();
        let base = settings.inventory_base_uri.as_deref();
        let uris = [(&settings.nodes_uri, "nodes_uri"), (&settings.classes_uri, "classes_uri")];
        let roots = uris.into_iter().flat_map(|(uri, name)| roots(base, uri, name).unwrap_or_default());
        Ok(Workspace {
            roots: roots.collect(),
            closed: false,
            found,
            inventory,
            names: InventoryNames::default(),
            findings: Vec::new(),
            parameters: RefCell::default(),
            node: None,
            generation: 0,
        })
    }

    /// Takes the open texts in place of their files, in an inventory that is new.
    pub fn take_texts(&self, documents: &OpenTexts) {
        self.give_texts(&self.inventory, documents);
    }

    /// The same for another inventory with the same options.
    pub fn give_texts(&self, inventory: &Inventory, documents: &OpenTexts) {
        for (path, document) in documents.iter().filter(|(path, _)| self.holds(path)) {
            inventory.set_buffer(path, Some(&document.text));
        }
    }

    /// Whether a path is that of a node or class, perhaps of a new one. Other YAML files are none of ours.
    pub fn holds(&self, path: &Path) -> bool {
        let is_known = || path.to_str().is_some_and(|path| self.names.files.contains_key(path));
        !self.closed && (self.roots.iter().any(|root| path.starts_with(root)) || is_known())
    }

    /// The node whose values are shown in a file: the chosen one if it has the file, else the first that has it.
    pub fn node_of(&self, path: &str) -> Option<String> {
        let chosen =
            self.node.as_ref().filter(|node| self.names.nodes_of(path).any(|name| **name == *node.as_str()));
        chosen.cloned().or_else(|| self.names.first_node(path).map(ToString::to_string))
    }

    /// The parameters of a node, or those that it had when it last rendered.
    pub fn parameters(&self, node: &str) -> Option<Value> {
        let mut known = self.parameters.borrow_mut();
        if let Ok(info) = self.inventory.nodeinfo(node, &Request::default()) {
            known.insert(node.to_owned(), info.parameters.clone());
        }
        known.get(node).cloned()
    }

    /// The secrets that no answer shows.
    pub fn redaction(&self) -> Redaction {
        Redaction::of(self.inventory.settings())
    }

    /// Explains a part of a node.
    pub fn explain(&self, node: &str, selection: Selection) -> Option<Explanation> {
        let selection = Selection { redaction: self.redaction(), ..selection };
        explain(&self.inventory, node, &Request::default(), &selection).ok()
    }
}

/// The text of a file as the answers have it: the open one, or that of the file.
pub fn text_of(inventory: &Inventory, documents: &OpenTexts, path: &str) -> Option<String> {
    let open = documents.get(Path::new(path)).map(|document| document.text.clone());
    open.or_else(|| inventory.text(path)).or_else(|| {
        let limit = inventory.settings().max_file_bytes();
        let (bytes, _) = reclass::files::read(Path::new(path), limit).ok()?;
        String::from_utf8(bytes).ok()
    })
}

/// A question about a place in an open text.
pub struct Cursor<'a> {
    pub workspace: &'a Workspace,
    pub documents: &'a OpenTexts,
    pub path: &'a str,
    pub text: &'a str,
    pub offset: usize,
    pub encoding: Encoding,
}

impl Cursor<'_> {
    /// The thing at the place.
    pub fn item(&self) -> Option<ItemAt> {
        item_at(self.text, self.offset, self.workspace.inventory.settings())
    }

    /// The node whose values are shown.
    pub fn node(&self) -> Option<String> {
        self.workspace.node_of(self.path)
    }

    /// The node whose values are shown, and the explanation of one of its parameters or exports.
    pub fn explain(&self, path: &str, export: bool) -> Option<(String, Explanation)> {
        let (node, paths) = (self.node()?, vec![path.to_owned()]);
        let selection = if export {
            Selection { exports: paths, ..Selection::default() }
        } else {
            Selection { parameters: paths, ..Selection::default() }
        };
        let explanation = self.workspace.explain(&node, selection)?;
        Some((node, explanation))
    }

    /// The text of a file of the inventory, as the answers have it.
    pub fn text_of(&self, path: &str) -> Option<String> {
        text_of(&self.workspace.inventory, self.documents, path)
    }
}
