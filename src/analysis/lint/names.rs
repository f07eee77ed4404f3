//! Checks the names of files: those that make a class or node hard to refer to.

use super::{Linter, lint_fault};
use crate::analysis::survey::SurveyedFile;
use crate::base::error::Fault;
use crate::base::source::Site;
use crate::base::value::Value;
use crate::yaml::parse_value;

/// Checks the name of one file.
pub(super) fn check(linter: &Linter<'_>, file: &SurveyedFile, found: &mut Vec<Fault>) {
    let settings = linter.context.settings;
    let sentinels = [&settings.reference_sentinels.0, &settings.export_sentinels.0];
    let what = if file.is_class { "class" } else { "node" };
    let reason = if file.name.chars().any(char::is_whitespace) {
        if file.is_class { "it contains a space, so that no list can name it" } else { "it contains a space" }
    } else if sentinels.iter().any(|open| file.name.contains(open.as_str())) {
        "it reads like a reference"
    } else if !file.name.is_ascii() {
        "it is not ASCII"
    } else if file.name.starts_with(['.', '~', '=']) || file.name.ends_with('.') || file.name.contains("..") {
        "its dots or prefixes read like something else"
    } else if file.is_class && !is_text(&file.name) {
        "YAML reads it as something else than text, so that lists must have it in quotes"
    } else {
        return;
    };
    let message = format!("odd name of the {what} '{}': {reason}", file.name);
    found.push(lint_fault("odd-name", message, None).at_site(Site::file(file.path.clone())));
}

/// Whether YAML reads a list entry with this text as this name.
fn is_text(name: &str) -> bool {
    parse_value(name).is_ok_and(|value| matches!(value, Value::Str(text) if *text == *name))
}

#[cfg(test)]
mod tests {
    use super::is_text;

    #[test]
    fn names_that_yaml_reads_as_text() {
        for (name, text) in [("no", false), ("1", false), ("1.5", false), ("null", false), ("@a", false)] {
            assert_eq!(is_text(name), text, "{name}");
        }
        for name in ["a", "no.x", "x.1", "1.2.3", "a-b_c"] {
            assert!(is_text(name), "{name}");
        }
    }
}
