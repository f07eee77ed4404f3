//! Records where in our source a panic happened. The text of a panic may hold the value of a
//! parameter, so it is neither recorded nor printed.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    static LOCATION: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Records the locations of panics instead of printing them, for all threads.
pub fn record_locations() {
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map_or_else(String::new, ToString::to_string);
        LOCATION.with_borrow_mut(|recorded| *recorded = location);
    }));
}

/// The location of the last panic of this thread, or of a thread that it joined.
pub fn take_location() -> String {
    LOCATION.take()
}

/// A panic that moves from one thread to another.
pub struct Caught {
    payload: Box<dyn Any + Send>,
    location: String,
}

impl Caught {
    /// Continues the panic in this thread.
    pub fn resume(self) -> ! {
        LOCATION.set(self.location);
        resume_unwind(self.payload)
    }
}

/// Catches a panic in a thread that another one joins.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Caught> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Caught { payload, location: take_location() })
}
