use crate::lint::merged_lists::lists;
use crate::lint::prelude::*;
use reclass::parts::model::Strategy;
use reclass_base::pystr;
use reclass_base::secrets::Cover;

pub const RULE: Rule = Rule {
    id: "removal-without-effect",
    level: Level::Warning,
    about: "A ~application or a ~item of a list takes nothing away in any node.",
    text: "Items of lists remove others only with [merge options](merge-options.md). An item with references may come to anything, so it counts as removed.

```yaml
# Bad: nodes/web.yml
classes: [php]
applications: [~pphp]
# Good: nodes/web.yml
classes: [php]
applications: [~php]
# classes/php.yml
applications: [php]
```",
    checks: &[Check::Inventory(check_applications), Check::Inventory(check_items)],
};

fn check_applications(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    for (file, layer) in known_layers(linter) {
        let removals = &layer.applications.removals;
        let added = if removals.is_empty() { FxHashSet::default() } else { added(linter, file, layer.file) };
        let mut undone: FxHashMap<&Text, u32> = FxHashMap::default();
        for (name, place) in &layer.applications.ineffective {
            undone.entry(name).and_modify(|first| *first = place.node.min(*first)).or_insert(place.node);
        }
        for (name, origin) in removals {
            // It may remove an earlier addition of the same list.
            let is_own = undone.get(name).is_some_and(|first| *first < origin.node);
            if !is_own && !added.contains(name) {
                let message = format!("'~{name}' takes nothing away in any node");
                found.push(linter.at(RULE.id, message, *origin));
            }
        }
    }
}

/// The applications that layers before the file add in any node.
fn added<'a>(linter: &'a Linter<'_>, file: &SurveyedFile, id: FileId) -> FxHashSet<&'a Text> {
    let mut visited: FxHashSet<FileId> = FxHashSet::default();
    let mut added = FxHashSet::default();
    for node in linter.survey.kinds(file) {
        for layer in node.layers_before(id) {
            if visited.insert(layer.file) {
                added.extend(layer.applications.additions.iter().map(|(name, _)| name));
            }
        }
    }
    added
}

/// An item that removes others.
struct Removal {
    /// Whether it does so in any node.
    removes: bool,
    text: String,
    /// The path of its list.
    path: Vec<Key>,
    /// The keys whose values are its text, if the list merges by keys.
    keys: Vec<Text>,
}

fn check_items(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let checked: FxHashSet<FileId> = known_layers(linter).map(|(_, layer)| layer.file).collect();
    let removals = removals(linter).into_iter();
    for (origin, item) in removals.filter(|(at, item)| !item.removes && checked.contains(&at.file)) {
        let path = join_path(&item.path, &linter.context.settings.delimiter);
        // The text is a value.
        let above = linter.secrets.at(&item.path);
        let is_hidden = |key: &Text| linter.secrets.below(above, &Key::from(key.clone())) != Cover::Open;
        let hidden = above != Cover::Open || item.keys.iter().any(is_hidden);
        let text = if hidden { "this item".to_owned() } else { format!("'{}'", item.text) };
        let message = format!("{text} removes no item of '{path}' in any node");
        found.push(linter.about(RULE.id, message, origin, path, MergedSection::Parameters));
    }
}

/// The items that remove others, in all nodes.
fn removals(linter: &Linter<'_>) -> FxHashMap<Origin, Removal> {
    let mut removals: FxHashMap<Origin, Removal> = FxHashMap::default();
    for node in &linter.survey.nodes {
        let layers: Vec<&Arc<Layer>> = node.all_layers().collect();
        for (at, layer) in layers.iter().enumerate() {
            lists(linter, layer, &mut |path, rules, slot| {
                let (Slot::List(list), Some(counts)) = (slot, rules.declaration()) else { return };
                let strategy = &counts.strategy;
                let (mut own, mut earlier) = (ItemTexts::default(), None);
                for item in list.items.iter().filter(|_| counts.remove) {
                    if let Some((origin, text)) = removal(item, strategy) {
                        let known = removals.entry(origin).or_insert_with(|| Removal {
                            removes: false,
                            text: format!("~{text}"),
                            path: path.to_vec(),
                            keys: strategy.keys().to_vec(),
                        });
                        known.removes = known.removes
                            || own.may_have(&text)
                            || earlier
                                .get_or_insert_with(|| ItemTexts::at(&layers[..at], path, strategy))
                                .may_have(&text);
                    }
                    own.add(item, strategy);
                }
            });
        }
    }
    removals
}

/// The origin and the text of an item that removes others. References in the text may come to anything.
fn removal(item: &Slot, strategy: &Strategy) -> Option<(Origin, String)> {
    let texts = texts(item, strategy)?;
    let removes = texts.iter().any(|text| text.starts_with('~'));
    let bare = |text: &'_ String| match strategy {
        Strategy::By { .. } => text.trim_start_matches('~').to_owned(),
        _ => text.replacen('~', "", 1),
    };
    let bare: Vec<String> = texts.iter().map(bare).collect();
    removes.then(|| (item.origin(), bare.join(", ")))
}

/// The text of an item, or those of its keys.
fn texts(item: &Slot, strategy: &Strategy) -> Option<Vec<String>> {
    let entries = match (strategy, item) {
        (Strategy::By { .. }, Slot::Raw(raw)) => &raw.entries,
        (Strategy::By { .. }, Slot::Map(map)) => &map.entries,
        (Strategy::By { .. }, _) => return None,
        _ => return plain_text(item).map(|text| vec![text]),
    };
    strategy.keys().iter().map(|key| plain_text(entries.get(&**key)?)).collect()
}

/// The texts by which removals name the items of lists.
#[derive(Default)]
struct ItemTexts {
    known: FxHashSet<String>,
    /// Whether an item may have any text: one with references.
    anything: bool,
}

impl ItemTexts {
    /// The items that these layers may have in the list at a path.
    fn at(layers: &[&Arc<Layer>], path: &[Key], strategy: &Strategy) -> ItemTexts {
        let mut texts = ItemTexts::default();
        for layer in layers {
            match layer.parameters.at(path) {
                None => {}
                Some((Slot::Stack(stack), [])) => {
                    stack.entries.iter().for_each(|entry| texts.add_list(&entry.slot, strategy));
                }
                Some((slot, [])) => texts.add_list(slot, strategy),
                // A reference above the path may bring it.
                Some((slot, _)) => texts.anything |= slot.dynamic(),
            }
        }
        texts
    }

    fn add_list(&mut self, slot: &Slot, strategy: &Strategy) {
        match slot {
            Slot::List(list) => list.items.iter().for_each(|item| self.add(item, strategy)),
            Slot::Value(value, _) => self.anything |= matches!(value, Value::List(_)),
            _ => self.anything = true,
        }
    }

    fn add(&mut self, item: &Slot, strategy: &Strategy) {
        if item.dynamic() {
            self.anything = true;
            return;
        }
        let text = texts(item, strategy);
        let text = text.map(|texts| texts.iter().map(|text| unescaped(text)).collect::<Vec<_>>().join(", "));
        self.known.extend(text);
    }

    fn may_have(&self, text: &str) -> bool {
        self.anything || self.known.contains(text)
    }
}

/// `\~x` is the item `~x` where items can remove others.
fn unescaped(text: &str) -> &str {
    text.strip_prefix('\\').filter(|rest| rest.starts_with('~')).unwrap_or(text)
}

fn plain_text(item: &Slot) -> Option<String> {
    match item {
        Slot::Value(value, _) => Some(pystr::str(value)),
        _ => None,
    }
}
