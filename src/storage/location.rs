//! Locations: interprets `nodes_uri` and `classes_uri` for each storage type as folders and branches, one
//! location for the nodes and one for the classes of each environment.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::fs::{self, display};
use super::git::remote::Remote;
use super::git::revision::Revision;
use super::git::{Login, Policy, Repository};
use reclass_base::error::{Error, Fault, Kind, Result, Warning};
use reclass_base::settings::Settings;
use reclass_base::value::{Key, Map, Text, Value};

/// The location of a tree of files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TreeLocation {
    /// In folders.
    Folders(Vec<PathBuf>),
    /// In a repository.
    Git(Branch),
}

/// The location of a tree in a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The index of the repository.
    pub repository: usize,
    /// The written `repo`, without a password.
    pub repo: Text,
    /// The branch; `None` for the branch with the name of the environment.
    pub branch: Option<Text>,
    /// The folder in the repository, with `/`; empty for the top.
    pub root: Text,
    /// Whether the settings name a folder: names and paths begin at the root, as on the disk.
    pub of_folder: bool,
}

/// The locations of an inventory.
#[derive(Debug, Default)]
pub struct TreeLocations {
    /// The nodes; `None` without a place for them.
    pub nodes: Option<TreeLocation>,
    /// The classes. The first location is the default; those of `env_overrides` follow.
    pub classes: Vec<TreeLocation>,
    /// The environments of `env_overrides`, with indexes into `classes`.
    overrides: Vec<(Key, usize)>,
    /// The schemas of parameters, if there is a place for them.
    pub schemas: Option<TreeLocation>,
    /// The folders of formulas that have schemas.
    pub formulas: Vec<PathBuf>,
    /// The repositories that places are in.
    pub repositories: Vec<Repository>,
    /// The revision that replaces the folders in its repository.
    pub revision: Option<Arc<Revision>>,
    /// The warnings about the settings.
    pub warnings: Vec<Warning>,
}

/// The default branch of nodes, and of classes without environment.
pub const MASTER: &str = "master";
/// Means the branch with the name of the environment.
const ENVIRONMENT: &str = "__env__";
/// Means the branch, tag or commit that is checked out in the repository, or the default branch of a server.
const HEAD: &str = "HEAD";
/// The options of a tree in a repository.
const TREE_OPTIONS: [&str; 8] =
    ["repo", "branch", "root", "cache_dir", "lock_dir", "privkey", "pubkey", "password"];

/// The options of one tree. Earlier maps override later ones.
#[derive(Clone, Copy)]
struct TreeOptions<'a> {
    setting: &'static str,
    maps: &'a [&'a Map],
}

impl TreeOptions<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.maps.iter().find_map(|map| map.get(name))
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(Kind::StorageOption { setting: self.setting.into(), message: message.into() })
    }

    /// A fault about an option that is set.
    fn option_fault(&self, name: &str, message: impl Into<String>) -> Fault {
        Fault { setting: Some((self.setting, name.into())), ..self.fault(message) }
    }

    /// A string option; `None` if it is null.
    fn text(&self, name: &str) -> Result<Option<&Text>> {
        match self.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Str(text)) if !text.is_empty() => Ok(Some(text)),
            Some(_) => {
                Err(self.option_fault(name, format!("'{name}' must be a string that is not empty")).into())
            }
        }
    }

    fn path(&self, name: &str, base: Option<&str>) -> Result<Option<PathBuf>> {
        let path = self.text(name)?.map(|text| fs::absolute(base, Path::new(&**text)));
        path.map(|path| path.ok_or_else(|| self.fault("the current folder is gone").into())).transpose()
    }
}

impl TreeLocations {
    /// The locations in the settings, with folders as they are in `revision`. Reads no file.
    pub fn of(settings: &Settings, revision: Option<Arc<Revision>>) -> Result<TreeLocations> {
        let mut locations = TreeLocations { revision, ..TreeLocations::default() };
        if &*settings.storage_type == "yaml_fs" {
            let nodes = locations.folders_at(settings, &settings.nodes_uri, "nodes_uri")?;
            let classes = locations.folders_at(settings, &settings.classes_uri, "classes_uri")?;
            locations.nodes = Some(nodes);
            locations.classes.push(classes);
        } else {
            let (nodes, _) = locations.mapping(settings, "nodes_uri")?;
            let branch = Some(MASTER.into());
            locations.nodes = Some(locations.location(
                settings,
                TreeOptions { setting: "nodes_uri", maps: &[&nodes] },
                branch,
            )?);
            let (classes, overrides) = locations.mapping(settings, "classes_uri")?;
            let options = TreeOptions { setting: "classes_uri", maps: &[&classes] };
            let location = locations.location(settings, options, None)?;
            locations.classes.push(location);
            for (environment, mut options) in overrides {
                // In `mixed`, an override without a branch has the one of the default location.
                if &*settings.storage_type == "yaml_git" && options.get("branch").is_none() {
                    let branch = reclass_base::pystr::str(&environment.0);
                    options.insert("branch".into(), Value::Str(branch.into()));
                }
                let options = TreeOptions { setting: "classes_uri", maps: &[&options, &classes] };
                let location = locations.location(settings, options, None)?;
                locations.overrides.push((environment, locations.classes.len()));
                locations.classes.push(location);
            }
        }
        locations.check_apart()?;
        locations.add_schemas(settings)?;
        Ok(locations)
    }

