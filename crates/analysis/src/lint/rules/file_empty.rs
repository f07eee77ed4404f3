use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "file-empty",
    level: Level::Warning,
    about: "A node or class file is empty, as a full disk leaves it.",
    text: "With the setting [`empty_files: error`](settings.md#empty_files) such a file is an error (S22).

```yaml
# Bad: nodes/web.yml
# Good: nodes/web.yml
{}
```",
    checks: &[],
};
