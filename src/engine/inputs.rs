//! The inputs of the engine: names and layers from the files of an inventory, and which of them changed.
//!
//! In one *scan*, each file and folder is verified at most once. As long as a watch reports no change, the
//! same scan goes on. An *epoch* ends with the scan, or when a file appeared or disappeared.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::engine::class_names::{ClassFolders, ClassName};
use crate::engine::counts::Counters;
use crate::engine::etcd::{EtcdOwner, EtcdTree};
use crate::engine::fetch_state::FetchState;
use crate::engine::files::{Checkpoint, CurrentLayer, Files, Version};
use crate::engine::fingerprint::ByteSource;
use crate::engine::schema_files::{SchemaFiles, SchemaReader};
use crate::engine::trees::{self, Trees};
use crate::evaluate::Locate;
use crate::model::catalog::{self, Catalog, CatalogEntry, ClassTree, NameIndex, TreeId};
use crate::storage::folders::{Buffers, Consulted, FolderCheck, Folders};
use crate::storage::fs::naming;
use crate::storage::git::{Blob, is_yaml};
use crate::storage::location::{TreeLocation, TreeLocations};
use crate::storage::overlay::Overlay;
use crate::storage::watch::{Watch, WatchEvents};
use crate::storage::{Listing, TreeLimits, os};
use reclass_base::error::{Error, Fault, Kind, Result, Warning};
use reclass_base::lock::Mutex;
use reclass_base::parallel;
use reclass_base::progress::WorkUnit;
use reclass_base::settings::Settings;
use reclass_base::source::{FileId, Origin, Span};
use reclass_base::value::Text;

/// The inputs of one inventory.
#[derive(Debug)]
pub struct Inputs {
    settings: Arc<Settings>,
    /// Where the files are.
    pub trees: Trees,
    /// The data in etcd.
    pub etcd: Option<EtcdTree>,
    /// An input in another state than it has.
    overlay: Option<Overlay>,
    /// The folders of all locations.
    folders: Vec<PathBuf>,
    /// The files whose text an editor has, or whose edit is looked at.
    buffers: Buffers,
    scan: AtomicU64,
    epoch: AtomicU64,
    watch: Mutex<WatchMode>,
    names: Mutex<CatalogCache>,
    classes: Mutex<ClassFolders>,
    /// Why the classes of a tree could not all be listed, for [`Inputs::take_unlisted`].
    unlisted: Mutex<Option<Error>>,
    last_full_check: Mutex<Option<SystemTime>>,
    /// The files that were read, with their layers.
    pub files: Files,
    /// The files with schemas, as they were when they were last needed.
    schemas: SchemaReader,
    /// Counts of the work done.
    pub counters: Counters,
}

/// The number of buffers in this process.
static BUFFERS: AtomicU64 = AtomicU64::new(0);

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
    /// Whether a repository has news.
    stale: bool,
    /// The trees of the nodes, and their folders.
    nodes: Vec<(Folders, Vec<Consulted>)>,
    catalog: Option<Arc<Catalog>>,
}

impl Inputs {
    /// The inputs at these locations. Reads no file.
    pub fn new(settings: Arc<Settings>, locations: Arc<TreeLocations>) -> Result<Inputs> {
        Ok(Inputs {
            folders: locations.folders(),
            etcd: EtcdTree::of(&settings)?,
            overlay: None,
            trees: Trees::new(locations),
            buffers: Buffers::new(),
            scan: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            watch: Mutex::new(match settings.cache.as_ref() {
                "auto" | "inotify" => WatchMode::NotBefore(0),
                _ => WatchMode::Never,
            }),
            files: Files::new(settings.clone()),
            schemas: SchemaReader::default(),
            settings,
            names: Mutex::default(),
            classes: Mutex::default(),
            unlisted: Mutex::default(),
            last_full_check: Mutex::default(),
            counters: Counters::default(),
        })
    }

