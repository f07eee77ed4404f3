//! Linearization turns a node's class list into the ordered list of its layers.
//!
//! A class comes before the class that includes it, and only once: its first place counts
//! (S1). NameIndex may contain references; those see the parameters merged so far (S4). Classes
//! are reached through [`Lookup`] only, which records what was asked, found or not.

mod faults;
mod include_chains;
mod names;
mod parameters;
mod walk;

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::base::error::{Error, Fault, Result, Warning, truncate_faults};
use crate::base::settings::Settings;
use crate::base::source::{FileId, Origin};
use crate::base::value::Text;
use crate::engine::files::Dependencies;
use crate::engine::sequence::{Sequence, StepAdditions};
use crate::evaluate::Locate;
use crate::model::layer::{Layer, UnreadableFile};
use crate::model::mappings::MappedClass;
use crate::model::merge::Prefixes;
use crate::model::slot::MapSlot;

pub use include_chains::IncludeChains;
use parameters::sources;

/// Where classes come from.
pub trait Lookup {
    /// The layer of a class, `None` for one that does not exist. An error is one of its file.
    fn class(&self, name: &str) -> Result<Option<Arc<Layer>>, UnreadableFile>;
    /// The folder that classes are looked for in, and a class of a similar name.
    fn missing_hint(&self, name: &str) -> (String, Option<String>);
    /// Whether `ignore_class_notfound` covers this name. An error is one of the setting.
    fn may_be_missing(&self, name: &str) -> Result<bool, Fault>;
    /// Begins to record what is asked for.
    fn begin_record(&self);
    /// What was asked for since.
    fn end_record(&self) -> Dependencies;
    /// Adds to what is asked for.
    fn record(&self, dependencies: &Dependencies);
    /// Counts the times at which anything may have changed.
    fn revision(&self) -> u64;
    /// Whether files and names are what they were.
    fn is_current(&self, dependencies: &Dependencies) -> bool;
}

/// The parameters that come neither from a class nor from the node's file (S2).
#[derive(Debug, Default)]
pub struct ExtraParameters {
    /// Input data: a pillar that was passed on.
    pub input: Option<Arc<MapSlot>>,
    /// `_reclass_`, as a whole map with that one key.
    pub automatic: Option<Arc<MapSlot>>,
    /// The node's own scalars under the `scalar_parameters` key, for class names alone.
    pub scalars: Option<Arc<MapSlot>>,
    /// Whether there is input data that is not known here: a top has no earlier pillar. A class name
    /// that may depend on it is an error.
    pub unknown_input: bool,
}

/// The key of the automatic parameters.
pub const AUTOMATIC: &str = "_reclass_";

/// One file that came in.
#[derive(Clone, Debug)]
pub struct IncludedFile {
    /// The name of the class; that of the node for its own file.
    pub name: Text,
    /// The file.
    pub file: FileId,
    /// Who included it.
    pub by: IncludedBy,
    /// Where it is listed; [`Linearization`] knows it of what the node's file lists.
    pub listed: Origin,
}

/// One entry of a class list.
#[derive(Clone, Debug)]
pub struct ListedClass {
    /// The class that it came to.
    pub class: Text,
    /// Whose list it is.
    pub by: IncludedBy,
    /// Where it stands.
    pub origin: Origin,
}

/// Who included a class.
#[derive(Clone, Debug)]
pub enum IncludedBy {
    /// Nobody: it is the node.
    Node,
    /// A class mapping, as it is shown.
    Mapping(Text),
    /// The file with this index among those that came in; the node's own file is the first.
    Includer(usize),
}

