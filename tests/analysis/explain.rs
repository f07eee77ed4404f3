//! Small inventories turn into explanations: `tests/analysis/explain/<name>.txt`.
//!
//! A file holds an inventory, `--- path` before each of its files, `--- settings` where there are
//! any, and behind each `--- explain NODE PATH…` the text that explains it. `BLESS=1 cargo test
//! --test analysis explain::` writes these anew; read the difference before committing it.

use support::folders;

use folders::{inventory, parts, set, write};
use reclass::error::Error;
use reclass::redact::Redaction;
use reclass::style::Paint;
use reclass::{Inventory, Request};
use reclass_analysis::explain::{Selection, explain, to_text};

/// The file as it should be.
fn played(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let mut options = inventory(base);
    let mut out = String::new();
    let mut questions = Vec::new();
    for part in parts(text) {
        if let Some(question) = part.name.strip_prefix("explain ") {
            questions.push(question.to_owned());
            continue;
        }
        out.extend(["--- ", &part.name, "\n", &part.text]);
        match part.name.as_str() {
            "settings" => set(&mut options, &part.text),
            name => write(&base.join(name), &part.text),
        }
    }
    let inventory = Inventory::open(&options).unwrap();
    for question in questions {
        let mut words = question.split_whitespace().map(str::to_owned);
        let node = words.next().unwrap();
        let redaction = Redaction::of(inventory.settings());
        let mut selection = Selection { redaction, ..Selection::default() };
        for word in words {
            match word.split_once('=') {
                Some(("--class", glob)) => selection.classes.push(glob.to_owned()),
                Some(("--application", glob)) => selection.applications.push(glob.to_owned()),
                Some(("--export", path)) => selection.exports.push(path.to_owned()),
                _ => selection.parameters.push(word),
            }
        }
        let output = match explain(&inventory, &node, &Request::default(), &selection) {
            Ok(explanation) => {
                let text = to_text(&explanation, Paint::PLAIN);
                if explanation.missing.is_empty() {
                    text
                } else {
                    format!("{text}\n{}", Error::new(explanation.missing))
                }
            }
            Err(error) => error.to_string(),
        };
        let output = output.replace(&format!("{}/", base.display()), "");
        out.extend(["--- explain ", &question, "\n", &output, "\n"]);
    }
    out
}

#[test]
fn examples_are_explained() {
    folders::check("analysis/explain", played);
}
