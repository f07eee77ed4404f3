//! The types that the parts of the engine share: what one thread computes with, a request, the layers of a
//! node, and an answer.
//!
//! The parts are methods of [`Computation`], each in the file of its subject. They meet here and not in one
//! another's files: a node asks for the exports of other nodes, and exports ask for the layers of a node.

use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::engine::answer::NodeInfo;
use crate::engine::exports::{ExportIndex, QueryRecord};
use crate::engine::files::{Dependencies, DependencyRecorder};
use crate::engine::ignored::Ignored;
use crate::engine::inputs::Inputs;
use crate::engine::known_grains::KnownGrains;
use crate::engine::linearize::{ExtraParameters, Linearization};
use crate::engine::sequence::{Roots, Sequence};
use crate::model::catalog::{Catalog, CatalogEntry, NameIndex};
use crate::model::grains::{GrainRead, GrainRules, Grains};
use crate::model::layer::{Layer, LayerResult};
use crate::model::mappings::Mappings;
use crate::model::slot::MapSlot;
use reclass_base::error::Fault;
use reclass_base::parallel;
use reclass_base::progress::WorkUnit;
use reclass_base::secrets::Secrets;
use reclass_base::settings::Settings;
use reclass_base::value::{Text, Value};

/// An answer with its dependencies on other nodes.
#[derive(Debug)]
pub struct Answer {
    /// The answer.
    pub info: NodeInfo,
    /// Estimated bytes that evicting the answer frees.
    pub bytes: usize,
    /// The node's classes.
    pub sequence: Arc<Sequence>,
    /// The environment in the node's file.
    pub original_environment: Value,
    /// The questions of its queries to other nodes.
    pub queries: Vec<QueryRecord>,
    /// The grains that it depends on.
    pub grains: Vec<GrainRead>,
}

/// A request for one node.
#[derive(Clone, Copy, Debug)]
pub struct NodeRequest<'a> {
    /// Its name.
    pub name: &'a str,
    /// The environment that overrides the node's own (S10).
    pub environment: Option<&'a Text>,
    /// Data to merge before the classes (S2).
    pub input: Option<&'a Value>,
    /// The grains of the minion. Without them, those in the setting `known_grains` count.
    pub grains: Option<&'a Value>,
    /// Whether the node may have no file (S14).
    pub mapped: bool,
    /// The layer of a node without a file, in place of the file of that name.
    pub own: Option<&'a LayerResult>,
    /// Whether the request is for a top, which has no earlier pillar.
    pub top: bool,
}

impl<'a> NodeRequest<'a> {
    /// A request without overrides.
    pub fn plain(name: &'a str) -> NodeRequest<'a> {
        NodeRequest {
            name,
            environment: None,
            input: None,
            grains: None,
            mapped: false,
            own: None,
            top: false,
        }
    }
}

/// The grains of a node, if the settings have rules for grains.
pub(super) fn grains(
    rules: Option<&GrainRules>,
    known: &KnownGrains,
    node: &Text,
    given: Option<&Value>,
) -> Option<Grains> {
    let (given, source) = match given {
        Some(given) => (Some(given), "grains of the minion"),
        None => (known.get(node), "known grains of the minion"),
    };
    rules.map(|rules| rules.grains(node, given, source))
}

/// Everything that all threads share in a computation.
#[derive(Clone, Copy)]
pub struct EngineContext<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// The files.
    pub inputs: &'a Inputs,
    /// The class mappings.
    pub mappings: &'a Mappings,
    /// The rules for grains, if the settings have any.
    pub grain_rules: Option<&'a GrainRules>,
    /// The grains of nodes for requests that bring none.
    pub known_grains: &'a KnownGrains,
    /// The classes that may be missing.
    pub ignored: Option<&'a Ignored>,
    /// The catalog of names.
    pub catalog: &'a Arc<Catalog>,
    /// The empty sequence of classes for each tree.
    pub roots: &'a Roots,
    /// The exports of other nodes.
    pub index: &'a ExportIndex,
    /// The cached answers.
    pub answers: &'a CachedAnswers,
    /// The generation of the inputs.
    pub generation: u64,
}

/// The computation of one thread.
pub struct Computation<'a> {
    context: EngineContext<'a>,
    /// The dependencies recorded so far.
    pub recorder: DependencyRecorder,
}

