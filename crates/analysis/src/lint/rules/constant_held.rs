use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "constant-held",
    level: Level::Warning,
    about: "A value is left out in every node, because a constant holds.",
    text: "The rule reports a value that no node shows. It reports nothing if one node has the file without the constant, or if a layer between the two may replace a mapping around the constant.

```yaml
# Bad: nodes/web.yml
classes: [nginx]
parameters: {port: 81}
# Good: nodes/web.yml
classes: [nginx]
# classes/nginx.yml
parameters: {=port: 80}
# reclass-config.yml
strict_constant_parameters: false
```",
    checks: &[Check::Inventory(check)],
};

/// A constant of a file.
struct Constant<'a> {
    file: &'a SurveyedFile,
    id: FileId,
    key: Prefixed,
    path: String,
    /// Number of layers before it, in the first node that uses it.
    before: usize,
}

impl<'a> Constant<'a> {
    fn new(linter: &Linter<'_>, file: &'a SurveyedFile, id: FileId, key: Prefixed) -> Self {
        let path = join_path(&key.path, &linter.context.settings.delimiter);
        let before = linter.survey.users(file).next().map_or(0, |node| node.layers_before(id).count());
        Constant { file, id, key, path, before }
    }
}

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let is_error = linter.context.settings.strict_constant_parameters;
    for section in MergedSection::ALL.into_iter().filter(|_| !is_error) {
        check_section(linter, section, found);
    }
}

/// Reports the values that constants keep out, each with the first constant that does so. A constant that
/// always follows another constant has no effect: values after both belong to the first.
fn check_section(linter: &Linter<'_>, section: MergedSection, found: &mut Vec<Fault>) {
    let keys = prefixed_keys(linter, section).into_iter().filter(|(.., key)| key.prefix.constant);
    let mut constants: Vec<Constant<'_>> =
        keys.map(|(file, id, key)| Constant::new(linter, file, id, key)).collect();
    let paths: Vec<Vec<Key>> = constants.iter().map(|constant| constant.key.path.clone()).collect();
    let paths = paths.iter().map(Vec::as_slice);
    let mentions = Mentions::of(linter, section, linter.survey.files.iter(), paths);
    let mut all: FxHashSet<(String, FileId)> = FxHashSet::default();
    constants.sort_by_key(|constant| constant.before);
    for Constant { file, id, key, path, .. } in constants {
        if all.contains(&(path.clone(), id)) {
            continue;
        }
        let mentioned = mentions.at(&key.path);
        let mut gone = FxHashMap::default();
        // Counts per layer after the constant the nodes in which it follows.
        let mut behind: IndexMap<FileId, (&Layer, usize), FxBuildHasher> = IndexMap::default();
        let mut sizes: FxHashMap<usize, usize> = FxHashMap::default();
        for node in linter.survey.users(file) {
            *sizes.entry(node.kind).or_default() += 1;
        }
        // The classes after it are those of its kind; its own file comes last.
        let mut as_class: FxHashSet<usize> = FxHashSet::default();
        for node in linter.survey.kinds(file) {
            let (Ok(layers), Some(nodes)) = (&node.layers, sizes.remove(&node.kind)) else { continue };
            let mut after = layers.linearization.layers().skip_while(|layer| layer.file != id);
            if after.next().is_some() {
                as_class.insert(node.kind);
                let after = after.filter(|layer| mentioned.contains(&layer.file));
                after.for_each(|layer| behind.entry(layer.file).or_insert((layer, 0)).1 += nodes);
            }
        }
        let users = linter.survey.users(file).filter(|node| as_class.contains(&node.kind));
        let own = users.filter_map(|node| Some(&node.layers.as_ref().ok()?.layer));
        for layer in own.filter(|layer| mentioned.contains(&layer.file)) {
            behind.entry(layer.file).or_insert((layer, 0)).1 += 1;
        }
        for (layer, nodes) in behind.into_values() {
            let map = linter.settled(section, layer);
            let Some(origin) = has(&map, &key.path) else { continue };
            let has_it = linter.survey.file(layer.file).filter(|file| linter.is_known(file));
            if has_it.is_none_or(|file| file.nodes.len() != nodes)
                || !always_holds(linter, section, mentioned, (layer.file, id), &key.path, &mut gone)
                || !all.insert((path.clone(), layer.file))
            {
                continue;
            }
            let value = match &key.slot {
                Slot::Value(value, _) => Some(value),
                _ => None,
            };
            if value.is_some() && value_at(&map, &key.path) == value {
                continue;
            }
            let message = format!("{} is left out: it is a constant", section.named(&path));
            let fault = linter.about(RULE.id, message, origin, path.clone(), section);
            found.push(fault.note("the constant is set here", linter.site(key.origin)));
        }
    }
}

/// Whether in all users of a file the other file comes before it, and the constant of the other file stays in
/// effect until then. `gone` caches per file whether it may remove the constant.
fn always_holds(
    linter: &Linter<'_>,
    section: MergedSection,
    mentioned: &FxHashSet<FileId>,
    (file, other): (FileId, FileId),
    path: &[Key],
    gone: &mut FxHashMap<FileId, bool>,
) -> bool {
    let Some(surveyed) = linter.survey.file(file).filter(|file| linter.is_known(file)) else { return false };
    linter.survey.kinds(surveyed).all(|node| {
        for layer in node.all_layers().skip_while(|layer| layer.file != other) {
            let is_own = layer.file == other;
            let lost = || {
                mentioned.contains(&layer.file) && may_replace(&linter.settled(section, layer), path, is_own)
            };
            if *gone.entry(layer.file).or_insert_with(lost) {
                return false;
            }
            if layer.file == file {
                return !is_own;
            }
        }
        false
    })
}

/// Whether a map may replace a container of the path and its content: with a value that is not a mapping, or
/// with a `~`. In the file `of_constant` the `~` comes before the constant, so it does not remove it.
fn may_replace(map: &MapSlot, path: &[Key], of_constant: bool) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    let Some(mut slot) = map.entries.get(first).filter(|_| !rest.is_empty()) else { return false };
    if let Slot::Stack(stack) = slot
        && let [only] = stack.entries.as_slice()
        && (of_constant || !only.prefix.overrides)
    {
        slot = &only.slot;
    }
    match slot {
        Slot::Map(inner) => may_replace(inner, rest, of_constant),
        _ => true,
    }
}

/// The value that a map writes at a path, if it is a plain value.
fn value_at<'m>(map: &'m MapSlot, path: &[Key]) -> Option<&'m Value> {
    let (first, rest) = path.split_first()?;
    match alone(map.entries.get(first)?)?.0 {
        Slot::Value(value, _) if rest.is_empty() => Some(value),
        Slot::Map(inner) => value_at(inner, rest),
        _ => None,
    }
}
