//! Class names lead to files. A folder is listed when a name leads into it, so that a question costs what its
//! classes touch. All classes are listed only for those who ask for all.
//!
//! What a name leads to is remembered together with the folders that were consulted, and found again when one
//! of them changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::catalog::{self, CatalogEntry, NameIndex, TreeId};
use crate::storage::folders::{Consulted, FolderCheck, Folders, ROOT};
use crate::storage::{FoundFile, Listing};
use reclass_base::error::{Fault, Result};
use reclass_base::pattern::Glob;
use reclass_base::stack::grow;
use reclass_base::value::Text;

/// A class name, and the files that it leads to. Answers depend on it.
#[derive(Debug)]
pub struct ClassName {
    /// The tree in which it was looked up.
    pub tree: TreeId,
    /// The name.
    pub name: Text,
    /// The class; `None` if there is none. An error is one of a folder on the way.
    pub found: Result<Option<Arc<CatalogEntry>>>,
    /// The epoch of the last check.
    epoch: AtomicU64,
}

impl ClassName {
    /// Whether it was verified in this epoch.
    pub fn is_verified(&self, epoch: u64) -> bool {
        self.epoch.load(Ordering::Relaxed) == epoch
    }
}

/// The class folders of an inventory, and what names led to in them.
#[derive(Debug, Default)]
pub struct ClassFolders {
    /// The trees, by the paths of their roots.
    roots: Vec<(Arc<Path>, Folders)>,
    trees: BTreeMap<TreeId, NamesInTree>,
    /// Whether a name leads to other files since [`ClassFolders::forget`].
    changed: bool,
}

#[derive(Debug, Default)]
struct NamesInTree {
    /// The numbers of its roots; none in a repository.
    roots: Vec<usize>,
    names: FxHashMap<Text, (Arc<ClassName>, ConsultedByRoot)>,
    patterns: FxHashMap<Text, Remembered<Arc<[Text]>>>,
    all: Option<Remembered<Arc<NameIndex>>>,
}

/// The folders that were consulted for a result, by the number of their root.
type ConsultedByRoot = Vec<(usize, Vec<Consulted>)>;

/// What the folders of a tree gave, and the folders that were consulted for it.
#[derive(Debug)]
struct Remembered<T> {
    result: Result<T>,
    consulted: ConsultedByRoot,
    epoch: u64,
}

/// The number of names of a tree up to which none is forgotten.
const MIN_NAMES: usize = 4_096;
/// The most patterns that are remembered for a tree. References can make any number of patterns.
const MAX_PATTERNS: usize = 1_024;

impl ClassFolders {
    /// The folders of all trees.
    pub fn folders(&self) -> impl Iterator<Item = &Folders> {
        self.roots.iter().map(|(_, folders)| folders)
    }

    /// The folders of all trees.
    pub fn folders_mut(&mut self) -> impl Iterator<Item = &mut Folders> {
        self.roots.iter_mut().map(|(_, folders)| folders)
    }

    /// Adds a root to a tree, and verifies that it can be listed. `open` makes its folders.
    pub fn add_root(
        &mut self,
        tree: TreeId,
        path: &Path,
        check: &FolderCheck<'_>,
        open: impl FnOnce() -> Result<Folders>,
    ) -> Result<()> {
        let known = self.roots.iter().position(|(known, _)| **known == *path);
        let number = known.unwrap_or(self.roots.len());
        if known.is_none() {
            self.roots.push((path.into(), open()?));
        }
        self.trees.entry(tree).or_default().roots.push(number);
        self.roots[number].1.entries(ROOT, check, &mut Vec::new()).map(drop)
    }

    /// Forgets which roots a tree has, before they are added again. Their folders stay known.
    pub fn clear_roots(&mut self) {
        self.trees.values_mut().for_each(|tree| tree.roots.clear());
    }

    /// Whether all roots can still be listed.
    pub fn have_roots(&mut self, check: &FolderCheck<'_>) -> bool {
        self.folders_mut().all(|folders| folders.entries(ROOT, check, &mut Vec::new()).is_ok())
    }

