//! Snapshots: recorded values of nodes, in a file of YAML for each file of tests: `snapshots/web.yml` beside
//! `web.yml`. They are committed, so secrets in them are hidden.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::read::TestFile;
use crate::errors::TEST_INVALID;
use reclass::parts::storage::fs;
use reclass_base::error::{Error, Result};
use reclass_base::settings::Settings;
use reclass_base::source::Site;
use reclass_base::value::{Key, Map, Text, Value};
use reclass_yaml::emit::{EmitOptions, emit};
use reclass_yaml::parse_value;

/// Values by node and path.
type Recorded = BTreeMap<Text, BTreeMap<String, Value>>;

/// The snapshots of all files of tests.
pub(super) struct Snapshots {
    files: Vec<(PathBuf, Recorded)>,
}

impl Snapshots {
    /// Reads the snapshots of these files. An unreadable one is replaced if `record` is true.
    pub fn read(settings: &Settings, files: &[TestFile], record: bool) -> Result<Snapshots> {
        let read = |file: &TestFile| {
            let name = file.path.file_name().unwrap_or_default();
            let path = file.path.parent().unwrap_or(Path::new("")).join("snapshots").join(name);
            let recorded = if path.is_file() { parse(&path, settings) } else { Ok(Recorded::default()) };
            let recorded = if record { recorded.unwrap_or_default() } else { recorded? };
            Ok((path, recorded))
        };
        Ok(Snapshots { files: files.iter().map(read).collect::<Result<_>>()? })
    }

    /// The recorded value of a node.
    pub fn get(&self, file: usize, node: &str, path: &str) -> Option<&Value> {
        self.files.get(file)?.1.get(node)?.get(path)
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.files.iter_mut().for_each(|(_, recorded)| recorded.clear());
    }

    pub fn put(&mut self, file: usize, node: Text, path: String, value: Value) {
        if let Some((_, recorded)) = self.files.get_mut(file) {
            recorded.entry(node).or_default().insert(path, value);
        }
    }

    /// The files with their texts. A file that would be empty is left out, unless it is there. One that could not be
    /// read again is an error.
    pub fn texts(self, settings: &Settings) -> Result<Vec<(PathBuf, String)>> {
        let wanted = self.files.into_iter().filter(|(path, recorded)| !recorded.is_empty() || path.is_file());
        let limit = settings.max_file_bytes();
        let file = |(path, recorded): (PathBuf, Recorded)| {
            let text = text(recorded);
            if text.len() > limit { Err(fs::too_large(&path, limit)) } else { Ok((path, text)) }
        };
        wanted.map(file).collect()
    }

    /// A value as it is read from a snapshot. YAML has no tuples of its own, for example.
    pub fn as_read(value: &Value) -> Value {
        let text = emit(value, &EmitOptions { pretty: true, no_refs: true });
        parse_value(&text).unwrap_or_else(|_| value.clone())
    }
}

fn text(recorded: Recorded) -> String {
    let values = |(node, values): (Text, BTreeMap<String, Value>)| {
        let values = values.into_iter().map(|(path, value)| (Key::from(path.as_str()), value));
        (Key::from(node), Value::map(values.collect()))
    };
    let all = Value::map(recorded.into_iter().map(values).collect::<Map>());
    let text = emit(&all, &EmitOptions { pretty: true, no_refs: true });
    format!("# Written by 'reclass test --snapshot'.\n{text}")
}

fn parse(path: &Path, settings: &Settings) -> Result<Recorded> {
    let (bytes, _) = fs::read(path, settings.max_file_bytes())?;
    let shown = fs::display(path);
    let invalid = || -> Error {
        let message = "it is no snapshot, a mapping of nodes to paths and their values";
        let help = Some("'reclass test --snapshot' writes it anew");
        TEST_INVALID.fault(message, help).at_site(Site::file(shown.as_str())).into()
    };
    let text = String::from_utf8(bytes).map_err(|_| invalid())?;
    let value = parse_value(&text).map_err(|_| invalid())?;
    let Value::Map(nodes) = value else { return Err(invalid()) };
    let node = |(node, values): (&Key, &Value)| {
        let node = node.as_str().ok_or_else(invalid)?;
        let values = values.as_map().ok_or_else(invalid)?;
        let value = |(path, value): (&Key, &Value)| {
            Ok((path.as_str().ok_or_else(invalid)?.to_owned(), value.clone()))
        };
        Ok((node.into(), values.iter().map(value).collect::<Result<_>>()?))
    };
    nodes.iter().map(node).collect()
}
