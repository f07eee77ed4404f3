//! Compares the nodes of two states. Both sides are rendered, and equal results are dropped at once.

use std::cell::RefCell;
use std::sync::Arc;

use super::contracts::{NodeVerdicts, SideSchemas, VerdictPair, verdicts};
use super::unchanged::OldInputs;
use super::values::{self, NodeChange};
use reclass::NodeInfo;
use reclass::parts::engine::{Answer, Computation, Dependencies, Layers, NodeRequest, Sequence};
use reclass::parts::model::Prefixes;
use reclass::parts::model::merge_options::enabled;
use reclass_base::error::{Error, Fault, Result};
use reclass_base::pattern::{Glob, chosen};
use reclass_base::value::{Key, Text};

#[derive(Debug)]
pub(crate) enum NodeDifference {
    /// No difference.
    Same,
    /// It fails on both sides with the same faults.
    Failing,
    /// It exists on the second side only; its faults there.
    Added(Vec<Fault>),
    /// It exists on the first side only.
    Removed,
    /// It renders on the first side only; its faults on the second.
    Broken(Vec<Fault>),
    /// It renders on the second side only; its faults on the first.
    Mended(Vec<Fault>),
    /// It fails on both sides with different faults.
    Otherwise(Vec<Fault>),
    /// Its values differ.
    Changed(Vec<NodeChange>),
}

/// The nodes of both sides that match the globs, sorted, each with its difference. A node may exist on one
/// side only.
pub(super) fn nodes(
    old: &Computation<'_>,
    new: &Computation<'_>,
    globs: &[Glob],
    schemas: &SideSchemas,
) -> (Vec<(Text, NodeDifference)>, NodeVerdicts) {
    let names = old.catalog.nodes.keys().chain(new.catalog.nodes.keys());
    let mut names: Vec<Text> = names.filter(|name| chosen(globs, name)).cloned().collect();
    names.sort_unstable();
    names.dedup();
    let (before, now) = (**old, **new);
    let old_inputs = OldInputs::new(before, now);
    let sides = |old| (Renderer::new(old), Renderer::new(now.computation()));
    let found =
        before.each_node(&names, sides, |(old, new), name| node(old, new, name, (schemas, &old_inputs)));
    let (mut differences, mut verdicts) = (Vec::with_capacity(names.len()), Vec::new());
    for (name, (difference, verdict)) in names.into_iter().zip(found) {
        verdicts.extend(verdict.map(|verdict| (name.clone(), verdict)));
        differences.push((name, difference));
    }
    (differences, verdicts)
}

/// One side in one thread.
pub struct Renderer<'a> {
    computation: Computation<'a>,
    /// Keeps the linearizations alive: other nodes reuse the sequence of a class only while a node holds it.
    sequences: RefCell<Vec<Arc<Sequence>>>,
}

impl<'a> Renderer<'a> {
    /// A renderer for the calling thread.
    pub fn new(computation: Computation<'a>) -> Renderer<'a> {
        Renderer { computation, sequences: RefCell::default() }
    }

    /// The separator of keys in a reference.
    pub fn delimiter(&self) -> &str {
        &self.computation.settings.delimiter
    }

    /// The result of a node; `None` if this side has no node of that name.
    pub fn render(&self, name: &Text) -> Option<Result<NodeInfo>> {
        self.computation.catalog.nodes.contains_key(name).then(|| self.answer(NodeRequest::plain(name)))
    }

    /// The same with the dependencies of the answer, which are known where there is one.
    fn render_with_inputs(&self, name: &Text) -> Option<Result<(Answer, Dependencies)>> {
        self.computation.catalog.nodes.contains_key(name).then(|| {
            let computation = &self.computation;
            let (answer, dependencies) =
                computation.recorder.during(|| computation.answer(NodeRequest::plain(name)));
            let answer = answer?;
            self.sequences.borrow_mut().push(answer.sequence.clone());
            Ok((answer, dependencies))
        })
    }

    /// The answer to a request.
    pub fn answer(&self, request: NodeRequest<'_>) -> Result<NodeInfo> {
        let answer = self.computation.answer(request)?;
        self.sequences.borrow_mut().push(answer.sequence);
        Ok(answer.info)
    }

    /// The layers for a request.
    pub fn layers_of(&self, request: NodeRequest<'_>) -> Result<Layers> {
        let layers = self.computation.layers(request)?;
        self.sequences.borrow_mut().push(layers.linearization.sequence.clone());
        Ok(layers)
    }

    /// The layers of a node, and the dependencies that are not in the sequence of its classes.
    pub fn layers_with_inputs(&self, name: &Text) -> (Result<Layers>, Dependencies) {
        self.computation.recorder.during(|| self.layers_of(NodeRequest::plain(name)))
    }

    /// The computation of its thread.
    pub fn computation(&self) -> &Computation<'a> {
        &self.computation
    }

