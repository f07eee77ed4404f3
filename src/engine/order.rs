//! Orders the layers of one node: the layer of its file, its environment, the classes of mappings, and then
//! all classes, depth first (`linearize`).

use std::sync::Arc;

use crate::engine::automatic;
use crate::engine::context::{Computation, Layers, NodeRequest, grains};
use crate::engine::faults::{known_faults, with_earlier};
use crate::engine::linearize::{ExtraParameters, LinearizationInput, linearize};
use crate::model::catalog::CatalogEntry;
use crate::model::grains::Grains;
use crate::model::layer::{Incomplete, Layer, LayerResult};
use crate::model::mappings::MappedClass;
use crate::model::merge::{Prefixes, map_of_values, merge_maps};
use crate::model::slot::{MapSlot, Slot};
use reclass_base::error::{Error, Fault, Result};
use reclass_base::similar::no_node;
use reclass_base::source::Origin;
use reclass_base::value::{Key, Value};
impl Computation<'_> {
    /// Orders the layers of a node.
    pub fn layers(&self, request: NodeRequest<'_>) -> Result<Layers> {
        self.order(request).map_err(|incomplete| known_faults(incomplete.error, self.settings))
    }

    /// Like [`Self::layers`], but an error carries the layers that could be ordered.
    pub(super) fn order(&self, request: NodeRequest<'_>) -> Result<Layers, Box<Incomplete<Layers>>> {
        let prefixes = Prefixes::new(self.settings);
        let (item, layer) = self.node(request)?;
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
            automatic: self.settings.automatic_parameters.then(|| {
                automatic::parameters(&item, &environment, self.settings, self.inputs.files.interner())
            }),
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

    /// Reads the layer of a file as a dependency.
    pub fn read(&self, item: &Arc<CatalogEntry>) -> LayerResult {
        if let Some(clash) = item.clash() {
            return Err(Error::from(clash).into());
        }
        let current = self.inputs.layer(item);
        self.recorder.file(current.file, current.version);
        current.layer
    }

    /// Reads the layer of a file without recording a dependency.
    pub fn read_untracked(&self, item: &Arc<CatalogEntry>) -> Result<Arc<Layer>> {
        match item.clash() {
            Some(clash) => Err(clash.into()),
            None => Ok(self.inputs.layer(item).layer?),
        }
    }

    fn node(&self, request: NodeRequest<'_>) -> Result<(Arc<CatalogEntry>, LayerResult)> {
        let NodeRequest { name, mapped, own, .. } = request;
        if let Some(layer) = own {
            return Ok((Arc::new(CatalogEntry::without_file(name.into())), layer.clone()));
        }
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
                let item = Arc::new(CatalogEntry::without_file(name.into()));
                Ok((item, Ok(Arc::new(Layer::of_parameters(Arc::new(MapSlot::empty()))))))
            }
            None => {
                let names = self.catalog.nodes.keys().map(AsRef::as_ref);
                Err(Fault::new(no_node(name, self.inputs.node_location(), names)).into())
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
}
