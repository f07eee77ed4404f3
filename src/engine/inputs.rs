//! Inputs turn the files of an inventory into names and layers, and know which of them changed.
//!
//! A file is read again only when its stamp no longer proves that it is unchanged, and parsed
//! again only when its bytes differ. A new parse that differs in comments or spacing alone
//! keeps the old layer, so that nothing computed from it is computed again.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::catalog::{Catalog, Item, check_roots};
use crate::error::{Error, Fault, Kind, Result};
use crate::evaluate::Locate;
use crate::layer::{Layer, Subject};
use crate::settings::Settings;
use crate::source::{FileId, Origin, Site, Span, Spans};
use crate::storage::fs::{self, display};
use crate::storage::watch::{News, Watch, still_so};
use crate::storage::{Listing, Stamp};
use crate::template::Pool;
use crate::yaml::compose::{Document, compose_with};

/// What was done, for tests and for `cache_info`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Trees listed.
    pub listed: u64,
    /// Files whose bytes were read.
    pub read: u64,
    /// Files that were parsed.
    pub parsed: u64,
    /// Nodes that were computed.
    pub computed: u64,
    /// Exports that were computed for queries.
    pub exported: u64,
    /// Answers that were given again.
    pub reused: u64,
}

/// The files of one inventory.
#[derive(Debug)]
pub struct Inputs {
    settings: Arc<Settings>,
    node_roots: Vec<PathBuf>,
    class_roots: Vec<PathBuf>,
    /// Counts looks: within one, everything is checked once. While a watch says that nothing
    /// happened, a look goes on.
    look: Cell<u64>,
    watch: RefCell<Watching>,
    listings: RefCell<Listings>,
    /// By the bytes of the path: a `Path` is hashed part by part.
    numbers: RefCell<FxHashMap<Box<[u8]>, FileId>>,
    files: RefCell<Vec<File>>,
    pool: Pool,
    /// Files that were asked for since each open [`Inputs::record`], innermost last.
    asked: RefCell<Vec<FxHashMap<FileId, Version>>>,
    versions: Cell<Version>,
    /// What was done.
    pub counts: Cell<Counts>,
}

/// Whether changes are waited for or looked for.
#[derive(Debug)]
enum Watching {
    /// Not yet: a program that asks once needs no watch.
    Later,
    /// A watch tells.
    On(Watch),
    /// Every look looks at every file.
    Never,
}

#[derive(Debug, Default)]
struct Listings {
    checked: u64,
    /// Whether a name is known to be new or gone.
    stale: bool,
    links: bool,
    folders: Vec<(PathBuf, Stamp)>,
    /// Every file that has a name.
    paths: FxHashSet<Arc<Path>>,
    catalog: Option<Result<Arc<Catalog>>>,
}

#[derive(Debug)]
struct File {
    path: Arc<Path>,
    shown: Arc<str>,
    spans: Spans,
    checked: u64,
    loaded: Option<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    stamp: Stamp,
    bytes: Vec<u8>,
    layer: Result<Arc<Layer>>,
    version: Version,
}

/// The version of a file's layer that an answer was computed from; zero for a file that
/// cannot be read.
pub type Version = u64;

impl Inputs {
    /// The inputs that settings name. Touches no file.
    pub fn new(settings: Arc<Settings>) -> Result<Inputs> {
        if &*settings.storage_type != "yaml_fs" {
            let storage = settings.storage_type.to_string();
            return Err(Fault::new(Kind::StorageUnsupported { storage }).into());
        }
        let base = settings.inventory_base_uri.as_deref();
        let node_roots = fs::roots(base, &settings.nodes_uri, "nodes_uri")?;
        let class_roots = fs::roots(base, &settings.classes_uri, "classes_uri")?;
        check_roots(&node_roots, &class_roots)?;
        Ok(Inputs {
            node_roots,
            class_roots,
            look: Cell::new(0),
            watch: RefCell::new(match settings.cache.as_ref() {
                "auto" | "inotify" => Watching::Later,
                _ => Watching::Never,
            }),
            settings,
            listings: RefCell::default(),
            numbers: RefCell::default(),
            files: RefCell::default(),
            pool: Pool::default(),
            asked: RefCell::default(),
            versions: Cell::new(0),
            counts: Cell::default(),
        })
    }

