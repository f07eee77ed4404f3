//! The table of settings turns into sections of `docs/settings.md`.
//!
//! `RECLASS_UPDATE_DOCS=1 cargo test --test base settings_page::` writes it anew; read the difference
//! before committing it.

use std::fmt::Write as _;

use reclass::settings::{Shape, TABLE};
use reclass_yaml::parse_value;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
const BEGIN: &str = "<!-- Written by tests/base/settings_page.rs. -->\n\n";
const END: &str = "<!-- End of the settings. -->\n";

#[test]
fn the_page_has_the_settings_of_the_program() {
    let page = std::fs::read_to_string(PAGE).expect("the page exists");
    let (before, rest) = page.split_once(BEGIN).expect("the page says where they begin");
    let (old, after) = rest.split_once(END).expect("the page says where they end");
    let new = sections();
    if std::env::var_os("RECLASS_UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, format!("{before}{BEGIN}{new}{END}{after}")).expect("the page can be written");
        return;
    }
    assert!(
        old == new,
        "docs/settings.md is out of date: RECLASS_UPDATE_DOCS=1 cargo test --test base settings_page::\n{new}"
    );
}

/// A section for each setting, so that each has an anchor.
fn sections() -> String {
    let mut text = String::new();
    for row in TABLE {
        write!(text, "### `{}`\n\n{}\n\n", row.name, row.doc.trim()).expect("a string takes everything");
        writeln!(text, "- Value: {}\n- Default: `{}`", shape(row.shape), row.default)
            .expect("a string takes everything");
        for alias in row.aliases {
            writeln!(text, "- Other name: `{alias}`").expect("a string takes everything");
        }
        text.push('\n');
    }
    text
}

/// What the settings may hold, in words.
fn shape(shape: Shape) -> String {
    match shape {
        Shape::Flag => "true or false".into(),
        Shape::Word => "a string".into(),
        Shape::WordOrFalse => "a string, or false".into(),
        Shape::List => "a list of strings".into(),
        Shape::Words => "a string or a list of strings".into(),
        Shape::Pair => "a list of two strings".into(),
        Shape::Uri => "a path, a list of paths, or a mapping".into(),
        Shape::OneOf(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Shape::Any => "anything".into(),
        Shape::Count => "a whole number from zero on".into(),
        Shape::UpTo(most) => format!("a whole number from 1 to {most}"),
    }
}

#[test]
fn defaults_are_what_yaml_reads() {
    for row in TABLE {
        let read = parse_value(row.default).expect("a default is YAML");
        assert_eq!(row.default_value(), read, "{}", row.name);
    }
}
