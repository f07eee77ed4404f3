//! Which inputs may have changed, by two clocks.
//!
//! A *scan* is a time in which each file and folder is verified at most once. It goes on as long as a watch reports no
//! change. An *epoch* ends with the scan, or when a file appeared or disappeared: what depends on names alone holds
//! that long. The third clock, the generation, is that of the database: it counts what the inputs made of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::UNIX_EPOCH;

use super::Inputs;
use crate::engine::files::{Checkpoint, Version};
use crate::model::catalog::Catalog;
use crate::storage::folders::Folders;
use crate::storage::os;
use crate::storage::watch::{Watch, WatchEvents};
use reclass_base::error::Result;
use reclass_base::source::FileId;

/// After this many scans, the engine tries again to set up a watch that failed: a link or mount may be
/// gone, a folder may exist now, or a system limit was raised.
const WATCH_RETRY_SCANS: u64 = 100;

/// How changes are found.
#[derive(Debug)]
pub(super) enum WatchMode {
    /// By full scans, with an attempt to set up a watch only after this scan. A process that asks once
    /// needs no watch.
    NotBefore(u64),
    /// By a watch.
    On(Watch),
    /// By full scans only.
    Never,
}

impl Inputs {
    /// Begins a question, and returns whether any input may have changed since the last one. Branches move
    /// only between questions, so that one answer sees one commit of each.
    pub fn begin(&self) -> Result<bool> {
        self.similar.set(0);
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

    pub(super) fn next_scan(&self) {
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
    pub(super) fn before_listing(&self, folder: &Path) {
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
            names.scan = 0;
            self.epoch.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The current point in time.
    pub fn checkpoint(&self) -> Checkpoint {
        self.files.checkpoint(self.epoch())
    }

    /// The files that may have changed since a checkpoint. `None` if any file may have changed.
    pub fn changed_since(&self, before: Checkpoint) -> Option<Vec<FileId>> {
        self.files.changed_since(before, self.epoch())
    }

    /// Whether a file still has this version.
    pub fn is_current(&self, file: FileId, version: Version, catalog: &Catalog) -> bool {
        self.files.is_current((file, version), self.scan(), catalog, &self.counters)
    }
}
