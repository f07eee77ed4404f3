//! Parses strings with `${references}` into templates.
//!
//! The grammar is the one of the Python forks (`values/parser_funcs.py`), with its quirks: an escape counts
//! only where a new piece of text begins, so both backslashes stay in `a\\}`; an unclosed sentinel is an
//! error. Sentinels and escape character are settings.

mod grammar;
mod path;

use std::sync::Arc;

use crate::model::query::Query;
use reclass_base::error::Fault;
use reclass_base::number::UniqueNumber;
use reclass_base::settings::Settings;
use reclass_base::value::Text;

use grammar::{Grammar, expand_tabs};
pub use path::split_default;

/// A string with at least one reference.
#[derive(Clone, PartialEq, Debug)]
pub struct Template {
    /// The text as written.
    pub source: Text,
    /// The parts in order. A template with a single reference keeps the type of its value (R1).
    pub parts: Vec<Part>,
    /// Identifies the content in the memos of evaluations.
    pub number: UniqueNumber,
}

impl Template {
    /// A template of its text and its parts.
    pub fn new(source: Text, parts: Vec<Part>) -> Template {
        Template { source, parts, number: UniqueNumber::default() }
    }
}

/// A part of a template or of the inside of a reference.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// Text with escapes resolved.
    Literal(Text),
    /// `${…}`.
    Reference(Reference),
}

/// One `${…}`.
#[derive(Clone, PartialEq, Debug)]
pub struct Reference {
    /// The inside.
    pub parts: Vec<Part>,
    /// The path, if the inside contains no other reference.
    pub fixed: Option<FixedPath>,
    /// Byte offset and length in the text of the scalar, sentinels included.
    pub span: (usize, usize),
    /// The text as written, with sentinels, for messages. The default is left out because it is a value.
    pub written: Text,
}

/// The inside of a reference, split at `::`.
#[derive(Clone, PartialEq, Debug)]
pub struct FixedPath {
    /// The keys.
    pub segments: Vec<Text>,
    /// The text of the default (R7).
    pub default: Option<Text>,
}

/// A parsed string.
#[derive(Clone, PartialEq, Debug)]
pub enum Parsed {
    /// Plain text with escapes resolved.
    Text(Text),
    /// Text with references.
    Template(Arc<Template>),
    /// A single inventory query.
    Query(Query),
}

/// Parses a string. A string without a sentinel is returned unchanged.
pub fn parse(source: &Text, settings: &Settings) -> Result<Parsed, Fault> {
    let grammar = Grammar::new(settings);
    if grammar.is_plain(source) {
        return Ok(Parsed::Text(source.clone()));
    }
    let expanded;
    let text: &Text = if settings.compat_flags.expand_tabs && source.contains('\t') {
        expanded = expand_tabs(source).into();
        &expanded
    } else {
        source
    };
    grammar.line(text)
}

/// The text as a glob: a star for each reference in it.
pub fn glob(parts: &[Part]) -> String {
    let text = parts.iter().map(|part| match part {
        Part::Literal(text) => text,
        Part::Reference(_) => "*",
    });
    text.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reclass_base::value::Map;

    fn show(text: &str) -> String {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        match parse(&text.into(), &settings) {
            Ok(Parsed::Text(text)) => format!("text {text}"),
            Ok(Parsed::Template(template)) => inside(&template.parts),
            Ok(Parsed::Query(query)) => format!("query {}", query.source),
            Err(fault) => format!("error {}", fault.kind),
        }
    }
    fn inside(parts: &[Part]) -> String {
        parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => format!("'{text}'"),
                Part::Reference(inner) => format!("<{}>", inside(&inner.parts)),
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn strings_fall_into_parts() {
        for (text, expected) in [
            ("plain } ] $ { \\", "text plain } ] $ { \\"),
            ("${a}", "<'a'>"),
            ("x ${a:b} y", "'x ' <'a:b'> ' y'"),
            ("${a:${b}:c}", "<'a:' <'b'> ':c'>"),
            (r"\${a}", "text ${a}"),
            (r"\\${a}", r"'\' <'a'>"),
            (r"\\\${a}", r"'\\' <'a'>"),
            (r"${a\:b}", r"<'a\:b'>"),
            (r"${a\}b}", r"<'a}b'>"),
            (r"\$[ a ]", "text $[ a ]"),
            ("${a", "error '${' is not closed by '}'"),
            ("${}", "error '${}' is empty"),
            ("${a}}", "<'a'> '}'"),
            (r"${a} \\} b", r"<'a'> ' \\} b'"),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
    }

    #[test]
    fn references_are_listed_without_defaults() {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        for (text, expected) in [
            ("${a::b}", "${a}"),
            ("x ${t:${a::b}}", "${t:${a}}"),
            ("${t:${a::b}:c::${d}}", "${t:${a}:c}"),
            ("${t::${a::b}}", "${t}"),
            ("${t:${a:${b::c}}x}", "${t:${a:${b}}x}"),
        ] {
            let Ok(Parsed::Template(template)) = parse(&text.into(), &settings) else { panic!("{text}") };
            let Some(Part::Reference(reference)) = template.parts.last() else { panic!("{text}") };
            assert_eq!(&*reference.written, expected, "{text}");
        }
    }
}
