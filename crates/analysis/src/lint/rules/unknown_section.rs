use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "unknown-section",
    level: Level::Warning,
    about: "A top-level key of a file means nothing.",
    text: "```yaml
# Bad: nodes/web.yml
parameter: {port: 80}
# Good: nodes/web.yml
parameters: {port: 80}
```",
    checks: &[],
};
