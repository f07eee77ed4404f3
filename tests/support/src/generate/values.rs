//! Values for the places of a schema: literals, references of every form, prefixes.

use crate::inventory::Node;

use super::Generator;
use super::classes::LAST;
use super::schema::{CLASS, KEY, Name, PICK, Place, Shape, names};
use super::settings::Syntax;

const WORDS: [&str; 10] = ["x", "y", "web", "db", "a", "b", "hello", "1", "no", "0"];

/// Scalars that YAML 1.1 and Python have their own mind about.
const ODD: [&str; 62] = [
    "yes",
    "No",
    "on",
    "off",
    "y",
    "014",
    "0o14",
    "1_000",
    "0b11",
    "0x1F",
    "12:30",
    "1:30:00",
    "190:20:30",
    "2001-12-14",
    "2001-12-14t21:59:43.10-05:00",
    "2001-12-14 21:59:43",
    "2001-12-15 2:59:43.10",
    "~",
    "null",
    "Null",
    "",
    "1.0",
    "1.5e3",
    "1.5e+3",
    "1e3",
    "-.5",
    "-0.0",
    ".5",
    "6.",
    "1e400",
    "+1",
    "-17",
    "0",
    "00",
    "08",
    ".inf",
    "-.inf",
    ".nan",
    "123456789012345678901234567890",
    "9223372036854775807",
    "9223372036854775808",
    "0.1",
    "1e16",
    "1.0e+16",
    "1.0e-5",
    "100000000000000000000.0",
    "'quoted'",
    "\"dq\\n\"",
    "'it''s'",
    "'yes'",
    "\"\\u00e9\"",
    "é",
    "a b  c",
    "plain words",
    "!!str 5",
    "!!int '7'",
    "!!float 3",
    "!!binary aGk=",
    "!!set {x: }",
    "!!omap [a: 1]",
    "! 5",
    "_",
];

impl Syntax {
    /// A reference to a path.
    pub fn reference(&self, path: &[String]) -> String {
        format!("{}{}{}", self.open, path.join(&self.delimiter), self.close)
    }
}

impl Generator {
    /// Entries for the schema, of which each has this chance in a thousand.
    pub fn parameters(&mut self, share: usize) -> Vec<(Node, Node)> {
        self.base = share > 900;
        let top = self.schema.top.clone();
        let mut entries = self.entries(&top, &[], share, share > 900);
        if self.chance(60) {
            let name = self.random.pick(&["extra", "more", "_reclass_"]);
            let value = if name == "_reclass_" {
                Node::map([("extra", Node::Raw("1".into()))])
            } else {
                self.literal(2)
            };
            entries.push((Node::text(name), value));
        }
        entries
    }

    fn entries(
        &mut self,
        schema: &[(Name, Shape)],
        above: &[String],
        share: usize,
        full: bool,
    ) -> Vec<(Node, Node)> {
        let mut entries = Vec::new();
        for (name, shape) in schema {
            let needed = self.base && above.is_empty() && name.text == CLASS;
            if !self.chance(share) && !needed {
                continue;
            }
            let mut path = above.to_vec();
            path.push(name.text.clone());
            let double = above.is_empty() && matches!(shape, Shape::Scalar);
            let key = self.key(name, double);
            let replaces = key != name.node;
            let above_prefixed = self.prefixed;
            self.prefixed |= replaces;
            let value = self.value(shape, &path, full || replaces);
            self.prefixed = above_prefixed;
            entries.push((key, value));
            if self.chance(self.traits.prefixes / 20) {
                // The same place once more in the same mapping.
                let value = self.value(shape, &path, full);
                entries.push((self.key(name, double), value));
            }
        }
        self.shuffle(&mut entries);
        if self.chance(15) {
            self.anchor(&mut entries);
        }
        entries
    }

    /// A key, with a prefix now and then.
    fn key(&mut self, name: &Name, double: bool) -> Node {
        if !self.chance(self.traits.prefixes) || (self.prefixed && !self.random.once_in(8)) {
            return name.node.clone();
        }
        let (replace, constant) = (self.syntax.replace.clone(), self.syntax.constant.clone());
        // Two prefixes only if no key above has one: below a prefix, each merge in reclass takes one
        // of them away.
        let which = self.random.below(24);
        let prefix = match which {
            0..3 => constant,
            3..6 if !double => replace,
            3 => format!("{replace}{constant}"),
            4 => format!("{constant}{replace}"),
            5 => format!("{replace}{replace}"),
            _ => replace,
        };
        Node::Text(format!("{prefix}{}", name.text))
    }

