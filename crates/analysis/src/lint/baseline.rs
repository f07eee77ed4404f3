//! A baseline turns findings into entries that outlive edits, so that only new findings count.
//!
//! An entry has the code, the file, and the parameter; without a parameter it has the message without its
//! numbers. It has no line: an edit above a finding moves it, and the finding stays known. Equal entries are
//! counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::selection::CodeSelection;
use crate::errors::BASELINE_INVALID;
use reclass::parts::storage::fs;
use reclass::report::{Finding, to_json};
use reclass_base::error::{Error, Fault, Result};
use reclass_base::value::{Map, Value};

/// The version of the format.
const VERSION: u32 = 1;

/// One known finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct BaselineEntry {
    /// The file; `None` for a finding without a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The code of the rule or error.
    pub code: String,
    /// The parameter or export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The message, if there is no parameter. Numbers outside of quotes are `#`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// An entry with its number, as a file has it.
#[derive(Serialize, Deserialize)]
struct CountedEntry {
    #[serde(flatten)]
    entry: BaselineEntry,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    count: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineFile {
    version: u32,
    findings: Vec<CountedEntry>,
}

const fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_one(count: &usize) -> bool {
    *count == 1
}

/// The known findings of an inventory.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Baseline {
    entries: BTreeMap<BaselineEntry, usize>,
}

impl Baseline {
    /// The baseline in which all of these are known. `name` gives the name of a file in the baseline.
    pub fn of(findings: &[Finding], name: &dyn Fn(&str) -> String) -> Baseline {
        let mut entries = BTreeMap::new();
        for finding in findings {
            *entries.entry(entry(finding, name)).or_insert(0) += 1;
        }
        Baseline { entries }
    }

    /// Reads a baseline. `path` is for errors. A file in another form is an error (`baseline-invalid`).
    pub fn parse(bytes: &[u8], path: &str) -> Result<Baseline> {
        let invalid = |message: String| -> Error {
            BASELINE_INVALID.fault(format!("'{path}' is not a baseline: {message}"), None).into()
        };
        let file: BaselineFile = serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
        if file.version != VERSION {
            return Err(invalid(format!("its version is {}, not {VERSION}", file.version)));
        }
        let mut entries = BTreeMap::new();
        for CountedEntry { entry, count } in file.findings {
            *entries.entry(entry).or_insert(0) += count;
        }
        Ok(Baseline { entries })
    }

    /// The baseline as JSON, sorted by file, code and parameter.
    pub fn to_json(&self) -> String {
        let counted =
            |(entry, count): (&BaselineEntry, &usize)| CountedEntry { entry: entry.clone(), count: *count };
        to_json(&BaselineFile { version: VERSION, findings: self.entries.iter().map(counted).collect() })
    }

    /// The number of known findings.
    pub fn len(&self) -> usize {
        self.entries.values().sum()
    }

    /// Whether no finding is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes the known findings, and returns the entries that no finding has any more. Of several equal
    /// findings the first ones are the known ones. Entries of codes that were not selected are not returned,
    /// because such findings were not looked for.
    pub fn subtract(
        &self,
        findings: &mut Vec<Finding>,
        selection: &CodeSelection,
        name: &dyn Fn(&str) -> String,
    ) -> Vec<BaselineEntry> {
        let mut left = self.entries.clone();
        findings.retain(|finding| match left.get_mut(&entry(finding, name)) {
            Some(count @ 1..) => {
                *count -= 1;
                false
            }
            _ => true,
        });
        let gone = left.into_iter().filter(|(entry, count)| *count > 0 && selection.has(&entry.code));
        gone.map(|(entry, _)| entry).collect()
    }
}

const SETTING: &str = "lint_baseline";
/// Maximum size in bytes of a baseline.
const LARGEST: usize = 64 * 1024 * 1024;

/// The file of a baseline.
#[derive(Clone, Debug)]
pub struct BaselinePath {
    /// The path, for messages.
    pub shown: String,
    /// The absolute path.
    pub path: PathBuf,
    /// Whether the setting names it.
    is_set: bool,
}

