//! Computes the answer for one node: orders its layers, merges and evaluates them.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::base::error::{Error, Fault, Kind, Link, MAX_FAULTS, Result, Warning, truncate_faults};
use crate::base::secrets::Secrets;
use crate::base::source::{FileId, Origin, Site};
use crate::base::value::{Key, Text, Value};
use crate::engine::answer::NodeInfo;
use crate::engine::automatic;
use crate::engine::context::{Answer, Computation, Layers, NodeRequest, grains};
use crate::engine::exports::{OtherNodes, QueryRecord};
use crate::engine::faults::{known_faults, with_earlier, without_consequences};
use crate::engine::files::Dependencies;
use crate::engine::linearize::{ExtraParameters, LinearizationInput, linearize};
use crate::engine::sequence::Sequence;
use crate::engine::values::Evaluated;
use crate::evaluate::{Locate as _, Root};
use crate::model::catalog::CatalogEntry;
use crate::model::grains::Grains;
use crate::model::layer::{Applications, Incomplete, Layer, LayerResult};
use crate::model::mappings::MappedClass;
use crate::model::merge::{Prefixes, map_of_values, merge_maps};
use crate::model::slot::{MapSlot, Slot};

/// Estimated bytes of an answer beside its values: its name, its warnings and its dependencies.
const ANSWER_OVERHEAD: usize = 512;