    /// Begins a question, and returns whether any input may have changed since the last one. Branches move
    /// only between questions, so that one answer sees one commit of each.
    pub fn begin(&self) -> Result<bool> {
        let news = match &self.etcd {
            Some(etcd) => etcd.refresh(&self.files, self.overlay.as_ref())?,
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
        self.next_scan();
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
        let have_links = self.any_folders(Folders::have_links);
        let mut watch = self.watch.lock();
        if self.files.has_hard_links() {
            *watch = WatchMode::Never;
        }
        if have_links && matches!(*watch, WatchMode::On(_)) {
            // The target of a link is not watched.
            *watch = WatchMode::NotBefore(self.scan() + WATCH_RETRY_SCANS);
        }
        let events = match &mut *watch {
            WatchMode::On(on) => on.poll(),
            WatchMode::NotBefore(_) | WatchMode::Never => WatchEvents::Lost,
        };
        match events {
            WatchEvents::Quiet if !self.any_folders(Folders::have_failed) => return false,
            WatchEvents::Quiet => {}
            WatchEvents::Changed { files, tree } => {
                drop(watch);
                self.notice(&files);
                if tree {
                    // Whole folders may have been exchanged, so every file must be verified.
                    self.next_scan();
                }
                return true;
            }
            WatchEvents::Lost if matches!(*watch, WatchMode::On(_)) => *watch = WatchMode::NotBefore(0),
            WatchEvents::Lost => {
                if question && matches!(*watch, WatchMode::NotBefore(scan) if self.scan() > scan) {
                    let retry = self.scan() + WATCH_RETRY_SCANS;
                    *watch = self.watch(have_links).map_or(WatchMode::NotBefore(retry), WatchMode::On);
                }
            }
        }
        // Files that were read before the watch existed must be verified once more.
        *self.last_full_check.lock() = Some(os::now());
        self.next_scan();
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

    /// The current epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    fn next_scan(&self) {
        self.scan.fetch_add(1, Ordering::Relaxed);
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Drops the watch of another process. The next question verifies every file.
    pub fn forget_watch(&self) {
        let mut watch = self.watch.lock();
        if let WatchMode::On(_) = &*watch {
            *watch = WatchMode::NotBefore(0);
        }
        self.next_scan();
    }

    fn watch(&self, have_links: bool) -> Option<Watch> {
        let (names, classes) = (self.names.lock(), self.classes.lock());
        if have_links || names.catalog.is_none() {
            return None;
        }
        let all = names.nodes.iter().map(|(folders, _)| folders).chain(classes.folders());
        let listed: Vec<PathBuf> = all.flat_map(Folders::listed).map(Path::to_owned).collect();
        if listed.is_empty() { None } else { Watch::new(&self.folders, &listed) }
    }

    fn any_folders(&self, is: impl Fn(&Folders) -> bool) -> bool {
        let (names, classes) = (self.names.lock(), self.classes.lock());
        names.nodes.iter().any(|(folders, _)| is(folders)) || classes.folders().any(is)
    }

    /// Watches a folder that is about to be listed, if the others are watched.
    fn before_listing(&self, folder: &Path) {
        self.counters.listed.add();
        let mut watch = self.watch.lock();
        if let WatchMode::On(on) = &mut *watch
            && (!on.belongs_to_this_process() || !on.add(folder))
        {
            *watch = WatchMode::NotBefore(self.scan() + WATCH_RETRY_SCANS);
        }
    }

    /// Makes the next question verify these files, and their folders if a file appeared or disappeared.
    fn notice(&self, paths: &[PathBuf]) {
        let (mut names, mut classes) = (self.names.lock(), self.classes.lock());
        let mut renamed = names.catalog.is_none();
        for path in paths {
            self.files.invalidate(path);
            for (folders, _) in &mut names.nodes {
                renamed |= folders.notice(path);
            }
            for folders in classes.folders_mut() {
                renamed |= folders.notice(path);
            }
        }
        if renamed {
            names.verified_at = 0;
            self.epoch.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a text in place of the bytes of a file, which may not exist. The next question verifies every file.
    pub fn set_buffer(&mut self, path: &Path, text: Option<&str>) {
        if self.trees.locations.has_schema(path) {
            self.schemas.set_buffer(path, text);
        }
        self.set_source(
            path,
            text.map_or(ByteSource::Disk, |text| {
                // Another inventory may take the file over, with a buffer of its own.
                let object = format!("buffer {}", BUFFERS.fetch_add(1, Ordering::Relaxed)).into();
                ByteSource::Blob(Arc::new(Blob { object, bytes: text.as_bytes().into() }))
            }),
        );
    }

    /// Takes the files that other inputs with the same settings have read, without their buffers.
    pub fn take_files(&self, other: &Inputs) {
        self.files.take(&other.files);
        for path in other.buffers.keys() {
            self.files.set_source(&path.as_path().into(), ByteSource::Disk);
        }
    }

    /// Gives an input another state, before the first question.
    pub fn set_overlay(&mut self, overlay: Overlay) {
        if let Some(path) = overlay.file() {
            let source = overlay.bytes.as_ref().map_or(ByteSource::Missing("it is deleted"), |bytes| {
                ByteSource::Blob(Arc::new(Blob { object: "overlay".into(), bytes: bytes.clone() }))
            });
            self.set_source(path, source);
        }
        self.overlay = Some(overlay);
    }

    /// Takes the bytes of a file from elsewhere, or from the disk again. It counts as a file of its folders.
    fn set_source(&mut self, path: &Path, source: ByteSource) {
        let exists = match &source {
            ByteSource::Disk => None,
            ByteSource::Missing(_) => Some(false),
            _ => Some(true),
        };
        let before = match exists {
            Some(exists) => self.buffers.insert(path.to_owned(), exists),
            None => self.buffers.remove(path),
        };
        if before != exists {
            let (mut names, mut classes) = (self.names.lock(), self.classes.lock());
            let nodes = names.nodes.iter_mut().map(|(folders, _)| folders);
            nodes.chain(classes.folders_mut()).for_each(|folders| folders.distrust_folders_of(path));
        }
        self.files.set_source(&path.into(), source);
        self.next_scan();
    }

    /// The files with schemas; the same ones if nothing changed.
    pub fn schemas(&self) -> Result<Arc<SchemaFiles>> {
        self.schemas.read(&self.trees, &self.settings)
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

    /// Reads the names of a tree in a repository. A tree of folders is listed on demand.
    pub fn open_tree(&self, catalog: &Catalog, tree: TreeId) -> Result<()> {
        self.trees.names(catalog, tree, &self.files).map(drop)
    }

    /// What a class name leads to.
    pub fn class(&self, catalog: &Catalog, tree: TreeId, name: &str) -> Arc<ClassName> {
        let listed = self.trees.names(catalog, tree, &self.files).ok().flatten();
        self.with_classes(|classes, check| classes.class((tree, name), listed.map(|names| &**names), check))
    }

    /// Forgets what no answer needs any more, if the catalog changed or a class name leads to other files. Returns
    /// whether a file was forgotten.
    pub fn forget(&self, catalog: &Catalog, changed: bool) -> bool {
        let mut classes = self.classes.lock();
        (changed || classes.have_changed()) && self.files.evict(catalog, &classes.forget())
    }

    /// Whether a class name still leads to the same files.
    pub fn still_leads(&self, catalog: &Catalog, name: &Arc<ClassName>) -> bool {
        name.is_verified(self.epoch()) || {
            let now = self.class(catalog, name.tree, &name.name);
            Arc::ptr_eq(&now, name)
                || now.found == name.found && self.with_classes(|classes, _| classes.restore(name))
        }
    }

    /// The classes that match a pattern, sorted by name.
    pub fn matching(&self, catalog: &Catalog, tree: TreeId, pattern: &Text) -> Result<Arc<[Text]>> {
        let listed = self.trees.names(catalog, tree, &self.files)?;
        self.with_classes(|classes, check| {
            classes.matching((tree, pattern), listed.map(|names| &**names), check)
        })
    }

    /// All classes of a tree.
    pub fn classes(&self, catalog: &Catalog, tree: TreeId) -> Result<Arc<NameIndex>> {
        match self.trees.names(catalog, tree, &self.files)? {
            Some(names) => Ok(names.clone()),
            None => self.with_classes(|classes, check| classes.all(tree, check)),
        }
    }

    /// The classes of all trees. Those of a repository are left out until a node needs them.
    pub fn all_classes(&self, catalog: &Catalog) -> Result<Vec<Arc<NameIndex>>> {
        let trees = (0..).map(TreeId).zip(&catalog.trees);
        let read = |(tree, classes): (TreeId, &Option<Arc<ClassTree>>)| {
            let classes = classes.as_ref()?;
            let is_open = classes.commit.is_none() || classes.get().is_some();
            is_open.then(|| self.classes(catalog, tree))
        };
        trees.filter_map(read).collect()
    }

    /// Like [`Inputs::all_classes`], for readers that give no error. They get none, and the question fails.
    pub fn all_classes_or_fail(&self, catalog: &Catalog) -> Vec<Arc<NameIndex>> {
        self.all_classes(catalog).unwrap_or_else(|error| {
            *self.unlisted.lock() = Some(error);
            Vec::new()
        })
    }

    /// Why classes could not be listed since the last call.
    pub fn take_unlisted(&self) -> Option<Error> {
        self.unlisted.lock().take()
    }

    /// A fault for each name with several files, among the nodes and the classes that were asked for.
    pub fn clashes(&self, catalog: &Catalog) -> Vec<Fault> {
        let listed = catalog.trees.iter().flatten().filter_map(|tree| tree.get());
        let classes = listed.flat_map(|names| names.clashes());
        let mut faults: Vec<Fault> = catalog.nodes.clashes().into_iter().chain(classes).collect();
        faults.extend(self.classes.lock().clashes(self.epoch()));
        faults.dedup();
        faults
    }

    /// Whether the names in all class folders that were verified in an earlier scan are still the same.
    pub fn folders_hold(&self, (scan, epoch): (u64, u64)) -> bool {
        self.epoch() == epoch
            || self.with_classes(|classes, (_, check)| {
                classes.folders_mut().all(|folders| folders.hold_since(scan, check))
            })
    }

    fn with_classes<T>(&self, ask: impl FnOnce(&mut ClassFolders, (u64, &FolderCheck<'_>)) -> T) -> T {
        let listing = |folder: &Path| self.before_listing(folder);
        let check = FolderCheck::new(self.scan(), &listing, &self.buffers);
        ask(&mut self.classes.lock(), (self.epoch(), &check))
    }

    /// The current names of the nodes, and the trees of the classes.
    pub fn catalog(&self) -> Result<Arc<Catalog>> {
        let mut names = self.names.lock();
        if names.verified_at == self.scan()
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
                    (names.verified_at, names.stale) = (self.scan(), false);
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
            _ => (Arc::new(catalog::nodes(&nodes, &self.settings)), None),
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

    /// The current layer of a node's or class's file.
    pub fn layer(&self, item: &Arc<CatalogEntry>) -> CurrentLayer {
        self.files.layer(item, self.scan(), &self.counters)
    }

    /// Reads many files at once, with several threads if it pays.
    pub fn preload(&self, items: &[&Arc<CatalogEntry>], threads: u32) {
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
        self.files.checkpoint(self.epoch())
    }

    /// The files that may have changed since a checkpoint. `None` if any file may have changed.
    pub fn changed_since(&self, before: Checkpoint) -> Option<Vec<FileId>> {
        self.files.changed_since(before, self.epoch())
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
