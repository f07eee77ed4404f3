//! Lints an inventory, as a build script or a test of another project would.
//!
//! `cargo run --example lint [FOLDER]`
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example prints its result, and reads files"
)]

use std::process::ExitCode;

use reclass::configuration::with_file;
use reclass::report::{Level, full_findings};
use reclass::value::{Key, Map, Value};
use reclass::{Error, Finding};
use reclass_analysis::lint::lint;

/// The inventory beside this file.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/inventory");

fn main() -> Result<ExitCode, Error> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| EXAMPLE.to_owned());
    let findings = findings(&folder)?;
    for text in full_findings(&findings, false, &|path| std::fs::read_to_string(path).ok()) {
        println!("{text}");
    }
    Ok(if findings.iter().all(is_note) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_note(finding: &Finding) -> bool {
    finding.level == Level::Info
}

fn findings(folder: &str) -> Result<Vec<Finding>, Error> {
    let file = format!("{folder}/reclass-config.yml");
    let options = Map::from_iter([
        (Key::from("inventory_base_uri"), Value::text(folder)),
        (Key::from("config_file"), Value::text(file)),
    ]);
    lint(&with_file(&options)?, &[], &())
}

#[cfg(test)]
#[test]
fn the_example_runs() {
    let findings = findings(EXAMPLE).expect("findings");
    assert!(findings.iter().all(is_note), "{findings:?}");
    assert!(findings.iter().any(|finding| finding.fault.code() == "class-unused"), "{findings:?}");
}
