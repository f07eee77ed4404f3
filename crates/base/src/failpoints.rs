//! Failpoints: named places where a test makes the engine panic, to show that a panic in the middle of
//! work, under locks or in half-written cells leaves no wrong state.
//!
//! Only builds with debug assertions have them.

#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The number of the failpoint that panics, counted from [`arm`]; zero for none.
#[cfg(debug_assertions)]
static AT: AtomicUsize = AtomicUsize::new(0);
/// Failpoints passed since.
#[cfg(debug_assertions)]
static PASSED: AtomicUsize = AtomicUsize::new(0);

/// Passes the failpoint of this name.
///
/// # Panics
///
/// If a test has armed it.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn failpoint(name: &str) {
    #[cfg(debug_assertions)]
    {
        let at = AT.load(SeqCst);
        assert!(at == 0 || PASSED.fetch_add(1, SeqCst) + 1 != at, "a test has '{name}' panic");
    }
    #[cfg(not(debug_assertions))]
    let _ = name;
}

/// Arms the failpoint that will be passed as number `at` from now on, in any thread; zero for none.
/// Returns the number of failpoints passed since the last call.
#[cfg(debug_assertions)]
pub fn arm(at: usize) -> usize {
    AT.store(at, SeqCst);
    PASSED.swap(0, SeqCst)
}
