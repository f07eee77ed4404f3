//! A node's answer: its layers in order, merged, evaluated.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::catalog::{Catalog, Item};
use crate::engine::inputs::Inputs;
use crate::engine::prefix::Prefix;
use crate::engine::{NodeInfo, automatic};
use crate::error::{Error, Fault, Kind, Result, Warning};
use crate::evaluate::{Evaluator, Others};
use crate::layer::{Applications, Layer};
use crate::linearize::{AUTOMATIC, Given, Linearization, Lookup, Subjects, linearize};
use crate::mappings::{Mapped, Mappings, translate};
use crate::merge::{Prefixes, map_of_values, merge_maps, with_entry};
use crate::settings::Settings;
use crate::slot::{MapSlot, Slot};
use crate::source::{FileId, Origin};
use crate::value::{Key, Text, Value};

/// The pattern of class names that may be missing: any of the settings' expressions, matched
/// at the start of the name, as Python's `re.match` does.
pub fn ignored_classes(settings: &Settings) -> Result<Option<fancy_regex::Regex>> {
    if !settings.ignore_class_notfound {
        return Ok(None);
    }
    let joined: Vec<&str> = settings.ignore_class_notfound_regexp.iter().map(AsRef::as_ref).collect();
    let joined = joined.join("|");
    match fancy_regex::Regex::new(&format!("\\A(?:{})", translate(&joined))) {
        Ok(regex) => Ok(Some(regex)),
        Err(error) => Err(Fault::new(Kind::SettingPattern {
            name: "ignore_class_notfound_regexp".into(),
            pattern: joined,
            message: error.to_string(),
        })
        .into()),
    }
}

/// An answer, and the merged state it ends with.
#[derive(Debug)]
pub struct Answer {
    /// The answer.
    pub info: NodeInfo,
    /// The shared state of the node's classes.
    pub prefix: Arc<Prefix>,
}

/// All that computing a node needs.
pub struct Computation<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// The files.
    pub inputs: &'a Inputs,
    /// The class mappings.
    pub mappings: &'a Mappings,
    /// Classes that may be missing.
    pub ignored: Option<&'a fancy_regex::Regex>,
    /// The names.
    pub catalog: &'a Arc<Catalog>,
    /// The empty sequence of layers.
    pub root: &'a Arc<Prefix>,
}

/// A node with its layers merged and nothing evaluated.
struct Merged {
    name: Text,
    layer: Arc<Layer>,
    linearization: Linearization,
    parameters: Arc<MapSlot>,
    exports: Arc<MapSlot>,
    environment: Value,
}