    /// The folders in a setting: on the disk, in the revision, or in the commit that is checked out.
    fn folders_at(
        &mut self,
        settings: &Settings,
        uri: &Value,
        setting: &'static str,
    ) -> Result<TreeLocation> {
        let mut folders = fs::roots(settings.inventory_base_uri.as_deref(), uri, setting)?;
        if settings.commits {
            return self.checked_out(settings, setting, &folders);
        }
        if let Some(revision) = &self.revision {
            folders = folders.into_iter().map(|folder| revision.place(folder)).collect();
        }
        Ok(TreeLocation::Folders(folders))
    }

    /// The folder in the commit that is checked out there.
    fn checked_out(
        &mut self,
        settings: &Settings,
        setting: &'static str,
        folders: &[PathBuf],
    ) -> Result<TreeLocation> {
        let refused = |reason: String| {
            let allowed = format!("now, as {reason}");
            Error::from(Fault::new(Kind::SettingValue { name: "serve".into(), allowed, similar: None }))
        };
        let [folder] = folders else { return Err(refused(format!("'{setting}' has several folders"))) };
        let folder = fs::real(folder).unwrap_or_else(|| folder.clone());
        let top = folder.ancestors().find(|outer| outer.join(".git").exists());
        let top = top.ok_or_else(|| refused(format!("'{}' is in no repository of git", display(&folder))))?;
        let options = Map::from_iter([("repo".into(), Value::Str(display(top).into()))]);
        let options = TreeOptions { setting, maps: &[&options] };
        let branch = self.branch(settings, options, Some(HEAD.into()))?;
        let root = folder.strip_prefix(top).map(display).unwrap_or_default();
        Ok(TreeLocation::Git(Branch { root: root.into(), of_folder: true, ..branch }))
    }

    /// Adds the places of schemas. By default they are beside the nodes.
    fn add_schemas(&mut self, settings: &Settings) -> Result<()> {
        const SETTING: &str = "schemas_uri";
        let base = settings.inventory_base_uri.as_deref();
        let placed = |folders: Vec<PathBuf>, revision: Option<&Arc<Revision>>| match revision {
            Some(revision) => folders.into_iter().map(|folder| revision.place(folder)).collect(),
            None => folders,
        };
        if !settings.formula_schemas.is_empty() {
            let formulas = fs::roots(base, &Value::texts(&settings.formula_schemas), "formula_schemas")?;
            self.formulas = placed(formulas, self.revision.as_ref());
        }
        self.schemas = match (&settings.schemas_uri, &self.nodes) {
            (Value::Map(map), _) => {
                let options = TreeOptions { setting: SETTING, maps: &[map] };
                let branch = Some(MASTER.into());
                Some(if &*settings.storage_type == "yaml_fs" {
                    TreeLocation::Git(self.branch(settings, options, branch)?)
                } else {
                    self.location(settings, options, branch)?
                })
            }
            (uri, Some(TreeLocation::Git(_))) if settings.commits => {
                let folders = fs::roots(base, uri, SETTING)?;
                let placed = self.checked_out(settings, SETTING, &folders);
                Some(placed.unwrap_or(TreeLocation::Folders(folders)))
            }
            // Relative to the folder that has the nodes.
            (Value::Str(name), Some(TreeLocation::Git(nodes))) if !nodes.root.is_empty() => {
                let above = nodes.root.rsplit_once('/').map_or("", |(above, _)| above);
                let root = format!("{above}/{}", name.trim_matches('/'));
                let root = root.trim_start_matches('/').into();
                Some(TreeLocation::Git(Branch { root, ..nodes.clone() }))
            }
            (Value::Null, _) | (_, Some(TreeLocation::Git(_)) | None) => None,
            (uri, Some(TreeLocation::Folders(_))) => {
                let folders = fs::roots(base, uri, SETTING)?;
                Some(TreeLocation::Folders(placed(folders, self.revision.as_ref())))
            }
        };
        Ok(())
    }

