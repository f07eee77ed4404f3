use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "query-without-exports",
    level: Level::Warning,
    about: "An inventory query begins with another word than exports, which is taken for it.",
    text: "```yaml
# Bad: nodes/web.yml
exports: {port: 80}
parameters: {ports: '$[ export:port ]'}
# Good: nodes/web.yml
exports: {port: 80}
parameters: {ports: '$[ exports:port ]'}
```",
    checks: &[Check::Inventory(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    for layer in linter.files().filter_map(|file| file.layer.as_ref().ok()) {
        layer.parameters.queries(&mut |_, query, origin| {
            if let Some(word) = &query.misnamed {
                let message = format!("'{word}' in front of an inventory query is taken for 'exports'");
                found.push(linter.at(RULE.id, message, origin));
            }
        });
    }
}
