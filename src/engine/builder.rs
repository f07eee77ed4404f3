//! Opens an inventory: the one way from options or settings to an [`Inventory`]. Nothing is read before the first
//! question.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::engine::database::Database;
use crate::engine::inputs::Inputs;
use crate::engine::trees::LastFetch;
use crate::engine::{Inventory, ignored};
use crate::model::configuration;
use crate::storage::git::revision::Revision;
use crate::storage::location::TreeLocations;
use crate::storage::overlay::Overlay;
use reclass_base::error::{Error, MAX_FAULTS, Result, Warning, truncate_faults};
use reclass_base::settings::{Settings, TABLE};
use reclass_base::value::{Map, Value};

/// An inventory that is not open yet.
#[derive(Debug)]
pub struct InventoryBuilder<'a> {
    source: OpenedFrom<'a>,
    revision: Option<Arc<Revision>>,
    locations: Option<Arc<TreeLocations>>,
    files_of: Option<&'a Inputs>,
    overlay: Option<Overlay>,
    commits: Option<LastFetch>,
}

#[derive(Debug)]
enum OpenedFrom<'a> {
    Options { options: &'a Map, commits: bool },
    Settings(Arc<Settings>),
}

impl<'a> InventoryBuilder<'a> {
    /// Of options, which are checked.
    pub fn new(options: &'a Map) -> InventoryBuilder<'a> {
        InventoryBuilder::of(OpenedFrom::Options { options, commits: false })
    }

    /// Of checked settings.
    pub fn of_settings(settings: Arc<Settings>) -> InventoryBuilder<'a> {
        InventoryBuilder::of(OpenedFrom::Settings(settings))
    }

    fn of(source: OpenedFrom<'a>) -> InventoryBuilder<'a> {
        InventoryBuilder {
            source,
            revision: None,
            locations: None,
            files_of: None,
            overlay: None,
            commits: None,
        }
    }

    /// With files that are in memory alone: texts by their paths below the `inventory_base_uri` of the options. No
    /// folder of that name has to exist.
    #[must_use]
    pub fn in_memory(self, texts: &BTreeMap<String, String>) -> InventoryBuilder<'a> {
        let OpenedFrom::Options { options, .. } = &self.source else { return self };
        let base = options.get("inventory_base_uri").and_then(Value::as_str).unwrap_or("/");
        let revision = Some(Arc::new(Revision::in_memory(Path::new(base), texts)));
        InventoryBuilder { revision, ..self }
    }

    /// With its folders as they are in a revision of the repository that contains them.
    #[must_use]
    pub fn at(self, revision: Option<Arc<Revision>>) -> InventoryBuilder<'a> {
        InventoryBuilder { revision, ..self }
    }

    /// With the commits of folders in a repository in place of their files, if `serve` tests commits.
    #[must_use]
    pub fn with_commits(mut self, read: bool) -> InventoryBuilder<'a> {
        if let OpenedFrom::Options { commits, .. } = &mut self.source {
            *commits = read;
        }
        self
    }

    /// Shares the files that others have read: they are not read again, and their layers are in memory once.
    #[must_use]
    pub fn files_of(self, inputs: &'a Inputs) -> InventoryBuilder<'a> {
        InventoryBuilder { files_of: Some(inputs), ..self }
    }

    /// Shares repositories, and what is known of their last fetches.
    #[must_use]
    pub(crate) fn locations(self, locations: Arc<TreeLocations>) -> InventoryBuilder<'a> {
        InventoryBuilder { locations: Some(locations), ..self }
    }

    /// With the commits of a state, if it has fixed ones.
    #[must_use]
    pub fn like(self, state: Option<&Inventory>) -> InventoryBuilder<'a> {
        let Some(state) = state else { return self };
        let builder = self.with_commits(state.settings().commits);
        match state.commits() {
            Some(commits) => {
                InventoryBuilder { commits: Some(commits), ..builder.locations(state.locations.clone()) }
            }
            None => builder,
        }
    }

    /// With an input in another state than it has.
    #[must_use]
    pub fn overlay(self, overlay: Overlay) -> InventoryBuilder<'a> {
        InventoryBuilder { overlay: Some(overlay), ..self }
    }

    /// Opens the inventory.
    ///
    /// # Errors
    ///
    /// All wrong settings, together.
    pub fn open(self) -> Result<Inventory> {
        let (settings, mut warnings) = self.source.settings()?;
        let locations = match self.locations {
            Some(locations) => Ok(locations),
            None => TreeLocations::of(&settings, self.revision.clone()).map(Arc::new),
        };
        let mut database = Database::new(settings.clone(), locations)?;
        if let Some(inputs) = self.files_of {
            database.inputs.take_files(inputs);
        }
        if let Some(overlay) = self.overlay {
            database.inputs.set_overlay(overlay);
        }
        if let OpenedFrom::Options { options, .. } = self.source {
            warnings.extend(configuration::unread_file(options, &settings));
            warnings.extend(ignored::warnings(&settings));
            warnings.extend(database.inputs.trees.locations.warnings.iter().cloned());
            truncate_faults(&mut warnings, MAX_FAULTS);
        }
        let inventory = Inventory::new(settings, warnings, database)?;
        Ok(match self.commits {
            Some(commits) => inventory.at(commits),
            None => inventory,
        })
    }
}

impl OpenedFrom<'_> {
    fn settings(&self) -> Result<(Arc<Settings>, Vec<Warning>)> {
        let (options, commits) = match self {
            OpenedFrom::Settings(settings) => return Ok((settings.clone(), Vec::new())),
            OpenedFrom::Options { options, commits } => (*options, *commits),
        };
        let (mut settings, warnings) =
            Settings::from_options(options).map_err(|error| with_further_faults(options, error))?;
        let has_folders = &*settings.storage_type == "yaml_fs" && settings.git_revision.is_none();
        settings.commits = commits && has_folders && &*settings.serve != "now";
        Ok((Arc::new(settings), warnings))
    }
}

/// Adds to an error about settings the errors of the other settings.
fn with_further_faults(options: &Map, error: Error) -> Error {
    /// These settings depend on one another, so one wrong setting excuses the others.
    const PLACES: [&str; 4] = ["storage_type", "inventory_base_uri", "nodes_uri", "classes_uri"];
    let mut wrong: Vec<&str> = error.faults().iter().filter_map(|fault| Some(fault.setting()?.0)).collect();
    if PLACES.iter().any(|name| wrong.contains(name)) {
        wrong.extend(PLACES);
    }
    let rows = TABLE.iter().filter(|row| wrong.contains(&row.name));
    let names: Vec<&str> =
        rows.flat_map(|row| std::iter::once(&row.name).chain(row.aliases)).copied().collect();
    let rest = options.iter().filter(|(key, _)| key.as_str().is_none_or(|key| !names.contains(&key)));
    let rest: Map = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
    let rest = Settings::from_options(&rest).ok();
    let more = rest.and_then(|(settings, _)| {
        let locations = TreeLocations::of(&settings, None).map(Arc::new);
        Database::new(Arc::new(settings), locations).err()
    });
    Error::new(error.into_faults().into_iter().chain(more.into_iter().flat_map(Error::into_faults)).collect())
}
