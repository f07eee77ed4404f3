//! Files turn the bytes of each file into its layer, once for all nodes and threads.
//!
//! A file is read again only when its stamp no longer proves that it is unchanged, and parsed
//! again only when its bytes differ. A new parse that differs in comments or spacing alone
//! keeps the old layer, so that nothing computed from it is computed again.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::error::{Error, Fault, Kind, MAX_FAULTS, Result, truncate_faults};
use crate::base::failpoints::failpoint;
use crate::base::lock::Mutex;
use crate::base::settings::Settings;
use crate::base::source::{FileId, Origin, Site, Span, Spans};
use crate::base::value::Text;
use crate::engine::counts::Counters;
use crate::engine::fingerprint::{ByteSource, Fingerprint, read};
use crate::evaluate::Locate;
use crate::model::catalog::{Catalog, CatalogEntry, TreeId};
use crate::model::layer::{Layer, LayerSource, UnreadableFile, keys_with_same_text};
use crate::model::template::{Interner, ThreadInterner};
use crate::storage::fs::{display, fingerprint};
use crate::yaml::compose::{Document, compose_with};

/// The version of a file's layer that an answer was computed from; zero for a file that
/// cannot be read.
pub type Version = u64;

/// What something was computed from.
#[derive(Clone, Default, Debug)]
pub struct Dependencies {
    /// Files, in these versions.
    pub files: Vec<(FileId, Version)>,
    /// Classes that were looked for in a tree and not found.
    pub missing_classes: Vec<(TreeId, Text)>,
}

/// Takes note of what a computation asks for.
#[derive(Default, Debug)]
pub struct DependencyRecorder(RefCell<Vec<Dependencies>>);

impl DependencyRecorder {
    /// Begins a record. Records nest; what is asked for in an inner one is not in the outer.
    pub fn begin(&self) {
        self.0.borrow_mut().push(Dependencies::default());
    }

    /// Ends the record that was begun last, and gives it back.
    pub fn end(&self) -> Dependencies {
        let mut dependencies = self.0.borrow_mut().pop().unwrap_or_default();
        dependencies.files.sort_unstable();
        dependencies.files.dedup();
        dependencies
    }

    /// A file was asked for.
    pub fn file(&self, file: FileId, version: Version) {
        if let Some(record) = self.0.borrow_mut().last_mut() {
            record.files.push((file, version));
        }
    }

    /// A class was asked for that does not exist.
    pub fn missing_class(&self, tree: TreeId, name: &str) {
        if let Some(record) = self.0.borrow_mut().last_mut() {
            record.missing_classes.push((tree, name.into()));
        }
    }

    /// What something else was computed from counts too.
    pub fn add(&self, dependencies: &Dependencies) {
        if let Some(record) = self.0.borrow_mut().last_mut() {
            record.files.extend_from_slice(&dependencies.files);
            record.missing_classes.extend_from_slice(&dependencies.missing_classes);
        }
    }
}

/// How much larger the layer of a file is than its text, together with the text: measured on
/// inventories of thousands of files.
const LAYER_TO_TEXT_RATIO: usize = 7;
/// What some editors put in front of a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// All files that were asked for.
#[derive(Debug)]
pub struct Files {
    settings: Arc<Settings>,
    table: Mutex<FileTable>,
    interner: Interner,
    versions: AtomicU64,
    /// How often the lines of a file position_changes and its layer stayed.
    position_changes: AtomicU64,
    /// How often a file had other bytes than before.
    content_changes: AtomicU64,
    /// Whether a file had other names.
    hard_links_seen: AtomicBool,
}

#[derive(Default, Debug)]
struct FileTable {
    /// By the bytes of the path: a `Path` is hashed part by part.
    numbers: FxHashMap<Box<[u8]>, FileId>,
    files: Vec<FileEntry>,
}

#[derive(Debug)]
struct FileEntry {
    /// The name of its node or class, as soon as somebody asked for its layer.
    name: Text,
    path: Arc<Path>,
    shown: Arc<str>,
    spans: Spans,
    verified_at: u64,
    source: ByteSource,
    loaded: Option<LoadedFile>,
}

#[derive(Clone, Debug)]
struct LoadedFile {
    fingerprint: Fingerprint,
    bytes: Arc<[u8]>,
    layer: Result<Arc<Layer>, UnreadableFile>,
    version: Version,
}

/// What a file is now.
#[derive(Debug)]
pub struct CurrentLayer {
    /// Which file.
    pub file: FileId,
    /// Its version.
    pub version: Version,
    /// Its layer.
    pub layer: Result<Arc<Layer>, UnreadableFile>,
}

impl Files {
    /// No files yet.
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

