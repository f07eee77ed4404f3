//! The scanner for directives, anchors and tags.

use super::events::Mark;
use super::scan::{Scanned, Scanner, Token, TokenData};
use super::slip;

/// Maximum number of digits of a version number.
const NUMBER_LENGTH: usize = 9;

impl<'a> Scanner<'a> {
    fn read_alphas(&mut self) -> &'a str {
        let start = self.mark.offset;
        while self.is_alpha() {
            self.skip();
        }
        &self.text[start..self.mark.offset]
    }

    fn skip_blanks(&mut self) {
        while self.is_blank(0) {
            self.skip();
        }
    }

    /// Skips the rest of a line, which may contain only a comment.
    pub(super) fn end_line(&mut self, context: &'static str, start: Mark) -> Scanned<()> {
        self.skip_blanks();
        if self.byte(0) == b'#' {
            self.skip_to_break();
        }
        if !self.is_breakz(0) {
            return self.fail(context, start, "did not find expected comment or line break");
        }
        self.skip_line();
        Ok(())
    }

    pub(super) fn scan_directive(&mut self) -> Scanned<Token<'a>> {
        const CONTEXT: &str = slip::IN_DIRECTIVE;
        let start = self.mark;
        self.skip();
        let name = self.read_alphas();
        if name.is_empty() {
            return self.fail(CONTEXT, start, "could not find expected directive name");
        }
        if !self.is_blankz(0) {
            return self.fail(CONTEXT, start, "found unexpected non-alphabetical character");
        }
        let data = match name {
            "YAML" => {
                self.skip_blanks();
                let major = self.scan_version_number(start)?;
                if self.byte(0) != b'.' {
                    let problem = "did not find expected digit or '.' character";
                    return self.fail("while scanning a %YAML directive", start, problem);
                }
                self.skip();
                TokenData::VersionDirective { major, minor: self.scan_version_number(start)? }
            }
            "TAG" => self.scan_tag_directive(start)?,
            _ => return self.fail(CONTEXT, start, "found unknown directive name"),
        };
        let end = self.mark;
        self.end_line(CONTEXT, start)?;
        Ok(Token { data, start, end })
    }

    fn scan_version_number(&mut self, start: Mark) -> Scanned<u32> {
        const CONTEXT: &str = "while scanning a %YAML directive";
        let (mut number, mut length) = (0, 0);
        while self.byte(0).is_ascii_digit() {
            length += 1;
            if length > NUMBER_LENGTH {
                return self.fail(CONTEXT, start, "found extremely long version number");
            }
            number = number * 10 + u32::from(self.byte(0) - b'0');
            self.skip();
        }
        if length == 0 {
            return self.fail(CONTEXT, start, "did not find expected version number");
        }
        Ok(number)
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Scanned<TokenData<'a>> {
        const CONTEXT: &str = "while scanning a %TAG directive";
        self.skip_blanks();
        let handle = self.scan_tag_handle(true, start)?;
        if !self.is_blank(0) {
            return self.fail(CONTEXT, start, "did not find expected whitespace");
        }
        self.skip_blanks();
        let prefix = self.scan_tag_uri(true, true, "", start)?;
        if !self.is_blankz(0) {
            return self.fail(CONTEXT, start, "did not find expected whitespace or line break");
        }
        Ok(TokenData::TagDirective(Box::new((handle, prefix))))
    }

    pub(super) fn scan_anchor(&mut self, alias: bool) -> Scanned<Token<'a>> {
        let start = self.mark;
        self.skip();
        let name = self.read_alphas();
        let closed = matches!(self.byte(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !closed && !self.is_blankz(0) {
            let context = if alias { slip::IN_ALIAS } else { slip::IN_ANCHOR };
            return self.fail(context, start, "did not find expected alphabetic or numeric character");
        }
        let data = if alias { TokenData::Alias(name) } else { TokenData::Anchor(name) };
        Ok(Token { data, start, end: self.mark })
    }

    pub(super) fn scan_tag(&mut self) -> Scanned<Token<'a>> {
        const CONTEXT: &str = "while scanning a tag";
        let start = self.mark;
        let (handle, suffix);
        if self.byte(1) == b'<' {
            self.skip();
            self.skip();
            (handle, suffix) = (String::new(), self.scan_tag_uri(true, false, "", start)?);
            if self.byte(0) != b'>' {
                return self.fail(CONTEXT, start, "did not find the expected '>'");
            }
            self.skip();
        } else {
            let head = self.scan_tag_handle(false, start)?;
            if head.len() > 1 && head.ends_with('!') {
                (handle, suffix) = (head, self.scan_tag_uri(false, false, "", start)?);
            } else {
                let rest = self.scan_tag_uri(false, false, &head, start)?;
                // A single `!` is a complete tag.
                (handle, suffix) = if rest.is_empty() { (rest, "!".into()) } else { ("!".into(), rest) };
            }
        }
        if !self.is_blankz(0) && (self.flow_level == 0 || self.byte(0) != b',') {
            return self.fail(CONTEXT, start, "did not find expected whitespace or line break");
        }
        Ok(Token { data: TokenData::Tag(Box::new((handle, suffix))), start, end: self.mark })
    }

    fn scan_tag_handle(&mut self, directive: bool, start: Mark) -> Scanned<String> {
        if self.byte(0) != b'!' {
            let context = if directive { "while scanning a tag directive" } else { "while scanning a tag" };
            return self.fail(context, start, "did not find expected '!'");
        }
        self.skip();
        let mut handle = String::from("!") + self.read_alphas();
        if self.byte(0) == b'!' {
            self.skip();
            handle.push('!');
        } else if directive && handle != "!" {
            return self.fail("while parsing a tag directive", start, "did not find expected '!'");
        }
        Ok(handle)
    }

    /// A decoded URI; `head` is its beginning, if that was read as a handle.
    fn scan_tag_uri(&mut self, uri_char: bool, directive: bool, head: &str, start: Mark) -> Scanned<String> {
        let context = if directive { "while parsing a %TAG directive" } else { "while parsing a tag" };
        let mut uri: Vec<u8> = head.bytes().skip(1).collect();
        let mut length = head.len();
        loop {
            match self.byte(0) {
                b'%' => self.scan_uri_escape(context, start, &mut uri)?,
                b',' | b'[' | b']' if !uri_char => break,
                byte @ (b';' | b'/' | b'?' | b':' | b'@' | b'&' | b'=' | b'+' | b'$' | b'.' | b'!' | b'~'
                | b'*' | b'\'' | b'(' | b')' | b',' | b'[' | b']') => {
                    uri.push(byte);
                    self.skip();
                }
                byte if self.is_alpha() => {
                    uri.push(byte);
                    self.skip();
                }
                _ => break,
            }
            length += 1;
        }
        if length == 0 {
            return self.fail(context, start, "did not find expected tag URI");
        }
        match String::from_utf8(uri) {
            Ok(uri) => Ok(uri),
            Err(_) => self.fail(context, start, "found an incorrect UTF-8 sequence"),
        }
    }

    /// The octets of one character.
    fn scan_uri_escape(&mut self, context: &'static str, start: Mark, uri: &mut Vec<u8>) -> Scanned<()> {
        let mut width = 0;
        loop {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let (Some(high), Some(low), b'%') = (digit(self.byte(1)), digit(self.byte(2)), self.byte(0))
            else {
                return self.fail(context, start, "did not find URI escaped octet");
            };
            let octet = u8::try_from(high * 16 + low).unwrap_or_default();
            if width == 0 {
                width = match octet {
                    0..=0x7f => 1,
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xf7 => 4,
                    _ => {
                        return self.fail(context, start, "found an incorrect leading UTF-8 octet");
                    }
                };
            } else if octet & 0xc0 != 0x80 {
                return self.fail(context, start, "found an incorrect trailing UTF-8 octet");
            }
            uri.push(octet);
            self.skip();
            self.skip();
            self.skip();
            width -= 1;
            if width == 0 {
                return Ok(());
            }
        }
    }
}
