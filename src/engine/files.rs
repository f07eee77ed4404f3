//! Reads each file once into its layer, for all nodes and threads.
//!
//! A file is read again only if its fingerprint changed, and parsed again only if its bytes differ. If a
//! new parse differs only in comments or spacing, the old layer stays, and with it everything computed from
//! it.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::engine::class_names::ClassName;
use crate::engine::counts::Counters;
use crate::engine::fingerprint::{ByteSource, Fingerprint, read};
use crate::evaluate::Locate;
use crate::model::catalog::{Catalog, CatalogEntry, TreeId};
use crate::model::interner::Interner;
use crate::model::layer::{Layer, LayerResult, LayerSource, keys_with_same_text};
use crate::model::slot::MapSlot;
use crate::storage::fs::{display, fingerprint};
use crate::storage::git::Blob;
use reclass_base::error::{Error, Fault, Kind, MAX_FAULTS, Result, truncate_faults};
use reclass_base::failpoints::failpoint;
use reclass_base::lock::Mutex;
use reclass_base::settings::Settings;
use reclass_base::source::{FileId, Origin, Site, Span, Spans};
use reclass_base::value::Text;
use reclass_yaml::compose::{Document, Node, compose_within};

/// The version of a file's layer; zero for an unreadable file.
pub type Version = u64;

/// The inputs that a result depends on.
#[derive(Clone, Default, Debug)]
pub struct Dependencies {
    /// The files, each with the version that was read.
    pub files: Vec<(FileId, Version)>,
    /// Names that were looked up, whether there is such a class or not.
    pub classes: Vec<Arc<ClassName>>,
    /// Patterns of class names, with the names in a tree that matched.
    pub patterns: Vec<(TreeId, Text, Arc<[Text]>)>,
}

/// Records the dependencies of a computation.
#[derive(Default, Debug)]
pub struct DependencyRecorder(RefCell<Vec<Dependencies>>);

impl DependencyRecorder {
    /// Begins a record. Records nest; an inner record does not count for the outer one.
    pub fn begin(&self) {
        self.0.borrow_mut().push(Dependencies::default());
    }

    /// Ends the innermost record and returns it.
    pub fn end(&self) -> Dependencies {
        let mut dependencies = self.0.borrow_mut().pop().unwrap_or_default();
        dependencies.files.sort_unstable();
        dependencies.files.dedup();
        dependencies.classes.sort_unstable_by_key(Arc::as_ptr);
        dependencies.classes.dedup_by(|one, other| Arc::ptr_eq(one, other));
        dependencies
    }

    /// The result of some work, and its dependencies.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> (T, Dependencies) {
        self.begin();
        let result = work();
        (result, self.end())
    }

    /// Records a file.
    pub fn file(&self, file: FileId, version: Version) {
        if let Some(record) = self.0.borrow_mut().last_mut() {
            record.files.push((file, version));
        }
    }

    /// Records a class name that was looked up.
    pub fn class(&self, name: &Arc<ClassName>) {
        if let Some(record) = self.0.borrow_mut().last_mut() {
            record.classes.push(name.clone());
        }
    }

    /// Records the classes that match a pattern.
    pub fn pattern(&self, tree: TreeId, pattern: &Text, matching: &Arc<[Text]>) {
        if let Some(record) = self.0.borrow_mut().last_mut() {
            record.patterns.push((tree, pattern.clone(), matching.clone()));
        }
    }

    /// Adds the dependencies of another result.
    pub fn add(&self, dependencies: &Dependencies) {
        if let Some(record) = self.0.borrow_mut().last_mut() {
            record.files.extend_from_slice(&dependencies.files);
            record.classes.extend_from_slice(&dependencies.classes);
            record.patterns.extend_from_slice(&dependencies.patterns);
        }
    }
}

