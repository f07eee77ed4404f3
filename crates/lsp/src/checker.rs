//! Runs lint in a thread of its own, so that questions need not wait for it.
//!
//! The thread has its own inventory with the same buffers. It checks after a pause in typing: first the nodes that
//! have the texts that changed, and then everything, unless newer text came meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::editor::InventoryNames;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use reclass::error::Result;
use reclass::value::{Map, Text};
use reclass::{Finding, Inventory};
use reclass_analysis::lint::{
    Baseline, BaselinePath, CodeSelection, errors_as_findings, errors_of, lint_options, rule, with_survey,
};

use crate::FoundInventory;
use crate::places::follow;

/// The pause in typing after which a check begins.
const PAUSE: Duration = Duration::from_millis(80);

/// A message to the thread. Inventories are named by their number.
pub enum Job {
    /// Opens an inventory, or takes its settings as they are now.
    Open { workspace: usize, found: Result<FoundInventory> },
    /// Forgets an inventory.
    Close { workspace: usize },
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
    pub baseline: Option<Arc<KnownFindings>>,
    /// After the first check of an inventory: another one with the same files, so that the server reads none of them
    /// again, and its options.
    pub inventory: Option<(Inventory, Map)>,
    /// The names of everything, after a check of everything.
    pub names: Option<Arc<InventoryNames>>,
    /// Whether everything was checked.
    pub whole: bool,
}

/// A baseline, and its file.
pub type KnownFindings = (BaselinePath, Baseline);

/// Leaves out the findings of a baseline.
pub fn subtract(known: Option<&KnownFindings>, findings: &mut Vec<Finding>) {
    if let Some((path, known)) = known {
        known.subtract(findings, &CodeSelection::default(), &|file| path.name(file));
    }
}

struct Checking {
    /// An error if the settings cannot be read.
    found: Result<FoundInventory>,
    inventory: Option<(Inventory, Map)>,
    buffers: BTreeMap<PathBuf, Arc<str>>,
    /// The texts that changed since the last check.
    changed: BTreeSet<PathBuf>,
    /// The result of the last check of everything, with the findings of the baseline. Their places follow the texts.
    last: Option<(Vec<Finding>, Arc<InventoryNames>)>,
    baseline: Option<Arc<KnownFindings>>,
    /// For the next result.
    beside: Option<(Inventory, Map)>,
}

impl Checking {
    fn new(found: Result<FoundInventory>) -> Checking {
        let (buffers, changed) = (BTreeMap::new(), BTreeSet::new());
        Checking { found, inventory: None, buffers, changed, last: None, baseline: None, beside: None }
    }

    /// Opens the inventory if its options are others now.
    fn open(&mut self, found: &FoundInventory) {
        if self.inventory.as_ref().is_some_and(|(_, options)| *options == found.options) {
            return;
        }
        self.last = None;
        let inventory = Inventory::open(&lint_options(&found.options)).ok();
        self.inventory = inventory.map(|inventory| (inventory, found.options.clone()));
        for (path, text) in &self.buffers {
            if let Some((inventory, _)) = &self.inventory {
                inventory.set_buffer(path, Some(text));
            }
        }
    }

    /// Moves the places of the last findings to those in a new text.
    fn follow(&mut self, path: &Path, text: Option<&str>) {
        let (Some((findings, _)), Some(name)) = (&mut self.last, path.to_str()) else { return };
        let read = || self.inventory.as_ref()?.0.text(name).map(Arc::from);
        let before: Option<Arc<str>> = self.buffers.get(path).cloned().or_else(read);
        follow(findings, name, before.as_deref(), text);
    }

