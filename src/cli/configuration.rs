//! Configuration turns the first configuration file found into options.
//!
//! The search is that of the Python programs: the current directory, the home directory, `/etc/reclass`,
//! the directory of the program. In each, `reclass-config.yml`; the name that kapicorp-reclass uses counts
//! where it stands alone (ruling S20), and so does its directory in `/etc`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use reclass::error::{Fault, Kind, Result};
use reclass::source::Site;
use reclass::value::{Map, Value};
use reclass::yaml;

use super::terminal;

/// The names of the file, the first one first.
const NAMES: [&str; 2] = ["reclass-config.yml", "kapicorp-reclass-config.yml"];

/// Reads the configuration file for a program called as `program`; no file, no options.
pub fn read(program: Option<&OsStr>) -> Result<Map> {
    let found = directories(program)
        .into_iter()
        .flat_map(|directory| NAMES.map(|name| directory.join(name)))
        .find(|path| path.is_file());
    match found {
        Some(path) => read_file(&path),
        None => Ok(Map::default()),
    }
}

/// The directory that a program was started from, as Python's `sys.argv[0]` tells it: adapters
/// are linked into the directory of an inventory.
fn program_directory(program: Option<&OsStr>) -> Option<PathBuf> {
    let program = Path::new(program?);
    if program.components().count() > 1 {
        return program.parent().map(Path::to_path_buf);
    }
    let path = environment("PATH")?;
    std::env::split_paths(&path).find(|directory| directory.join(program).is_file())
}

/// The same as an absolute path: where the inventory of an adapter is by default.
pub fn folder_of(program: Option<&OsStr>) -> String {
    let folder = program_directory(program).unwrap_or_default();
    // An empty path is the current directory, as for Python's `os.path.abspath`.
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    std::path::absolute(&folder).unwrap_or(folder).display().to_string()
}

fn directories(program: Option<&OsStr>) -> Vec<PathBuf> {
    let mut directories = vec![PathBuf::new()];
    directories.extend(std::env::home_dir());
    directories.extend(["/etc/reclass".into(), "/etc/kapicorp-reclass".into()]);
    directories.extend(program_directory(program));
    directories
}

fn read_file(path: &Path) -> Result<Map> {
    let name = path.display().to_string();
    let fault = |message: String| Fault::new(Kind::ConfigFile { path: name.clone(), message });
    let text = terminal::read_file(path).map_err(|error| fault(error.to_string()))?;
    match yaml::parse_value(&text) {
        Ok(Value::Map(map)) => Ok(map.as_ref().clone()),
        Ok(Value::Null) => Ok(Map::default()),
        Ok(value) => Err(fault(format!("it must be a mapping, not a {}", value.type_name())).into()),
        Err(error) => {
            let first = error.first();
            let place = first.site.as_ref().map(|site| Site { path: name.as_str().into(), ..site.clone() });
            let mut fault = fault(first.kind.to_string());
            fault.site = place;
            Err(fault.into())
        }
    }
}

/// An environment variable that is set and not empty.
#[expect(clippy::disallowed_methods, reason = "the one door to the environment of the programs")]
pub fn environment(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
