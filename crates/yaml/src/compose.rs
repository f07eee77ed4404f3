//! The composer: events to a graph of nodes, in which an alias and its anchor are one node. Most nodes are simple, and
//! `straight` makes them without events.
//!
//! As in `PyYAML`, there are two passes: this one, and `construct`, which makes data of the graph. So
//! a syntax error anywhere precedes any error of the data.
//!
//! Errors have a [`Site`](reclass_base::source::Site) with an empty path, which the caller sets.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::construct;
use super::events::{Event, Events};
use super::resolve::{self, Tag};
use super::slip;
use reclass_base::error::{Error, Fault, Kind, Result, Warning};
use reclass_base::settings::Settings;
use reclass_base::size::TEXT_UNIT;
use reclass_base::source::{Site, Span, Spans};
use reclass_base::value::{Key, Value};

/// Limits on a document with expanded aliases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DocumentLimits {
    /// Maximum nesting depth of collections.
    pub depth: usize,
    /// Maximum number of nodes.
    pub nodes: usize,
    /// Whether scalars are those of YAML 1.2 (Y1).
    pub yaml12: bool,
}

impl DocumentLimits {
    /// The limits of the settings.
    pub fn of(settings: &Settings) -> DocumentLimits {
        DocumentLimits {
            depth: settings.limit_depth as usize,
            nodes: settings.limit_file_values as usize,
            yaml12: false,
        }
    }
    /// The maximum of the limits.
    pub const HIGHEST: DocumentLimits = DocumentLimits { depth: 1_000, nodes: 10_000_000, yaml12: false };
}

/// A YAML document: the tree and the spans of its nodes.
#[derive(Clone, Debug)]
pub struct Document {
    /// The root; `None` for an empty stream (`PyYAML` gives `None` for it as for `null`).
    pub root: Option<Node>,
    /// The spans of all nodes, by [`Node::index`].
    pub spans: Spans,
    /// Whether it has an alias, so that a node may be at several places.
    pub aliased: bool,
    /// Duplicate keys. The caller sets [`reclass_base::error::Fault::site`] from `spans`.
    pub warnings: Vec<Duplicate>,
}

/// The index of the later key, the index of the earlier key, and the warning.
pub type Duplicate = (u32, u32, Warning);

/// One node of a document.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The number of the node in document order. Keys are nodes, aliases are not.
    pub index: u32,
    /// The content.
    pub data: Data,
}

/// The content of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// A scalar, a set or an `!!omap`: final data that reclass does not inspect.
    Value(Value),
    /// A sequence.
    List(Arc<[Node]>),
    /// A mapping with merge keys (`<<`) applied, in Python's order of keys.
    Map(Arc<[Entry]>),
}

/// One entry of a mapping.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key. Of equal keys such as `1`, `1.0` and `true`, it is the first, as in Python.
    pub key: Key,
    /// The node of the key that has the value.
    pub key_index: u32,
    /// The value.
    pub value: Node,
}

// `1: x` is not `1.0: x`, although the keys are equal.
impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key.same(&other.key) && self.key_index == other.key_index && self.value == other.value
    }
}

/// Reads the bytes of a file.
pub fn compose(bytes: &[u8]) -> Result<Document> {
    compose_within(bytes, DocumentLimits::HIGHEST)
}

/// Reads the bytes of a file within limits.
pub fn compose_within(bytes: &[u8], limits: DocumentLimits) -> Result<Document> {
    document(bytes, limits, true).map_err(|error| slip::explain(error, bytes))
}

/// Reads the bytes of a file as [`compose_within`] does, without the straight path: for the tests of that path.
pub fn compose_generally(bytes: &[u8], limits: DocumentLimits) -> Result<Document> {
    document(bytes, limits, false).map_err(|error| slip::explain(error, bytes))
}

fn document(bytes: &[u8], limits: DocumentLimits, straight: bool) -> Result<Document> {
    let graph = NodeGraph::read(bytes, limits, straight)?;
    let Some(root) = graph.root else {
        return Ok(Document { root: None, spans: Arc::default(), aliased: false, warnings: Vec::new() });
    };
    let (root, warnings) = construct::construct(&graph, root, limits)?;
    let (spans, aliased) = (graph.spans.into(), graph.shared);
    let mut document = Document { root: Some(root), spans, aliased, warnings };
    if !document.warnings.is_empty()
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        document.quote_duplicates(text);
    }
    Ok(document)
}

