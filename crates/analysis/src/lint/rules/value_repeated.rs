use std::hash::BuildHasher as _;

use rustc_hash::FxBuildHasher;

use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "value-repeated",
    level: Level::Info,
    about: "A file sets a value that every node with this file already has.",
    text: "The rule looks at parameters and exports. It also reports a value that repeats a constant. It accepts a value with a prefix of its own, which has an effect whatever the value is, and everything below a `~`, which takes away what would be repeated.

```yaml
# Bad: nodes/web.yml
classes: [nginx]
parameters: {port: 80}
# Good: nodes/web.yml
classes: [nginx]
# classes/nginx.yml
parameters: {port: 80}
```",
    checks: &[Check::Inventory(check)],
};

/// A scalar that a file sets at a path.
struct Setting<'a> {
    file: &'a SurveyedFile,
    id: FileId,
    value: &'a Value,
    origin: Origin,
    /// Whether it has a prefix. A prefix has an effect whatever the value is.
    has_prefix: bool,
}

/// The content of a map at a path.
enum LayerContent<'a> {
    Nothing,
    Scalar(&'a Value),
    Constant(&'a Value),
    /// A value with an unknown effect. If it contains a constant, the effect of later layers is unknown too.
    Other {
        constant: bool,
    },
}

/// The value at a path after some layers.
enum ValueSoFar {
    /// No value, or one that is unknown here.
    Unknown,
    Scalar(Value, FileId),
    Constant(Value, FileId),
}

/// Checks the chosen files in all their nodes, if all users are known.
fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    for section in MergedSection::ALL {
        check_section(linter, section, found);
    }
}

fn check_section(linter: &Linter<'_>, section: MergedSection, found: &mut Vec<Fault>) {
    let used = linter.survey.files.iter().filter(|file| !file.nodes.is_empty());
    let used = used.filter_map(|file| Some((file, file.layer.as_ref().ok()?)));
    let used = used.map(|(file, layer)| (file, layer.file, linter.settled(section, layer)));
    let used: Vec<(&SurveyedFile, FileId, Arc<MapSlot>)> = used.collect();
    let mut paths: FxHashMap<Vec<Key>, Vec<Setting<'_>>> = FxHashMap::default();
    for (file, id, map) in &used {
        scalars(map, &mut |path, slot, prefix| {
            let Slot::Value(value, origin) = slot else { return };
            let setting = Setting { file, id: *id, value, origin: *origin, has_prefix: prefix.any() };
            match paths.get_mut(path) {
                Some(settings) => settings.push(setting),
                None => drop(paths.insert(path.to_vec(), vec![setting])),
            }
        });
    }
    // Few paths are set twice with the same value. Only those are checked node by node.
    let mut candidates: Vec<(&Vec<Key>, &Vec<Setting<'_>>, &Setting<'_>)> = Vec::new();
    #[expect(clippy::iter_over_hash_type, reason = "findings are sorted in the end")]
    for (path, settings) in &paths {
        let twice = twice(settings).filter(|one| !one.has_prefix && linter.is_known(one.file));
        candidates.extend(twice.map(|one| (path, settings, one)));
    }
    // The file of a node comes last, so what is set before is set by classes.
    let classes = linter.survey.files.iter().filter(|file| file.is_class);
    let set = candidates.iter().map(|(path, ..)| path.as_slice());
    let mentions = Mentions::of(linter, section, classes, set);
    let mut repeated: Vec<(&Vec<Key>, &Setting<'_>, Origin)> = Vec::new();
    for (path, settings, one) in candidates {
        let mentioned = mentions.at(path);
        if !mentioned.is_empty()
            && let Some(first) = earlier(linter, section, mentioned, path, one, settings)
        {
            repeated.push((path, one, first));
        }
    }
    let checked: FxHashSet<FileId> =
        linter.files().filter_map(|file| file.layer.as_ref().ok()).map(|layer| layer.file).collect();
    for (path, one, first) in repeated.into_iter().filter(|(_, one, _)| checked.contains(&one.id)) {
        let path = join_path(path, &linter.context.settings.delimiter);
        let named = section.named(&path);
        let message = format!("{named} has this value already, in every node that has this file");
        let fault = linter.about(RULE.id, message, one.origin, path, section);
        found.push(fault.note("it is set here, in the first of them", linter.site(first)));
    }
}

/// The settings of a path that a setting in another file repeats.
fn twice<'s, 'a>(settings: &'s [Setting<'a>]) -> impl Iterator<Item = &'s Setting<'a>> {
    /// Settings that are compared with each other instead of being checked up in a table.
    const FEW: usize = 8;
    let same = |one: &Setting<'_>, other: &Setting<'_>| other.id != one.id && other.value == one.value;
    // Host names and addresses are set by each node. Equal values have equal hashes.
    let mut by_hash: FxHashMap<u64, Vec<&Setting<'_>>> = FxHashMap::default();
    if settings.len() > FEW {
        for one in settings {
            let equal = by_hash.entry(hash(one.value)).or_default();
            // Two files with a value are enough to answer for each of them.
            let known = equal.iter().filter(|other| other.value == one.value);
            if known.clone().count() < 2 && !known.clone().any(|other| other.id == one.id) {
                equal.push(one);
            }
        }
    }
    settings.iter().filter(move |one| match by_hash.get(&hash(one.value)) {
        Some(equal) => equal.iter().any(|other| same(one, other)),
        None => settings.iter().any(|other| same(one, other)),
    })
}

