//! Automatic parameters: the name and environment of a node as parameters below `_reclass_` (ruling S12).

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

/// The keys of the automatic parameters, shared by all nodes.
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
        // Salt's users have a fork that takes the first label. kapicorp takes the last one.
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

/// A map that shares its keys with all nodes.
fn map(keys: &Table<()>, values: Vec<Slot>, prefixes: &Prefixes) -> Slot {
    let entries = Table::with_keys_of(keys, values).unwrap_or_default();
    // A setting may make any character a prefix, even a letter.
    let map = if entries.keys().any(|key| prefixes.is_prefixed(key)) {
        normalize(&RawSlot::new(entries, Origin::NONE), prefixes)
    } else {
        MapSlot::new(entries, Origin::NONE, false)
    };
    Slot::Map(Arc::new(map))
}

/// The forks resolve references in `_reclass_:environment`, as in any parameter, but not in the
/// `environment` of the result. The node name stays literal.
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
