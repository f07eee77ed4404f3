//! The branches of git repositories as names and bytes. One call sees the commits that the branches had
//! when it began.
//!
//! A tree of classes is read when a node first needs it. From then on, each new commit is read when it is
//! noticed, so that unchanged files can be distinguished from changed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::engine::fetch_state::FetchState;
use crate::engine::files::Files;
use crate::engine::fingerprint::ByteSource;
use crate::model::catalog::{self, Catalog, ClassTree, Commit, NameIndex, TreeId};
use crate::storage::TreeLimits;
use crate::storage::folders::Folders;
use crate::storage::fs::display;
use crate::storage::git::{Absent, GitFile, Heads, Record, Repository, is_yaml, is_yaml_or_json};
use crate::storage::location::{Branch, MASTER, TreeLocation, TreeLocations};
use reclass_base::error::{Fault, Kind, Result, Warning};
use reclass_base::lock::Mutex;
use reclass_base::settings::Settings;
use reclass_base::value::{Text, Value};

/// The repositories of an inventory with the state of their branches.
#[derive(Debug)]
pub struct Trees {
    /// The locations of the files. All states of an inventory share its repositories.
    pub locations: Arc<TreeLocations>,
    states: Mutex<Vec<RepositoryState>>,
    /// The commits of branches that are read in place of those that were fetched last, with the last fetches.
    pinned: Mutex<Option<LastFetch>>,
    /// The trees of environments that name their branch, by location and branch.
    numbers: Mutex<FxHashMap<(usize, Text), TreeId>>,
}

/// The records of the last fetches of all repositories, and commits of the branches in use.
#[derive(Clone, Default, Debug)]
pub struct LastFetch {
    /// A record for each repository.
    pub records: Arc<[Arc<Record>]>,
    /// The commits of branches for each repository.
    pub heads: Arc<Heads>,
}

impl LastFetch {
    /// The last fetches with their commits of the branches in use. Most bring none, and then the commits are those
    /// that are known from before.
    pub fn of(records: Vec<Arc<Record>>, locations: &TreeLocations, before: &LastFetch) -> LastFetch {
        if before.records.iter().map(Arc::as_ptr).eq(records.iter().map(Arc::as_ptr)) {
            return before.clone();
        }
        let in_use = |(number, record): (usize, &Arc<Record>)| {
            let mut heads = record.heads.clone();
            if let Some(named) = branches_in_use(locations, number) {
                heads.retain(|name, _| named.contains(name));
            }
            heads
        };
        let heads: Heads = records.iter().enumerate().map(in_use).collect();
        let heads = if heads == *before.heads { before.heads.clone() } else { Arc::new(heads) };
        LastFetch { records: records.into(), heads }
    }
}

/// A repository as it was when the call began.
#[derive(Clone, Default, Debug)]
struct RepositoryState {
    record: Arc<Record>,
    /// The requested revision and its commit, if the repository has it.
    revision: Option<(Text, Arc<str>)>,
}

impl Trees {
    /// The trees of these locations, before any is read.
    pub fn new(locations: Arc<TreeLocations>) -> Trees {
        let (states, pinned, numbers) = Default::default();
        Trees { locations, states, pinned, numbers }
    }

    /// Whether there are no repositories.
    pub fn is_empty(&self) -> bool {
        self.locations.repositories.is_empty()
    }

    /// Reads these commits from the next question on, with the times of these fetches.
    pub fn pin(&self, pinned: LastFetch) {
        *self.pinned.lock() = Some(pinned);
    }

    /// Reads the current commits of all branches, and returns whether any changed.
    pub fn refresh(&self) -> Result<bool> {
        let mut changed = false;
        let pinned = self.pinned.lock().clone();
        let mut new = Vec::with_capacity(self.locations.repositories.len());
        for (number, repository) in self.locations.repositories.iter().enumerate() {
            let before = self.state(number);
            let pinned = pinned.as_ref().and_then(|pin| pin.heads.get(number).zip(pin.records.get(number)));
            let record = match pinned {
                None => repository.current_record()?,
                Some((heads, record)) => pinned_record(heads, record, before.as_ref()),
            };
            let same =
                before.as_ref().is_some_and(|before| before.record.times.fetched == record.times.fetched);
            // Only a fetch can change it.
            let revision = if same {
                before.as_ref().and_then(|before| before.revision.clone())
            } else {
                repository.revision_commit(&record)?
            };
            changed |= before.is_none_or(|before| {
                !Arc::ptr_eq(&before.record, &record) && before.record.heads != record.heads
                    || before.revision != revision
            });
            new.push(RepositoryState { record, revision });
        }
        *self.states.lock() = new;
        Ok(changed)
    }

