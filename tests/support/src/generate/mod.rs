//! Seeds turn into small inventories that mostly render.
//!
//! An inventory has a schema: parameters with their shapes, ranked so that references mostly
//! lead from a higher rank to a lower one. Layers give values for parts of it, mostly of the
//! right shape. What is rare in each place (a wrong shape, a missing name, a cycle) is made to
//! be rare, so that most nodes have an answer and each feature meets each other.

mod classes;
mod queries;
mod schema;
mod settings;
mod values;

use std::collections::BTreeMap;

use crate::inventory::{Inventory, Node};
use crate::random::Random;

use schema::Schema;
use settings::Syntax;

/// The inventory of a seed.
pub fn inventory(seed: u64) -> Inventory {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let (settings, syntax) = settings::settings(&mut random);
    let schema = Schema::new(&mut random);
    let traits = Traits::new(&mut random);
    let mut generator =
        Generator { random, syntax, schema, traits, anchors: 0, base: false, prefixed: false, parent: "" };
    generator.inventory(settings)
}

/// What an inventory is about: how often, of a thousand, something happens.
struct Traits {
    /// A reference in place of a value.
    references: usize,
    /// A prefix in front of a key.
    prefixes: usize,
    /// A value of another shape.
    wrong: usize,
    /// A scalar that YAML reads in its own way.
    odd: usize,
    /// A name that leads nowhere, or back.
    missing: usize,
    /// Whether there are exports, and queries for them.
    exports: bool,
    queries: bool,
    /// Names of classes with references.
    class_references: bool,
}

impl Traits {
    fn new(random: &mut Random) -> Traits {
        let queries = random.once_in(6);
        Traits {
            references: random.pick(&[0, 60, 150, 300]),
            prefixes: random.pick(&[0, 20, 80, 200]),
            wrong: random.pick(&[0, 0, 0, 6, 30]),
            odd: random.pick(&[0, 50, 200]),
            missing: random.pick(&[0, 0, 0, 10, 40]),
            exports: queries || random.once_in(8),
            queries,
            class_references: random.once_in(4),
        }
    }
}

struct Generator {
    random: Random,
    syntax: Syntax,
    schema: Schema,
    traits: Traits,
    anchors: usize,
    /// Whether the class that defines most is being written.
    base: bool,
    /// Whether a key above has a prefix: below it the programs differ, by M9.
    prefixed: bool,
    /// The text in front of a class name's reference.
    parent: &'static str,
}

impl Generator {
    /// True `times` of a thousand.
    fn chance(&mut self, times: usize) -> bool {
        self.random.below(1000) < times
    }

    fn inventory(&mut self, settings: BTreeMap<String, serde_json::Value>) -> Inventory {
        let mut inventory = Inventory { settings, ..Inventory::default() };
        self.classes(&mut inventory);
        inventory
    }

    /// The document of a class or node.
    fn document(&mut self, classes: Vec<String>, share: usize, node: bool) -> Node {
        let mut sections: Vec<(&str, Node)> = Vec::new();
        if !classes.is_empty() {
            sections.push(("classes", Node::texts(classes)));
        }
        if self.chance(300) {
            let names = (0..=self.random.below(3)).map(|_| {
                let name = self.random.pick(&["one", "two", "three", "four"]);
                if self.random.once_in(4) { format!("~{name}") } else { name.to_owned() }
            });
            let names: Vec<String> = names.collect();
            sections.push(("applications", Node::texts(names)));
        }
        if node && self.chance(350) {
            let environment = match self.random.below(12) {
                0 => Node::Raw("1".into()),
                1 => Node::Raw("~".into()),
                2..6 => Node::text("dev"),
                _ => Node::text("prod"),
            };
            sections.push(("environment", environment));
        }
        let mut parameters = self.parameters(share);
        if self.traits.queries && self.chance(if node { 600 } else { 150 }) {
            self.ask(&mut parameters);
        }
        if !parameters.is_empty() || self.random.once_in(3) {
            sections.push(("parameters", Node::Map(parameters)));
        }
        if self.traits.exports && self.chance(if node { 800 } else { 300 }) {
            sections.push(("exports", self.exports()));
        }
        if self.random.once_in(40) {
            sections.push(("_comment", Node::text("nobody reads this")));
        }
        if self.random.once_in(60) {
            let name = self.random.pick(&["classes", "applications", "parameters", "exports"]);
            if sections.iter().all(|(other, _)| *other != name) {
                sections.push((name, Node::Raw(String::new())));
            }
        }
        self.shuffle(&mut sections);
        Node::map(sections)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.random.below(index + 1));
        }
    }
}
