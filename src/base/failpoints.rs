//! Points are where tests have the engine panic, one after the other, to show that nothing wrong is
//! left behind: in the middle of its work, under its locks, in cells that are being written.
//!
//! Only builds with debug assertions have them: in a wheel they are nothing.

#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Which point panics, counted from [`arm`]; zero for none.
#[cfg(debug_assertions)]
static AT: AtomicUsize = AtomicUsize::new(0);
/// How many were passed since.
#[cfg(debug_assertions)]
static PASSED: AtomicUsize = AtomicUsize::new(0);

/// Passes a point of this name.
///
/// # Panics
///
/// If it is the one that a test has chosen.
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

/// Has the point `at` panic that is passed from now on, in whatever thread; zero for none. Tells how many
/// were passed since the last time.
#[cfg(debug_assertions)]
pub fn arm(at: usize) -> usize {
    AT.store(at, SeqCst);
    PASSED.swap(0, SeqCst)
}
