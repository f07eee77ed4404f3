//! The inputs of the engine: names and layers from the files of an inventory, and which of them changed.
//!
//! In one *scan*, each file is verified at most once. As long as a watch reports no change, the same scan
//! goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::error::{Error, Fault, Kind, Result, Warning};
use crate::base::lock::Mutex;
use crate::base::parallel;
use crate::base::progress::WorkUnit;
use crate::base::settings::Settings;
use crate::base::source::{FileId, Origin, Span};
use crate::base::value::Text;
use crate::engine::counts::Counters;
use crate::engine::etcd::{EtcdOwner, EtcdTree};
use crate::engine::fetch_state::FetchState;
use crate::engine::files::{Checkpoint, CurrentLayer, Files, Version};
use crate::engine::trees::{self, Trees};
use crate::evaluate::Locate;
use crate::model::catalog::{self, Catalog, CatalogEntry, NameIndex, TreeId};
use crate::storage::fs::naming;
use crate::storage::git::revision::Revision;
use crate::storage::location::{TreeLocation, TreeLocations};
use crate::storage::watch::{Watch, WatchEvents, is_as_listed};
use crate::storage::{DiskFingerprint, Folder, FoundFile, Listing, TreeLimits, walk};

/// The inputs of one inventory.
#[derive(Debug)]
pub struct Inputs {
    settings: Arc<Settings>,
    /// Where the files are.
    pub trees: Trees,
    /// The data in etcd.
    pub etcd: Option<EtcdTree>,
    /// The folders of all locations.
    folders: Vec<PathBuf>,
    scan: AtomicU64,
    watch: Mutex<WatchMode>,
    names: Mutex<CatalogCache>,
    last_full_check: Mutex<Option<SystemTime>>,
    pub files: Files,
    /// Counts of the work done.
    pub counters: Counters,
}

/// How often a listing is repeated if folders change while it runs.
const ATTEMPTS: usize = 10;

/// After this many scans, the engine tries again to set up a watch that failed: a link or mount may be
/// gone, a folder may exist now, or a system limit was raised.
const WATCH_RETRY_SCANS: u64 = 100;

/// How changes are found.
#[derive(Debug)]
enum WatchMode {
    /// By full scans, with an attempt to set up a watch only after this scan. A process that asks once
    /// needs no watch.
    NotBefore(u64),
    /// By a watch.
    On(Watch),
    /// By full scans only.
    Never,
}

#[derive(Debug, Default)]
struct CatalogCache {
    verified_at: u64,
    /// Whether a file is known to have appeared or disappeared.
    stale: bool,
    links: bool,
    folders: Vec<(Arc<Folder>, DiskFingerprint)>,
    catalog: Option<Result<Arc<Catalog>>>,
}

impl Inputs {
    /// The inputs that settings name, with folders as they are in `revision`. Reads no file.
    pub fn new(settings: Arc<Settings>, revision: Option<Arc<Revision>>) -> Result<Inputs> {
        let locations = TreeLocations::of(&settings, revision)?;
        Ok(Inputs {
            folders: locations.folders(),
            etcd: EtcdTree::of(&settings)?,
            trees: Trees::new(locations),
            scan: AtomicU64::new(0),
            watch: Mutex::new(match settings.cache.as_ref() {
                "auto" | "inotify" => WatchMode::NotBefore(0),
                _ => WatchMode::Never,
            }),
            files: Files::new(settings.clone()),
            settings,
            names: Mutex::default(),
            last_full_check: Mutex::default(),
            counters: Counters::default(),
        })
    }

    /// Begins a question, and returns whether any input may have changed since the last one. Branches move
    /// only between questions, so that one answer sees one commit of each.
    pub fn begin(&self) -> Result<bool> {
        let news = match &self.etcd {
            Some(etcd) => etcd.refresh(&self.files)?,
            None => false,
        };
        Ok(self.begin_trees()? || news)
    }

