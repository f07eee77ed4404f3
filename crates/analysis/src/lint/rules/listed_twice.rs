use crate::lint::prelude::*;
use reclass_yaml::compose::Data;

pub const RULE: Rule = Rule {
    id: "listed-twice",
    level: Level::Warning,
    about: "A class or application is listed twice in one list.",
    text: "The rule accepts an application that a `~application` between the two takes away, and one that is taken away twice with an addition between.

```yaml
# Bad: nodes/web.yml
applications: [nginx, php, nginx]
# Good: nodes/web.yml
applications: [nginx, php]
```",
    checks: &[Check::File(check)],
};

fn check(written: &FileText<'_>, found: &mut Vec<Fault>) {
    for (section, node) in written.sections() {
        let (true, Data::List(items)) = (["classes", "applications"].contains(&section), &node.data) else {
            continue;
        };
        let mut seen: FxHashMap<(bool, &str), u32> = FxHashMap::default();
        for item in items.iter() {
            let Data::Value(Value::Str(name)) = &item.data else { continue };
            let taken = name.strip_prefix('~').filter(|_| section == "applications");
            let (removes, bare) = (taken.is_some(), taken.unwrap_or(name));
            // A removed application may be added and removed again (S8).
            seen.remove(&(!removes, bare));
            match seen.get(&(removes, bare)) {
                None => drop(seen.insert((removes, bare), item.index)),
                Some(first) => {
                    let line = written.span(*first).map_or(0, |span| span.line + 1);
                    let message = format!("'{name}' is in these {section} already, at line {line}");
                    let span = written.span(item.index);
                    found.extend(span.map(|span| written.fault(RULE.id, message, None, span)));
                }
            }
        }
    }
}
