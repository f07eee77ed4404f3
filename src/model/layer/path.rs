//! Finds the parameter paths of YAML nodes, for messages.

use rustc_hash::{FxHashMap, FxHashSet};

use super::grow;
use reclass_base::error::short_path;
use reclass_base::value::{Key, Value};
use reclass_yaml::compose::{Data, Document, Node};

/// The paths of these nodes in reference notation, and whether each is an export. Nodes outside of
/// parameters and exports have none.
pub(super) fn paths_of_nodes(
    document: &Document,
    wanted: FxHashSet<u32>,
    delimiter: &str,
) -> FxHashMap<u32, (String, bool)> {
    let mut finder =
        PathFinder { wanted, delimiter, path: Vec::new(), export: false, found: FxHashMap::default() };
    if let Some(Node { data: Data::Map(sections), .. }) = &document.root {
        for section in sections.iter() {
            if let Some(name @ ("parameters" | "exports")) = section.key.as_str() {
                finder.export = name == "exports";
                finder.inside(&section.value);
            }
        }
    }
    finder.found
}

/// One component of a path.
enum PathStep<'d> {
    Key(&'d Key),
    Index(i64),
}

struct PathFinder<'d> {
    /// The nodes still to find.
    wanted: FxHashSet<u32>,
    delimiter: &'d str,
    path: Vec<PathStep<'d>>,
    export: bool,
    found: FxHashMap<u32, (String, bool)>,
}

impl<'d> PathFinder<'d> {
    fn step(&mut self, step: PathStep<'d>, node: &'d Node) {
        self.path.push(step);
        if self.wanted.remove(&node.index) {
            self.found.insert(node.index, (self.path_text(), self.export));
        }
        self.inside(node);
        self.path.pop();
    }

    fn inside(&mut self, node: &'d Node) {
        if self.wanted.is_empty() {
            return;
        }
        match &node.data {
            Data::Value(_) => {}
            Data::List(items) => grow(|| {
                items.iter().zip(0..).for_each(|(item, index)| self.step(PathStep::Index(index), item));
            }),
            Data::Map(entries) => grow(|| {
                entries.iter().for_each(|entry| self.step(PathStep::Key(&entry.key), &entry.value));
            }),
        }
    }

    fn path_text(&self) -> String {
        let keys = self.path.iter().map(|step| match step {
            PathStep::Index(index) => Key(Value::Int(*index)),
            PathStep::Key(key) => {
                let name = reclass_base::pystr::str(&key.0);
                Key::from(name.trim_start_matches(['~', '=']))
            }
        });
        short_path(&keys.collect::<Vec<Key>>(), self.delimiter)
    }
}
