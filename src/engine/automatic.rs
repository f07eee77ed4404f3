//! Automatic parameters: what a node knows of itself under `_reclass_` (ruling S12).

use std::sync::Arc;

use crate::base::settings::Settings;
use crate::base::source::Origin;
use crate::base::table::Table;
use crate::base::value::{Key, Text, Value};
use crate::engine::linearize::AUTOMATIC;
use crate::model::catalog::CatalogEntry;
use crate::model::merge::{Prefixes, normalize};
use crate::model::slot::{MapSlot, RawSlot, Slot, from_value};
use crate::model::template::Parsed;

/// The keys of the automatic parameters, the same for all nodes.
#[derive(Debug)]
pub struct AutomaticKeys {
    outer: Table<()>,
    about: Table<()>,
    name: Table<()>,
}

impl Default for AutomaticKeys {
    fn default() -> AutomaticKeys {
        let table = |keys: &[&str]| keys.iter().map(|key| (Key::from(*key), ())).collect();
        AutomaticKeys {
            outer: table(&[AUTOMATIC]),
            about: table(&["name", "environment"]),
            name: table(&["full", "short", "path", "parts"]),
        }
    }
}

/// `_reclass_: {name: {full, short, path, parts}, environment}` as one layer's parameters.
pub fn parameters(
    item: &CatalogEntry,
    environment: &Value,
    settings: &Settings,
    keys: &AutomaticKeys,
) -> Arc<MapSlot> {
    let parts = item.parts(settings);
    let composed = settings.compose_node_name || settings.compat_flags.split_literal_dots;
    let short = if composed {
        parts.last().cloned().unwrap_or_else(|| item.name.clone())
    } else {
        // The first label, as the fork that Salt's users run has it; kapicorp takes the last.
        item.name.split('.').next().unwrap_or_default().into()
    };
    let path = Value::text(join(&parts));
    let parts = Value::list(parts.into_iter().map(Value::Str).collect());
    let names = [Value::Str(item.name.clone()), Value::Str(short), path, parts];
    let prefixes = Prefixes::new(settings);
    let name = map(&keys.name, names.map(|value| Slot::Value(value, Origin::NONE)).into(), &prefixes);
    let about = map(&keys.about, vec![name, self::environment(environment, settings)], &prefixes);
    match map(&keys.outer, vec![about], &prefixes) {
        Slot::Map(map) => map,
        _ => Arc::default(),
    }
}

/// A map whose keys all nodes share.
fn map(keys: &Table<()>, values: Vec<Slot>, prefixes: &Prefixes) -> Slot {
    let entries = Table::with_keys_of(keys, values).unwrap_or_default();
    // Prefixes are settings: even a letter may be one.
    let map = if entries.keys().any(|key| prefixes.is_prefixed(key)) {
        normalize(&RawSlot::new(entries, Origin::NONE), prefixes)
    } else {
        MapSlot::new(entries, Origin::NONE, false)
    };
    Slot::Map(Arc::new(map))
}

/// The forks look for references in `_reclass_:environment` as in any parameter, though not in
/// the `environment` of the result. The name of a node stays what it is: it is a key.
fn environment(environment: &Value, settings: &Settings) -> Slot {
    if let Value::Str(text) = environment
        && let Ok(Parsed::Template(template)) = crate::model::template::parse(text, settings)
    {
        return Slot::Text(template, Origin::NONE);
    }
    from_value(environment, Origin::NONE)
}

/// Python's `os.path.join`.
fn join(parts: &[Text]) -> String {
    let mut path = String::new();
    for (index, part) in parts.iter().enumerate() {
        if part.starts_with('/') {
            path.clear();
        } else if index > 0 && !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(part);
    }
    path
}
