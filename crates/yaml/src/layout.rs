//! The layout of emitted YAML: scalars and indicators to lines.
//!
//! The writing half of `emitter.c` (libyaml 0.2.5) with the options of `yaml.dump`: indent 2, width 80,
//! ASCII only, one document. The names are those of the C functions.

use std::fmt::Write;

use reclass_base::pieces::Pieces;

const BEST_INDENT: usize = 2;
const BEST_WIDTH: usize = 80;
/// Maximum length of a key without `?`.
const SIMPLE_KEY_LENGTH: usize = 128;

/// The position of a node in its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NodeContext {
    Root,
    Item,
    /// A key before a `:` on the same line.
    SimpleKey,
    /// A key after a `?`, or a value.
    Entry,
}

#[derive(Clone, Copy)]
pub(super) struct ScalarText<'a> {
    pub(super) text: &'a str,
    pub(super) analysis: ScalarAnalysis,
    /// `timestamp` for `!!timestamp`.
    pub(super) tag: &'a str,
    /// Without quotes it is read with its type.
    pub(super) plain_implicit: bool,
    /// In quotes it is read with its type.
    pub(super) quoted_implicit: bool,
    /// Write it as a literal block if possible.
    pub(super) literal: bool,
}

impl ScalarText<'_> {
    fn needs_tag(&self) -> bool {
        !self.plain_implicit && !self.quoted_implicit
    }
    /// True if it can be a key before a `:` on the same line.
    pub(super) fn is_simple_key(&self, anchor: Option<usize>) -> bool {
        let tag = if self.needs_tag() { 2 + self.tag.len() } else { 0 };
        let anchor = anchor.map_or(0, |number| anchor_name(number).len());
        anchor + tag + self.text.len() <= SIMPLE_KEY_LENGTH && !self.analysis.multiline
    }
}

fn anchor_name(number: usize) -> String {
    format!("id{number:03}")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScalarStyle {
    Plain,
    Single,
    Double,
    Literal,
}

/// The text so far and the state of the emitter.
pub(super) struct Layout<'s> {
    out: Pieces<'s>,
    column: usize,
    /// `None` outside of collections.
    indent: Option<usize>,
    pub(super) flow_level: usize,
    whitespace: bool,
    indention: bool,
}