impl Document {
    /// Adds the spelling to duplicate keys, if it differs from the key: `yes` and `on`.
    fn quote_duplicates(&mut self, text: &str) {
        let written = |index: u32| {
            let span = self.spans.get(index as usize)?;
            let word = text.get(span.start as usize..span.end as usize)?.trim_end();
            let is_word = word.chars().all(|c| c.is_alphanumeric() || "~+-._:".contains(c));
            (is_word && !word.is_empty()).then_some(word)
        };
        for (later, earlier, warning) in &mut self.warnings {
            let (Kind::DuplicateKey { key, types: None, written: both }, Some(later), Some(earlier)) =
                (&mut warning.kind, written(*later), written(*earlier))
            else {
                continue;
            };
            if later != earlier {
                *both = Some((earlier.to_owned(), later.to_owned()));
            } else if later != key {
                later.clone_into(key);
            }
        }
    }
}

/// A document before construction: nodes by number, an alias as the number of its node.
pub(super) struct NodeGraph<'a> {
    pub(super) nodes: Vec<GraphNode<'a>>,
    /// The children of all collections, those of one after those of another.
    children: Vec<u32>,
    pub(super) spans: Vec<Span>,
    pub(super) root: Option<u32>,
    /// True if a node can have several parents.
    pub(super) shared: bool,
}

/// The tag of a node; the error is the name of an unknown tag.
pub(super) type NodeTag = std::result::Result<Tag, Box<str>>;

/// The tag of a name, or the implicit one.
fn named(name: Option<String>, implicit: Tag) -> NodeTag {
    name.map_or(Ok(implicit), |name| Tag::from_uri(&name).ok_or(name.into()))
}

/// A node before construction.
pub(super) struct GraphNode<'a> {
    pub(super) tag: NodeTag,
    pub(super) content: GraphContent<'a>,
}

/// The content of a [`GraphNode`] node.
pub(super) enum GraphContent<'a> {
    Scalar(Cow<'a, str>),
    /// The range of its items in [`NodeGraph::children`].
    Sequence(Range<usize>),
    /// The range of its keys there, each before its value.
    Mapping(Range<usize>),
}

struct OpenCollection {
    index: u32,
    /// The index of its first child in [`Composer::children`].
    first: usize,
    anchored: bool,
    /// Number of nodes so far, with itself and expanded aliases.
    size: usize,
    /// Nesting depth so far.
    height: usize,
}

struct AnchorTarget {
    index: u32,
    /// Size and height; `None` while the collection is open.
    size_and_height: Option<(usize, usize)>,
}

pub(super) struct Composer<'a> {
    pub(super) events: Events<'a>,
    graph: NodeGraph<'a>,
    anchors: FxHashMap<&'a str, AnchorTarget>,
    /// The anchors of open collections, by the number of the collection.
    open_anchors: FxHashMap<u32, &'a str>,
    open: Vec<OpenCollection>,
    /// The children of all open collections, one collection after the other.
    children: Vec<u32>,
    limits: DocumentLimits,
    /// Whether it may take the straight path.
    straight: bool,
}

pub(super) fn fault_at(kind: Kind, span: Span) -> Fault {
    Fault::new(kind).at_site(Site::at("", span))
}

fn refuse(message: &str, span: Span) -> Error {
    fault_at(Kind::YamlSyntax { message: message.into(), help: None }, span).into()
}

