use crate::lint::prelude::*;

// The check of the rule `schema` reports it.
pub const RULE: Rule = Rule {
    id: "schema-deprecated",
    level: Level::Warning,
    about: "A parameter is set that its schema marks as deprecated.",
    text: "The message has the `description` of the [schema](parameter-schemas.md), which says what to set in its place. Notes name the other layers that set the value.

```yaml
# Bad: nodes/web.yml
parameters:
  nginx: {threads: 4}
# Good: nodes/web.yml
parameters:
  nginx: {workers: 4}
# schemas/nginx.yaml
type: object
properties:
  threads: {deprecated: true, description: set workers}
```",
    checks: &[],
};
