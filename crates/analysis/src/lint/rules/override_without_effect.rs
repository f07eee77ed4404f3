use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "override-without-effect",
    level: Level::Warning,
    about: "A ~ in front of a key changes nothing in any node.",
    text: "The rule reports a `~` if there is nothing to replace, or if the value replaces the same without it: a scalar a scalar, anything a null, a list an empty list, a mapping an empty mapping. This holds for exports as for parameters. The mappings that are items of a list do not merge, and a prefix is a part of the key there (ruling [M7](semantics.md)), so each `~` in front of a name is reported, unless the inventory has a [merge option](merge-options.md) with `by`, under which items merge. If a reference, a prefix, or items and keys of another layer matter in any node, the rule reports nothing, even if the keys are the same.

```yaml
# Bad: nodes/web.yml
classes: [dns]
parameters: {~server: [10.0.0.1]}
# Good: nodes/web.yml
classes: [dns]
parameters: {~servers: [10.0.0.1]}
# classes/dns.yml
parameters: {servers: [10.0.0.2]}
```",
    checks: &[Check::Inventory(check), Check::File(check_items)],
};

/// Bytes of a line in which no key is searched.
const LONG: usize = 4096;

/// The value at a path, as far as it is known without references.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KnownValue {
    Nothing,
    Null,
    Scalar,
    EmptyList,
    EmptyMap,
    Unknown,
}

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let mut lines = FxHashMap::default();
    for section in MergedSection::ALL {
        let keys = prefixed_keys(linter, section);
        let paths = keys.iter().map(|(.., one)| one.path.as_slice());
        let mentions = Mentions::of(linter, section, linter.survey.files.iter(), paths);
        for (file, id, one) in &keys {
            let mentioned = mentions.at(&one.path);
            // The effect of a prefix that is still text depends on the number of merges.
            let is_text = one.path.last().is_some_and(|key| linter.prefixes.is_prefixed(key))
                || matches!(&one.slot, Slot::Map(map) if map.prefixed);
            let effect = match one.prefix.overrides && !is_text {
                true if !replaces(linter, section, mentioned, file, *id, &one.path) => "replaces nothing",
                true if is_vain(linter, section, mentioned, file, *id, one) => "changes nothing",
                _ => continue,
            };
            let path = join_path(&one.path, &linter.context.settings.delimiter);
            let prefix = linter.prefixes.text(KeyPrefix { constant: false, ..one.prefix });
            let message = format!("the {prefix} in front of {} {effect} in any node", section.named(&path));
            let mut fault = linter.about(RULE.id, message, one.origin, path, section);
            fault.site = key_site(linter, one.origin, &prefix, &mut lines).or(fault.site);
            found.push(fault);
        }
    }
}

/// The place of the key in front of a value, if it has the prefix. An alias has the place of its anchor.
fn key_site(
    linter: &Linter<'_>,
    value: Origin,
    prefix: &str,
    lines: &mut FxHashMap<FileId, Vec<String>>,
) -> Option<Site> {
    let site = linter.site(Origin { node: value.node.checked_sub(1)?, ..value })?;
    let lines = lines.entry(value.file).or_insert_with(|| {
        let text = linter.context.inputs.files.text(&site.path).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    });
    // A mapping of thousands of keys on one line would be read once for each of them.
    let line = lines.get(site.line.checked_sub(1)? as usize).filter(|line| line.len() < LONG)?;
    let written: String = line.chars().skip(site.column.checked_sub(1)? as usize).collect();
    written.trim_start_matches(['"', '\'']).starts_with(prefix).then_some(site)
}

