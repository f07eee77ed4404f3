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

use crate::base::error::{Error, Fault, Kind, MOST_TOLD, Result, tell_most};
use crate::base::failpoints::point;
use crate::base::lock::Mutex;
use crate::base::settings::Settings;
use crate::base::source::{FileId, Origin, Site, Span, Spans};
use crate::base::value::Text;
use crate::engine::counts::Counters;
use crate::engine::held::{Held, Proof, read};
use crate::evaluate::Locate;
use crate::model::catalog::{Catalog, Item, Tree};
use crate::model::layer::{Layer, Subject, Unread, same_text};
use crate::model::template::{Pool, Words};
use crate::storage::fs::{display, stamp};
use crate::yaml::compose::{Document, compose_with};

/// The version of a file's layer that an answer was computed from; zero for a file that
/// cannot be read.
pub type Version = u64;

/// What something was computed from.
#[derive(Clone, Default, Debug)]
pub struct Sources {
    /// Files, in these versions.
    pub files: Vec<(FileId, Version)>,
    /// Classes that were looked for in a tree and not found.
    pub missed: Vec<(Tree, Text)>,
}

/// Takes note of what a computation asks for.
#[derive(Default, Debug)]
pub struct Asking(RefCell<Vec<Sources>>);

impl Asking {
    /// Begins a record. Records nest; what is asked for in an inner one is not in the outer.
    pub fn begin(&self) {
        self.0.borrow_mut().push(Sources::default());
    }

    /// Ends the record that was begun last, and gives it back.
    pub fn end(&self) -> Sources {
        let mut sources = self.0.borrow_mut().pop().unwrap_or_default();
        sources.files.sort_unstable();
        sources.files.dedup();
        sources
    }

    /// A file was asked for.
    pub fn file(&self, file: FileId, version: Version) {
        if let Some(record) = self.0.borrow_mut().last_mut() {
            record.files.push((file, version));
        }
    }

    /// A class was asked for that does not exist.
    pub fn missed(&self, tree: Tree, name: &str) {
        if let Some(record) = self.0.borrow_mut().last_mut() {
            record.missed.push((tree, name.into()));
        }
    }

    /// What something else was computed from counts too.
    pub fn add(&self, sources: &Sources) {
        if let Some(record) = self.0.borrow_mut().last_mut() {
            record.files.extend_from_slice(&sources.files);
            record.missed.extend_from_slice(&sources.missed);
        }
    }
}

/// How much larger the layer of a file is than its text, together with the text: measured on
/// inventories of thousands of files.
const GROWTH: usize = 7;
/// What some editors put in front of a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// All files that were asked for.
#[derive(Debug)]
pub struct Files {
    settings: Arc<Settings>,
    known: Mutex<Known>,
    pool: Pool,
    versions: AtomicU64,
    /// How often the lines of a file moved and its layer stayed.
    moved: AtomicU64,
    /// How often a file had other bytes than before.
    changed: AtomicU64,
    /// Whether a file had other names.
    named_often: AtomicBool,
}

#[derive(Default, Debug)]
struct Known {
    /// By the bytes of the path: a `Path` is hashed part by part.
    numbers: FxHashMap<Box<[u8]>, FileId>,
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    /// The name of its node or class, as soon as somebody asked for its layer.
    name: Text,
    path: Arc<Path>,
    shown: Arc<str>,
    spans: Spans,
    checked: u64,
    held: Held,
    loaded: Option<Loaded>,
}

#[derive(Clone, Debug)]
struct Loaded {
    proof: Proof,
    bytes: Arc<[u8]>,
    layer: Result<Arc<Layer>, Unread>,
    version: Version,
}

/// What a file is now.
#[derive(Debug)]
pub struct Current {
    /// Which file.
    pub file: FileId,
    /// Its version.
    pub version: Version,
    /// Its layer.
    pub layer: Result<Arc<Layer>, Unread>,
}

