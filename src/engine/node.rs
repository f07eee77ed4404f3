//! The conductor: computes the answer for one node. Its layers are ordered (`order`), merged, evaluated
//! (`values`), and finished: warnings and errors get their places.

use std::sync::{Arc, OnceLock};

use crate::engine::answer::NodeInfo;
use crate::engine::context::{Answer, Computation, Layers, NodeRequest};
use crate::engine::exports::OtherNodes;
use crate::engine::faults::without_consequences;
use crate::engine::values::Evaluated;
use crate::evaluate::Root;
use crate::model::layer::Applications;
use crate::model::merge::{Prefixes, merge_maps};
use crate::model::slot::MapSlot;
use reclass_base::error::{Error, Fault, MAX_FAULTS, Result, Warning, truncate_faults};
use reclass_base::secrets::Secrets;
use reclass_base::source::FileId;
use reclass_base::value::{Text, Value};

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
        let uri = item.map_or_else(|| self.inputs.node_uri(), |item| item.uri());
        NodeInfo {
            name: merged.name.clone(),
            uri: uri.into(),
            environment: merged.environment.clone(),
            classes: linearization.classes(),
            applications: Applications::merged(merged.all().map(|layer| &layer.applications)),
            parameters,
            exports,
            warnings: all,
            wire_values: OnceLock::new(),
            logged_warnings: OnceLock::new(),
        }
    }

    /// The other nodes, as the queries of this node see them.
    pub fn others(&self, merged: &Layers, environment: Option<&Text>) -> OtherNodes<'_> {
        let original = self.original_environment(&merged.layer);
        let overridden = environment.is_some() && original != merged.environment;
        OtherNodes::new(self, original, overridden.then(|| merged.name.clone()))
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

    /// The parameters of a node, for an evaluation that needs only few of them.
    pub fn root(&self, layers: &Layers) -> Root {
        let prefixes = Prefixes::new(self.settings);
        layers
            .linearization
            .root(&layers.extra, &layers.own_parameters(), &prefixes)
            .with_grains(layers.extra.grains.clone())
    }

    fn finish(&self, mut faults: Vec<Fault>, merged: &Layers) -> Error {
        for fault in &mut faults {
            self.complete(fault, merged);
        }
        without_consequences(&mut faults);
        self.redact_cycles(&mut faults, merged);
        self.add_file_warnings(&mut faults, merged);
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