    fn begin_trees(&self) -> Result<bool> {
        if self.trees.is_empty() {
            return Ok(self.begin_folders(true));
        }
        let changed = self.trees.refresh()? || self.scan() == 0;
        if changed {
            self.names.lock().stale = true;
        }
        if !changed && !self.names.lock().stale {
            return Ok(self.begin_folders(true));
        }
        self.begin_folders(true);
        self.scan.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    /// The repositories and the etcd, with the age of their data.
    pub fn fetch_states(&self) -> Vec<FetchState> {
        let etcd = self.etcd.as_ref().and_then(EtcdTree::fetch_state);
        self.trees.fetch_states().into_iter().chain(etcd).collect()
    }

    /// The warnings about repositories and an etcd that could not be read.
    pub fn warnings(&self) -> Vec<Warning> {
        let etcd = self.etcd.as_ref().and_then(EtcdTree::fetch_state);
        self.trees.warnings().into_iter().chain(etcd.and_then(|state| state.stale)).collect()
    }

    /// Returns whether anything in folders may have changed since the question began.
    pub fn recheck(&self) -> bool {
        self.begin_folders(false)
    }

    /// Sets up a watch at the second question.
    fn begin_folders(&self, question: bool) -> bool {
        if self.folders.is_empty() {
            return false;
        }
        let mut watch = self.watch.lock();
        if self.files.has_hard_links() {
            *watch = WatchMode::Never;
        }
        if let WatchMode::On(on) = &mut *watch {
            match on.poll() {
                WatchEvents::Quiet => return false,
                WatchEvents::Changed { files, tree } => {
                    self.invalidate(&files, tree);
                    if tree {
                        // Whole folders may have been exchanged, so every file must be verified.
                        self.scan.fetch_add(1, Ordering::Relaxed);
                    }
                    return true;
                }
                WatchEvents::Lost => *watch = WatchMode::NotBefore(0),
            }
        } else if question && matches!(*watch, WatchMode::NotBefore(scan) if self.scan() > scan) {
            *watch =
                self.watch().map_or(WatchMode::NotBefore(self.scan() + WATCH_RETRY_SCANS), WatchMode::On);
        }
        // Files that were read before the watch existed must be verified once more.
        *self.last_full_check.lock() = Some(SystemTime::now());
        self.scan.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// The last time that every file was verified, in Unix seconds.
    pub fn last_full_check(&self) -> Option<f64> {
        let since = (*self.last_full_check.lock())?.duration_since(UNIX_EPOCH).ok()?;
        Some(since.as_secs_f64())
    }

    /// Whether a watch is active.
    pub fn is_watched(&self) -> bool {
        matches!(&*self.watch.lock(), WatchMode::On(watch) if watch.belongs_to_this_process())
    }

    /// The current scan.
    pub fn scan(&self) -> u64 {
        self.scan.load(Ordering::Relaxed)
    }

    /// Drops the watch of another process. The next question verifies every file.
    pub fn forget_watch(&self) {
        let mut watch = self.watch.lock();
        if let WatchMode::On(_) = &*watch {
            *watch = WatchMode::NotBefore(0);
        }
        self.scan.fetch_add(1, Ordering::Relaxed);
    }

    fn watch(&self) -> Option<Watch> {
        let names = self.names.lock();
        let folders: Vec<PathBuf> =
            names.folders.iter().map(|(folder, _)| folder.path().to_owned()).collect();
        if names.links || folders.is_empty() || !matches!(names.catalog, Some(Ok(_))) {
            return None;
        }
        Watch::new(&self.folders, &folders)
    }

    /// Makes the next question verify these files, and the names if a file appeared or disappeared.
    fn invalidate(&self, paths: &[PathBuf], tree: bool) {
        let mut names = self.names.lock();
        let mut renamed = tree;
        for path in paths {
            self.files.invalidate(path);
            renamed |= match &names.catalog {
                Some(Ok(catalog)) => !is_as_listed(path, self.has(catalog, path)),
                // If the catalog was an error, any file may have caused it.
                _ => true,
            };
        }
        names.stale |= renamed;
    }

    /// Whether a path belongs to a node or class. This is faster than asking the file system.
    fn has(&self, catalog: &Catalog, path: &Path) -> bool {
        let found = |root: &PathBuf| Some(FoundFile::below(root, path.strip_prefix(root).ok()?));
        let is_at = |item: Option<&CatalogEntry>| item.is_some_and(|item| item.is_at(path));
        let locations = &self.trees.locations;
        let folders = |place: &'_ TreeLocation| match place {
            TreeLocation::Folders(folders) => folders.iter().filter_map(found).collect::<Vec<_>>(),
            TreeLocation::Git(_) => Vec::new(),
        };
        let node = |found: &FoundFile| catalog.nodes.get(&catalog::node_name(found, &self.settings));
        if locations.nodes.iter().flat_map(folders).any(|found| is_at(node(&found))) {
            return true;
        }
        locations.classes.iter().zip(&catalog.trees).any(|(place, tree)| {
            let names = tree.as_ref().and_then(|tree| tree.get());
            let class = |found: &FoundFile| names.and_then(|names| names.get(&catalog::class_name(found)));
            folders(place).iter().any(|found| is_at(class(found)))
        })
    }

    /// Where the nodes are, for messages.
    pub fn node_location(&self) -> String {
        self.trees.locations.nodes.as_ref().map_or_else(String::new, ToString::to_string)
    }

    /// The URI of the nodes' location.
    pub fn node_uri(&self) -> String {
        let scheme = match &self.trees.locations.nodes {
            Some(TreeLocation::Git(_)) => catalog::REPOSITORY,
            _ => catalog::FOLDER,
        };
        format!("{scheme}{}", self.node_location())
    }

    pub fn classes<'a>(&self, catalog: &'a Catalog, tree: TreeId) -> Result<&'a NameIndex> {
        match catalog.trees.get(tree.0 as usize).and_then(|classes| classes.as_ref()?.get()) {
            Some(names) => Ok(names),
            None => self.trees.names(catalog, tree, &self.files),
        }
    }

    /// The current names of the inventory.
    pub fn catalog(&self) -> Result<Arc<Catalog>> {
        let mut names = self.names.lock();
        if names.verified_at == self.scan()
            && !names.stale
            && let Some(catalog) = &names.catalog
        {
            return catalog.clone();
        }
        names.verified_at = self.scan();
        if let Some(catalog) = names.catalog.clone()
            && !names.stale
            && !names.folders.is_empty()
            && walk::are_unchanged(&mut names.folders)
        {
            return catalog;
        }
        self.counters.listed.add();
        let (listed, built) = self.list(names.catalog.as_ref().and_then(|known| known.as_ref().ok()));
        let built = match built {
            // The old catalog of the repositories is needed to find what is new in them.
            Err(error) if !self.trees.is_empty() => {
                names.stale = true;
                return Err(error);
            }
            Err(error) if listed.failed => {
                *names = CatalogCache::default();
                return Err(error);
            }
            built => built.map(Arc::new),
        };
        names.stale = false;
        let before = names.catalog.take();
        names.links = listed.links;
        let before_folders = std::mem::replace(&mut names.folders, listed.folders);
        // A folder that was removed and created again is another folder, even at the same path.
        let same = before_folders.len() == names.folders.len()
            && before_folders.iter().zip(&names.folders).all(
                |((before, fingerprint), (now, fingerprint_now))| {
                    before == now && fingerprint.identity() == fingerprint_now.identity()
                },
            );
        if (!same || names.links)
            && let Some(mut watch) = self.watch.try_lock()
            && matches!(*watch, WatchMode::On(_))
        {
            // A new folder is not watched yet, and the target of a link never is.
            *watch = WatchMode::NotBefore(0);
        }
        // An equal catalog keeps its identity, so that answers stay valid.
        let catalog = match (before, built) {
            (Some(Ok(before)), Ok(built)) if *before == *built => Ok(before),
            (_, built) => built,
        };
        names.catalog = Some(catalog.clone());
        catalog
    }

    /// The names from all locations, and the folder listings behind them.
    ///
    /// If folders are exchanged during the listing, a file may be found twice or not at all. A catalog is
    /// verified again before an answer is given. An error is final, so it must occur twice, or while
    /// nothing changed.
    fn list(&self, before: Option<&Arc<Catalog>>) -> (FolderListings, Result<Catalog>) {
        let mut met = None;
        let mut attempts = 0;
        loop {
            let mut listed = FolderListings::default();
            attempts += 1;
            let built = self.build(&mut listed, before);
            match &built {
                Err(error) if attempts < ATTEMPTS && met.as_ref() != Some(error) && !listed.is_settled() => {
                    met = Some(error.clone());
                }
                _ => return (listed, built),
            }
        }
    }

    /// Lists all folders and builds the catalog.
    fn build(&self, listed: &mut FolderListings, before: Option<&Arc<Catalog>>) -> Result<Catalog> {
        let (limits, threads) = (TreeLimits::of(&self.settings), parallel::threads(self.settings.threads));
        let before = before.map(|before| &**before);
        let locations = &self.trees.locations;
        let mut faults = Vec::new();
        let mut list = |folders: &[PathBuf], setting: &'static str| {
            let listing = listed.list(self, folders, limits, threads);
            listing.unwrap_or_else(|error| {
                faults.extend(error.into_faults().into_iter().map(|fault| self.of_setting(fault, setting)));
                Listing::default()
            })
        };
        let nodes = match &locations.nodes {
            Some(TreeLocation::Folders(folders)) => list(folders, "nodes_uri"),
            _ => Listing::default(),
        };
        let classes = locations.classes.iter().filter_map(|place| match place {
            TreeLocation::Folders(folders) => Some(list(folders, "classes_uri")),
            TreeLocation::Git(_) => None,
        });
        let mut classes = classes.collect::<Vec<_>>().into_iter();
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
        let trees = self
            .trees
            .classes(before, &self.files, |_| catalog::classes(classes.next().unwrap_or_default()))?;
        Ok(Catalog { node_clashes: nodes.clashes(), nodes, commit, trees })
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

    /// The current layer of a node's or class's file.
    pub fn layer(&self, item: &CatalogEntry) -> CurrentLayer {
        self.files.layer(item, self.scan(), &self.counters)
    }

    /// Reads many files at once, with several threads if it pays.
    pub fn preload(&self, items: &[&CatalogEntry], threads: usize) {
        let scan = self.scan();
        let unverified = self.files.unverified(items, scan);
        parallel::each_counted(
            WorkUnit::Files,
            threads,
            &unverified,
            || (),
            |(), item| drop(self.files.layer(item, scan, &self.counters)),
            |()| false,
        );
    }

    /// The current point in time.
    pub fn checkpoint(&self) -> Checkpoint {
        self.files.checkpoint(self.scan())
    }

    /// The files that may have changed since a checkpoint. `None` if any file may have changed.
    pub fn changed_since(&self, before: Checkpoint) -> Option<Vec<FileId>> {
        self.files.changed_since(before, self.scan())
    }

    /// The versions of all files verified in this scan. Every result of this scan depends only on them.
    pub fn versions(&self) -> Vec<(FileId, Version)> {
        self.files.versions(self.scan())
    }

    /// Whether a file still has this version.
    pub fn is_current(&self, file: FileId, version: Version, catalog: &Catalog) -> bool {
        self.files.is_current((file, version), self.scan(), catalog, &self.counters)
    }
}

