//! A side turns a revision, a folder or `.` into an inventory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Group, Section};
use crate::analysis::explain::{ValuePlace, ValuePlaces, Wanted, environment, places, values_without};
use crate::base::error::{Error, Fault, Kind, Link, Result};
use crate::base::settings::{FILE_NAMES, LARGEST_FILE, Settings};
use crate::base::source::Site;
use crate::base::value::{Key, Map, Value};
use crate::engine::Inventory;
use crate::engine::node::{Computation, NodeRequest};
use crate::output::redact::Redaction;
use crate::storage::fs;
use crate::storage::git::revision::Checkout;

/// One side of a comparison.
#[derive(Debug)]
pub struct Side {
    /// The inventory.
    pub inventory: Inventory,
    checkout: Option<Checkout>,
    /// The settings file in the base folder.
    pub(super) settings_file: Option<SettingsFile>,
}

/// A settings file: its path, and what is in it.
pub type SettingsFile = (String, Vec<u8>);

/// Makes the options of a state from the settings file in its base folder.
pub type OwnOptions<'o> = dyn Fn(Option<&SettingsFile>) -> Result<Map> + Sync + 'o;

fn settings_file(base: &Path) -> Option<SettingsFile> {
    FILE_NAMES.iter().find_map(|name| {
        let path = base.join(name);
        let (bytes, _) = fs::read(&path, LARGEST_FILE).ok()?;
        Some((fs::display(&path), bytes))
    })
}

impl Side {
    /// Opens a side: `.` is the inventory that the options describe, a folder that exists is the
    /// base of an inventory with the same settings, anything else a revision of the repository
    /// that holds the inventory, or of those that its settings name. With `own`, the settings of a folder
    /// or a revision are those of the file in its base folder.
    pub fn open(options: &Map, name: &str, own: Option<&OwnOptions<'_>>) -> Result<Side> {
        let mut options = options.clone();
        // It is asked once: nothing has to be watched.
        let once = (Key::from("cache"), Value::text("stat"));
        options.extend([once.clone()]);
        if name == "." || Path::new(name).is_dir() {
            let folder = (Key::from("inventory_base_uri"), Value::text(name));
            if name != "." {
                if let Some(own) = own {
                    options = own(settings_file(Path::new(name)).as_ref())?;
                }
                options.extend([once, folder]);
            }
            let inventory = Inventory::open(&options)?;
            let base = inventory.settings().inventory_base_uri.as_deref();
            let settings_file = base.and_then(|base| settings_file(Path::new(base)));
            return Ok(Side { inventory, checkout: None, settings_file });
        }
        let (mut settings, _) = Settings::from_options(&options)?;
        if &*settings.storage_type != "yaml_fs" {
            return Side::of_repositories(&mut options, name);
        }
        let base = settings.inventory_base_uri.clone();
        let nodes = fs::roots(base.as_deref(), &settings.nodes_uri, "nodes_uri")?;
        let here = nodes.iter().find_map(|folder| existing(folder)).unwrap_or_else(|| PathBuf::from("."));
        let checkout = Checkout::of(name, &here)?;
        let folder = base.as_deref().and_then(|base| fs::absolute(None, Path::new(base)));
        let settings_file = folder.and_then(|folder| settings_file(&checkout.place(&folder)));
        let settings_file = settings_file.map(|(path, bytes)| (checkout.shown(&path), bytes));
        if let Some(own) = own {
            options = own(settings_file.as_ref())?;
            options.extend([once]);
            settings = Settings::from_options(&options)?.0;
        }
        for (setting, uri) in [("nodes_uri", &settings.nodes_uri), ("classes_uri", &settings.classes_uri)] {
            let folders = fs::roots(base.as_deref(), uri, setting)?;
            let texts = folders.iter().map(|folder| Value::text(fs::display(&checkout.place(folder))));
            options.insert(setting.into(), Value::list(texts.collect()));
        }
        let inventory = Inventory::open(&options)?;
        Ok(Side { inventory, checkout: Some(checkout), settings_file })
    }