    fn check(&mut self) -> (Vec<Finding>, Option<Arc<InventoryNames>>) {
        let found = match self.found.clone() {
            Ok(found) => found,
            Err(error) => return (errors_as_findings(error.into_faults(), &()), None),
        };
        self.open(&found);
        self.changed.clear();
        let (options, file) = (&found.options, &*found.file);
        let Some((inventory, _)) = &self.inventory else {
            // Its faults are those of the settings.
            return (reclass_analysis::lint::lint(options, &[], file).unwrap_or_default(), None);
        };
        let checked = with_survey(inventory, options, file, InventoryNames::of_survey);
        let (mut findings, names) =
            checked.map(|(outcome, names)| (outcome.findings, names.map(Arc::new))).unwrap_or_default();
        if self.last.is_none() {
            self.beside = inventory.beside().ok().map(|beside| (beside, options.clone()));
        }
        self.last = names.clone().map(|names| (findings.clone(), names));
        let known = BaselinePath::of_options(options).map(|path| path.read().map(|known| (path, known)));
        match known.transpose() {
            Ok(known) => self.baseline = known.map(Arc::new),
            Err(error) => {
                self.baseline = None;
                findings.extend(errors_as_findings(error.into_faults(), file));
            }
        }
        subtract(self.baseline.as_deref(), &mut findings);
        (findings, names)
    }

    /// The findings of the last check, with the errors that the nodes of the changed texts have now; `None` if
    /// a text is new, or before the first check.
    fn touched(&self) -> Option<Vec<Finding>> {
        let (found, (inventory, options)) = (self.found.as_ref().ok()?, self.inventory.as_ref()?);
        let (before, names) = self.last.as_ref().filter(|_| *options == found.options)?;
        let mut nodes: BTreeSet<&Text> = BTreeSet::new();
        for path in &self.changed {
            let path = path.to_str().filter(|path| names.files.contains_key(*path))?;
            nodes.extend(names.nodes_of(path));
        }
        let touched: Vec<Text> = nodes.iter().map(|node| (*node).clone()).collect();
        let errors = errors_of(inventory, &touched, &*found.file).ok()?;
        // The rules have not looked at the new texts yet.
        let stays = |finding: &&Finding| {
            rule(finding.fault.code()).is_some() || !finding.nodes.iter().any(|node| nodes.contains(node))
        };
        let mut findings = before.iter().filter(stays).cloned().chain(errors).collect();
        subtract(self.baseline.as_deref(), &mut findings);
        Some(findings)
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
            Ok(Job::Open { workspace, found }) => match inventories.get_mut(&workspace) {
                Some(known) => known.found = found,
                None => drop(inventories.insert(workspace, Checking::new(found))),
            },
            Ok(Job::Close { workspace }) => {
                inventories.remove(&workspace);
                wanted.remove(&workspace);
            }
            Ok(Job::Buffer { workspace, path, text }) => {
                let Some(known) = inventories.get_mut(&workspace) else { continue };
                known.follow(&path, text.as_deref());
                if let Some((inventory, _)) = &known.inventory {
                    inventory.set_buffer(&path, text.as_deref());
                }
                known.changed.insert(path.clone());
                match text {
                    Some(text) => drop(known.buffers.insert(path, text)),
                    None => drop(known.buffers.remove(&path)),
                }
            }
            Ok(Job::Check { workspace, generation }) => drop(wanted.insert(workspace, generation)),
            Err(RecvTimeoutError::Timeout) => {
                let Some((workspace, generation)) = wanted.pop_first() else { continue };
                let Some(known) = inventories.get_mut(&workspace) else { continue };
                let touched = reclass_base::panics::catch(|| known.touched()).unwrap_or_default();
                let answer = |known: &mut Checking, findings, names, whole| {
                    let (baseline, inventory) = (known.baseline.clone(), known.beside.take());
                    Checked { workspace, generation, findings, baseline, inventory, names, whole }
                };
                if let Some(findings) = touched {
                    if results.send(answer(known, findings, None, false)).is_err() {
                        return;
                    }
                    if !jobs.is_empty() {
                        wanted.insert(workspace, generation);
                        continue;
                    }
                }
                // After a panic nothing of the inventory can be trusted.
                let (findings, names) = reclass_base::panics::catch(|| known.check()).unwrap_or_else(|_| {
                    known.inventory = None;
                    Default::default()
                });
                if results.send(answer(known, findings, names, true)).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
