//! Numbers the values of all nodes, so that each is in the page once: nodes that share a value share its number,
//! and so do equal subtrees.

use std::hash::Hash;
use std::sync::Arc;

use indexmap::IndexMap;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Serialize, Serializer};

use reclass::brief::{brief, whole};
use reclass::parts::engine::Computation;
use reclass::parts::model::{Parsed, Part, Prefixes, Slot, Template, template};
use reclass::redact::Redaction;
use reclass_analysis::explain::{ExplainedLeaf, LayerStep, Leaf, default_layer};
use reclass_base::error::inert;
use reclass_base::path::join_path;
use reclass_base::settings::Settings;
use reclass_base::source::{Origin, Site};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text, Value};

/// Distinct items in the order of their first use.
#[derive(Debug)]
pub(super) struct NumberedTable<T>(IndexSet<T, FxBuildHasher>);

impl<T> Default for NumberedTable<T> {
    fn default() -> NumberedTable<T> {
        NumberedTable(IndexSet::default())
    }
}

impl<T: Hash + Eq> NumberedTable<T> {
    pub(super) fn number(&mut self, item: T) -> usize {
        self.0.insert_full(item).0
    }
}

impl<T: Serialize> Serialize for NumberedTable<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

/// Maximum number of characters of one value in the page.
const LONGEST: usize = 4_000;

/// Maximum number of keys in a path. No value is deeper, because the setting `limit_depth` has this maximum; only
/// references can have longer paths, and those lead nowhere.
const DEEPEST: usize = 1_000;

/// A section of a node or file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum LeafSection {
    Parameters,
    Exports,
}

/// A text as written: its references, each with the offset and the length in UTF-16, as browsers count, and the
/// number of the path; a negative length if the offset is unknown.
type WrittenText = (String, Vec<(usize, i64, Option<usize>)>);

