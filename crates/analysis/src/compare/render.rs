//! Renders the nodes, and compares them with the old answers.

use std::collections::BTreeMap;

use super::ComparedParts;
use super::causes::Cause;
use super::old::{OldAnswers, OldNode};
use super::recognized::{Kept, Recognizer, Sides};
use crate::diff::{NodeChange, NodeDifference, Renderer, Section};
use crate::errors::OLD_REFUSAL;
use reclass::parts::engine::Computation;
use reclass::{Inventory, InventoryBuilder};
use reclass_base::error::{Error, Fault, Result};
use reclass_base::pattern::{Glob, chosen};
use reclass_base::value::{Key, Map, Text};

/// The differences of a node by their cause.
pub(super) type Explained = BTreeMap<Cause, NodeDifference>;

/// A comparison at work.
pub(super) struct Comparing<'a> {
    options: &'a Map,
    /// The state whose commits are compared.
    state: Option<&'a Inventory>,
    old: &'a OldAnswers,
    only: Vec<Glob>,
    except: Vec<Glob>,
}

impl<'a> Comparing<'a> {
    /// A comparison of these parts.
    pub fn new(
        (options, state): (&'a Map, Option<&'a Inventory>),
        old: &'a OldAnswers,
        parts: &ComparedParts,
    ) -> Comparing<'a> {
        let globs = |texts: &[String]| texts.iter().map(|text| Glob::new(text)).collect();
        Comparing { options, state, old, only: globs(&parts.only), except: globs(&parts.except) }
    }

    /// The number of nodes that differ with these settings above the options.
    pub fn remaining(&self, settings: &Map, nodes: &[Text]) -> Result<usize> {
        let mut options = self.options.clone();
        for (name, value) in settings {
            options.insert(name.clone(), value.clone());
        }
        let inventory = InventoryBuilder::new(&options).like(self.state).open()?;
        let differ = |now: &Computation<'_>| {
            self.differences(now, nodes).iter().filter(|explained| !explained.is_empty()).count()
        };
        inventory.inspect(differ)
    }

    /// The differences of each of these nodes.
    pub fn differences(&self, now: &Computation<'_>, nodes: &[Text]) -> Vec<Explained> {
        let own = |computation| (Renderer::new(computation), std::cell::RefCell::new(Kept::default()));
        now.context().each_node(nodes, own, |(renderer, kept), name| {
            let kept = &mut kept.borrow_mut();
            self.explained(name, Recognizer { renderer, old: self.old, kept })
        })
    }

    /// The differences between the old answer for a node and that of this side.
    fn explained(&self, name: &Text, mut recognizer: Recognizer<'_, '_>) -> Explained {
        let now = recognizer.render(name);
        let one = |cause: Option<Cause>, difference| {
            Explained::from([(cause.unwrap_or(Cause::Unexplained), difference)])
        };
        match (self.old.nodes.get(name), now) {
            (None | Some(OldNode::Refused(_)), None) | (Some(OldNode::Refused(_)), Some(Err(_))) => {
                Explained::new()
            }
            (None, Some(now)) => {
                one(None, NodeDifference::Added(now.err().map_or_else(Vec::new, Error::into_faults)))
            }
            (Some(_), None) => one(None, NodeDifference::Removed),
            (Some(OldNode::Refused(message)), Some(Ok(now))) => {
                let refusal = Fault { node: Some(name.clone()), ..OLD_REFUSAL.fault(message.clone(), None) };
                one(recognizer.of_refusal(name, &now), NodeDifference::Mended(vec![refusal]))
            }
            (Some(OldNode::Answer(sections)), Some(Err(error))) => {
                let faults = error.into_faults();
                let cause = recognizer.of_errors(name, sections, &faults, self.options);
                one(cause, NodeDifference::Broken(faults))
            }
            (Some(OldNode::Answer(sections)), Some(Ok(new))) => {
                let mut by_cause: BTreeMap<Cause, Vec<NodeChange>> = BTreeMap::new();
                let sides = Sides { name, old: sections, new: &new, asks: true };
                for (cause, change) in recognizer.of_changes(&sides) {
                    if self.is_chosen(&change) {
                        by_cause.entry(cause).or_default().push(change);
                    }
                }
                by_cause
                    .into_iter()
                    .map(|(cause, changes)| (cause, NodeDifference::Changed(changes)))
                    .collect()
            }
        }
    }

    /// Whether a change counts. Parameters are chosen by their first key.
    fn is_chosen(&self, change: &NodeChange) -> bool {
        let key = change.path.first().filter(|_| change.section == Section::Parameters);
        let name = key.map(|key: &Key| reclass_base::pystr::str(&key.0));
        name.is_none_or(|name| {
            chosen(&self.only, &name) && !self.except.iter().any(|glob| glob.matches(&name))
        })
    }
}