    /// The index in `classes` for an environment.
    pub fn classes_of(&self, environment: &Value) -> usize {
        if self.overrides.is_empty() {
            return 0;
        }
        let named = match environment {
            // The documentation calls the missing environment `none`.
            Value::Null => Key::from("none"),
            environment => Key(environment.clone()),
        };
        self.overrides.iter().find(|(known, _)| *known == named).map_or(0, |(_, location)| *location)
    }

    /// Whether a path is in a folder of schemas.
    pub fn has_schema(&self, path: &Path) -> bool {
        let folders = match &self.schemas {
            Some(TreeLocation::Folders(folders)) => &folders[..],
            _ => &[],
        };
        folders.iter().chain(&self.formulas).any(|folder| path.starts_with(folder))
    }

    /// The folders of all locations.
    pub fn folders(&self) -> Vec<PathBuf> {
        let locations = self.nodes.iter().chain(&self.classes);
        let folders = locations.filter_map(|location| match location {
            TreeLocation::Folders(folders) => Some(folders),
            TreeLocation::Git(_) => None,
        });
        folders.flatten().cloned().collect()
    }

    /// The options in a setting, and its `env_overrides`.
    fn mapping(&mut self, settings: &Settings, setting: &'static str) -> Result<(Map, Vec<(Key, Map)>)> {
        let uri = if setting == "nodes_uri" { &settings.nodes_uri } else { &settings.classes_uri };
        let Value::Map(map) = uri else {
            let kind = Kind::SettingType {
                name: setting.into(),
                expected: format!("a mapping for storage_type '{}'", settings.storage_type),
                actual: uri.type_name().into(),
            };
            return Err(Fault::new(kind).into());
        };
        let fault = |message: &str| {
            Fault::new(Kind::StorageOption { setting: setting.into(), message: message.into() })
        };
        let mut overrides = Vec::new();
        let expected = "'env_overrides' must be a list of mappings from an environment to options";
        match map.get("env_overrides") {
            None | Some(Value::Null) => {}
            Some(Value::List(items)) if setting == "classes_uri" => {
                for item in items.iter() {
                    let Value::Map(item) = item else { return Err(fault(expected).into()) };
                    for (environment, options) in item.iter() {
                        let options = match options {
                            Value::Map(options) => (**options).clone(),
                            Value::Null => Map::default(),
                            _ => return Err(fault(expected).into()),
                        };
                        overrides.push((environment.clone(), options));
                    }
                }
            }
            Some(_) if setting == "nodes_uri" => {
                return Err(fault("'env_overrides' belongs to 'classes_uri'").into());
            }
            Some(_) => return Err(fault(expected).into()),
        }
        let maps = std::iter::once(&**map).chain(overrides.iter().map(|(_, options)| options));
        for key in maps.flat_map(Map::keys) {
            let name = reclass_base::pystr::str(&key.0);
            let known = ["storage_type", "uri", "env_overrides"].into_iter().chain(TREE_OPTIONS);
            if !known.clone().any(|known| known == name) {
                let similar = reclass_base::similar::nearest(&name, known).map(str::to_owned);
                let kind = Kind::UnknownSetting { name: format!("{setting}: {name}"), similar };
                self.warnings.push(Fault { setting: Some((setting, name.into())), ..Fault::new(kind) });
            }
        }
        Ok(((**map).clone(), overrides))
    }

    fn location(
        &mut self,
        settings: &Settings,
        options: TreeOptions<'_>,
        branch: Option<Text>,
    ) -> Result<TreeLocation> {
        let kind = match (&*settings.storage_type, options.text("storage_type")?) {
            ("mixed", None) => return Err(options.fault("'storage_type' is missing").into()),
            ("mixed", Some(kind)) => &**kind,
            (kind, _) => kind,
        };
        match kind {
            "yaml_fs" => {
                let uri = options.get("uri").ok_or_else(|| options.fault("'uri' is missing"))?;
                let base = settings.inventory_base_uri.as_deref();
                Ok(TreeLocation::Folders(fs::roots(base, uri, options.setting)?))
            }
            "yaml_git" => self.branch(settings, options, branch).map(TreeLocation::Git),
            _ => {
                Err(options.option_fault("storage_type", "'storage_type' must be yaml_fs or yaml_git").into())
            }
        }
    }