impl<'s> Layout<'s> {
    pub(super) fn new(sink: &'s mut dyn FnMut(&str)) -> Layout<'s> {
        Layout {
            out: Pieces::new(sink),
            column: 0,
            indent: None,
            flow_level: 0,
            whitespace: true,
            indention: true,
        }
    }

    /// Ends the document.
    pub(super) fn finish(mut self) {
        self.write_indent();
        self.out.pass_on();
    }

    fn put(&mut self, character: char) {
        self.out.push(character);
        self.column += 1;
    }

    fn put_ascii(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.len();
    }

    fn put_break(&mut self) {
        self.out.push('\n');
        self.out.pass_on_if_full();
        self.column = 0;
    }

    fn write_text(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.len();
        self.whitespace = false;
        self.indention = false;
    }

    pub(super) fn write_indicator(
        &mut self,
        text: &str,
        need_whitespace: bool,
        whitespace: bool,
        indention: bool,
    ) {
        if need_whitespace && !self.whitespace {
            self.put(' ');
        }
        let indention = self.indention && indention;
        self.write_text(text);
        self.whitespace = whitespace;
        self.indention = indention;
    }

    pub(super) fn write_indent(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || self.column == indent && !self.whitespace {
            self.put_break();
        }
        let missing = indent.saturating_sub(self.column);
        self.out.push_spaces(missing);
        self.column += missing;
        self.whitespace = true;
        self.indention = true;
    }

    /// Starts a new line in a flow collection if the line is full.
    pub(super) fn wrap_flow(&mut self) {
        if self.column > BEST_WIDTH {
            self.write_indent();
        }
    }

    /// Increases the indent; returns the previous one for `restore_indent`.
    pub(super) fn increase_indent(&mut self, flow: bool, indentless: bool) -> Option<usize> {
        let before = self.indent;
        self.indent = Some(match before {
            None if flow => BEST_INDENT,
            None => 0,
            Some(indent) if indentless => indent,
            Some(indent) => indent + BEST_INDENT,
        });
        before
    }

    pub(super) fn restore_indent(&mut self, before: Option<usize>) {
        self.indent = before;
    }

    /// True if a block sequence has the indent of its key.
    pub(super) fn is_indentless(&self, context: NodeContext) -> bool {
        matches!(context, NodeContext::SimpleKey | NodeContext::Entry) && !self.indention
    }

    pub(super) fn write_anchor(&mut self, number: usize) {
        self.write_indicator("&", true, false, false);
        self.write_text(&anchor_name(number));
    }

    pub(super) fn write_alias(&mut self, number: usize, context: NodeContext) {
        self.write_indicator("*", true, false, false);
        self.write_text(&anchor_name(number));
        if context == NodeContext::SimpleKey {
            self.put(' ');
        }
    }

    pub(super) fn write_tag(&mut self, name: &str) {
        if !self.whitespace {
            self.put(' ');
        }
        self.write_text("!!");
        self.write_text(name);
    }

    pub(super) fn write_scalar(
        &mut self,
        scalar: ScalarText<'_>,
        anchor: Option<usize>,
        context: NodeContext,
    ) {
        let style = self.select_style(scalar, context);
        if let Some(number) = anchor {
            self.write_anchor(number);
        }
        if scalar.needs_tag() {
            self.write_tag(scalar.tag);
        } else if !scalar.quoted_implicit && style != ScalarStyle::Plain {
            // In quotes it would be a string; `!` prevents that.
            if !self.whitespace {
                self.put(' ');
            }
            self.write_text("!");
        }
        let before = self.increase_indent(true, false);
        let allow_breaks = context != NodeContext::SimpleKey;
        match style {
            ScalarStyle::Plain => self.write_plain(scalar.text, allow_breaks),
            ScalarStyle::Single => self.write_single_quoted(scalar.text, allow_breaks),
            ScalarStyle::Double => self.write_double_quoted(scalar.text, allow_breaks),
            ScalarStyle::Literal => self.write_literal(scalar.text),
        }
        self.restore_indent(before);
    }

    fn select_style(&self, scalar: ScalarText<'_>, context: NodeContext) -> ScalarStyle {
        let analysis = scalar.analysis;
        let simple_key = context == NodeContext::SimpleKey;
        let in_flow = self.flow_level > 0;
        if simple_key && analysis.multiline {
            return ScalarStyle::Double;
        }
        if scalar.literal {
            let block = analysis.block_allowed && !in_flow && !simple_key;
            return if block { ScalarStyle::Literal } else { ScalarStyle::Double };
        }
        let plain_allowed = if in_flow { analysis.flow_plain_allowed } else { analysis.block_plain_allowed };
        let empty = scalar.text.is_empty() && (in_flow || simple_key);
        if plain_allowed && !empty && (scalar.plain_implicit || scalar.needs_tag()) {
            ScalarStyle::Plain
        } else if analysis.single_quoted_allowed {
            ScalarStyle::Single
        } else {
            ScalarStyle::Double
        }
    }

    /// Fast path: true if a text of printable ASCII fits on this line.
    fn fits(&self, text: &str, allow_breaks: bool) -> bool {
        !allow_breaks || self.column + text.len() <= BEST_WIDTH
    }

    fn write_plain(&mut self, text: &str, allow_breaks: bool) {
        if !self.whitespace && (!text.is_empty() || self.flow_level > 0) {
            self.put(' ');
        }
        if self.fits(text, allow_breaks) {
            self.write_text(text);
            return;
        }
        let bytes = text.as_bytes();
        let mut spaces = false;
        for (offset, piece) in pieces(text) {
            let space = piece == " ";
            let wrap = space
                && allow_breaks
                && !spaces
                && self.column > BEST_WIDTH
                && bytes.get(offset + 1) != Some(&b' ');
            if wrap {
                self.write_indent();
            } else {
                self.put_ascii(piece);
            }
            if !space {
                self.indention = false;
            }
            spaces = space;
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn write_single_quoted(&mut self, text: &str, allow_breaks: bool) {
        self.write_indicator("'", true, false, false);
        let bytes = text.as_bytes();
        if self.fits(text, allow_breaks) && !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\'')) {
            self.write_text(text);
            self.write_indicator("'", false, false, false);
            return;
        }
        let (mut spaces, mut breaks) = (false, false);
        for (offset, piece) in pieces(text) {
            match piece {
                " " => {
                    let inside =
                        offset > 0 && offset + 1 < bytes.len() && bytes.get(offset + 1) != Some(&b' ');
                    if allow_breaks && !spaces && self.column > BEST_WIDTH && inside {
                        self.write_indent();
                    } else {
                        self.put(' ');
                    }
                    spaces = true;
                }
                "\n" => {
                    if !breaks {
                        self.put_break();
                    }
                    self.put_break();
                    self.indention = true;
                    breaks = true;
                }
                _ => {
                    if breaks {
                        self.write_indent();
                    }
                    if piece == "'" {
                        self.put('\'');
                    }
                    self.put_ascii(piece);
                    self.indention = false;
                    spaces = false;
                    breaks = false;
                }
            }
        }
        if breaks {
            self.write_indent();
        }
        self.write_indicator("'", false, false, false);
    }

    fn write_double_quoted(&mut self, text: &str, allow_breaks: bool) {
        self.write_indicator("\"", true, false, false);
        let bytes = text.as_bytes();
        let mut spaces = false;
        for (offset, character) in text.char_indices() {
            match character {
                ' ' => {
                    let inside = offset > 0 && offset + 1 < bytes.len();
                    if allow_breaks && !spaces && self.column > BEST_WIDTH && inside {
                        self.write_indent();
                        if bytes.get(offset + 1) == Some(&b' ') {
                            self.put('\\');
                        }
                    } else {
                        self.put(' ');
                    }
                }
                '!' | '#'..='[' | ']'..='~' => self.put(character),
                _ => self.write_escape(character),
            }
            spaces = character == ' ';
        }
        self.write_indicator("\"", false, false, false);
    }

    fn write_escape(&mut self, character: char) {
        let letter = match character {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0b' => 'v',
            '\x0c' => 'f',
            '\r' => 'r',
            '\x1b' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let before = self.out.len();
                // Writing into a string does not fail.
                let _ = match u32::from(character) {
                    code @ ..=0xff => write!(*self.out, "\\x{code:02X}"),
                    code @ ..=0xffff => write!(*self.out, "\\u{code:04X}"),
                    code => write!(*self.out, "\\U{code:08X}"),
                };
                self.column += self.out.len() - before;
                return;
            }
        };
        self.put('\\');
        self.put(letter);
    }

