//! Events turn the bytes of a file into the events of libyaml, each with its span.
//!
//! The only file that knows the crate `libyaml-safer`. What that crate does not
//! do as the C library behind `PyYAML` does is put right here:
//!
//! * It panics where the last block scalar ends without a line break. The text
//!   gets a U+2028 at its end: a line break that libyaml keeps as it is, so that
//!   it can be told from the text's own and taken off the value again.
//! * It takes any first byte EF for a byte order mark, and lets files in UTF-16
//!   through, which Python's `open()` in text mode does not.
//! * A panic that is left all the same becomes an error.
//!
//! One difference remains: a key is simple up to 1024 *bytes* where the C library
//! counts characters.
//!
//! Every error has a site with an empty path: the caller knows the path.

use std::io::{BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use libyaml_safer::{Event as RawEvent, EventData, Mark, Parser, ScalarStyle};

use crate::error::{Error, Fault, Kind, Result};
use crate::source::{Site, Span};

/// The line break put behind a text that has none at its end.
const FINAL_BREAK: &str = "\u{2028}";

/// How much text the crate gets at once; it keeps four bytes for each character.
const CHUNK: usize = 4096;

/// An event of libyaml, without its marks.
#[derive(Debug, PartialEq)]
pub(super) enum Event {
    /// The end of everything.
    StreamEnd,
    /// The beginning of a document.
    DocumentStart,
    /// The end of a document.
    DocumentEnd,
    /// `*anchor`.
    Alias { anchor: String },
    /// A scalar; `plain` if its tag is to be found from its text.
    Scalar { anchor: Option<String>, tag: Option<String>, value: String, plain: bool },
    /// The beginning of a sequence.
    SequenceStart { anchor: Option<String>, tag: Option<String> },
    /// The end of a sequence.
    SequenceEnd,
    /// The beginning of a mapping.
    MappingStart { anchor: Option<String>, tag: Option<String> },
    /// The end of a mapping.
    MappingEnd,
}

/// A place in the file `""`, from a line and a column that count from zero.
pub(super) fn site(line: u32, column: u32, length: u32) -> Site {
    Site { path: "".into(), line: line.saturating_add(1), column: column.saturating_add(1), length }
}

/// The events of one text.
pub(super) struct Events<'a> {
    parser: Parser<Chunks<'a>>,
    text: &'a str,
    /// Bytes of the byte order mark before the text.
    mark_length: usize,
    final_break: bool,
}

