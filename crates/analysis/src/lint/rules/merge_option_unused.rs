use crate::lint::merged_lists::each_list;
use crate::lint::prelude::*;
use reclass::parts::model::{Declaration, PathRules};

pub const RULE: Rule = Rule {
    id: "merge-option-unused",
    level: Level::Warning,
    about: "A merge option decides about no list in any node.",
    text: "No layer from the declaration on has a list, or a reference that may bring one, at a path of the pattern. The pattern may have a typing error, or the declaration is in a class that comes after all lists. See [merge options](merge-options.md).

```yaml
# Bad: classes/vim.yml
merge_options: {pakages: unique}
parameters: {packages: [vim]}
# Good: classes/vim.yml
merge_options: {packages: unique}
parameters: {packages: [vim]}
# nodes/web.yml
classes: [vim]
# reclass-config.yml
merge_options: true
```",
    checks: &[Check::Inventory(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    // The declarations that decide about a list, or may decide about one that a reference brings.
    let mut used: FxHashSet<*const Declaration> = FxHashSet::default();
    each_list(linter, &mut |_, rules, slot| match (slot, rules.declaration()) {
        (Slot::List(_), None) => {}
        (Slot::List(_), Some(counts)) => {
            used.insert(counts);
            // An item may bring lists of its own.
            let items = rules.items().filter(|_| !counts.strategy.keys().is_empty());
            used.extend(items.iter().flat_map(PathRules::possible).map(std::ptr::from_ref));
        }
        _ => used.extend(rules.possible().map(std::ptr::from_ref)),
    });
    for declaration in known_layers(linter).flat_map(|(_, layer)| &layer.merge_options) {
        if !used.contains(&Arc::as_ptr(declaration)) {
            let pattern = &declaration.pattern.source;
            let message = format!("no list at '{pattern}' comes after this merge option in any node");
            found.push(linter.at(RULE.id, message, declaration.origin));
        }
    }
}
