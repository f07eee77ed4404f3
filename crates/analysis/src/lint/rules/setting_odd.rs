use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "setting-odd",
    level: Level::Warning,
    about: "A setting has an odd value, which counts as in the Python programs.",
    text: "```yaml
# Bad: reclass-config.yml
nodes_uri:
# Good: reclass-config.yml
nodes_uri: nodes
```",
    checks: &[],
};
