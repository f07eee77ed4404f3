//! Inputs turn the files of an inventory into names and layers, and know which of them changed.
//!
//! Time is counted in *looks*: within one, everything is checked once. While a watch says that
//! nothing happened, a look goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::base::error::{Error, Fault, Kind, Result};
use crate::base::lock::Mutex;
use crate::base::parallel;
use crate::base::settings::Settings;
use crate::base::source::{FileId, Origin, Span};
use crate::engine::counts::Counters;
use crate::engine::files::{Current, Files, Version};
use crate::engine::trees::{self, Trees};
use crate::evaluate::Locate;
use crate::model::catalog::{self, Catalog, Item, Names, Tree};
use crate::model::template::Words;
use crate::storage::fs::naming;
use crate::storage::git::revision::Revision;
use crate::storage::place::{TreeLocation, TreeLocations};
use crate::storage::watch::{Watch, WatchNews, still_so};
use crate::storage::{Folder, Found, Listing, Stamp, TreeLimits, walk};

/// The files of one inventory.
#[derive(Debug)]
pub struct Inputs {
    settings: Arc<Settings>,
    /// Where the files are.
    pub trees: Trees,
    /// The folders of all places.
    folders: Vec<PathBuf>,
    look: AtomicU64,
    watch: Mutex<Watching>,
    listings: Mutex<Listings>,
    checked: Mutex<Option<SystemTime>>,
    /// The files themselves.
    pub files: Files,
    /// What was done.
    pub counters: Counters,
}

/// How often folders are listed that change meanwhile.
const ATTEMPTS: usize = 10;

/// After how many looks it is tried again to watch what could not be watched: a link or a mount may be
/// gone, a folder there, a limit of the system raised.
const PATIENCE: u64 = 100;

/// Whether changes are waited for or looked for.
#[derive(Debug)]
enum Watching {
    /// Not before a look after this one: who asks once needs no watch, and where there could be none
    /// there may be one some time.
    Later(u64),
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
    folders: Vec<(Arc<Folder>, Stamp)>,
    catalog: Option<Result<Arc<Catalog>>>,
}

impl Inputs {
    /// The inputs that settings name, folders as they are in `revision`. Touches no file of them.
    pub fn new(settings: Arc<Settings>, revision: Option<Arc<Revision>>) -> Result<Inputs> {
        let places = TreeLocations::of(&settings, revision)?;
        Ok(Inputs {
            folders: places.folders(),
            trees: Trees::new(places),
            look: AtomicU64::new(0),
            watch: Mutex::new(match settings.cache.as_ref() {
                "auto" | "inotify" => Watching::Later(0),
                _ => Watching::Never,
            }),
            files: Files::new(settings.clone()),
            settings,
            listings: Mutex::default(),
            checked: Mutex::default(),
            counters: Counters::default(),
        })
    }

