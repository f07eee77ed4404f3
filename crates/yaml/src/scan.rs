//! The scanner: text to tokens, as in libyaml 0.2.5.
//!
//! It has libyaml's states, look-ahead and errors, because they decide which documents `PyYAML`
//! accepts and where it reports errors. The names are those of the C functions. `scan_scalar` and
//! `scan_tag` read scalars, tags and directives.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::events::{Mark, SyntaxProblem};
use super::slip;

#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) data: TokenData<'a>,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

#[derive(Debug, PartialEq)]
pub(super) enum TokenData<'a> {
    StreamEnd,
    VersionDirective {
        major: u32,
        minor: u32,
    },
    /// The handle and its prefix.
    TagDirective(Box<(String, String)>),
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    /// The handle and the suffix. In a box, because each token is moved several times.
    Tag(Box<(String, String)>),
    Scalar {
        value: Cow<'a, str>,
        plain: bool,
    },
}

/// A token that is a key if a `:` follows.
#[derive(Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    /// At the indent of a mapping, a token must be a key.
    required: bool,
    token_number: usize,
    mark: Mark,
}

/// Whether an ASCII character means nothing in a plain scalar outside of brackets.
pub(super) fn is_block_word(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b':'
}

/// Whether an ASCII character means nothing in any scalar.
pub(super) fn is_word(byte: u8) -> bool {
    is_block_word(byte) && !matches!(byte, b',' | b'[' | b']' | b'{' | b'}' | b'\'' | b'"' | b'\\')
}

/// Whether an ASCII character ends no line.
fn is_in_line(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t')
}

/// Maximum length of a key without `?`, in characters.
pub(super) const SIMPLE_KEY_LENGTH: u32 = 1024;

pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) mark: Mark,
    pub(super) flow_level: usize,
    pub(super) simple_key_allowed: bool,
    /// The column of the innermost block collection, -1 outside of all.
    pub(super) indent: i64,
    pub(super) indents: Vec<i64>,
    pub(super) tokens: VecDeque<Token<'a>>,
    /// Number of consumed tokens.
    tokens_parsed: usize,
    token_available: bool,
    stream_ended: bool,
    simple_keys: Vec<SimpleKey>,
}

