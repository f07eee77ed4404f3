//! Turns the origin of a value into a place that a person can open: file, line and column, the layer, and the
//! include chain of the layer.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::budget::Budget;
use super::data::{ApplicationTrace, ValuePlace};
use reclass::parts::engine::{Computation, IncludedBy, IncludedFile, Layers};
use reclass::parts::evaluate::Locate as _;
use reclass_base::source::{FileId, Origin, Site};
use reclass_base::value::Text;

/// The places of one node.
pub struct ValuePlaces<'a> {
    computation: &'a Computation<'a>,
    layers: &'a Layers,
    /// The place of each included file, without a line. Cached, because finding a file searches all included
    /// files.
    files: RefCell<FxHashMap<FileId, ValuePlace>>,
}

impl<'a> ValuePlaces<'a> {
    /// The places of a node with known layers.
    pub fn new(computation: &'a Computation<'a>, layers: &'a Layers) -> ValuePlaces<'a> {
        ValuePlaces { computation, layers, files: RefCell::default() }
    }

    /// The computation that the node belongs to.
    pub fn computation(&self) -> &'a Computation<'a> {
        self.computation
    }

    /// The layers of the node.
    pub fn layers(&self) -> &'a Layers {
        self.layers
    }

    /// The place of an origin; `default_layer` names the layer of a value that no file wrote.
    pub fn of(&self, origin: Origin, default_layer: &str) -> ValuePlace {
        if origin.file == FileId::NONE {
            return ValuePlace { site: None, layer: default_layer.into(), class: None, chain: Vec::new() };
        }
        let mut place =
            self.in_file(origin.file, |place| ValuePlace { site: self.site(origin), ..place.clone() });
        if place.layer.is_empty() {
            default_layer.clone_into(&mut place.layer);
        }
        place
    }

    /// The number of links in the include chain of an origin.
    pub(super) fn links(&self, origin: Origin) -> usize {
        if origin.file == FileId::NONE { 0 } else { self.in_file(origin.file, |place| place.chain.len()) }
    }

    fn in_file<T>(&self, file: FileId, ask: impl FnOnce(&ValuePlace) -> T) -> T {
        ask(self.files.borrow_mut().entry(file).or_insert_with(|| self.of_file(file)))
    }

    /// The place of a file. The layer is empty if the file was not included.
    fn of_file(&self, file: FileId) -> ValuePlace {
        let chains = self.layers.linearization.include_chains();
        let (layer, class) = match chains.of_file(file) {
            Some(included) if matches!(included.by, IncludedBy::Node) => {
                (format!("node '{}'", included.name), None)
            }
            Some(included) => (format!("class '{}'", included.name), Some(included.name.clone())),
            None => match self.computation.inputs.owner(file) {
                Some((true, name)) => (format!("class '{name}'"), Some(name)),
                Some((false, name)) => (format!("node '{name}'"), None),
                None => (String::new(), None),
            },
        };
        ValuePlace { site: None, layer, class, chain: chains.chain_of_file(file, self.computation.inputs) }
    }

    /// File, line and column of an origin.
    pub fn site(&self, origin: Origin) -> Option<Site> {
        reclass::parts::evaluate::site(self.computation.inputs, origin, None)
    }

    /// The place where each class of the node is listed, by class name.
    pub fn classes(&self) -> FxHashMap<Text, ValuePlace> {
        let chains = self.layers.linearization.include_chains();
        let included = chains.all().into_iter().skip(1);
        included.filter_map(|included| Some((included.name.clone(), self.listed(&included)?))).collect()
    }

    /// The place where an included file is listed.
    fn listed(&self, included: &IncludedFile) -> Option<ValuePlace> {
        let chains = self.layers.linearization.include_chains();
        let chain = chains.chain_of_file(included.file, self.computation.inputs);
        let (last, before) = chain.split_last()?;
        let class = match included.by {
            IncludedBy::Includer(index) => {
                chains.included(index).filter(|one| !matches!(one.by, IncludedBy::Node))
            }
            IncludedBy::Node | IncludedBy::Mapping(_) => None,
        };
        Some(ValuePlace {
            site: last.site.clone(),
            layer: last.includer.clone(),
            class: class.map(|class| class.name.clone()),
            chain: before.to_vec(),
        })
    }

    /// The place where each application of the node is added, by name. If there are very many, some are left
    /// out.
    pub fn applications(&self) -> FxHashMap<Text, ValuePlace> {
        let budget = Budget::new(self.computation.settings);
        let traces = super::context::applications(self.computation, self.layers, &[], &budget);
        let added = |trace: ApplicationTrace| {
            let step = trace.steps.into_iter().rfind(|step| step.effect == "adds")?;
            Some((trace.name, step.place))
        };
        traces.into_iter().filter_map(added).collect()
    }
}