/// The memory of a file's text and layer, as a multiple of the text. Measured on inventories of thousands
/// of files.
const LAYER_TO_TEXT_RATIO: usize = 7;
/// Some editors put this in front of UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The files that were read.
#[derive(Debug)]
pub struct Files {
    settings: Arc<Settings>,
    table: Mutex<FileTable>,
    interner: Interner,
    versions: AtomicU64,
    /// How often a file changed only in the positions of its values, so that its layer stayed.
    position_changes: AtomicU64,
    /// How often the bytes of a file changed.
    content_changes: AtomicU64,
    /// Whether any file had more than one hard link.
    hard_links_seen: AtomicBool,
}

#[derive(Default, Debug)]
struct FileTable {
    /// The key is the bytes of the path. Hashing a `Path` is slower, component by component.
    numbers: FxHashMap<Box<[u8]>, FileId>,
    files: Vec<FileEntry>,
    /// The files that must be verified again within the current scan, in the order of the news.
    unsettled: Vec<FileId>,
    /// How often the list was cleared because it was long.
    cleared: u64,
}

/// The maximum length of the list of files that must be verified again.
const MAX_UNSETTLED: usize = 10_000;

/// A point in time, for [`Files::changed_since`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    epoch: u64,
    cleared: u64,
    unsettled: usize,
}

#[derive(Clone, Debug)]
struct FileEntry {
    /// Its node or class, known when its layer is first requested.
    item: Option<Arc<CatalogEntry>>,
    path: Arc<Path>,
    shown: Arc<str>,
    spans: Spans,
    scan: u64,
    source: ByteSource,
    loaded: Option<LoadedFile>,
}

#[derive(Clone, Debug)]
struct LoadedFile {
    fingerprint: Fingerprint,
    bytes: Arc<[u8]>,
    layer: LayerResult,
    version: Version,
}

/// The current layer of a file.
#[derive(Debug)]
pub struct CurrentLayer {
    /// The file.
    pub file: FileId,
    /// The version of the layer.
    pub version: Version,
    /// The layer, or why the file has none.
    pub layer: LayerResult,
}

impl Files {
    /// A table without files.
    pub fn new(settings: Arc<Settings>) -> Files {
        Files {
            settings,
            table: Mutex::default(),
            interner: Interner::default(),
            versions: AtomicU64::new(0),
            position_changes: AtomicU64::new(0),
            content_changes: AtomicU64::new(0),
            hard_links_seen: AtomicBool::new(false),
        }
    }

