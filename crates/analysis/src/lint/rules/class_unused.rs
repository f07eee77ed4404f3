use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "class-unused",
    level: Level::Info,
    about: "No node has the class.",
    text: "As long as a file is in error, a node that has it may have any class. Then one finding names this file, in place of all others.

```yaml
# Bad: nodes/web.yml
classes: []
# Good: nodes/web.yml
classes: [nginx]
# classes/nginx.yml
parameters: {port: 80}
```",
    checks: &[Check::Whole(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let mut report = |message: String, path| {
        found.push(lint_fault(RULE.id, message, None).at_site(Site::file(path)));
    };
    if let Some(path) = &linter.broken {
        let message = "class-unused is not checked: this node does not render";
        return report(message.into(), path.clone());
    }
    for file in linter.files().filter(|file| file.is_class && file.nodes.is_empty()) {
        report(format!("no node has the class '{}'", file.name), file.path.clone());
    }
}