    /// The files that a name leads to. `listed` are the names of a repository.
    pub fn class(
        &mut self,
        (tree, name): (TreeId, &str),
        listed: Option<&NameIndex>,
        (epoch, check): (u64, &FolderCheck<'_>),
    ) -> Arc<ClassName> {
        let names = self.trees.entry(tree).or_default();
        let roots = &mut self.roots;
        let mut before = None;
        if let Some((known, consulted)) = names.names.get(name) {
            if known.is_verified(epoch) || listed.is_none() && hold(consulted, roots, check) {
                known.epoch.store(epoch, Ordering::Relaxed);
                return known.clone();
            }
            before = Some(known.clone());
        }
        let (text, mut consulted) = (Text::from(name), Vec::new());
        let found = match listed {
            Some(listed) => Ok(listed.get(name).cloned()),
            None => names.find(&text, roots, check, &mut consulted),
        };
        // What leads to the same files stays the same, so that answers hold.
        let result = match before {
            Some(before) if before.found == found => before,
            before => {
                self.changed |= before.is_some();
                Arc::new(ClassName { tree, name: text.clone(), found, epoch: AtomicU64::new(epoch) })
            }
        };
        result.epoch.store(epoch, Ordering::Relaxed);
        names.limit();
        names.names.insert(text, (result.clone(), consulted));
        result
    }

    /// Puts back a name that leads to the same files as the known one, unless somebody uses that: a name is known
    /// once, and the files of others are forgotten.
    pub fn restore(&mut self, name: &Arc<ClassName>) -> bool {
        let names = self.trees.get_mut(&name.tree).map(|tree| &mut tree.names);
        names.and_then(|names| names.get_mut(&name.name)).is_some_and(|(known, _)| {
            // One is known here, and one is `now` of the caller.
            let is_free = Arc::strong_count(known) <= 2;
            if is_free {
                *known = name.clone();
            }
            is_free
        })
    }

    /// Whether a name leads to other files since the last [`ClassFolders::forget`].
    pub fn have_changed(&self) -> bool {
        self.changed
    }

    /// Forgets the names that no answer depends on. Returns the paths of the others.
    pub fn forget(&mut self) -> FxHashSet<Arc<Path>> {
        self.changed = false;
        let mut needed = FxHashSet::default();
        for tree in self.trees.values_mut() {
            tree.retain_needed();
            let items = tree.names.values().filter_map(|(known, _)| known.found.as_ref().ok()?.as_ref());
            needed.extend(items.flat_map(|item| item.paths().cloned()));
        }
        needed
    }

    /// The names that match a pattern, sorted.
    pub fn matching(
        &mut self,
        (tree, pattern): (TreeId, &Text),
        listed: Option<&NameIndex>,
        (epoch, check): (u64, &FolderCheck<'_>),
    ) -> Result<Arc<[Text]>> {
        let names = self.trees.entry(tree).or_default();
        // The names of a repository are those of its listing, whatever folders hold.
        let known = names.patterns.get_mut(pattern).filter(|known| listed.is_none() || known.epoch == epoch);
        if let Some(result) = known.and_then(|known| known.current(&mut self.roots, epoch, check)) {
            return result;
        }
        let mut consulted = Vec::new();
        let result = if let Some(listed) = listed {
            Ok(matching(listed, pattern))
        } else {
            let fixed = pattern.find(['*', '?', '[']).map_or(&**pattern, |wild| &pattern[..wild]);
            // A folder on the way to the first wildcard, or behind it.
            let enters = |folder: &str| {
                let begun = folder.replace('/', ".") + ".";
                begun.starts_with(fixed) || fixed.starts_with(&begun)
            };
            let listing = names.list(&mut self.roots, &enters, check, &mut consulted);
            listing.map(|listing| matching(&catalog::classes(&listing), pattern))
        };
        if names.patterns.len() >= MAX_PATTERNS {
            names.patterns.clear();
        }
        let known = Remembered { result: result.clone(), consulted, epoch };
        names.patterns.insert(pattern.clone(), known);
        result
    }

    /// All classes of a tree of folders.
    pub fn all(&mut self, tree: TreeId, (epoch, check): (u64, &FolderCheck<'_>)) -> Result<Arc<NameIndex>> {
        let names = self.trees.entry(tree).or_default();
        let known = names.all.as_mut();
        if let Some(result) = known.and_then(|known| known.current(&mut self.roots, epoch, check)) {
            return result;
        }
        let mut consulted = Vec::new();
        let listing = names.list(&mut self.roots, &|_| true, check, &mut consulted);
        let result = listing.map(|listing| Arc::new(catalog::classes(&listing)));
        names.all = Some(Remembered { result: result.clone(), consulted, epoch });
        result
    }

    /// The faults of names with several files, among the names that were asked for in this epoch.
    pub fn clashes(&self, epoch: u64) -> Vec<Fault> {
        let names = self.trees.values().flat_map(|tree| tree.names.values());
        let asked = names.filter(|(known, _)| known.is_verified(epoch));
        let mut found: Vec<&Arc<CatalogEntry>> =
            asked.filter_map(|(known, _)| known.found.as_ref().ok()?.as_ref()).collect();
        let all = self.trees.values().filter_map(|tree| tree.all.as_ref());
        let all = all.filter(|known| known.epoch == epoch).filter_map(|known| known.result.as_ref().ok());
        found.extend(all.flat_map(|names| names.with_duplicates()));
        found.sort_unstable_by_key(|item| &item.name);
        let mut faults: Vec<Fault> = found.into_iter().filter_map(|item| item.clash()).collect();
        faults.dedup();
        faults
    }
}

fn matching(names: &NameIndex, pattern: &Text) -> Arc<[Text]> {
    let glob = Glob::new(pattern);
    names.keys().filter(|name| glob.matches(name)).cloned().collect()
}

/// Whether the folders that were consulted still have the same names.
fn hold(consulted: &ConsultedByRoot, roots: &mut [(Arc<Path>, Folders)], check: &FolderCheck<'_>) -> bool {
    consulted.iter().all(|(root, consulted)| roots[*root].1.hold(consulted, check))
}

impl<T: Clone> Remembered<T> {
    /// The result, if it still is what the folders give. An error is asked for again in the next epoch.
    fn current(
        &mut self,
        roots: &mut [(Arc<Path>, Folders)],
        epoch: u64,
        check: &FolderCheck<'_>,
    ) -> Option<Result<T>> {
        let holds = self.epoch == epoch || self.result.is_ok() && hold(&self.consulted, roots, check);
        holds.then(|| {
            self.epoch = epoch;
            self.result.clone()
        })
    }
}

impl NamesInTree {
    /// The files that a name leads to. A name says nothing about where its dots are in the path: `a.b.c` is
    /// `a/b/c.yml`, `a.b/c.yml`, `a.b.c/init.yml` and so on.
    fn find(
        &self,
        name: &Text,
        roots: &mut [(Arc<Path>, Folders)],
        check: &FolderCheck<'_>,
        consulted: &mut ConsultedByRoot,
    ) -> Result<Option<Arc<CatalogEntry>>> {
        let mut found = Vec::new();
        for root in &self.roots {
            let folders = &mut roots[*root].1;
            let mut search = Search { folders, check, found, consulted: Vec::new() };
            let searched = search.descend(ROOT, name);
            found = search.found;
            consulted.push((*root, search.consulted));
            searched?;
        }
        Ok(CatalogEntry::in_folders(name.clone(), true, found).map(Arc::new))
    }

    fn retain_needed(&mut self) {
        self.names.retain(|_, (known, _)| Arc::strong_count(known) > 1);
    }

    /// References can make any number of names, so those that no answer depends on are forgotten at times.
    fn limit(&mut self) {
        if self.names.len() >= MIN_NAMES && self.names.len().is_power_of_two() {
            self.retain_needed();
        }
    }

    fn list(
        &self,
        roots: &mut [(Arc<Path>, Folders)],
        enters: &dyn Fn(&str) -> bool,
        check: &FolderCheck<'_>,
        consulted: &mut ConsultedByRoot,
    ) -> Result<Listing> {
        let mut all = Listing::default();
        for root in &self.roots {
            let mut visited = Vec::new();
            let listing = roots[*root].1.all(enters, check, &mut visited);
            consulted.push((*root, visited));
            all.folders.extend(listing?.folders);
        }
        Ok(all)
    }
}

/// The search for the files of one name below one root.
struct Search<'a> {
    folders: &'a mut Folders,
    check: &'a FolderCheck<'a>,
    found: Vec<FoundFile>,
    consulted: Vec<Consulted>,
}

impl Search<'_> {
    /// Looks for the rest of the name in a folder.
    fn descend(&mut self, folder: usize, rest: &str) -> Result<()> {
        let entries = self.folders.entries(folder, self.check, &mut self.consulted)?;
        if self.consulted.len() > self.folders.limit() {
            return Err(self.folders.too_many());
        }
        // The file `init` of a folder is the folder's class.
        if folder == ROOT || rest != "init" {
            self.take(folder, entries.files_named(rest));
        }
        let dots = rest.match_indices('.').map(|(at, _)| at);
        for end in dots.chain([rest.len()]) {
            for name in entries.inner_named(&rest[..end]) {
                let inner = self.folders.inner(folder, name);
                if let Some(inside) = rest.get(end + 1..) {
                    grow(|| self.descend(inner, inside))?;
                } else {
                    let entries = self.folders.entries(inner, self.check, &mut self.consulted)?;
                    self.take(inner, entries.files_named("init"));
                }
            }
        }
        Ok(())
    }

    fn take<'f>(&mut self, folder: usize, files: impl Iterator<Item = &'f Arc<std::ffi::OsStr>>) {
        self.found.extend(files.map(|file| self.folders.found(folder, file)));
    }
}
