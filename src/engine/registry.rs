//! The registry turns options into the one inventory that a process has for them.
//!
//! Options with relative paths or `~` are those of another inventory when the current folder or the home
//! folder is another one.
//!
//! A forked child finds what its parent had computed, but touches nothing that a thread of the
//! parent may have been at work on when it forked: such a thread does not exist in the child, and
//! will never let go of its lock. So the child has a registry of its own, behind that of its
//! parent, and takes over what nobody held; of everything else it leaves even the memory alone.

use std::sync::{Arc, MutexGuard};

use once_cell::race::OnceBox;

use crate::base::error::Result;
use crate::base::failpoints::failpoint;
use crate::base::lock::Mutex;
use crate::base::value::Map;
use crate::engine::Inventory;
use crate::storage::path_context::PathContext;

/// An inventory, with what it is found by.
#[derive(Clone)]
struct RegistryEntry {
    options: Map,
    /// What its paths depend on.
    paths: PathContext,
    inventory: Arc<Inventory>,
}

/// The inventories of one process; the one asked for last is the last.
///
/// The next one is in a cell that nobody waits for: a thread that was about to write it when
/// its process forked will never be done in the child.
struct Registry {
    process: u32,
    inventories: Mutex<Vec<RegistryEntry>>,
    next: OnceBox<Registry>,
}

/// How many different inventories a process keeps; a master has one or two.
const MAX_INVENTORIES: usize = 16;

impl Registry {
    fn new(process: u32, inventories: Vec<RegistryEntry>) -> Registry {
        Registry { process, inventories: Mutex::new(inventories), next: OnceBox::new() }
    }

    /// The registry of this process.
    fn current() -> &'static Registry {
        static FIRST: OnceBox<Registry> = OnceBox::new();
        let process = std::process::id();
        let mut registry = FIRST.get_or_init(|| Box::new(Registry::new(process, Vec::new())));
        // Those with one behind them are of other processes, even where one of these had our number.
        while let Some(next) = registry.next.get() {
            registry = next;
        }
        while registry.process != process {
            let parent = registry;
            registry = parent.next.get_or_init(|| Box::new(Registry::new(process, parent.adoptable())));
        }
        registry
    }

    fn inventories(&self) -> MutexGuard<'_, Vec<RegistryEntry>> {
        self.inventories.lock()
    }

    /// The inventories of a parent process on which none of its threads was at work.
    fn adoptable(&self) -> Vec<RegistryEntry> {
        let Some(inventories) = self.inventories.try_lock() else { return Vec::new() };
        inventories.iter().filter(|entry| entry.inventory.adopt()).cloned().collect()
    }
}

/// The inventory for these options.
pub fn shared(options: &Map) -> Result<Arc<Inventory>> {
    let mut inventories = Registry::current().inventories();
    let is_it = |known: &RegistryEntry| known.options == *options && known.paths.is_current();
    if let Some(at) = inventories.iter().position(is_it) {
        let entry = inventories.remove(at);
        let inventory = entry.inventory.clone();
        failpoint("the inventories of the process are changed");
        inventories.push(entry);
        return Ok(inventory);
    }
    let paths = PathContext::current();
    let inventory = Arc::new(Inventory::open(options)?);
    let paths = paths.relevant_to(inventory.settings());
    // Another thread may have gone to another folder meanwhile.
    if paths.is_current() {
        if inventories.len() >= MAX_INVENTORIES {
            inventories.remove(0);
        }
        inventories.push(RegistryEntry { options: options.clone(), paths, inventory: inventory.clone() });
    }
    Ok(inventory)
}

/// Forgets all that this process remembers: after a panic, nothing of it can be relied on.
pub fn forget() {
    Registry::current().inventories().clear();
}
