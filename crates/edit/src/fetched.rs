//! The trees of an inventory in fetched repositories: where their commits are, and the push of a new one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reclass::parts::storage::{Branch, Repository, TreeLocation, TreeLocations};
use reclass_base::error::Result;
use reclass_base::settings::Settings;
use reclass_base::value::Text;

/// The nodes or the classes of an inventory, as they were fetched last.
#[derive(Clone, Debug)]
pub struct FetchedTree {
    /// The repository, without a password.
    pub repo: String,
    /// The branch that is served.
    pub branch: Text,
    /// The folder below the top of the repository.
    pub root: Text,
    /// The bare repository that has the commits.
    pub folder: PathBuf,
    /// The commits of all branches.
    pub heads: BTreeMap<String, Arc<str>>,
}

/// The trees of the nodes and of the classes, fetched now. `None` unless each of them is one branch.
pub fn trees(settings: &Settings) -> Result<Option<[FetchedTree; 2]>> {
    let locations = TreeLocations::of(settings, None)?;
    let Some(both) = branches(&locations) else { return Ok(None) };
    let tree = |(branch, repository, name): PlacedBranch<'_>| -> Result<FetchedTree> {
        let record = repository.current_record()?;
        Ok(FetchedTree {
            repo: branch.repo.to_string(),
            branch: name.clone(),
            root: branch.root.clone(),
            folder: repository.folder().to_owned(),
            heads: record.heads.clone(),
        })
    };
    let [nodes, classes] = both;
    Ok(Some([tree(nodes)?, tree(classes)?]))
}

/// Pushes a commit of a bare repository to a branch of the repository of the nodes (0) or of the classes (1).
/// Returns the message of git if that fails.
pub fn push(
    settings: &Settings,
    tree: usize,
    folder: &Path,
    commit: &str,
    branch: &str,
) -> Result<Option<String>> {
    let locations = TreeLocations::of(settings, None)?;
    let both = branches(&locations);
    let Some((_, repository, _)) = both.as_ref().and_then(|both| both.get(tree)) else { return Ok(None) };
    Ok(repository.push(folder, commit, branch).err())
}

type PlacedBranch<'a> = (&'a Branch, &'a Repository, &'a Text);

fn branches(locations: &TreeLocations) -> Option<[PlacedBranch<'_>; 2]> {
    let [classes] = &*locations.classes else { return None };
    Some([branch(locations, locations.nodes.as_ref()?)?, branch(locations, classes)?])
}

fn branch<'a>(locations: &'a TreeLocations, place: &'a TreeLocation) -> Option<PlacedBranch<'a>> {
    let TreeLocation::Git(branch) = place else { return None };
    Some((branch, locations.repositories.get(branch.repository)?, branch.branch.as_ref()?))
}