/// Inside a list a prefix is part of the key, unless items merge by keys.
fn check_items(written: &FileText<'_>, found: &mut Vec<Fault>) {
    let linter = written.linter;
    let mark = linter.prefixes.text(KeyPrefix { overrides: true, constant: false });
    for scalar in &written.scalars {
        let (ScalarRole::Key, true, Value::Str(key)) = (scalar.role, scalar.in_list, scalar.value) else {
            continue;
        };
        let name = linter.prefixes.bare(key);
        // `~/.bashrc` is a path.
        let is_name = name.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        if linter.has_keyed_lists || name.len() == key.len() || !key.starts_with(&mark) || !is_name {
            continue;
        }
        let message =
            format!("the {mark} in front of '{name}' is a part of the key: mappings of a list do not merge");
        found.extend(written.span(scalar.index).map(|span| written.fault(RULE.id, message, None, span)));
    }
}

/// Whether in any node a layer before the file may set the path.
fn replaces(
    linter: &Linter<'_>,
    section: MergedSection,
    mentioned: &FxHashSet<FileId>,
    file: &SurveyedFile,
    id: FileId,
    path: &[Key],
) -> bool {
    let mut memo: FxHashMap<FileId, bool> = FxHashMap::default();
    let mut merged = |layer: &Layer| {
        let merged = || has(&linter.settled(section, layer), path).is_some();
        mentioned.contains(&layer.file) && *memo.entry(layer.file).or_insert_with(merged)
    };
    linter.survey.kinds(file).any(|node| node.layers_before(id).any(|layer| merged(layer)))
        || linter.given(section, file, path, &|map| has(map, path).is_some())
}

/// Whether in every node the value has the same effect with and without its `~`. If the earlier value is not
/// known for sure, the `~` counts as effective.
fn is_vain(
    linter: &Linter<'_>,
    section: MergedSection,
    mentioned: &FxHashSet<FileId>,
    file: &SurveyedFile,
    id: FileId,
    one: &Prefixed,
) -> bool {
    let new = known_value(&one.slot);
    let merged = |before: KnownValue, new: KnownValue| match (before, new) {
        (before, KnownValue::Nothing) => before,
        (KnownValue::Nothing | KnownValue::Null, new) => new,
        (KnownValue::Scalar, KnownValue::Scalar | KnownValue::Null) => new,
        (before, new) if before == new => new,
        _ => KnownValue::Unknown,
    };
    let mut memo: FxHashMap<FileId, KnownValue> = FxHashMap::default();
    let mut value_in = |layer: &Layer| {
        let compute = || known_value_at(&linter.settled(section, layer), &one.path);
        *memo.entry(layer.file).or_insert_with(compute)
    };
    let is_vain = |node: &Surveyed| {
        let before = node.layers_before(id).filter(|layer| mentioned.contains(&layer.file));
        match before.map(|layer| value_in(layer)).fold(KnownValue::Nothing, merged) {
            KnownValue::Nothing | KnownValue::Null => true,
            KnownValue::Scalar => matches!(new, KnownValue::Scalar | KnownValue::Null),
            KnownValue::EmptyList => new == KnownValue::EmptyList || matches!(&one.slot, Slot::List(_)),
            KnownValue::EmptyMap => matches!(&one.slot, Slot::Map(_)),
            KnownValue::Unknown => false,
        }
    };
    let is_given = |map: &MapSlot| known_value_at(map, &one.path) != KnownValue::Nothing;
    !one.prefix.constant
        && !linter.given(section, file, &one.path, &is_given)
        && linter.survey.kinds(file).all(is_vain)
}

/// The value at a path if only this map existed.
fn known_value_at(map: &MapSlot, path: &[Key]) -> KnownValue {
    match map.at(path) {
        None => KnownValue::Nothing,
        Some((slot, [])) => known_value(slot),
        Some(_) => KnownValue::Unknown,
    }
}

fn known_value(slot: &Slot) -> KnownValue {
    match slot {
        Slot::Value(Value::Null, _) => KnownValue::Null,
        Slot::Value(Value::List(items), _) if items.is_empty() => KnownValue::EmptyList,
        Slot::Value(Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_), _) => {
            KnownValue::Scalar
        }
        Slot::List(list) if list.items.is_empty() => KnownValue::EmptyList,
        Slot::Map(map) if map.entries.is_empty() => KnownValue::EmptyMap,
        _ => KnownValue::Unknown,
    }
}
