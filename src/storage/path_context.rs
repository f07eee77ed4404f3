//! The part of the process state that paths in settings depend on: relative paths depend on the current
//! folder, and `~` on the user.
//!
//! If all paths are absolute, the process is not asked at all. This matters because Salt opens the
//! inventory for each call.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::process::{Uid, getuid};

use crate::base::settings::Settings;
use crate::base::value::{Key, Value};

/// The folders where relative paths and `~` begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathContext {
    /// The current folder, if relevant and not deleted.
    folder: Option<PathBuf>,
    /// The source of the home folder, if relevant.
    home: Option<HomeSource>,
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
        PathContext { folder: std::env::current_dir().ok(), home: Some(HomeSource::now()) }
    }

    /// The part that the paths of these settings may depend on.
    #[must_use]
    pub fn relevant_to(self, settings: &Settings) -> PathContext {
        let mut relevance = Relevance::default();
        let base = settings.inventory_base_uri.as_deref();
        relevance.add(&settings.nodes_uri, base);
        relevance.add(&settings.classes_uri, base);
        if &*settings.storage_type != "yaml_fs" {
            // By default, caches of repositories are in the home folder.
            relevance.home = true;
            settings.git_known_hosts.iter().for_each(|path| relevance.add_path(path, base));
        }
        PathContext {
            folder: self.folder.filter(|_| relevance.folder),
            home: self.home.filter(|_| relevance.home),
        }
    }

    /// Whether the state is unchanged.
    pub fn is_current(&self) -> bool {
        let same_folder = |folder: &PathBuf| std::env::current_dir().is_ok_and(|now| now == *folder);
        self.folder.as_ref().is_none_or(same_folder)
            && self.home.as_ref().is_none_or(|home| *home == HomeSource::now())
    }
}

/// What the paths depend on.
#[derive(Default)]
struct Relevance {
    folder: bool,
    home: bool,
}

impl Relevance {
    /// Adds all paths inside a setting.
    fn add(&mut self, uri: &Value, base: Option<&str>) {
        match uri {
            Value::Str(text) => self.add_path(text, base),
            Value::List(items) | Value::Tuple(items) => items.iter().for_each(|item| self.add(item, base)),
            Value::Map(map) => map
                .iter()
                .filter(|(key, value)| !matches!(value, Value::Str(text) if is_no_path(key, text)))
                .for_each(|(_, value)| self.add(value, base)),
            _ => {}
        }
    }

    fn add_path(&mut self, text: &str, base: Option<&str>) {
        let path = text.split_once("://").map_or(text, |(_, path)| path);
        if Path::new(path).starts_with("~") {
            self.home = true;
        } else if !Path::new(path).is_absolute() {
            match base {
                Some(base) => self.add_path(base, None),
                None => self.folder = true,
            }
        }
    }
}

/// Whether an option is text but no path: a remote address or a word.
fn is_no_path(option: &Key, text: &str) -> bool {
    match option.as_str() {
        Some("repo") => {
            let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
            scheme.is_some_and(|scheme| !scheme.contains("file"))
        }
        Some(name) => ["storage_type", "branch", "root", "password"].contains(&name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::value::Map;

    /// Whether the current folder and the home folder are relevant.
    fn relevance(options: &str) -> (bool, bool) {
        let Value::Map(map) = crate::yaml::parse_value(options).expect("YAML") else { panic!("a mapping") };
        let options: Map = (*map).clone();
        let settings = Settings::from_options(&options).expect("settings").0;
        let paths = PathContext::current().relevant_to(&settings);
        assert!(paths.is_current());
        (paths.folder.is_some(), paths.home.is_some())
    }

    #[test]
    fn what_the_paths_of_settings_depend_on() {
        assert_eq!(relevance("{}"), (true, false));
        assert_eq!(relevance("{inventory_base_uri: /b}"), (false, false));
        assert_eq!(
            relevance("{inventory_base_uri: 'yaml_fs:///b', nodes_uri: 'yaml_fs://n'}"),
            (false, false)
        );
        assert_eq!(relevance("{inventory_base_uri: b}"), (true, false));
        assert_eq!(relevance("{inventory_base_uri: ~/b}"), (false, true));
        assert_eq!(
            relevance("{inventory_base_uri: b, nodes_uri: /n, classes_uri: [/c, /d]}"),
            (false, false)
        );
        assert_eq!(relevance("{nodes_uri: /n, classes_uri: [/c, d]}"), (true, false));
        assert_eq!(
            relevance("{inventory_base_uri: /b, nodes_uri: n, classes_uri: ['~/c', d]}"),
            (false, true)
        );
        let git = |repo: &str| {
            let tree = format!("{{repo: '{repo}', branch: b, root: r}}");
            relevance(&format!("{{storage_type: yaml_git, nodes_uri: {tree}, classes_uri: {tree}}}"))
        };
        assert_eq!(git("https://host/r"), (false, true));
        assert_eq!(git("/r"), (false, true));
        assert_eq!(git("r"), (true, true));
        assert_eq!(git("git+file://r"), (true, true));
    }
}