impl Locate for Inputs {
    fn locate(&self, origin: Origin) -> Option<(Arc<str>, Span)> {
        self.files.locate(origin)
    }

    fn bytes(&self, file: FileId) -> Option<Arc<[u8]>> {
        self.files.bytes(file)
    }

    fn owner(&self, file: FileId) -> Option<(bool, Text)> {
        let EtcdOwner { is_class, name } = self.etcd.as_ref()?.owner(file)?;
        Some((is_class, name))
    }
}

#[derive(Default)]
struct FolderListings {
    folders: Vec<(Arc<Folder>, DiskFingerprint)>,
    links: bool,
    /// Whether a folder could not be listed.
    failed: bool,
}

impl FolderListings {
    /// Whether all folders are unchanged since they were listed.
    fn is_settled(&self) -> bool {
        !self.failed && walk::are_unchanged(&mut self.folders.clone())
    }

    fn list(
        &mut self,
        inputs: &Inputs,
        folders: &[PathBuf],
        limits: TreeLimits,
        threads: usize,
    ) -> Result<Listing> {
        let mut all = Listing::default();
        for folder in folders {
            let revision = inputs.trees.locations.revision.as_ref();
            if let Some(files) = revision.and_then(|revision| revision.files(folder, limits)) {
                all.append(trees::listed(folder, &files?, &inputs.files));
                continue;
            }
            let listing = walk::list(std::slice::from_ref(folder), limits, threads);
            let listing = listing.inspect_err(|_| self.failed = true)?;
            self.links |= listing.links;
            self.folders.extend(listing.folders.iter().cloned().zip(listing.fingerprints.iter().copied()));
            all.append(listing);
        }
        Ok(all)
    }
}
