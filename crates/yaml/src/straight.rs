//! The straight path: block mappings and block sequences of plain scalars of one line, as most of an inventory is.
//!
//! It begins between two tokens and makes nodes without tokens and events, up to the first piece of the text that is
//! anything else. It leaves the scanner and the parser as if they had read what it read, so they go on from there.
//! The tests compare the documents of both paths.

use super::compose::{Composer, GraphContent};
use super::events::Mark;
use super::parse::{Parser, State};
use super::resolve::Tag;
use super::scan::{SIMPLE_KEY_LENGTH, Scanner, Token, TokenData, is_block_word};
use reclass_base::error::Result;

/// A piece of the text that the straight path can read.
enum Piece {
    /// `- `.
    Dash,
    /// The length of a key before its `:`.
    Key(usize),
    /// The length of a scalar, and the place of the next piece.
    Scalar(usize, Mark),
    /// The end of the text.
    End,
}

impl Mark {
    /// The place after so many ASCII characters of the line.
    fn after(self, length: usize) -> Mark {
        let characters = u32::try_from(length).unwrap_or(u32::MAX);
        Mark {
            offset: self.offset + length,
            characters: self.characters + characters,
            line: self.line,
            column: self.column + characters,
        }
    }
}

impl Parser<'_> {
    /// Whether the straight path can go on here: an entry or the end of a block collection comes next, or the node
    /// of a `:`, and no other token is known. Then there is no possible key: that of a consumed token is decided.
    pub(super) fn is_straight(&self) -> bool {
        match self.state {
            State::BlockMappingKey | State::BlockSequenceEntry | State::IndentlessSequenceEntry => {
                self.scanner.tokens.is_empty()
            }
            State::BlockMappingValue => {
                self.scanner.tokens.len() == 1 && self.scanner.tokens[0].data == TokenData::Value
            }
            _ => false,
        }
    }

    /// Takes the `:` whose node comes next.
    fn take_indicator(&mut self) -> Option<Mark> {
        let token = self.scanner.tokens.front().map(|token| token.start)?;
        self.state = State::BlockMappingKey;
        self.scanner.skip_token();
        Some(token)
    }

    /// Queues the indicator of a node that the general path must read.
    fn queue_indicator(&mut self, start: Mark) {
        let data = if self.state == State::BlockMappingKey {
            self.state = State::BlockMappingValue;
            TokenData::Value
        } else {
            TokenData::BlockEntry
        };
        self.scanner.tokens.push_back(Token { data, start, end: start.after(1) });
    }
}

impl Scanner<'_> {
    /// The piece here; `None` if it is not certain that it is one of the straight path.
    #[inline]
    fn piece(&self) -> Option<Piece> {
        let rest = self.text.as_bytes().get(self.mark.offset..)?;
        let byte = |offset: usize| rest.get(offset).copied().unwrap_or(0);
        if byte(0) == b'-' && matches!(byte(1), b' ' | b'\n') {
            return Some(Piece::Dash);
        }
        if rest.is_empty() && self.mark.column == 0 {
            return Some(Piece::End);
        }
        if !byte(0).is_ascii_alphanumeric()
            && (!self.starts_plain(byte(0)) || self.document_indicator().is_some())
        {
            return None;
        }
        let mut length = 0;
        loop {
            length += rest[length..].iter().position(|byte| !is_block_word(*byte))?;
            match (byte(length), byte(length + 1)) {
                (b':', b' ' | b'\n') => {
                    return (length <= SIMPLE_KEY_LENGTH as usize).then_some(Piece::Key(length));
                }
                (b':' | b' ', next) if is_block_word(next) && next != b'#' => length += 1,
                (b'\n', _) => break,
                _ => return None,
            }
        }
        let mut next = length;
        let mut after = self.mark;
        while byte(next) == b'\n' {
            let line = next + 1;
            next = line + rest[line..].iter().position(|byte| *byte != b' ').unwrap_or(rest.len() - line);
            after = Mark { line: after.line + 1, column: 0, ..self.mark.after(line) }.after(next - line);
        }
        // A deeper line belongs to the scalar.
        let is_over = match byte(next) {
            b'#' => true,
            b'\t' | b'\r' | 0x80.. => false,
            _ => i64::from(after.column) <= self.indent,
        };
        is_over.then_some(Piece::Scalar(length, after))
    }
}

