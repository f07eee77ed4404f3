//! Names of files turn into findings where the class or node is hard to refer to.

use super::{Linter, lint_fault};
use crate::error::Fault;
use crate::source::Site;
use crate::survey::SurveyedFile;
use crate::value::Value;
use crate::yaml::parse_value;

/// Looks at the name of one file.
pub(super) fn look(linter: &Linter<'_>, file: &SurveyedFile, found: &mut Vec<Fault>) {
    let settings = linter.computation.settings;
    let sentinels = [&settings.reference_sentinels.0, &settings.export_sentinels.0];
    let what = if file.is_class { "class" } else { "node" };
    let reason = if file.name.chars().any(char::is_whitespace) {
        if file.is_class { "it contains a space, so that no list can name it" } else { "it contains a space" }
    } else if file.is_class && stem(&file.path).contains('.') {
        "a dot in the name of a file reads like a folder"
    } else if file.is_class && has_dotted_folder(&file.path, &file.name) {
        "a dot in the name of a folder reads like another folder"
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

/// The name of a file without its ending. In a repository, the branch and a space come before the path;
/// what has a space in its own name is odd for that.
fn stem(path: &str) -> &str {
    let name = path.rsplit([' ', '/']).next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Whether one of the folders that the name of a class is made of has a dot in its own name.
fn has_dotted_folder(path: &str, name: &str) -> bool {
    // An `init.yml` has the name of its folder.
    let mut rest = name.strip_suffix(stem(path)).unwrap_or(name);
    for folder in path.rsplit([' ', '/']).skip(1) {
        rest = rest.strip_suffix('.').unwrap_or(rest);
        match rest.strip_suffix(folder) {
            Some(before) if !rest.is_empty() && !folder.contains('.') => rest = before,
            Some(_) => return !rest.is_empty(),
            None => return false,
        }
    }
    false
}

/// Whether an entry of a list that is written like this is this name.
fn is_text(name: &str) -> bool {
    parse_value(name).is_ok_and(|value| matches!(value, Value::Str(text) if *text == *name))
}

#[cfg(test)]
mod tests {
    use super::{has_dotted_folder, is_text};

    #[test]
    fn folders_with_dots() {
        for (path, name, odd) in [
            ("/srv/s.d/classes/x.y/z.yml", "x.y.z", true),
            ("/srv/s.d/classes/x.y/init.yml", "x.y", true),
            ("/srv/s.d/classes/a/x.y/z/t.yml", "a.x.y.z.t", true),
            ("main classes/x.y/z.yml", "x.y.z", true),
            ("/srv/s.d/classes/x/y/z.yml", "x.y.z", false),
            ("/srv/s.d/z.yml", "z", false),
            ("/srv/s.d/init.yml", "init", false),
            ("/srv/s.d/init/init.yml", "init", false),
            ("/srv/s.d/x/init.yml", "x", false),
        ] {
            assert_eq!(has_dotted_folder(path, name), odd, "{path}");
        }
    }

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