impl<'a> NodeGraph<'a> {
    fn read(bytes: &'a [u8], limits: DocumentLimits, straight: bool) -> Result<NodeGraph<'a>> {
        // Inventories have a node for each 12 bytes. A file that is one long text must not reserve for all of it.
        let capacity = (bytes.len() / 12).min(1_000);
        let graph = NodeGraph {
            nodes: Vec::with_capacity(capacity),
            children: Vec::with_capacity(capacity),
            spans: Vec::with_capacity(capacity),
            root: None,
            shared: false,
        };
        let mut composer = Composer {
            events: Events::new(bytes)?,
            graph,
            anchors: FxHashMap::default(),
            open_anchors: FxHashMap::default(),
            open: Vec::with_capacity(8),
            children: Vec::with_capacity(64),
            limits,
            straight,
        };
        if composer.events.next()?.0 == Event::StreamEnd {
            return Ok(composer.graph);
        }
        composer.document()?;
        match composer.events.next()? {
            (Event::StreamEnd, _) => Ok(composer.graph),
            (_, span) => Err(refuse(slip::SECOND_DOCUMENT, span)),
        }
    }

    /// The items of a sequence.
    pub(super) fn items(&self, children: &Range<usize>) -> &[u32] {
        self.children.get(children.clone()).unwrap_or_default()
    }

    /// The keys of a mapping with their values.
    pub(super) fn pairs(&self, children: &Range<usize>) -> &[[u32; 2]] {
        self.items(children).as_chunks().0
    }
}

impl<'a> Composer<'a> {
    fn document(&mut self) -> Result<()> {
        loop {
            if self.straight && self.events.parser.is_straight() {
                self.straight()?;
            }
            let (event, span) = self.events.next()?;
            match event {
                Event::Alias { anchor } => self.alias(anchor, span)?,
                Event::Scalar { anchor, tag, value, plain } => {
                    let implicit = if plain { self.plain_tag(&value) } else { Tag::Str };
                    self.scalar(anchor, named(tag, implicit), value, span)?;
                }
                Event::SequenceStart { anchor, tag } => {
                    self.collection(anchor, named(tag, Tag::Seq), GraphContent::Sequence(0..0), span)?;
                }
                Event::MappingStart { anchor, tag } => {
                    self.collection(anchor, named(tag, Tag::Map), GraphContent::Mapping(0..0), span)?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(span)?,
                Event::DocumentEnd => return Ok(()),
                Event::DocumentStart | Event::StreamEnd => {
                    return Err(refuse("unexpected end of the document", span));
                }
            }
        }
    }

    /// The tag of a plain scalar.
    pub(super) fn plain_tag(&self, text: &str) -> Tag {
        match resolve::implicit(text) {
            tag if tag == Tag::Merge || !self.limits.yaml12 => tag,
            _ => Tag::Plain12,
        }
    }

    #[inline]
    pub(super) fn scalar(
        &mut self,
        anchor: Option<&'a str>,
        tag: NodeTag,
        text: Cow<'a, str>,
        span: Span,
    ) -> Result<()> {
        let size = 1 + text.len() / TEXT_UNIT;
        let index = self.add(tag, GraphContent::Scalar(text), span)?;
        if let Some(anchor) = anchor {
            self.anchor(anchor, index, Some((size, 0)), span)?;
        }
        self.attach(index, size, 0, span)
    }

    #[inline]
    fn add(&mut self, tag: NodeTag, content: GraphContent<'a>, span: Span) -> Result<u32> {
        let index = u32::try_from(self.graph.nodes.len()).unwrap_or(u32::MAX);
        if self.graph.nodes.len() >= self.limits.nodes {
            return Err(too_many_nodes(self.limits, span));
        }
        self.graph.nodes.push(GraphNode { tag, content });
        self.graph.spans.push(span);
        Ok(index)
    }

    fn anchor(
        &mut self,
        anchor: &'a str,
        index: u32,
        size_and_height: Option<(usize, usize)>,
        span: Span,
    ) -> Result<()> {
        if let Some(first) = self.anchors.get(anchor) {
            let first = self.graph.spans.get(first.index as usize).copied().unwrap_or_default();
            let kind = Kind::YamlSyntax { message: "found a duplicate anchor".into(), help: None };
            let place = Site::at("", first);
            return Err(fault_at(kind, span).note("first occurrence", Some(place)).into());
        }
        self.anchors.insert(anchor, AnchorTarget { index, size_and_height });
        Ok(())
    }

    fn alias(&mut self, anchor: &str, span: Span) -> Result<()> {
        let Some(target) = self.anchors.get(anchor) else {
            // A password can look like an alias, so messages contain no text of the file.
            return Err(refuse(slip::UNDEFINED_ALIAS, span));
        };
        // PyYAML builds a value that contains itself, which no answer can contain.
        let Some((size, height)) = target.size_and_height else {
            return Err(refuse("the alias is within its own anchor", span));
        };
        let index = target.index;
        self.graph.shared = true;
        self.attach(index, size, height, span)
    }

    /// Opens a collection.
    pub(super) fn collection(
        &mut self,
        anchor: Option<&'a str>,
        tag: NodeTag,
        content: GraphContent<'a>,
        span: Span,
    ) -> Result<()> {
        let index = self.add(tag, content, span)?;
        if self.open.len() >= self.limits.depth {
            return Err(too_deep(self.limits, span));
        }
        let anchored = anchor.is_some();
        if let Some(anchor) = anchor {
            self.anchor(anchor, index, None, span)?;
            self.open_anchors.insert(index, anchor);
        }
        self.open.push(OpenCollection { index, first: self.children.len(), anchored, size: 1, height: 1 });
        Ok(())
    }

    pub(super) fn close(&mut self, span: Span) -> Result<()> {
        let Some(closed) = self.open.pop() else {
            return Err(refuse("unexpected end of a collection", span));
        };
        let first = self.graph.children.len();
        self.graph.children.extend(self.children.drain(closed.first..));
        let children = first..self.graph.children.len();
        let index = closed.index as usize;
        if let Some(GraphNode {
            content: GraphContent::Sequence(range) | GraphContent::Mapping(range), ..
        }) = self.graph.nodes.get_mut(index)
        {
            *range = children;
        }
        if let Some(own) = self.graph.spans.get_mut(index) {
            own.end = span.end;
        }
        if closed.anchored
            && let Some(anchor) = self.open_anchors.remove(&closed.index)
            && let Some(anchored) = self.anchors.get_mut(anchor)
        {
            anchored.size_and_height = Some((closed.size, closed.height));
        }
        self.attach(closed.index, closed.size, closed.height, span)
    }

    /// Adds a node to its parent collection.
    #[inline]
    fn attach(&mut self, index: u32, size: usize, height: usize, span: Span) -> Result<()> {
        let depth = self.open.len();
        let Some(parent) = self.open.last_mut() else {
            self.graph.root = Some(index);
            return Ok(());
        };
        self.children.push(index);
        parent.size = parent.size.saturating_add(size);
        parent.height = parent.height.max(height + 1);
        if parent.size > self.limits.nodes {
            return Err(too_many_nodes(self.limits, span));
        }
        if depth + height > self.limits.depth {
            return Err(too_deep(self.limits, span));
        }
        Ok(())
    }
}

pub(super) fn too_many_nodes(limits: DocumentLimits, span: Span) -> Error {
    let what = "the number of values of a YAML document".into();
    let setting = Some("limit_file_values");
    fault_at(Kind::YamlLimit { what, limit: limits.nodes, setting }, span).into()
}

fn too_deep(limits: DocumentLimits, span: Span) -> Error {
    let what = "the depth of a YAML document".into();
    fault_at(Kind::YamlLimit { what, limit: limits.depth, setting: Some("limit_depth") }, span).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse_value, to_value};
    use reclass_base::pystr;

