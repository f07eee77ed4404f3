use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "overwritten-reference",
    level: Level::Info,
    about: "A reference leads nowhere, but a later layer replaces it.",
    text: "```yaml
# Bad: classes/nginx.yml
parameters: {port: '${default_port}'}
# Good: classes/nginx.yml
parameters: {port: 80}
# nodes/web.yml
classes: [nginx]
parameters: {port: 8080}
```",
    checks: &[],
};