/// A hash that equal values share.
fn hash(value: &Value) -> u64 {
    FxBuildHasher.hash_one(Key(value.clone()))
}

/// The place in the first node where the same value was set before; `None` if it was not in every node.
fn earlier(
    linter: &Linter<'_>,
    section: MergedSection,
    mentioned: &FxHashSet<FileId>,
    path: &[Key],
    one: &Setting<'_>,
    settings: &[Setting<'_>],
) -> Option<Origin> {
    if linter.given(section, one.file, path, &|map| !matches!(content_at(map, path), LayerContent::Nothing)) {
        return None;
    }
    let mut first = None;
    for node in linter.survey.kinds(one.file) {
        let mut current = ValueSoFar::Unknown;
        for layer in node.layers_before(one.id).filter(|layer| mentioned.contains(&layer.file)) {
            current = match (current, content_at(&linter.settled(section, layer), path)) {
                (current, LayerContent::Nothing)
                | (current @ ValueSoFar::Constant(..), LayerContent::Scalar(_) | LayerContent::Constant(_)) => {
                    current
                }
                // It is unknown here whether a constant goes away with its enclosing mapping, and which value
                // an inner constant keeps.
                (ValueSoFar::Constant(..), LayerContent::Other { .. })
                | (_, LayerContent::Other { constant: true }) => {
                    return None;
                }
                (_, LayerContent::Scalar(value)) => ValueSoFar::Scalar(value.clone(), layer.file),
                (_, LayerContent::Constant(value)) => ValueSoFar::Constant(value.clone(), layer.file),
                (_, LayerContent::Other { constant: false }) => ValueSoFar::Unknown,
            };
        }
        let file = match current {
            ValueSoFar::Scalar(value, file) | ValueSoFar::Constant(value, file) if value == *one.value => {
                file
            }
            _ => return None,
        };
        first = first.or_else(|| settings.iter().find(|other| other.id == file).map(|other| other.origin));
    }
    first
}

fn content_at<'m>(map: &'m MapSlot, path: &[Key]) -> LayerContent<'m> {
    let Some((slot, rest)) = map.at(path) else { return LayerContent::Nothing };
    match (slot, alone(slot)) {
        (Slot::Value(value, _), _) if rest.is_empty() => LayerContent::Scalar(value),
        (_, Some((Slot::Value(value, _), KeyPrefix { constant: true, overrides: false })))
            if rest.is_empty() =>
        {
            LayerContent::Constant(value)
        }
        _ => LayerContent::Other { constant: holds(slot, rest) },
    }
}

/// Whether the path passes a constant.
fn holds(slot: &Slot, path: &[Key]) -> bool {
    match (slot, path.split_first()) {
        (Slot::Stack(stack), _) => {
            stack.entries.iter().any(|entry| entry.prefix.constant || holds(&entry.slot, path))
        }
        (Slot::Map(map), Some((first, rest))) => map.entries.get(first).is_some_and(|slot| holds(slot, rest)),
        _ => false,
    }
}