impl BaselinePath {
    /// The file at a path, relative to the current folder.
    pub fn new(shown: &str) -> BaselinePath {
        let path = fs::absolute(None, Path::new(shown)).unwrap_or_else(|| shown.into());
        BaselinePath { shown: shown.to_owned(), path, is_set: false }
    }

    /// The file that the setting `lint_baseline` names.
    pub fn of_options(options: &Map) -> Option<BaselinePath> {
        let name = options.get(SETTING).and_then(Value::as_str)?;
        let base = options.get("inventory_base_uri").and_then(Value::as_str);
        let path = fs::absolute(base, Path::new(name))?;
        Some(BaselinePath { shown: fs::display(&path), path, is_set: true })
    }

    /// The name of a file in the baseline: its path from the folder of the baseline, so that the baseline holds
    /// in each clone. Places in a repository have names of their own.
    pub fn name(&self, path: &str) -> String {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let is_file = Path::new(path).is_absolute() || Path::new(path).is_file();
        let relative = is_file.then(|| fs::real_relative(Path::new(path), folder));
        relative.map_or_else(|| path.to_owned(), |relative| fs::display(&relative))
    }

    /// Reads the file. The faults of one that a setting names are those of the setting.
    pub fn read(&self) -> Result<Baseline> {
        let read = fs::read(&self.path, LARGEST).and_then(|(bytes, _)| Baseline::parse(&bytes, &self.shown));
        read.map_err(|error| {
            let of_setting = |fault| Fault { setting: Some((SETTING, "".into())), ..fault };
            let faults = error.into_faults().into_iter();
            Error::new(if self.is_set { faults.map(of_setting).collect() } else { faults.collect() })
        })
    }
}

fn entry(finding: &Finding, name: &dyn Fn(&str) -> String) -> BaselineEntry {
    let fault = &finding.fault;
    let message = fault.path.is_none().then(|| without_numbers(&fault.kind.to_string()));
    BaselineEntry {
        file: fault.site.as_ref().map(|site| name(&site.path)),
        code: fault.code().to_owned(),
        path: fault.path.clone(),
        message,
    }
}

/// The text with `#` for each number outside of single quotes: a line or a count changes with other parts of
/// the inventory, a name does not.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quoted = false;
    let mut in_number = false;
    for c in text.chars() {
        quoted ^= c == '\'';
        let digit = c.is_ascii_digit() && !quoted;
        if !digit {
            out.push(c);
        } else if !in_number {
            out.push('#');
        }
        in_number = digit;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Baseline, without_numbers};

    #[test]
    fn numbers_outside_of_names_do_not_count() {
        assert_eq!(without_numbers("'web1' is at line 12, in 3 of 40"), "'web1' is at line #, in # of #");
        assert_eq!(without_numbers("'1.10' is read as 1.1"), "'1.10' is read as #.#");
    }

    #[test]
    fn a_baseline_is_read_as_it_was_written() {
        let text = r#"{"version": 1, "findings": [
            {"file": "b.yml", "code": "tab", "message": "there is a tab", "count": 2},
            {"file": "a.yml", "code": "value-repeated", "path": "a:b"}]}"#;
        let baseline = Baseline::parse(text.as_bytes(), "x").expect("a baseline");
        assert_eq!((baseline.len(), baseline.is_empty()), (3, false));
        let json = baseline.to_json();
        assert_eq!(Baseline::parse(json.as_bytes(), "x").expect("its own form"), baseline);
        assert!(json.find("a.yml") < json.find("b.yml"), "{json}");
    }

    #[test]
    fn other_files_are_no_baselines() {
        for (text, part) in [
            ("", "EOF"),
            ("[]", "invalid"),
            (r#"{"version": 2, "findings": []}"#, "its version is 2, not 1"),
            (r#"{"version": 1, "findings": [], "more": 1}"#, "unknown field"),
            (r#"{"version": 1, "findings": [{"file": "a"}]}"#, "missing field"),
        ] {
            let error = Baseline::parse(text.as_bytes(), "x").expect_err(text);
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