impl<'a> EngineContext<'a> {
    /// A computation for the calling thread.
    pub fn computation(self) -> Computation<'a> {
        Computation { context: self, recorder: DependencyRecorder::default() }
    }

    /// The results of some work for each node, in order, from as many threads as the settings allow. Each thread makes
    /// what it needs of a computation of its own.
    pub fn each_node<'i, N: Sync, T, R: Send>(
        self,
        nodes: &'i [N],
        own: impl Fn(Computation<'a>) -> T + Sync,
        work: impl Fn(&T, &'i N) -> R + Sync,
    ) -> Vec<R> {
        let threads = self.settings.threads;
        parallel::each_counted(WorkUnit::Nodes, threads, nodes, || own(self.computation()), work, |_| false)
    }

    /// The classes of all trees. If some cannot be listed, there are none, and the whole question fails.
    pub fn all_classes(self) -> Vec<Arc<NameIndex>> {
        self.inputs.all_classes_or_fail(self.catalog)
    }

    /// A fault for each name of a node or class with several files.
    pub fn clashes(self) -> Vec<Fault> {
        self.all_classes();
        self.inputs.clashes(self.catalog)
    }
}

impl<'a> Deref for Computation<'a> {
    type Target = EngineContext<'a>;
    fn deref(&self) -> &EngineContext<'a> {
        &self.context
    }
}

/// A node with ordered layers, before evaluation.
#[derive(Debug)]
pub struct Layers {
    /// The name of the node.
    pub name: Text,
    /// The layer of its own file.
    pub layer: Arc<Layer>,
    /// The layers after it: those of the node in etcd.
    pub after: Vec<Arc<Layer>>,
    /// The layers of its classes.
    pub linearization: Linearization,
    /// The merged exports.
    pub exports: Arc<MapSlot>,
    /// The environment.
    pub environment: Value,
    /// The parameters that come from no file.
    pub extra: ExtraParameters,
}

impl Layers {
    /// The layers of its files in merge order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Layer>> {
        self.linearization.layers().chain(self.own())
    }

    /// The layers of the node itself in merge order.
    pub fn own(&self) -> impl DoubleEndedIterator<Item = &Arc<Layer>> {
        std::iter::once(&self.layer).chain(&self.after)
    }

    /// The policy that also hides what aliases bring from secret keys to other keys of the node.
    pub fn secrets(&self, secrets: &Secrets) -> Secrets {
        Layer::with_aliased(secrets, self.all().map(|layer| &**layer))
    }

    /// The parameters of the node itself.
    pub fn own_parameters(&self) -> Vec<&Arc<MapSlot>> {
        self.own().map(|layer| &layer.parameters).collect()
    }
}

impl<'a> Computation<'a> {
    /// The state that all threads share, for computations of other threads.
    pub fn context(&self) -> EngineContext<'a> {
        self.context
    }
}

/// The cached answers, by the node and the requested environment.
pub type CachedAnswers = FxHashMap<AnswerKey, CachedAnswer>;

/// A node, and the environment that overrides its own.
pub type AnswerKey = (Text, Option<Text>);

/// A cached answer and its dependencies.
#[derive(Debug)]
pub struct CachedAnswer {
    /// The answer.
    pub info: Arc<NodeInfo>,
    /// `Files::position_changes` at the time of the computation. Warnings name lines, so they are valid
    /// only for this count.
    pub(super) position_changes: u64,
    /// The classes of the node, shared with other nodes.
    pub sequence: Arc<Sequence>,
    /// The catalog entry of the node; `None` for a node that only class mappings define.
    pub(super) item: Option<Arc<CatalogEntry>>,
    /// The dependencies that are not in the sequence.
    pub dependencies: Dependencies,
    pub(super) original_environment: Value,
    /// The questions of its queries.
    pub queries: Vec<QueryRecord>,
    /// The grains that it depends on.
    pub(super) grains: Vec<GrainRead>,
    /// The last generation in which all dependencies were verified.
    pub(super) generation: u64,
    /// Estimated memory of this answer.
    pub(super) bytes: usize,
    /// The value of `uses` at the last request.
    pub(super) last_used: u64,
}

impl CachedAnswer {
    /// Whether the files of the node and of its classes are unchanged.
    pub fn inputs_hold(&self, name: &str, computation: &Computation<'_>) -> bool {
        self.generation == computation.generation
            || self.item.as_ref() == computation.catalog.nodes.get(name)
                && computation.inputs_hold(&self.dependencies, Some(&self.sequence))
    }
}