    #[test]
    fn values_of_documents() {
        let table = [
            ("", "None"),
            (
                "[yes, 014, 0o14, 1_000, 190:20:30, 1e3, 1.e+3, '1', =x]",
                "[True, 12, '0o14', 1000, 685230, '1e3', 1000.0, '1', '=x']",
            ),
            ("{<<: [{a: 1, b: 2}, {b: 3, c: 4}], c: 5}", "{'b': 2, 'c': 5, 'a': 1}"),
            ("{a: 1, b: 2, a: 3}", "{'a': 3, 'b': 2}"),
            ("{1: a, 1.0: b, yes: c}", "{1: 'c'}"),
            ("[&a {x: y}, *a]", "[{'x': 'y'}, {'x': 'y'}]"),
            ("[!!null, !!str , !!str ]", "[None, '', '']"),
            ("!!omap [a: 1, a: 2]", "[('a', 1), ('a', 2)]"),
            ("- |\n  a\n  b", "['a\\nb']"),
            ("a: |+\n  b\n  ", "{'a': 'b\\n'}"),
            ("\u{feff}a: b\r\nc: 'd\r\n\r\n e'\r\n", "{'a': 'b', 'c': 'd\\ne'}"),
            ("! 12", "12"),
            ("!%C3%A9 x", "yaml-tag 1:1"),
            ("a: &x 1\nb: &x 2", "yaml-syntax 2:4"),
            ("a: *x", "yaml-syntax 1:4"),
            ("&a [*a]", "yaml-syntax 1:5"),
            ("[a]: b", "yaml-syntax 1:1"),
            ("a: !x b", "yaml-tag 1:4"),
            ("a: =", "yaml-tag 1:4"),
            ("a\n---\nb", "yaml-syntax 2:1"),
            ("a: 2001-02-30", "yaml-syntax 1:4"),
            ("a: b\nc: \u{7}", "yaml-syntax 2:4"),
            ("a: 'b", "yaml-syntax 1:4"),
        ];
        for (text, expected) in table {
            let found = match parse_value(text) {
                Ok(value) => pystr::repr(&value),
                Err(error) => {
                    let site = error.first().site.as_ref().map(ToString::to_string);
                    format!("{} {}", error.first().code(), site.unwrap_or_default().trim_start_matches(':'))
                }
            };
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn nodes_are_numbered_in_document_order() {
        let document = compose(b"# c\na: &x [b, {c: d}]\ne: *x\na: 1\n").expect("yaml");
        let text = |index: usize| (document.spans[index].line, document.spans[index].column);
        let places: Vec<_> = (0..document.spans.len()).map(text).collect();
        assert_eq!(
            places,
            [(1, 0), (1, 0), (1, 3), (1, 7), (1, 10), (1, 11), (1, 14), (2, 0), (3, 0), (3, 3)]
        );
        let (later, earlier, warning) = &document.warnings[0];
        assert_eq!((*later, *earlier, warning.code()), (8, 1, "duplicate-key"));
        let root = document.root.expect("a root");
        assert_eq!(pystr::repr(&to_value(&root)), "{'a': 1, 'e': ['b', {'c': 'd'}]}");
    }

    #[test]
    fn invalid_utf8_has_a_place() {
        let error = compose(b"a: b\nc: \xff").expect_err("no UTF-8");
        assert_eq!(error.first().site.as_ref().map(ToString::to_string).as_deref(), Some(":2:4"));
    }
}