impl<'a> Events<'a> {
    /// Checks the encoding and makes ready to read.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Events<'a>> {
        if u32::try_from(bytes.len()).is_err() {
            let what = "the size of a YAML file in bytes".to_owned();
            return Err(Fault::new(Kind::YamlLimit { what, limit: u32::MAX as usize })
                .at_site(site(0, 0, 0))
                .into());
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
                let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
                return Err(syntax(format!("invalid UTF-8: byte 0x{byte:02x}"), place_after(valid)));
            }
        };
        let (text, mark_length) = text.strip_prefix('\u{feff}').map_or((text, 0), |rest| (rest, 3));
        if let Some(offset) = find_control(text) {
            let message = match text[offset..].chars().next() {
                Some(character) => format!("control character U+{:04X} is not allowed", u32::from(character)),
                None => "control characters are not allowed".to_owned(),
            };
            return Err(syntax(message, place_after(&text[..offset])));
        }
        let final_break = !text.is_empty() && !text.ends_with(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        let mut parser = Parser::new();
        parser.set_encoding(libyaml_safer::Encoding::Utf8);
        let last = if final_break { FINAL_BREAK } else { "" };
        parser.set_input(Chunks { chunk: b"", text, last });
        Ok(Events { parser, text, mark_length, final_break })
    }

    /// The next event and its span. The beginning of the stream is no event here.
    pub(super) fn next(&mut self) -> Result<(Event, Span)> {
        loop {
            let parsed = catch_unwind(AssertUnwindSafe(|| self.parser.parse()));
            let RawEvent { data, start_mark, end_mark, .. } = match parsed {
                Ok(Ok(event)) => event,
                Ok(Err(error)) => return Err(self.error(&error)),
                Err(_) => {
                    return Err(syntax("unexpected end of the text".into(), place_after(self.text)));
                }
            };
            let event = match data {
                EventData::StreamStart { .. } => continue,
                EventData::StreamEnd => Event::StreamEnd,
                EventData::DocumentStart { .. } => Event::DocumentStart,
                EventData::DocumentEnd { .. } => Event::DocumentEnd,
                EventData::Alias { anchor } => Event::Alias { anchor },
                EventData::Scalar { anchor, tag, mut value, plain_implicit, style, .. } => {
                    if self.final_break
                        && matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
                        && usize::try_from(end_mark.index).is_ok_and(|end| end > self.text.len())
                        && value.ends_with(FINAL_BREAK)
                    {
                        value.truncate(value.len() - FINAL_BREAK.len());
                    }
                    Event::Scalar { anchor, tag: specific(tag), value, plain: plain_implicit }
                }
                EventData::SequenceStart { anchor, tag, .. } => {
                    Event::SequenceStart { anchor, tag: specific(tag) }
                }
                EventData::SequenceEnd => Event::SequenceEnd,
                EventData::MappingStart { anchor, tag, .. } => {
                    Event::MappingStart { anchor, tag: specific(tag) }
                }
                EventData::MappingEnd => Event::MappingEnd,
            };
            return Ok((event, self.span(start_mark, end_mark)));
        }
    }

    fn span(&self, start: Mark, end: Mark) -> Span {
        let offset = |mark: Mark| {
            let index = usize::try_from(mark.index).unwrap_or(usize::MAX).min(self.text.len());
            u32::try_from(index + self.mark_length).unwrap_or(u32::MAX)
        };
        Span {
            start: offset(start),
            end: offset(end),
            line: narrow(start.line),
            column: narrow(start.column),
        }
    }

    fn error(&self, error: &libyaml_safer::Error) -> Error {
        let context = error.context().unwrap_or_default();
        let problem = error.problem();
        let mut message = problem.to_owned();
        if !context.is_empty() {
            message.push(' ');
            message.push_str(context);
        }
        // Quoted text runs over the line break that is not there.
        let beyond = |mark: Mark| {
            self.final_break
                && context == "while scanning a quoted scalar"
                && usize::try_from(mark.index).is_ok_and(|index| index > self.text.len())
        };
        let place = match error.problem_mark() {
            Some(mark) if !beyond(mark) => (narrow(mark.line), narrow(mark.column)),
            _ => place_after(self.text),
        };
        let mut fault = Fault::new(Kind::YamlSyntax { message }).at_site(site(place.0, place.1, 0));
        if let Some(mark) =
            error.context_mark().filter(|mark| (narrow(mark.line), narrow(mark.column)) != place)
        {
            let begun = context.strip_prefix("while ").unwrap_or(context);
            fault = fault
                .note(format!("{begun} began here"), Some(site(narrow(mark.line), narrow(mark.column), 0)));
        }
        fault.into()
    }
}

/// The tag `!` says nothing that the event does not say already.
fn specific(tag: Option<String>) -> Option<String> {
    tag.filter(|tag| tag != "!")
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn syntax(message: String, (line, column): (u32, u32)) -> Error {
    Fault::new(Kind::YamlSyntax { message }).at_site(site(line, column, 0)).into()
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

/// The offset of the first character that libyaml's reader refuses.
fn find_control(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().position(|(offset, byte)| match byte {
        0x20..=0x7e | b'\t' | b'\n' | b'\r' => false,
        0..=0x1f | 0x7f => true,
        // U+0080 to U+009F but for U+0085.
        0xc2 => bytes.get(offset + 1).is_some_and(|next| *next < 0xa0 && *next != 0x85),
        // U+FFFE and U+FFFF.
        0xef => {
            bytes.get(offset + 1) == Some(&0xbf) && bytes.get(offset + 2).is_some_and(|last| *last >= 0xbe)
        }
        _ => false,
    })
}

/// A text handed out in small pieces of whole characters.
struct Chunks<'a> {
    chunk: &'a [u8],
    text: &'a str,
    last: &'static str,
}

impl BufRead for Chunks<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.chunk.is_empty() {
            let (chunk, rest) = if self.text.is_empty() {
                (self.last, "")
            } else {
                let end = (CHUNK.min(self.text.len())..=self.text.len())
                    .find(|end| self.text.is_char_boundary(*end))
                    .unwrap_or(self.text.len());
                self.text.split_at(end)
            };
            if self.text.is_empty() {
                self.last = "";
            }
            self.chunk = chunk.as_bytes();
            self.text = rest;
        }
        Ok(self.chunk)
    }
    fn consume(&mut self, amount: usize) {
        self.chunk = self.chunk.get(amount..).unwrap_or_default();
    }
}

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let chunk = self.fill_buf()?;
        let length = chunk.len().min(buffer.len());
        buffer[..length].copy_from_slice(&chunk[..length]);
        self.consume(length);
        Ok(length)
    }
}
