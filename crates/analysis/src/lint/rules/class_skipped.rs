use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "class-skipped",
    level: Level::Info,
    about: "A class does not exist, and the settings let it be missing.",
    text: "```yaml
# Bad: nodes/web.yml
classes: [nginx]
# Good: nodes/web.yml
classes: []
# reclass-config.yml
ignore_class_notfound: true
```",
    checks: &[],
};
