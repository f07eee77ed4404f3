//! Soft metadata of clusters in etcd: the keys of the class that the file of the cluster is.
//!
//! An edit reads the keys of the class, and changes one of them in a transaction, if nobody changed it
//! meanwhile. Texts in the result are those of a class file with this parameter alone.

use std::path::PathBuf;

use super::change::{Action, Change, read};
use super::cluster::{ClusterFile, PARAMETERS, relative};
use super::expect::indistinguishable;
use super::tree::{EditOptions, Edited, look};
use super::{name, source};
use crate::effect::Touched;
use reclass::parts::model::{Prefixes, catalog};
use reclass::parts::storage::fs::display;
use reclass::parts::storage::{DEEPEST_KEY, Etcd, EtcdKey, OverlaidInput, Overlay, TreeLimits, folders};
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::settings::Settings;
use reclass_base::similar;
use reclass_base::value::{Key, Map, Value};
use reclass_yaml::emit::{EmitOptions, emit};
use reclass_yaml::parse_value;

/// The soft parameters of one class in etcd.
struct Parameters {
    etcd: Etcd,
    class: String,
    /// The name of their folder below the prefix of all keys.
    folder: String,
}

/// The place of the soft parameters of a cluster, for messages.
pub fn path(settings: &Settings, file: ClusterFile<'_>) -> Result<PathBuf> {
    let parameters = Parameters::of(settings, file)?;
    Ok(parameters.shown("").into())
}

/// The soft parameters of a cluster, in the form of a class file.
pub fn data(settings: &Settings, file: ClusterFile<'_>) -> Result<Value> {
    let parameters = Parameters::of(settings, file)?;
    let mut all = Map::default();
    for key in parameters.etcd.list(&parameters.folder)?.iter() {
        let Some(names) = parameters.names(key) else { continue };
        insert(&mut all, &names, value_of(key)?);
    }
    Ok(within(Value::map(all)))
}

fn insert(map: &mut Map, names: &[&str], value: Value) {
    match names {
        [first, rest @ ..] if !rest.is_empty() => {
            let inner = map.get(*first).and_then(Value::as_map);
            let mut inner = inner.cloned().unwrap_or_default();
            insert(&mut inner, rest, value);
            map.insert(Key::from(*first), Value::map(inner));
        }
        _ => drop(map.insert(Key::from(names.concat().as_str()), value)),
    }
}

/// Sets a soft parameter.
pub fn set(
    settings: &Settings,
    file: ClusterFile<'_>,
    parameter: &str,
    value: Value,
    options: EditOptions,
) -> Result<Edited> {
    let change = change(parameter, Action::Set(value.clone()))?;
    if settings.etcd_references && !options.interpolate {
        change.without_references(settings)?;
    }
    if options.interpolate && !settings.etcd_references {
        return Err(refused(&change, "values in etcd are data, unless 'etcd_references' is set"));
    }
    let text = text_of(&value).ok_or_else(|| refused(&change, "YAML has no form for the value"))?;
    edit(settings, file, parameter, &change, Some(&(value, text)), options)
}

/// Deletes a soft parameter if it exists.
pub fn delete(
    settings: &Settings,
    file: ClusterFile<'_>,
    parameter: &str,
    options: EditOptions,
) -> Result<Edited> {
    let change = change(parameter, Action::Delete)?;
    edit(settings, file, parameter, &change, None, options)
}

fn change(parameter: &str, action: Action) -> Result<Change> {
    name::parameter(parameter)?;
    Ok(Change::new(&[PARAMETERS[0], PARAMETERS[1], parameter], action))
}

fn edit(
    settings: &Settings,
    file: ClusterFile<'_>,
    parameter: &str,
    change: &Change,
    after: Option<&(Value, String)>,
    options: EditOptions,
) -> Result<Edited> {
    let parameters = Parameters::of(settings, file)?;
    let keys = parameters.etcd.list(&parameters.folder)?;
    let bare = |name: &str| name.trim_start_matches(['~', '=']).to_owned();
    let mut before = None;
    for key in keys.iter() {
        let Some(names) = parameters.names(key) else { continue };
        match &names[..] {
            [name] if *name == parameter => before = Some(key),
            [name, ..] if after.is_some() && bare(name) == bare(parameter) => {
                return Err(refused(change, &format!("etcd has '{}'; use that key", key.key)));
            }
            _ => {}
        }
    }
    // A value that is no YAML can be replaced and deleted.
    let old = before.map(|key| value_of(key).unwrap_or(Value::Null));
    let prefixes = Prefixes::new(settings);
    let shown = parameters.shown(parameter);
    let form = |value: Option<&Value>| -> Result<Option<Vec<u8>>> {
        let Some(value) = value else { return Ok(None) };
        let change = Change { keys: change.keys.clone(), action: Action::Set(value.clone()) };
        change.apply(b"", &shown, &prefixes)
    };
    let is_same = match (before, after) {
        (None, None) => true,
        (Some(key), Some((new, _))) => value_of(key).is_ok_and(|old| indistinguishable(&old, new)),
        _ => false,
    };
    let (old_text, new_text) = (form(old.as_ref())?, form(after.map(|(value, _)| value))?);
    let (path, before_revision) = (PathBuf::from(&shown), before.map_or(0, |key| key.revision));
    let warning = after.and_then(|_| parameters.without_class(settings, parameter));
    if is_same {
        return Ok(Edited { path, before: old_text.clone(), after: old_text, warning, effect: None });
    }
    let name = format!("{}/{parameter}", parameters.folder);
    let text = after.map(|(_, text)| text.as_bytes());
    let input = OverlaidInput::EtcdKey(format!("{}/{name}", parameters.etcd.prefix()));
    let overlay = Overlay { input, bytes: text.map(Into::into) };
    let effect = look(settings, &overlay, Touched::OfClass(&parameters.class), options)?;
    if !options.test {
        parameters.etcd.change(&name, before_revision, text)?;
    }
    // The old value may be no YAML: the texts must differ all the same.
    let old_text = if old_text == new_text { Some(Vec::new()) } else { old_text };
    Ok(Edited { path, before: old_text, after: new_text, warning, effect })
}

