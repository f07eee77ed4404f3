//! Compares the answers of another program with those of this one, and finds the cause of each difference.
//!
//! A cause is recognized by the two values and by the explanation of the new one. What no ruling of
//! `docs/semantics.md` explains comes first.

mod causes;
mod normal;
mod old;
mod recognized;
mod render;
mod text;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::diff::{Difference, NodeDifference, Section, place, together};
use crate::survey::node_globs;
use reclass::parts::engine::{Computation, NodeRequest};
use reclass::redact::Redaction;
use reclass::{Inventory, InventoryBuilder};
use reclass_base::error::{Error, Result};
use reclass_base::pattern::{Glob, chosen};
use reclass_base::secrets::{Cover, MASK};
use reclass_base::settings::Settings;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Text, Value};

use causes::{Cause, settings};
pub use normal::OldForm;
use normal::in_form;
pub use old::{OldAnswers, OldNode, OldSections};
use render::Comparing;
pub use text::{summary, text};

/// What to compare.
#[derive(Clone, Default, Debug)]
pub struct ComparedParts {
    /// Names or globs of nodes; none for all.
    pub nodes: Vec<String>,
    /// Globs of the first keys of parameters to compare; none for all.
    pub only: Vec<String>,
    /// Globs of the first keys of parameters to leave out.
    pub except: Vec<String>,
}

/// The comparison with another program, as in `--output json` and Python. `docs/compare.md` describes it.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ProgramComparison {
    /// The name of the old answers: a file or a folder.
    pub old: String,
    /// The source of the settings of the old answers.
    pub old_settings: &'static str,
    /// The file with the settings of this side; null if no file has them.
    pub new_settings: Option<Text>,
    /// The number of nodes that were compared.
    pub nodes: usize,
    /// The number of nodes that differ.
    pub touched: usize,
    /// The number of differences without a cause: changes, and nodes that exist or render on one side only.
    pub unexplained: usize,
    /// Nodes of the inventory that the old answers do not have. They are not compared.
    pub unanswered: Vec<Text>,
    /// The differences by their cause, those without a cause first.
    pub causes: Vec<ExplainedDifference>,
    /// The settings of the causes, which give old values back; null if no cause has one.
    pub settings: Option<Value>,
    /// The number of nodes that still differ with these settings.
    pub remaining: usize,
}

/// The differences of one cause.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ExplainedDifference {
    /// The ruling that explains the differences. Without one, they are unexplained.
    pub rulings: Vec<ComparedRuling>,
    /// The differences.
    pub difference: Difference,
}

/// A ruling as a cause.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ComparedRuling {
    /// Its number in `docs/semantics.md`.
    pub ruling: &'static str,
    /// The ruling, and what the old program does.
    pub sentence: &'static str,
    /// The setting that gives the old value, if there is one.
    pub setting: Option<Value>,
}

impl ProgramComparison {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.touched == 0
    }
}

impl Difference {
    /// The number of differences: changes, and nodes that exist or render on one side only.
    fn count(&self) -> usize {
        let sides = [&self.broken, &self.mended, &self.otherwise];
        self.changes.len()
            + self.added.len()
            + self.removed.len()
            + sides.into_iter().map(Vec::len).sum::<usize>()
    }
}

/// Compares an inventory with the answers of another program. A name or glob of a node that neither has is an
/// error.
pub fn compare(
    options: &Map,
    old: &OldAnswers,
    parts: &ComparedParts,
    show_secrets: bool,
) -> Result<ProgramComparison> {
    compare_state(options, None, old, parts, show_secrets)
}

/// The same for a state of the inventory, which may have fixed commits (`serve`).
pub fn compare_state(
    options: &Map,
    state: Option<&Inventory>,
    old: &OldAnswers,
    parts: &ComparedParts,
    show_secrets: bool,
) -> Result<ProgramComparison> {
    let mut options = options.clone();
    // The inventory is read a few times in all, so a watch does not pay off.
    options.insert("cache".into(), Value::text("stat"));
    let inventory = InventoryBuilder::new(&options).like(state).open()?;
    let redaction = if show_secrets { Redaction::none() } else { Redaction::of(inventory.settings()) };
    let delimiter = Settings::from_options(&options)?.0.delimiter;
    inventory.inspect(|now| {
        let globs = node_globs(|| now.catalog.nodes.keys().chain(old.nodes.keys()), &parts.nodes)?;
        let (names, unanswered) = compared_nodes(now, old, &globs);
        let comparing = Comparing::new((&options, state), old, parts);
        let mut by_cause: BTreeMap<Cause, Vec<(Text, NodeDifference)>> = BTreeMap::new();
        let mut touched = 0;
        for (name, explained) in names.iter().zip(comparing.differences(now, &names)) {
            touched += usize::from(!explained.is_empty());
            for (cause, difference) in explained {
                by_cause.entry(cause).or_default().push((name.clone(), difference));
            }
        }
        let mut comparison = ProgramComparison {
            old: old.name.clone(),
            old_settings: old.form.settings(),
            new_settings: now.settings.config_file.clone(),
            nodes: names.len(),
            touched,
            unanswered,
            remaining: touched,
            ..ProgramComparison::default()
        };
        if let Some(settings) = settings(by_cause.keys().copied(), &options) {
            // Other values may differ with them.
            let remaining = comparing.remaining(&settings, &names)?;
            if remaining <= touched {
                (comparison.settings, comparison.remaining) = (Some(Value::map(settings)), remaining);
            }
        }
        for (cause, nodes) in by_cause {
            let difference = difference(nodes, now, old, &redaction, &delimiter);
            let rulings: Vec<ComparedRuling> = cause.compared(&options).into_iter().collect();
            if rulings.is_empty() {
                comparison.unexplained = difference.count();
            }
            comparison.causes.push(ExplainedDifference { rulings, difference });
        }
        Ok::<_, Error>(comparison)
    })?
}

