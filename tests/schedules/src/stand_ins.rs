//! Stand-ins turn what the sources take from other crates into what Shuttle schedules.

use std::fmt;

/// `std::sync`
pub mod sync {
    pub use real::sync::{Arc, Weak};
    pub use shuttle::sync::{Mutex, MutexGuard, PoisonError, TryLockError, atomic};

    pub use super::OnceLock;
}

/// `std::process`
pub mod process {
    use real::cell::Cell;

    shuttle::thread_local! {
        /// The process that the thread belongs to.
        pub static PROCESS: Cell<u32> = Cell::new(0);
    }

    /// As there.
    pub fn id() -> u32 {
        PROCESS.with(Cell::get)
    }
}

/// A cell that is written once: who comes while it is written waits.
pub struct OnceLock<T> {
    once: shuttle::sync::Once,
    cell: real::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    /// As there.
    pub const fn new() -> Self {
        OnceLock { once: shuttle::sync::Once::new(), cell: real::sync::OnceLock::new() }
    }

    /// As there.
    pub fn get(&self) -> Option<&T> {
        shuttle::thread::yield_now();
        if self.once.is_completed() { self.cell.get() } else { None }
    }

    /// As there.
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.once.call_once(|| drop(self.cell.set(value.take().unwrap())));
        value.map_or(Ok(()), Err)
    }

    /// As there.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.once.call_once(|| drop(self.cell.set(make())));
        self.cell.get().unwrap()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cell.fmt(out)
    }
}

/// `once_cell::race`
pub mod race {
    use real::collections::BTreeMap;
    use real::sync::Mutex;
    use real::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    /// Which run of a model this is: what is static begins anew in each.
    pub static RUN: AtomicU64 = AtomicU64::new(0);

    /// Whether the last one who makes something is heard, and those before it keep what they made: a
    /// fault that a model has to find.
    pub static LAST_COUNTS: AtomicBool = AtomicBool::new(false);

    /// A cell that nobody waits for: of those who make something for it, one is heard.
    pub struct OnceBox<T: 'static> {
        /// By the run; what was made stays for ever.
        values: Mutex<BTreeMap<u64, &'static T>>,
    }

    impl<T> OnceBox<T> {
        /// As there.
        pub const fn new() -> Self {
            OnceBox { values: Mutex::new(BTreeMap::new()) }
        }

        /// As there.
        pub fn get(&self) -> Option<&T> {
            shuttle::thread::yield_now();
            self.values.lock().unwrap().get(&RUN.load(Ordering::SeqCst)).copied()
        }

        /// As there.
        pub fn get_or_init(&self, make: impl FnOnce() -> Box<T>) -> &T {
            shuttle::thread::yield_now();
            let run = RUN.load(Ordering::SeqCst);
            let known = self.values.lock().unwrap().get(&run).copied();
            known.unwrap_or_else(|| {
                let value = make();
                shuttle::thread::yield_now();
                if LAST_COUNTS.load(Ordering::SeqCst) {
                    let value = Box::leak(value);
                    self.values.lock().unwrap().insert(run, value);
                    return value;
                }
                self.values.lock().unwrap().entry(run).or_insert_with(|| Box::leak(value))
            })
        }
    }
}
