//! The constructor: the graph of a document to data, as in `PyYAML`'s `SafeConstructor`.
//!
//! `PyYAML` constructs level by level, so it reports an error on the highest level. This code works
//! depth first, continues after an error, and reports the first error on the highest level.

use std::sync::Arc;
use std::vec::Drain;

use rustc_hash::{FxHashMap, FxHashSet};

use super::compose::{
    Data, DocumentLimits, Duplicate, Entry, GraphContent, GraphNode, Node, NodeGraph, fault_at,
    too_many_nodes,
};
use super::resolve::{self, Tag};
use super::{grow, to_value};
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::pystr;
use reclass_base::source::Span;
use reclass_base::value::{Key, Value};

/// Minimum number of entries for looking up keys by hash.
const FEW: usize = 12;
/// Construction stops after this many errors.
const FAILURES: usize = 1000;

/// Constructs the node `root` of a graph.
pub(super) fn construct(
    graph: &NodeGraph<'_>,
    root: u32,
    limits: DocumentLimits,
) -> Result<(Node, Vec<Duplicate>)> {
    let mut constructor = Constructor {
        graph,
        constructed: FxHashMap::default(),
        flat: FxHashMap::default(),
        entries: Vec::with_capacity(16),
        merged: 0,
        limits,
        worst: None,
        failures: 0,
        warnings: Vec::new(),
    };
    let node = constructor.node(root, 0);
    match constructor.worst {
        Some((_, fault)) => Err(fault),
        None => Ok((node, constructor.warnings)),
    }
}

struct Constructor<'a> {
    graph: &'a NodeGraph<'a>,
    /// The data of nodes, if nodes can have several parents.
    constructed: FxHashMap<u32, Data>,
    /// Entries of mappings with merge keys, after they were applied.
    flat: FxHashMap<u32, Arc<[KeyValue]>>,
    /// The entries so far of the mappings under construction, those of an inner one after those of the outer one.
    entries: Vec<Entry>,
    /// Number of entries added by merge keys.
    merged: usize,
    limits: DocumentLimits,
    /// The error on the highest level, and its level.
    worst: Option<(usize, Error)>,
    failures: usize,
    warnings: Vec<Duplicate>,
}

/// The numbers of a key and its value; `merged` if it comes from a merge key.
#[derive(Clone, Copy)]
struct KeyValue {
    key: u32,
    value: u32,
    merged: bool,
}

impl<'a> Constructor<'a> {
    fn fail(&mut self, level: usize, error: impl Into<Error>) {
        self.failures += 1;
        if self.worst.as_ref().is_none_or(|(worst, _)| level < *worst) {
            self.worst = Some((level, error.into()));
        }
    }

    fn fail_at(&mut self, level: usize, index: u32, kind: Kind) {
        self.fail(level, fault_at(kind, self.span(index)));
    }

    /// Reports a syntax error at a node.
    fn refuse(&mut self, level: usize, index: u32, message: &str) {
        self.fail_at(level, index, Kind::YamlSyntax { message: message.into(), help: None });
    }

    fn span(&self, index: u32) -> Span {
        self.graph.spans.get(index as usize).copied().unwrap_or_default()
    }

    fn written(&self, index: u32) -> &'a GraphNode<'a> {
        const NOTHING: &GraphNode<'_> =
            &GraphNode { tag: Ok(Tag::Seq), content: GraphContent::Sequence(0..0) };
        self.graph.nodes.get(index as usize).unwrap_or(NOTHING)
    }

    fn has_tag(&self, index: u32, tag: Tag) -> bool {
        self.written(index).tag == Ok(tag)
    }

    #[inline]
    fn node(&mut self, index: u32, level: usize) -> Node {
        let data = match self.written(index) {
            // Fast path: most nodes are texts.
            GraphNode { tag: Ok(Tag::Str), content: GraphContent::Scalar(text) } if !self.graph.shared => {
                Data::Value(Value::text(&**text))
            }
            written => self.data(index, written, level),
        };
        Node { index, data }
    }

