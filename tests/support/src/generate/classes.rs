//! Class and node files: their names, folders, and who includes whom.

use crate::inventory::Inventory;

use super::Generator;
use super::schema::CLASS;

/// The class that gives a value to most parameters.
const BASE: &str = "base";

/// What the parameter for class names may say: the last parts of names of classes.
pub const LAST: [&str; 2] = ["b", "web"];

impl Generator {
    pub fn classes(&mut self, inventory: &mut Inventory) {
        let pool = ["a", "a.b", "a.c", "a.b.d", "app", "app.web", "app.db", "x", "x.a"];
        let mut names = vec![BASE.to_owned()];
        if self.traits.class_references {
            self.parent = self.random.pick(&["", "a.", "app."]);
            names.extend(LAST.iter().map(|last| format!("{}{last}", self.parent)));
        }
        for _ in 0..self.random.below(7) {
            let name = self.random.pick(&pool).to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if self.random.once_in(5) {
            let mappings = super::settings::mappings(&mut self.random, &names);
            inventory.settings.insert("class_mappings".into(), mappings);
        }
        for index in 0..names.len() {
            let path = self.class_path(&names[index]);
            let selected = self.traits.class_references && index <= LAST.len();
            let includes = if index == 0 || selected { Vec::new() } else { self.includes(&names, index) };
            let share = if index == 0 { 985 } else { self.random.pick(&[200, 400, 600]) };
            let document = self.document(includes, share, false);
            inventory.files.insert(path, document);
        }
        let count = if self.traits.queries { 2 + self.random.below(3) } else { 1 + self.random.below(2) };
        let composed = inventory.settings.contains_key("compose_node_name");
        let mut taken = Vec::new();
        for _ in 0..count {
            let name = self.random.pick(&["n1", "n2", "n3", "web1", "db.example.org", "web.example.org"]);
            if taken.contains(&name) && !self.random.once_in(20) {
                continue;
            }
            taken.push(name);
            let folders: &[&str] = if composed {
                &["", "prod/", "dev/eu/", "_all/", "_all/x/", "dev/_in/"]
            } else {
                &["", "", "", "prod/", "dev/eu/"]
            };
            let path = format!("nodes/{}{name}.{}", self.random.pick(folders), self.extension());
            let mut includes = vec![BASE.to_owned()];
            if self.chance(20) {
                includes.clear();
            }
            for _ in 0..self.random.below(4) {
                let target = self.random.below(names.len());
                let written = self.written(&names, None, target);
                let at = if self.random.once_in(30) { 0 } else { includes.len() };
                includes.insert(at, written);
            }
            let share = self.random.pick(&[0, 150, 400]);
            let document = self.document(includes, share, true);
            inventory.files.insert(path, document);
        }
    }

    fn extension(&mut self) -> &'static str {
        if self.random.once_in(12) { "yaml" } else { "yml" }
    }

    fn class_path(&mut self, name: &str) -> String {
        let extension = self.extension();
        if name.contains('.') && self.random.once_in(25) {
            return format!("classes/{name}.{extension}");
        }
        let path = name.replace('.', "/");
        if self.random.once_in(4) {
            format!("classes/{path}/init.{extension}")
        } else {
            format!("classes/{path}.{extension}")
        }
    }

    /// The classes that the class with this index includes: those before it.
    fn includes(&mut self, names: &[String], index: usize) -> Vec<String> {
        let mut includes = Vec::new();
        for _ in 0..self.random.below(4) {
            let most = if self.chance(self.traits.missing / 4) { names.len() } else { index };
            let target = self.random.below(most);
            includes.push(self.written(names, Some(index), target));
        }
        includes
    }

    /// A class name as it is written in a file.
    fn written(&mut self, names: &[String], home: Option<usize>, target: usize) -> String {
        let name = &names[target];
        if self.chance(self.traits.missing / 2) {
            return self.random.pick(&["nope", "a.nope", ".nope", "nonesuch", "nope", "a b"]).to_owned();
        }
        let (parent, last) = name.rsplit_once('.').unwrap_or(("", name));
        if self.traits.class_references && self.random.once_in(3) {
            let reference = self.syntax.reference(&[CLASS.to_owned()]);
            return format!("{}{reference}", self.parent);
        }
        if let Some(home) = home
            && self.random.once_in(3)
        {
            let above = names[home].rsplit_once('.').map_or("", |(parent, _)| parent);
            let top = above.rsplit_once('.').map_or("", |(parent, _)| parent);
            if parent == above {
                return format!(".{last}");
            }
            if parent == top && !above.is_empty() {
                return format!("..{last}");
            }
            if self.chance(self.traits.missing) {
                return format!("..{last}");
            }
        }
        name.clone()
    }
}