impl Files {
    /// No files yet.
    pub fn new(settings: Arc<Settings>) -> Files {
        Files {
            settings,
            known: Mutex::default(),
            pool: Pool::default(),
            versions: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            changed: AtomicU64::new(0),
            named_often: AtomicBool::new(false),
        }
    }

    /// The strings of the inventory, for one thread.
    pub fn words(&self) -> Words<'_> {
        self.pool.words()
    }

    /// Marks a file to be looked at again.
    pub fn touch(&self, path: &Path) {
        let mut known = self.known.lock();
        if let Some(file) = known.numbers.get(path.as_os_str().as_encoded_bytes()).copied()
            && let Some(file) = known.files.get_mut(file.0 as usize)
        {
            file.checked = 0;
        }
    }

    /// Gives a file the bytes that it has in a commit.
    pub fn hold(&self, path: &Arc<Path>, held: Held) {
        let file = self.number(path);
        let mut known = self.known.lock();
        let known = &mut known.files[file.0 as usize];
        known.held = held;
        known.checked = 0;
    }

    /// Takes away what is known of a file that is in no commit any more.
    pub fn gone(&self, path: &Arc<Path>) {
        let file = self.number(path);
        let mut known = self.known.lock();
        let known = &mut known.files[file.0 as usize];
        known.held = Held::Nothing("it is in no commit");
        known.checked = 0;
        known.loaded = None;
        known.spans = Spans::default();
    }

    /// Lets go of what was made of files on disk that no name stands for any more, and of files whose
    /// name others have too (S6). One that comes back is read again; no answer that was computed from it
    /// is given before.
    pub fn release(&self, catalog: &Catalog) {
        let twins: FxHashSet<&Path> =
            catalog.defined_often().flat_map(Item::paths).map(|path| &**path).collect();
        let goes = |file: &File| {
            twins.contains(&*file.path)
                || file.held.is_on_disk() && catalog.at(&file.name, &file.path).is_none()
        };
        let mut known = self.known.lock();
        for file in known.files.iter_mut().filter(|file| file.loaded.is_some() && goes(file)) {
            file.checked = 0;
            file.loaded = None;
            file.spans = Spans::default();
        }
    }

    /// The files that were not looked at yet.
    pub fn unseen<'i>(&self, items: &[&'i Item], look: u64) -> Vec<&'i Item> {
        let known = self.known.lock();
        let seen = |item: &Item| {
            let number = known.numbers.get(item.path().as_os_str().as_encoded_bytes());
            number.is_some_and(|file| known.files[file.0 as usize].checked == look)
        };
        items.iter().copied().filter(|item| !seen(item)).collect()
    }

    /// The layer of the file of a node or class as it is at this look. Threads that ask for the
    /// same file get the same layer.
    pub fn layer(&self, item: &Item, look: u64, words: &Words<'_>, counters: &Counters) -> Current {
        let file = self.number(item.path());
        let (before, held) = {
            let mut known = self.known.lock();
            let known = &mut known.files[file.0 as usize];
            if known.checked == look
                && let Some(loaded) = &known.loaded
            {
                return loaded.current(file);
            }
            known.name = item.name.clone();
            (known.loaded.clone(), known.held.clone())
        };
        if let Some(loaded) = &before
            && let Some(proof) = loaded.proof.still_holds(item.path(), &held)
        {
            return self.keep(file, Loaded { proof, ..loaded.clone() }, look);
        }
        self.load(file, item, (before, &held), look, words, counters)
    }

    /// Whether the file is still the version that an answer was computed from.
    pub fn is_current(
        &self,
        (file, version): (FileId, Version),
        look: u64,
        catalog: &Catalog,
        counters: &Counters,
    ) -> bool {
        let (name, path, loaded, held) = match self.known.lock().files.get(file.0 as usize) {
            Some(known) if known.checked == look => return known.version() == version,
            Some(known) => (known.name.clone(), known.path.clone(), known.loaded.clone(), known.held.clone()),
            None => return false,
        };
        if let Some(loaded) = loaded
            && let Some(proof) = loaded.proof.still_holds(&path, &held)
        {
            return self.keep(file, Loaded { proof, ..loaded }, look).version == version;
        }
        let Some(item) = catalog.at(&name, &path) else { return false };
        // Of a name with several files, each stands for itself.
        let alone = if item.has_twins() {
            item.files().find(|file| file.path().as_os_str() == path.as_os_str())
        } else {
            None
        };
        self.layer(alone.as_ref().unwrap_or(item), look, &self.words(), counters).version == version
    }

    fn number(&self, path: &Arc<Path>) -> FileId {
        let mut known = self.known.lock();
        if let Some(file) = known.numbers.get(path.as_os_str().as_encoded_bytes()) {
            return *file;
        }
        let file = FileId(u32::try_from(known.files.len()).unwrap_or(u32::MAX - 1));
        known.files.push(File {
            name: "".into(),
            path: path.clone(),
            shown: display(path).into(),
            spans: Spans::default(),
            checked: 0,
            held: Held::Disk,
            loaded: None,
        });
        known.numbers.insert(path.as_os_str().as_encoded_bytes().into(), file);
        file
    }

    /// Takes note of what a file is at this look; of two threads, the first one says.
    fn keep(&self, file: FileId, loaded: Loaded, look: u64) -> Current {
        let mut known = self.known.lock();
        let known = &mut known.files[file.0 as usize];
        match &known.loaded {
            Some(first) if known.checked == look => first.current(file),
            _ => {
                known.checked = look;
                point("the table of files is changed");
                let current = loaded.current(file);
                known.loaded = Some(loaded);
                current
            }
        }
    }

    fn load(
        &self,
        file: FileId,
        item: &Item,
        (before, held): (Option<Loaded>, &Held),
        look: u64,
        words: &Words<'_>,
        counters: &Counters,
    ) -> Current {
        let (bytes, proof) = match read(item, held, counters, &self.settings) {
            Ok(read) => {
                if let Proof::Stamp(stamp) = &read.1 {
                    self.named_often.fetch_or(stamp.has_other_names(), Ordering::Relaxed);
                }
                read
            }
            Err(error) => {
                let often = stamp(item.path()).is_ok_and(|stamp| stamp.has_other_names());
                self.named_often.fetch_or(often, Ordering::Relaxed);
                let mut known = self.known.lock();
                let known = &mut known.files[file.0 as usize];
                known.checked = look;
                known.loaded = None;
                return Current { file, version: 0, layer: Err(error.into()) };
            }
        };
        if let Some(loaded) = &before
            && *loaded.bytes == *bytes
        {
            return self.keep(file, Loaded { proof, ..loaded.clone() }, look);
        }
        let compose = |bytes: &[u8]| {
            point("a file is parsed");
            let limits = crate::yaml::compose::DocumentLimits::of(&self.settings);
            compose_with(bytes, &|text| words.text(text), limits)
        };
        let document = compose(&bytes);
        counters.parsed.add();
        if before.is_some() {
            self.changed.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(Loaded { bytes: old, layer: Ok(layer), version, .. }) = before
            && let (Ok(old), Ok(new)) = (compose(&old), &document)
            && old.root == new.root
            // They have the lines of their file.
            && layer.warnings.is_empty()
        {
            self.known.lock().files[file.0 as usize].spans = new.spans.clone();
            self.moved.fetch_add(1, Ordering::Relaxed);
            return self.keep(file, Loaded { proof, bytes, layer: Ok(layer), version }, look);
        }
        let shown = self.known.lock().files[file.0 as usize].shown.clone();
        let layer = self.build(document, file, item, (&shown, &bytes), words);
        let version = self.versions.fetch_add(1, Ordering::Relaxed) + 1;
        self.keep(file, Loaded { proof, bytes, layer, version }, look)
    }

    fn build(
        &self,
        document: Result<Document>,
        file: FileId,
        item: &Item,
        (shown, bytes): (&Arc<str>, &[u8]),
        words: &Words<'_>,
    ) -> Result<Arc<Layer>, Unread> {
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
        self.known.lock().files[file.0 as usize].spans = document.spans.clone();
        let (name, settings) = (&item.name, &self.settings);
        let subject = Subject { file, name, init: item.init, is_class: item.is_class, settings };
        let layer = Layer::build(&document, subject, words);
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
                layer.warnings.extend(duplicates(&document, file));
                layer.warnings.extend(same_text(&document, file));
                layer.warnings.iter_mut().for_each(place);
                Ok(Arc::new(layer))
            }
            Err(mut unread) => {
                unread.error.faults_mut().iter_mut().for_each(place);
                Err(unread)
            }
        }
    }

    /// How often the lines of a file moved, and no version of a layer changed: what names lines is to be
    /// made anew then.
    pub fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// How often a file that was read before had other bytes.
    pub fn changed(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }

    /// Whether any file that was asked for had other names (hard links): what is written under one of
    /// them is told of that one alone, so a watch does not do.
    pub fn had_other_names(&self) -> bool {
        self.named_often.load(Ordering::Relaxed)
    }

    /// How many files are kept.
    pub fn loaded(&self) -> usize {
        self.known.lock().files.iter().filter(|file| file.loaded.is_some()).count()
    }

    /// About how many bytes the files take with all that was made of them.
    pub fn weight(&self) -> usize {
        let weight = |file: &File| match (&file.loaded, &file.held) {
            (Some(loaded), _) => loaded.bytes.len() * GROWTH,
            (None, Held::Blob(blob)) => blob.bytes.len(),
            (None, Held::Disk | Held::Outside(_) | Held::Nothing(_) | Held::TooLarge) => 0,
        };
        self.known.lock().files.iter().map(weight).sum()
    }

    /// The versions of all files that were looked at in a look: zero for one that cannot be read.
    pub fn versions(&self, look: u64) -> Vec<(FileId, Version)> {
        let known = self.known.lock();
        let seen = (0u32..).map(FileId).zip(&known.files).filter(|(_, file)| file.checked == look);
        seen.map(|(number, file)| (number, file.version())).collect()
    }

    /// The path of a file, as messages show it.
    pub fn path_of(&self, file: FileId) -> Option<Arc<str>> {
        self.known.lock().files.get(file.0 as usize).map(|known| known.shown.clone())
    }

    /// The text of a file that was read, for excerpts.
    pub fn text(&self, path: &str) -> Option<String> {
        let known = self.known.lock();
        let file = known.files.iter().find(|file| &*file.shown == path)?;
        let loaded = file.loaded.as_ref()?;
        Some(String::from_utf8_lossy(&loaded.bytes).into_owned())
    }
}

impl File {
    fn version(&self) -> Version {
        self.loaded.as_ref().map_or(0, |loaded| loaded.version)
    }
}

impl Loaded {
    fn current(&self, file: FileId) -> Current {
        Current { file, version: self.version, layer: self.layer.clone() }
    }
}

impl Locate for Files {
    fn locate(&self, origin: Origin) -> Option<(Arc<str>, Span)> {
        let known = self.known.lock();
        let file = known.files.get(origin.file.0 as usize)?;
        let span = file.spans.get(origin.node as usize)?;
        Some((file.shown.clone(), *span))
    }

    fn bytes(&self, file: FileId) -> Option<Arc<[u8]>> {
        let known = self.known.lock();
        Some(known.files.get(file.0 as usize)?.loaded.as_ref()?.bytes.clone())
    }
}

/// The keys of a document that stand twice in a mapping, without their places (Y2), or the first of them.
pub fn duplicates(document: &Document, file: FileId) -> Vec<Fault> {
    let mut duplicates: Vec<Fault> = document
        .warnings
        .iter()
        .take(MOST_TOLD + 1)
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
    tell_most(&mut duplicates, MOST_TOLD);
    duplicates
}