/// The nodes to compare, and those without an old answer.
fn compared_nodes(now: &Computation<'_>, old: &OldAnswers, globs: &[Glob]) -> (Vec<Text>, Vec<Text>) {
    let answered = old.nodes.iter().filter(|(_, node)| !node.is_nothing()).map(|(name, _)| name);
    let mut all: Vec<Text> =
        now.catalog.nodes.keys().chain(answered).filter(|name| chosen(globs, name)).cloned().collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().partition(|name| old.is_complete || old.nodes.contains_key(name))
}

/// The differences of one cause, with places, secrets masked.
fn difference(
    nodes: Vec<(Text, NodeDifference)>,
    now: &Computation<'_>,
    old: &OldAnswers,
    redaction: &Redaction,
    delimiter: &str,
) -> Difference {
    let mut difference = Difference { old: old.name.clone(), new: ".".into(), ..Difference::default() };
    let mut groups = difference.take(nodes);
    let raw: Vec<Option<Value>> = groups.iter().map(|group| group.change.new.clone()).collect();
    place(&mut groups, now, redaction, false, &|value| in_form(value, old.form));
    if !redaction.secrets.is_none() {
        // Most groups of a node come in a row.
        let mut known: Option<(Text, Vec<String>)> = None;
        for (group, raw) in groups.iter_mut().zip(raw) {
            let node = group.nodes.first();
            if known.as_ref().map(|(node, _)| node) != node {
                known = node.map(|node| (node.clone(), secrets_of(node, now, old, redaction)));
            }
            let secrets = known.as_ref().map(|(_, secrets)| secrets);
            let is_masked = raw.is_some() && raw != group.change.new;
            for value in [&mut group.change.old, &mut group.change.new].into_iter().flatten() {
                if matches!(group.change.section, Section::Parameters | Section::Exports) {
                    *value = without_texts(value, secrets.map_or(&[], Vec::as_slice));
                }
            }
            // How the other program made the old value is not known. If the new one depends on a secret, the old
            // one may too.
            if let Some(value) = group.change.old.as_mut().filter(|_| is_masked) {
                *value = redaction.unchanged(value, None);
            }
        }
    }
    let groups = together(groups, true).into_iter();
    difference.changes = groups.map(|group| group.into_change(redaction, delimiter)).collect();
    difference
}

/// The shortest text that is looked for in other values.
const SHORTEST: usize = 4;

/// The texts below secret keys of a node, in the old answer and in the new one.
fn secrets_of(node: &Text, now: &Computation<'_>, old: &OldAnswers, redaction: &Redaction) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(OldNode::Answer(sections)) = old.nodes.get(node) {
        for section in [&sections.parameters, &sections.exports].into_iter().flatten() {
            secret_texts(section, Cover::Open, redaction, &mut texts);
        }
    }
    if now.catalog.nodes.contains_key(node)
        && let Ok(answer) = now.answer(NodeRequest::plain(node))
    {
        for section in [&answer.info.parameters, &answer.info.exports] {
            secret_texts(section, Cover::Open, redaction, &mut texts);
        }
    }
    texts.sort_unstable();
    texts.dedup();
    texts
}

fn secret_texts(value: &Value, cover: Cover, redaction: &Redaction, texts: &mut Vec<String>) {
    match value {
        Value::Map(map) => grow(|| {
            for (key, value) in map.iter() {
                secret_texts(value, redaction.secrets.below(cover, key), redaction, texts);
            }
        }),
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
            grow(|| items.iter().for_each(|item| secret_texts(item, cover.item(), redaction, texts)));
        }
        Value::Str(text) if cover != Cover::Open && text.len() >= SHORTEST => texts.push(text.to_string()),
        _ => {}
    }
}

/// The value, with the mask in place of each text that contains a secret.
fn without_texts(value: &Value, secrets: &[String]) -> Value {
    match value {
        Value::Map(map) => grow(|| {
            let entry = |(key, value): (&Key, &Value)| (key.clone(), without_texts(value, secrets));
            Value::map(map.iter().map(entry).collect::<Map>())
        }),
        Value::List(items) => {
            grow(|| Value::list(items.iter().map(|item| without_texts(item, secrets)).collect()))
        }
        Value::Str(text) if secrets.iter().any(|secret| text.contains(secret.as_str())) => Value::text(MASK),
        other => other.clone(),
    }
}

impl Cause {
    /// The ruling with its setting; `None` if there is no cause.
    fn compared(self, options: &Map) -> Option<ComparedRuling> {
        let (ruling, sentence) = self.ruling()?;
        let setting =
            self.setting(options).map(|(name, value)| Value::map(Map::from_iter([(name.into(), value)])));
        Some(ComparedRuling { ruling, sentence, setting })
    }
}
