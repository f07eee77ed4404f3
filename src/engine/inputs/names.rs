//! The names of the nodes, and the trees of the classes: the catalog, which stays the same one as long as they do.

use std::path::Path;
use std::sync::Arc;

use super::Inputs;
use crate::engine::trees;
use crate::model::catalog::{self, Catalog, TreeId};
use crate::storage::folders::{Consulted, FolderCheck, Folders};
use crate::storage::fs::naming;
use crate::storage::git::is_yaml;
use crate::storage::location::TreeLocation;
use crate::storage::{Listing, TreeLimits};
use reclass_base::error::{Error, Fault, Kind, Result};

/// How often a listing is repeated if folders change while it runs.
const ATTEMPTS: usize = 10;

#[derive(Debug, Default)]
pub(super) struct CatalogCache {
    /// The scan in which it was verified.
    pub(super) scan: u64,
    /// Whether a repository has news.
    pub(super) stale: bool,
    /// The trees of the nodes, and their folders.
    pub(super) nodes: Vec<(Folders, Vec<Consulted>)>,
    /// The last one that could be read.
    pub(super) catalog: Option<Arc<Catalog>>,
}

impl Inputs {
    /// The current names of the nodes, and the trees of the classes.
    pub fn catalog(&self) -> Result<Arc<Catalog>> {
        let mut names = self.names.lock();
        if names.scan == self.scan()
            && !names.stale
            && let Some(catalog) = &names.catalog
        {
            return Ok(catalog.clone());
        }
        // If folders are exchanged meanwhile, a file may be found twice or not at all. A catalog is verified
        // again before an answer is given. An error is final, so it must occur twice.
        let mut met = None;
        for _ in 0..ATTEMPTS {
            match self.current(&mut names) {
                Ok(catalog) => {
                    (names.scan, names.stale) = (self.scan(), false);
                    names.catalog = Some(catalog.clone());
                    return Ok(catalog);
                }
                Err(error) => {
                    // It stays to find what is new in repositories, and answers no question.
                    names.stale = true;
                    if met.as_ref() == Some(&error) {
                        break;
                    }
                    met = Some(error);
                }
            }
            self.next_scan();
        }
        Err(met.unwrap_or_else(|| Error::new(Vec::new())))
    }

    /// The catalog as the folders are now; the same one if nothing changed.
    fn current(&self, names: &mut CatalogCache) -> Result<Arc<Catalog>> {
        let listing = |folder: &Path| self.before_listing(folder);
        let check = FolderCheck::new(self.scan(), &listing, &self.buffers);
        let mut classes = self.classes.lock();
        if let Some(catalog) = &names.catalog
            && !names.stale
            && names.nodes.iter_mut().all(|(folders, consulted)| folders.hold(consulted, &check))
            && classes.have_roots(&check)
        {
            return Ok(catalog.clone());
        }
        let before = names.catalog.as_deref();
        let locations = &self.trees.locations;
        let mut faults = Vec::new();
        let mut failed = |error: Error, setting: &'static str| {
            faults.extend(error.into_faults().into_iter().map(|fault| self.of_setting(fault, setting)));
        };
        let mut nodes = Listing::default();
        if let Some(TreeLocation::Folders(roots)) = &locations.nodes {
            for (number, root) in roots.iter().enumerate() {
                let listed = self.list_nodes(&mut names.nodes, (number, root), &check);
                listed.map_or_else(
                    |error| failed(error, "nodes_uri"),
                    |listing| nodes.folders.extend(listing.folders),
                );
            }
        }
        classes.clear_roots();
        for (tree, place) in (0..).map(TreeId).zip(&locations.classes) {
            let TreeLocation::Folders(roots) = place else { continue };
            for root in roots {
                let added = classes.add_root(tree, root, &check, || self.open(root));
                added.unwrap_or_else(|error| failed(error, "classes_uri"));
            }
        }
        drop(classes);
        if !faults.is_empty() {
            return Err(Error::new(faults));
        }
        let (nodes, commit) = match &locations.nodes {
            Some(TreeLocation::Git(branch)) => {
                let (nodes, commit) = self.trees.nodes(branch, &self.settings, before, &self.files)?;
                (nodes, Some(commit))
            }
            _ => (Arc::new(catalog::nodes(nodes, &self.settings)), None),
        };
        let new = Catalog { nodes, commit, trees: self.trees.classes(before, &self.files)? };
        // An equal catalog keeps its identity, so that answers stay valid.
        Ok(names.catalog.clone().filter(|before| **before == new).unwrap_or_else(|| Arc::new(new)))
    }

    fn list_nodes(
        &self,
        known: &mut Vec<(Folders, Vec<Consulted>)>,
        (number, root): (usize, &Path),
        check: &FolderCheck<'_>,
    ) -> Result<Listing> {
        if known.len() == number {
            known.push((self.open(root)?, Vec::new()));
        }
        let Some((folders, consulted)) = known.get_mut(number) else { return Ok(Listing::default()) };
        consulted.clear();
        folders.all(&|_| true, check, consulted)
    }

    /// The folders below a root, on disk or in a revision.
    fn open(&self, root: &Path) -> Result<Folders> {
        let limits = TreeLimits::of(&self.settings);
        let revision = self.trees.locations.revision.as_ref();
        match revision.and_then(|revision| revision.files(root, is_yaml, limits)) {
            Some(read) => Ok(trees::folders(root, &read?, &self.files, limits)),
            None => Ok(Folders::new(root, limits)),
        }
    }

    /// Adds to a fault about a folder the setting that names the folder.
    fn of_setting(&self, fault: Fault, setting: &'static str) -> Fault {
        let (Kind::DirectoryNotFound { path, .. } | Kind::DirectoryUnreadable { path, .. }) = &fault.kind
        else {
            return fault;
        };
        let uri = if setting == "nodes_uri" { &self.settings.nodes_uri } else { &self.settings.classes_uri };
        let base = self.settings.inventory_base_uri.as_deref();
        let text = naming(base, uri, Path::new(path)).cloned();
        Fault { setting: text.map(|text| (setting, text)), ..fault }
    }
}
