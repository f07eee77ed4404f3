//! Block turns the bytes of an ordinary file into a document, in one pass.
//!
//! Ordinary are block mappings and sequences of scalars that stand on one line, literal and
//! folded scalars, flow collections on one line, comments and blank lines. At anything else,
//! and at every error, the reader gives up, and the scanner, the parser and the constructor
//! read the file. What it does not give up is what they would make of it, spans, numbers and
//! warnings included (`tests/yaml_block.rs`): so each rule here is narrower than theirs.
//!
//! An indent here is a column plus one, so that zero is outside of everything.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::hash_map::Entry as Place;

use rustc_hash::FxHashMap;

use super::compose::{Data, Document, DocumentLimits, Duplicate, Entry, Node};
use super::resolve::{self, Tag};
use crate::base::error::{Fault, Kind};
use crate::base::pystr;
use crate::base::source::Span;
use crate::base::value::{Key, Text, Value};

/// How deep collections may be nested, so that the recursion needs no guard.
const DEPTH: usize = 64;
/// From this many entries on, keys are looked for by their hash.
const FEW: usize = 16;
/// Longer keys need a `?`.
const SIMPLE_KEY_LENGTH: usize = 1024;

/// The document of an ordinary file.
pub(super) fn read(bytes: &[u8], intern: &dyn Fn(&str) -> Text, limits: DocumentLimits) -> Option<Document> {
    // No more nodes than bytes, so the limits need no thought.
    if bytes.len() >= limits.nodes || limits.depth <= DEPTH {
        return None;
    }
    let refused = |byte: u8| byte < b' ' && byte != b'\n' || byte == 0x7f;
    if bytes.iter().fold(false, |found, byte| found | refused(*byte)) {
        return None;
    }
    let ascii = bytes.is_ascii();
    if !ascii && has_special(bytes) {
        return None;
    }
    let mut reader = Reader {
        text: std::str::from_utf8(bytes).ok()?,
        ascii,
        at: 0,
        line: 0,
        line_start: 0,
        indent: 0,
        depth: 0,
        spans: Vec::with_capacity(bytes.len() / 10 + 4),
        entries: Vec::with_capacity(32),
        items: Vec::with_capacity(32),
        warnings: Vec::new(),
        intern,
    };
    reader.seek();
    if reader.indent == 0 {
        return Some(Document { root: None, spans: [].into(), warnings: Vec::new() });
    }
    let root = reader.block(reader.indent)?;
    (reader.indent == 0).then(|| Document {
        root: Some(root),
        spans: reader.spans.into(),
        warnings: reader.warnings,
    })
}

/// Whether there may be line breaks other than `\n`, byte order marks, or what no file may hold.
fn has_special(bytes: &[u8]) -> bool {
    bytes.windows(3).any(|window| match window {
        [0xc2, next, _] | [_, 0xc2, next] => *next < 0xa0,
        [0xe2, 0x80, last] => matches!(last, 0xa8 | 0xa9),
        [first, ..] => *first == 0xef,
        [] => false,
    }) || bytes.len() < 3
}

/// Ends a plain scalar of a flow collection.
const FLOW_END: u8 = 1;
/// Ends any plain scalar, perhaps.
const END: u8 = 2;

/// What a byte does in a plain scalar.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    classes[b'\n' as usize] = END;
    classes[b':' as usize] = END;
    classes[b'#' as usize] = END;
    classes[b',' as usize] = FLOW_END;
    classes[b'[' as usize] = FLOW_END;
    classes[b']' as usize] = FLOW_END;
    classes[b'{' as usize] = FLOW_END;
    classes[b'}' as usize] = FLOW_END;
    classes
};

/// A scalar that was gone over.
struct Scalar<'a> {
    start: usize,
    end: usize,
    text: Cow<'a, str>,
    plain: bool,
}

struct Reader<'a> {
    text: &'a str,
    /// Whether columns are bytes.
    ascii: bool,
    at: usize,
    line: u32,
    line_start: usize,
    /// The indent of the next token, where it is the first of its line; zero at the end.
    indent: usize,
    depth: usize,
    spans: Vec<Span>,
    /// The entries of the open mappings.
    entries: Vec<Entry>,
    /// The items of the open sequences.
    items: Vec<Node>,
    warnings: Vec<Duplicate>,
    intern: &'a dyn Fn(&str) -> Text,
}