impl Parameters {
    fn of(settings: &Settings, file: ClusterFile<'_>) -> Result<Parameters> {
        let etcd = Etcd::of(settings)?.ok_or_else(|| {
            let message = "the store 'etcd' needs the addresses of its servers".into();
            Error::from(Fault::new(Kind::StorageOption { setting: "etcd_endpoints".into(), message }))
        })?;
        let path = relative(settings, file)?.with_extension("");
        let class = path.to_string_lossy().replace('/', ".");
        let class = class.strip_suffix(".init").unwrap_or(&class);
        let folder = format!("classes/{class}/{}", PARAMETERS[1]);
        Ok(Parameters { etcd, class: class.to_owned(), folder })
    }

    /// The warning for a class without a file. Classes in git are left to lint.
    fn without_class(&self, settings: &Settings, parameter: &str) -> Option<String> {
        let (folders, _) = source::roots(settings).ok()?;
        let listing = folders::list(&folders, TreeLimits::of(settings)).ok()?;
        let classes = catalog::classes(&listing);
        if classes.get(&self.class).is_some() {
            return None;
        }
        let names = classes.keys().map(|name| name as &str);
        let help = similar::class(&self.class, names).map(|name| format!("; '{name}' is similar"));
        let (class, prefix, folder) = (&self.class, self.etcd.prefix(), &self.folder);
        let help = help.unwrap_or_default();
        Some(format!("there is no class '{class}' for the key '{prefix}/{folder}/{parameter}'{help}"))
    }

    /// The names of a key below the folder.
    fn names<'k>(&self, key: &'k EtcdKey) -> Option<Vec<&'k str>> {
        let rest = key.key.strip_prefix(self.etcd.prefix())?.strip_prefix('/')?;
        let names: Vec<_> = rest.strip_prefix(self.folder.as_str())?.strip_prefix('/')?.split('/').collect();
        (names.len() <= DEEPEST_KEY).then_some(names)
    }

    fn shown(&self, parameter: &str) -> String {
        format!("etcd {}/{}/{parameter}", self.etcd.prefix(), self.folder)
    }
}

/// The parameters in the form of a class file.
fn within(parameters: Value) -> Value {
    PARAMETERS
        .iter()
        .rev()
        .fold(parameters, |value, name| Value::map(Map::from_iter([(Key::from(*name), value)])))
}

fn value_of(key: &EtcdKey) -> Result<Value> {
    let shown = format!("etcd {} revision {}", key.key, key.revision);
    Ok(read(&key.value, &display(shown.as_ref()))?.unwrap_or_default())
}

/// A value as a YAML document that reads as the same value.
fn text_of(value: &Value) -> Option<String> {
    let text = emit(value, &EmitOptions { pretty: true, no_refs: true });
    // The mark of the end of a document, which PyYAML writes after a plain scalar.
    let short = text.trim_end_matches('\n');
    let short = short.strip_suffix("\n...").unwrap_or(short);
    let reads = |text: &str| parse_value(text).is_ok_and(|read| indistinguishable(&read, value));
    [short, &text].into_iter().find(|text| reads(text)).map(str::to_owned)
}

fn refused(change: &Change, reason: &str) -> Error {
    change.refused(reason).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_as_a_document_that_reads_the_same() {
        for (text, written) in [
            ("10.0.0.5", "10.0.0.5"),
            ("yes", "true"),
            ("'yes'", "'yes'"),
            ("''", "''"),
            ("~", "null"),
            ("- a\n- {b: 1}", "- a\n- b: 1"),
            ("|\n  two\n  lines\n", "'two\n\n  lines\n\n  '"),
        ] {
            let value = parse_value(text).expect("YAML");
            assert_eq!(text_of(&value).as_deref(), Some(written), "{text}");
        }
    }
}