    fn state(&self, repository: usize) -> Option<RepositoryState> {
        self.states.lock().get(repository).cloned()
    }

    /// The warnings about failed fetches.
    pub fn warnings(&self) -> Vec<Warning> {
        let states = self.states.lock();
        let repositories = self.locations.repositories.iter().zip(&*states);
        repositories.filter_map(|(repository, state)| repository.warning(&state.record)).collect()
    }

    /// The state of each repository at the last fetch.
    pub fn fetch_states(&self) -> Vec<FetchState> {
        let records: Vec<_> = self.states.lock().iter().map(|state| state.record.clone()).collect();
        let repositories = self.locations.repositories.iter().zip(records).enumerate();
        let state = |(number, (repository, record)): (usize, (&Repository, Arc<Record>))| {
            let commits = self.commits(number, &record);
            FetchState {
                source: repository.remote.shown.clone(),
                since: commits.keys().filter_map(|branch| record.times.since.get(&**branch)).max().copied(),
                commits,
                fetched: record.times.fetched.map(|moment| moment.clock),
                failed: record.times.last_failure(),
                stale: repository.warning(&record),
            }
        };
        repositories.map(state).collect()
    }

    /// The branches of a repository that the locations name, with their commits.
    fn commits(&self, repository: usize, record: &Record) -> BTreeMap<Text, Arc<str>> {
        let mut commits = BTreeMap::new();
        for (branch, name) in places(&self.locations, repository, None) {
            let all = || record.heads.keys().map(|name| Text::from(name.as_str())).collect();
            let branches: Vec<Text> = name.map_or_else(all, |name| vec![name]);
            let found = branches.iter().filter_map(|name| self.commit(branch, name));
            commits.extend(found.filter_map(|commit| Some((commit.branch.branch?, commit.commit))));
        }
        commits
    }

    /// Whether any repository has the requested revision.
    pub fn has_revision(&self) -> bool {
        self.states.lock().iter().any(|states| states.revision.is_some())
    }

    /// The commit of a branch; `None` if the branch does not exist.
    fn commit(&self, branch: &Branch, name: &Text) -> Option<Commit> {
        let state = self.state(branch.repository)?;
        let (name, commit) = match state.revision {
            Some(revision) => revision,
            None => (name.clone(), state.record.heads.get(&**name)?.clone()),
        };
        Some(Commit { branch: Branch { branch: Some(name), ..branch.clone() }, commit })
    }

    /// The nodes of a repository and their commit. A missing branch is an error.
    pub fn nodes(
        &self,
        branch: &Branch,
        settings: &Settings,
        before: Option<&Catalog>,
        files: &Files,
    ) -> Result<(Arc<NameIndex>, Arc<str>)> {
        let name = branch.branch.clone().unwrap_or_else(|| MASTER.into());
        let commit = self.commit(branch, &name).ok_or_else(|| self.missing(branch, &name))?;
        if let Some(before) = before.filter(|before| before.commit.as_ref() == Some(&commit.commit)) {
            return Ok((before.nodes.clone(), commit.commit));
        }
        let read = self.read(&commit)?;
        if branch.of_folder && read.is_empty() {
            // As a folder that is not there. Nodes that nobody has committed are no reason for empty pillars.
            let (path, message) = (commit.branch.to_string(), "the commit has no node in it".into());
            return Err(Fault::new(Kind::DirectoryNotFound { path, message, similar: None }).into());
        }
        let names = catalog::nodes_of_commit(&commit, &read, settings);
        set_sources(&catalog::top(&commit), &read, before.map(|before| &*before.nodes), files);
        Ok((Arc::new(names), commit.commit))
    }

    /// The classes of all locations. Those of repositories are in their current commits.
    pub fn classes(&self, before: Option<&Catalog>, files: &Files) -> Result<Vec<Option<Arc<ClassTree>>>> {
        let mut trees: Vec<Option<Arc<ClassTree>>> = Vec::with_capacity(self.locations.classes.len());
        let mut by_environment = Vec::new();
        for (number, place) in self.locations.classes.iter().enumerate() {
            trees.push(match place {
                TreeLocation::Folders(_) => Some(Arc::default()),
                TreeLocation::Git(branch) => {
                    if branch.branch.is_none() {
                        by_environment.push((number, branch));
                    }
                    let named = branch.branch.as_ref().and_then(|name| self.commit(branch, name));
                    named.map(|commit| Arc::new(ClassTree::of(commit)))
                }
            });
        }
        for (place, branch) in by_environment {
            let record = self.state(branch.repository).unwrap_or_default().record;
            for name in record.heads.keys() {
                let name = Text::from(name.as_str());
                let tree = self.number(place, &name);
                let commit = self.commit(branch, &name);
                let at = tree.0 as usize;
                trees.resize_with(trees.len().max(at + 1), || None);
                trees[at] = commit.map(|commit| Arc::new(ClassTree::of(commit)));
            }
        }
        for (number, old) in before.map_or(&[][..], |before| &before.trees).iter().enumerate() {
            let Some(old) = old.as_ref().filter(|old| old.commit.is_some()) else { continue };
            match trees.get_mut(number).and_then(Option::as_mut) {
                Some(new) if new == old => new.clone_from(old),
                Some(new) => {
                    if let Some(names) = old.get() {
                        self.list(new, Some(&**names), files)?;
                    }
                }
                None => {
                    let items = old.get().into_iter().flat_map(|names| names.values());
                    items.flat_map(|item| item.paths()).for_each(|path| files.remove(path));
                }
            }
        }
        Ok(trees)
    }