    /// Takes the files that another inventory with the same settings has read. Each is verified before it counts.
    pub fn take(&self, other: &Files) {
        let (mut table, known) = (self.table.lock(), other.table.lock());
        (table.numbers, table.files) = (known.numbers.clone(), known.files.clone());
        table.files.iter_mut().for_each(|file| file.scan = 0);
        self.versions.store(other.versions.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// The interner of the inventory.
    pub fn interner(&self) -> &Interner {
        &self.interner
    }

    /// Makes the next scan verify this file again.
    pub fn invalidate(&self, path: &Path) {
        let mut table = self.table.lock();
        if let Some(file) = table.numbers.get(path.as_os_str().as_encoded_bytes()).copied() {
            table.unsettle(file);
        }
    }

    /// The current point in time.
    pub fn checkpoint(&self, epoch: u64) -> Checkpoint {
        let table = self.table.lock();
        Checkpoint { epoch, cleared: table.cleared, unsettled: table.unsettled.len() }
    }

    /// The files that may have changed since a checkpoint. `None` if any file may have changed.
    pub fn changed_since(&self, before: Checkpoint, epoch: u64) -> Option<Vec<FileId>> {
        let table = self.table.lock();
        (before.epoch == epoch && before.cleared == table.cleared)
            .then(|| table.unsettled.get(before.unsettled..).unwrap_or_default().to_vec())
    }

    /// Sets where the bytes of a file come from.
    pub fn set_source(&self, path: &Arc<Path>, source: ByteSource) {
        let file = self.number(path);
        let mut table = self.table.lock();
        table.unsettle(file).source = source;
    }

    /// Removes a file that no commit has any more.
    pub fn remove(&self, path: &Arc<Path>) {
        let file = self.number(path);
        let mut table = self.table.lock();
        let entry = table.unsettle(file);
        entry.source = ByteSource::Missing("it is in no commit");
        entry.free();
    }

    /// Puts bytes with their positions into the table. Their layers are built elsewhere.
    pub fn put(
        &self,
        path: &Arc<Path>,
        shown: Arc<str>,
        (blob, spans): (&Arc<Blob>, Spans),
        scan: u64,
    ) -> (FileId, Version) {
        let file = self.number(path);
        let mut table = self.table.lock();
        let entry = &mut table.files[file.0 as usize];
        (entry.shown, entry.spans, entry.scan) = (shown, spans, scan);
        entry.source = ByteSource::Blob(blob.clone());
        let known = entry.loaded.as_ref();
        if let Some(LoadedFile { fingerprint: Fingerprint::Object(object), version, .. }) = known
            && *object == blob.object
        {
            return (file, *version);
        }
        if known.is_some() {
            self.content_changes.fetch_add(1, Ordering::Relaxed);
        }
        let version = self.versions.fetch_add(1, Ordering::Relaxed) + 1;
        let layer = Ok(Arc::new(Layer::of_parameters(Arc::new(MapSlot::empty()))));
        let (fingerprint, bytes) = (Fingerprint::Object(blob.object.clone()), blob.bytes.clone());
        entry.loaded = Some(LoadedFile { fingerprint, bytes, layer, version });
        (file, version)
    }

    /// Frees the layers of files on disk that are neither nodes of the catalog nor `classes`. Such a file is read
    /// again before any answer that depends on it is given. Returns whether there was one: its layer has another
    /// version from then on.
    pub fn evict(&self, catalog: &Catalog, classes: &FxHashSet<Arc<Path>>) -> bool {
        let goes = |file: &FileEntry| {
            let gone = |item: &Arc<CatalogEntry>| {
                let node = || catalog.nodes.at(&item.name, &file.path);
                if item.is_class {
                    !classes.contains(&file.path)
                } else {
                    node().is_none_or(|now| now.has_duplicates())
                }
            };
            file.source.is_on_disk() && file.item.as_ref().is_some_and(gone)
        };
        let mut table = self.table.lock();
        let mut any = false;
        for number in 0..table.files.len() {
            let file = &table.files[number];
            if file.loaded.is_some() && goes(file) {
                table.unsettle(FileId(u32::try_from(number).unwrap_or(u32::MAX))).free();
                any = true;
            }
        }
        any
    }

    /// The files that were not verified in this scan.
    pub fn unverified<'i>(&self, items: &[&'i Arc<CatalogEntry>], scan: u64) -> Vec<&'i Arc<CatalogEntry>> {
        let table = self.table.lock();
        let seen = |item: &CatalogEntry| {
            let number = table.numbers.get(item.path().as_os_str().as_encoded_bytes());
            number.is_some_and(|file| table.files[file.0 as usize].scan == scan)
        };
        items.iter().copied().filter(|item| !seen(item)).collect()
    }

    /// The layer of a node's or class's file in this scan. All threads get the same layer.
    pub fn layer(&self, item: &Arc<CatalogEntry>, scan: u64, counters: &Counters) -> CurrentLayer {
        let file = self.number(item.path());
        if let Some(current) = self.unchanged(file, scan) {
            return current;
        }
        let (before, source) = {
            let mut table = self.table.lock();
            let entry = &mut table.files[file.0 as usize];
            entry.item = Some(item.clone());
            (entry.loaded.clone(), entry.source.clone())
        };
        self.load(file, item, (before, &source), scan, counters)
    }

    /// The layer of a file that proves to be unchanged.
    fn unchanged(&self, file: FileId, scan: u64) -> Option<CurrentLayer> {
        let (before, path, source) = {
            let table = self.table.lock();
            let entry = table.files.get(file.0 as usize)?;
            let loaded = entry.loaded.as_ref()?;
            if entry.scan == scan {
                return Some(loaded.current(file));
            }
            (loaded.fingerprint.clone(), entry.path.clone(), entry.source.clone())
        };
        let now = before.verify(&path, &source)?;
        let mut table = self.table.lock();
        let entry = &mut table.files[file.0 as usize];
        let loaded = entry.loaded.as_mut()?;
        if entry.scan != scan {
            if loaded.fingerprint != before {
                return None;
            }
            (loaded.fingerprint, entry.scan) = (now, scan);
        }
        failpoint("the table of files is changed");
        Some(loaded.current(file))
    }

    /// Whether a file still has this version.
    pub fn is_current(
        &self,
        (file, version): (FileId, Version),
        scan: u64,
        catalog: &Catalog,
        counters: &Counters,
    ) -> bool {
        let (item, path) = match self.table.lock().files.get(file.0 as usize) {
            Some(entry) if entry.scan == scan => return entry.version() == version,
            Some(entry) => (entry.item.clone(), entry.path.clone()),
            None => return false,
        };
        if let Some(current) = self.unchanged(file, scan) {
            return current.version == version;
        }
        let Some(item) = item else { return false };
        if !item.is_class && catalog.nodes.at(&item.name, &path).is_none() {
            return false;
        }
        self.layer(&item, scan, counters).version == version
    }

    fn number(&self, path: &Arc<Path>) -> FileId {
        let mut table = self.table.lock();
        if let Some(file) = table.numbers.get(path.as_os_str().as_encoded_bytes()) {
            return *file;
        }
        let file = FileId(u32::try_from(table.files.len()).unwrap_or(u32::MAX - 1));
        table.files.push(FileEntry {
            item: None,
            path: path.clone(),
            shown: display(path).into(),
            spans: Spans::default(),
            scan: 0,
            source: ByteSource::Disk,
            loaded: None,
        });
        table.numbers.insert(path.as_os_str().as_encoded_bytes().into(), file);
        file
    }

    /// Stores a file's state for this scan. The first thread wins.
    fn store(&self, file: FileId, loaded: LoadedFile, scan: u64) -> CurrentLayer {
        let mut table = self.table.lock();
        let entry = &mut table.files[file.0 as usize];
        match &entry.loaded {
            Some(first) if entry.scan == scan => first.current(file),
            _ => {
                entry.scan = scan;
                failpoint("the table of files is changed");
                let current = loaded.current(file);
                entry.loaded = Some(loaded);
                current
            }
        }
    }

    fn load(
        &self,
        file: FileId,
        item: &CatalogEntry,
        (before, source): (Option<LoadedFile>, &ByteSource),
        scan: u64,
        counters: &Counters,
    ) -> CurrentLayer {
        let (bytes, fingerprint) = match read(item, source, counters, &self.settings) {
            Ok(read) => {
                if let Fingerprint::Disk(fingerprint) = &read.1 {
                    self.hard_links_seen.fetch_or(fingerprint.has_hard_links(), Ordering::Relaxed);
                }
                read
            }
            Err(error) => {
                let often = fingerprint(item.path()).is_ok_and(|fingerprint| fingerprint.has_hard_links());
                self.hard_links_seen.fetch_or(often, Ordering::Relaxed);
                let mut table = self.table.lock();
                let entry = &mut table.files[file.0 as usize];
                entry.scan = scan;
                entry.loaded = None;
                return CurrentLayer { file, version: 0, layer: Err(error.into()) };
            }
        };
        if let Some(loaded) = &before
            && *loaded.bytes == *bytes
        {
            return self.store(file, LoadedFile { fingerprint, ..loaded.clone() }, scan);
        }
        let compose = |bytes: &[u8]| {
            failpoint("a file is parsed");
            let limits = reclass_yaml::compose::DocumentLimits::of(&self.settings);
            compose_within(bytes, limits)
        };
        let document = compose(&bytes);
        counters.parsed.add();
        if before.is_some() {
            self.content_changes.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(LoadedFile { bytes: old, layer: Ok(layer), version, .. }) = before
            && let (Ok(old), Ok(new)) = (compose(&old), &document)
            && old.root == new.root
            // A layer with warnings must be built again, because its warnings contain line numbers.
            && layer.warnings.is_empty()
        {
            self.table.lock().files[file.0 as usize].spans = new.spans.clone();
            self.position_changes.fetch_add(1, Ordering::Relaxed);
            return self.store(file, LoadedFile { fingerprint, bytes, layer: Ok(layer), version }, scan);
        }
        let shown = self.table.lock().files[file.0 as usize].shown.clone();
        let layer = self.build(document, file, item, (&shown, &bytes));
        let version = self.versions.fetch_add(1, Ordering::Relaxed) + 1;
        self.store(file, LoadedFile { fingerprint, bytes, layer, version }, scan)
    }

    fn build(
        &self,
        document: Result<Document>,
        file: FileId,
        item: &CatalogEntry,
        (shown, bytes): (&Arc<str>, &[u8]),
    ) -> LayerResult {
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
        self.table.lock().files[file.0 as usize].spans = document.spans.clone();
        let (name, settings) = (&item.name, &self.settings);
        let subject = LayerSource { file, name, init: item.init, is_class: item.is_class, settings };
        let layer = Layer::build(&document, subject, &self.interner);
        let place = |fault: &mut Fault| {
            if fault.site.is_none() {
                fault.site = crate::evaluate::site_of(self, fault, bytes);
            }
        };
        match layer {
            Ok(mut layer) => {
                let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
                if text.iter().all(u8::is_ascii_whitespace) {
                    let what = if item.is_class { "class" } else { "node" };
                    let empty = Fault::new(Kind::FileEmpty { what, name: name.to_string() });
                    let empty = empty.at_site(Site::file(shown.clone()));
                    // A full disk leaves empty files, which would take parameters from all nodes that have them (S22).
                    if &*settings.empty_files == "error" {
                        return Err(Error::from(empty).into());
                    }
                    layer.warnings.push(empty);
                }
                layer.warnings.extend(duplicate_keys(&document, file));
                layer.warnings.extend(keys_with_same_text(&document, file));
                layer.warnings.iter_mut().for_each(place);
                Ok(Arc::new(layer))
            }
            Err(mut unread) => {
                unread.error.faults_mut().iter_mut().for_each(place);
                Err(unread)
            }
        }
    }

    /// Builds the layer of a node that is part of a file outside of the inventory. `document` is the whole file,
    /// so that the places of values are those in the file.
    pub fn node_in(
        &self,
        path: &Path,
        (document, bytes): (&Document, &[u8]),
        root: Node,
        name: &str,
    ) -> LayerResult {
        let file = self.number(&Arc::from(path));
        self.table.lock().files[file.0 as usize].spans = document.spans.clone();
        let document = Document { root: Some(root), ..document.clone() };
        let source = LayerSource { file, name, init: false, is_class: false, settings: &self.settings };
        Layer::build(&document, source, &self.interner).map(Arc::new).map_err(|mut unread| {
            for fault in unread.error.faults_mut().iter_mut().filter(|fault| fault.site.is_none()) {
                fault.site = crate::evaluate::site_of(self, fault, bytes);
            }
            unread
        })
    }

    /// How often positions changed while layers stayed. Anything that names lines must then be built again.
    pub fn position_changes(&self) -> u64 {
        self.position_changes.load(Ordering::Relaxed)
    }

    /// How often the bytes of a file changed since it was first read.
    pub fn content_changes(&self) -> u64 {
        self.content_changes.load(Ordering::Relaxed)
    }

    /// Whether any file had several hard links. The kernel reports a write only for the name that was used,
    /// so a watch would miss changes.
    pub fn has_hard_links(&self) -> bool {
        self.hard_links_seen.load(Ordering::Relaxed)
    }

    /// The number of files in memory.
    pub fn loaded(&self) -> usize {
        self.table.lock().files.iter().filter(|file| file.loaded.is_some()).count()
    }

    /// The bytes of a file that was read, or that is in a commit.
    pub fn bytes_in_memory_of(&self, path: &Path) -> Option<Arc<[u8]>> {
        let table = self.table.lock();
        let entry = table.files.get(table.numbers.get(path.as_os_str().as_encoded_bytes())?.0 as usize)?;
        match (&entry.source, &entry.loaded) {
            (ByteSource::Blob(blob), _) => Some(blob.bytes.clone()),
            (_, Some(loaded)) => Some(loaded.bytes.clone()),
            _ => None,
        }
    }

    /// Estimated bytes of all files with their layers.
    pub fn bytes_in_memory(&self) -> usize {
        let bytes_in_memory = |file: &FileEntry| match (&file.loaded, &file.source) {
            (Some(loaded), _) => loaded.bytes.len() * LAYER_TO_TEXT_RATIO,
            (None, ByteSource::Blob(blob)) => blob.bytes.len(),
            (
                None,
                ByteSource::Disk | ByteSource::Outside(_) | ByteSource::Missing(_) | ByteSource::TooLarge,
            ) => 0,
        };
        self.table.lock().files.iter().map(bytes_in_memory).sum()
    }

    /// The versions of all files verified in this scan; zero for an unreadable file.
    pub fn versions(&self, scan: u64) -> Vec<(FileId, Version)> {
        let table = self.table.lock();
        let seen = (0u32..).map(FileId).zip(&table.files).filter(|(_, file)| file.scan == scan);
        seen.map(|(number, file)| (number, file.version())).collect()
    }

    /// The path of a file, as messages show it.
    pub fn path_of(&self, file: FileId) -> Option<Arc<str>> {
        self.table.lock().files.get(file.0 as usize).map(|entry| entry.shown.clone())
    }

    /// The text of a file that was read, for excerpts.
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = {
            let table = self.table.lock();
            // Most paths are shown as they are.
            let known = table.numbers.get(path.as_bytes()).and_then(|file| table.files.get(file.0 as usize));
            let known = known.filter(|file| &*file.shown == path);
            let file = known.or_else(|| table.files.iter().find(|file| &*file.shown == path))?;
            file.loaded.as_ref()?.bytes.clone()
        };
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl FileTable {
    /// Makes the current scan verify a file again.
    fn unsettle(&mut self, file: FileId) -> &mut FileEntry {
        if self.unsettled.len() == MAX_UNSETTLED {
            self.unsettled.clear();
            self.cleared += 1;
        }
        self.unsettled.push(file);
        let entry = &mut self.files[file.0 as usize];
        entry.scan = 0;
        entry
    }
}

impl FileEntry {
    fn free(&mut self) {
        (self.loaded, self.spans) = (None, Spans::default());
    }

    fn version(&self) -> Version {
        self.loaded.as_ref().map_or(0, |loaded| loaded.version)
    }
}

impl LoadedFile {
    fn current(&self, file: FileId) -> CurrentLayer {
        CurrentLayer { file, version: self.version, layer: self.layer.clone() }
    }
}

impl Locate for Files {
    fn locate(&self, origin: Origin) -> Option<(Arc<str>, Span)> {
        let table = self.table.lock();
        let file = table.files.get(origin.file.0 as usize)?;
        let span = file.spans.get(origin.node as usize)?;
        Some((file.shown.clone(), *span))
    }

    fn bytes(&self, file: FileId) -> Option<Arc<[u8]>> {
        let table = self.table.lock();
        Some(table.files.get(file.0 as usize)?.loaded.as_ref()?.bytes.clone())
    }
}

/// The duplicate keys of a document (Y2), as warnings without sites, at most as many as are reported.
pub fn duplicate_keys(document: &Document, file: FileId) -> Vec<Fault> {
    let mut duplicates: Vec<Fault> = document
        .warnings
        .iter()
        .take(MAX_FAULTS + 1)
        .map(|(later, earlier, warning)| {
            let mut warning = warning.clone().at(Origin { file, node: *later });
            warning.site = None;
            if let (Kind::DuplicateKey { .. }, Some(span)) =
                (&warning.kind, document.spans.get(*earlier as usize))
            {
                let text = format!("the first one is at line {}, column {}", span.line + 1, span.column + 1);
                warning = warning.note(text, None);
            }
            warning
        })
        .collect();
    truncate_faults(&mut duplicates, MAX_FAULTS);
    duplicates
}
