use crate::lint::param::references;
use crate::lint::prelude::*;
use reclass::parts::model::Part;

pub const RULE: Rule = Rule {
    id: "default-unused",
    level: Level::Info,
    about: "The default of a reference is taken in no node.",
    text: "The rule does not look at names of classes.

```yaml
# Bad: nodes/web.yml
parameters: {port: 80, listen: '${port::8080}'}
# Good: nodes/web.yml
parameters: {port: 80, listen: '${port}'}
```",
    checks: &[Check::Whole(check)],
};

/// Defaults that no node took, although every node that uses the file was rendered. Defaults in class names
/// are skipped, because nothing records their use.
fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let double = linter.context.settings.delimiter.repeat(2);
    for one in references(linter).into_iter().filter(|one| !one.in_class) {
        let Some(file) = linter.survey.files.get(one.file) else { continue };
        let has_default = match &one.reference.fixed {
            Some(path) => path.default.is_some(),
            None => one
                .reference
                .parts
                .iter()
                .any(|part| matches!(part, Part::Literal(text) if text.contains(&double))),
        };
        if !has_default
            || !linter.is_rendered(file)
            || one.site(linter).is_none_or(|site| linter.rendered.defaults.contains(&site))
        {
            continue;
        }
        let message = format!("the default of '{}' is taken in no node", one.reference.written);
        found.push(Fault { site: one.site(linter), ..lint_fault(RULE.id, message, None) });
    }
}
