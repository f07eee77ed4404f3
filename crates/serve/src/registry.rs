//! The registry holds one inventory for each set of options in a process.
//!
//! Relative paths and `~` name another inventory when the current folder or the home folder changes.
//!
//! After a fork, the child has a registry of its own and takes over the parent's inventories that no thread
//! was using. Inventories in use are left alone, even in memory: the thread that would release their lock
//! does not exist in the child.

use std::sync::{Arc, MutexGuard};

use once_cell::race::OnceBox;

use crate::rule::Asker;
use crate::served::Served;
use reclass_base::error::Result;
use reclass_base::failpoints::failpoint;
use reclass_base::lock::Mutex;
use reclass_base::value::Map;

/// An inventory with its key.
struct RegistryEntry {
    options: Map,
    asker: Asker,
    inventory: Arc<Served>,
}

/// The inventories of one process, the least recently used first.
///
/// `next` must never block: the thread that was writing it during a fork does not exist in the child.
struct Registry {
    process: u32,
    inventories: Mutex<Vec<RegistryEntry>>,
    next: OnceBox<Registry>,
}

/// The most inventories of a process. A Salt master has one or two.
const MAX_INVENTORIES: usize = 16;

impl Registry {
    fn new(process: u32, inventories: Vec<RegistryEntry>) -> Registry {
        Registry { process, inventories: Mutex::new(inventories), next: OnceBox::new() }
    }

    fn current() -> &'static Registry {
        static FIRST: OnceBox<Registry> = OnceBox::new();
        let process = std::process::id();
        let mut registry = FIRST.get_or_init(|| Box::new(Registry::new(process, Vec::new())));
        // A registry with a successor belongs to another process, even if the process number was reused.
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

    /// Takes the inventories of the parent process that no thread was using. A thread holds the one that it asks until it
    /// has used the answer, whichever of its locks it has by then.
    fn adoptable(&self) -> Vec<RegistryEntry> {
        let Some(mut inventories) = self.inventories.try_lock() else { return Vec::new() };
        let unused =
            |entry: &mut RegistryEntry| Arc::strong_count(&entry.inventory) == 1 && entry.inventory.adopt();
        inventories.extract_if(.., unused).collect()
    }
}

/// The inventory for these options.
pub fn shared(options: &Map, asker: Asker) -> Result<Arc<Served>> {
    let mut inventories = Registry::current().inventories();
    let is_it = |entry: &RegistryEntry| {
        entry.asker == asker && entry.options == *options && entry.inventory.paths_hold()
    };
    if let Some(at) = inventories.iter().position(is_it) {
        let entry = inventories.remove(at);
        let inventory = entry.inventory.clone();
        failpoint("the inventories of the process are changed");
        inventories.push(entry);
        return Ok(inventory);
    }
    let inventory = Arc::new(Served::opened(options, true, asker)?);
    // Another thread may have changed the current folder meanwhile.
    if inventory.paths_hold() {
        if inventories.len() >= MAX_INVENTORIES {
            // Objects that hold it ask for it anew, so that it is freed.
            inventories.remove(0).inventory.forget();
        }
        inventories.push(RegistryEntry { options: options.clone(), asker, inventory: inventory.clone() });
    }
    Ok(inventory)
}

/// Drops all inventories. After a panic, none of their state can be trusted.
pub fn forget() {
    Registry::current().inventories().drain(..).for_each(|entry| entry.inventory.forget());
}
