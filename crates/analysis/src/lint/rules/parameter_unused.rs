use crate::lint::param::{PARAM, each_query, gap, keys_set, references};
use crate::lint::prelude::*;
use reclass::parts::model::{Operand, Parsed, Part, Reference, template, visit};
use reclass_base::path::split_path;
use reclass_base::pattern::Glob;

pub const RULE: Rule = Rule {
    id: "parameter-unused",
    level: Level::Info,
    about: "Nothing refers to a key of _param.",
    text: "The rule looks at the references of all files, also of those that no node has, and at those of `class_mappings`. A reference such as `${_param:${flavor}_url}` uses every key that ends in `_url`; with more than 1,000 such references, every key counts as used. As long as any file is in error, or includes a class that is missing, one finding names this file, in place of all others.

```yaml
# Bad: nodes/web.yml
parameters: {_param: {port: 80}}
# Good: nodes/web.yml
parameters: {_param: {port: 80}, listen: '${_param:port}'}
```",
    checks: &[Check::Whole(check)],
};

/// The most patterns that each key of `_param` is compared with. With more, any key may be used.
const MOST_GLOBS: usize = 1_000;

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    if let Some((file, reason)) = gap(linter) {
        let message = format!("unused keys of _param are not looked for: {reason}");
        found.push(lint_fault(RULE.id, message, None).at_site(Site::file(file.path.clone())));
        return;
    }
    let delimiter = &linter.context.settings.delimiter;
    let mut used = Used::default();
    for one in references(linter) {
        used.take(one.reference, delimiter);
    }
    for layer in linter.etcd_layers() {
        layer.parameters.texts(&mut |_, template, _| {
            visit::references(&template.parts, &mut |reference| used.take(reference, delimiter));
        });
    }
    for (_, name) in linter.context.mappings.names() {
        // A name that is not a valid template fails when it matches a node.
        if let Ok(Parsed::Template(template)) = template::parse(&name.into(), linter.context.settings) {
            visit::references(&template.parts, &mut |reference| used.take(reference, delimiter));
        }
    }
    each_query(linter, &mut |_, query, _| {
        for test in query.comparisons() {
            if let Operand::Parameter(path) = &test.operand {
                used.path(path);
            }
        }
    });
    let unused = keys_set(linter).0.into_iter().filter(|(key, _)| !used.has(key));
    for (key, origin) in unused.filter_map(|(key, origin)| Some((key, origin?))) {
        let path = join_path(&[PARAM, &key].map(Key::from), delimiter);
        let message = format!("nothing refers to '{PARAM}{delimiter}{key}'");
        found.push(linter.about(RULE.id, message, origin, path, MergedSection::Parameters));
    }
}

/// The keys of `_param` that references use.
#[derive(Default)]
struct Used {
    keys: FxHashSet<String>,
    globs: FxHashMap<Text, Glob>,
    /// Whether a reference may name any key.
    anything: bool,
}

impl Used {
    fn take(&mut self, reference: &Reference, delimiter: &str) {
        if let Some(path) = &reference.fixed {
            self.path(&path.segments);
            return;
        }
        let Some(Part::Literal(begin)) = reference.parts.first() else {
            self.anything = true;
            return;
        };
        let known = split_path(begin, delimiter);
        if known.first().map(AsRef::as_ref) != Some(PARAM) && known.len() > 1 {
            return;
        }
        // `_param:${a}_url`: the rest of the key becomes a glob.
        match split_path(&template::glob(&reference.parts), delimiter).get(1) {
            Some(key) if known.len() > 1 && self.globs.len() < MOST_GLOBS => {
                self.globs.entry(key.clone()).or_insert_with(|| Glob::new(key));
            }
            _ => self.anything = true,
        }
    }

    fn path(&mut self, segments: &[Text]) {
        match segments {
            [first, key, ..] if &**first == PARAM => drop(self.keys.insert(key.to_string())),
            [first] if &**first == PARAM => self.anything = true,
            _ => {}
        }
    }

    fn has(&self, key: &str) -> bool {
        self.anything || self.keys.contains(key) || self.globs.values().any(|glob| glob.matches(key))
    }
}
