//! Version turns what was built into the lines of `--version`.

use clap::{Arg, ArgAction};
use reclass::engine::Inventory;
use reclass::settings::{Shape, TABLE};
use reclass::value::{Map, Value};

use super::{PROGRAMS, tools, verbs};

/// One line, which begins with the number.
pub fn short() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("CARGO_PKG_NAME"), ")")
}

/// The option. Abbreviated as with the Python programs, which have no `-V`.
pub fn flag() -> Arg {
    Arg::new("version").long("version").action(ArgAction::Version).help("Print the version and the features")
}

/// What it is compatible with and what it can do.
pub fn long() -> String {
    let words = |setting: &str| match TABLE.iter().find(|row| row.name == setting).map(|row| row.shape) {
        Some(Shape::OneOf(words)) => words.join(" "),
        _ => String::new(),
    };
    // What a setting may say, this build may not have.
    let storage =
        words("storage_type").split(' ').filter(|word| has_storage(word)).collect::<Vec<_>>().join(" ");
    let names = |names: &mut dyn Iterator<Item = &'static str>| names.collect::<Vec<_>>().join(" ");
    let lines = [
        ("compatible", "kapicorp-reclass 2.0.0, salt-formulas/reclass 1.7.0".to_owned()),
        ("yaml", "1.1 as PyYAML reads it".to_owned()),
        ("storage", storage),
        ("output", words("output")),
        ("changes", words("cache")),
        ("programs", names(&mut PROGRAMS.iter().map(|program| program.name))),
        (
            "commands",
            names(
                &mut verbs::VERBS
                    .iter()
                    .map(|verb| verb.name)
                    .chain(tools::TOOLS.iter().map(|tool| tool.name)),
            ),
        ),
        ("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
    ];
    let lines = lines.iter().map(|(name, text)| format!("\n{:<12}{text}", format!("{name}:")));
    short().to_owned() + &lines.collect::<String>()
}

fn has_storage(kind: &str) -> bool {
    let options = Map::from_iter([("storage_type".into(), Value::text(kind))]);
    !matches!(Inventory::open(&options), Err(error) if error.first().code() == "storage-unsupported")
}