/// The place of a key among many entries; remembers the place of a new one.
fn find(entries: &[Entry], key: &Key, places: &mut FxHashMap<Key, usize>) -> Option<usize> {
    if places.is_empty() {
        places.extend(entries.iter().enumerate().map(|(place, other)| (other.key.clone(), place)));
    }
    match places.entry(key.clone()) {
        Place::Occupied(place) => Some(*place.get()),
        Place::Vacant(place) => {
            place.insert(entries.len());
            None
        }
    }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl<'a> Reader<'a> {
    /// The byte at a place; a line break at the end, where a line ends as well.
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(b'\n')
    }

    fn is_blank(&self, at: usize) -> bool {
        matches!(self.byte(at), b' ' | b'\n')
    }

    fn skip_spaces(&mut self) {
        while self.byte(self.at) == b' ' {
            self.at += 1;
        }
    }

    /// Goes to the beginning of the next line, or to the end.
    fn skip_line(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(length) => {
                self.at += length + 1;
                self.line += 1;
                self.line_start = self.at;
            }
            None => self.at = self.text.len(),
        }
    }

    /// Ends a line behind a token: nothing but blanks and a comment may follow.
    fn end_line(&mut self) -> Option<()> {
        let end = self.at;
        self.skip_spaces();
        match self.byte(self.at) {
            b'\n' => {}
            b'#' if self.at > end => {}
            _ => return None,
        }
        self.skip_line();
        Some(())
    }

    /// Goes from the beginning of a line to the next token.
    fn seek(&mut self) {
        loop {
            self.skip_spaces();
            match self.byte(self.at) {
                b'\n' if self.at >= self.text.len() => {
                    self.indent = 0;
                    return;
                }
                b'\n' | b'#' => self.skip_line(),
                _ => {
                    self.indent = self.at - self.line_start + 1;
                    return;
                }
            }
        }
    }

    /// Gives the next number to a node on this line.
    #[inline]
    fn mark(&mut self, start: usize, end: usize) -> u32 {
        let column = if self.ascii {
            start - self.line_start
        } else {
            self.text.get(self.line_start..start).map_or(0, |before| before.chars().count())
        };
        let index = narrow(self.spans.len());
        self.spans.push(Span {
            start: narrow(start),
            end: narrow(end),
            line: self.line,
            column: narrow(column),
        });
        index
    }

    fn descend(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= DEPTH).then_some(())
    }

    /// Closes a collection here.
    fn close(&mut self, index: u32, data: Data) -> Node {
        self.depth -= 1;
        if let Some(span) = self.spans.get_mut(index as usize) {
            span.end = narrow(self.at);
        }
        Node { index, data }
    }

    /// The node at the next token, which has this indent.
    fn block(&mut self, indent: usize) -> Option<Node> {
        match self.byte(self.at) {
            b'-' if self.is_blank(self.at + 1) => self.sequence(indent, false),
            b'[' | b'{' => self.flow_line(),
            _ => {
                let scalar = self.scalar(false)?;
                if self.is_key() {
                    return self.mapping(scalar, indent);
                }
                self.scalar_line(&scalar)
            }
        }
    }

    /// A flow collection and the rest of its line.
    fn flow_line(&mut self) -> Option<Node> {
        let node = self.flow()?;
        self.end_line()?;
        self.seek();
        Some(node)
    }

    /// The node of a scalar, and the rest of its line.
    fn scalar_line(&mut self, scalar: &Scalar<'_>) -> Option<Node> {
        let index = self.mark(scalar.start, scalar.end);
        let data = Data::Value(self.value(scalar)?);
        self.end_line()?;
        self.seek();
        Some(Node { index, data })
    }

    /// Whether a `:` makes a key of the scalar before it; goes there.
    fn is_key(&mut self) -> bool {
        let mut at = self.at;
        while self.byte(at) == b' ' {
            at += 1;
        }
        let is_key = self.byte(at) == b':' && self.is_blank(at + 1);
        if is_key {
            self.at = at;
        }
        is_key
    }

    /// A block mapping, from the `:` behind its first key on.
    fn mapping(&mut self, first: Scalar<'a>, indent: usize) -> Option<Node> {
        self.descend()?;
        let index = self.mark(first.start, first.start);
        let base = self.entries.len();
        let mut places = FxHashMap::default();
        let mut scalar = first;
        loop {
            let (key, key_index) = self.key(&scalar)?;
            let value = self.mapping_value(indent)?;
            self.entry(base, &mut places, Entry { key, key_index, value });
            match self.indent.cmp(&indent) {
                Ordering::Less => break,
                Ordering::Greater => return None,
                Ordering::Equal => {}
            }
            if self.byte(self.at) == b'-' && self.is_blank(self.at + 1) {
                return None;
            }
            scalar = self.scalar(false)?;
            if !self.is_key() {
                return None;
            }
        }
        let entries = self.entries.drain(base..).collect();
        Some(self.close(index, Data::Map(entries)))
    }

    /// The key before the `:`, which it goes over.
    fn key(&mut self, scalar: &Scalar<'_>) -> Option<(Key, u32)> {
        if self.at - scalar.start > SIMPLE_KEY_LENGTH {
            return None;
        }
        self.at += 1;
        let index = self.mark(scalar.start, scalar.end);
        Some((Key(self.value(scalar)?), index))
    }

    /// Puts an entry into the mapping whose entries begin at `base`: as in Python's dict a key
    /// stays where it was first, its last value counts.
    fn entry(&mut self, base: usize, places: &mut FxHashMap<Key, usize>, entry: Entry) {
        let own = self.entries.get_mut(base..).unwrap_or_default();
        let place = if own.len() < FEW {
            own.iter().position(|other| other.key == entry.key)
        } else {
            find(own, &entry.key, places)
        };
        let Some(before) = place.and_then(|place| own.get_mut(place)) else {
            self.entries.push(entry);
            return;
        };
        let kind = Kind::DuplicateKey { key: pystr::str(&entry.key.0), types: None, written: None };
        self.warnings.push((entry.key_index, before.key_index, Fault::new(kind)));
        before.key_index = entry.key_index;
        before.value = entry.value;
    }

    /// What follows the `:` of a mapping with this indent.
    fn mapping_value(&mut self, indent: usize) -> Option<Node> {
        let empty = (self.at, self.line, self.line_start);
        self.skip_spaces();
        match self.byte(self.at) {
            b'\n' | b'#' => {
                self.skip_line();
                self.seek();
                match self.indent.cmp(&indent) {
                    Ordering::Greater => self.block(self.indent),
                    Ordering::Equal if self.byte(self.at) == b'-' && self.is_blank(self.at + 1) => {
                        self.sequence(indent, true)
                    }
                    _ => Some(self.empty(empty)),
                }
            }
            b'|' | b'>' => self.block_scalar(indent),
            b'[' | b'{' => self.flow_line(),
            _ => {
                let scalar = self.scalar(false)?;
                self.scalar_line(&scalar)
            }
        }
    }

    /// A node of nothing, behind the `:` or `-` that announced it.
    fn empty(&mut self, (at, line, line_start): (usize, u32, usize)) -> Node {
        let here = (self.line, self.line_start);
        (self.line, self.line_start) = (line, line_start);
        let index = self.mark(at, at);
        (self.line, self.line_start) = here;
        Node { index, data: Data::Value(Value::Null) }
    }

    /// A block sequence. In a mapping its `-` may stand below the key.
    fn sequence(&mut self, indent: usize, in_mapping: bool) -> Option<Node> {
        self.descend()?;
        let index = self.mark(self.at, self.at);
        let base = self.items.len();
        loop {
            self.at += 1;
            let empty = (self.at, self.line, self.line_start);
            self.skip_spaces();
            let item = match self.byte(self.at) {
                b'\n' | b'#' => {
                    self.skip_line();
                    self.seek();
                    if self.indent > indent { self.block(self.indent)? } else { self.empty(empty) }
                }
                b'|' | b'>' => self.block_scalar(indent)?,
                _ => self.block(self.at - self.line_start + 1)?,
            };
            self.items.push(item);
            match self.indent.cmp(&indent) {
                Ordering::Less => break,
                Ordering::Equal if self.byte(self.at) == b'-' && self.is_blank(self.at + 1) => {}
                Ordering::Equal if in_mapping => break,
                Ordering::Equal | Ordering::Greater => return None,
            }
        }
        let items = self.items.drain(base..).collect();
        Some(self.close(index, Data::List(items)))
    }

    /// The value of a scalar.
    #[inline]
    fn value(&self, scalar: &Scalar<'_>) -> Option<Value> {
        let tag = if scalar.plain { resolve::implicit(&scalar.text) } else { Tag::Str };
        match tag {
            Tag::Str => Some(Value::Str((self.intern)(&scalar.text))),
            // Errors, and what has a meaning of its own in a mapping.
            _ => resolve::construct(tag, &scalar.text).ok(),
        }
    }

    /// Goes over a scalar that ends on its line.
    fn scalar(&mut self, in_flow: bool) -> Option<Scalar<'a>> {
        let start = self.at;
        match self.byte(start) {
            b'\'' => return self.single_quoted(),
            b'"' => return self.double_quoted(),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'%' | b'@'
            | b'`' | b'\n' | b' ' => return None,
            b'-' | b'.' if start == self.line_start && self.byte(start + 1) == self.byte(start) => {
                // Perhaps `---` or `...`.
                return None;
            }
            b'-' if self.is_blank(start + 1) => return None,
            b'?' | b':' if in_flow || self.is_blank(start + 1) => return None,
            _ => {}
        }
        let least = if in_flow { FLOW_END } else { END };
        let mut at = start;
        loop {
            let rest = self.text.as_bytes().get(at..).unwrap_or_default();
            let ends = |byte: &u8| CLASSES[usize::from(*byte)] >= least;
            at += rest.iter().position(ends).unwrap_or(rest.len());
            match self.byte(at) {
                b'#' if self.byte(at - 1) != b' ' => {}
                b':' if self.is_blank(at + 1) => break,
                b':' if in_flow && matches!(self.byte(at + 1), b',' | b'?' | b'[' | b']' | b'{' | b'}') => {
                    return None;
                }
                b':' => {}
                _ => break,
            }
            at += 1;
        }
        let text = self.text.get(start..at)?.trim_end_matches(' ');
        self.at = start + text.len();
        Some(Scalar { start, end: self.at, text: text.into(), plain: true })
    }

    fn single_quoted(&mut self) -> Option<Scalar<'a>> {
        let start = self.at;
        let mut at = start + 1;
        let mut doubled = false;
        loop {
            match self.byte(at) {
                b'\n' => return None,
                b'\'' if self.byte(at + 1) == b'\'' => {
                    doubled = true;
                    at += 2;
                }
                b'\'' => break,
                _ => at += 1,
            }
        }
        let text = self.text.get(start + 1..at)?;
        let text = if doubled { text.replace("''", "'").into() } else { text.into() };
        self.at = at + 1;
        Some(Scalar { start, end: self.at, text, plain: false })
    }

    fn double_quoted(&mut self) -> Option<Scalar<'a>> {
        let start = self.at;
        let mut at = start + 1;
        // The text up to `copied`, once there was an escape.
        let (mut text, mut copied) = (String::new(), at);
        loop {
            match self.byte(at) {
                b'\n' => return None,
                b'"' => break,
                b'\\' => {
                    text.push_str(self.text.get(copied..at)?);
                    text.push(match self.byte(at + 1) {
                        b'n' => '\n',
                        b't' => '\t',
                        byte @ (b'"' | b'\\' | b'/') => char::from(byte),
                        _ => return None,
                    });
                    at += 2;
                    copied = at;
                }
                _ => at += 1,
            }
        }
        let rest = self.text.get(copied..at)?;
        let text = if copied == start + 1 { rest.into() } else { (text + rest).into() };
        self.at = at + 1;
        Some(Scalar { start, end: self.at, text, plain: false })
    }

    /// A flow collection on one line.
    fn flow(&mut self) -> Option<Node> {
        self.descend()?;
        let index = self.mark(self.at, self.at);
        let mapping = self.byte(self.at) == b'{';
        let end = if mapping { b'}' } else { b']' };
        let (items, entries) = (self.items.len(), self.entries.len());
        let mut places = FxHashMap::default();
        self.at += 1;
        self.skip_spaces();
        while self.byte(self.at) != end {
            if mapping {
                let scalar = self.scalar(true)?;
                self.skip_spaces();
                if self.byte(self.at) != b':' || scalar.plain && self.byte(self.at + 1) != b' ' {
                    return None;
                }
                let (key, key_index) = self.key(&scalar)?;
                self.skip_spaces();
                let value = self.flow_node()?;
                self.entry(entries, &mut places, Entry { key, key_index, value });
            } else {
                let item = self.flow_node()?;
                self.items.push(item);
            }
            self.skip_spaces();
            match self.byte(self.at) {
                b',' => self.at += 1,
                byte if byte == end => break,
                _ => return None,
            }
            self.skip_spaces();
        }
        self.at += 1;
        let data = if mapping {
            Data::Map(self.entries.drain(entries..).collect())
        } else {
            Data::List(self.items.drain(items..).collect())
        };
        Some(self.close(index, data))
    }

    fn flow_node(&mut self) -> Option<Node> {
        if matches!(self.byte(self.at), b'[' | b'{') {
            return self.flow();
        }
        let scalar = self.scalar(true)?;
        let index = self.mark(scalar.start, scalar.end);
        Some(Node { index, data: Data::Value(self.value(&scalar)?) })
    }

    /// A literal or folded scalar in a collection with this indent.
    fn block_scalar(&mut self, parent: usize) -> Option<Node> {
        let index = self.mark(self.at, self.at);
        let literal = self.byte(self.at) == b'|';
        self.at += 1;
        let keep = match self.byte(self.at) {
            b'+' => Some(true),
            b'-' => Some(false),
            _ => None,
        };
        self.at += usize::from(keep.is_some());
        self.end_line()?;
        if self.at >= self.text.len() {
            return None;
        }
        let mut text = String::new();
        let (mut indent, mut end) = (0, self.at);
        let (mut line_break, mut blank) = ("", false);
        let mut breaks = self.block_breaks(&mut indent, parent, &mut end);
        while self.at - self.line_start == indent && self.at < self.text.len() {
            let now_blank = self.byte(self.at) == b' ';
            if literal || line_break.is_empty() || blank || now_blank {
                text.push_str(line_break);
            } else if breaks == 0 {
                text.push(' ');
            }
            text.extend(std::iter::repeat_n('\n', breaks));
            blank = now_blank;
            let start = self.at;
            self.skip_line();
            let line = self.text.get(start..self.at)?;
            let content = line.strip_suffix('\n').unwrap_or(line);
            text.push_str(content);
            line_break = &line[content.len()..];
            breaks = self.block_breaks(&mut indent, parent, &mut end);
        }
        if keep != Some(false) {
            text.push_str(line_break);
        }
        if keep == Some(true) {
            text.extend(std::iter::repeat_n('\n', breaks));
        }
        if let Some(span) = self.spans.get_mut(index as usize) {
            span.end = narrow(end);
        }
        self.seek();
        Some(Node { index, data: Data::Value(Value::Str((self.intern)(&text))) })
    }

    /// Goes over empty lines and the indent of the next; finds out the indent if it is zero.
    fn block_breaks(&mut self, indent: &mut usize, parent: usize, end: &mut usize) -> usize {
        let (mut breaks, mut deepest) = (0, 0);
        loop {
            *end = self.at;
            if self.at > self.line_start {
                // The text ended within the line before.
                return breaks;
            }
            while (*indent == 0 || self.at - self.line_start < *indent) && self.byte(self.at) == b' ' {
                self.at += 1;
            }
            deepest = deepest.max(self.at - self.line_start);
            if self.at >= self.text.len() || self.byte(self.at) != b'\n' {
                break;
            }
            breaks += 1;
            self.skip_line();
        }
        if *indent == 0 {
            *indent = deepest.max(parent);
        }
        breaks
    }
}