/// The layers of a node, in the order in which they merge.
#[derive(Debug)]
pub struct Linearization {
    /// The classes, shared with other nodes; the node's own layer is not among them.
    pub sequence: Arc<Sequence>,
    /// Those that class mappings added in.
    pub mapped: Arc<Sequence>,
    /// The names that the node's file lists, for `classes` of the result.
    shown: Vec<Text>,
    /// The classes that the node's file lists, and where.
    listed: Vec<(Text, Origin)>,
    /// What mappings list for nothing: classes that are missing and may be, or are in already.
    unused: Vec<ListedClass>,
    /// The node.
    node: IncludedFile,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

/// What a linearization needs to know of the node.
#[derive(Debug)]
pub struct LinearizationInput<'a> {
    /// The name of the node.
    pub name: &'a Text,
    /// Its own layer.
    pub layer: &'a Arc<Layer>,
    /// Whether nothing is missing in it but values that cannot be read.
    pub whole: bool,
    /// The classes that mappings give to it.
    pub mapped: &'a [MappedClass],
    /// Other parameters.
    pub extra: &'a ExtraParameters,
}

/// A node whose layers are not in order.
#[derive(Debug)]
pub struct FailedLinearization {
    /// Why.
    pub error: Error,
    /// The layers that could be found, only to look for more faults.
    pub rest: Linearization,
    /// Whether these are all, but for values that cannot be read.
    pub whole: bool,
}

/// Orders the layers of a node. All missing classes and unreadable files are reported at once.
pub fn linearize(
    input: &LinearizationInput<'_>,
    root: &Arc<Sequence>,
    settings: &Settings,
    lookup: &dyn Lookup,
    sources: &dyn Locate,
) -> Result<Linearization, Box<FailedLinearization>> {
    let mut linearizer = Linearizer {
        input,
        settings,
        prefixes: Prefixes::new(settings),
        lookup,
        sources,
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
    let shown = linearizer.top(&input.layer.classes, None);
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
    if faults.is_empty() {
        Ok(linearization)
    } else {
        // An answer asks its sequence whether it holds; an error has none.
        linearization.sequence.steps().iter().for_each(|step| lookup.record(&step.added.dependencies));
        let whole = linearizer.completeness == Completeness::Complete && faults.len() <= MAX_FAULTS;
        truncate_faults(&mut faults, MAX_FAULTS);
        for fault in &mut faults {
            fault.node = Some(input.name.clone());
        }
        Err(Box::new(FailedLinearization { error: Error::new(faults), rest: linearization, whole }))
    }
}

/// How many of the classes came in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Completeness {
    /// All, but for values that cannot be read.
    Complete,
    /// Not all.
    Partial,
    /// A limit was met: nothing more comes in.
    Stopped,
}

struct Linearizer<'a> {
    input: &'a LinearizationInput<'a>,
    settings: &'a Settings,
    prefixes: Prefixes,
    lookup: &'a dyn Lookup,
    sources: &'a dyn Locate,
    /// All steps that are complete.
    sequence: Arc<Sequence>,
    /// What the step that is not complete added in so far.
    added: StepAdditions,
    /// Classes of the node's list, and where they stand there.
    listed: Vec<(Text, Origin)>,
    /// What mappings list for nothing: no step has it.
    unused: Vec<ListedClass>,
    /// What a missing class is called in the list that is looked at, where that is not its name.
    displayed_name: Option<Text>,
    /// NameIndex for `classes` of the result, from all steps up to `noted` and this one.
    shown: FxHashSet<Text>,
    /// Classes whose layers are in, likewise.
    done: FxHashSet<Text>,
    noted: Arc<Sequence>,
    /// Classes that are being file_count: name, the name as it is listed, and the index of their file.
    active: Vec<(Text, Text, usize)>,
    /// Whether this step is nobody else's.
    own: bool,
    warnings: Vec<Warning>,
    faults: Vec<Fault>,
    completeness: Completeness,
    node: IncludedFile,
    /// Those that class mappings added in.
    mapped: Arc<Sequence>,
    /// Whether only class mappings have been looked at so far.
    before_node: bool,
}

/// How many faults of one node are told at once. Each names all classes on the way to it.
const MAX_FAULTS: usize = 100;
