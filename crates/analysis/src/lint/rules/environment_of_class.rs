use crate::lint::prelude::*;
use reclass_yaml::compose::{Data, Node};

pub const RULE: Rule = Rule {
    id: "environment-of-class",
    level: Level::Warning,
    about: "A class file has an environment, which has no effect.",
    text: "Only the file of a node, or a setting, gives a node its environment (ruling [S9](semantics.md)).

```yaml
# nodes/web.yml
classes: [nginx]
# Bad: classes/nginx.yml
environment: dev
parameters: {port: 80}
# Good: classes/nginx.yml
parameters: {port: 80}
```",
    checks: &[Check::File(check)],
};

fn check(written: &FileText<'_>, found: &mut Vec<Fault>) {
    let is_set = |(name, node): &(&str, &Node)| {
        *name == "environment" && !matches!(node.data, Data::Value(Value::Null))
    };
    let Some((_, node)) = written.sections().find(is_set).filter(|_| written.is_class()) else { return };
    let message = "the environment of a class has no effect".into();
    let help = Some("write it into the files of the nodes".into());
    found.extend(written.span(node.index).map(|span| written.fault(RULE.id, message, help, span)));
}
