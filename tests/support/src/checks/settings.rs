//! Bytes as a settings file, and a name that a minion chooses: errors are reported with their code. Mappings
//! turn the name into the same classes each time, and end.

use reclass::internals::model::mappings::Mappings;
use reclass::settings::Settings;
use reclass::value::Value;
use reclass_yaml as yaml;

use super::shown;

/// The most steps of a pattern.
const STEPS: u32 = 1_000;

/// Reads the first line as the name of a node, and the rest as settings.
pub fn check(input: &[u8]) {
    let at = input.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (name, text) = input.split_at(at);
    let Ok(name) = std::str::from_utf8(name) else { return };
    let document = match yaml::compose::compose(text) {
        Ok(document) => document,
        Err(error) => return shown::error(&error, &|_| None),
    };
    let Some(Value::Map(options)) = document.root.as_ref().map(yaml::to_value) else { return };
    let (mut settings, warnings) = match Settings::from_options(&options) {
        Ok(read) => read,
        Err(error) => return shown::error(&error, &|_| None),
    };
    shown::warnings(&warnings, &|_| None);
    settings.limit_backtracking = settings.limit_backtracking.min(STEPS);
    let mappings = match Mappings::parse(&settings, None) {
        Ok(mappings) => mappings,
        Err(error) => return shown::error(&error, &|_| None),
    };
    let classes = mappings.classes(&[name], None);
    assert_eq!(classes, mappings.classes(&[name], None));
    match classes {
        Ok(classes) => {
            for mapped in classes {
                assert!(mappings.names().any(|(mapping, _)| *mapping == mapped.mapping), "{mapped:?}");
            }
        }
        Err(error) => shown::error(&error, &|_| None),
    }
}
