//! Automatic parameters: what a node knows of itself under `_reclass_` (ruling S12).

use std::sync::Arc;

use crate::catalog::Item;
use crate::linearize::AUTOMATIC;
use crate::merge::{Prefixes, map_of_values};
use crate::settings::Settings;
use crate::slot::{MapSlot, Slot};
use crate::source::Origin;
use crate::template::Parsed;
use crate::value::{Map, Text, Value};

/// `_reclass_: {name: {full, short, path, parts}, environment}` as one layer's parameters.
pub fn parameters(item: &Item, environment: &Value, settings: &Settings) -> Arc<MapSlot> {
    let parts = item.parts(settings);
    let composed = settings.compose_node_name || settings.compat_flags.split_literal_dots;
    let short = if composed {
        parts.last().cloned().unwrap_or_else(|| item.name.clone())
    } else {
        // The first label, as the fork that Salt's users run has it; kapicorp takes the last.
        item.name.split('.').next().unwrap_or_default().into()
    };
    let mut name = Map::default();
    name.insert("full".into(), Value::Str(item.name.clone()));
    name.insert("short".into(), Value::Str(short));
    name.insert("path".into(), Value::text(join(&parts)));
    name.insert("parts".into(), Value::list(parts.iter().cloned().map(Value::Str).collect()));
    let mut about = Map::default();
    about.insert("name".into(), Value::map(name));
    about.insert("environment".into(), environment.clone());
    let mut map = Map::default();
    map.insert(AUTOMATIC.into(), Value::map(about));
    let parameters = map_of_values(&map, Origin::NONE, &Prefixes::new(settings));
    Arc::new(interpolated(parameters, environment, settings))
}

/// The forks look for references in `_reclass_:environment` as in any parameter, though not in
/// the `environment` of the result. The name of a node stays what it is: it is a key.
fn interpolated(parameters: MapSlot, environment: &Value, settings: &Settings) -> MapSlot {
    let Value::Str(text) = environment else { return parameters };
    let Ok(Parsed::Template(template)) = crate::template::parse(text, settings) else { return parameters };
    let Some(Slot::Map(about)) = parameters.entries.get(AUTOMATIC) else { return parameters };
    let mut entries = about.entries.clone();
    entries.insert("environment".into(), Slot::Text(template, Origin::NONE));
    let about = Slot::Map(Arc::new(MapSlot::new(entries, Origin::NONE, false)));
    MapSlot::new(std::iter::once((AUTOMATIC.into(), about)).collect(), Origin::NONE, false)
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