impl Computation<'_> {
    /// Computes a node.
    pub fn answer(
        &self,
        name: &str,
        environment: Option<&Text>,
        input_data: Option<&Value>,
        mapped: bool,
    ) -> Result<Answer> {
        let merged = self.merged(name, environment, input_data, mapped)?;
        let original = self.original_environment(&merged.layer);
        let others = OtherNodes {
            computation: self,
            // A node that was moved to another environment is no longer found in its own (S10).
            absent: environment.filter(|_| original != merged.environment).map(|_| merged.name.clone()),
            environment: original,
            known: RefCell::default(),
        };
        let mut evaluator =
            Evaluator::new(merged.parameters.clone(), self.settings, self.inputs).with_others(&others);
        let parameters = evaluator.evaluate(&merged.parameters);
        // What a `~` replaced among the parameters may be a query; among the exports it may not.
        evaluator.examine_replaced();
        evaluator.others = None;
        let exports = evaluator.evaluate(&merged.exports);
        let faults = evaluator.finish();
        let mut warnings = std::mem::take(&mut evaluator.warnings);
        match (parameters, exports) {
            (Some(parameters), Some(exports)) if faults.is_empty() => {
                let info = self.info(&merged, parameters, exports, &mut warnings);
                Ok(Answer { info, prefix: merged.linearization.prefix })
            }
            _ => Err(self.finish(faults, &merged)),
        }
    }

    fn info(
        &self,
        merged: &Merged,
        parameters: Value,
        exports: Value,
        warnings: &mut Vec<Warning>,
    ) -> NodeInfo {
        let linearization = &merged.linearization;
        let layers = linearization.layers.iter().chain(std::iter::once(&merged.layer));
        let mut all = Vec::new();
        for layer in layers.clone() {
            all.extend(layer.warnings.iter().cloned());
        }
        all.extend(linearization.warnings.iter().cloned());
        all.append(warnings);
        for warning in &mut all {
            self.complete(warning, merged);
        }
        let uri = self.catalog.nodes.get(&merged.name).map_or_else(
            || format!("yaml_fs://{}", self.inputs.node_folder()),
            |item| format!("yaml_fs://{}", item.path.to_string_lossy()),
        );
        NodeInfo {
            name: merged.name.clone(),
            uri: uri.into(),
            environment: merged.environment.clone(),
            classes: linearization.classes.clone(),
            applications: applications(layers.map(|layer| &layer.applications)),
            parameters,
            exports,
            warnings: all,
        }
    }

    /// Orders and merges the layers of a node.
    fn merged(
        &self,
        name: &str,
        environment: Option<&Text>,
        input_data: Option<&Value>,
        mapped: bool,
    ) -> Result<Merged> {
        let prefixes = Prefixes::new(self.settings);
        let (item, layer) = self.node(name, mapped)?;
        let environment = match environment {
            Some(text) => Value::Str(text.clone()),
            None => self.original_environment(&layer),
        };
        let given = Given {
            input: self.input(input_data, &prefixes),
            automatic: self
                .settings
                .automatic_parameters
                .then(|| automatic::parameters(&item, &environment, self.settings)),
            scalars: self.scalars(&layer),
        };
        let mapped_classes = self.mapped_classes(&item)?;
        let subjects = Subjects { name: &item.name, layer: &layer, mapped: &mapped_classes, given: &given };
        let linearization = linearize(&subjects, self.root, self.settings, self, self.inputs)?;
        let shared = linearization.prefix.merged(&prefixes);
        let base = if linearization.needs_own_fold(&given) {
            linearization.fold(&given, &prefixes)
        } else {
            match given.automatic.as_ref().and_then(|map| map.entries.get(AUTOMATIC)) {
                Some(slot) => {
                    // Automatic parameters come after the mapped classes (S2); that is where their key stands.
                    let at = linearization.mapped_prefix.merged(&prefixes).parameters.entries.len();
                    with_entry(&shared.parameters, at, Key::from(AUTOMATIC), slot.clone())
                }
                None => shared.parameters.clone(),
            }
        };
        let parameters = merge_maps(&base, &layer.parameters, &prefixes);
        let exports = merge_maps(&shared.exports, &layer.exports, &prefixes);
        Ok(Merged { name: item.name.clone(), layer, linearization, parameters, exports, environment })
    }

    fn node(&self, name: &str, mapped: bool) -> Result<(Item, Arc<Layer>)> {
        match self.catalog.nodes.get(name) {
            Some(item) => {
                let layer = self.inputs.layer(item).map_err(|mut error| {
                    error.faults_mut().iter_mut().for_each(|fault| fault.node = Some(item.name.clone()));
                    error
                })?;
                Ok((item.clone(), layer))
            }
            None if mapped => {
                let name = Text::from(name);
                let item = Item {
                    parts: vec![name.clone()],
                    pathname: name.clone(),
                    name,
                    path: Arc::from(std::path::Path::new("")),
                    init: false,
                };
                Ok((item, Arc::new(Layer::of_parameters(Arc::new(MapSlot::empty())))))
            }
            None => {
                let names = self.catalog.nodes.keys().map(AsRef::as_ref);
                let similar = crate::similar::nearest(name, names).map(str::to_owned);
                let folder = self.inputs.node_folder();
                Err(Fault::new(Kind::NodeNotFound { name: name.to_owned(), folder, similar }).into())
            }
        }
    }

    fn original_environment(&self, layer: &Layer) -> Value {
        layer.environment.clone().unwrap_or_else(|| self.settings.default_environment.clone())
    }

    /// Input data as a layer. Its strings are data: whoever fills a pillar has no say in what
    /// references of the inventory reveal.
    #[expect(clippy::unused_self, reason = "reads like its siblings")]
    fn input(&self, input_data: Option<&Value>, prefixes: &Prefixes) -> Option<Arc<MapSlot>> {
        match input_data {
            Some(Value::Map(map)) if !map.is_empty() => {
                Some(Arc::new(map_of_values(map, Origin::NONE, prefixes)))
            }
            _ => None,
        }
    }

    /// The node's own scalars under the `scalar_parameters` key (S4).
    fn scalars(&self, layer: &Layer) -> Option<Arc<MapSlot>> {
        let key = self.settings.scalar_parameters.as_ref()?;
        let Some(Slot::Map(own)) = layer.parameters.entries.get(key.as_ref()) else { return None };
        let scalars = own
            .entries
            .iter()
            .filter(|(_, slot)| matches!(slot, Slot::Value(..) | Slot::Text(..)))
            .map(|(key, slot)| (key.clone(), slot.clone()))
            .collect();
        let inner = Slot::Map(Arc::new(MapSlot::new(scalars, own.origin, false)));
        let entries = std::iter::once((Key::from(key.clone()), inner)).collect();
        Some(Arc::new(MapSlot::new(entries, own.origin, false)))
    }

    fn mapped_classes(&self, item: &Item) -> Result<Vec<Mapped>> {
        if self.mappings.is_empty() {
            return Ok(Vec::new());
        }
        if !self.settings.class_mappings_match_path {
            return self.mappings.classes(&[&item.name]);
        }
        // `./n` is what the forks match a node at the top as; people expect `n` (S19).
        match item.pathname.strip_prefix("./") {
            Some(bare) => self.mappings.classes(&[&item.pathname, bare]),
            None => self.mappings.classes(&[&item.pathname]),
        }
    }

    fn finish(&self, faults: Vec<Fault>, merged: &Merged) -> Error {
        let mut error = Error::new(faults);
        for fault in error.faults_mut() {
            self.complete(fault, merged);
        }
        error
    }

    /// Adds the node and how the file came in.
    fn complete(&self, fault: &mut Fault, merged: &Merged) {
        if fault.node.is_none() {
            fault.node = Some(merged.name.clone());
        }
        if let Some(origin) = fault.origin
            && fault.chain.is_empty()
            && origin.file != FileId::NONE
        {
            fault.chain = merged.linearization.chain_of_file(origin.file, self.inputs);
        }
    }
}

