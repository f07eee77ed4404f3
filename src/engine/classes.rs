//! Class lookup: finds the classes that a node may include, by its environment, and records what was looked
//! up.

use std::sync::Arc;

use crate::engine::class_names::ClassName;
use crate::engine::context::Computation;
use crate::engine::etcd::EtcdOwner;
use crate::engine::files::Dependencies;
use crate::engine::linearize::LinearizationInput;
use crate::model::catalog::TreeId;
use crate::model::layer::{Incomplete, Layer, LayerResult};
use reclass_base::error::{Fault, Result};
use reclass_base::value::{Text, Value};

impl Computation<'_> {
    /// The classes available to a node. An error in their location matters only if the node has classes.
    pub(super) fn classes(
        &self,
        input: &LinearizationInput<'_>,
        environment: &Value,
    ) -> Result<ClassLookup<'_>> {
        let found = self.inputs.trees.tree(self.catalog, environment);
        let found = found.and_then(|tree| self.inputs.open_tree(self.catalog, tree).map(|()| tree));
        let tree = match found {
            Ok(tree) => tree,
            Err(_) if input.layer.classes.is_empty() && input.mapped.is_empty() => TreeId(u32::MAX),
            Err(mut error) => {
                error.faults_mut().iter_mut().for_each(|fault| fault.node = Some(input.name.clone()));
                return Err(error);
            }
        };
        Ok(ClassLookup { computation: self, tree })
    }

    /// Adds dependencies to the current record.
    pub fn record(&self, dependencies: &Dependencies) {
        self.recorder.add(dependencies);
    }
}

/// The classes of one environment.
pub(super) struct ClassLookup<'a> {
    /// Records every lookup as a dependency.
    pub computation: &'a Computation<'a>,
    /// The tree that contains them.
    pub tree: TreeId,
}

impl ClassLookup<'_> {
    /// The layer of a class; `None` if the class does not exist. An error is one of its file.
    pub fn class(&self, name: &str) -> Result<Option<Arc<Layer>>, Incomplete<Arc<Layer>>> {
        match &self.name(name).found {
            Ok(Some(item)) => self.computation.read(item).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(error.clone().into()),
        }
    }

    fn name(&self, name: &str) -> Arc<ClassName> {
        let name = self.computation.inputs.class(self.computation.catalog, self.tree, name);
        self.computation.recorder.class(&name);
        name
    }

    /// Whether a class has this name, or a folder on its way is an error.
    pub fn has(&self, name: &str) -> bool {
        !matches!(self.name(name).found, Ok(None))
    }

    /// The classes that match a glob, sorted by name.
    pub fn matching(&self, pattern: &Text) -> Result<Arc<[Text]>> {
        let matching = self.computation.inputs.matching(self.computation.catalog, self.tree, pattern)?;
        self.computation.recorder.pattern(self.tree, pattern, &matching);
        Ok(matching)
    }

    /// The folder that was searched for a missing class, and a class with a similar name that is not one of
    /// these: those that lead to the entry would make a cycle.
    pub fn missing_hint(&self, name: &str, leading: &[&str]) -> (String, Option<String>) {
        let (inputs, catalog) = (&self.computation.inputs, self.computation.catalog);
        let folder = inputs.trees.display_name(catalog, self.tree);
        if inputs.similar.is_spent() {
            return (folder, None);
        }
        // A folder that cannot be listed has no similar names.
        let names = inputs.classes(catalog, self.tree).unwrap_or_default();
        let others = names.keys().map(AsRef::as_ref).filter(|other| !leading.contains(other));
        let similar = reclass_base::similar::class(name, others).map(str::to_owned);
        inputs.similar.add(name, names.keys().count());
        (folder, similar)
    }

    /// Whether `ignore_class_notfound` covers this name. An error is one of the setting.
    pub fn may_be_missing(&self, name: &str) -> Result<bool, Fault> {
        self.computation.ignored.map_or(Ok(false), |ignored| ignored.matches(name))
    }
}

impl Computation<'_> {
    /// The layers of a class or node in etcd, recorded as a dependency; none without `etcd_endpoints`.
    pub fn etcd_layers(&self, is_class: bool, name: &Text) -> Arc<[LayerResult]> {
        let Some(etcd) = &self.inputs.etcd else { return Arc::default() };
        let owner = EtcdOwner { is_class, name: name.clone() };
        let (files, scan) = (&self.inputs.files, self.inputs.scan());
        let (file, version, layers) = etcd.layers(&owner, files, scan, self.settings);
        self.recorder.file(file, version);
        layers
    }
}
