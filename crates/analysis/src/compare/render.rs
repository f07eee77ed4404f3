//! Renders the nodes with some rulings turned off, and compares them with the old answers.

use std::collections::BTreeSet;

use super::ComparedParts;
use super::acted::act;
use super::normal::{OldForm, normal};
use super::old::{OldAnswers, OldNode};
use super::rules::ALTERNATIVES;
use crate::diff::{NodeDifference, Renderer, changes};
use reclass::Inventory;
use reclass::parts::engine::answer::NodeInfo;
use reclass::parts::engine::builder::InventoryBuilder;
use reclass::parts::engine::context::Computation;
use reclass::parts::engine::sequence::AUTOMATIC;
use reclass::parts::output::wire::carry;
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::old_rules::OldRules;
use reclass_base::parallel;
use reclass_base::pattern::{Glob, chosen};
use reclass_base::progress::WorkUnit;
use reclass_base::value::{Map, Text, Value};

/// The rulings that are turned off, as indexes of [`ALTERNATIVES`].
pub(super) type Variation = BTreeSet<usize>;

/// A comparison at work.
pub(super) struct Comparing<'a> {
    /// The options of the inventory.
    pub options: &'a Map,
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

    /// Whether there are old answers, and none has the parameter `_reclass_`.
    pub fn lacks_automatic(&self) -> bool {
        let mut answers = self.old.nodes.values().filter_map(|node| match node {
            OldNode::Answer(sections) => sections.parameters.as_ref().and_then(Value::as_map),
            OldNode::Refused(_) => None,
        });
        let lacks = |map: &Map| !map.contains_key(AUTOMATIC);
        answers.next().is_some_and(lacks) && answers.all(lacks)
    }

    /// The differences of nodes, with these rulings turned off.
    pub fn without(&self, variation: &Variation, nodes: &[Text]) -> Result<Vec<NodeDifference>> {
        let (mut options, mut rules) = (self.options.clone(), OldRules::default());
        for alternative in variation.iter().filter_map(|index| ALTERNATIVES.get(*index)) {
            alternative.apply(&mut options, &mut rules);
        }
        match InventoryBuilder::new(&options).like(self.state).with_rules(rules).open() {
            Ok(inventory) => inventory.inspect(|now| self.differences(now, nodes)),
            // An inventory that an old program refuses has no answer for any node.
            Err(error) => Ok(nodes.iter().map(|name| self.outcome(name, Some(Err(error.clone())))).collect()),
        }
    }

    pub fn differences(&self, now: &Computation<'_>, nodes: &[Text]) -> Vec<NodeDifference> {
        let context = **now;
        let rules = now.settings.old_rules;
        parallel::each_counted(
            WorkUnit::Nodes,
            context.settings.threads,
            nodes,
            || Renderer::new(context.computation()),
            |renderer, name| self.difference(renderer, name, rules),
            |_| false,
        )
    }

    fn difference(&self, renderer: &Renderer<'_>, name: &Text, rules: OldRules) -> NodeDifference {
        self.outcome(
            name,
            renderer.render(name).map(|info| {
                let mut info = info?;
                act(&mut info, rules, self.old.form, || renderer.layers(name))?;
                self.formed(info, renderer.delimiter())
            }),
        )
    }

    /// The difference between the old answer and this one; `None` if the inventory has no such node.
    fn outcome(&self, name: &Text, now: Option<Result<NodeInfo>>) -> NodeDifference {
        match (self.old.nodes.get(name), now) {
            (None | Some(OldNode::Refused(_)), None) => NodeDifference::Same,
            (None, Some(now)) => NodeDifference::Added(now.err().map_or_else(Vec::new, Error::into_faults)),
            (Some(_), None) => NodeDifference::Removed,
            (Some(OldNode::Refused(message)), Some(Ok(_))) => {
                let kind = Kind::OldRefusal { message: message.clone() };
                NodeDifference::Mended(vec![Fault { node: Some(name.clone()), ..Fault::new(kind) }])
            }
            (Some(OldNode::Refused(_)), Some(Err(_))) => NodeDifference::Failing,
            (Some(OldNode::Answer(_)), Some(Err(error))) => NodeDifference::Broken(error.into_faults()),
            (Some(OldNode::Answer(sections)), Some(Ok(now))) => {
                let mut old = sections.completed(&now, self.old.form);
                old.parameters = self.chosen(&old.parameters);
                match changes(&old, &now, &|_| None) {
                    changes if changes.is_empty() => NodeDifference::Same,
                    changes => NodeDifference::Changed(changes),
                }
            }
        }
    }

    /// An answer in the form of the old ones, with only the parameters to compare.
    fn formed(&self, mut info: NodeInfo, delimiter: &str) -> Result<NodeInfo> {
        let form = self.old.form;
        info.parameters = self.chosen(&info.parameters);
        if form == OldForm::Pillar {
            info.parameters = carry(&info.parameters, "the pillar", delimiter)?;
        }
        info.environment = normal(&info.environment, form);
        info.parameters = normal(&info.parameters, form);
        info.exports = normal(&info.exports, form);
        Ok(info)
    }

    fn chosen(&self, parameters: &Value) -> Value {
        let Value::Map(map) = parameters else { return parameters.clone() };
        if self.only.is_empty() && self.except.is_empty() {
            return parameters.clone();
        }
        let entries = map.iter().filter(|(key, _)| {
            let name = reclass_base::pystr::str(&key.0);
            chosen(&self.only, &name) && !self.except.iter().any(|glob| glob.matches(&name))
        });
        Value::map(entries.map(|(key, value)| (key.clone(), value.clone())).collect::<Map>())
    }
}