    /// Gives one value an anchor and the next entry its alias.
    fn anchor(&mut self, entries: &mut Vec<(Node, Node)>) {
        self.anchors += 1;
        let name = format!("d{}", self.anchors);
        let Some((_, value)) = entries.first_mut() else { return };
        let mapping = matches!(value, Node::Map(_));
        if matches!(value, Node::Anchored(..)) || matches!(value, Node::Raw(text) if text.starts_with('*')) {
            return;
        }
        *value = Node::Anchored(name.clone(), Box::new(value.clone()));
        let alias = Node::Raw(format!("*{name}"));
        if mapping && self.random.once_in(2) {
            let merged =
                Node::Map(vec![(Node::Raw("<<".into()), alias), (Node::text("b"), Node::Raw("2".into()))]);
            entries.push((Node::text("merged"), merged));
        } else {
            entries.push((Node::text("again"), alias));
        }
    }

    /// A value for a place.
    fn value(&mut self, shape: &Shape, path: &[String], full: bool) -> Node {
        if path.len() == 1 && (path[0] == CLASS || path[0] == PICK) {
            if path[0] == CLASS && self.random.once_in(8) && self.traits.class_references {
                return Node::Text(self.syntax.reference(&[PICK.to_owned()]));
            }
            return Node::text(self.random.pick(&LAST));
        }
        if path.len() == 1 && path[0] == KEY {
            let word = if self.chance(self.traits.missing) { "b".into() } else { self.schema.key.clone() };
            return Node::Text(word);
        }
        if self.chance(self.traits.wrong) {
            return self.literal(2);
        }
        let whole = match shape {
            Shape::Map(_) => !full || self.chance(self.traits.missing),
            _ => true,
        };
        if self.chance(25) && whole {
            return Node::Raw(self.random.pick(&["~", "null", ""]).into());
        }
        if self.chance(self.traits.references)
            && whole
            && let Some(reference) = self.whole(shape, path)
        {
            return Node::Text(reference);
        }
        match shape {
            Shape::Scalar => self.scalar(path),
            Shape::List => self.list(path),
            Shape::Map(schema) => {
                let mut entries = self.entries(schema, path, if full { 990 } else { 600 }, full);
                if self.random.once_in(10) {
                    let value = self.scalar(path);
                    entries.push((Node::text("new"), value));
                }
                Node::Map(entries)
            }
        }
    }

    fn list(&mut self, path: &[String]) -> Node {
        let count = self.random.below(4).max(usize::from(self.base));
        let items = (0..count).map(|_| match self.random.below(12) {
            0 => {
                let inner = names(&mut self.random, 1 + count / 2);
                let entries = inner.iter().map(|name| {
                    let value = self.scalar(path);
                    (self.key(name, false), value)
                });
                Node::Map(entries.collect())
            }
            1 => {
                let item = self.scalar(path);
                Node::List(vec![item])
            }
            2 if self.traits.references > 0 => {
                let shape = Shape::Map(Vec::new());
                self.whole(&shape, path).map_or(Node::Raw("1".into()), Node::Text)
            }
            3 => Node::text(self.random.pick(&["~x", "=x", "~"])),
            _ => self.scalar(path),
        });
        Node::List(items.collect())
    }

    /// Anything without references.
    fn literal(&mut self, depth: usize) -> Node {
        match self.random.below(if depth == 0 { 4 } else { 7 }) {
            0 => Node::Raw("~".into()),
            1 => Node::Raw(self.random.pick(&ODD).into()),
            2..4 => Node::text(self.random.pick(&WORDS)),
            4 => {
                let count = self.random.below(3);
                Node::List((0..count).map(|_| self.literal(depth - 1)).collect())
            }
            _ => {
                let count = self.random.below(3);
                let names = names(&mut self.random, count);
                let entries = names.iter().map(|name| {
                    let value = self.literal(depth - 1);
                    (self.key(name, false), value)
                });
                Node::Map(entries.collect())
            }
        }
    }

