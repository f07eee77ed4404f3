//! The place of a panic in our source, kept until the caller asks for it. The text of a panic may hold a
//! parameter's value, so it is neither kept nor printed.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Has panics of all threads noted instead of printed.
pub fn record_locations() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        PLACE.with_borrow_mut(|noted| *noted = place);
    }));
}

/// The place of the last panic that this thread met, its own or that of a thread it waited for.
pub fn take_location() -> String {
    PLACE.take()
}

/// A panic on its way from one thread to another.
pub struct Caught {
    payload: Box<dyn Any + Send>,
    place: String,
}

impl Caught {
    /// Goes on with the panic in this thread.
    pub fn resume(self) -> ! {
        PLACE.set(self.place);
        resume_unwind(self.payload)
    }
}

/// Does work in a thread that another one waits for.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Caught> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Caught { payload, place: take_location() })
}