    /// The strings of the inventory, for one thread.
    pub fn interner(&self) -> ThreadInterner<'_> {
        self.interner.for_thread()
    }

    /// Marks a file to be looked at again.
    pub fn invalidate(&self, path: &Path) {
        let mut table = self.table.lock();
        if let Some(file) = table.numbers.get(path.as_os_str().as_encoded_bytes()).copied()
            && let Some(file) = table.files.get_mut(file.0 as usize)
        {
            file.verified_at = 0;
        }
    }

    /// Gives a file the bytes that it has in a commit.
    pub fn set_source(&self, path: &Arc<Path>, source: ByteSource) {
        let file = self.number(path);
        let mut table = self.table.lock();
        let entry = &mut table.files[file.0 as usize];
        entry.source = source;
        entry.verified_at = 0;
    }

    /// Takes away what is table of a file that is in no commit any more.
    pub fn remove(&self, path: &Arc<Path>) {
        let file = self.number(path);
        let mut table = self.table.lock();
        let entry = &mut table.files[file.0 as usize];
        entry.source = ByteSource::Missing("it is in no commit");
        entry.verified_at = 0;
        entry.loaded = None;
        entry.spans = Spans::default();
    }

    /// Lets go of what was made of files on disk that no name stands for any more, and of files whose
    /// name others have too (S6). One that comes back is read again; no answer that was computed from it
    /// is given before.
    pub fn evict_unnamed(&self, catalog: &Catalog) {
        let twins: FxHashSet<&Path> =
            catalog.with_duplicates().flat_map(CatalogEntry::paths).map(|path| &**path).collect();
        let goes = |file: &FileEntry| {
            twins.contains(&*file.path)
                || file.source.is_on_disk() && catalog.at(&file.name, &file.path).is_none()
        };
        let mut table = self.table.lock();
        for file in table.files.iter_mut().filter(|file| file.loaded.is_some() && goes(file)) {
            file.verified_at = 0;
            file.loaded = None;
            file.spans = Spans::default();
        }
    }

    /// The files that were not looked at yet.
    pub fn unverified<'i>(&self, items: &[&'i CatalogEntry], scan: u64) -> Vec<&'i CatalogEntry> {
        let table = self.table.lock();
        let seen = |item: &CatalogEntry| {
            let number = table.numbers.get(item.path().as_os_str().as_encoded_bytes());
            number.is_some_and(|file| table.files[file.0 as usize].verified_at == scan)
        };
        items.iter().copied().filter(|item| !seen(item)).collect()
    }

    /// The layer of the file of a node or class as it is at this scan. Threads that ask for the
    /// same file get the same layer.
    pub fn layer(
        &self,
        item: &CatalogEntry,
        scan: u64,
        interner: &ThreadInterner<'_>,
        counters: &Counters,
    ) -> CurrentLayer {
        let file = self.number(item.path());
        let (before, source) = {
            let mut table = self.table.lock();
            let entry = &mut table.files[file.0 as usize];
            if entry.verified_at == scan
                && let Some(loaded) = &entry.loaded
            {
                return loaded.current(file);
            }
            entry.name = item.name.clone();
            (entry.loaded.clone(), entry.source.clone())
        };
        if let Some(loaded) = &before
            && let Some(fingerprint) = loaded.fingerprint.verify(item.path(), &source)
        {
            return self.store(file, LoadedFile { fingerprint, ..loaded.clone() }, scan);
        }
        self.load(file, item, (before, &source), scan, interner, counters)
    }

    /// Whether the file is still the version that an answer was computed from.
    pub fn is_current(
        &self,
        (file, version): (FileId, Version),
        scan: u64,
        catalog: &Catalog,
        counters: &Counters,
    ) -> bool {
        let (name, path, loaded, source) = match self.table.lock().files.get(file.0 as usize) {
            Some(entry) if entry.verified_at == scan => return entry.version() == version,
            Some(entry) => {
                (entry.name.clone(), entry.path.clone(), entry.loaded.clone(), entry.source.clone())
            }
            None => return false,
        };
        if let Some(loaded) = loaded
            && let Some(fingerprint) = loaded.fingerprint.verify(&path, &source)
        {
            return self.store(file, LoadedFile { fingerprint, ..loaded }, scan).version == version;
        }
        let Some(item) = catalog.at(&name, &path) else { return false };
        // Of a name with several files, each stands for itself.
        let alone = if item.has_duplicates() {
            item.files().find(|file| file.path().as_os_str() == path.as_os_str())
        } else {
            None
        };
        self.layer(alone.as_ref().unwrap_or(item), scan, &self.interner(), counters).version == version
    }

    fn number(&self, path: &Arc<Path>) -> FileId {
        let mut table = self.table.lock();
        if let Some(file) = table.numbers.get(path.as_os_str().as_encoded_bytes()) {
            return *file;
        }
        let file = FileId(u32::try_from(table.files.len()).unwrap_or(u32::MAX - 1));
        table.files.push(FileEntry {
            name: "".into(),
            path: path.clone(),
            shown: display(path).into(),
            spans: Spans::default(),
            verified_at: 0,
            source: ByteSource::Disk,
            loaded: None,
        });
        table.numbers.insert(path.as_os_str().as_encoded_bytes().into(), file);
        file
    }

    /// Takes note of what a file is at this scan; of two threads, the first one says.
    fn store(&self, file: FileId, loaded: LoadedFile, scan: u64) -> CurrentLayer {
        let mut table = self.table.lock();
        let entry = &mut table.files[file.0 as usize];
        match &entry.loaded {
            Some(first) if entry.verified_at == scan => first.current(file),
            _ => {
                entry.verified_at = scan;
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
        interner: &ThreadInterner<'_>,
        counters: &Counters,
    ) -> CurrentLayer {
        let (bytes, fingerprint) = match read(item, source, counters, &self.settings) {
            Ok(read) => {
                if let Fingerprint::Disk(stamp) = &read.1 {
                    self.hard_links_seen.fetch_or(stamp.has_hard_links(), Ordering::Relaxed);
                }
                read
            }
            Err(error) => {
                let often = fingerprint(item.path()).is_ok_and(|stamp| stamp.has_hard_links());
                self.hard_links_seen.fetch_or(often, Ordering::Relaxed);
                let mut table = self.table.lock();
                let entry = &mut table.files[file.0 as usize];
                entry.verified_at = scan;
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
            let limits = crate::yaml::compose::DocumentLimits::of(&self.settings);
            compose_with(bytes, &|text| interner.text(text), limits)
        };
        let document = compose(&bytes);
        counters.parsed.add();
        if before.is_some() {
            self.content_changes.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(LoadedFile { bytes: old, layer: Ok(layer), version, .. }) = before
            && let (Ok(old), Ok(new)) = (compose(&old), &document)
            && old.root == new.root
            // They have the lines of their file.
            && layer.warnings.is_empty()
        {
            self.table.lock().files[file.0 as usize].spans = new.spans.clone();
            self.position_changes.fetch_add(1, Ordering::Relaxed);
            return self.store(file, LoadedFile { fingerprint, bytes, layer: Ok(layer), version }, scan);
        }
        let shown = self.table.lock().files[file.0 as usize].shown.clone();
        let layer = self.build(document, file, item, (&shown, &bytes), interner);
        let version = self.versions.fetch_add(1, Ordering::Relaxed) + 1;
        self.store(file, LoadedFile { fingerprint, bytes, layer, version }, scan)
    }

    fn build(
        &self,
        document: Result<Document>,
        file: FileId,
        item: &CatalogEntry,
        (shown, bytes): (&Arc<str>, &[u8]),
        interner: &ThreadInterner<'_>,
    ) -> Result<Arc<Layer>, UnreadableFile> {
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
        let layer = Layer::build(&document, subject, interner);
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
                    layer.warnings.push(empty.at_site(Site::file(shown.clone())));
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

    /// How often the lines of a file position_changes, and no version of a layer content_changes: what names lines is to be
    /// made anew then.
    pub fn position_changes(&self) -> u64 {
        self.position_changes.load(Ordering::Relaxed)
    }

    /// How often a file that was read before had other bytes.
    pub fn content_changes(&self) -> u64 {
        self.content_changes.load(Ordering::Relaxed)
    }

    /// Whether any file that was asked for had other names (hard links): what is written under one of
    /// them is told of that one alone, so a watch does not do.
    pub fn has_hard_links(&self) -> bool {
        self.hard_links_seen.load(Ordering::Relaxed)
    }

    /// How many files are kept.
    pub fn loaded(&self) -> usize {
        self.table.lock().files.iter().filter(|file| file.loaded.is_some()).count()
    }

    /// About how many bytes the files take with all that was made of them.
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

    /// The versions of all files that were looked at in a scan: zero for one that cannot be read.
    pub fn versions(&self, scan: u64) -> Vec<(FileId, Version)> {
        let table = self.table.lock();
        let seen = (0u32..).map(FileId).zip(&table.files).filter(|(_, file)| file.verified_at == scan);
        seen.map(|(number, file)| (number, file.version())).collect()
    }

    /// The path of a file, as messages show it.
    pub fn path_of(&self, file: FileId) -> Option<Arc<str>> {
        self.table.lock().files.get(file.0 as usize).map(|entry| entry.shown.clone())
    }

    /// The text of a file that was read, for excerpts.
    pub fn text(&self, path: &str) -> Option<String> {
        let table = self.table.lock();
        let file = table.files.iter().find(|file| &*file.shown == path)?;
        let loaded = file.loaded.as_ref()?;
        Some(String::from_utf8_lossy(&loaded.bytes).into_owned())
    }
}

impl FileEntry {
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

/// The keys of a document that stand twice in a mapping, without their places (Y2), or the first of them.
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
                let text =
                    format!("the first one stands at line {}, column {}", span.line + 1, span.column + 1);
                warning = warning.note(text, None);
            }
            warning
        })
        .collect();
    truncate_faults(&mut duplicates, MAX_FAULTS);
    duplicates
}