    fn scalar(&mut self, path: &[String]) -> Node {
        if self.chance(self.traits.odd) {
            return Node::Raw(self.random.pick(&ODD).into());
        }
        if self.chance(self.traits.references) {
            return match self.random.below(3) {
                0 => match self.whole(&Shape::Scalar, path) {
                    Some(reference) => Node::Text(reference),
                    None => Node::Raw("3".into()),
                },
                _ => Node::Text(self.composed(path)),
            };
        }
        match self.random.below(16) {
            0..3 => Node::Raw(self.random.below(100).to_string()),
            3 => Node::Raw(self.random.pick(&["true", "false"]).into()),
            4 => Node::Text(self.strange()),
            5 => Node::text(self.random.pick(&[
                "one\ntwo",
                "one\ntwo\n",
                "a\n\nb",
                " lead",
                "tail ",
                "",
                "a\tb",
                "é\u{2028}",
            ])),
            _ => Node::text(self.random.pick(&WORDS)),
        }
    }

    /// Text with references in it.
    fn composed(&mut self, path: &[String]) -> String {
        let mut text = String::new();
        for _ in 0..=self.random.below(3) {
            match self.random.below(5) {
                0 => text.push_str(&self.strange()),
                1 => text.push_str(self.random.pick(&["/", "-", " ", "http://", ".", "\n", "x"])),
                _ => {
                    let anything = self.random.once_in(8);
                    let shape = if anything { Shape::Map(Vec::new()) } else { Shape::Scalar };
                    if let Some(reference) = self.whole(&shape, path) {
                        text.push_str(&reference);
                    }
                }
            }
        }
        text
    }

    /// Text that looks like the language and mostly is none.
    fn strange(&mut self) -> String {
        let (open, close, escape) =
            (self.syntax.open.clone(), self.syntax.close.clone(), self.syntax.escape.clone());
        let query = self.syntax.query_open.clone();
        match self.random.below(14) {
            0 => format!("{escape}{open}a{close}"),
            1 => format!("{escape}{query} a ]"),
            2 => close,
            3 => escape,
            4 => format!("{escape}{escape}"),
            5 => format!("x{escape}y"),
            6 => "$".into(),
            7 => "{}".into(),
            8 => "a]b".into(),
            9 => format!("{escape}{close}"),
            10 if self.chance(self.traits.missing * 4) => open,
            11 => "\tx".into(),
            12 if self.chance(300) => {
                let path = self.schema.places[0].path.clone();
                format!("{escape}{escape}{}", self.syntax.reference(&path))
            }
            _ => "$x{".into(),
        }
    }

    /// A reference from a place to one of a shape, by rank.
    fn whole(&mut self, shape: &Shape, from: &[String]) -> Option<String> {
        if self.chance(self.traits.missing) {
            let mut path = self.random.pick(&self.schema.places.iter().collect::<Vec<_>>()).path.clone();
            path.push("gone".into());
            if self.random.once_in(2) {
                path = vec!["gone".into()];
            }
            return Some(self.syntax.reference(&path));
        }
        if self.chance(40) {
            let automatic = ["_reclass_:name:full", "_reclass_:environment", "_reclass_:name"];
            let path = self.random.pick(&automatic).split(':').map(str::to_owned).collect::<Vec<_>>();
            if path.len() != 2 || matches!(shape, Shape::Scalar) {
                return Some(self.syntax.reference(&path));
            }
        }
        let home = self.schema.places.iter().find(|place| place.path == from);
        let rank = home.map_or(0, |place| place.ranks.0);
        let free = self.chance(self.traits.missing / 2);
        let index = self.random.once_in(8);
        let fits = |place: &&Place| {
            (free || place.ranks.1 < rank)
                && match shape {
                    Shape::Scalar => place.scalar || (place.list && index),
                    Shape::List => place.list,
                    Shape::Map(schema) if schema.is_empty() => !place.scalar,
                    Shape::Map(_) => !place.scalar && !place.list,
                }
        };
        let places: Vec<&Place> = self.schema.places.iter().filter(fits).collect();
        if places.is_empty() {
            return None;
        }
        let place = self.random.pick(&places).clone();
        let mut path = place.path.clone();
        if place.list && matches!(shape, Shape::Scalar) {
            let index = match self.random.below(12) {
                0 => "-1",
                1 if self.chance(self.traits.missing * 4) => self.random.pick(&["1", "x", "7"]),
                _ => "0",
            };
            path.push(index.into());
        } else if self.random.once_in(3) && rank > 2 {
            // The last part by a reference of its own.
            let known = path.len() > 1 && path[path.len() - 1] == self.schema.key;
            if known || self.chance(self.traits.missing) {
                path.pop();
                path.push(self.syntax.reference(&[KEY.to_owned()]));
            }
        }
        Some(self.syntax.reference(&path))
    }
}
