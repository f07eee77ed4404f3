use crate::lint::contracts;
use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "schema-keyword",
    level: Level::Warning,
    about: "A schema has a keyword that JSON Schema does not know, and a similar one exists.",
    text: "JSON Schema ignores unknown keywords, so a misspelled one checks nothing. Keywords that are similar to none are not reported: they may be those of another program.

```yaml
# Bad: schemas/nginx.yaml
type: object
requried: [workers]
# Good: schemas/nginx.yaml
type: object
required: [workers]
# nodes/web.yml
parameters:
  nginx: {workers: 4}
```",
    checks: &[Check::Inventory(contracts::check_keywords)],
};
