//! Automatic parameters: the name and environment of a node as parameters below `_reclass_` (ruling S12).

use std::sync::Arc;

use crate::engine::sequence::AUTOMATIC;
use crate::model::catalog::CatalogEntry;
use crate::model::interner::Interner;
use crate::model::merge::{Prefixes, normalize};
use crate::model::slot::{Entries, MapSlot, RawSlot, Slot, from_value};
use crate::model::template::Parsed;
use reclass_base::settings::Settings;
use reclass_base::source::Origin;
use reclass_base::value::{Key, Text, Value};

/// `_reclass_: {name: {full, short, path, parts}, environment}` as one layer's parameters. All nodes share the
/// keys of these maps.
pub fn parameters(
    item: &CatalogEntry,
    environment: &Value,
    settings: &Settings,
    interner: &Interner,
) -> Arc<MapSlot> {
    let parts = item.parts(settings);
    let composed = settings.compose_node_name || settings.compat_flags.split_literal_dots;
    let short = if composed {
        parts.last().cloned().unwrap_or_else(|| item.name.clone())
    } else {
        // Salt's users have a fork that takes the first label. kapicorp takes the last one.
        item.name.split('.').next().unwrap_or_default().into()
    };
    let prefixes = Prefixes::new(settings);
    let map = |entries: Vec<(&str, Slot)>| {
        let entries = entries.into_iter().map(|(key, slot)| (Key::from(key), slot));
        let mut entries: Entries = entries.collect();
        interner.share_keys(&mut entries);
        // A setting may make any character a prefix, even a letter.
        Arc::new(if entries.keys().any(|key| prefixes.is_prefixed(key)) {
            normalize(&RawSlot::new(entries, Origin::NONE), &prefixes)
        } else {
            MapSlot::new(entries, Origin::NONE, false)
        })
    };
    let value = |value| Slot::Value(value, Origin::NONE);
    let name = map(vec![
        ("full", value(Value::Str(item.name.clone()))),
        ("short", value(Value::Str(short))),
        ("path", value(Value::text(join(&parts)))),
        ("parts", value(Value::list(parts.into_iter().map(Value::Str).collect()))),
    ]);
    let environment = self::environment(environment, settings);
    let about = map(vec![("name", Slot::Map(name)), ("environment", environment)]);
    map(vec![(AUTOMATIC, Slot::Map(about))])
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
pub fn join(parts: &[Text]) -> String {
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
