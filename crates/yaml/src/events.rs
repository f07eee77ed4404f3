//! The events of libyaml for the bytes of a file, each with its span.
//!
//! The scanner and the parser (`scan`, `parse`) are rewritten from libyaml, because the crate
//! `libyaml-safer` panics on `[!!str, a]`, on a last block scalar without a line break and on others,
//! and counts the length of keys in bytes. This file adds the encoding, as Python's `open()` in text
//! mode has it, the characters that libyaml's reader rejects, and errors.
//!
//! Every error has a site with an empty path: only the caller knows the path.

use std::borrow::Cow;

use super::parse::Parser;
use super::slip;
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::source::{Site, Span};

/// A position in the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    /// In bytes.
    pub offset: usize,
    /// The same in characters.
    pub characters: u32,
    pub line: u32,
    pub column: u32,
}

/// A syntax error in the words of libyaml.
#[derive(Debug)]
pub struct SyntaxProblem {
    /// `while parsing a node`, or empty.
    pub context: &'static str,
    pub context_mark: Mark,
    pub problem: &'static str,
    pub mark: Mark,
}

impl SyntaxProblem {
    /// A key without its value.
    pub fn missing_value(context_mark: Mark, mark: Mark) -> SyntaxProblem {
        SyntaxProblem { context: "while scanning a simple key", context_mark, problem: slip::NO_COLON, mark }
    }
}

/// An event of libyaml, without its marks. A text that equals its source in the file is borrowed from it.
#[derive(Debug, PartialEq)]
pub enum Event<'a> {
    StreamEnd,
    /// The beginning of a document.
    DocumentStart,
    DocumentEnd,
    /// `*anchor`.
    Alias {
        anchor: &'a str,
    },
    /// A scalar; `plain` if its text decides its tag.
    Scalar {
        anchor: Option<&'a str>,
        tag: Option<String>,
        value: Cow<'a, str>,
        plain: bool,
    },
    /// The beginning of a sequence.
    SequenceStart {
        anchor: Option<&'a str>,
        tag: Option<String>,
    },
    SequenceEnd,
    /// The beginning of a mapping.
    MappingStart {
        anchor: Option<&'a str>,
        tag: Option<String>,
    },
    MappingEnd,
}

/// A position in the file `""`; line and column count from zero.
pub fn site(line: u32, column: u32) -> Site {
    Site::at("", Span { line, column, ..Span::default() })
}

/// The events of one text.
pub struct Events<'a> {
    pub(super) parser: Parser<'a>,
    /// Without the byte order mark.
    text: &'a str,
    /// Bytes of the byte order mark before the text.
    mark_length: usize,
}

impl<'a> Events<'a> {
    /// Checks the encoding and starts the parser.
    pub fn new(bytes: &'a [u8]) -> Result<Events<'a>> {
        if u32::try_from(bytes.len()).is_err() {
            let what = "the size of a YAML file in bytes".to_owned();
            let setting = Some("limit_file_size");
            return Err(Fault::new(Kind::YamlLimit { what, limit: u32::MAX as usize, setting })
                .at_site(site(0, 0))
                .into());
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
                let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
                let is_utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
                let help = if is_utf16 { UTF16 } else { "save the file as UTF-8" };
                return Err(syntax(format!("invalid UTF-8: byte 0x{byte:02x}"), help, place_after(valid)));
            }
        };
        let (text, mark_length) = text.strip_prefix('\u{feff}').map_or((text, 0), |rest| (rest, 3));
        if let Some(offset) = find_control(text) {
            let message = match text[offset..].chars().next() {
                Some(character) => format!("control character U+{:04X} is not allowed", u32::from(character)),
                None => "control characters are not allowed".to_owned(),
            };
            let escape =
                "remove the character, or write it as an escape between double quotes, such as \"\\x07\"";
            let zeros = text.matches('\0').count();
            let help = match text.as_bytes()[offset] {
                0 if zeros >= bytes.len() / 3 => UTF16,
                0 => "remove the character; a crash can leave it in a file that was being written",
                _ => escape,
            };
            return Err(syntax(message, help, place_after(&text[..offset])));
        }
        Ok(Events { parser: Parser::new(text), text, mark_length })
    }

    /// The next event and its span. The start of the stream is not an event.
    pub(super) fn next(&mut self) -> Result<(Event<'a>, Span)> {
        let (event, start, end) = self.parsed().map_err(|problem| error(&problem, self.text))?;
        Ok((event, self.span(start, end)))
    }

    pub(super) fn span(&self, start: Mark, end: Mark) -> Span {
        let offset = |mark: Mark| u32::try_from(mark.offset + self.mark_length).unwrap_or(u32::MAX);
        Span { start: offset(start), end: offset(end), line: start.line, column: start.column }
    }

    /// The next event with both marks, or libyaml's error.
    pub fn parsed(&mut self) -> std::result::Result<(Event<'a>, Mark, Mark), Box<SyntaxProblem>> {
        self.parser.next()
    }
}

fn error(problem: &SyntaxProblem, text: &str) -> Error {
    let SyntaxProblem { context, context_mark, problem, mark } = problem;
    let message = if context.is_empty() { (*problem).to_owned() } else { format!("{problem} {context}") };
    let before = text.get(..mark.offset).unwrap_or_default();
    let is_reference =
        before.ends_with('$') && [slip::NO_COMMA_IN_LIST, slip::NO_COMMA_IN_MAPPING].contains(problem);
    let help = is_reference.then(|| "a text with a reference needs quotes between brackets".to_owned());
    let mut fault = Fault::new(Kind::YamlSyntax { message, help }).at_site(site(mark.line, mark.column));
    if !context.is_empty() && context_mark.offset != mark.offset {
        let begun = context.strip_prefix("while ").unwrap_or(context);
        let place = site(context_mark.line, context_mark.column);
        fault = fault.note(format!("{begun} began here"), Some(place));
    }
    fault.into()
}

/// The help for a text in UTF-16, which looks like invalid UTF-8 or has the character 0.
const UTF16: &str = "the file looks like UTF-16; save it as UTF-8";

fn syntax(message: String, help: &str, (line, column): (u32, u32)) -> Error {
    Fault::new(Kind::YamlSyntax { message, help: Some(help.into()) }).at_site(site(line, column)).into()
}

/// Line and column after a text, from zero.
fn place_after(text: &str) -> (u32, u32) {
    let (mut line, mut column, mut previous) = (0u32, 0u32, ' ');
    for character in text.chars() {
        match character {
            '\n' if previous == '\r' => {}
            '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                line = line.saturating_add(1);
                column = 0;
            }
            _ => column = column.saturating_add(1),
        }
        previous = character;
    }
    (line, column)
}

/// The offset of the first character that libyaml's reader rejects.
fn find_control(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    // Fast path: a loop without an exit looks at many bytes at once.
    if bytes.iter().fold(true, |all, byte| all & matches!(byte, b' '..=b'~' | b'\n')) {
        return None;
    }
    bytes.iter().enumerate().position(|(offset, byte)| match byte {
        0x20..=0x7e | b'\t' | b'\n' | b'\r' => false,
        0..=0x1f | 0x7f => true,
        // U+0080 to U+009F except U+0085.
        0xc2 => bytes.get(offset + 1).is_some_and(|next| *next < 0xa0 && *next != 0x85),
        // U+FFFE and U+FFFF.
        0xef => {
            bytes.get(offset + 1) == Some(&0xbf) && bytes.get(offset + 2).is_some_and(|last| *last >= 0xbe)
        }
        _ => false,
    })
}
