use crate::lint::merged_lists::each_list;
use crate::lint::prelude::*;
use reclass::parts::model::Declaration;

pub const RULE: Rule = Rule {
    id: "merge-option-conflict",
    level: Level::Info,
    about: "Two files declare different merge options for one list; the order of the classes decides.",
    text: "The patterns differ, and both match the path. The declaration that comes last in the order of the layers counts, so another order of the classes changes the value.

```yaml
# Bad: classes/vim.yml
merge_options: {packages: replace}
parameters: {packages: [vim]}
# Good: classes/vim.yml
parameters: {packages: [vim]}
# classes/git.yml
merge_options: {'*': unique}
parameters: {packages: [git]}
# nodes/web.yml
classes: [git, vim]
# reclass-config.yml
merge_options: true
```",
    checks: &[Check::Inventory(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let checked: FxHashSet<FileId> = known_layers(linter).map(|(_, layer)| layer.file).collect();
    let mut claimed: FxHashSet<(*const Declaration, *const Declaration)> = FxHashSet::default();
    each_list(linter, &mut |path, rules, slot| {
        let (Some(counts), Slot::List(_)) = (rules.declaration(), slot) else { return };
        for other in rules.matching().filter(|other| differ(counts, other)) {
            if !checked.contains(&counts.origin.file) || !claimed.insert((counts, other)) {
                continue;
            }
            let path = join_path(path, &linter.context.settings.delimiter);
            let message = format!(
                "the merge options '{}' and '{}' differ for '{path}'; this one counts, because it is declared last",
                counts.pattern.source, other.pattern.source
            );
            let fault = linter.about(RULE.id, message, counts.origin, path, MergedSection::Parameters);
            found.push(fault.note("the other one is declared here", linter.site(other.origin)));
        }
    });
}

/// Whether two declarations of different files do different things to one list.
fn differ(one: &Declaration, other: &Declaration) -> bool {
    one.origin.file != other.origin.file && (one.strategy != other.strategy || one.remove != other.remove)
}