    fn data(&mut self, index: u32, written: &GraphNode<'_>, level: usize) -> Data {
        if self.graph.shared
            && let Some(data) = self.constructed.get(&index)
        {
            return data.clone();
        }
        let failures = self.failures;
        if failures > FAILURES {
            return Data::Value(Value::Null);
        }
        let data = match &written.tag {
            Err(tag) => {
                let is_known = is_behind_tag(&written.content) && TAGS_OF_OTHERS.contains(&&**tag);
                let tag = is_known.then(|| tag.to_string());
                self.fail_at(level, index, Kind::YamlTag { tag });
                Data::Value(Value::Null)
            }
            Ok(tag) => match *tag {
                Tag::Seq => grow(|| self.sequence(index, level + 1)),
                Tag::Map => grow(|| Data::Map(self.mapping(index, level + 1).collect())),
                Tag::Set => grow(|| {
                    let keys = self.mapping(index, level + 1).map(|entry| entry.key.0).collect();
                    Data::Value(Value::Set(Arc::new(keys)))
                }),
                Tag::Omap => grow(|| self.pairs(index, level + 1, "an ordered map")),
                Tag::Pairs => grow(|| self.pairs(index, level + 1, "pairs")),
                tag => Data::Value(self.scalar(index, tag, level)),
            },
        };
        // Failed nodes are not cached: they can occur on a higher level, too.
        if self.graph.shared && self.failures == failures {
            self.constructed.insert(index, data.clone());
        }
        data
    }

    /// The text of a scalar. A mapping with the key `=` has the text of that value.
    fn text(&self, index: u32) -> Result<&'a str, &'static str> {
        let mut index = index;
        loop {
            match &self.written(index).content {
                GraphContent::Scalar(text) => return Ok(text),
                GraphContent::Sequence(_) => return Err("expected a scalar node, but found sequence"),
                GraphContent::Mapping(entries) => {
                    let is_value = |[key, _]: &&[u32; 2]| self.has_tag(*key, Tag::Value);
                    let Some([_, value]) = self.graph.pairs(entries).iter().find(is_value) else {
                        return Err("expected a scalar node, but found mapping");
                    };
                    index = *value;
                }
            }
        }
    }

    fn scalar(&mut self, index: u32, tag: Tag, level: usize) -> Value {
        if matches!(tag, Tag::Merge | Tag::Value) {
            let tag = if tag == Tag::Merge { "<<" } else { "=" };
            self.fail_at(level, index, Kind::YamlTag { tag: Some(tag.into()) });
            return Value::Null;
        }
        let text = match self.text(index) {
            Ok(text) => text,
            Err(message) => {
                self.refuse(level, index, message);
                return Value::Null;
            }
        };
        match resolve::construct(tag, text) {
            // As PyYAML: a timestamp must be a scalar itself, without `=`.
            Ok(Value::Date(_) | Value::DateTime(_))
                if !matches!(self.written(index).content, GraphContent::Scalar(_)) =>
            {
                self.refuse(level, index, "invalid timestamp");
                Value::Null
            }
            Ok(value) => value,
            Err(kind) => {
                self.fail_at(level, index, kind);
                Value::Null
            }
        }
    }

    fn sequence(&mut self, index: u32, level: usize) -> Data {
        let GraphContent::Sequence(items) = &self.written(index).content else {
            self.refuse(level, index, "expected a sequence node");
            return Data::Value(Value::Null);
        };
        Data::List(self.graph.items(items).iter().map(|item| self.node(*item, level)).collect())
    }

    /// The list of tuples of an `!!omap` or `!!pairs`.
    fn pairs(&mut self, index: u32, level: usize, what: &str) -> Data {
        let GraphContent::Sequence(items) = &self.written(index).content else {
            self.refuse(level, index, &format!("expected a sequence while constructing {what}"));
            return Data::Value(Value::Null);
        };
        let mut pairs = Vec::with_capacity(items.len());
        for item in self.graph.items(items) {
            let entry = match &self.written(*item).content {
                GraphContent::Mapping(entries) => self.graph.pairs(entries),
                _ => &[],
            };
            let [[key, value]] = entry else {
                self.refuse(
                    level,
                    *item,
                    &format!("expected a mapping of length 1 while constructing {what}"),
                );
                continue;
            };
            let key = to_value(&self.node(*key, level));
            let value = to_value(&self.node(*value, level));
            pairs.push(Value::Tuple(Arc::new(vec![key, value])));
        }
        Data::Value(Value::list(pairs))
    }