impl Computation<'_> {
    /// Computes a node.
    pub fn answer(&self, request: NodeRequest<'_>) -> Result<Answer> {
        let merged = self.layers_or_all_faults(request)?;
        let others = self.others(&merged, request.environment);
        let evaluated = self.evaluate(&merged, &others);
        let Evaluated { parameters, exports, mut faults, mut warnings, bytes } = evaluated;
        if faults.is_empty() || self.settings.group_errors {
            self.add_embedded(&mut faults, &merged);
        }
        match (parameters, exports) {
            (Some(parameters), Some(exports)) if faults.is_empty() => {
                let info = self.info(&merged, parameters, exports, &mut warnings);
                let reads = merged.extra.grains.as_ref().map_or_else(Vec::new, |grains| grains.reads());
                let names = (info.classes.len() + info.applications.len()) * size_of::<Text>();
                Ok(Answer {
                    info,
                    bytes: bytes + names + ANSWER_OVERHEAD,
                    sequence: merged.linearization.sequence,
                    original_environment: others.environment,
                    queries: others.queries.take(),
                    grains: reads,
                })
            }
            _ => {
                // A cached answer checks its sequence. An error has no sequence, so its dependencies are
                // recorded here.
                merged
                    .linearization
                    .sequence
                    .steps()
                    .iter()
                    .for_each(|step| self.record(&step.added.dependencies));
                Err(self.finish(faults, &merged))
            }
        }
    }

    fn info(
        &self,
        merged: &Layers,
        parameters: Value,
        exports: Value,
        warnings: &mut Vec<Warning>,
    ) -> NodeInfo {
        let linearization = &merged.linearization;
        let layers: Vec<_> = merged.all().collect();
        let mut all = Vec::new();
        for layer in &layers {
            all.extend(layer.warnings.iter().cloned());
        }
        all.extend(linearization.warnings.iter().cloned());
        all.append(warnings);
        truncate_faults(&mut all, MAX_FAULTS);
        for warning in &mut all {
            self.complete(warning, merged);
        }
        let item = self.catalog.nodes.get(&merged.name);
        let uri = item.map_or_else(|| self.inputs.node_uri(), CatalogEntry::uri);
        NodeInfo {
            name: merged.name.clone(),
            uri: uri.into(),
            environment: merged.environment.clone(),
            classes: linearization.classes(),
            applications: applications(merged.all().map(|layer| &layer.applications)),
            parameters,
            exports,
            warnings: all,
            wire_value: OnceLock::new(),
            logged_warnings: OnceLock::new(),
        }
    }

    /// The other nodes, as the queries of this node see them.
    pub fn others(&self, merged: &Layers, environment: Option<&Text>) -> OtherNodes<'_> {
        let original = self.original_environment(&merged.layer);
        let overridden = environment.is_some() && original != merged.environment;
        OtherNodes::new(self, original, overridden.then(|| merged.name.clone()))
    }

    /// Whether the dependencies of a node and those of its classes are unchanged. An error has no classes: all
    /// its dependencies are recorded for the node.
    pub fn inputs_hold(&self, dependencies: &Dependencies, classes: Option<&Sequence>) -> bool {
        let current = |dependencies: &Dependencies| self.is_current(dependencies);
        current(dependencies) && classes.is_none_or(|classes| classes.holds(self.revision, current))
    }

    /// Whether the questions of an answer still have the same outcome.
    pub fn still_holds(
        &self,
        name: &Text,
        original: &Value,
        environment: Option<&Text>,
        queries: &[QueryRecord],
    ) -> bool {
        let overridden = environment.is_some_and(|environment| *original != Value::Str(environment.clone()));
        OtherNodes::new(self, original.clone(), overridden.then(|| name.clone())).still_holds(queries)
    }

    /// Merges all parameters of a node.
    pub fn merge(&self, merged: &Layers) -> Arc<MapSlot> {
        let prefixes = Prefixes::new(self.settings);
        let counter = &self.inputs.counters.merged;
        let classes = merged.linearization.parameters(&merged.extra, &prefixes, counter);
        merged.own().fold(classes, |all, own| {
            counter.add();
            merge_maps(all, &own.parameters, &prefixes)
        })
    }

    /// Orders the layers of a node.
    pub fn layers(&self, request: NodeRequest<'_>) -> Result<Layers> {
        self.order(request).map_err(|incomplete| known_faults(incomplete.error, self.settings))
    }

    /// Like [`Self::layers`], but an error carries the layers that could be ordered.
    pub(super) fn order(&self, request: NodeRequest<'_>) -> Result<Layers, Box<Incomplete<Layers>>> {
        let prefixes = Prefixes::new(self.settings);
        let (item, layer) = self.node(request.name, request.mapped)?;
        let (layer, mut faults, mut whole) = match layer {
            Ok(layer) => (layer, Vec::new(), true),
            Err(Incomplete { error, rest: Some(layer), whole }) => (layer, error.into_faults(), whole),
            Err(unread) => return Err(unread.error.into()),
        };
        let environment = match request.environment {
            Some(text) => Value::Str(text.clone()),
            None => self.original_environment(&layer),
        };
        let extra = ExtraParameters {
            // The strings are not parsed, so that the author of a pillar cannot use references to read the
            // inventory.
            input: match request.input {
                Some(Value::Map(map)) if !map.is_empty() => {
                    Some(Arc::new(map_of_values(map, Origin::NONE, &prefixes)))
                }
                _ => None,
            },
            automatic: self
                .settings
                .automatic_parameters
                .then(|| automatic::parameters(&item, &environment, self.settings, &self.interner)),
            scalars: self.scalars(&layer),
            grains: grains(self.grain_rules, self.known_grains, &item.name, request.grains).map(Arc::new),
            unknown_input: request.top && self.settings.propagate_pillar_data_to_reclass,
        };
        let mapped_classes = self
            .classes_of_mappings(&item, extra.grains.as_deref())
            .map_err(|error| with_earlier(&mut faults, error))?;
        let input = LinearizationInput {
            name: &item.name,
            layer: &layer,
            whole,
            mapped: &mapped_classes,
            extra: &extra,
        };
        let classes = self.classes(&input, &environment).map_err(|error| with_earlier(&mut faults, error))?;
        let (linearization, more, complete) = linearize(&input, &classes);
        faults.extend(more);
        whole &= complete;
        let exports =
            merge_maps(linearization.sequence.exports(&prefixes).clone(), &layer.exports, &prefixes);
        let layer = self.roots.ruled(&layer, linearization.sequence.rules.as_ref(), &prefixes);
        let mut after = Vec::new();
        for own in self.etcd_layers(false, &item.name).iter() {
            let own = match own {
                Ok(own) => Some(own),
                Err(Incomplete { error, rest, whole: complete }) => {
                    faults.extend(
                        error
                            .faults()
                            .iter()
                            .cloned()
                            .map(|fault| Fault { node: Some(item.name.clone()), ..fault }),
                    );
                    whole &= complete;
                    rest.as_ref()
                }
            };
            after.extend(own.map(|own| self.roots.ruled(own, layer.rules(), &prefixes)));
        }
        let name = item.name.clone();
        let layers = Layers { name, layer, after, linearization, exports, environment, extra };
        if faults.is_empty() {
            return Ok(layers);
        }
        Err(Box::new(Incomplete { error: Error::new(faults), rest: Some(layers), whole }))
    }

    /// The parameters of a node, for an evaluation that needs only few of them.
    pub fn root(&self, layers: &Layers) -> Root {
        let prefixes = Prefixes::new(self.settings);
        layers
            .linearization
            .root(&layers.extra, &layers.own_parameters(), &prefixes)
            .with_grains(layers.extra.grains.clone())
    }

    /// Reads the layer of a file as a dependency.
    pub fn read(&self, item: &CatalogEntry) -> LayerResult {
        if let Some(clash) = item.clash() {
            return Err(Error::from(clash).into());
        }
        let current = self.inputs.layer(item, &self.interner);
        self.recorder.file(current.file, current.version);
        current.layer
    }

    /// Reads the layer of a file without recording a dependency.
    pub fn read_untracked(&self, item: &CatalogEntry) -> Result<Arc<Layer>> {
        match item.clash() {
            Some(clash) => Err(clash.into()),
            None => Ok(self.inputs.layer(item, &self.interner).layer?),
        }
    }

    fn node(&self, name: &str, mapped: bool) -> Result<(CatalogEntry, LayerResult)> {
        match self.catalog.nodes.get(name) {
            Some(item) => {
                let layer = self.read(item).map_err(|mut unread| {
                    for fault in unread.error.faults_mut() {
                        fault.node = Some(item.name.clone());
                    }
                    unread
                });
                Ok((item.clone(), layer))
            }
            None if mapped => {
                let item = CatalogEntry::without_file(name.into());
                Ok((item, Ok(Arc::new(Layer::of_parameters(Arc::new(MapSlot::empty()))))))
            }
            None => {
                let names = self.catalog.nodes.keys().map(AsRef::as_ref);
                let similar = crate::base::similar::node(name, names).map(str::to_owned);
                let folder = self.inputs.node_location();
                Err(Fault::new(Kind::NodeNotFound { name: name.to_owned(), folder, similar }).into())
            }
        }
    }

    /// The environment in the node's file, or the default.
    pub fn original_environment(&self, layer: &Layer) -> Value {
        layer.environment.clone().unwrap_or_else(|| self.settings.default_environment.clone())
    }

    /// The scalars below the node's `scalar_parameters` key (S4).
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

    /// The classes that mappings give to a node, for a request without grains of its own.
    pub fn mapped_classes(&self, item: &CatalogEntry) -> Result<Vec<MappedClass>> {
        let grains = grains(self.grain_rules, self.known_grains, &item.name, None);
        self.classes_of_mappings(item, grains.as_ref())
    }

    fn classes_of_mappings(&self, item: &CatalogEntry, grains: Option<&Grains>) -> Result<Vec<MappedClass>> {
        if self.mappings.is_empty() {
            return Ok(Vec::new());
        }
        let classes = if self.settings.class_mappings_match_path {
            // The forks match a top-level node as `./n`; users expect `n` (S19).
            let pathname = item.pathname(self.settings);
            match pathname.strip_prefix("./") {
                Some(bare) => self.mappings.classes(&[&pathname, bare], grains),
                _ => self.mappings.classes(&[&pathname], grains),
            }
        } else {
            self.mappings.classes(&[&item.name], grains)
        };
        let refused = || self.grain_rules?.refuse(&grains?.reads());
        let fault = match (classes, refused()) {
            (Ok(classes), None) => return Ok(classes),
            (Err(error), _) => return Err(error),
            (Ok(_), Some(kind)) => Fault::new(kind).note("a class mapping asks for it", None),
        };
        Err(Fault { node: Some(item.name.clone()), ..fault }.into())
    }

    /// Where the value at a parameter path was written, with the include chain of that file. Follows the
    /// path without evaluation; among layers with equally long matches, the last one counts.
    pub fn locate_value(
        &self,
        name: &str,
        environment: Option<&Text>,
        path: &[Text],
    ) -> Option<(Site, Vec<Link>)> {
        let layers = self.layers(NodeRequest { environment, ..NodeRequest::plain(name) }).ok()?;
        let all = layers.own().rev().chain(layers.linearization.layers().rev());
        let (_, origin) = all
            .map(|layer| deepest(&layer.parameters, path))
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .filter(|(depth, _)| *depth > 0)?;
        let site = self.inputs.site(origin)?;
        Some((site, layers.linearization.include_chains().chain_of_file(origin.file, self.inputs)))
    }

    fn finish(&self, mut faults: Vec<Fault>, merged: &Layers) -> Error {
        for fault in &mut faults {
            self.complete(fault, merged);
        }
        without_consequences(&mut faults);
        self.redact_cycles(&mut faults, merged);
        Error::new(faults)
    }

    /// Adds the node and the include chain, and removes quoted secrets.
    pub fn complete(&self, fault: &mut Fault, merged: &Layers) {
        if fault.node.is_none() {
            fault.node = Some(merged.name.clone());
        }
        if let Some(origin) = fault.origin
            && fault.chain.is_empty()
            && origin.file != FileId::NONE
        {
            fault.chain = merged.linearization.include_chains().chain_of_file(origin.file, self.inputs);
        }
        fault.redact_query(&Secrets::of(self.settings), &self.settings.delimiter);
    }
}

