//! The environment and the current directory of the process.

use std::ffi::OsString;
use std::path::PathBuf;

/// An environment variable that is set and not empty.
#[expect(clippy::disallowed_methods, reason = "the one door to the environment of the programs")]
pub fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The current directory.
pub fn current_folder() -> Option<PathBuf> {
    std::env::current_dir().ok()
}
