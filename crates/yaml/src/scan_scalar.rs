//! The scanner for scalars: folds their lines into one text.

use std::borrow::Cow;

use super::events::Mark;
use super::scan::{Scanned, Scanner, Token, TokenData, is_block_word, is_word};
use super::slip;

/// The white space between two words of a scalar.
#[derive(Default)]
struct Gap<'a> {
    /// Blanks on one line.
    whitespaces: &'a str,
    /// The first line break, and those after it.
    leading_break: &'a str,
    trailing_breaks: String,
    /// True after a line break.
    leading_blanks: bool,
}

impl Gap<'_> {
    /// Appends the gap to the text: one line break is a space; of several, the first is dropped.
    fn fold(&mut self, text: &mut String) {
        if self.leading_blanks {
            if self.leading_break.starts_with('\n') {
                if self.trailing_breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(self.leading_break);
            }
            text.push_str(&self.trailing_breaks);
            self.leading_break = "";
            self.trailing_breaks.clear();
        } else {
            text.push_str(self.whitespaces);
        }
        self.whitespaces = "";
    }
}

impl<'a> Scanner<'a> {
    /// Appends the text of the file from `from` to here. A value that equals its text in the file borrows it,
    /// from `begin`. Nearly all values do, so they are not copied.
    fn take(&self, value: &mut Cow<'a, str>, begin: usize, from: usize) {
        match value {
            Cow::Borrowed(text) => *text = &self.text[begin..self.mark.offset],
            Cow::Owned(text) => text.push_str(&self.text[from..self.mark.offset]),
        }
    }

    /// Reads blanks and line breaks. A plain scalar must not have tabs left of `indent`.
    fn scan_gap(&mut self, gap: &mut Gap<'a>, indent: Option<(i64, Mark)>) -> Scanned<()> {
        let begin = self.mark.offset;
        loop {
            if self.is_blank(0) {
                if gap.leading_blanks
                    && let Some((indent, start)) = indent
                    && i64::from(self.mark.column) < indent
                    && self.byte(0) == b'\t'
                {
                    let problem = "found a tab character that violates indentation";
                    return self.fail("while scanning a plain scalar", start, problem);
                }
                self.skip();
            } else if self.is_break(0) {
                if gap.leading_blanks {
                    gap.trailing_breaks.push_str(self.read_line());
                } else {
                    gap.leading_break = self.read_line();
                    gap.leading_blanks = true;
                }
            } else {
                if !gap.leading_blanks {
                    gap.whitespaces = &self.text[begin..self.mark.offset];
                }
                return Ok(());
            }
        }
    }

