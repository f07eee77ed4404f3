//! What is named after the system: in a target without one, everything here fails.

#[cfg(not(unix))]
pub use rustix::{now, os::*};
#[cfg(unix)]
pub use std::os::*;
#[cfg(unix)]
use std::time::SystemTime;

/// The time of the system's clock.
#[cfg(unix)]
pub fn now() -> SystemTime {
    SystemTime::now()
}
