//! The outline: the syntax tree of a text, with spans, styles, anchors and all written entries.
//!
//! The composer drops details that an editor needs: the spans of aliases, merge keys, duplicate keys.
//! An outline is only made of text that [`compose`](super::compose::compose) accepts, which checks
//! limits and reports errors.

use rustc_hash::FxHashMap;

use super::events::{Event, Events};
use super::resolve::{self, Tag};
use reclass_base::error::Result;
use reclass_base::source::Span;
use reclass_base::value::{Key, Value};

/// The syntax tree of a document.
#[derive(Debug, Default)]
pub struct Outline {
    /// The outermost node; `None` for an empty stream.
    pub root: Option<OutlineNode>,
    /// The number of aliases of each anchor.
    uses: FxHashMap<String, usize>,
}

/// A node of the syntax tree. Offsets are bytes of the file.
#[derive(Debug)]
pub struct OutlineNode {
    /// The first character, with anchor and tag.
    pub start: usize,
    /// The first character after anchor and tag. A block collection begins with its first entry.
    pub content: usize,
    /// After the last character; for a block collection, the start of its first entry.
    pub end: usize,
    /// The name of its anchor.
    pub anchor: Option<String>,
    /// Its kind, with what it holds.
    pub form: NodeForm,
}

/// The syntax of a node.
#[derive(Debug)]
pub enum NodeForm {
    /// `*name`.
    Alias,
    /// No text, which means null. Its position is only known after a `:`.
    Empty,
    /// A scalar without quotes.
    Plain,
    /// `'…'`.
    SingleQuoted,
    /// `"…"`.
    DoubleQuoted,
    /// `|` or `>`. It ends with the last line of the value.
    BlockScalar,
    /// `[…]`.
    FlowSequence(Vec<OutlineNode>),
    /// `{…}`, and the pair `a: b` in `[a: b]`.
    FlowMapping(Vec<OutlineEntry>),
    /// `- …`.
    BlockSequence(Vec<OutlineNode>),
    /// `key: …`.
    BlockMapping(Vec<OutlineEntry>),
}

impl OutlineNode {
    /// The entries of a mapping.
    pub fn entries(&self) -> &[OutlineEntry] {
        match &self.form {
            NodeForm::BlockMapping(entries) | NodeForm::FlowMapping(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list.
    pub fn items(&self) -> &[OutlineNode] {
        match &self.form {
            NodeForm::BlockSequence(items) | NodeForm::FlowSequence(items) => items,
            _ => &[],
        }
    }

    /// The end of its last scalar: a block collection has everything in it. An empty value there may have no
    /// position; then it is the end of its key, or the beginning of the list.
    pub fn end_of_all(&self) -> usize {
        let (mut node, mut end) = (self, self.end);
        loop {
            node = match &node.form {
                NodeForm::BlockMapping(pairs) => {
                    let Some(pair) = pairs.last() else { return end };
                    end = end.max(pair.key.end);
                    &pair.value
                }
                NodeForm::BlockSequence(items) => {
                    let Some(item) = items.last() else { return end };
                    item
                }
                _ => return end,
            };
            end = end.max(node.end);
        }
    }
}

/// An entry of a mapping.
#[derive(Debug)]
pub struct OutlineEntry {
    /// The key as it is written.
    pub key: OutlineNode,
    /// The meaning of the key.
    pub name: KeyName,
    /// The value as it is written.
    pub value: OutlineNode,
}

/// The meaning of a key.
#[derive(Clone, PartialEq, Debug)]
pub enum KeyName {
    /// A scalar.
    Key(Key),
    /// `<<`.
    Merge,
    /// Not a valid key of a mapping.
    Other,
}

impl Outline {
    /// The outline of a text.
    pub fn read(bytes: &[u8]) -> Result<Outline> {
        let mut reader = OutlineReader {
            text: bytes,
            open: Vec::new(),
            names: FxHashMap::default(),
            outline: Outline::default(),
        };
        let mut events = Events::new(bytes)?;
        loop {
            let (event, span) = events.next()?;
            if event == Event::StreamEnd {
                return Ok(reader.outline);
            }
            reader.take(event, span);
        }
    }

    /// True if an alias refers to the anchor of the node.
    pub fn is_used(&self, node: &OutlineNode) -> bool {
        node.anchor.as_ref().is_some_and(|anchor| self.uses.contains_key(anchor))
    }
}

/// An open collection: the empty node and its children so far.
struct OpenNode {
    node: OutlineNode,
    parts: Vec<(OutlineNode, KeyName)>,
    mapping: bool,
    flow: bool,
}

struct OutlineReader<'a> {
    text: &'a [u8],
    open: Vec<OpenNode>,
    /// The meaning as a key of scalars with an anchor.
    names: FxHashMap<String, KeyName>,
    outline: Outline,
}

impl OutlineReader<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) {
        let (start, end) = (span.start as usize, span.end as usize);
        match event {
            Event::Alias { anchor } => {
                let name = self.names.get(anchor).cloned().unwrap_or(KeyName::Other);
                *self.outline.uses.entry(anchor.to_owned()).or_default() += 1;
                let node = OutlineNode { start, content: start, end, anchor: None, form: NodeForm::Alias };
                self.attach(node, name);
            }
            Event::Scalar { anchor, tag, value, plain } => {
                let name = name(tag.as_deref(), &value, plain);
                let anchor = anchor.map(str::to_owned);
                if let Some(anchor) = &anchor {
                    self.names.insert(anchor.clone(), name.clone());
                }
                let node = self.scalar(start, end, anchor);
                self.attach(node, name);
            }
            Event::SequenceStart { anchor, .. } => self.begin(start, end, anchor.map(str::to_owned), false),
            Event::MappingStart { anchor, .. } => self.begin(start, end, anchor.map(str::to_owned), true),
            Event::SequenceEnd | Event::MappingEnd => self.finish(end),
            Event::DocumentStart | Event::DocumentEnd | Event::StreamEnd => {}
        }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    fn scalar(&self, start: usize, end: usize, anchor: Option<String>) -> OutlineNode {
        let mut content = start;
        // Skip anchor and tag with the white space and comments after them.
        while content < end && matches!(self.byte(content), b'&' | b'!') {
            while content < end && !self.byte(content).is_ascii_whitespace() {
                content += 1;
            }
            while content < end && (self.byte(content).is_ascii_whitespace() || self.byte(content) == b'#') {
                if self.byte(content) == b'#' {
                    while content < end && !matches!(self.byte(content), b'\n' | b'\r') {
                        content += 1;
                    }
                } else {
                    content += 1;
                }
            }
        }
        let flow = self.open.last().is_some_and(|open| open.flow);
        let form = match self.byte(content) {
            _ if content >= end => NodeForm::Empty,
            b'\'' => NodeForm::SingleQuoted,
            b'"' => NodeForm::DoubleQuoted,
            b'|' | b'>' if !flow => NodeForm::BlockScalar,
            _ => NodeForm::Plain,
        };
        let end = if matches!(form, NodeForm::BlockScalar) { self.block_end(content, end) } else { end };
        OutlineNode { start, content, end, anchor, form }
    }

