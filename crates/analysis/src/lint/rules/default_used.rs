use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "default-used",
    level: Level::Off,
    about: "A reference leads nowhere, and its default is taken.",
    text: "```yaml
# Bad: nodes/web.yml
parameters: {listen: '${port::80}'}
# Good: nodes/web.yml
parameters: {listen: 80}
```",
    checks: &[],
};
