use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "node-unmapped",
    level: Level::Info,
    about: "There are class mappings, and none of them matches the node.",
    text: "```yaml
# Bad: nodes/db.yml
parameters: {port: 80}
# Good: nodes/web.yml
parameters: {port: 80}
# classes/nginx.yml
parameters: {listen: 80}
# reclass-config.yml
class_mappings: [web nginx]
```",
    checks: &[Check::Inventory(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    if linter.context.mappings.is_empty() {
        return;
    }
    let computation = linter.context.computation();
    for node in linter.nodes() {
        let item = linter.context.catalog.nodes.get(&node.name);
        let mapped = item.and_then(|item| computation.mapped_classes(item).ok());
        if mapped.is_some_and(|classes| classes.is_empty()) {
            let message = format!("no class mapping matches the node '{}'", node.name);
            found.push(lint_fault(RULE.id, message, None).at_site(Site::file(node.path.clone())));
        }
    }
}
