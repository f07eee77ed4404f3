use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "duplicate-key",
    level: Level::Warning,
    about: "A mapping has a duplicate key; the last one wins.",
    text: r#"The rule also reports two keys that become the same text, such as `80` and `"80"`, `true` and `"True"`, `null` and `"None"` (ruling [M7](semantics.md)): the later value merges over the earlier. It does not look inside of lists, where keys keep their types, nor at keys that `<<` brings in from an anchor.

```yaml
# Bad: nodes/web.yml
parameters: {ports: {80: http, 80: proxy}}
# Good: nodes/web.yml
parameters: {ports: {80: http, 81: proxy}}
```"#,
    checks: &[],
};