    fn branch(
        &mut self,
        settings: &Settings,
        options: TreeOptions<'_>,
        branch: Option<Text>,
    ) -> Result<Branch> {
        let base = settings.inventory_base_uri.as_deref();
        let repo = options.text("repo")?.ok_or_else(|| options.fault("'repo' is missing"))?;
        let remote = Remote::parse(repo, base)
            .map_err(|fault| options.option_fault("repo", format!("'repo': {fault}")))?;
        let branch = match options.text("branch")? {
            Some(branch) if &**branch == ENVIRONMENT && options.setting == "classes_uri" => None,
            Some(branch) => Some(branch.clone()),
            None => branch,
        };
        let remote = if branch.as_deref() == Some(HEAD) { remote.with_head() } else { remote };
        let folder = |name: &str, default: &str| -> Result<PathBuf> {
            match options.path(name, base)? {
                Some(path) => Ok(path),
                None => Ok(fs::absolute(None, Path::new(default)).unwrap_or_default()),
            }
        };
        let login = Login {
            privkey: options.path("privkey", base)?,
            pubkey: options.path("pubkey", base)?,
            password: options.text("password")?.map(ToString::to_string),
            known_hosts: match &settings.git_known_hosts {
                Some(path) => fs::absolute(base, Path::new(&**path)),
                None => None,
            },
            accept_new_hosts: &*settings.git_unknown_hosts == "accept",
        };
        let caches = folder("cache_dir", "~/.reclass/git/cache")?;
        let locks = folder("lock_dir", "~/.reclass/git/lock")?;
        if !caches.is_absolute() || caches.starts_with("~") {
            return Err(options
                .fault("there is no home folder; say where with 'cache_dir' and 'lock_dir'")
                .into());
        }
        if settings.git_fetch_timeout == 0 {
            let allowed = "the whole numbers from 1 on".to_owned();
            return Err(Fault::new(Kind::SettingValue {
                name: "git_fetch_timeout".into(),
                allowed,
                similar: None,
            })
            .into());
        }
        let policy = Policy {
            interval: Duration::from_secs(settings.git_fetch_interval.into()),
            limit: Duration::from_secs(settings.git_fetch_timeout.into()),
            serve_stale: &*settings.git_fetch_failure == "serve",
        };
        let repo = Text::from(remote.shown.as_str());
        let revision = settings.git_revision.clone();
        let new = Repository::new(
            remote,
            login,
            (&caches, &locks),
            policy,
            revision,
            super::TreeLimits::of(settings),
        );
        let known = self.repositories.iter().position(|known| known.is_same(&new));
        let repository = known.unwrap_or_else(|| {
            self.repositories.push(new);
            self.repositories.len() - 1
        });
        // The Python programs replace slashes by dots. Here, both separate folders.
        let root = options.text("root")?.map_or("", |root| root.trim_matches(['/', '.']));
        Ok(Branch { repository, repo, branch, root: root.into(), of_folder: false })
    }

    /// Nodes and classes must not overlap (S15).
    fn check_apart(&self) -> Result<()> {
        let Some(nodes) = &self.nodes else { return Ok(()) };
        self.classes.iter().try_for_each(|classes| match (nodes, classes) {
            (TreeLocation::Folders(nodes), TreeLocation::Folders(classes)) => {
                for (node, class) in
                    nodes.iter().flat_map(|node| classes.iter().map(move |class| (node, class)))
                {
                    if node.starts_with(class) || class.starts_with(node) {
                        return Err(overlap(&display(node), &display(class)));
                    }
                }
                Ok(())
            }
            (TreeLocation::Git(nodes), TreeLocation::Git(classes))
                if self.repositories[nodes.repository].is_at(&self.repositories[classes.repository])
                    && nodes.branch == classes.branch
                    && (is_below(&nodes.root, &classes.root) || is_below(&classes.root, &nodes.root)) =>
            {
                Err(overlap(&nodes.to_string(), &classes.to_string()))
            }
            _ => Ok(()),
        })
    }
}

impl std::fmt::Display for Branch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.repo, self.branch.as_deref().unwrap_or(ENVIRONMENT), self.root)
    }
}

impl std::fmt::Display for TreeLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TreeLocation::Folders(folders) => {
                f.write_str(&folders.iter().map(|folder| display(folder)).collect::<Vec<_>>().join("', '"))
            }
            TreeLocation::Git(branch) => f.write_str(branch.to_string().trim_end()),
        }
    }
}

/// Whether `folder` is `other` or below it.
fn is_below(folder: &str, other: &str) -> bool {
    other.is_empty()
        || folder.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn overlap(nodes: &str, classes: &str) -> reclass_base::error::Error {
    let (nodes, classes) = (nodes.trim_end().to_owned(), classes.trim_end().to_owned());
    Fault::new(Kind::UriOverlap { nodes, classes }).into()
}