    pub(super) fn scan_plain_scalar(&mut self) -> Scanned<Token<'a>> {
        let start = self.mark;
        let mut end = start;
        let mut value = Cow::Borrowed("");
        let mut gap = Gap::default();
        let indent = self.indent + 1;
        let in_flow = self.flow_level > 0;
        let ordinary = |byte| if in_flow { is_word(byte) } else { is_block_word(byte) };
        loop {
            if self.document_indicator().is_some() || self.byte(0) == b'#' {
                break;
            }
            let word = self.mark.offset;
            while !self.is_blankz(0) {
                match self.byte(0) {
                    b':' if in_flow && matches!(self.byte(1), b',' | b'?' | b'[' | b']' | b'{' | b'}') => {
                        return self.fail("while scanning a plain scalar", start, "found unexpected ':'");
                    }
                    b':' if self.is_blankz(1) => break,
                    b',' | b'[' | b']' | b'{' | b'}' if in_flow => break,
                    _ => {
                        self.skip();
                        self.skip_run(ordinary);
                    }
                }
            }
            if self.mark.offset > word {
                if gap.leading_blanks || matches!(value, Cow::Owned(_)) {
                    gap.fold(value.to_mut());
                    gap.leading_blanks = false;
                }
                self.take(&mut value, start.offset, word);
                end = self.mark;
            }
            if !self.is_blank(0) && !self.is_break(0) {
                break;
            }
            self.scan_gap(&mut gap, Some((indent, start)))?;
            if !in_flow && i64::from(self.mark.column) < indent {
                break;
            }
        }
        if gap.leading_blanks {
            self.simple_key_allowed = true;
        }
        Ok(Token { data: TokenData::Scalar { value, plain: true }, start, end })
    }

    pub(super) fn scan_flow_scalar(&mut self, single: bool) -> Scanned<Token<'a>> {
        const CONTEXT: &str = slip::IN_QUOTES;
        let start = self.mark;
        let quote = self.byte(0);
        let mut value = Cow::Borrowed("");
        let mut gap = Gap::default();
        self.skip();
        let begin = self.mark.offset;
        loop {
            if self.document_indicator().is_some() {
                return self.fail(CONTEXT, start, slip::DOCUMENT_IN_QUOTES);
            }
            if self.is_end() {
                return self.fail(CONTEXT, start, slip::END_OF_TEXT);
            }
            gap.leading_blanks = false;
            while !self.is_blankz(0) {
                let byte = self.byte(0);
                if single && byte == quote && self.byte(1) == quote {
                    value.to_mut().push('\'');
                    self.skip();
                    self.skip();
                } else if byte == quote {
                    break;
                } else if !single && byte == b'\\' && self.is_break(1) {
                    self.skip();
                    self.skip_line();
                    gap.leading_blanks = true;
                    break;
                } else if !single && byte == b'\\' {
                    self.scan_escape(start, value.to_mut())?;
                } else {
                    let word = self.mark.offset;
                    self.skip();
                    self.skip_run(is_word);
                    while !self.is_blankz(0) && !matches!(self.byte(0), b'\\' | b'\'' | b'"') {
                        self.skip();
                        self.skip_run(is_word);
                    }
                    self.take(&mut value, begin, word);
                }
            }
            if self.byte(0) == quote {
                break;
            }
            self.scan_gap(&mut gap, None)?;
            if gap.leading_blanks || matches!(value, Cow::Owned(_)) {
                gap.fold(value.to_mut());
            } else {
                self.take(&mut value, begin, begin);
            }
        }
        self.skip();
        Ok(Token { data: TokenData::Scalar { value, plain: false }, start, end: self.mark })
    }

    fn scan_escape(&mut self, start: Mark, value: &mut String) -> Scanned<()> {
        const CONTEXT: &str = "while parsing a quoted scalar";
        let length = match self.byte(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            letter => {
                value.push(match letter {
                    b'0' => '\0',
                    b'a' => '\x07',
                    b'b' => '\x08',
                    b't' | b'\t' => '\t',
                    b'n' => '\n',
                    b'v' => '\x0b',
                    b'f' => '\x0c',
                    b'r' => '\r',
                    b'e' => '\x1b',
                    b' ' => ' ',
                    b'"' => '"',
                    b'/' => '/',
                    b'\\' => '\\',
                    b'N' => '\u{85}',
                    b'_' => '\u{a0}',
                    b'L' => '\u{2028}',
                    b'P' => '\u{2029}',
                    _ => return self.fail(CONTEXT, start, slip::UNKNOWN_ESCAPE),
                });
                0
            }
        };
        self.skip();
        self.skip();
        if length == 0 {
            return Ok(());
        }
        let mut code = 0u32;
        for ahead in 0..length {
            let Some(digit) = char::from(self.byte(ahead)).to_digit(16) else {
                return self.fail(CONTEXT, start, "did not find expected hexdecimal number");
            };
            code = code << 4 | digit;
        }
        let Some(character) = char::from_u32(code) else {
            return self.fail(CONTEXT, start, "found invalid Unicode character escape code");
        };
        value.push(character);
        for _ in 0..length {
            self.skip();
        }
        Ok(())
    }

    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Scanned<Token<'a>> {
        let start = self.mark;
        self.skip();
        let (keep, increment) = self.scan_block_header(start)?;
        let mut end = self.mark;
        let mut indent = increment.map_or(0, |increment| self.indent.max(0) + increment);
        let mut value = String::new();
        let (mut leading_break, mut trailing_breaks) = ("", String::new());
        let mut leading_blank = false;
        self.scan_block_breaks(&mut indent, &mut trailing_breaks, start, &mut end)?;
        while i64::from(self.mark.column) == indent && !self.is_end() {
            let trailing_blank = self.is_blank(0);
            if !literal && leading_break.starts_with('\n') && !leading_blank && !trailing_blank {
                if trailing_breaks.is_empty() {
                    value.push(' ');
                }
            } else {
                value.push_str(leading_break);
            }
            value.push_str(&trailing_breaks);
            trailing_breaks.clear();
            leading_blank = trailing_blank;
            let line = self.mark.offset;
            self.skip_to_break();
            value.push_str(&self.text[line..self.mark.offset]);
            leading_break = self.read_line();
            self.scan_block_breaks(&mut indent, &mut trailing_breaks, start, &mut end)?;
        }
        if keep != Some(false) {
            value.push_str(leading_break);
        }
        if keep == Some(true) {
            value.push_str(&trailing_breaks);
        }
        Ok(Token { data: TokenData::Scalar { value: value.into(), plain: false }, start, end })
    }

    /// The header after `|` and `>`: chomping (`+` is true, `-` false) and indent.
    fn scan_block_header(&mut self, start: Mark) -> Scanned<(Option<bool>, Option<i64>)> {
        const CONTEXT: &str = "while scanning a block scalar";
        let (mut keep, mut increment) = (None, None);
        // Each once, in any order.
        for _ in 0..2 {
            match self.byte(0) {
                sign @ (b'+' | b'-') if keep.is_none() => keep = Some(sign == b'+'),
                b'0' if increment.is_none() => {
                    return self.fail(CONTEXT, start, "found an indentation indicator equal to 0");
                }
                digit @ b'1'..=b'9' if increment.is_none() => {
                    increment = Some(i64::from(digit - b'0'));
                }
                _ => break,
            }
            self.skip();
        }
        self.end_line(CONTEXT, start)?;
        Ok((keep, increment))
    }

    /// Reads empty lines and the indent of the next line; detects the indent if it is zero.
    fn scan_block_breaks(
        &mut self,
        indent: &mut i64,
        breaks: &mut String,
        start: Mark,
        end: &mut Mark,
    ) -> Scanned<()> {
        let mut deepest = 0;
        *end = self.mark;
        loop {
            while (*indent == 0 || i64::from(self.mark.column) < *indent) && self.byte(0) == b' ' {
                self.skip();
            }
            deepest = deepest.max(i64::from(self.mark.column));
            if (*indent == 0 || i64::from(self.mark.column) < *indent) && self.byte(0) == b'\t' {
                let problem = "found a tab character where an indentation space is expected";
                return self.fail("while scanning a block scalar", start, problem);
            }
            if !self.is_break(0) {
                break;
            }
            breaks.push_str(self.read_line());
            *end = self.mark;
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}
