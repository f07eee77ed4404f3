//! The outline turns text into the tree that is written there: each node with its stretch of
//! text, its style and its anchor, each mapping with every entry that stands in it.
//!
//! Composition answers what a file means, and forgets what an editor has to know: where an alias
//! stands, which keys a merge key brought in, which key stands twice. An outline is only made of
//! text that [`compose`](super::compose::compose) accepts, so limits and errors are dealt with there.

use rustc_hash::FxHashMap;

use super::events::{Event, Events};
use super::resolve::{self, Tag};
use crate::base::error::Result;
use crate::base::source::Span;
use crate::base::value::{Key, Value};

/// A document as it is written.
#[derive(Debug, Default)]
pub struct Outline {
    /// The outermost node; `None` for an empty stream.
    pub root: Option<OutlineNode>,
    /// How often each anchor is referred to.
    uses: FxHashMap<String, usize>,
}

/// A node as it is written. Offsets are bytes of the file.
#[derive(Debug)]
pub struct OutlineNode {
    /// The first character, which may be that of an anchor or a tag.
    pub start: usize,
    /// The first character behind anchor and tag. Where a block collection begins, its first
    /// entry begins.
    pub content: usize,
    /// Behind the last character. Of a block collection, where its first entry begins.
    pub end: usize,
    /// The name of its anchor.
    pub anchor: Option<String>,
    /// What it is.
    pub form: NodeForm,
}

/// How a node is written.
#[derive(Debug)]
pub enum NodeForm {
    /// `*name`.
    Alias,
    /// Nothing, which means null. Where it stands is only known if a `:` stands before it.
    Empty,
    /// A scalar without quotes.
    Plain,
    /// `'…'`.
    SingleQuoted,
    /// `"…"`.
    DoubleQuoted,
    /// `|` or `>`. The end is that of the last line that belongs to the value.
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

/// An entry of a mapping as it is written.
#[derive(Debug)]
pub struct OutlineEntry {
    /// The key.
    pub key: OutlineNode,
    /// What the key says.
    pub name: KeyName,
    /// The value.
    pub value: OutlineNode,
}

/// What a key says.
#[derive(Clone, PartialEq, Debug)]
pub enum KeyName {
    /// A scalar.
    Key(Key),
    /// `<<`.
    Merge,
    /// What no mapping can have as a key.
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

    /// Whether an alias refers to the anchor of a node.
    pub fn is_used(&self, node: &OutlineNode) -> bool {
        node.anchor.as_ref().is_some_and(|anchor| self.uses.contains_key(anchor))
    }
}

/// A collection that is not closed yet: itself, empty, and its parts so far.
struct OpenNode {
    node: OutlineNode,
    parts: Vec<(OutlineNode, KeyName)>,
    mapping: bool,
    flow: bool,
}

struct OutlineReader<'a> {
    text: &'a [u8],
    open: Vec<OpenNode>,
    /// What the scalars with an anchor say as keys.
    names: FxHashMap<String, KeyName>,
    outline: Outline,
}

impl OutlineReader<'_> {
    fn take(&mut self, event: Event, span: Span) {
        let (start, end) = (span.start as usize, span.end as usize);
        match event {
            Event::Alias { anchor } => {
                let name = self.names.get(&anchor).cloned().unwrap_or(KeyName::Other);
                *self.outline.uses.entry(anchor).or_default() += 1;
                let node = OutlineNode { start, content: start, end, anchor: None, form: NodeForm::Alias };
                self.attach(node, name);
            }
            Event::Scalar { anchor, tag, value, plain } => {
                let name = name(tag.as_deref(), &value, plain);
                if let Some(anchor) = &anchor {
                    self.names.insert(anchor.clone(), name.clone());
                }
                let node = self.scalar(start, end, anchor);
                self.attach(node, name);
            }
            Event::SequenceStart { anchor, .. } => self.begin(start, end, anchor, false),
            Event::MappingStart { anchor, .. } => self.begin(start, end, anchor, true),
            Event::SequenceEnd | Event::MappingEnd => self.finish(end),
            Event::DocumentStart | Event::DocumentEnd | Event::StreamEnd => {}
        }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    fn scalar(&self, start: usize, end: usize, anchor: Option<String>) -> OutlineNode {
        let mut content = start;
        // Anchor and tag, each with what separates it from what follows.
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

    /// Behind the last line of a block scalar. Blank lines after it belong to it with `+` alone.
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
        // In brackets everything is flow; only a pair without braces has none.
        let flow = inside || opens;
        let content = match self.byte(end) {
            _ if opens => end - 1,
            // A sequence as far out as the key before it begins with the event of its first `-`.
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

/// What a scalar says as a key.
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
    /// What reclass makes of the key: the text that Python's `str()` writes (M7).
    pub fn text(&self) -> Option<String> {
        match self {
            KeyName::Key(Key(Value::Str(text))) => Some(text.to_string()),
            KeyName::Key(key) => Some(crate::base::pystr::str(&key.0)),
            KeyName::Merge | KeyName::Other => None,
        }
    }
}
