//! `ignore_class_notfound`: compiles the settings' expressions for classes that may be missing into one
//! pattern.

use crate::model::mappings::{regex, translate};
use reclass_base::error::{Fault, Kind, Result, Warning};
use reclass_base::settings::Settings;
use reclass_base::value::Text;

/// Matches the names of classes that may be missing. Like Python's `re.match`, it matches at the start of
/// the name.
#[derive(Debug)]
pub struct Ignored {
    regex: fancy_regex::Regex,
    /// The expressions, joined as the Python programs join them.
    pattern: String,
}

impl Ignored {
    /// Compiles the expressions; `None` if missing classes are errors. An invalid expression is an error of
    /// the setting.
    pub fn parse(settings: &Settings) -> Result<Option<Ignored>> {
        if !settings.ignore_class_notfound {
            return Ok(None);
        }
        let pattern = settings.ignore_class_notfound_regexp.join("|");
        let joined = translate(&pattern).and_then(|all| regex(&format!("\\A(?:{all})"), settings));
        match joined {
            Ok(regex) => Ok(Some(Ignored { regex, pattern })),
            Err(message) => {
                let alone =
                    |expression: &&Text| translate(expression).and_then(|one| regex(&one, settings)).is_err();
                let wrong = settings.ignore_class_notfound_regexp.iter().find(alone);
                Err(Fault::new(kind(wrong.map_or(pattern, Text::to_string), message)).into())
            }
        }
    }

    /// Whether a class of this name may be missing. Too much backtracking is an error of the setting.
    pub fn matches(&self, name: &str) -> Result<bool, Fault> {
        self.regex.is_match(name).map_err(|error| Fault::new(kind(self.pattern.clone(), error.to_string())))
    }
}

/// A warning for each expression that seems to contain a reference: `$` is the end of the name, so `${`
/// never matches.
pub fn warnings(settings: &Settings) -> impl Iterator<Item = Warning> {
    let expressions = settings.ignore_class_notfound_regexp.iter().filter(|_| settings.ignore_class_notfound);
    expressions.filter(|expression| goes_on_after_end(expression)).map(|expression| {
        let message = "'$' is the end of a name, so that '${' matches nothing; '\\$' is the sign";
        Warning::new(kind(expression.to_string(), message.to_owned()))
    })
}

/// Whether an expression contains `${` outside of escapes and character classes.
fn goes_on_after_end(expression: &str) -> bool {
    let (mut chars, mut in_class) = (expression.chars().peekable(), false);
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '$' if !in_class && chars.peek() == Some(&'{') => return true,
            _ => {}
        }
    }
    false
}

fn kind(pattern: String, message: String) -> Kind {
    Kind::SettingPattern { name: "ignore_class_notfound_regexp".into(), pattern, message }
}
