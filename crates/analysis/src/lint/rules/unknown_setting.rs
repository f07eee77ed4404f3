use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "unknown-setting",
    level: Level::Warning,
    about: "No setting has this name.",
    text: "```yaml
# Bad: reclass-config.yml
compose_node_names: true
# Good: reclass-config.yml
compose_node_name: true
```",
    checks: &[],
};