/// In a box, because the result of nearly each step is no problem, and goes through many hands.
pub(super) type Scanned<T> = Result<T, Box<SyntaxProblem>>;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Scanner<'a> {
        Scanner {
            text,
            mark: Mark::default(),
            flow_level: 0,
            simple_key_allowed: true,
            indent: -1,
            indents: Vec::with_capacity(8),
            tokens: VecDeque::with_capacity(8),
            tokens_parsed: 0,
            token_available: false,
            stream_ended: false,
            simple_keys: vec![SimpleKey::default()],
        }
    }

    /// The next token; `StreamEnd` repeats. The parser looks at each token several times.
    #[inline]
    pub(super) fn peek(&mut self) -> Scanned<&mut Token<'a>> {
        if !self.token_available {
            self.fetch_more_tokens()?;
        }
        Ok(&mut self.tokens[0])
    }

    /// Consumes the token that `peek` returned.
    pub(super) fn skip_token(&mut self) {
        self.token_available = false;
        self.tokens_parsed += 1;
        self.tokens.pop_front();
    }

    /// The byte at an offset from the position; zero at the end, because texts contain no zero.
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.mark.offset + ahead).copied().unwrap_or(0)
    }

    /// The length of the line break at an offset, zero if there is none.
    pub(super) fn break_length(&self, ahead: usize) -> usize {
        match self.byte(ahead) {
            b'\r' if self.byte(ahead + 1) == b'\n' => 2,
            b'\n' | b'\r' => 1,
            0xc2 if self.byte(ahead + 1) == 0x85 => 2,
            0xe2 if self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xa8 | 0xa9) => 3,
            _ => 0,
        }
    }

    pub(super) fn is_end(&self) -> bool {
        self.mark.offset >= self.text.len()
    }
    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t')
    }
    pub(super) fn is_break(&self, ahead: usize) -> bool {
        self.break_length(ahead) > 0
    }
    pub(super) fn is_breakz(&self, ahead: usize) -> bool {
        self.byte(ahead) == 0 || self.is_break(ahead)
    }
    pub(super) fn is_blankz(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_breakz(ahead)
    }
    pub(super) fn is_alpha(&self) -> bool {
        matches!(self.byte(0), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-')
    }

    /// Skips one character.
    pub(super) fn skip(&mut self) {
        self.mark.offset += match self.byte(0) {
            0..=0x7f => 1,
            0x80..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        self.mark.characters += 1;
        self.mark.column += 1;
    }

    /// Skips all ASCII characters of a class.
    pub(super) fn skip_run(&mut self, class: impl Fn(u8) -> bool) {
        let rest = &self.text.as_bytes()[self.mark.offset.min(self.text.len())..];
        let length = rest.iter().take_while(|byte| class(**byte)).count();
        let characters = u32::try_from(length).unwrap_or(u32::MAX);
        self.mark.offset += length;
        self.mark.characters += characters;
        self.mark.column += characters;
    }

    /// Skips the rest of a line.
    pub(super) fn skip_to_break(&mut self) {
        self.skip_run(is_in_line);
        while !self.is_breakz(0) {
            self.skip();
            self.skip_run(is_in_line);
        }
    }

    /// Skips a line break.
    pub(super) fn skip_line(&mut self) {
        let length = self.break_length(0);
        if length == 0 {
            return;
        }
        self.mark.characters += if length == 2 && self.byte(0) == b'\r' { 2 } else { 1 };
        self.mark.offset += length;
        self.mark.column = 0;
        self.mark.line += 1;
    }

    /// Skips a line break, and returns it as a line feed except for U+2028 and U+2029.
    pub(super) fn read_line(&mut self) -> &'a str {
        let line = match self.break_length(0) {
            0 => "",
            3 => &self.text[self.mark.offset..self.mark.offset + 3],
            _ => "\n",
        };
        self.skip_line();
        line
    }

    pub(super) fn fail<T>(
        &self,
        context: &'static str,
        context_mark: Mark,
        problem: &'static str,
    ) -> Scanned<T> {
        Err(Box::new(SyntaxProblem { context, context_mark, problem, mark: self.mark }))
    }

    /// Scans until the next token is certain: a `:` can make a key of it.
    #[inline(never)]
    fn fetch_more_tokens(&mut self) -> Scanned<()> {
        loop {
            if !self.tokens.is_empty() {
                self.stale_simple_keys()?;
                let pending = |key: &SimpleKey| key.possible && key.token_number == self.tokens_parsed;
                if !self.simple_keys.iter().any(pending) {
                    break;
                }
            } else if self.stream_ended {
                let mark = self.mark;
                self.tokens.push_back(Token { data: TokenData::StreamEnd, start: mark, end: mark });
                break;
            }
            self.fetch_next_token()?;
        }
        self.token_available = true;
        Ok(())
    }

    fn fetch_next_token(&mut self) -> Scanned<()> {
        self.scan_to_next_token();
        self.stale_simple_keys()?;
        self.unroll_indent(i64::from(self.mark.column));
        if self.is_end() {
            return self.fetch_stream_end();
        }
        let byte = self.byte(0);
        if self.mark.column == 0 && byte == b'%' {
            self.end_block()?;
            let token = self.scan_directive()?;
            self.tokens.push_back(token);
            return Ok(());
        }
        if let Some(data) = self.document_indicator() {
            self.end_block()?;
            return self.fetch_indicator(data, 3);
        }
        let in_flow = self.flow_level > 0;
        match byte {
            b'[' => self.fetch_flow_start(TokenData::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenData::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenData::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenData::FlowMappingEnd),
            b',' => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                self.fetch_indicator(TokenData::FlowEntry, 1)
            }
            b'-' if self.is_blankz(1) => self.fetch_block_entry(),
            b'?' if in_flow || self.is_blankz(1) => self.fetch_key(),
            b':' if in_flow || self.is_blankz(1) => self.fetch_value(),
            b'*' | b'&' => self.fetch_possible_key(|scanner| scanner.scan_anchor(byte == b'*')),
            b'!' => self.fetch_possible_key(Scanner::scan_tag),
            b'|' | b'>' if !in_flow => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                let token = self.scan_block_scalar(byte == b'|')?;
                self.tokens.push_back(token);
                Ok(())
            }
            b'\'' | b'"' => self.fetch_possible_key(|scanner| scanner.scan_flow_scalar(byte == b'\'')),
            _ if self.starts_plain(byte) => self.fetch_possible_key(Scanner::scan_plain_scalar),
            _ => self.fail("while scanning for the next token", self.mark, slip::NO_TOKEN),
        }
    }

    /// Scans a token that is a key if a `:` follows.
    fn fetch_possible_key(&mut self, scan: impl FnOnce(&mut Self) -> Scanned<Token<'a>>) -> Scanned<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    pub(super) fn starts_plain(&self, byte: u8) -> bool {
        match byte {
            b'-' => !self.is_blank(1),
            b'?' | b':' => self.flow_level == 0 && !self.is_blankz(1),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"'
            | b'%' | b'@' | b'`' => false,
            _ => !self.is_blankz(0),
        }
    }

    /// `---` or `...` at the beginning of a line.
    pub(super) fn document_indicator(&self) -> Option<TokenData<'a>> {
        if self.mark.column != 0 {
            return None;
        }
        let data = match self.byte(0) {
            b'-' => TokenData::DocumentStart,
            b'.' => TokenData::DocumentEnd,
            _ => return None,
        };
        let byte = self.byte(0);
        (self.byte(1) == byte && self.byte(2) == byte && self.is_blankz(3)).then_some(data)
    }

    /// Drops key candidates that are too long or span lines.
    fn stale_simple_keys(&mut self) -> Scanned<()> {
        let mark = self.mark;
        for key in &mut self.simple_keys {
            let stale =
                key.mark.line < mark.line || key.mark.characters + SIMPLE_KEY_LENGTH < mark.characters;
            if key.possible && stale {
                if key.required {
                    return Err(SyntaxProblem::missing_value(key.mark, mark).into());
                }
                key.possible = false;
            }
        }
        Ok(())
    }

    fn save_simple_key(&mut self) -> Scanned<()> {
        let required = self.flow_level == 0 && self.indent == i64::from(self.mark.column);
        if self.simple_key_allowed {
            self.remove_simple_key()?;
            let token_number = self.tokens_parsed + self.tokens.len();
            let key = SimpleKey { possible: true, required, token_number, mark: self.mark };
            if let Some(last) = self.simple_keys.last_mut() {
                *last = key;
            }
        }
        Ok(())
    }

    fn remove_simple_key(&mut self) -> Scanned<()> {
        let mark = self.mark;
        if let Some(key) = self.simple_keys.last_mut() {
            if key.possible && key.required {
                return Err(SyntaxProblem::missing_value(key.mark, mark).into());
            }
            key.possible = false;
        }
        Ok(())
    }

    /// Opens a block collection if the column is deeper than the current indent.
    fn roll_indent(&mut self, column: u32, number: Option<usize>, data: TokenData<'a>, mark: Mark) {
        if self.flow_level > 0 || self.indent >= i64::from(column) {
            return;
        }
        self.indents.push(self.indent);
        self.indent = i64::from(column);
        let token = Token { data, start: mark, end: mark };
        match number {
            Some(number) => self.insert_token(number, token),
            None => self.tokens.push_back(token),
        }
    }

    /// Opens a block collection here, outside of flow collections, if one may begin here.
    fn open_block(&mut self, data: TokenData<'a>, problem: &'static str) -> Scanned<()> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.fail("", self.mark, problem);
            }
            self.roll_indent(self.mark.column, None, data, self.mark);
        }
        Ok(())
    }

    fn insert_token(&mut self, number: usize, token: Token<'a>) {
        let index = number.saturating_sub(self.tokens_parsed).min(self.tokens.len());
        self.tokens.insert(index, token);
    }

    /// Closes the block collections that are deeper than the column.
    fn unroll_indent(&mut self, column: i64) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            self.tokens.push_back(Token { data: TokenData::BlockEnd, start: self.mark, end: self.mark });
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    /// Closes all block collections, before a token between documents.
    fn end_block(&mut self) -> Scanned<()> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        Ok(())
    }

    fn fetch_stream_end(&mut self) -> Scanned<()> {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
        self.end_block()?;
        self.stream_ended = true;
        self.fetch_indicator(TokenData::StreamEnd, 0)
    }

    #[expect(clippy::unnecessary_wraps, reason = "the last step of many functions")]
    fn fetch_indicator(&mut self, data: TokenData<'a>, length: usize) -> Scanned<()> {
        let start = self.mark;
        for _ in 0..length {
            self.skip();
        }
        self.tokens.push_back(Token { data, start, end: self.mark });
        Ok(())
    }

    fn fetch_flow_start(&mut self, data: TokenData<'a>) -> Scanned<()> {
        self.save_simple_key()?;
        self.simple_keys.push(SimpleKey::default());
        self.flow_level += 1;
        self.simple_key_allowed = true;
        self.fetch_indicator(data, 1)
    }

    fn fetch_flow_end(&mut self, data: TokenData<'a>) -> Scanned<()> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            self.simple_keys.pop();
        }
        self.simple_key_allowed = false;
        self.fetch_indicator(data, 1)
    }

    fn fetch_block_entry(&mut self) -> Scanned<()> {
        let problem = "block sequence entries are not allowed in this context";
        self.open_block(TokenData::BlockSequenceStart, problem)?;
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.fetch_indicator(TokenData::BlockEntry, 1)
    }

    fn fetch_key(&mut self) -> Scanned<()> {
        let problem = "mapping keys are not allowed in this context";
        self.open_block(TokenData::BlockMappingStart, problem)?;
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.fetch_indicator(TokenData::Key, 1)
    }

    fn fetch_value(&mut self) -> Scanned<()> {
        match self.simple_keys.last_mut() {
            Some(key) if key.possible => {
                key.possible = false;
                let SimpleKey { mark, token_number, .. } = *key;
                self.insert_token(token_number, Token { data: TokenData::Key, start: mark, end: mark });
                self.roll_indent(mark.column, Some(token_number), TokenData::BlockMappingStart, mark);
                self.simple_key_allowed = false;
            }
            _ => {
                self.open_block(TokenData::BlockMappingStart, slip::NO_VALUES)?;
                self.simple_key_allowed = self.flow_level == 0;
            }
        }
        self.fetch_indicator(TokenData::Value, 1)
    }

    pub(super) fn scan_to_next_token(&mut self) {
        loop {
            // A tab must not be part of an indent.
            let tabs = self.flow_level > 0 || !self.simple_key_allowed;
            match self.byte(0) {
                b' ' => self.skip_run(|byte| byte == b' '),
                b'\t' if tabs => self.skip(),
                b'#' => self.skip_to_break(),
                b'!'..=b'~' => return,
                0xef if self.mark.column == 0 && (self.byte(1), self.byte(2)) == (0xbb, 0xbf) => self.skip(),
                _ if self.is_break(0) => {
                    self.skip_line();
                    self.simple_key_allowed |= self.flow_level == 0;
                }
                _ => return,
            }
        }
    }
}
