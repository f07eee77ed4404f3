//! Small inventories turn into explanations: `tests/explain/<name>.txt`.
//!
//! A file holds an inventory, `--- path` before each of its files, `--- settings` where there are
//! any, and behind each `--- explain NODE PATH…` the text that explains it. `BLESS=1 cargo test
//! --test explain` writes these anew; read the difference before committing it.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test writes files")]

use std::fs;
use std::path::Path;

use reclass::engine::{Inventory, Request};
use reclass::explain::{Selection, explain, to_text};
use reclass::secrets::Secrets;
use reclass::style::Paint;
use reclass::value::{Map, Value};

/// The file as it should be.
fn played(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    for name in ["nodes", "classes"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    let mut out = String::new();
    let mut questions = Vec::new();
    for part in text.split("--- ").skip(1) {
        let (heading, body) = part.split_once('\n').unwrap();
        if let Some(question) = heading.strip_prefix("explain ") {
            questions.push(question.to_owned());
            continue;
        }
        out.extend(["--- ", part]);
        if heading == "settings" {
            let Value::Map(settings) = reclass::yaml::parse_value(body).unwrap() else { continue };
            options.extend((*settings).clone());
        } else {
            let path = base.join(heading);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, body).unwrap();
        }
    }
    let inventory = Inventory::open(&options).unwrap();
    for question in questions {
        let mut words = question.split_whitespace().map(str::to_owned);
        let node = words.next().unwrap();
        let mut selection = Selection::default();
        for word in words {
            match word.split_once('=') {
                Some(("--class", glob)) => selection.classes.push(glob.to_owned()),
                Some(("--application", glob)) => selection.applications.push(glob.to_owned()),
                Some(("--export", path)) => selection.exports.push(path.to_owned()),
                _ => selection.parameters.push(word),
            }
        }
        let told = match explain(&inventory, &node, &Request::default(), &selection) {
            Ok(explanation) => {
                let mut secrets = Secrets::of(inventory.settings());
                explanation.teach(&mut secrets);
                to_text(&explanation, &inventory.settings().delimiter, &secrets, Paint(false))
            }
            Err(error) => error.to_string(),
        };
        let told = told.replace(&format!("{}/", base.display()), "");
        out.extend(["--- explain ", &question, "\n", &told, "\n"]);
    }
    out
}

#[test]
fn examples_are_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut wrong = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let played = played(&text);
        if played == text {
            continue;
        }
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, played).unwrap();
        } else {
            wrong.push(format!("{}:\n{played}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "BLESS=1 writes the explanations anew\n{}", wrong.join("\n"));
}
