//! Runs lint in a thread of its own, so that questions need not wait for it.
//!
//! The thread has its own inventory with the same buffers. It checks after a pause in typing, and drops a check
//! that newer text has overtaken.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use reclass::editor::InventoryNames;
use reclass::lint::{OptionsFile, lint_options, with_names};
use reclass::value::Map;
use reclass::{Finding, Inventory};

/// The pause in typing after which a check begins.
const PAUSE: Duration = Duration::from_millis(80);

/// A message to the thread. Inventories are named by their number.
pub enum Job {
    /// Opens an inventory.
    Open { workspace: usize, options: Map, file: Arc<dyn OptionsFile + Send + Sync> },
    /// A text takes the place of a file, or no longer does.
    Buffer { workspace: usize, path: PathBuf, text: Option<Arc<str>> },
    /// Checks an inventory whose texts have this generation.
    Check { workspace: usize, generation: u64 },
}

/// The result of a check.
pub struct Checked {
    pub workspace: usize,
    pub generation: u64,
    pub findings: Vec<Finding>,
    pub names: Option<InventoryNames>,
}

struct Checking {
    inventory: Option<Inventory>,
    options: Map,
    file: Arc<dyn OptionsFile + Send + Sync>,
    buffers: BTreeMap<PathBuf, Arc<str>>,
}

impl Checking {
    fn open(&mut self) {
        self.inventory = Inventory::open(&lint_options(&self.options)).ok();
        for (path, text) in &self.buffers {
            if let Some(inventory) = &self.inventory {
                inventory.set_buffer(path, Some(text));
            }
        }
    }

    fn check(&mut self) -> (Vec<Finding>, Option<InventoryNames>) {
        if self.inventory.is_none() {
            self.open();
        }
        match &self.inventory {
            Some(inventory) => {
                let checked = with_names(inventory, &self.options, &*self.file);
                checked.map(|(outcome, names)| (outcome.findings, names)).unwrap_or_default()
            }
            // Its faults are those of the settings.
            None => (reclass::lint::lint(&self.options, &[], &*self.file).unwrap_or_default(), None),
        }
    }
}

/// Works until the sender is gone.
pub fn run(jobs: &Receiver<Job>, results: &Sender<Checked>) {
    let mut inventories: BTreeMap<usize, Checking> = BTreeMap::new();
    let mut wanted: BTreeMap<usize, u64> = BTreeMap::new();
    loop {
        let job = if wanted.is_empty() {
            jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            jobs.recv_timeout(PAUSE)
        };
        match job {
            Ok(Job::Open { workspace, options, file }) => {
                let known = inventories.remove(&workspace);
                let buffers = known.map(|known| known.buffers).unwrap_or_default();
                let mut opened = Checking { inventory: None, options, file, buffers };
                opened.open();
                inventories.insert(workspace, opened);
            }
            Ok(Job::Buffer { workspace, path, text }) => {
                let Some(known) = inventories.get_mut(&workspace) else { continue };
                if let Some(inventory) = &known.inventory {
                    inventory.set_buffer(&path, text.as_deref());
                }
                match text {
                    Some(text) => drop(known.buffers.insert(path, text)),
                    None => drop(known.buffers.remove(&path)),
                }
            }
            Ok(Job::Check { workspace, generation }) => drop(wanted.insert(workspace, generation)),
            Err(RecvTimeoutError::Timeout) => {
                let Some((workspace, generation)) = wanted.pop_first() else { continue };
                let Some(known) = inventories.get_mut(&workspace) else { continue };
                // After a panic nothing of the inventory can be trusted.
                let checked = reclass::panics::catch(|| known.check()).unwrap_or_else(|_| {
                    known.open();
                    Default::default()
                });
                let (findings, names) = checked;
                if results.send(Checked { workspace, generation, findings, names }).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
