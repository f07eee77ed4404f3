use crate::lint::contracts;
use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "schema-unused",
    level: Level::Info,
    about: "No node has the parameter of a schema that is for it.",
    text: "The path of the file is the path of the parameter: `schemas/ntp/server.yaml` is for `ntp:server`. A name in `x-reclass` that is misspelled leaves a schema without nodes, too. The rule needs all nodes, and each of them must render.

```yaml
# Bad: schemas/ngnix.yaml
type: object
# Good: schemas/nginx.yaml
type: object
# nodes/web.yml
parameters:
  nginx: {workers: 4}
```",
    checks: &[Check::Whole(contracts::check_unused)],
};