    /// Only for base64, which has no leading space and one final line break.
    fn write_literal(&mut self, text: &str) {
        self.write_indicator("|", true, false, false);
        self.put_break();
        self.whitespace = true;
        for line in text.lines() {
            self.indention = true;
            self.write_indent();
            self.write_text(line);
            self.put_break();
        }
        self.whitespace = true;
        self.indention = true;
    }
}

/// The pieces of an ASCII text and their offsets: each space, line feed and quote alone, what is between them as a
/// whole. Long texts are written many times faster than character by character.
fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let rest = text.get(offset..).filter(|rest| !rest.is_empty())?;
        let word = rest.bytes().take_while(|byte| !matches!(byte, b' ' | b'\n' | b'\'')).count();
        let piece = &rest[..word.max(1)];
        offset += piece.len();
        Some((offset - piece.len(), piece))
    })
}

#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the words of yaml_emitter_analyze_scalar")]
pub(super) struct ScalarAnalysis {
    multiline: bool,
    flow_plain_allowed: bool,
    block_plain_allowed: bool,
    single_quoted_allowed: bool,
    block_allowed: bool,
}

/// Whether a character means nothing to YAML wherever it is in a line.
fn is_harmless(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-' | b'_' | b'.' | b'/' | b'=' | b'@')
}

/// Whether a character needs no escape.
fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n')
}

/// `yaml_emitter_analyze_scalar` without `allow_unicode`: a character that is neither printable ASCII
/// nor a line feed needs double quotes.
pub(super) fn analyze(text: &str) -> ScalarAnalysis {
    let bytes = text.as_bytes();
    let [first, ..] = bytes else {
        return ScalarAnalysis {
            block_plain_allowed: true,
            single_quoted_allowed: true,
            ..ScalarAnalysis::default()
        };
    };
    // Fast path: most words need no further analysis.
    let harmless_ends = (first.is_ascii_alphanumeric() || *first == b'/') && !bytes.ends_with(b" ");
    if harmless_ends && bytes.iter().all(|byte| is_harmless(*byte)) {
        return ScalarAnalysis {
            multiline: false,
            flow_plain_allowed: true,
            block_plain_allowed: true,
            single_quoted_allowed: true,
            block_allowed: true,
        };
    }
    if !bytes.iter().all(|byte| is_printable(*byte)) {
        let multiline = text.contains(super::is_break);
        return ScalarAnalysis { multiline, ..ScalarAnalysis::default() };
    }
    let blank_at = |index: usize| bytes.get(index).is_none_or(|byte| matches!(byte, b' ' | b'\n'));
    let markers = text.starts_with("---") || text.starts_with("...");
    let (mut flow_indicators, mut block_indicators) = (markers, markers);
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"'
            | b'%' | b'@' | b'`'
                if index == 0 =>
            {
                flow_indicators = true;
                block_indicators = true;
            }
            b'?' if index == 0 => {
                flow_indicators = true;
                block_indicators |= blank_at(1);
            }
            b'-' if index == 0 && blank_at(1) => {
                flow_indicators = true;
                block_indicators = true;
            }
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => flow_indicators = true,
            b':' => {
                flow_indicators = true;
                block_indicators |= blank_at(index + 1);
            }
            b'#' if index > 0 && blank_at(index - 1) => {
                flow_indicators = true;
                block_indicators = true;
            }
            _ => {}
        }
    }
    let multiline = text.contains('\n');
    let outer_blank = text.starts_with([' ', '\n']) || text.ends_with([' ', '\n']);
    let break_space = multiline && text.contains("\n ");
    let space_break = multiline && text.contains(" \n");
    let plain = !outer_blank && !break_space && !space_break && !multiline;
    ScalarAnalysis {
        multiline,
        flow_plain_allowed: plain && !flow_indicators,
        block_plain_allowed: plain && !block_indicators,
        single_quoted_allowed: !break_space && !space_break,
        block_allowed: !text.ends_with(' ') && !space_break,
    }
}