impl Composer<'_> {
    /// Reads all pieces of the straight path that follow.
    pub(super) fn straight(&mut self) -> Result<()> {
        // The place of the `:` or `-` whose node comes next.
        let mut indicator = self.events.parser.take_indicator();
        loop {
            let scanner = &mut self.events.parser.scanner;
            scanner.scan_to_next_token();
            let Some(piece) = scanner.piece() else { break };
            let (mark, indent) = (scanner.mark, scanner.indent);
            let column = if matches!(piece, Piece::End) { -1 } else { i64::from(mark.column) };
            if let Piece::Scalar(length, after) = piece {
                if indicator.is_none() || column <= indent {
                    break;
                }
                (scanner.mark, scanner.simple_key_allowed) = (after, true);
                indicator = None;
                self.plain(mark, length)?;
                continue;
            }
            let is_dash = matches!(piece, Piece::Dash);
            let may_begin = scanner.simple_key_allowed;
            let state = self.events.parser.state;
            // A key at the indent of a sequence is an error, which the parser reports.
            if !may_begin || state == State::BlockSequenceEntry && column == indent && !is_dash {
                break;
            }
            if let Some(start) = indicator.take() {
                // The items of a key may have its indent.
                let in_mapping = state == State::BlockMappingKey;
                if column > indent || is_dash && column == indent && in_mapping {
                    self.begin(is_dash)?;
                } else {
                    self.plain(start.after(1), 0)?;
                }
            }
            if !self.end_to(column, is_dash)? {
                break;
            }
            let start = match piece {
                Piece::Key(length) => {
                    self.plain(mark, length)?;
                    mark.after(length)
                }
                _ => mark,
            };
            indicator = Some(start);
            let scanner = &mut self.events.parser.scanner;
            (scanner.mark, scanner.simple_key_allowed) = (start.after(1), is_dash);
        }
        if let Some(start) = indicator {
            self.events.parser.queue_indicator(start);
        }
        Ok(())
    }

    /// A plain scalar, which may be empty.
    #[inline]
    fn plain(&mut self, start: Mark, length: usize) -> Result<()> {
        let text = &self.events.parser.scanner.text[start.offset..][..length];
        let span = self.events.span(start, start.after(length));
        self.scalar(None, Ok(self.plain_tag(text)), text.into(), span)
    }

    /// Begins a collection here.
    fn begin(&mut self, is_sequence: bool) -> Result<()> {
        let parser = &mut self.events.parser;
        let mark = parser.scanner.mark;
        let is_indentless = i64::from(mark.column) == parser.scanner.indent;
        parser.states.push(parser.state);
        if is_indentless {
            parser.state = State::IndentlessSequenceEntry;
        } else {
            parser.state = if is_sequence { State::BlockSequenceEntry } else { State::BlockMappingKey };
            parser.marks.push(mark);
            parser.scanner.indents.push(parser.scanner.indent);
            parser.scanner.indent = i64::from(mark.column);
        }
        let span = self.events.span(mark, mark.after(usize::from(is_indentless)));
        if is_sequence {
            self.collection(None, Ok(Tag::Seq), GraphContent::Sequence(0..0), span)
        } else {
            self.collection(None, Ok(Tag::Map), GraphContent::Mapping(0..0), span)
        }
    }

    /// Ends the collections that end before an entry here; whether the entry is one of the innermost that is left.
    fn end_to(&mut self, column: i64, is_dash: bool) -> Result<bool> {
        loop {
            let parser = &mut self.events.parser;
            let is_indentless = parser.state == State::IndentlessSequenceEntry;
            let is_sequence = is_indentless || parser.state == State::BlockSequenceEntry;
            let indent = parser.scanner.indent;
            if !is_sequence && parser.state != State::BlockMappingKey || column > indent {
                return Ok(false);
            }
            if column == indent && (is_sequence == is_dash || !is_indentless) {
                return Ok(is_sequence == is_dash);
            }
            if !is_indentless {
                parser.marks.pop();
                parser.scanner.indent = parser.scanner.indents.pop().unwrap_or(-1);
            }
            parser.pop_state();
            let mark = parser.scanner.mark;
            let span = self.events.span(mark, mark);
            self.close(span)?;
        }
    }
}
