use crate::lint::prelude::*;
use reclass_yaml::parse_value;

pub const RULE: Rule = Rule {
    id: "odd-name",
    level: Level::Warning,
    about: "The name of a file makes a name that is hard to refer to.",
    text: "Such names are those that YAML reads as something other than text (`no.yml`, `1.yml`: lists of classes need them in quotes), and names with spaces, with letters beyond ASCII, or with the characters that open a reference.

```yaml
# Bad: nodes/web 1.yml
parameters: {port: 80}
# Good: nodes/web1.yml
parameters: {port: 80}
```",
    checks: &[Check::Inventory(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    found.extend(linter.files().filter_map(|file| odd(linter, file)));
}

fn odd(linter: &Linter<'_>, file: &SurveyedFile) -> Option<Fault> {
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
        return None;
    };
    let message = format!("odd name of the {what} '{}': {reason}", file.name);
    Some(lint_fault(RULE.id, message, None).at_site(Site::file(file.path.clone())))
}

/// Whether YAML reads a list entry with this text as this name.
fn is_text(name: &str) -> bool {
    parse_value(name).is_ok_and(|value| matches!(value, Value::Str(text) if *text == *name))
}
