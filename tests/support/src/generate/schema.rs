//! The parameters of an inventory: their names, shapes and ranks.

use crate::inventory::Node;
use crate::random::Random;

/// A key as it is written, and as references name it.
#[derive(Clone, Debug)]
pub struct Name {
    pub node: Node,
    pub text: String,
}

/// What a parameter mostly is.
#[derive(Clone, Debug)]
pub enum Shape {
    Scalar,
    List,
    Map(Vec<(Name, Shape)>),
}

/// One parameter, at any depth.
#[derive(Clone, Debug)]
pub struct Place {
    pub path: Vec<String>,
    pub scalar: bool,
    pub list: bool,
    /// The lowest and the highest rank in it.
    pub ranks: (usize, usize),
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Schema {
    pub top: Vec<(Name, Shape)>,
    pub places: Vec<Place>,
    /// What [`KEY`] mostly says: the last key of some place.
    pub key: String,
}

/// The parameter that names a part of a class name.
pub const CLASS: &str = "cls";
/// The parameter that names a key of a mapping.
pub const KEY: &str = "key";
/// What the former may refer to.
pub const PICK: &str = "pick";

impl Schema {
    pub fn new(random: &mut Random) -> Schema {
        let count = 3 + random.below(4);
        let mut top = names(random, count)
            .into_iter()
            .map(|name| {
                let shape = shape(random, 2);
                (name, shape)
            })
            .collect::<Vec<_>>();
        for name in [CLASS, KEY, PICK] {
            let at = random.below(top.len() + 1);
            top.insert(at, (Name { node: Node::text(name), text: name.into() }, Shape::Scalar));
        }
        let mut schema = Schema { top: top.clone(), places: Vec::new(), key: "b".into() };
        let mut ranks: Vec<usize> = (1..=leaves(&top)).collect();
        for index in (1..ranks.len()).rev() {
            ranks.swap(index, random.below(index + 1));
        }
        for (name, shape) in &top {
            schema.place(&[], name, shape, &mut ranks);
        }
        if let Some(place) = schema.places.iter().find(|place| place.path.len() > 1) {
            schema.key.clone_from(&place.path[place.path.len() - 1]);
        }
        schema
    }

    fn place(
        &mut self,
        above: &[String],
        name: &Name,
        shape: &Shape,
        ranks: &mut Vec<usize>,
    ) -> (usize, usize) {
        let mut path = above.to_vec();
        path.push(name.text.clone());
        let index = self.places.len();
        let (scalar, list) = (matches!(shape, Shape::Scalar), matches!(shape, Shape::List));
        self.places.push(Place { path: path.clone(), scalar, list, ranks: (0, 0) });
        let selector = above.is_empty() && [CLASS, KEY, PICK].contains(&name.text.as_str());
        let found = match shape {
            Shape::Map(entries) if !entries.is_empty() => {
                let inner: Vec<(usize, usize)> =
                    entries.iter().map(|(name, shape)| self.place(&path, name, shape, ranks)).collect();
                let low = inner.iter().map(|ranks| ranks.0).min().unwrap_or(0);
                (low, inner.iter().map(|ranks| ranks.1).max().unwrap_or(0))
            }
            _ => {
                let rank = ranks.pop().unwrap_or(0);
                // What selects is decided first.
                if selector { (0, 0) } else { (rank, rank) }
            }
        };
        self.places[index].ranks = found;
        found
    }
}

fn leaves(entries: &[(Name, Shape)]) -> usize {
    let count = |shape: &Shape| match shape {
        Shape::Map(entries) if !entries.is_empty() => leaves(entries),
        _ => 1,
    };
    entries.iter().map(|(_, shape)| count(shape)).sum()
}

fn shape(random: &mut Random, depth: usize) -> Shape {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0..3 => Shape::Scalar,
        3..5 => Shape::List,
        _ => {
            let count = 1 + random.below(3);
            Shape::Map(
                names(random, count).into_iter().map(|name| (name, shape(random, depth - 1))).collect(),
            )
        }
    }
}

/// Different names, most of them plain.
pub fn names(random: &mut Random, count: usize) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    while names.len() < count {
        let name = name(random);
        if names.iter().all(|other| other.text != name.text) {
            names.push(name);
        }
    }
    names
}

fn name(random: &mut Random) -> Name {
    let plain = ["a", "b", "c", "d", "e", "f", "g", "h"];
    if !random.once_in(8) {
        let text = random.pick(&plain);
        return Name { node: Node::text(text), text: text.into() };
    }
    let odd = [
        ("1", "1"),
        ("'1'", "1"),
        ("true", "True"),
        ("~", "None"),
        ("1.50", "1.5"),
        ("2001-01-01", "2001-01-01"),
        ("0x10", "16"),
        ("no", "False"),
        ("a-b", "a-b"),
        ("a b", "a b"),
        ("é", "é"),
        ("a.b", "a.b"),
        ("_x", "_x"),
        ("'no'", "no"),
    ];
    let (node, text) = random.pick(&odd);
    Name { node: Node::Raw(node.into()), text: text.into() }
}
