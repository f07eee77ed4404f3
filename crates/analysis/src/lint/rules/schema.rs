use crate::lint::contracts;
use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "schema",
    level: Level::Error,
    about: "A value of a node breaks the schema of its parameter.",
    text: "[Schemas](parameter-schemas.md) are in the folder `schemas` beside `nodes` and `classes`. The finding is at the place that set the value, whichever nodes have it; a missing key is reported where the mapping comes from. The values of a node that does not render are not known; then one finding says that they are not checked.

```yaml
# Bad: nodes/web.yml
parameters:
  nginx: {workers: many}
# Good: nodes/web.yml
parameters:
  nginx: {workers: 4}
# schemas/nginx.yaml
type: object
properties:
  workers: {type: integer}
```",
    checks: &[Check::Inventory(contracts::check)],
};
