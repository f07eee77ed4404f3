//! The part of the process state that paths in settings depend on: relative paths depend on the current
//! folder, and `~` on the user.
//!
//! With an absolute `inventory_base_uri`, no path depends on the current folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::process::{Uid, getuid};

use reclass_base::settings::Settings;

/// The folders where relative paths and `~` begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathContext {
    /// The current folder, if relevant and not deleted.
    folder: Option<PathBuf>,
    home: HomeSource,
}

/// What determines the home folder: the variable, or else the user.
#[derive(Clone, PartialEq, Eq, Debug)]
struct HomeSource(Option<OsString>, Uid);

impl HomeSource {
    #[expect(clippy::disallowed_methods, reason = "`~` in a path is what the variable says")]
    fn now() -> HomeSource {
        HomeSource(std::env::var_os("HOME"), getuid())
    }
}

impl PathContext {
    /// The complete current state.
    pub fn current() -> PathContext {
        PathContext { folder: std::env::current_dir().ok(), home: HomeSource::now() }
    }

    /// The part that the paths of these settings may depend on.
    #[must_use]
    pub fn relevant_to(self, settings: &Settings) -> PathContext {
        let base = settings.inventory_base_uri.as_deref().unwrap_or_default();
        let base = base.split_once("://").map_or(base, |(_, path)| path);
        PathContext { folder: self.folder.filter(|_| !Path::new(base).is_absolute()), ..self }
    }

    /// Whether the state is unchanged.
    pub fn is_current(&self) -> bool {
        let same_folder = |folder: &PathBuf| std::env::current_dir().is_ok_and(|now| now == *folder);
        self.folder.as_ref().is_none_or(same_folder) && self.home == HomeSource::now()
    }
}
