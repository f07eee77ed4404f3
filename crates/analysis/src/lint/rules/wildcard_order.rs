use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "wildcard-order",
    level: Level::Info,
    about: "Two classes that one pattern includes set one scalar differently; their names decide.",
    text: "The classes that a [pattern](classes-by-pattern.md) includes come in the order of their names, so the value of the last name counts. A rename, or a new file, changes the value. The rule compares the scalars of the class files themselves, and reports a path once for each pattern. It looks at the lists in files, not at class mappings.

```yaml
# Bad: classes/apps/php.yml
parameters: {port: 81}
# Good: classes/apps/php.yml
parameters: {php_port: 81}
# classes/apps/nginx.yml
parameters: {port: 80}
# nodes/web.yml
classes: ['apps.*']
# reclass-config.yml
class_wildcards: true
```",
    checks: &[Check::Inventory(check)],
};

/// A class that a pattern includes, with its scalars.
struct Included<'s> {
    name: &'s Text,
    layer: &'s Layer,
}

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    if !linter.context.settings.class_wildcards {
        return;
    }
    let patterns = linter.class_patterns();
    // Nodes of one kind have the same classes. Only their own lists differ.
    let mut seen: FxHashSet<(Origin, Vec<FileId>)> = FxHashSet::default();
    let mut reported: FxHashSet<(Origin, MergedSection, Vec<Key>)> = FxHashSet::default();
    for node in linter.nodes() {
        let mut groups: FxHashMap<Origin, Vec<FileId>> = FxHashMap::default();
        for included in node.included.iter().filter(|included| patterns.contains_key(&included.listed)) {
            groups.entry(included.listed).or_default().push(included.file);
        }
        #[expect(clippy::iter_over_hash_type, reason = "findings are sorted in the end")]
        for (origin, files) in groups {
            if !seen.insert((origin, files.clone())) {
                continue;
            }
            let included = |file: &FileId| {
                let file = linter.survey.file(*file)?;
                Some(Included { name: &file.name, layer: file.layer.as_ref().ok()? })
            };
            let included: Vec<Included<'_>> = files.iter().filter_map(included).collect();
            for section in MergedSection::ALL {
                for Conflict { path, classes } in conflicts(linter, section, &included) {
                    if !reported.insert((origin, section, path.clone())) {
                        continue;
                    }
                    let path = join_path(&path, &linter.context.settings.delimiter);
                    let [one, other] = classes.map(|(name, _)| name);
                    let message = format!(
                        "'{one}' and '{other}' set '{path}' differently; '{}' includes both, and the later \
                         name counts",
                        patterns[&origin]
                    );
                    let mut fault = linter.about(RULE.id, message, origin, path, section);
                    for (name, place) in classes {
                        fault = fault.note(format!("'{name}' sets it here"), linter.site(place));
                    }
                    found.push(fault);
                }
            }
        }
    }
}

/// A path that two classes set to different scalars, with the classes and the places.
struct Conflict<'s> {
    path: Vec<Key>,
    classes: [(&'s Text, Origin); 2],
}

/// The paths that two of the classes set differently. Each is listed for the first class that sets it, and each
/// later one.
fn conflicts<'s>(linter: &Linter<'_>, section: MergedSection, classes: &[Included<'s>]) -> Vec<Conflict<'s>> {
    let maps: Vec<_> = classes.iter().map(|class| linter.settled(section, class.layer)).collect();
    let mut set: FxHashMap<Vec<Key>, (&Value, (&'s Text, Origin))> = FxHashMap::default();
    let mut found = Vec::new();
    for (class, map) in classes.iter().zip(&maps) {
        scalars(map, &mut |path, slot, _| {
            let Slot::Value(value, origin) = slot else { return };
            let here = (class.name, *origin);
            match set.get(path) {
                None => drop(set.insert(path.to_vec(), (value, here))),
                Some((other, first)) if *other != value => {
                    found.push(Conflict { path: path.to_vec(), classes: [*first, here] });
                }
                Some(_) => {}
            }
        });
    }
    found
}