    /// Begins to answer a question: tells whether anything may have changed since the last one.
    /// Branches move between questions alone: one answer sees one commit of each.
    pub fn begin(&self) -> Result<bool> {
        if self.trees.is_empty() {
            return Ok(self.begin_folders(true));
        }
        let moved = self.trees.look()? || self.look() == 0;
        if moved {
            self.listings.lock().stale = true;
        }
        if !moved && !self.listings.lock().stale {
            return Ok(self.begin_folders(true));
        }
        self.begin_folders(true);
        self.look.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    /// Tells whether anything in folders may have changed since the question began.
    pub fn again(&self) -> bool {
        self.begin_folders(false)
    }

    /// A watch is set up when a second question is asked.
    fn begin_folders(&self, question: bool) -> bool {
        if self.folders.is_empty() {
            return false;
        }
        let mut watch = self.watch.lock();
        if self.files.had_other_names() {
            *watch = Watching::Never;
        }
        if let Watching::On(on) = &mut *watch {
            match on.news() {
                WatchNews::Quiet => return false,
                WatchNews::Changed { files, tree } => {
                    self.touch(&files, tree);
                    if tree {
                        // Whole folders may have changed places: every file is looked at.
                        self.look.fetch_add(1, Ordering::Relaxed);
                    }
                    return true;
                }
                WatchNews::Lost => *watch = Watching::Later(0),
            }
        } else if question && matches!(*watch, Watching::Later(look) if self.look() > look) {
            *watch = self.watch().map_or(Watching::Later(self.look() + PATIENCE), Watching::On);
        }
        // What was seen before the watch was there is looked at once more.
        *self.checked.lock() = Some(SystemTime::now());
        self.look.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// When every file was last looked at.
    pub fn last_full_check(&self) -> Option<SystemTime> {
        *self.checked.lock()
    }

    /// Whether a watch tells of changes.
    pub fn is_watched(&self) -> bool {
        matches!(&*self.watch.lock(), Watching::On(watch) if watch.is_ours())
    }

    fn look(&self) -> u64 {
        self.look.load(Ordering::Relaxed)
    }

    /// Forgets the watch of another process; the next question looks at every file.
    pub fn forget_watch(&self) {
        let mut watch = self.watch.lock();
        if let Watching::On(_) = &*watch {
            *watch = Watching::Later(0);
        }
        self.look.fetch_add(1, Ordering::Relaxed);
    }

    fn watch(&self) -> Option<Watch> {
        let listings = self.listings.lock();
        let folders: Vec<PathBuf> =
            listings.folders.iter().map(|(folder, _)| folder.path().to_owned()).collect();
        if listings.links || folders.is_empty() || !matches!(listings.catalog, Some(Ok(_))) {
            return None;
        }
        Watch::new(&self.folders, &folders)
    }

    /// Marks files to be looked at again, and the names if any of them is new or gone.
    fn touch(&self, paths: &[PathBuf], tree: bool) {
        let mut listings = self.listings.lock();
        let mut renamed = tree;
        for path in paths {
            self.files.touch(path);
            renamed |= match &listings.catalog {
                Some(Ok(catalog)) => !still_so(path, self.has(catalog, path)),
                // Where the names were in error, any file may be what was wrong.
                _ => true,
            };
        }
        listings.stale |= renamed;
    }

    /// Whether a path in the folders is that of a node or class: quicker than to look for the path.
    fn has(&self, catalog: &Catalog, path: &Path) -> bool {
        let found = |root: &PathBuf| Some(Found::below(root, path.strip_prefix(root).ok()?));
        let is_at = |item: Option<&Item>| item.is_some_and(|item| item.is_at(path));
        let places = &self.trees.places;
        let folders = |place: &'_ TreeLocation| match place {
            TreeLocation::Folders(folders) => folders.iter().filter_map(found).collect::<Vec<_>>(),
            TreeLocation::Git(_) => Vec::new(),
        };
        let node = |found: &Found| catalog.nodes.get(&catalog::node_name(found, &self.settings));
        if places.nodes.iter().flat_map(folders).any(|found| is_at(node(&found))) {
            return true;
        }
        places.classes.iter().zip(&catalog.trees).any(|(place, tree)| {
            let names = tree.as_ref().and_then(|tree| tree.get());
            let class = |found: &Found| names.and_then(|names| names.get(&catalog::class_name(found)));
            folders(place).iter().any(|found| is_at(class(found)))
        })
    }

    /// The place of the nodes, for messages.
    pub fn node_folder(&self) -> String {
        self.trees.places.nodes.as_ref().map_or_else(String::new, ToString::to_string)
    }

    /// The address of the place of the nodes.
    pub fn node_uri(&self) -> String {
        let scheme = match &self.trees.places.nodes {
            Some(TreeLocation::Git(_)) => catalog::REPOSITORY,
            _ => catalog::FOLDER,
        };
        format!("{scheme}{}", self.node_folder())
    }

    /// The classes of a tree.
    pub fn classes<'a>(&self, catalog: &'a Catalog, tree: Tree) -> Result<&'a Names> {
        match catalog.trees.get(tree.0 as usize).and_then(|classes| classes.as_ref()?.get()) {
            Some(names) => Ok(names),
            None => self.trees.names(catalog, tree, &self.files),
        }
    }

    /// The names of the inventory as it is now.
    pub fn catalog(&self) -> Result<Arc<Catalog>> {
        let mut listings = self.listings.lock();
        if listings.checked == self.look()
            && !listings.stale
            && let Some(catalog) = &listings.catalog
        {
            return catalog.clone();
        }
        listings.checked = self.look();
        if let Some(catalog) = listings.catalog.clone()
            && !listings.stale
            && !listings.folders.is_empty()
            && walk::are_unchanged(&mut listings.folders)
        {
            return catalog;
        }
        self.counters.listed.add();
        let (listed, built) = self.list(listings.catalog.as_ref().and_then(|known| known.as_ref().ok()));
        let built = match built {
            // What was known of the trees of repositories tells what is new in them.
            Err(error) if !self.trees.is_empty() => {
                listings.stale = true;
                return Err(error);
            }
            Err(error) if listed.failed => {
                *listings = Listings::default();
                return Err(error);
            }
            built => built.map(Arc::new),
        };
        listings.stale = false;
        let before = listings.catalog.take();
        listings.links = listed.links;
        let before_folders = std::mem::replace(&mut listings.folders, listed.folders);
        // A folder that went and came back is another one, though its path is the same.
        let same = before_folders.len() == listings.folders.len()
            && before_folders.iter().zip(&listings.folders).all(|((before, stamp), (now, stamp_now))| {
                before == now && stamp.identity() == stamp_now.identity()
            });
        if (!same || listings.links)
            && let Some(mut watch) = self.watch.try_lock()
            && matches!(*watch, Watching::On(_))
        {
            // Folders that nobody watches yet, or links, whose targets nobody does.
            *watch = Watching::Later(0);
        }
        // The same names for the same files are the same catalog: answers need not notice.
        let catalog = match (before, built) {
            (Some(Ok(before)), Ok(built)) if *before == *built => Ok(before),
            (_, built) => built,
        };
        listings.catalog = Some(catalog.clone());
        catalog
    }

    /// The names of all places, and the listings they come from.
    ///
    /// Of folders that change places while they are listed, a file is found twice or not at all. A
    /// catalog is looked at again before an answer is given; an error is final, so it has to be met
    /// where nothing changed, or twice.
    fn list(&self, before: Option<&Arc<Catalog>>) -> (Listed, Result<Catalog>) {
        let mut met = None;
        let mut attempts = 0;
        loop {
            let mut listed = Listed::default();
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

    /// The names of all places as they are now. Lists all folders.
    fn build(&self, listed: &mut Listed, before: Option<&Arc<Catalog>>) -> Result<Catalog> {
        let (limits, threads) = (TreeLimits::of(&self.settings), parallel::threads(self.settings.threads));
        let before = before.map(|before| &**before);
        let places = &self.trees.places;
        let mut faults = Vec::new();
        let mut list = |folders: &[PathBuf], setting: &'static str| {
            let listing = listed.list(self, folders, limits, threads);
            listing.unwrap_or_else(|error| {
                faults.extend(error.into_faults().into_iter().map(|fault| self.of_setting(fault, setting)));
                Listing::default()
            })
        };
        let nodes = match &places.nodes {
            Some(TreeLocation::Folders(folders)) => list(folders, "nodes_uri"),
            _ => Listing::default(),
        };
        let classes = places.classes.iter().filter_map(|place| match place {
            TreeLocation::Folders(folders) => Some(list(folders, "classes_uri")),
            TreeLocation::Git(_) => None,
        });
        let mut classes = classes.collect::<Vec<_>>().into_iter();
        if !faults.is_empty() {
            return Err(Error::new(faults));
        }
        let (nodes, commit) = match &places.nodes {
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

    /// A problem with a folder, with the setting that names it.
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

    /// The layer of the file of a node or class as it is now.
    pub fn layer(&self, item: &Item, words: &Words<'_>) -> Current {
        self.files.layer(item, self.look(), words, &self.counters)
    }

    /// Looks at many files at once, with several threads where there is much to read.
    pub fn prepare(&self, items: &[&Item], threads: usize) {
        let look = self.look();
        let unseen = self.files.unseen(items, look);
        let words = || self.files.words();
        parallel::each(
            threads,
            &unseen,
            words,
            |words, item| drop(self.files.layer(item, look, words, &self.counters)),
            |()| false,
        );
    }

    /// The versions of all files that were looked at in this look. Whatever was computed in it was
    /// computed from some of them.
    pub fn versions(&self) -> Vec<(FileId, Version)> {
        self.files.versions(self.look())
    }

    /// Whether a file is still the version that an answer was computed from.
    pub fn is_current(&self, file: FileId, version: Version, catalog: &Catalog) -> bool {
        self.files.is_current((file, version), self.look(), catalog, &self.counters)
    }
}

impl Locate for Inputs {
    fn locate(&self, origin: Origin) -> Option<(Arc<str>, Span)> {
        self.files.locate(origin)
    }

    fn bytes(&self, file: FileId) -> Option<Arc<[u8]>> {
        self.files.bytes(file)
    }
}

/// What is known of all folders that were listed.
#[derive(Default)]
struct Listed {
    folders: Vec<(Arc<Folder>, Stamp)>,
    links: bool,
    /// Whether a folder could not be listed.
    failed: bool,
}

impl Listed {
    /// Whether all folders still are what they were when they were listed.
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
            let revision = inputs.trees.places.revision.as_ref();
            if let Some(files) = revision.and_then(|revision| revision.files(folder, limits)) {
                all.append(trees::listed(folder, &files?, &inputs.files));
                continue;
            }
            let listing = walk::list(std::slice::from_ref(folder), limits, threads);
            let listing = listing.inspect_err(|_| self.failed = true)?;
            self.links |= listing.links;
            self.folders.extend(listing.folders.iter().cloned().zip(listing.stamps.iter().copied()));
            all.append(listing);
        }
        Ok(all)
    }
}
