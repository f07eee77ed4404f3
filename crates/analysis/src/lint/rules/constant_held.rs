use std::collections::BTreeMap;
use std::convert::identity;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::explain::{Effect, LayerStep, ValuePlaces, Wanted, effects};
use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "constant-held",
    level: Level::Warning,
    about: "A value is left out in every node, because a constant holds.",
    text: "The rule reports a value that no node shows: `reclass explain` says `held` in all nodes that have the file. It reports nothing if one node has the file without the constant, or if a layer between the two replaces a mapping around the constant.

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

/// A constant, and a value that it keeps out.
type KeptOut = (Origin, Origin);

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let is_error = linter.context.settings.strict_constant_parameters;
    for section in MergedSection::ALL.into_iter().filter(|_| !is_error) {
        check_section(linter, section, found);
    }
}

/// Reports the values that constants keep out of all nodes that have them, each with the constant that does so in the
/// first node.
fn check_section(linter: &Linter<'_>, section: MergedSection, found: &mut Vec<Fault>) {
    let constants: Vec<_> =
        prefixed_keys(linter, section).into_iter().filter(|(.., key)| key.prefix.constant).collect();
    let paths = constants.iter().map(|(.., key)| key.path.as_slice());
    let mentions = Mentions::of(linter, section, linter.survey.files.iter(), paths);
    let mut wanted: BTreeMap<usize, FxHashSet<&[Key]>> = BTreeMap::new();
    for (file, id, key) in &constants {
        let mentioned = mentions.at(&key.path);
        let is_other = |layer: &Arc<Layer>| layer.file != *id && mentioned.contains(&layer.file);
        let nodes = file.nodes.iter().filter(|at| linter.survey.nodes[**at].all_layers().any(is_other));
        for node in nodes {
            wanted.entry(*node).or_default().insert(&key.path);
        }
    }
    let export = section == MergedSection::Exports;
    let one = |path: &[Key]| Wanted { path: path.to_vec(), export, items: Vec::new() };
    let nodes: Vec<(&Surveyed, Vec<Wanted>)> = wanted
        .into_iter()
        .map(|(node, paths)| (&linter.survey.nodes[node], paths.into_iter().map(one).collect()))
        .collect();
    let left_out = linter.context.each_node(&nodes, identity, |computation, (node, wanted)| {
        let Ok(layers) = &node.layers else { return Vec::new() };
        let effects = effects(&ValuePlaces::new(computation, layers), wanted);
        wanted.iter().zip(effects).map(|(one, steps)| values_left_out(&one.path, &steps)).collect()
    });
    // Each with its number of nodes, by the path and the file of the value.
    let mut all: IndexMap<(&[Key], FileId), (KeptOut, usize), FxBuildHasher> = IndexMap::default();
    for ((_, wanted), left_out) in nodes.iter().zip(left_out) {
        for (Wanted { path, .. }, values) in wanted.iter().zip(left_out) {
            for (file, kept_out) in values {
                all.entry((path, file)).or_insert((kept_out, 0)).1 += 1;
            }
        }
    }
    for ((path, file), ((constant, value), nodes)) in all {
        if linter.survey.file(file).is_some_and(|file| file.nodes.len() == nodes) {
            let path = join_path(path, &linter.context.settings.delimiter);
            let message = format!("{} is left out: it is a constant", section.named(&path));
            let fault = linter.about(RULE.id, message, value, path, section);
            found.push(fault.note("the constant is set here", linter.site(constant)));
        }
    }
}

/// The values that the constant at a path keeps out, by their files.
fn values_left_out(path: &[Key], steps: &[LayerStep]) -> BTreeMap<FileId, KeptOut> {
    let (mut constant, mut left_out) = (None, BTreeMap::new());
    for LayerStep { source, effect, .. } in steps {
        // A value above the path concerns more than the path.
        let is_here = source.depth == path.len();
        if *effect != Effect::Ignored {
            constant = Some(&source.slot).filter(|_| source.prefix.constant && is_here);
        } else if let Some(constant) = constant.filter(|_| is_here) {
            let (set, value) = (constant.origin(), source.slot.origin());
            let repeats = match (constant, &source.slot) {
                (Slot::Value(constant, _), Slot::Value(value, _)) => constant == value,
                _ => false,
            };
            if !repeats && set.file != value.file {
                left_out.insert(value.file, (set, value));
            }
        }
    }
    left_out
}