/// A step: effect, whether it counts, place, written, path, prefix, and the setting or merge option.
type StepRow = (&'static str, u8, usize, usize, usize, String, Option<String>);

/// Facts that few leaves have.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize)]
struct Extra {
    /// References to the containers around it: what is written, and the place.
    via: Vec<(usize, usize)>,
    /// The targets of the references that contain references.
    targets: Vec<Option<usize>>,
    /// The set of nodes that answered its query.
    answers: Option<usize>,
}

/// A leaf: path, value, written, place, steps, extra. Zero means that there is none.
type LeafRow = [usize; 6];

/// Everything about values, with numbers in place of repetitions.
#[derive(Default, Debug, Serialize)]
pub(super) struct Tables {
    /// The number of the parent and the rest of the text. The first two are the roots of the sections.
    paths: NumberedTable<(usize, String)>,
    /// The values as text. The first one is the value of those that cannot be computed.
    values: NumberedTable<Option<String>>,
    written: NumberedTable<WrittenText>,
    /// File, line and column. A place in no file is the negative number of a layer.
    places: NumberedTable<(i64, u32, u32)>,
    /// The names of layers that are in no file.
    layers: NumberedTable<String>,
    steps: NumberedTable<Vec<StepRow>>,
    extras: NumberedTable<Extra>,
    answers: NumberedTable<Vec<usize>>,
    leaves: NumberedTable<LeafRow>,
    /// The children of a container: twice the number of a leaf, or of a container plus one.
    containers: NumberedTable<Vec<usize>>,
    #[serde(skip)]
    known: Known,
    #[serde(skip)]
    redaction: Redaction,
}

/// Numbers that are looked up by other keys.
#[derive(Default, Debug)]
struct Known {
    files: FxHashMap<Arc<str>, usize>,
    nodes: FxHashMap<Text, usize>,
    roots: FxHashMap<LeafSection, usize>,
    /// The numbers of paths, by the number of the path above and the last key.
    paths: FxHashMap<(usize, Key), usize>,
    /// The numbers of texts as values, and as written.
    values: FxHashMap<Text, usize>,
    texts: FxHashMap<Text, usize>,
    sites: FxHashMap<(Arc<str>, u32, u32), usize>,
    origins: FxHashMap<Origin, Option<usize>>,
    /// The written values of steps, by origin and path.
    steps: FxHashMap<(Origin, usize), usize>,
    delimiter: Text,
}

impl Tables {
    /// Empty tables for these files and nodes.
    pub(super) fn new(
        settings: &Settings,
        files: FxHashMap<Arc<str>, usize>,
        nodes: FxHashMap<Text, usize>,
        redaction: &Redaction,
    ) -> Tables {
        let known = Known { files, nodes, delimiter: settings.delimiter.clone(), ..Known::default() };
        let mut tables = Tables { known, redaction: redaction.clone(), ..Tables::default() };
        for (section, name) in [(LeafSection::Parameters, ""), (LeafSection::Exports, "exports")] {
            let number = tables.paths.number((0, name.into()));
            tables.known.roots.insert(section, number);
        }
        tables.values.number(None);
        tables.written.number((String::new(), Vec::new()));
        tables.steps.number(Vec::new());
        tables.extras.number(Extra::default());
        tables
    }

    /// The number of a path.
    pub(super) fn path(&mut self, section: LeafSection, path: &[Key]) -> usize {
        let mut number = self.known.roots.get(&section).copied().unwrap_or_default();
        for (depth, key) in path.iter().take(DEEPEST).enumerate() {
            let place = (number, key.clone());
            number = if let Some(known) = self.known.paths.get(&place) {
                *known
            } else {
                let delimiter = &self.known.delimiter;
                let before = if depth > 0 { delimiter } else { "" };
                let rest = format!("{before}{}", join_path(std::slice::from_ref(key), delimiter));
                let next = self.paths.number((number, inert(&rest)));
                self.known.paths.insert(place, next);
                next
            };
        }
        number
    }

    /// The number of a value.
    fn value(&mut self, value: Option<&Value>) -> usize {
        let Some(Value::Str(text)) = value else { return self.values.number(value.map(shown)) };
        if let Some(number) = self.known.values.get(text) {
            return *number;
        }
        let number = self.values.number(value.map(shown));
        self.known.values.insert(text.clone(), number);
        number
    }

    /// The number of a value as written.
    pub(super) fn written(&mut self, computation: &Computation<'_>, written: &Value) -> usize {
        let Value::Str(text) = written else {
            return self.written.number((brief(written), Vec::new()));
        };
        if let Some(number) = self.known.texts.get(text) {
            return *number;
        }
        let row = match template::parse(text, computation.settings) {
            Ok(Parsed::Template(template)) => self.template(text, &template),
            _ => (shown(written), Vec::new()),
        };
        let number = self.written.number(row);
        self.known.texts.insert(text.clone(), number);
        number
    }

    /// A text with references. They are found by their offsets, so the text is not quoted.
    fn template(&mut self, text: &Text, template: &Template) -> WrittenText {
        let is_same = template.source == *text && text.len() <= LONGEST;
        let references = template.parts.iter().filter_map(|part| match part {
            Part::Reference(reference) => Some(reference),
            Part::Literal(_) => None,
        });
        let units = |bytes: &str| bytes.encode_utf16().count();
        let mut rows = Vec::new();
        for reference in references {
            let target = reference.fixed.as_ref().map(|path| self.segments(&path.segments));
            let (start, length) = reference.span;
            let parts = text.get(..start).zip(text.get(start..start + length)).filter(|_| is_same);
            rows.push(match parts {
                Some((before, own)) => (units(before), i64::try_from(units(own)).unwrap_or(i64::MAX), target),
                None => (0, -1, target),
            });
        }
        (if is_same { text.to_string() } else { cut(text) }, rows)
    }

    /// The number of a parameter that a reference names.
    pub(super) fn segments(&mut self, segments: &[Text]) -> usize {
        let keys: Vec<Key> = segments.iter().cloned().map(Key::from).collect();
        self.path(LeafSection::Parameters, &keys)
    }

    /// The number of a place.
    fn site(&mut self, site: &Site) -> usize {
        let key = (site.path.clone(), site.line, site.column);
        if let Some(number) = self.known.sites.get(&key) {
            return *number;
        }
        let file = self.known.files.get(&site.path).and_then(|file| i64::try_from(*file).ok());
        let file = file.unwrap_or_else(|| self.layer(&site.path));
        let number = self.places.number((file, site.line, site.column));
        self.known.sites.insert(key, number);
        number
    }

    fn layer(&mut self, name: &str) -> i64 {
        -1 - i64::try_from(self.layers.number(inert(name))).unwrap_or(i64::MAX)
    }

    /// The number of the place of an origin; `None` if no file wrote it.
    pub(super) fn origin(&mut self, computation: &Computation<'_>, origin: Origin) -> Option<usize> {
        if let Some(number) = self.known.origins.get(&origin) {
            return *number;
        }
        let site = reclass::parts::evaluate::site(computation.inputs, origin, None);
        let number = site.map(|site| self.site(&site));
        self.known.origins.insert(origin, number);
        number
    }

    /// The number of the place of an origin; `default_layer` names the layer of a value that no file wrote.
    fn place(&mut self, computation: &Computation<'_>, origin: Origin, default_layer: &str) -> usize {
        self.origin(computation, origin).unwrap_or_else(|| {
            let layer = self.layer(default_layer);
            self.places.number((layer, 0, 0))
        })
    }

    /// The number of the container with these leaves; `None` if there are none.
    pub(super) fn tree(
        &mut self,
        computation: &Computation<'_>,
        section: LeafSection,
        leaves: &[ExplainedLeaf],
    ) -> Option<usize> {
        (!leaves.is_empty()).then(|| self.container(computation, section, leaves, 0))
    }

    /// The number of the container with these leaves, whose paths have this number of keys in common.
    fn container(
        &mut self,
        computation: &Computation<'_>,
        section: LeafSection,
        leaves: &[ExplainedLeaf],
        depth: usize,
    ) -> usize {
        let groups = leaves.chunk_by(|one, next| one.leaf.path.get(depth) == next.leaf.path.get(depth));
        let row = groups.map(|group| match group {
            [leaf] if leaf.leaf.path.len() == depth + 1 => self.leaf(computation, section, leaf) * 2,
            _ => grow(|| self.container(computation, section, group, depth + 1)) * 2 + 1,
        });
        let row = row.collect();
        self.containers.number(row)
    }

    fn leaf(&mut self, computation: &Computation<'_>, section: LeafSection, leaf: &ExplainedLeaf) -> usize {
        let Leaf { path: keys, value, written, origin, via, .. } = &leaf.leaf;
        let path = self.path(section, keys);
        let value = self.value(value.as_ref());
        let written = written.as_ref().map_or(0, |written| self.written(computation, written));
        let place = self.place(computation, *origin, default_layer(keys));
        let steps = leaf.steps.iter().map(|step| self.step(computation, section, keys, step)).collect();
        let steps = self.steps.number(steps);
        let via = via.iter().map(|(written, origin)| {
            (self.written(computation, written), self.place(computation, *origin, "input data"))
        });
        let via = via.collect();
        let targets = leaf.targets.iter();
        let targets = targets.map(|path| path.as_ref().map(|path| self.path(LeafSection::Parameters, path)));
        let targets = targets.collect();
        let answers = leaf.answers.as_ref().map(|nodes| {
            let numbers = nodes.iter().filter_map(|node| self.known.nodes.get(node).copied()).collect();
            self.answers.number(numbers)
        });
        let extra = self.extras.number(Extra { via, targets, answers });
        self.leaves.number([path, value, written, place, steps, extra])
    }

    /// The number of the value of a step as written, with secrets masked. The path decides what is secret, and
    /// the origin which text it is.
    fn step_written(&mut self, computation: &Computation<'_>, slot: &Slot, path: &[Key], at: usize) -> usize {
        let known = (slot.origin(), at);
        if let Some(number) = self.known.steps.get(&known) {
            return *number;
        }
        let written = self.redaction.slot(path, slot, &Prefixes::new(computation.settings));
        let number = self.written(computation, &written);
        if known.0 != Origin::NONE {
            self.known.steps.insert(known, number);
        }
        number
    }

    /// The row of a layer's effect on the leaf at a path.
    fn step(
        &mut self,
        computation: &Computation<'_>,
        section: LeafSection,
        path: &[Key],
        step: &LayerStep,
    ) -> StepRow {
        let source = &step.source;
        let place = self.place(computation, source.slot.origin(), source.default_layer);
        let path = &path[..source.depth];
        let number = self.path(section, path);
        let written = self.step_written(computation, &source.slot, path, number);
        let prefix = Prefixes::new(computation.settings).text(source.prefix);
        let option = step.declared.as_ref().map(|(_, pattern, _)| inert(&format!("merge option {pattern}")));
        let reason = option.or_else(|| step.setting.map(str::to_owned));
        (step.effect.name(), u8::from(step.counts), place, written, number, prefix, reason)
    }
}

/// The text of a value: a scalar or flow style, or the lines of a text with several.
fn shown(value: &Value) -> String {
    let (first, lines) = whole(value);
    let text = if lines.is_empty() { first } else { format!("{first}\n{}", lines.join("\n")) };
    cut(&text)
}

/// The beginning of a long text.
fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… ({} more bytes)", &text[..end], text.len() - end),
        None => text.to_owned(),
    }
}

/// Distinct rows by key, in order.
pub(super) type Ordered<K, V> = IndexMap<K, V, FxBuildHasher>;