    /// Begins to answer a question: tells whether anything may have changed since the last one.
    pub fn begin(&self) -> bool {
        let mut watch = self.watch.borrow_mut();
        if let Watching::On(on) = &mut *watch {
            match on.news() {
                News::Quiet => return false,
                News::Changed { files, tree } => {
                    self.touch(&files, tree);
                    return true;
                }
                News::Lost => *watch = Watching::Later,
            }
        } else if matches!(*watch, Watching::Later) && self.look.get() > 0 {
            *watch = self.watch().map_or(Watching::Never, Watching::On);
        }
        // What was seen before the watch was there is looked at once more.
        self.look.set(self.look.get() + 1);
        true
    }

    /// Forgets the watch of another process; the next question looks at every file.
    pub fn forget_watch(&self) {
        let mut watch = self.watch.borrow_mut();
        if let Watching::On(_) = &*watch {
            *watch = Watching::Later;
        }
        self.look.set(self.look.get() + 1);
    }

    fn watch(&self) -> Option<Watch> {
        let listings = self.listings.borrow();
        let folders: Vec<PathBuf> = listings.folders.iter().map(|(path, _)| path.clone()).collect();
        if listings.links || folders.is_empty() || !matches!(listings.catalog, Some(Ok(_))) {
            return None;
        }
        let roots: Vec<PathBuf> = self.node_roots.iter().chain(&self.class_roots).cloned().collect();
        Watch::new(&roots, &folders)
    }

    /// Marks files to be looked at again, and the names if any of them is new or gone.
    fn touch(&self, paths: &[PathBuf], tree: bool) {
        let mut listings = self.listings.borrow_mut();
        let mut renamed = tree;
        for path in paths {
            let known = self.numbers.borrow().get(path.as_os_str().as_encoded_bytes()).copied();
            if let Some(file) = known
                && let Some(file) = self.files.borrow_mut().get_mut(file.0 as usize)
            {
                file.checked = 0;
            }
            let listed = match &listings.catalog {
                Some(Ok(_)) => listings.paths.contains(path.as_path()),
                _ => false,
            };
            renamed |= !still_so(path, listed);
        }
        listings.stale |= renamed;
    }

    /// Begins to record which files are asked for, in which versions. Records nest; what is
    /// asked for in an inner one is not in the outer.
    pub fn record(&self) {
        self.asked.borrow_mut().push(FxHashMap::default());
    }

    /// What was asked for since the matching [`Inputs::record`].
    pub fn recorded(&self) -> Vec<(FileId, Version)> {
        let mut asked: Vec<_> = self.asked.borrow_mut().pop().unwrap_or_default().into_iter().collect();
        asked.sort_unstable_by_key(|(file, _)| *file);
        asked
    }

    /// Adds files to what is asked for.
    pub fn also(&self, files: &[(FileId, Version)]) {
        if let Some(asked) = self.asked.borrow_mut().last_mut() {
            asked.extend(files.iter().copied());
        }
    }

    /// The folder of the nodes, for messages.
    pub fn node_folder(&self) -> String {
        join(&self.node_roots)
    }

    /// The folder of the classes, for messages.
    pub fn class_folder(&self) -> String {
        join(&self.class_roots)
    }

    /// The names of the inventory as it is now.
    pub fn catalog(&self) -> Result<Arc<Catalog>> {
        let mut listings = self.listings.borrow_mut();
        if listings.checked == self.look.get()
            && !listings.stale
            && let Some(catalog) = &listings.catalog
        {
            return catalog.clone();
        }
        listings.checked = self.look.get();
        let unchanged = |(path, before): &mut (PathBuf, Stamp)| match fs::stamp(path) {
            Ok(now) if now.proves_unchanged(before) => {
                *before = now;
                true
            }
            _ => false,
        };
        if let Some(catalog) = listings.catalog.clone()
            && !listings.stale
            && !listings.folders.is_empty()
            && listings.folders.iter_mut().all(unchanged)
        {
            return catalog;
        }
        listings.stale = false;
        self.count(|counts| counts.listed += 1);
        let list =
            |roots: &[PathBuf]| roots.iter().map(|root| fs::list(root)).collect::<Result<Vec<Listing>>>();
        let (nodes, classes) = match (list(&self.node_roots), list(&self.class_roots)) {
            (Ok(nodes), Ok(classes)) => (nodes, classes),
            (Err(error), _) | (_, Err(error)) => {
                *listings = Listings::default();
                return Err(error);
            }
        };
        let before = listings.catalog.take();
        let built = Catalog::build(&nodes, &classes, &self.settings).map(Arc::new);
        listings.links = nodes.iter().chain(&classes).any(|listing| listing.links);
        let before_folders = std::mem::take(&mut listings.folders);
        listings.folders = nodes.into_iter().chain(classes).flat_map(|listing| listing.folders).collect();
        let same =
            before_folders.iter().map(|(path, _)| path).eq(listings.folders.iter().map(|(path, _)| path));
        if (!same || listings.links)
            && let Ok(mut watch) = self.watch.try_borrow_mut()
            && matches!(*watch, Watching::On(_))
        {
            // Folders that nobody watches yet, or links, whose targets nobody does.
            *watch = Watching::Later;
        }
        listings.paths = match &built {
            Ok(catalog) => {
                catalog.nodes.values().chain(catalog.classes.values()).map(|i| i.path.clone()).collect()
            }
            Err(_) => FxHashSet::default(),
        };
        // The same names for the same files are the same catalog: answers need not notice.
        let catalog = match (before, built) {
            (Some(Ok(before)), Ok(built)) if *before == *built => Ok(before),
            (_, built) => built,
        };
        listings.catalog = Some(catalog.clone());
        catalog
    }

