//! Opens one side of a comparison: a revision, a folder or `.`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::groups::Group;
use super::values::Section;
use crate::explain::{ValuePlaces, Wanted, environment, places, values_without};
use reclass::parts::engine::{Computation, NodeRequest};
use reclass::parts::storage::{Revision, fs};
use reclass::redact::Redaction;
use reclass::{Inventory, InventoryBuilder};
use reclass_base::error::{Error, Fault, Kind, Note, Result};
use reclass_base::settings::{FILE_NAMES, LARGEST_FILE, Settings};
use reclass_base::similar;
use reclass_base::value::{Key, Map, Value};

/// One side of a comparison.
#[derive(Debug)]
pub struct Side {
    /// The inventory.
    pub inventory: Inventory,
    /// The settings file in the base folder.
    pub(super) settings_file: Option<SettingsFile>,
}

/// A settings file: its path and content.
pub type SettingsFile = (String, Vec<u8>);

/// Builds the options of a state from the settings file in its base folder.
pub type OwnOptions<'o> = dyn Fn(Option<&SettingsFile>) -> Result<Map> + Sync + 'o;

fn settings_file(base: &Path, revision: Option<&Revision>) -> Option<SettingsFile> {
    FILE_NAMES.iter().find_map(|name| {
        if let Some(revision) = revision {
            return revision.read(base, name, LARGEST_FILE);
        }
        let path = base.join(name);
        let (bytes, _) = fs::read(&path, LARGEST_FILE).ok()?;
        Some((fs::display(&path), bytes))
    })
}

impl Side {
    /// Opens a side. `.` is the inventory of the options. An existing folder is the base of an inventory with
    /// the same settings. Anything else is a revision of the repository that holds the inventory, or of the
    /// repositories in its settings. With `own`, a folder or a revision uses the settings file in its own
    /// base folder.
    pub fn open(options: &Map, name: &str, own: Option<&OwnOptions<'_>>) -> Result<Side> {
        let mut options = options.clone();
        // The inventory is read once, so a watch does not pay off.
        let once = (Key::from("cache"), Value::text("stat"));
        options.extend([once.clone()]);
        if name == "." || Path::new(name).is_dir() {
            let folder = (Key::from("inventory_base_uri"), Value::text(name));
            if name != "." {
                if let Some(own) = own {
                    options = own(settings_file(Path::new(name), None).as_ref())?;
                }
                options.extend([once, folder]);
            }
            let inventory = Inventory::open(&options)?;
            let base = inventory.settings().inventory_base_uri.as_deref();
            let settings_file = base.and_then(|base| settings_file(Path::new(base), None));
            return Ok(Side { inventory, settings_file });
        }
        let (settings, _) = Settings::from_options(&options)?;
        if &*settings.storage_type != "yaml_fs" {
            return Side::of_repositories(&mut options, name);
        }
        let base = settings.inventory_base_uri.clone();
        let nodes = fs::roots(base.as_deref(), &settings.nodes_uri, "nodes_uri")?;
        let here = nodes.iter().find_map(|folder| existing(folder)).unwrap_or_else(|| PathBuf::from("."));
        let revision = Arc::new(Revision::of(name, &here)?);
        let folder = base.as_deref().and_then(|base| fs::absolute(None, Path::new(base)));
        let settings_file = folder.and_then(|folder| settings_file(&folder, Some(&revision)));
        if let Some(own) = own {
            options = own(settings_file.as_ref())?;
            options.extend([once]);
        }
        let inventory = InventoryBuilder::new(&options).at(Some(revision)).open()?;
        Ok(Side { inventory, settings_file })
    }

    /// The inventory with this revision in each repository that has it.
    fn of_repositories(options: &mut Map, revision: &str) -> Result<Side> {
        options.insert("git_revision".into(), Value::text(revision));
        let inventory = Inventory::open(options)?;
        if !inventory.has_revision()? {
            let message = "no repository of the inventory has it".into();
            return Err(Fault::new(Kind::Revision { revision: revision.into(), message }).into());
        }
        Ok(Side { inventory, settings_file: None })
    }
}

