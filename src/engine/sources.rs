//! Names the state of an inventory: the commits of its repositories, or a fingerprint of its files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use indexmap::IndexMap;
use serde::Serialize;

use crate::engine::database::Database;
use crate::engine::fetch_state::FetchState;
use crate::storage::fs::{DiskFingerprint, display, fingerprint, read};
use crate::storage::git::CheckedOut;
use crate::storage::record::hash;
use reclass_base::error::{Result, inert};
use reclass_base::value::Text;

/// Characters of a commit or a fingerprint in a name.
const SHOWN: usize = 8;

/// The state of an inventory: its name, and where it comes from.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServedState {
    /// Its name, `a1b2c3d4 of main`. Two equal names are one state.
    pub revision: String,
    /// When it began, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Its repositories, its etcd and its folders.
    pub sources: Vec<SourceState>,
}

/// A repository, an etcd, or folders.
#[derive(Clone, Default, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceState {
    /// Its name: of a repository without a password.
    pub source: String,
    /// The commit of each branch in use. A folder in a repository has the commit that is checked out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub commits: BTreeMap<Text, Arc<str>>,
    /// Of folders in a repository: whether their files are those of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean: Option<bool>,
    /// A hash of the names and the content of all files, if they are of no commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The time of the last fetch that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched: Option<String>,
    /// Seconds since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<u64>,
    /// The time of the last fetch that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Why older data are served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// When its state began.
    #[serde(skip)]
    since: Option<SystemTime>,
    /// The file that tells of another commit.
    #[serde(skip)]
    log: Option<PathBuf>,
}

/// The name of a state, kept until something changes.
#[derive(Debug)]
pub struct KnownName {
    /// The generation of the database.
    at: u64,
    logs: Vec<(PathBuf, Option<DiskFingerprint>)>,
    name: String,
}

impl From<FetchState> for SourceState {
    fn from(state: FetchState) -> SourceState {
        let age = state.fetched.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        SourceState {
            source: state.source,
            commits: state.commits,
            fetched: state.fetched.map(utc),
            age: age.map(|age| age.as_secs()),
            failed: state.failed.map(utc),
            stale: state.stale.map(|stale| inert(&stale.kind.to_string())),
            since: state.since,
            ..SourceState::default()
        }
    }
}

impl ServedState {
    fn of(sources: Vec<SourceState>) -> ServedState {
        let since = sources.iter().filter_map(|source| source.since).max();
        ServedState { revision: name(&sources), since: since.map(utc), sources }
    }
}

impl Database {
    /// The state of the inventory.
    pub fn state(&mut self) -> Result<ServedState> {
        let fetched = |database: &Database| database.inputs.fetch_states().into_iter().map(SourceState::from);
        let folders = self.inputs.trees.locations.folders();
        if folders.is_empty() {
            self.names()?;
            return Ok(ServedState::of(fetched(self).collect()));
        }
        let files = self.inspect(&|computation| {
            let entries = computation.all_classes();
            let entries = entries.iter().flat_map(|names| names.values());
            let entries = entries.chain(computation.catalog.nodes.values());
            entries.flat_map(|entry| entry.paths().cloned()).collect::<BTreeSet<Arc<Path>>>()
        })?;
        let most = self.settings.max_file_bytes();
        Ok(ServedState::of(of_folders(folders, &files, most).into_iter().chain(fetched(self)).collect()))
    }

    /// The name of the state that the last answer is of. If it was not known, the flag is false: something may have
    /// changed since that answer.
    pub fn state_name(&mut self) -> (String, bool) {
        let is_unchanged =
            |(log, before): &(PathBuf, Option<DiskFingerprint>)| match (fingerprint(log), before) {
                (Ok(now), Some(before)) => now.proves_unchanged(before),
                (Err(_), None) => true,
                _ => false,
            };
        if let Some(known) = &self.known_name
            && known.at == self.generation
            && known.logs.iter().all(is_unchanged)
        {
            return (known.name.clone(), true);
        }
        if self.inputs.trees.locations.folders().is_empty() {
            let states: Vec<_> = self.inputs.fetch_states().into_iter().map(SourceState::from).collect();
            let known = KnownName { at: self.generation, logs: Vec::new(), name: name(&states) };
            return (self.known_name.insert(known).name.clone(), true);
        }
        // A folder that the answer does not need may be closed.
        let Ok(state) = self.state() else { return (name(&[]), true) };
        let logs = state.sources.iter().filter_map(|source| source.log.clone());
        let logs = logs.map(|log| (fingerprint(&log).ok(), log)).map(|(before, log)| (log, before)).collect();
        self.known_name = Some(KnownName { at: self.generation, logs, name: state.revision.clone() });
        (state.revision, false)
    }
}