    fn mapping(&mut self, index: u32, level: usize) -> Drain<'_, Entry> {
        let GraphContent::Mapping(written) = &self.written(index).content else {
            self.refuse(level, index, "expected a mapping node");
            return self.entries.drain(..0);
        };
        let written = self.graph.pairs(written);
        let is_merge = |[key, _]: &[u32; 2]| self.has_tag(*key, Tag::Merge);
        if written.iter().any(is_merge) {
            let pairs = self.flatten(index, level);
            self.entries(pairs.iter().copied(), pairs.len(), level)
        } else {
            let pairs =
                written.iter().map(|[key, value]| KeyValue { key: *key, value: *value, merged: false });
            self.entries(pairs, written.len(), level)
        }
    }

    /// The entries of Python's dict: the position of the first equal key, the value of the last.
    fn entries(
        &mut self,
        pairs: impl Iterator<Item = KeyValue>,
        length: usize,
        level: usize,
    ) -> Drain<'_, Entry> {
        let first = self.entries.len();
        // Those of the entries' keys that come from merge keys.
        let mut foreign = FxHashSet::default();
        let mut places: FxHashMap<Key, usize> = FxHashMap::default();
        for KeyValue { key: key_index, value, merged } in pairs {
            let key = self.key(key_index, level);
            let value = self.node(value, level);
            let Some(key) = key else { continue };
            let entries = &mut self.entries[first..];
            let place = if length < FEW {
                entries.iter().position(|entry| entry.key == key)
            } else {
                places.get(&key).copied()
            };
            let Some(place) = place else {
                if length >= FEW {
                    places.insert(key.clone(), entries.len());
                }
                self.entries.push(Entry { key, key_index, value });
                if merged {
                    foreign.insert(key_index);
                }
                continue;
            };
            let earlier = std::mem::replace(&mut entries[place].key_index, key_index);
            entries[place].value = value;
            let was_foreign = foreign.remove(&earlier);
            if merged {
                foreign.insert(key_index);
            } else if !was_foreign {
                let kind = Kind::DuplicateKey { key: pystr::str(&key.0), types: None, written: None };
                self.warnings.push((key_index, earlier, Fault::new(kind)));
            }
        }
        self.entries.drain(first..)
    }

    fn key(&mut self, index: u32, level: usize) -> Option<Key> {
        match self.written(index).tag {
            Ok(Tag::Seq | Tag::Map | Tag::Set | Tag::Omap | Tag::Pairs) => {
                self.refuse(level, index, "found unhashable key while constructing a mapping");
                None
            }
            // In a mapping, `=` is text.
            Ok(Tag::Value) => match self.text(index) {
                Ok(text) => Some(Key::from(text)),
                Err(message) => {
                    self.refuse(level, index, message);
                    None
                }
            },
            _ => match self.node(index, level).data {
                Data::Value(value) => Some(Key(value)),
                _ => None,
            },
        }
    }

    /// `PyYAML`'s `flatten_mapping`: merged entries come first, so that the mapping's own entries win;
    /// in a list, the first mapping wins.
    fn flatten(&mut self, index: u32, level: usize) -> Arc<[KeyValue]> {
        if let Some(pairs) = self.flat.get(&index) {
            return pairs.clone();
        }
        let GraphContent::Mapping(written) = &self.written(index).content else {
            return Arc::new([]);
        };
        let failures = self.failures;
        if failures > FAILURES {
            return Arc::new([]);
        }
        let mut merged = Vec::new();
        let mut own = Vec::with_capacity(written.len());
        for [key, value] in self.graph.pairs(written) {
            if !self.has_tag(*key, Tag::Merge) {
                own.push(KeyValue { key: *key, value: *value, merged: false });
                continue;
            }
            match &self.written(*value).content {
                GraphContent::Mapping(_) => self.merge(*value, level, &mut merged),
                GraphContent::Sequence(items) => {
                    let items = self.graph.items(items);
                    for item in items {
                        if matches!(self.written(*item).content, GraphContent::Mapping(_)) {
                            grow(|| self.flatten(*item, level));
                        } else {
                            self.refuse(level, *item, "expected a mapping for merging");
                        }
                    }
                    for item in items.iter().rev() {
                        self.merge(*item, level, &mut merged);
                    }
                }
                GraphContent::Scalar(_) => {
                    self.refuse(level, *value, "expected a mapping or list of mappings for merging");
                }
            }
        }
        merged.append(&mut own);
        let pairs: Arc<[KeyValue]> = merged.into();
        if self.failures == failures {
            self.flat.insert(index, pairs.clone());
        }
        pairs
    }

    fn merge(&mut self, index: u32, level: usize, merged: &mut Vec<KeyValue>) {
        let pairs = grow(|| self.flatten(index, level));
        self.merged = self.merged.saturating_add(pairs.len());
        if self.merged > self.limits.nodes {
            // Level 0 precedes all other errors.
            self.fail(0, too_many_nodes(self.limits, self.span(index)));
            return;
        }
        merged.extend(pairs.iter().map(|pair| KeyValue { merged: true, ..*pair }));
    }
}

/// Whether a tag has a value behind it. Without one, the tag may be a text without quotes, as a password.
fn is_behind_tag(content: &GraphContent<'_>) -> bool {
    !matches!(content, GraphContent::Scalar(text) if text.is_empty())
}

/// Tags of other programs. Errors name these alone, because another one may be the first word of a password.
const TAGS_OF_OTHERS: [&str; 12] = [
    "!vault",
    "!unsafe",
    "!include",
    "!secret",
    "!env",
    "!ENV",
    "!env_var",
    "!reference",
    "!Ref",
    "!Sub",
    "!GetAtt",
    "!Join",
];
