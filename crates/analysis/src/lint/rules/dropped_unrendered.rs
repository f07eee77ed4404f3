use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "dropped-unrendered",
    level: Level::Off,
    about: "A value with references is replaced without being resolved.",
    text: "```yaml
# Bad: classes/nginx.yml
parameters: {port: 80, listen: '${port}'}
# Good: classes/nginx.yml
parameters: {port: 80, listen: 80}
# nodes/web.yml
classes: [nginx]
parameters: {~listen: [81]}
```",
    checks: &[],
};
