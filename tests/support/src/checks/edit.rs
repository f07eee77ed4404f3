//! A line that says what changes (`set a/b value`, `delete a/b`, `append a/b value`) and a text: the
//! new text says what the old one with the change says, or the edit is refused.

use reclass::parts::model::Prefixes;
use reclass::settings::Settings;
use reclass::value::{Map, Text, Value};
use reclass_edit::{Action, Change, read};
use reclass_yaml::parse_value;

use super::data::changed;
use super::shown;

/// Larger texts take more time than they find.
const MOST: usize = 16 * 1024;

const PATH: &str = "/inventory/nodes/n.yml";

/// Makes the change.
pub fn check(input: &[u8]) {
    let Some(end) = input.iter().position(|byte| *byte == b'\n').filter(|_| input.len() <= MOST) else {
        return;
    };
    let (line, text) = (&input[..end], &input[end + 1..]);
    let Some(change) = std::str::from_utf8(line).ok().and_then(asked) else { return };
    let (settings, _) = Settings::from_options(&Map::default()).expect("settings");
    let prefixes = Prefixes::new(&settings);
    let shown = |_: &str| Some(String::from_utf8_lossy(text).into_owned());
    match change.apply(text, PATH, &prefixes) {
        Ok(None) => {}
        Ok(Some(edited)) => {
            let found = read(&edited, PATH).expect("what was edited is YAML").unwrap_or_default();
            let before = read(text, PATH).expect("what was edited before").unwrap_or_default();
            let wanted = match &change.action {
                Action::Set(value) => Some(changed(&before, &change.keys, Some(value))),
                Action::Delete => Some(changed(&before, &change.keys, None)),
                Action::Append(_) => None,
            };
            assert!(wanted.is_none_or(|wanted| wanted == found), "{found:?}");
            assert_eq!(change.apply(&edited, PATH, &prefixes), Ok(None), "made twice");
        }
        Err(error) => shown::error(&error, &shown),
    }
    if let Err(error) = change.without_references(&settings) {
        shown::error(&error, &shown);
    }
}

/// A value as it is written; where it is none, the error is shown.
fn value(written: &str) -> Option<Value> {
    match parse_value(written) {
        Ok(value) => Some(value),
        Err(error) => {
            shown::error(&error, &|_| Some(written.to_owned()));
            None
        }
    }
}

/// The change that a line asks for.
fn asked(line: &str) -> Option<Change> {
    let mut words = line.splitn(3, ' ');
    let (what, path) = (words.next()?, words.next()?);
    let keys: Vec<Text> = path.split('/').map(Text::from).collect();
    let action = match what {
        "set" => Action::Set(value(words.next().unwrap_or_default())?),
        "append" => Action::Append(match value(words.next().unwrap_or_default())? {
            Value::List(items) => items.to_vec(),
            value => vec![value],
        }),
        _ => Action::Delete,
    };
    Some(Change { keys, action })
}
