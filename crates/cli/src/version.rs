//! The output of `--version`.

use std::fmt::Write as _;

use clap::{Arg, ArgAction};
use reclass::parts::storage::fs::display;
use reclass::settings::{Shape, TABLE};

use crate::configuration::found_on_path;
use crate::{commands, commands::tools, programs::PROGRAMS};

/// One line that begins with the version number.
pub fn short() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), " (saltext-reclass)")
}

/// The option. It can be abbreviated as in the Python programs, which have no `-V`.
pub fn flag() -> Arg {
    Arg::new("version")
        .short('V')
        .long("version")
        .action(ArgAction::Version)
        .help("Print the version and the features")
}

/// Compatibility and features.
pub fn long() -> String {
    let words = |setting: &str| match TABLE.iter().find(|row| row.name == setting).map(|row| row.shape) {
        Some(Shape::OneOf(words)) => words.join(" "),
        _ => String::new(),
    };
    let names = |names: &mut dyn Iterator<Item = &'static str>| names.collect::<Vec<_>>().join(" ");
    let lines = [
        ("compatible", "kapicorp-reclass 2.0.0, salt-formulas/reclass 1.7.0".to_owned()),
        ("yaml", "1.1 as PyYAML reads it".to_owned()),
        ("storage", words("storage_type")),
        ("output", words("output")),
        ("changes", words("cache")),
        ("programs", names(&mut PROGRAMS.iter().map(|program| program.name))),
        (
            "commands",
            names(
                &mut commands::VERBS
                    .iter()
                    .map(|verb| verb.name)
                    .chain(tools::TOOLS.iter().map(|tool| tool.name)),
            ),
        ),
        ("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
    ];
    let mut text = short().to_owned();
    for (name, line) in &lines {
        let _ = write!(text, "\n{:<12}{line}", format!("{name}:"));
    }
    text.push_str("\non the path:");
    for program in PROGRAMS {
        let path = found_on_path(program.name).map_or_else(|| "not there".to_owned(), |path| display(&path));
        let _ = write!(text, "\n  {:<18}{path}", program.name);
    }
    text
}
