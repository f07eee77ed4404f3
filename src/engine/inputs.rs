//! The inputs of the engine: names and layers from the files of an inventory, and which of them changed. `clocks` says
//! when something is verified again, `names` lists the nodes and the trees of the classes.

mod clocks;
mod names;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::engine::class_names::{ClassFolders, ClassName};
use crate::engine::counts::Counters;
use crate::engine::etcd::{EtcdOwner, EtcdTree};
use crate::engine::fetch_state::FetchState;
use crate::engine::files::{CurrentLayer, Files, Version};
use crate::engine::fingerprint::ByteSource;
use crate::engine::schema_files::{SchemaFiles, SchemaReader};
use crate::engine::trees::Trees;
use crate::evaluate::Locate;
use crate::model::catalog::{self, Catalog, CatalogEntry, ClassTree, NameIndex, TreeId};
use crate::storage::folders::{Buffers, FolderCheck};
use crate::storage::git::Blob;
use crate::storage::location::{TreeLocation, TreeLocations};
use crate::storage::overlay::Overlay;
use reclass_base::error::{Error, Fault, Result, Warning};
use reclass_base::lock::Mutex;
use reclass_base::parallel;
use reclass_base::progress::WorkUnit;
use reclass_base::settings::Settings;
use reclass_base::similar::SearchCost;
use reclass_base::source::{FileId, Origin, Span};
use reclass_base::value::Text;

use clocks::WatchMode;
use names::CatalogCache;

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
    /// The searches for names that are similar to those of missing classes, in this question.
    pub similar: SearchCost,
}

/// The number of buffers in this process.
static BUFFERS: AtomicU64 = AtomicU64::new(0);

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
            similar: SearchCost::default(),
        })
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

    /// The versions of all files verified in this scan. Every result of this scan depends only on them.
    pub fn versions(&self) -> Vec<(FileId, Version)> {
        self.files.versions(self.scan())
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
