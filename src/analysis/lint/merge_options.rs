//! Checks merge options: declarations without a list, two that claim one list, and items that remove nothing.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Linter, MergedSection};
use crate::analysis::survey::Survey;
use crate::base::error::Fault;
use crate::base::path::join_path;
use crate::base::pystr;
use crate::base::secrets::Cover;
use crate::base::settings::Settings;
use crate::base::source::Origin;
use crate::base::value::{Key, Text, Value};
use crate::model::layer::Layer;
use crate::model::merge_options::{Declaration, PathRules, Strategy, enabled, of_settings};
use crate::model::slot::Slot;

/// The findings so far, over all layers of all nodes.
#[derive(Default)]
struct Uses<'s> {
    /// The declarations that decide about a list, or may decide about one that a reference brings.
    used: FxHashSet<*const Declaration>,
    /// The pairs of declarations that claim one list, the one that counts first, with a path of such a list.
    claims: Vec<(&'s Declaration, &'s Declaration, Vec<Key>)>,
    claimed: FxHashSet<(*const Declaration, *const Declaration)>,
    /// The items that remove others.
    removals: FxHashMap<Origin, Removal>,
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

/// Whether a declaration of the settings or of a file merges items by keys.
pub(super) fn has_keyed_lists(settings: &Settings, survey: &Survey) -> bool {
    let keyed = |declaration: &Declaration| !declaration.strategy.keys().is_empty();
    let in_settings = of_settings(settings).ok().flatten();
    in_settings.is_some_and(|rules| rules.declarations().any(keyed))
        || survey
            .files
            .iter()
            .filter_map(|file| file.layer.as_ref().ok())
            .any(|layer| layer.merge_options.iter().any(|declaration| keyed(declaration)))
}

/// Checks the declarations of all files, if all their users are known.
pub(super) fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    if !enabled(linter.context.settings) {
        return;
    }
    let mut uses = Uses::default();
    let mut seen: FxHashSet<*const Layer> = FxHashSet::default();
    for node in &linter.survey.nodes {
        let layers: Vec<&Arc<Layer>> = node.all_layers().collect();
        for (at, layer) in layers.iter().enumerate() {
            let new = seen.insert(Arc::as_ptr(layer));
            uses.layer(layer, &layers[..at], new);
        }
    }
    let (mut claims, mut removals) = (FxHashMap::default(), FxHashMap::default());
    for claim @ (counts, ..) in &uses.claims {
        claims.entry(counts.origin.file).or_insert_with(Vec::new).push(claim);
    }
    for removal @ (origin, _) in uses.removals.iter().filter(|(_, item)| !item.removes) {
        removals.entry(origin.file).or_insert_with(Vec::new).push(removal);
    }
    let delimiter = &linter.context.settings.delimiter;
    for file in linter.files().filter(|file| !file.nodes.is_empty() && linter.is_known(file)) {
        let Ok(layer) = &file.layer else { continue };
        for declaration in &layer.merge_options {
            if !uses.used.contains(&Arc::as_ptr(declaration)) {
                let pattern = &declaration.pattern.source;
                let message = format!("no list at '{pattern}' comes after this merge option in any node");
                found.push(linter.at("merge-option-unused", message, declaration.origin));
            }
        }
        for (counts, other, path) in claims.get(&layer.file).into_iter().flatten() {
            let path = join_path(path, delimiter);
            let message = format!(
                "the merge options '{}' and '{}' differ for '{path}'; this one counts, because it is declared last",
                counts.pattern.source, other.pattern.source
            );
            let fault = linter.about(
                "merge-option-conflict",
                message,
                counts.origin,
                path,
                MergedSection::Parameters,
            );
            found.push(fault.note("the other one is declared here", linter.site(other.origin)));
        }
        for (origin, item) in removals.get(&layer.file).into_iter().flatten() {
            let path = join_path(&item.path, delimiter);
            // The text is a value.
            let above = linter.secrets.at(&item.path);
            let hidden = above != Cover::Open
                || item
                    .keys
                    .iter()
                    .any(|key| linter.secrets.below(above, &Key::from(key.clone())) != Cover::Open);
            let text = if hidden { "this item".to_owned() } else { format!("'{}'", item.text) };
            let message = format!("{text} removes no item of '{path}' in any node");
            let section = MergedSection::Parameters;
            found.push(linter.about("removal-without-effect", message, **origin, path, section));
        }
    }
}

