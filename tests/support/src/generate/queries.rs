//! Exports, and inventory queries in all their forms.

use crate::inventory::Node;

use super::Generator;

impl Generator {
    /// Exports: `e` and `g` are scalars, `f` a mapping, `h` a list, mostly.
    pub fn exports(&mut self) -> Node {
        let mut entries = Vec::new();
        for name in ["e", "f", "g", "h"] {
            if !self.chance(650) {
                continue;
            }
            let sort = if self.chance(self.traits.wrong) { self.random.pick(&["e", "f", "h"]) } else { name };
            let value = match sort {
                "f" => {
                    let inner = self.export();
                    let key = self.random.pick(&["k", "k", "~k", "l"]);
                    let (other, more) = (self.random.pick(&["m", "n"]), self.export());
                    Node::map([(key, inner), (other, more)])
                }
                "h" => Node::List(vec![Node::Raw("1".into()), self.export()]),
                _ => self.export(),
            };
            let prefixed = self.chance(self.traits.prefixes / 2);
            let key = if prefixed { format!("{}{name}", self.syntax.replace) } else { name.to_owned() };
            entries.push((Node::Text(key), value));
        }
        Node::Map(entries)
    }

    fn export(&mut self) -> Node {
        match self.random.below(10) {
            0..3 => Node::Raw(self.random.below(3).to_string()),
            3..5 => Node::text(self.random.pick(&["x", "y", "web"])),
            5 => Node::Raw(self.random.pick(&["true", "~", "1.0", "no", "2001-01-01"]).into()),
            _ => {
                if self.chance(self.traits.missing * 5) {
                    return Node::Text(self.syntax.reference(&["gone".to_owned()]));
                }
                let scalars: Vec<usize> = (0..self.schema.places.len())
                    .filter(|index| self.schema.places[*index].scalar || self.traits.wrong > 0)
                    .collect();
                let path = self.schema.places[self.random.pick(&scalars)].path.clone();
                let reference = self.syntax.reference(&path);
                Node::Text(if self.random.once_in(3) { format!("-{reference}") } else { reference })
            }
        }
    }

    /// Adds parameters that ask.
    pub fn ask(&mut self, parameters: &mut Vec<(Node, Node)>) {
        for name in ["q", "r"] {
            if !self.chance(600) {
                continue;
            }
            let query = Node::Text(self.query());
            let value = match self.random.below(10) {
                0 => Node::List(vec![Node::Raw("1".into()), query]),
                1 => Node::map([("in", query), ("k", Node::Raw("1".into()))]),
                2 if self.chance(self.traits.missing * 2) => Node::Text(format!("x{}", self.query())),
                _ => query,
            };
            let prefixed = self.chance(self.traits.prefixes);
            let key = if prefixed { format!("{}{name}", self.syntax.replace) } else { name.to_owned() };
            let at = self.random.below(parameters.len() + 1);
            parameters.insert(at, (Node::Text(key), value));
        }
        if self.chance(150) {
            let path = ["q".to_owned()];
            parameters.push((Node::text("copy"), Node::Text(self.syntax.reference(&path))));
        }
    }

    fn export_path(&mut self) -> String {
        let delimiter = self.syntax.delimiter.clone();
        let path = match self.random.below(12) {
            0..4 => vec!["e"],
            4..6 => vec!["f"],
            6..8 => vec!["g"],
            8 => vec!["h"],
            9 => vec!["f", "k"],
            10 => vec!["f", "m"],
            _ => vec!["none"],
        };
        let first = if self.random.once_in(12) { "EXPORTS" } else { "exports" };
        format!("{first}{delimiter}{}", path.join(&delimiter))
    }

    fn test(&mut self) -> String {
        let export = self.export_path();
        let operator = if self.random.once_in(3) { "!=" } else { "==" };
        let operand = match self.random.below(10) {
            0..3 => self.random.below(3).to_string(),
            3..5 => self.random.pick(&["x", "y", "web"]).to_owned(),
            5 => self.random.pick(&["true", "False", "-1", "1.0", "1.", "2.5x", "0x"]).to_owned(),
            _ => {
                let scalars: Vec<usize> = (0..self.schema.places.len())
                    .filter(|index| self.schema.places[*index].path.iter().all(|part| !part.contains(' ')))
                    .collect();
                let path = match scalars.get(self.random.below(scalars.len().max(1))) {
                    Some(index) => self.schema.places[*index].path.join(&self.syntax.delimiter),
                    None => "gone".to_owned(),
                };
                format!("self{}{path}", self.syntax.delimiter)
            }
        };
        if self.random.once_in(8) {
            format!("{operand} {operator} {export}")
        } else {
            format!("{export} {operator} {operand}")
        }
    }

    fn query(&mut self) -> String {
        let option = match self.random.below(10) {
            0 | 1 => "+AllEnvs ",
            2 => "+IgnoreErrors ",
            3 => "+ignoreerrors +allenvs ",
            _ => "",
        };
        let mut tests = self.test();
        for _ in 0..self.random.below(3) {
            let word = self.random.pick(&["and", "or", "AND"]);
            tests = format!("{tests} {word} {}", self.test());
        }
        let inside = match self.random.below(5) {
            0 => self.export_path(),
            1 | 2 => format!("{} if {tests}", self.export_path()),
            _ => format!("if {tests}"),
        };
        format!("{} {option}{inside} {}", self.syntax.query_open, self.syntax.query_close)
    }
}
