use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::lint::prelude::*;
use reclass::parts::engine::{IncludedBy, IncludedFile};

pub const RULE: Rule = Rule {
    id: "class-redundant",
    level: Level::Info,
    about: "Redundant: every node that has this file already includes the class.",
    text: "Without this entry, all parameters stay as they are. The order of `classes` in the result can change, because each file adds its whole list to it (ruling [S3](semantics.md)). An entry of a class mapping may be redundant too; its place is in the settings.

```yaml
# Bad: nodes/web.yml
classes: [php, nginx]
# Good: nodes/web.yml
classes: [php]
# classes/php.yml
classes: [nginx]
# classes/nginx.yml
parameters: {port: 80}
```",
    checks: &[Check::Whole(check)],
};

/// An entry that names a class.
#[derive(Clone, PartialEq, Eq, Hash)]
enum ListEntry {
    /// In a list of classes: the file, and the index of its YAML node.
    Listed(FileId, u32),
    /// In a class mapping: its displayed form, and the class.
    Mapped(Text, Text),
}

impl ListEntry {
    fn of(class: &Text, by: &IncludedBy, origin: Origin) -> Option<ListEntry> {
        match by {
            IncludedBy::Mapping(shown) => Some(ListEntry::Mapped(shown.clone(), class.clone())),
            IncludedBy::Includer(_) if origin != Origin::NONE => {
                Some(ListEntry::Listed(origin.file, origin.node))
            }
            IncludedBy::Node | IncludedBy::Includer(_) => None,
        }
    }
}

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    struct Use {
        class: Text,
        effective: bool,
        nodes: usize,
        /// Index of the node counted last. A mapping may name a class twice, and a node counts once.
        last: usize,
    }
    let mut uses: IndexMap<ListEntry, Use, FxBuildHasher> = IndexMap::default();
    for (at, node) in linter.survey.nodes.iter().enumerate() {
        let including_entry = |one: &IncludedFile| ListEntry::of(&one.name, &one.by, one.listed);
        let effective_entries: FxHashSet<ListEntry> =
            node.included.iter().filter_map(including_entry).collect();
        let included: FxHashSet<&Text> = node.included.iter().map(|one| &one.name).collect();
        for listed in &node.listings {
            let Some(entry) = ListEntry::of(&listed.class, &listed.by, listed.origin) else { continue };
            let effective = effective_entries.contains(&entry) || !included.contains(&listed.class);
            let class = &listed.class;
            let new = || Use { class: class.clone(), effective: false, nodes: 0, last: usize::MAX };
            let one = uses.entry(entry).or_insert_with(new);
            one.nodes += usize::from(one.last != at);
            one.last = at;
            one.effective |= effective;
        }
    }
    let patterns = linter.class_patterns();
    for (entry, Use { class, nodes, .. }) in uses.into_iter().filter(|(_, one)| !one.effective) {
        let nodes = if nodes == 1 { "1 node".into() } else { format!("{nodes} nodes") };
        match entry {
            ListEntry::Listed(file, node) => {
                if linter.survey.file(file).is_some_and(|file| !linter.is_known(file)) {
                    continue;
                }
                let origin = Origin { file, node };
                let message = match patterns.get(&origin) {
                    Some(pattern) => {
                        format!(
                            "every node that has this file already includes all classes that match '{pattern}' ({nodes})"
                        )
                    }
                    None => format!("every node that has this file already includes '{class}' ({nodes})"),
                };
                found.push(linter.at(RULE.id, message, origin));
            }
            // The classes that a mapping gives to a node that cannot be linearized are unknown.
            ListEntry::Mapped(..) if linter.survey.nodes.iter().any(|node| node.layers.is_err()) => {}
            ListEntry::Mapped(shown, _) => {
                let message =
                    format!("every node that '{shown}' matches already includes '{class}' ({nodes})");
                let setting = Some(("class_mappings", shown));
                found.push(Fault { setting, ..lint_fault(RULE.id, message, None) });
            }
        }
    }
}
