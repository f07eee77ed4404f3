use crate::lint::prelude::*;
use reclass_base::settings::NodeNotFound;

pub const RULE: Rule = Rule {
    id: "class-mapping-unused",
    level: Level::Info,
    about: "A class mapping matches no node.",
    text: "The pattern may have a typing error, or its nodes may be gone or yet to come. Where mappings ask for [grains](grains.md), the rule needs those of all nodes, in `known_grains`. It reports nothing with `node_not_found: mappings`, because minions without a file then have mappings too.

```yaml
# Bad: reclass-config.yml
class_mappings: [wbe* nginx]
# Good: reclass-config.yml
class_mappings: [web* nginx]
# nodes/web1.yml
parameters: {port: 80}
# classes/nginx.yml
parameters: {listen: 80}
```",
    checks: &[Check::Whole(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let context = linter.context;
    if context.mappings.is_empty() || context.settings.node_not_found == NodeNotFound::Mappings {
        return;
    }
    let computation = context.computation();
    let mut used = FxHashSet::default();
    for item in context.catalog.nodes.values() {
        // As long as the grains of a node are not known, any mapping may match it.
        let Ok(classes) = computation.mapped_classes(item) else { return };
        used.extend(classes.into_iter().flat_map(|it| it.repeated.into_iter().chain([it.mapping])));
    }
    let mut seen = FxHashSet::default();
    for (mapping, _) in context.mappings.names().filter(|(mapping, _)| !used.contains(*mapping)) {
        if seen.insert(mapping) {
            let message = format!("the class mapping '{mapping}' matches no node");
            let setting = Some(("class_mappings", mapping.clone()));
            found.push(Fault { setting, ..lint_fault(RULE.id, message, None) });
        }
    }
}
