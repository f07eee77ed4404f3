//! One inventory of the editor, and the texts that are open.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::editor::{InventoryNames, ItemAt, item_at, search_node, shown_parameters};
use lsp_types::Uri;
use reclass::error::{Error, Result};
use reclass::parts::storage::fs::{real, roots};
use reclass::redact::Redaction;
use reclass::value::Value;
use reclass::{Finding, Inventory, NodeInfo, Request};
use reclass_analysis::explain::{Explanation, Selection, explain};
use reclass_analysis::lint::lint_options;

use crate::FoundInventory;
use crate::checker::KnownFindings;
use crate::text::{Encoding, uri_of};

/// How long a node with a file is searched before the first check.
const SEARCH: Duration = Duration::from_millis(200);

/// An inventory and what is known of it.
pub struct Workspace {
    pub found: FoundInventory,
    pub inventory: Inventory,
    /// Its nodes and classes after the last check.
    pub names: Arc<InventoryNames>,
    /// The findings of the last check.
    pub findings: Vec<Finding>,
    /// The findings that are not shown.
    pub baseline: Option<Arc<KnownFindings>>,
    /// The answers for nodes when they last rendered, and their parameters with hidden secrets: the text is broken
    /// while somebody types a reference.
    parameters: RefCell<HashMap<String, (Arc<NodeInfo>, Value)>>,
    /// The node whose values were shown last in a file.
    nodes: RefCell<HashMap<String, String>>,
    /// The node that somebody chose.
    pub node: Option<String>,
    /// How often its texts changed. A check of older texts is not shown.
    pub generation: u64,
    /// The folders of its nodes and classes.
    roots: Vec<PathBuf>,
    schemas: Vec<PathBuf>,
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
        let inventory = Inventory::open(&lint_options(&found.options)).map_err(|error| {
            let faults = error.into_faults().into_iter();
            Error::new(faults.map(|fault| found.file.placed(fault)).collect())
        })?;
        let settings = inventory.settings();
        let base = settings.inventory_base_uri.as_deref();
        let folders = |uris: [(&Value, &'static str); 2]| -> Vec<PathBuf> {
            uris.iter().flat_map(|(uri, name)| roots(base, uri, name).unwrap_or_default()).collect()
        };
        let formulas = Value::texts(&settings.formula_schemas);
        Ok(Workspace {
            roots: folders([(&settings.nodes_uri, "nodes_uri"), (&settings.classes_uri, "classes_uri")]),
            schemas: folders([(&settings.schemas_uri, "schemas_uri"), (&formulas, "formula_schemas")]),
            baseline: None,
            found,
            inventory,
            names: Arc::default(),
            findings: Vec::new(),
            parameters: RefCell::default(),
            nodes: RefCell::default(),
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
        for (path, document) in documents.iter().filter(|(path, _)| self.reads(path)) {
            inventory.set_buffer(path, Some(&document.text));
        }
    }

    /// Whether a path is that of a node or class, perhaps of a new one. Other YAML files are none of ours.
    pub fn holds(&self, path: &Path) -> bool {
        let is_known = || path.to_str().is_some_and(|path| self.names.files.contains_key(path));
        self.roots.iter().any(|root| path.starts_with(root)) || is_known()
    }

    /// Whether a text at this path counts: that of a node, a class or a schema.
    pub fn reads(&self, path: &Path) -> bool {
        self.schemas.iter().any(|root| path.starts_with(root)) || self.holds(path)
    }

    /// The path of a file in this inventory by its real path: its folders may be symbolic links.
    pub fn named(&self, path: &Path) -> Option<PathBuf> {
        let mut folders = self.roots.iter().chain(&self.schemas).chain([&self.found.folder]);
        folders.find_map(|root| Some(root.join(path.strip_prefix(real(root)?).ok()?)))
    }

    /// The node whose values are shown in a file: the chosen one if it has the file, else the first that has it.
    pub fn node_of(&self, path: &str) -> Option<String> {
        let chosen =
            self.node.as_ref().filter(|node| self.names.nodes_of(path).any(|name| **name == *node.as_str()));
        let node = chosen.cloned().or_else(|| self.names.first_node(path).map(ToString::to_string))?;
        self.nodes.borrow_mut().insert(path.to_owned(), node.clone());
        Some(node)
    }

    /// The same. As long as a node has errors, it keeps the files that it had.
    pub fn last_node_of(&self, path: &str) -> Option<String> {
        let before = || self.nodes.borrow().get(path).filter(|node| self.names.has_errors(node)).cloned();
        self.node_of(path).or_else(before)
    }

    /// The same; before the first check a node is searched for a while.
    pub fn node_for_errors(&self, path: &str) -> Option<String> {
        if !self.names.files.is_empty() {
            return self.node_of(path);
        }
        search_node(&self.inventory, path, SEARCH).map(|node| node.to_string())
    }

    /// The parameters of a node with hidden secrets; `None` if it has errors.
    pub fn rendered(&self, node: &str) -> Option<Value> {
        let info = self.inventory.nodeinfo(node, &Request::default()).ok()?;
        self.remember(node, &info);
        self.last_rendered(node)
    }

    /// The same, or those that it had when it last rendered.
    pub fn parameters(&self, node: &str) -> Option<Value> {
        self.rendered(node).or_else(|| self.last_rendered(node))
    }

    fn last_rendered(&self, node: &str) -> Option<Value> {
        self.parameters.borrow().get(node).map(|(_, shown)| shown.clone())
    }

    /// Keeps the parameters of a node that rendered.
    pub fn remember(&self, node: &str, info: &Arc<NodeInfo>) {
        let mut known = self.parameters.borrow_mut();
        // The same value is hidden once it comes from a secret.
        if known.get(node).is_none_or(|(before, _)| !Arc::ptr_eq(before, info)) {
            let shown = shown_parameters(&self.inventory, info, &self.redaction()).unwrap_or(Value::Null);
            known.insert(node.to_owned(), (info.clone(), shown));
        }
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
    let current = current_text(documents, path, inventory.settings().max_file_bytes());
    // What the inventory read last may be old. It is the text of a file in a repository.
    current.or_else(|| inventory.text(path))
}

/// The open text of a file, or the one on the disk.
pub fn current_text(documents: &OpenTexts, path: &str, limit: usize) -> Option<String> {
    let path = Path::new(path);
    let open = documents.get(path).map(|document| document.text.clone());
    open.or_else(|| String::from_utf8(reclass::parts::storage::fs::read(path, limit).ok()?.0).ok())
}

/// A question about a place in an open text.
pub struct Cursor<'a> {
    pub workspace: &'a Workspace,
    /// All inventories of the editor.
    pub workspaces: &'a BTreeMap<usize, Workspace>,
    pub documents: &'a OpenTexts,
    /// The files that are open by another path.
    pub links: &'a BTreeMap<PathBuf, PathBuf>,
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

    /// The address of a file: the one by which it is open, if it is.
    pub fn address(&self, path: &Path) -> Option<Uri> {
        let link = self.links.iter().find(|(_, known)| known.as_path() == path);
        uri_of(link.map_or(path, |(link, _)| link))
    }

    /// The text of a file of the inventory, as the answers have it.
    pub fn text_of(&self, path: &str) -> Option<String> {
        text_of(&self.workspace.inventory, self.documents, path)
    }
}