    /// The layer of the file of a node or class as it is now.
    pub fn layer(&self, item: &Item) -> Result<Arc<Layer>> {
        let file = self.number(&item.path);
        self.check(file, item)
    }

    /// Whether the file is still the version that an answer was computed from.
    pub fn is_current(&self, file: FileId, version: Version, catalog: &Catalog) -> bool {
        let path = match self.files.borrow().get(file.0 as usize) {
            Some(known) if known.checked == self.look.get() => return known.version() == version,
            Some(known) => known.path.clone(),
            None => return false,
        };
        let unchanged = self.files.borrow_mut().get_mut(file.0 as usize).is_some_and(|known| {
            let current = match (&mut known.loaded, fs::stamp(&path)) {
                (Some(loaded), Ok(now)) if now.proves_unchanged(&loaded.stamp) => {
                    loaded.stamp = now;
                    true
                }
                _ => false,
            };
            if current {
                known.checked = self.look.get();
            }
            current && known.version() == version
        });
        if unchanged {
            return true;
        }
        let item = catalog.nodes.values().chain(catalog.classes.values()).find(|item| item.path == path);
        let Some(item) = item else { return false };
        let _ = self.layer(item);
        self.files.borrow().get(file.0 as usize).is_some_and(|known| known.version() == version)
    }

    fn number(&self, path: &Arc<Path>) -> FileId {
        if let Some(file) = self.numbers.borrow().get(path.as_os_str().as_encoded_bytes()) {
            return *file;
        }
        let mut files = self.files.borrow_mut();
        let file = FileId(u32::try_from(files.len()).unwrap_or(u32::MAX - 1));
        files.push(File {
            path: path.clone(),
            shown: display(path).into(),
            spans: Spans::default(),
            checked: 0,
            loaded: None,
        });
        self.numbers.borrow_mut().insert(path.as_os_str().as_encoded_bytes().into(), file);
        file
    }

    fn check(&self, file: FileId, item: &Item) -> Result<Arc<Layer>> {
        let index = file.0 as usize;
        let current = {
            let mut files = self.files.borrow_mut();
            let known = &mut files[index];
            let fresh = known.checked == self.look.get()
                || match (&mut known.loaded, fs::stamp(&known.path)) {
                    (Some(loaded), Ok(now)) if now.proves_unchanged(&loaded.stamp) => {
                        loaded.stamp = now;
                        true
                    }
                    _ => false,
                };
            known.checked = self.look.get();
            fresh.then(|| known.loaded.as_ref().map(|loaded| loaded.layer.clone())).flatten()
        };
        let layer = match current {
            Some(layer) => layer,
            None => self.load(file, item),
        };
        if let Some(asked) = self.asked.borrow_mut().last_mut() {
            asked.insert(file, self.files.borrow()[index].version());
        }
        layer
    }

