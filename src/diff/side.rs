//! A side turns a revision, a folder or `.` into an inventory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Change, Group, Section};
use crate::engine::Inventory;
use crate::error::{Fault, Kind, Link, Result};
use crate::explain::{Place, Places, places};
use crate::settings::Settings;
use crate::source::Site;
use crate::storage::fs;
use crate::storage::git::revision::Checkout;
use crate::value::{Map, Value};

/// One side of a comparison.
#[derive(Debug)]
pub struct Side {
    /// The inventory.
    pub inventory: Inventory,
    checkout: Option<Checkout>,
}

impl Side {
    /// Opens a side: `.` is the inventory that the options describe, a folder that exists is the
    /// base of an inventory with the same settings, anything else a revision of the repository
    /// that holds the inventory, or of those that its settings name.
    pub fn open(options: &Map, name: &str) -> Result<Side> {
        let mut options = options.clone();
        // It is asked once: nothing has to be watched.
        options.insert("cache".into(), Value::text("stat"));
        if name == "." {
            return Ok(Side { inventory: Inventory::open(&options)?, checkout: None });
        }
        if Path::new(name).is_dir() {
            options.insert("inventory_base_uri".into(), Value::text(name));
            return Ok(Side { inventory: Inventory::open(&options)?, checkout: None });
        }
        let (settings, _) = Settings::from_options(&options)?;
        if &*settings.storage_type != "yaml_fs" {
            return Side::of_repositories(&mut options, name);
        }
        let base = settings.inventory_base_uri.as_deref();
        let nodes = fs::roots(base, &settings.nodes_uri, "nodes_uri")?;
        let classes = fs::roots(base, &settings.classes_uri, "classes_uri")?;
        let here = nodes.iter().find_map(|folder| existing(folder)).unwrap_or_else(|| PathBuf::from("."));
        let checkout = Checkout::of(name, &here)?;
        let moved = |folders: &[PathBuf]| {
            let texts = folders.iter().map(|folder| Value::text(fs::display(&checkout.place(folder))));
            Value::list(texts.collect())
        };
        options.insert("nodes_uri".into(), moved(&nodes));
        options.insert("classes_uri".into(), moved(&classes));
        let inventory = Inventory::open(&options)?;
        Ok(Side { inventory, checkout: Some(checkout) })
    }

    /// The inventory with those of its repositories that have the revision at that.
    fn of_repositories(options: &mut Map, revision: &str) -> Result<Side> {
        options.insert("git_revision".into(), Value::text(revision));
        let inventory = Inventory::open(options)?;
        if !inventory.has_revision()? {
            let message = "no repository of the inventory has it".into();
            return Err(Fault::new(Kind::Revision { revision: revision.into(), message }).into());
        }
        Ok(Side { inventory, checkout: None })
    }

    /// Fills in where the values of changes stand on this side.
    pub(super) fn place(&self, groups: &mut [Group], old: bool) -> Result<()> {
        let wanted: Vec<(usize, String, &Change)> = groups
            .iter()
            .enumerate()
            .filter(|(_, group)| if old { group.change.old.is_some() } else { group.change.new.is_some() })
            .filter(|(_, group)| matches!(group.change.section, Section::Parameters | Section::Exports))
            .filter_map(|(at, group)| Some((at, group.nodes.first()?.to_string(), &group.change)))
            .collect();
        let found: Vec<(usize, Option<Place>)> = self.inventory.inspect(|computation| {
            let mut found = Vec::new();
            for rest in wanted.chunk_by(|one, other| one.1 == other.1) {
                let Some((_, node, _)) = rest.first() else { continue };
                let Ok(layers) = computation.layers(node, None, None, false) else { continue };
                let asked = rest
                    .iter()
                    .map(|(_, _, change)| (change.path.as_slice(), change.section == Section::Exports));
                let asked: Vec<_> = asked.collect();
                let told = places(&Places::new(computation, &layers), &asked);
                found.extend(rest.iter().zip(told).map(|((at, _, _), place)| (*at, place)));
            }
            found
        })?;
        for (at, place) in found {
            let place = place.map(|mut place| {
                place.site = place.site.as_ref().map(|site| self.site(site));
                place.chain.iter_mut().for_each(|link| self.link(link));
                place
            });
            if old {
                groups[at].old_place = place;
            } else {
                groups[at].new_place = place;
            }
        }
        Ok(())
    }

    /// A problem with the paths of a revision as such.
    pub(super) fn show(&self, fault: &mut Fault) {
        fault.site = fault.site.as_ref().map(|site| self.site(site));
        fault.chain.iter_mut().for_each(|link| self.link(link));
        for note in &mut fault.notes {
            note.site = note.site.as_ref().map(|site| self.site(site));
        }
        fault.causes.iter_mut().for_each(|cause| self.show(cause));
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
