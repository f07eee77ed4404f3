use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "class-from-pillar",
    level: Level::Info,
    about: "A class name has references, and the earlier pillar can set what they name.",
    text: "With `propagate_pillar_data_to_reclass`, the pillar before reclass comes before all classes. If a part of it comes from a minion, as grains in a template do, the minion can choose classes, and so read their parameters. The setting [`trusted_pillar`](settings.md#trusted_pillar) lists what class names may depend on; with it, the rule reports nothing. See [grains](grains.md#the-earlier-pillar).

```yaml
# Bad: reclass-config.yml
propagate_pillar_data_to_reclass: true
# Good: reclass-config.yml
propagate_pillar_data_to_reclass: true
trusted_pillar: [role]
# nodes/web.yml
classes: ['${role::nginx}']
# classes/nginx.yml
parameters: {port: 80}
```",
    checks: &[Check::Inventory(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let settings = linter.context.settings;
    if !settings.propagate_pillar_data_to_reclass || !settings.trusted_pillar.is_empty() {
        return;
    }
    for file in linter.files() {
        let Ok(layer) = &file.layer else { continue };
        for entry in layer.classes.iter().filter(|entry| entry.template.is_some()) {
            let message = format!("the earlier pillar can choose the class '{}'", entry.name);
            found.push(linter.at(RULE.id, message, entry.origin));
        }
    }
}