    /// The inventory with those of its repositories that have the revision at that.
    fn of_repositories(options: &mut Map, revision: &str) -> Result<Side> {
        options.insert("git_revision".into(), Value::text(revision));
        let inventory = Inventory::open(options)?;
        if !inventory.has_revision()? {
            let message = "no repository of the inventory has it".into();
            return Err(Fault::new(Kind::Revision { revision: revision.into(), message }).into());
        }
        Ok(Side { inventory, checkout: None, settings_file: None })
    }

    /// Fills in where the values of changes stand on this side, and hides those that secrets have a part in.
    pub(super) fn place(
        &self,
        groups: &mut [Group],
        computation: &Computation<'_>,
        redaction: &Redaction,
        old: bool,
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
            self.place_values(&mut values, &of, redaction, old);
            self.place_names(&mut names, &of, old);
        }
    }

    /// The same for parameters and exports of one node.
    fn place_values(
        &self,
        groups: &mut [&mut Group],
        of: &ValuePlaces<'_>,
        redaction: &Redaction,
        old: bool,
    ) {
        let indexes = |group: &Group| -> Vec<usize> {
            let items = group.change.items.iter().filter(|item| item.added != old);
            items.map(|item| item.index).collect()
        };
        let asked: Vec<Wanted> = groups
            .iter()
            .map(|group| Wanted {
                path: group.change.path.clone(),
                export: group.change.section == Section::Exports,
                items: indexes(group),
            })
            .collect();
        let told = places(of, &asked);
        let without = if redaction.secrets.is_none() {
            vec![None; asked.len()]
        } else {
            values_without(of, &asked, &redaction.secrets)
        };
        for ((group, told), without) in groups.iter_mut().zip(told).zip(without) {
            let value = if old { &mut group.change.old } else { &mut group.change.new };
            if let Some(value) = value {
                *value = redaction.unchanged(value, without.as_ref());
            }
            let place = told.place.map(|place| self.moved(place));
            if old {
                group.old_place = place;
            } else {
                group.new_place = place;
            }
            let items = group.change.items.iter_mut().filter(|item| item.added != old);
            for (item, place) in items.zip(told.items) {
                item.place = place.map(|place| self.moved(place));
            }
        }
    }

    /// The same for the environment, the classes and the applications.
    fn place_names(&self, groups: &mut [&mut Group], of: &ValuePlaces<'_>, old: bool) {
        for group in groups {
            if group.change.section == Section::Environment {
                let place = environment(of.computation(), of.layers(), None).place;
                let place = place.map(|place| self.moved(place));
                if old {
                    group.old_place = place;
                } else {
                    group.new_place = place;
                }
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
                item.place = places.get(&name).map(|place| self.moved(place.clone()));
            }
        }
    }

    /// A place with the paths of a revision as such.
    fn moved(&self, mut place: ValuePlace) -> ValuePlace {
        place.site = place.site.as_ref().map(|site| self.site(site));
        place.chain.iter_mut().for_each(|link| self.link(link));
        place
    }

    /// A problem with the paths of a revision as such.
    pub(super) fn show(&self, fault: &mut Fault) {
        for path in fault.kind.paths_mut() {
            *path = self.shown(path);
        }
        fault.site = fault.site.as_ref().map(|site| self.site(site));
        fault.chain.iter_mut().for_each(|link| self.link(link));
        for note in &mut fault.notes {
            note.site = note.site.as_ref().map(|site| self.site(site));
        }
        fault.causes.iter_mut().for_each(|cause| self.show(cause));
    }

    /// An error with the paths of a revision as such.
    pub(super) fn named(&self, mut error: Error) -> Error {
        error.faults_mut().iter_mut().for_each(|fault| self.show(fault));
        error
    }

    /// A text with the paths of a revision as such.
    pub fn shown(&self, text: &str) -> String {
        self.checkout.as_ref().map_or_else(|| text.to_owned(), |checkout| checkout.shown(text))
    }

    fn site(&self, site: &Site) -> Site {
        Site { path: Arc::from(self.shown(&site.path)), ..*site }
    }

    fn link(&self, link: &mut Link) {
        link.site = link.site.as_ref().map(|site| self.site(site));
    }
}

/// The folder, or the nearest one around it that exists.
fn existing(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.is_dir()).map(Path::to_path_buf)
}
