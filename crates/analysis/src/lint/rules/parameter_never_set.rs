use super::parameter_optional;
use crate::lint::param::{MOST_SIMILAR, PARAM, gap, keys_set, references};
use crate::lint::prelude::*;
use reclass_base::similar;

pub const RULE: Rule = Rule {
    id: "parameter-never-set",
    level: Level::Warning,
    about: "A reference names a key of _param that no file sets.",
    text: "The rule looks at the references of all files, also of those that no node has, and at those of `class_mappings`. It reports a reference with a default only if a key of a similar name is set: otherwise the key may be one that nobody has set yet.

```yaml
# Bad: nodes/web.yml
parameters: {_param: {address: 10.0.0.1}, listen: '${_param:adress::127.0.0.1}'}
# Good: nodes/web.yml
parameters: {_param: {address: 10.0.0.1}, listen: '${_param:address}'}
```",
    checks: &[Check::Whole(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let (set, dynamic) = keys_set(linter);
    if dynamic || gap(linter).is_some() {
        return;
    }
    let mut known_similar: FxHashMap<&str, Option<&str>> = FxHashMap::default();
    for one in references(linter) {
        let Some(path) = &one.reference.fixed else { continue };
        let [param, key, ..] = path.segments.as_slice() else { continue };
        if &**param != PARAM || set.contains_key(&**key) {
            continue;
        }
        let is_sought = known_similar.len() < MOST_SIMILAR;
        let similar = *known_similar.entry(key).or_insert_with(|| {
            is_sought.then(|| similar::nearest(key, set.keys().map(String::as_str))).flatten()
        });
        // A reference with a default may be for a key that is set later. If a similar key exists, the
        // reference is probably a typo.
        let optional = path.default.is_some() && similar.is_none();
        let rule = if optional { parameter_optional::RULE } else { RULE };
        let help = similar.map(|name| format!("'{name}' is similar"));
        let message = format!("no file sets '{PARAM}{}{key}'", linter.context.settings.delimiter);
        found.push(Fault { site: one.site(linter), ..lint_fault(rule.id, message, help) });
    }
}
