//! Linearization orders the layers of a node, as its class list demands.
//!
//! A class precedes the class that includes it. Only its first occurrence counts (S1). A class name may
//! contain references; they see the parameters merged so far (S4). Classes come only through `ClassLookup`,
//! which records every lookup as a dependency.

mod faults;
mod include_chains;
mod names;
mod parameters;
mod walk;

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::engine::classes::ClassLookup;
use crate::engine::context::Computation;
use crate::engine::sequence::{IncludedBy, IncludedFile, ListedClass, Sequence, StepAdditions};
use crate::evaluate::Locate;
use crate::model::grains::Grains;
use crate::model::layer::Layer;
use crate::model::mappings::MappedClass;
use crate::model::merge::Prefixes;
use crate::model::slot::MapSlot;
use reclass_base::error::{Fault, Warning, truncate_faults};
use reclass_base::settings::Settings;
use reclass_base::source::Origin;
use reclass_base::value::Text;

pub use include_chains::IncludeChains;
use parameters::sources;

/// The parameters that come from no class and not from the node's file (S2).
#[derive(Debug, Default)]
pub struct ExtraParameters {
    /// Input data: the pillar of earlier sources.
    pub input: Option<Arc<MapSlot>>,
    /// A map with the single key `_reclass_`.
    pub automatic: Option<Arc<MapSlot>>,
    /// The scalars below the node's `scalar_parameters` key. Only class names see them.
    pub scalars: Option<Arc<MapSlot>>,
    /// The grains of the minion, if the settings have rules for grains.
    pub grains: Option<Arc<Grains>>,
    /// Whether there is input data that is not available here, because a top has no earlier pillar. A class
    /// name that may depend on it is an error.
    pub unknown_input: bool,
}

/// The layers of a node in merge order.
#[derive(Debug)]
pub struct Linearization {
    /// The classes, shared with other nodes. They do not contain the node's own layer.
    pub sequence: Arc<Sequence>,
    /// The part of the sequence that comes from class mappings.
    pub mapped: Arc<Sequence>,
    /// The names in the node's own list, for `classes` of the result.
    shown: Vec<Text>,
    /// The classes in the node's own list, with their positions.
    listed: Vec<(Text, Origin)>,
    /// Entries of class mappings without effect: the class is missing and ignored, or already included.
    unused: Vec<ListedClass>,
    node: IncludedFile,
    /// The warnings of the linearization.
    pub warnings: Vec<Warning>,
}

/// What the order of the classes of a node depends on.
#[derive(Debug)]
pub struct LinearizationInput<'a> {
    /// The name of the node.
    pub name: &'a Text,
    /// The layer of the node's own file.
    pub layer: &'a Arc<Layer>,
    /// Whether that layer is complete, except for unreadable values.
    pub whole: bool,
    /// The classes from class mappings.
    pub mapped: &'a [MappedClass],
    /// Parameters that come from no file.
    pub extra: &'a ExtraParameters,
}

/// Orders the layers of a node. Returns all missing classes and unreadable files as faults, and whether all
/// layers are there, except for unreadable values.
pub(super) fn linearize(
    input: &LinearizationInput<'_>,
    lookup: &ClassLookup<'_>,
) -> (Linearization, Vec<Fault>, bool) {
    let computation = lookup.computation;
    let (settings, root) = (computation.settings, computation.roots.of(lookup.tree));
    let mut linearizer = Linearizer {
        input,
        settings,
        prefixes: Prefixes::new(settings),
        computation,
        lookup,
        sources: computation.inputs,
        sequence: root.clone(),
        added: StepAdditions::default(),
        listed: Vec::new(),
        unused: Vec::new(),
        displayed_name: None,
        shown: FxHashSet::default(),
        done: FxHashSet::default(),
        noted: root.clone(),
        active: Vec::new(),
        own: false,
        warnings: Vec::new(),
        faults: Vec::new(),
        completeness: Completeness::Complete,
        node: IncludedFile {
            name: input.name.clone(),
            file: input.layer.file,
            by: IncludedBy::Node,
            listed: Origin::NONE,
        },
        mapped: root.clone(),
        before_node: true,
    };
    linearizer.mapped_classes();
    linearizer.before_node = false;
    if !input.whole {
        linearizer.mark_incomplete();
    }
    linearizer.mapped = linearizer.sequence.clone();
    let mut shown = linearizer.top(&input.layer.classes, None);
    if settings.class_wildcards {
        // A file lists no name twice, but several patterns can include one class.
        let mut names = FxHashSet::default();
        shown.retain(|name| names.insert(name.clone()));
    }
    let linearization = Linearization {
        sequence: linearizer.sequence,
        mapped: linearizer.mapped,
        shown,
        listed: linearizer.listed,
        unused: linearizer.unused,
        node: linearizer.node,
        warnings: linearizer.warnings,
    };
    let mut faults = linearizer.faults;
    let complete = linearizer.completeness == Completeness::Complete && faults.len() <= MAX_FAULTS;
    let whole = faults.is_empty() || complete;
    if !faults.is_empty() {
        // A cached answer checks its sequence. An error has no sequence, so its dependencies are recorded here.
        linearization.sequence.steps().iter().for_each(|step| computation.record(&step.added.dependencies));
        truncate_faults(&mut faults, MAX_FAULTS);
        for fault in &mut faults {
            fault.node = Some(input.name.clone());
        }
    }
    (linearization, faults, whole)
}

/// How many of the classes were included.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Completeness {
    /// All, except for unreadable values.
    Complete,
    /// Some.
    Partial,
    /// Some; a limit stopped the linearization.
    Stopped,
}

struct Linearizer<'a> {
    input: &'a LinearizationInput<'a>,
    settings: &'a Settings,
    prefixes: Prefixes,
    computation: &'a Computation<'a>,
    lookup: &'a ClassLookup<'a>,
    sources: &'a dyn Locate,
    /// The complete steps.
    sequence: Arc<Sequence>,
    /// The additions of the current step.
    added: StepAdditions,
    /// The classes in the node's own list, with their positions.
    listed: Vec<(Text, Origin)>,
    /// Entries of class mappings without effect. No step contains them.
    unused: Vec<ListedClass>,
    /// The name of a missing class for explanations, if it differs from the written name.
    displayed_name: Option<Text>,
    /// Names for `classes` of the result, from the steps up to `noted` and the current step.
    shown: FxHashSet<Text>,
    /// Included classes, from the same steps.
    done: FxHashSet<Text>,
    noted: Arc<Sequence>,
    /// The current include chain: class, name as listed, and index of the file.
    active: Vec<(Text, Text, usize)>,
    /// Whether the current step depends on this node alone.
    own: bool,
    warnings: Vec<Warning>,
    faults: Vec<Fault>,
    completeness: Completeness,
    node: IncludedFile,
    /// The steps that came from class mappings.
    mapped: Arc<Sequence>,
    /// Whether only class mappings were processed so far.
    before_node: bool,
}

/// The most faults reported for one node. Each names its whole include chain.
const MAX_FAULTS: usize = 100;