    /// The layers of a node.
    pub fn layers(&self, name: &Text) -> Result<Layers> {
        self.computation.layers(NodeRequest::plain(name))
    }

    /// Finds the keys that identify the items of a list of a node.
    fn list_keys(&self, name: &Text) -> impl Fn(&[Key]) -> Option<Vec<Text>> {
        let settings = self.computation.settings;
        let layers = enabled(settings).then(|| self.layers(name).ok()).flatten();
        let rules = layers.and_then(|layers| layers.layer.rules().cloned());
        let prefixes = Prefixes::new(settings);
        move |path| rules.as_ref()?.keys_at(path, &prefixes)
    }

    /// The messages of an error, without the folders of the inventory.
    fn sentences(&self, error: &Error) -> Vec<(&'static str, String)> {
        let folders = self.computation.inputs.trees.display_names(self.computation.catalog);
        let sentence = |fault: &Fault| {
            let mut kind = fault.kind.clone();
            for path in kind.paths_mut() {
                for folder in &folders {
                    *path = path.replace(folder.as_str(), "");
                }
            }
            (fault.code(), kind.to_string())
        };
        error.faults().iter().map(sentence).collect()
    }
}

fn node(
    old: &Renderer<'_>,
    new: &Renderer<'_>,
    name: &Text,
    (schemas, old_inputs): (&SideSchemas, &OldInputs<'_>),
) -> (NodeDifference, VerdictPair) {
    let now = match new.render_with_inputs(name) {
        Some(Ok((answer, own))) if old_inputs.give(name, (&answer, &own), new.computation()) => {
            return (NodeDifference::Same, verdicts(schemas, [Some(&answer.info), Some(&answer.info)]));
        }
        now => now.map(|now| now.map(|(answer, _)| answer.info)),
    };
    let before = old.render(name);
    let infos = [before.as_ref(), now.as_ref()].map(|info| info.and_then(|info| info.as_ref().ok()));
    let verdicts = if now.is_some() { verdicts(schemas, infos) } else { None };
    let difference = match (before, now) {
        (None, Some(Err(error))) => NodeDifference::Added(error.into_faults()),
        (None, _) => NodeDifference::Added(Vec::new()),
        (_, None) => NodeDifference::Removed,
        (Some(Ok(_)), Some(Err(error))) => NodeDifference::Broken(error.into_faults()),
        (Some(Err(error)), Some(Ok(_))) => NodeDifference::Mended(error.into_faults()),
        (Some(Err(before)), Some(Err(now))) if old.sentences(&before) == new.sentences(&now) => {
            NodeDifference::Failing
        }
        (Some(Err(_)), Some(Err(now))) => NodeDifference::Otherwise(now.into_faults()),
        (Some(Ok(before)), Some(Ok(now))) => match values::changes(&before, &now, &new.list_keys(name)) {
            changes if changes.is_empty() => NodeDifference::Same,
            changes => NodeDifference::Changed(changes),
        },
    };
    (difference, verdicts)
}