    /// The end of the last line of a block scalar. Trailing blank lines belong to it only with `+`.
    fn block_end(&self, content: usize, end: usize) -> usize {
        let body = self.text.get(content..end).unwrap_or_default();
        let header = body.iter().take_while(|byte| !byte.is_ascii_whitespace());
        let kept = if header.copied().any(|byte| byte == b'+') {
            body.strip_suffix(b"\n").map_or(body, |body| body.strip_suffix(b"\r").unwrap_or(body))
        } else {
            body.trim_ascii_end()
        };
        content + kept.len()
    }

    fn begin(&mut self, start: usize, end: usize, anchor: Option<String>, mapping: bool) {
        let inside = self.open.last().is_some_and(|open| open.flow);
        let opens = end > start && matches!(self.byte(end - 1), b'{' | b'[');
        // In brackets everything is flow style, also a pair without braces.
        let flow = inside || opens;
        let content = match self.byte(end) {
            _ if opens => end - 1,
            // The event of an unindented sequence includes its first `-`.
            byte if !mapping && byte != b'-' => end.saturating_sub(1),
            _ => end,
        };
        let node = OutlineNode { start, content, end: content, anchor, form: NodeForm::Empty };
        self.open.push(OpenNode { node, parts: Vec::new(), mapping, flow });
    }

    fn finish(&mut self, end: usize) {
        let Some(OpenNode { mut node, parts, mapping, flow }) = self.open.pop() else { return };
        if flow {
            node.end = end;
        }
        node.form = match (mapping, flow) {
            (true, true) => NodeForm::FlowMapping(pairs(parts)),
            (true, false) => NodeForm::BlockMapping(pairs(parts)),
            (false, true) => NodeForm::FlowSequence(parts.into_iter().map(|(node, _)| node).collect()),
            (false, false) => NodeForm::BlockSequence(parts.into_iter().map(|(node, _)| node).collect()),
        };
        self.attach(node, KeyName::Other);
    }

    fn attach(&mut self, node: OutlineNode, name: KeyName) {
        match self.open.last_mut() {
            Some(open) => open.parts.push((node, name)),
            None => self.outline.root = Some(node),
        }
    }
}

fn pairs(parts: Vec<(OutlineNode, KeyName)>) -> Vec<OutlineEntry> {
    let mut parts = parts.into_iter();
    let mut pairs = Vec::new();
    while let (Some((key, name)), Some((value, _))) = (parts.next(), parts.next()) {
        pairs.push(OutlineEntry { key, name, value });
    }
    pairs
}

/// The meaning of a scalar as a key.
fn name(tag: Option<&str>, text: &str, plain: bool) -> KeyName {
    let tag = match tag {
        Some(tag) => Tag::from_uri(tag),
        None if plain => Some(resolve::implicit(text)),
        None => Some(Tag::Str),
    };
    match tag {
        Some(Tag::Merge) => KeyName::Merge,
        Some(Tag::Str | Tag::Value) => KeyName::Key(text.into()),
        Some(tag) => match resolve::construct(tag, text) {
            Ok(value) => KeyName::Key(Key(value)),
            Err(_) => KeyName::Other,
        },
        None => KeyName::Other,
    }
}

impl KeyName {
    /// The key of reclass: Python's `str()` of the key (M7).
    pub fn text(&self) -> Option<String> {
        match self {
            KeyName::Key(Key(Value::Str(text))) => Some(text.to_string()),
            KeyName::Key(key) => Some(reclass_base::pystr::str(&key.0)),
            KeyName::Merge | KeyName::Other => None,
        }
    }
}
