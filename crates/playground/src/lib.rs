//! Turns texts of files into all that the engine says about a node, for the playground of the site.
//!
//! Invariants: a question has all its files with it, and none is read from elsewhere. The limits of nesting are lower
//! than those of the engine, for the stack of a browser. What gets through all the same ends the module, and the page
//! starts another.
//!
//! JavaScript writes an [`Asked`] as JSON into the memory that `question` makes, calls `answer`, and reads as many
//! bytes as it returns from `response`. A library for this interface would be larger than these three functions.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use reclass::configuration::ConfigurationFile;
use reclass::error::Result;
use reclass::formats::{EmitOptions, emit};
use reclass::report::{Level, full, full_warning, grouped};
use reclass::style::Paint;
use reclass::value::{Key, Map, Value};
use reclass::{Finding, InventoryBuilder, Request};
use reclass_analysis::explain::{Selection, explain, to_text};
use reclass_analysis::lint::{CodeSelection, lint_options, of_inventory};
use serde::{Deserialize, Serialize};

/// Where the files seem to be, as on the pages of the documentation.
const BASE: &str = "/srv/salt/reclass";
const SETTINGS: &str = "reclass-config.yml";

/// Limits at which the stack of a browser is enough. It is small, and no code can ask how much of it is left.
const LIMITS: [(&str, i64); 3] =
    [("limit_depth", 100), ("limit_references", 100), ("limit_include_depth", 100)];

/// The files of an inventory, and the node that somebody looks at.
#[derive(Deserialize)]
pub struct Asked {
    /// The texts by path: `nodes/web1.yml`.
    pub files: BTreeMap<String, String>,
    /// The name of the node; without one, the first node is taken.
    #[serde(default)]
    pub node: Option<String>,
    /// The time in the answer.
    #[serde(default)]
    pub time: String,
}

/// All that is said about the node and the files.
#[derive(Serialize, Default)]
pub struct Reply {
    /// The names of all nodes.
    pub nodes: Vec<Arc<str>>,
    /// The node of this answer.
    pub node: Option<String>,
    /// Its data as YAML, as `reclass --nodeinfo` prints it.
    pub data: Option<String>,
    /// Where its values come from, as `reclass explain` prints it.
    pub explanation: Option<String>,
    /// Its errors and warnings, as they are printed.
    pub messages: String,
    /// What `reclass lint` finds in all files.
    pub findings: Vec<Finding>,
}

/// The answer to a question.
#[must_use]
pub fn answered(question: &Asked) -> Reply {
    let mut answer = Reply::default();
    let read = |path: &str| question.files.get(path.strip_prefix(BASE)?.strip_prefix('/')?).cloned();
    match fill(&mut answer, question, &read) {
        Ok(()) => answer,
        Err(error) => {
            answer.messages += &full(&error, false, &read);
            if answer.findings.is_empty() {
                answer.findings = grouped(error.into_faults().into_iter().map(|fault| (Level::Error, fault)));
            }
            answer
        }
    }
}

fn fill(answer: &mut Reply, question: &Asked, read: &dyn Fn(&str) -> Option<String>) -> Result<()> {
    let options = options(&question.files)?;
    let open =
        |options: &Map| InventoryBuilder::new(options).in_memory(&with_folders(&question.files)).open();
    let inventory = open(&options)?;
    let linted = lint_options(&options);
    answer.findings = of_inventory(&open(&linted)?, &linted, &[], &CodeSelection::default(), &())?.findings;
    for warning in inventory.settings_warnings() {
        answer.messages += &(full_warning(warning, false, read) + "\n");
    }
    answer.nodes = inventory.nodes()?.iter().map(|name| Arc::from(&**name)).collect();
    let wanted = question.node.as_ref().filter(|wanted| answer.nodes.iter().any(|name| **name == ***wanted));
    let Some(node) = wanted.cloned().or_else(|| answer.nodes.first().map(ToString::to_string)) else {
        return Ok(());
    };
    answer.node = Some(node.clone());
    let settings = inventory.settings();
    match inventory.nodeinfo(&node, &Request::default()) {
        Ok(info) => {
            for warning in &info.warnings {
                answer.messages += &(full_warning(warning, false, read) + "\n");
            }
            let format = EmitOptions { pretty: settings.pretty_print, no_refs: true };
            answer.data = Some(emit(&info.to_value(&question.time), &format));
        }
        Err(error) => answer.messages += &full(&error, false, read),
    }
    // Values that have no error are explained all the same.
    let explanation = explain(&inventory, &node, &Request::default(), &Selection::default());
    answer.explanation = explanation.ok().map(|explanation| to_text(&explanation, Paint::PLAIN));
    Ok(())
}

/// The options of the settings file, if there is one, within what a browser can do.
fn options(files: &BTreeMap<String, String>) -> Result<Map> {
    let file = files
        .get(SETTINGS)
        .map(|text| ConfigurationFile::parse(&format!("{BASE}/{SETTINGS}"), text.clone().into_bytes()));
    let mut options = file.transpose()?.flatten().map(|file| file.options).unwrap_or_default();
    options.insert(Key::from("inventory_base_uri"), Value::text(BASE));
    for (name, most) in LIMITS {
        if !matches!(options.get(name), Some(Value::Int(wanted)) if *wanted <= most) {
            options.insert(Key::from(name), Value::Int(most));
        }
    }
    Ok(options)
}

/// The files, and a hidden one in each folder of an inventory: a folder without files is there as well.
fn with_folders(files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let folders = ["nodes/.here", "classes/.here"].map(|path| (path.to_owned(), String::new()));
    files.iter().map(|(path, text)| (path.clone(), text.clone())).chain(folders).collect()
}

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static RESPONSE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes memory for a question of this many bytes.
#[allow(unsafe_code, reason = "the name of a function for JavaScript; nothing else here is unsafe")]
#[unsafe(no_mangle)]
pub extern "C" fn question(size: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|bytes| {
        *bytes = vec![0; size];
        bytes.as_mut_ptr()
    })
}

/// Answers the question, and returns the size of the response.
#[allow(unsafe_code, reason = "as above")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    let parsed = QUESTION.with_borrow(|bytes| serde_json::from_slice::<Asked>(bytes));
    let text = match parsed {
        Ok(question) => serde_json::to_vec(&answered(&question)),
        Err(error) => serde_json::to_vec(&Reply { messages: error.to_string(), ..Reply::default() }),
    };
    RESPONSE.set(text.unwrap_or_default());
    RESPONSE.with_borrow(Vec::len)
}

/// The bytes of the response.
#[allow(unsafe_code, reason = "as above")]
#[unsafe(no_mangle)]
pub extern "C" fn response() -> *const u8 {
    RESPONSE.with_borrow(Vec::as_ptr)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Asked, answered};

    #[test]
    fn the_answer_is_that_of_the_texts() {
        let text = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let files = [
            text("classes/ntp.yml", "parameters: {ntp: a}"),
            text("nodes/web1.yml", "classes: [ntp]\nparameters:\n  ntp: ${x}"),
            text("../nodes/out.yml", ""),
        ];
        let asked = Asked { files: files.into(), node: None, time: String::new() };
        let reply = answered(&asked);
        assert_eq!(reply.nodes, [Arc::<str>::from("web1")]);
        assert!(reply.messages.starts_with("error[reference-not-found]"), "{}", reply.messages);
        assert!(reply.messages.contains("/srv/salt/reclass/nodes/web1.yml:3:8"), "{}", reply.messages);
        assert_eq!(reply.findings.len(), 1);
    }
}