/// The error of a side. An unknown revision may be a typing error, or the name of a node, which comes after both
/// states.
pub(super) fn explained(mut error: Error, options: &Map, old: &str, verb: &str) -> Error {
    for fault in error.faults_mut() {
        let Kind::Revision { revision, message } = &fault.kind else { continue };
        if message.starts_with("not a git repository") {
            continue;
        }
        let nodes = Inventory::open(options).and_then(|inventory| inventory.nodes()).unwrap_or_default();
        let names = nodes.iter().map(|node| &**node);
        let short = format!("{revision}.");
        let mut is_node = |node: &&str| **node == **revision || node.starts_with(&short);
        let first = if revision == old { "HEAD" } else { old };
        let command = format!("{verb} {first} .");
        let text = if let Some(node) = names.clone().find(&mut is_node) {
            format!("'{revision}' is a node; nodes come after both states: {command} {node}")
        } else if let Some((one, other)) = revision.split_once("..") {
            format!("the states are two words: {verb} {one} {}", other.trim_start_matches('.'))
        } else {
            let base = options.get("inventory_base_uri").and_then(Value::as_str).unwrap_or(".");
            let mut known = super::revisions(Path::new(base));
            known.push("HEAD".to_owned());
            // The two names of the first branch.
            let other = known.iter().find(|name| {
                matches!((revision.as_str(), name.as_str()), ("master", "main") | ("main", "master"))
            });
            let similar = || similar::nearest(revision, known.iter().map(String::as_str));
            let begin = revision.split(['~', '^']).next().filter(|begin| *begin != revision.as_str());
            match (begin, other.map(String::as_str).or_else(similar), similar::node(revision, names)) {
                (Some(begin), ..) if known.iter().any(|name| name == begin) => {
                    format!("the history of '{begin}' does not go back so far")
                }
                (_, Some(similar), _) => format!("'{similar}' is similar"),
                (.., Some(node)) => {
                    format!("the node '{node}' is similar; nodes come after both states: {command} {node}")
                }
                _ => continue,
            }
        };
        fault.notes.push(Note { text, site: None });
    }
    error
}

/// Fills in the places of the changed values on one side, and hides values that depend on secrets. `form` gives a
/// value of the inventory the form of the compared ones.
pub(crate) fn place(
    groups: &mut [Group],
    computation: &Computation<'_>,
    redaction: &Redaction,
    old: bool,
    form: &dyn Fn(&Value) -> Value,
) {
    let mut wanted: Vec<&mut Group> = groups
        .iter_mut()
        .filter(|group| if old { group.change.old.is_some() } else { group.change.new.is_some() })
        .collect();
    for groups in wanted.chunk_by_mut(|one, other| one.nodes.first() == other.nodes.first()) {
        let Some(node) = groups.first().and_then(|group| group.nodes.first()) else { continue };
        let Ok(layers) = computation.layers(NodeRequest::plain(node)) else { continue };
        let of = ValuePlaces::new(computation, &layers);
        let (mut values, mut names): (Vec<&mut Group>, Vec<&mut Group>) = groups
            .iter_mut()
            .map(|group| &mut **group)
            .partition(|group| matches!(group.change.section, Section::Parameters | Section::Exports));
        place_values(&mut values, &of, redaction, old, form);
        place_names(&mut names, &of, old);
    }
}

/// The same for parameters and exports of one node.
fn place_values(
    groups: &mut [&mut Group],
    of: &ValuePlaces<'_>,
    redaction: &Redaction,
    old: bool,
    form: &dyn Fn(&Value) -> Value,
) {
    let indexes = |group: &Group| -> Vec<usize> {
        let items = group.change.items.iter().filter(|item| item.added != old);
        items.map(|item| item.index).collect()
    };
    let wanted: Vec<Wanted> = groups
        .iter()
        .map(|group| Wanted {
            path: group.change.path_in(old).to_vec(),
            export: group.change.section == Section::Exports,
            items: indexes(group),
        })
        .collect();
    let found = places(of, &wanted);
    let without = if redaction.secrets.is_none() {
        vec![None; wanted.len()]
    } else {
        values_without(of, &wanted, &redaction.secrets)
    };
    for ((group, found), without) in groups.iter_mut().zip(found).zip(without) {
        let value = if old { &mut group.change.old } else { &mut group.change.new };
        if let Some(value) = value {
            *value = redaction.unchanged(value, without.as_ref().map(form).as_ref());
        }
        *(if old { &mut group.old_place } else { &mut group.new_place }) = found.place;
        let items = group.change.items.iter_mut().filter(|item| item.added != old);
        for (item, place) in items.zip(found.items) {
            item.place = place;
        }
    }
}

/// The same for the environment, the classes and the applications.
fn place_names(groups: &mut [&mut Group], of: &ValuePlaces<'_>, old: bool) {
    for group in groups {
        if group.change.section == Section::Environment {
            let place = environment(of.computation(), of.layers(), None).place;
            *(if old { &mut group.old_place } else { &mut group.new_place }) = place;
        }
        let section = group.change.section;
        let names: Vec<Option<Value>> =
            group.change.items.iter().map(|item| group.change.item(item).cloned()).collect();
        let places = match section {
            Section::Classes => of.classes(),
            Section::Applications => of.applications(),
            Section::Environment | Section::Parameters | Section::Exports => continue,
        };
        let items = group.change.items.iter_mut().zip(names).filter(|(item, _)| item.added != old);
        for (item, name) in items {
            let Some(Value::Str(name)) = name else { continue };
            item.place = places.get(&name).cloned();
        }
    }
}

/// The folder itself, or its nearest ancestor that exists.
fn existing(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.is_dir()).map(Path::to_path_buf)
}