impl<'s> Uses<'s> {
    /// The lists of one layer. `before` are the layers before it, `new` says that no node before had it.
    fn layer(&mut self, layer: &'s Layer, before: &[&'s Arc<Layer>], new: bool) {
        layer.parameters.visit(&mut |path, slot| {
            let Slot::Stack(stack) = slot else { return matches!(slot, Slot::Map(_)) };
            for entry in &stack.entries {
                let Some(rules) = &entry.rules else { continue };
                let Slot::List(list) = &entry.slot else {
                    self.used.extend(rules.possible().map(std::ptr::from_ref));
                    continue;
                };
                let Some(counts) = rules.declaration() else { continue };
                if new {
                    self.used.insert(counts);
                    // An item may bring lists of its own.
                    let items = rules.items().filter(|_| !counts.strategy.keys().is_empty());
                    self.used.extend(items.iter().flat_map(PathRules::possible).map(std::ptr::from_ref));
                    for other in rules.matching().filter(|other| differ(counts, other)) {
                        if self.claimed.insert((counts, other)) {
                            self.claims.push((counts, other, path.to_vec()));
                        }
                    }
                }
                if counts.remove {
                    let strategy = &counts.strategy;
                    let (mut own, mut earlier) = (ItemTexts::default(), None);
                    for item in &list.items {
                        if let Some((origin, text)) = removal(item, strategy) {
                            let known = self.removals.entry(origin);
                            let known = known.or_insert_with(|| Removal {
                                removes: false,
                                text: format!("~{text}"),
                                path: path.to_vec(),
                                keys: strategy.keys().to_vec(),
                            });
                            known.removes = known.removes
                                || own.may_have(&text)
                                || earlier
                                    .get_or_insert_with(|| ItemTexts::at(before, path, strategy))
                                    .may_have(&text);
                        }
                        own.add(item, strategy);
                    }
                }
            }
            true
        });
    }
}

/// Whether two declarations of different files do different things to one list.
fn differ(one: &Declaration, other: &Declaration) -> bool {
    one.origin.file != other.origin.file && (one.strategy != other.strategy || one.remove != other.remove)
}

/// The origin and the text of an item that removes others. References in the text may come to anything.
fn removal(item: &Slot, strategy: &Strategy) -> Option<(Origin, String)> {
    let text = match strategy {
        Strategy::By { keys, .. } => {
            let texts: Option<Vec<String>> = keys.iter().map(|key| key_text(item, key)).collect();
            let texts = texts.filter(|texts| texts.iter().any(|text| text.starts_with('~')))?;
            texts.iter().map(|text| text.trim_start_matches('~')).collect::<Vec<_>>().join(", ")
        }
        _ => plain_text(item)?.strip_prefix('~')?.to_owned(),
    };
    Some((item.origin(), text))
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
        let text = match strategy {
            Strategy::By { keys, .. } => {
                let texts: Option<Vec<String>> = keys.iter().map(|key| key_text(item, key)).collect();
                texts.map(|texts| texts.iter().map(|text| unescaped(text)).collect::<Vec<_>>().join(", "))
            }
            _ => plain_text(item).map(|text| unescaped(&text).to_owned()),
        };
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

fn key_text(item: &Slot, key: &Text) -> Option<String> {
    match item {
        Slot::Raw(raw) => plain_text(raw.entries.get(&**key)?),
        Slot::Map(map) => plain_text(map.entries.get(&**key)?),
        _ => None,
    }
}