/// The states of all sources in a few words.
fn name(sources: &[SourceState]) -> String {
    let short = |text: &str| text.get(..SHOWN).unwrap_or(text).to_owned();
    let words = sources.iter().flat_map(|source| {
        let commits = source.commits.iter();
        let mut words: Vec<String> =
            commits.map(|(branch, commit)| format!("{} of {branch}", short(commit))).collect();
        let fingerprint = source.fingerprint.as_deref().map(short);
        match (words.first_mut(), fingerprint) {
            (Some(first), Some(fingerprint)) => *first = format!("{first} with changes {fingerprint}"),
            (None, Some(fingerprint)) => words.push(fingerprint),
            (_, None) => {}
        }
        words
    });
    // Repositories of one branch are often those of nodes and classes, in the same repository.
    let words: Vec<String> = words.collect::<indexmap::IndexSet<String>>().into_iter().collect();
    if words.is_empty() { "without a name".to_owned() } else { words.join(", ") }
}

/// The folders, those of one repository together.
fn of_folders(folders: Vec<PathBuf>, files: &BTreeSet<Arc<Path>>, most: usize) -> Vec<SourceState> {
    let mut repositories: IndexMap<Option<PathBuf>, (Option<CheckedOut>, Vec<PathBuf>)> = IndexMap::new();
    for folder in folders {
        let there = CheckedOut::around(&folder);
        let top = there.as_ref().map(|there| there.top.clone());
        repositories.entry(top).or_insert((there, Vec::new())).1.push(folder);
    }
    let state = |(there, inside): (Option<CheckedOut>, Vec<PathBuf>)| {
        let own = files.iter().filter(|file| inside.iter().any(|folder| file.starts_with(folder)));
        let around: BTreeSet<&Path> = own.clone().filter_map(|file| file.parent()).collect();
        let stamps = own.clone().map(|file| &**file).chain(around);
        let changed = stamps.filter_map(|path| Some(fingerprint(path).ok()?.changed())).max();
        let log = there.as_ref().map(|there| there.log.clone());
        let moved = log.as_ref().and_then(|log| Some(fingerprint(log).ok()?.changed()));
        let paths: Vec<&Path> = inside.iter().map(PathBuf::as_path).collect();
        let clean = there.as_ref().map(|there| there.is_clean(&paths));
        SourceState {
            source: display(&common(&paths)),
            commits: there.into_iter().map(|there| (there.branch.into(), there.commit.into())).collect(),
            clean,
            fingerprint: (clean != Some(true)).then(|| digest(own.map(|file| &**file), most)),
            since: changed.max(moved),
            log,
            ..SourceState::default()
        }
    };
    repositories.into_values().map(state).collect()
}

/// The folder that contains all of these.
fn common(folders: &[&Path]) -> PathBuf {
    let [first, others @ ..] = folders else { return PathBuf::new() };
    let contains = |outer: &&Path| others.iter().all(|folder| folder.starts_with(outer));
    first.ancestors().find(contains).unwrap_or(first).to_owned()
}

/// A hash of the names and the content of files.
fn digest<'f>(files: impl Iterator<Item = &'f Path>, most: usize) -> String {
    let mut all = Vec::new();
    for file in files {
        let content = match read(file, most) {
            Ok((bytes, _)) => hash(&bytes),
            Err(error) => hash(error.to_string().as_bytes()),
        };
        all.extend_from_slice(file.as_os_str().as_encoded_bytes());
        all.push(0);
        all.extend_from_slice(&content.to_be_bytes());
    }
    format!("{:016x}", hash(&all))
}

/// A time: `2026-11-26T15:31:04+00:00`. The zone of the machine is not asked for: `jiff` keeps it behind a lock for the
/// whole process, which a fork can meet.
pub fn utc(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_states() {
        let source = |commits: &[(&str, &str)], fingerprint: Option<&str>| SourceState {
            commits: commits.iter().map(|(branch, commit)| ((*branch).into(), (*commit).into())).collect(),
            fingerprint: fingerprint.map(str::to_owned),
            ..SourceState::default()
        };
        let (main, changed) = ([("main", "a1b2c3d4e5f6")], Some("0123456789abcdef"));
        for (sources, expected) in [
            (vec![source(&main, None)], "a1b2c3d4 of main"),
            (vec![source(&main, None), source(&main, None)], "a1b2c3d4 of main"),
            (vec![source(&main, changed)], "a1b2c3d4 of main with changes 01234567"),
            (vec![source(&main, None), source(&[("dev", "ff")], None)], "a1b2c3d4 of main, ff of dev"),
            (vec![source(&[], changed)], "01234567"),
            (vec![source(&[], None)], "without a name"),
        ] {
            assert_eq!(name(&sources), expected);
        }
    }

    #[test]
    fn the_folder_of_several_folders() {
        let common = |folders: &[&str]| common(&folders.iter().map(Path::new).collect::<Vec<_>>());
        assert_eq!(common(&["/a/nodes", "/a/classes"]), Path::new("/a"));
        assert_eq!(common(&["/a/nodes"]), Path::new("/a/nodes"));
        assert_eq!(common(&["/a", "/b"]), Path::new("/"));
    }
}