    fn load(&self, file: FileId, item: &Item) -> Result<Arc<Layer>> {
        let index = file.0 as usize;
        let (bytes, stamp) = match fs::read(&item.path) {
            Ok(read) => read,
            Err(error) => {
                self.files.borrow_mut()[index].loaded = None;
                return Err(error);
            }
        };
        self.count(|counts| counts.read += 1);
        let before = self.files.borrow_mut()[index].loaded.take();
        if let Some(loaded) = &before
            && loaded.bytes == bytes
        {
            let layer = loaded.layer.clone();
            self.files.borrow_mut()[index].loaded = before.map(|loaded| Loaded { stamp, ..loaded });
            return layer;
        }
        let document = compose_with(&bytes, &|text| self.pool.text(text));
        self.count(|counts| counts.parsed += 1);
        if let Some(Loaded { bytes: old, layer: Ok(layer), version, .. }) = before
            && let (Ok(old), Ok(new)) = (compose_with(&old, &|text| self.pool.text(text)), &document)
            && old.root == new.root
        {
            let mut files = self.files.borrow_mut();
            files[index].spans = new.spans.clone();
            files[index].loaded = Some(Loaded { stamp, bytes, layer: Ok(layer.clone()), version });
            return Ok(layer);
        }
        let shown = self.files.borrow()[index].shown.clone();
        let layer = self.build(document, file, item, &shown);
        let version = self.versions.get() + 1;
        self.versions.set(version);
        self.files.borrow_mut()[index].loaded = Some(Loaded { stamp, bytes, layer: layer.clone(), version });
        layer
    }

    fn build(
        &self,
        document: Result<Document>,
        file: FileId,
        item: &Item,
        shown: &Arc<str>,
    ) -> Result<Arc<Layer>> {
        let in_file = |mut error: Error| {
            for fault in error.faults_mut() {
                let remarks = fault.notes.iter_mut().filter_map(|note| note.site.as_mut());
                remarks.for_each(|site| site.path = shown.clone());
                match &mut fault.site {
                    Some(site) => site.path = shown.clone(),
                    None => fault.site = Some(Site::file(shown.clone())),
                }
            }
            error
        };
        let document = document.map_err(in_file)?;
        self.files.borrow_mut()[file.0 as usize].spans = document.spans.clone();
        let subject = Subject { file, name: &item.name, init: item.init, settings: &self.settings };
        let layer = Layer::build(&document, subject, &self.pool);
        let place = |fault: &mut Fault| {
            if let (None, Some(origin)) = (&fault.site, fault.origin) {
                fault.site = crate::evaluate::site(self, origin, None);
            }
        };
        match layer {
            Ok(mut layer) => {
                layer.warnings.extend(duplicates(&document, file));
                layer.warnings.iter_mut().for_each(place);
                Ok(Arc::new(layer))
            }
            Err(mut error) => {
                error.faults_mut().iter_mut().for_each(place);
                Err(error)
            }
        }
    }

    /// Counts something that was done.
    pub fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// The versions of all files that were read.
    pub fn versions(&self) -> Vec<(FileId, Version)> {
        let files = self.files.borrow();
        (0u32..)
            .map(FileId)
            .zip(files.iter().map(File::version))
            .filter(|(_, version)| *version > 0)
            .collect()
    }

    /// The path of a file, as messages show it.
    pub fn path_of(&self, file: FileId) -> Option<Arc<str>> {
        self.files.borrow().get(file.0 as usize).map(|known| known.shown.clone())
    }

    /// The text of a file that was read, for excerpts.
    pub fn text(&self, path: &str) -> Option<String> {
        let files = self.files.borrow();
        let file = files.iter().find(|file| &*file.shown == path)?;
        let loaded = file.loaded.as_ref()?;
        Some(String::from_utf8_lossy(&loaded.bytes).into_owned())
    }
}

impl File {
    fn version(&self) -> Version {
        self.loaded.as_ref().map_or(0, |loaded| loaded.version)
    }
}

impl Locate for Inputs {
    fn locate(&self, origin: Origin) -> Option<(Arc<str>, Span)> {
        let files = self.files.borrow();
        let file = files.get(origin.file.0 as usize)?;
        let span = file.spans.get(origin.node as usize)?;
        Some((file.shown.clone(), *span))
    }
}

fn duplicates(document: &Document, file: FileId) -> Vec<Fault> {
    document
        .warnings
        .iter()
        .map(|(later, earlier, warning)| {
            let mut warning = warning.clone().at(Origin { file, node: *later });
            warning.site = None;
            if let (Kind::DuplicateKey { .. }, Some(span)) =
                (&warning.kind, document.spans.get(*earlier as usize))
            {
                let text =
                    format!("the first one stands at line {}, column {}", span.line + 1, span.column + 1);
                warning = warning.note(text, None);
            }
            warning
        })
        .collect()
}

fn join(roots: &[PathBuf]) -> String {
    roots.iter().map(|root| display(root)).collect::<Vec<_>>().join("', '")
}
