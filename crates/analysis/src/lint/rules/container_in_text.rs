use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "container-in-text",
    level: Level::Warning,
    about: "A reference inside of a text leads to a mapping or a list.",
    text: "The text then has the mapping as Python writes it: `at {'address': '10.0.0.1'}`. A reference that is the whole value keeps the type.

```yaml
# Bad: nodes/web.yml
parameters: {network: {address: 10.0.0.1}, listen: 'at ${network}'}
# Good: nodes/web.yml
parameters: {network: {address: 10.0.0.1}, listen: 'at ${network:address}', copy: '${network}'}
```",
    checks: &[],
};