/// How many keys of a path a layer has, and the origin of the last one.
fn deepest(parameters: &Arc<MapSlot>, path: &[Text]) -> (usize, Origin) {
    let (mut depth, mut origin) = (0, parameters.origin);
    let mut slot = path.first().and_then(|key| parameters.entries.get(key.as_ref() as &str));
    while let Some(here) = slot {
        depth += 1;
        origin = here.origin();
        let key = path.get(depth);
        slot = match (here, key) {
            (Slot::Map(map), Some(key)) => map.entries.get(key.as_ref() as &str),
            (Slot::Raw(raw), Some(key)) => raw.entries.get(key.as_ref() as &str),
            (Slot::List(list), Some(key)) => key.parse().ok().and_then(|index: usize| list.items.get(index)),
            _ => None,
        };
    }
    (depth, origin)
}

/// Applications of all layers: each layer's removals, then its additions (S8).
pub(crate) fn applications<'a>(layers: impl Iterator<Item = &'a Applications>) -> Vec<Text> {
    // Removal leaves a gap. An application that is added again comes last.
    let (mut all, mut places) = (Vec::new(), FxHashMap::default());
    for layer in layers {
        for (removed, _) in &layer.removals {
            if let Some(place) = places.remove(removed) {
                all[place] = None;
            }
        }
        for (added, _) in &layer.additions {
            places.entry(added).or_insert_with(|| {
                all.push(Some(added));
                all.len() - 1
            });
        }
    }
    all.into_iter().flatten().cloned().collect()
}
