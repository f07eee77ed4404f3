//! Numbers identify containers and templates: tables of results are keyed by them.
//!
//! An address would do the same only as long as somebody holds what has the address.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that nothing else in the process has or had. A copy gets another one, because it can change.
pub struct UniqueNumber(u64);

static NEXT: AtomicU64 = AtomicU64::new(1);

impl UniqueNumber {
    /// The number, different for each value of a process.
    pub fn get(&self) -> u64 {
        self.0
    }
}

impl Default for UniqueNumber {
    fn default() -> UniqueNumber {
        UniqueNumber(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Clone for UniqueNumber {
    fn clone(&self) -> UniqueNumber {
        UniqueNumber::default()
    }
}

/// Numbers do not count where contents are compared, or their texts.
impl PartialEq for UniqueNumber {
    fn eq(&self, _: &UniqueNumber) -> bool {
        true
    }
}

impl fmt::Debug for UniqueNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UniqueNumber")
    }
}