    /// The tree of the classes of an environment.
    pub fn tree(&self, catalog: &Catalog, environment: &Value) -> Result<TreeId> {
        let place = self.locations.classes_of(environment);
        let number = TreeId(u32::try_from(place).unwrap_or(u32::MAX));
        let Some(TreeLocation::Git(branch)) = self.locations.classes.get(place) else { return Ok(number) };
        let (number, name) = if let Some(name) = &branch.branch {
            (number, name.clone())
        } else {
            let name = match environment {
                Value::Null => Text::from(MASTER),
                environment => Text::from(reclass_base::pystr::str(environment)),
            };
            let number = self.numbers.lock().get(&(place, name.clone())).copied();
            (number.unwrap_or(TreeId(u32::MAX)), name)
        };
        match catalog.trees.get(number.0 as usize) {
            Some(Some(_)) => Ok(number),
            _ => Err(self.missing(branch, &name).into()),
        }
    }

    /// The names of a tree in a repository, read on first use; `None` for a tree of folders.
    pub fn names<'a>(
        &self,
        catalog: &'a Catalog,
        tree: TreeId,
        files: &Files,
    ) -> Result<Option<&'a Arc<NameIndex>>> {
        match catalog.trees.get(tree.0 as usize) {
            Some(Some(classes)) if classes.commit.is_some() => self.list(classes, None, files).map(Some),
            _ => Ok(None),
        }
    }

    /// The location of a tree, for messages.
    pub fn display_name(&self, catalog: &Catalog, tree: TreeId) -> String {
        let tree = tree.0 as usize;
        match catalog.trees.get(tree).and_then(Option::as_ref).and_then(|classes| classes.commit.as_ref()) {
            Some(commit) => TreeLocation::Git(commit.branch.clone()).to_string(),
            None => self.locations.classes.get(tree).map_or_else(String::new, ToString::to_string),
        }
    }

    /// The beginnings of file paths in messages: folders, and repositories with their branches.
    pub fn display_names(&self, catalog: &Catalog) -> Vec<String> {
        let mut shown: Vec<String> = self.locations.folders().iter().map(|folder| display(folder)).collect();
        let nodes = match &self.locations.nodes {
            Some(TreeLocation::Git(branch)) => {
                let name = branch.branch.clone().unwrap_or_else(|| MASTER.into());
                self.commit(branch, &name).map(|commit| commit.branch)
            }
            _ => None,
        };
        let trees = catalog.trees.iter().flatten().filter_map(|tree| tree.commit.as_ref());
        let branches = nodes.into_iter().chain(trees.map(|commit| commit.branch.clone()));
        shown.extend(branches.map(|branch| Branch { root: "".into(), ..branch }.to_string()));
        shown
    }

    fn list<'a>(
        &self,
        classes: &'a ClassTree,
        before: Option<&NameIndex>,
        files: &Files,
    ) -> Result<&'a Arc<NameIndex>> {
        classes.get_or_list(|| {
            let Some(commit) = &classes.commit else { return Ok(NameIndex::default()) };
            let read = self.read(commit)?;
            let names = catalog::classes_of_commit(commit, &read);
            set_sources(&catalog::top(commit), &read, before, files);
            Ok(names)
        })
    }

    fn read(&self, commit: &Commit) -> Result<Vec<GitFile>> {
        let Some(repository) = self.locations.repositories.get(commit.branch.repository) else {
            return Ok(Vec::new());
        };
        let root = &commit.branch.root;
        let below = |folders: &[String], stem: &str| {
            if commit.branch.of_folder {
                is_in(root, folders)
            } else {
                catalog::is_below(root, folders, stem)
            }
        };
        repository.files(&commit.commit, root, is_yaml, &below)
    }

    /// The commit with the schemas of a repository, `None` if the branch does not exist.
    pub fn schema_commit(&self, branch: &Branch) -> Option<Commit> {
        self.commit(branch, &branch.branch.clone().unwrap_or_else(|| MASTER.into()))
    }

    /// The files of YAML and JSON below the root of a commit.
    pub fn schemas(&self, commit: &Commit) -> Result<Vec<GitFile>> {
        let Some(repository) = self.locations.repositories.get(commit.branch.repository) else {
            return Ok(Vec::new());
        };
        let root = &commit.branch.root;
        let below = |folders: &[String], _: &str| is_in(root, folders);
        repository.files(&commit.commit, root, is_yaml_or_json, &below)
    }

    fn number(&self, place: usize, branch: &Text) -> TreeId {
        let mut numbers = self.numbers.lock();
        let next = self.locations.classes.len() + numbers.len();
        let next = TreeId(u32::try_from(next).unwrap_or(u32::MAX));
        *numbers.entry((place, branch.clone())).or_insert(next)
    }

    fn missing(&self, branch: &Branch, name: &str) -> Fault {
        let state = self.state(branch.repository).unwrap_or_default();
        let branches = state.record.heads.keys().map(String::as_str);
        let similar = reclass_base::similar::nearest(name, branches).map(str::to_owned);
        Fault::new(Kind::GitBranch { repo: branch.repo.to_string(), branch: name.to_owned(), similar })
    }
}

