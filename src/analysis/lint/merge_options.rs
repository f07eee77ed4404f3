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
use crate::model::merge_options::{Declaration, Strategy, enabled, of_settings};
use crate::model::slot::{Slot, StackEntry};

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
        for (counts, other, path) in uses.claims.iter().filter(|(one, ..)| one.origin.file == layer.file) {
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
        let own = uses.removals.iter().filter(|(origin, item)| origin.file == layer.file && !item.removes);
        for (origin, item) in own {
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
            found.push(linter.about("removal-without-effect", message, *origin, path, section));
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
                    for other in rules.matching().filter(|other| differ(counts, other)) {
                        if self.claimed.insert((counts, other)) {
                            self.claims.push((counts, other, path.to_vec()));
                        }
                    }
                }
                if counts.remove {
                    for (at, item) in list.items.iter().enumerate() {
                        let Some((origin, text)) = removal(item, &counts.strategy) else { continue };
                        let known = self.removals.entry(origin);
                        let known = known.or_insert_with(|| Removal {
                            removes: false,
                            text: format!("~{text}"),
                            path: path.to_vec(),
                            keys: counts.strategy.keys().to_vec(),
                        });
                        known.removes = known.removes
                            || list.items[..at].iter().any(|item| may_be(item, &text, &counts.strategy))
                            || before.iter().any(|layer| has(layer, path, &text, &counts.strategy));
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

/// Whether a layer may have such an item at a path.
fn has(layer: &Layer, path: &[Key], text: &str, strategy: &Strategy) -> bool {
    let in_list = |slot: &Slot| match slot {
        Slot::List(list) => list.items.iter().any(|item| may_be(item, text, strategy)),
        Slot::Value(value, _) => matches!(value, Value::List(_)),
        _ => true,
    };
    match layer.parameters.at(path) {
        None => false,
        Some((Slot::Stack(stack), [])) => stack.entries.iter().any(|StackEntry { slot, .. }| in_list(slot)),
        Some((slot, [])) => in_list(slot),
        // A reference above the path may bring it.
        Some((slot, _)) => slot.dynamic(),
    }
}

/// Whether the removal of a text may remove the item. An item with references may come to anything.
fn may_be(item: &Slot, text: &str, strategy: &Strategy) -> bool {
    match strategy {
        _ if item.dynamic() => true,
        Strategy::By { keys, .. } => {
            let texts: Option<Vec<String>> = keys.iter().map(|key| key_text(item, key)).collect();
            texts.is_some_and(|texts| {
                texts.iter().map(|text| unescaped(text)).collect::<Vec<_>>().join(", ") == text
            })
        }
        _ => plain_text(item).is_some_and(|plain| unescaped(&plain) == text),
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
