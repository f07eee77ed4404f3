use crate::lint::prelude::*;

// The check of keys that are never set reports it.
pub const RULE: Rule = Rule {
    id: "parameter-optional",
    level: Level::Info,
    about: "A reference with a default names a key of _param that no file sets, and none with a similar name is set.",
    text: "```yaml
# Bad: nodes/web.yml
parameters: {proxy: '${_param:proxy::none}'}
# Good: nodes/web.yml
parameters: {proxy: none}
```",
    checks: &[],
};