/// The folders below one of a revision. Gives their files their bytes.
pub fn folders(folder: &Path, read: &[GitFile], files: &Files, limits: TreeLimits) -> Folders {
    let folder = display(folder);
    let top = if folder.ends_with(':') { folder } else { folder + "/" };
    set_sources(&top, read, None, files);
    Folders::of_listing(&top, &catalog::listing(&top, read, 0), limits)
}

/// Whether a file in these folders is below the root.
fn is_in(root: &str, folders: &[String]) -> bool {
    let is_whole_name = |rest: &str| rest.is_empty() || rest.starts_with('/');
    root.is_empty() || folders.join("/").strip_prefix(root).is_some_and(is_whole_name)
}

/// Gives the files of a tree their bytes, and removes the files that the commit no longer has.
fn set_sources(top: &str, read: &[GitFile], before: Option<&NameIndex>, files: &Files) {
    let mut there: FxHashSet<Arc<Path>> = FxHashSet::default();
    for file in read {
        let path: Arc<Path> = catalog::shown(top, file).into();
        files.set_source(
            &path,
            match &file.blob {
                Ok(blob) => ByteSource::Blob(blob.clone()),
                Err(Absent::Outside(path)) => ByteSource::Outside(path.as_path().into()),
                Err(Absent::Link(reason)) => ByteSource::Missing(reason),
                Err(Absent::TooLarge) => ByteSource::TooLarge,
            },
        );
        there.insert(path);
    }
    for path in before.into_iter().flat_map(NameIndex::values).flat_map(|item| item.paths()) {
        if !there.contains(path) {
            files.remove(path);
        }
    }
}

/// The record of the last fetch with other commits.
fn pinned_record(
    heads: &BTreeMap<String, Arc<str>>,
    record: &Arc<Record>,
    before: Option<&RepositoryState>,
) -> Arc<Record> {
    match before.map(|before| &before.record) {
        _ if record.heads == *heads => record.clone(),
        Some(before) if before.heads == *heads && before.times == record.times => before.clone(),
        _ => Arc::new(Record { times: record.times.clone(), heads: heads.clone(), ..Record::default() }),
    }
}

/// The branches of a repository that an inventory reads; `None` for all of them, if environments name theirs.
pub fn branches_in_use(locations: &TreeLocations, repository: usize) -> Option<BTreeSet<String>> {
    let places = places(locations, repository, locations.schemas.as_ref());
    places.map(|(_, name)| name.map(|name| name.to_string())).collect()
}

/// The trees of a repository with their branches; `None` for the branch that an environment names.
fn places<'a>(
    locations: &'a TreeLocations,
    repository: usize,
    schemas: Option<&'a TreeLocation>,
) -> impl Iterator<Item = (&'a Branch, Option<Text>)> {
    let nodes = locations.nodes.iter().chain(schemas).map(|place| (place, Some(Text::from(MASTER))));
    let places = nodes.chain(locations.classes.iter().map(|place| (place, None)));
    places.filter_map(move |(place, default)| match place {
        TreeLocation::Git(branch) if branch.repository == repository => {
            Some((branch, branch.branch.clone().or(default)))
        }
        _ => None,
    })
}
