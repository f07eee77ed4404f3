//! Two inventories turn into their difference: `tests/analysis/diff/<name>.txt`.
//!
//! A file holds `--- old/path` and `--- new/path` before the files of each side, `--- both/path`
//! before those of both, `--- settings` where there are any, and behind `--- text`, `--- summary`
//! and `--- json` what is said of them. `BLESS=1 cargo test --test analysis diff::` writes these anew; read the
//! difference before committing it.

use support::folders;

use std::path::Path;

use folders::{inventory, parts, set, write};
use reclass::style::Paint;
use reclass_analysis::diff::{Difference, NAMED, diff, summary, text};

/// The difference of the sides that a text describes.
fn difference(base: &Path, example: &str) -> Difference {
    let mut options = inventory(&base.join("old"));
    inventory(&base.join("new"));
    for part in parts(example) {
        match part.name.split_once('/') {
            Some(("both", path)) => {
                write(&base.join("old").join(path), &part.text);
                write(&base.join("new").join(path), &part.text);
            }
            Some(_) => write(&base.join(&part.name), &part.text),
            None if part.name == "settings" => set(&mut options, &part.text),
            None => {}
        }
    }
    let side = |name: &str| base.join(name).to_str().unwrap().to_owned();
    diff(&options, None, (&side("old"), &side("new")), &[], false).unwrap()
}

#[test]
fn examples_differ_as_they_say() {
    folders::check("analysis/diff", |example| {
        let folder = tempfile::tempdir().unwrap();
        let difference = difference(folder.path(), example);
        let shown = |text: String| text.replace(&format!("{}/", folder.path().display()), "");
        let data = reclass::report::to_json(&difference);
        let before = example.split("--- text").next().unwrap();
        format!(
            "{before}--- text\n{}\n--- summary\n{}\n--- json\n{}\n",
            shown(text(&difference, NAMED, Paint::PLAIN)).trim_end(),
            shown(summary(&difference, NAMED)).trim_end(),
            shown(data)
        )
    });
}