impl Lookup for Computation<'_> {
    fn class(&self, name: &str) -> Result<Option<Arc<Layer>>> {
        self.catalog.classes.get(name).map(|item| self.inputs.layer(item)).transpose()
    }

    fn about_missing(&self, name: &str) -> (String, Option<String>) {
        let names = self.catalog.classes.keys().map(AsRef::as_ref);
        (self.inputs.class_folder(), crate::similar::nearest(name, names).map(str::to_owned))
    }

    fn may_be_missing(&self, name: &str) -> bool {
        self.ignored.is_some_and(|regex| regex.is_match(name).unwrap_or(false))
    }
}

/// Applications of all layers: each layer's removals, then its additions (S8).
fn applications<'a>(layers: impl Iterator<Item = &'a Applications>) -> Vec<Text> {
    let mut all: Vec<Text> = Vec::new();
    for layer in layers {
        for (removed, _) in &layer.removals {
            all.retain(|name| name != removed);
        }
        for (added, _) in &layer.additions {
            if !all.contains(added) {
                all.push(added.clone());
            }
        }
    }
    all
}

/// The other nodes for one node's queries.
struct OtherNodes<'a> {
    computation: &'a Computation<'a>,
    environment: Value,
    absent: Option<Text>,
    known: RefCell<FxHashMap<Text, Result<Arc<Merged>, Box<Fault>>>>,
}

impl OtherNodes<'_> {
    fn merged(&self, node: &Text) -> Result<Arc<Merged>, Fault> {
        if let Some(known) = self.known.borrow().get(node) {
            return known.clone().map_err(|fault| *fault);
        }
        let merged = self
            .computation
            .merged(node, None, None, false)
            .map(Arc::new)
            .map_err(|error| Box::new(error.into_faults().swap_remove(0)));
        self.known.borrow_mut().insert(node.clone(), merged.clone());
        merged.map_err(|fault| *fault)
    }
}

impl Others for OtherNodes<'_> {
    fn nodes(&self, all_environments: bool) -> Result<Vec<Text>, Fault> {
        let computation = self.computation;
        let mut nodes = Vec::new();
        for (name, item) in &computation.catalog.nodes {
            if self.absent.as_ref() == Some(name) && !all_environments {
                continue;
            }
            match computation.inputs.layer(item) {
                Ok(layer) => {
                    if all_environments || computation.original_environment(&layer) == self.environment {
                        nodes.push(name.clone());
                    }
                }
                Err(_) if computation.settings.inventory_ignore_failed_node => {}
                Err(error) => {
                    let mut fault = error.into_faults().swap_remove(0);
                    fault.node = Some(name.clone());
                    return Err(fault);
                }
            }
        }
        Ok(nodes)
    }

    fn exports(
        &self,
        node: &Text,
        paths: &[&[Text]],
        ignore_errors: bool,
    ) -> Result<Option<Vec<Option<Value>>>, Fault> {
        let merged = match self.merged(node) {
            Ok(merged) => merged,
            Err(_) if self.computation.settings.inventory_ignore_failed_node => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let computation = self.computation;
        let mut evaluator =
            Evaluator::new(merged.parameters.clone(), computation.settings, computation.inputs);
        let mut values = Vec::with_capacity(paths.len());
        for path in paths {
            let value = evaluator.export(&merged.exports, path);
            let faults = evaluator.finish();
            match faults.into_iter().next() {
                None => values.push(value),
                Some(_) if ignore_errors => values.push(None),
                Some(mut fault) => {
                    computation.complete(&mut fault, &merged);
                    return Err(fault);
                }
            }
        }
        Ok(Some(values))
    }
}
