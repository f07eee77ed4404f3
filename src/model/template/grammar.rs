//! The grammar of strings with references, as in the Python forks, with nom.

use std::sync::Arc;

use nom::Parser;
use nom::bytes::complete::{tag, take_till1};
use nom::combinator::recognize;
use nom::error::{Error as NomError, ErrorKind, ParseError};

use super::path::{find_default, first_char, split_default};
use super::{Parsed, Part, Reference, Template};
use crate::model::query::{Parse, Query};
use reclass_base::error::{Fault, Kind};
use reclass_base::path::find;
use reclass_base::settings::Settings;
use reclass_base::value::Text;

/// The sentinels, the escape character and the delimiter.
pub(super) struct Grammar<'s> {
    open: &'s str,
    close: &'s str,
    query_open: &'s str,
    query_close: &'s str,
    escape: &'s str,
    delimiter: &'s str,
}

/// The deepest nesting of references.
const MAX_NESTING: usize = 200;

/// The most references in one text. Each takes some hundred times as much memory as its characters.
const MAX_REFERENCES: usize = 100_000;

fn fail<T>(at: &str) -> Parse<'_, T> {
    Err(nom::Err::Error(NomError::from_error_kind(at, ErrorKind::Tag)))
}

impl<'s> Grammar<'s> {
    pub(super) fn new(settings: &'s Settings) -> Grammar<'s> {
        Grammar {
            open: &settings.reference_sentinels.0,
            close: &settings.reference_sentinels.1,
            query_open: &settings.export_sentinels.0,
            query_close: &settings.export_sentinels.1,
            escape: &settings.escape_character,
            delimiter: &settings.delimiter,
        }
    }

    /// Whether a text contains no opening sentinel.
    pub(super) fn is_plain(&self, text: &str) -> bool {
        !has(text, self.open) && !has(text, self.query_open)
    }

    pub(super) fn line(&self, text: &Text) -> Result<Parsed, Fault> {
        if text.len() > MAX_REFERENCES && text.matches(self.open).nth(MAX_REFERENCES).is_some() {
            let what = "the number of references in one text";
            return Err(Fault::new(Kind::EvaluationLimit { what, limit: MAX_REFERENCES, setting: None }));
        }
        let (mut parts, mut literal) = (Vec::new(), String::new());
        let mut queries: Vec<(Query, usize, usize)> = Vec::new();
        let mut rest: &str = text;
        while !rest.is_empty() {
            let offset = text.len() - rest.len();
            if rest.starts_with(self.open) {
                let (after, reference) =
                    self.reference(text, rest, 0).map_err(|_| self.unclosed(text, offset))?;
                end_literal(&mut literal, &mut parts);
                parts.push(Part::Reference(reference));
                rest = after;
            } else if rest.starts_with(self.query_open) {
                let (after, inside) = self.query(rest).map_err(|_| self.unclosed(text, offset))?;
                let length = rest.len() - after.len();
                let query = crate::model::query::parse(&inside, self.delimiter)
                    .map_err(|message| Fault::new(Kind::QuerySyntax { message }).sub_span(offset, length))?;
                queries.push((query, offset, length));
                rest = after;
            } else {
                let (after, piece) = self.text(rest).map_err(|_| self.unclosed(text, offset))?;
                literal.push_str(&piece);
                rest = after;
            }
        }
        end_literal(&mut literal, &mut parts);
        if let Some((query, offset, length)) = queries.pop() {
            if parts.is_empty() && queries.is_empty() {
                return Ok(Parsed::Query(query));
            }
            let query = query.source.to_string();
            return Err(Fault::new(Kind::QueryEmbedded { query }).sub_span(offset, length));
        }
        Ok(match parts.as_slice() {
            [] => Parsed::Text(text.clone()),
            [Part::Literal(only)] => Parsed::Text(only.clone()),
            _ => Parsed::Template(Arc::new(Template::new(text.clone(), parts))),
        })
    }

    /// Parses a piece of text outside of references.
    fn text<'t>(&self, rest: &'t str) -> Parse<'t, String> {
        if let Ok(found) = self.escaped(rest, &[self.open, self.query_open]) {
            return Ok(found);
        }
        self.content(rest, |at| self.opens(at), "")
    }

    /// Parses a piece of text inside of a reference.
    fn inner_text<'t>(&self, rest: &'t str) -> Parse<'t, String> {
        if let Ok(found) = self.escaped(rest, &[self.open, self.close]) {
            return Ok(found);
        }
        let stop = |at: &str| self.is(at, self.open) || self.is(at, self.close);
        self.content(rest, stop, &self.close[..first_char(self.close)])
    }

    /// Parses a doubled escape before any sentinel, or an escape before one of `sentinels`.
    fn escaped<'t>(&self, rest: &'t str, sentinels: &[&str]) -> Parse<'t, String> {
        let Some(after) = self.behind_escape(rest) else { return fail(rest) };
        if let Some(sentinel) = self.behind_escape(after)
            && [self.open, self.close, self.query_open, self.query_close]
                .iter()
                .any(|s| sentinel.starts_with(s))
        {
            return Ok((sentinel, self.escape.to_owned()));
        }
        for sentinel in sentinels {
            if let Some(after) = after.strip_prefix(sentinel) {
                return Ok((after, (*sentinel).to_owned()));
            }
        }
        fail(rest)
    }

    /// The texts whose characters are special.
    fn specials(&self) -> [&'s str; 5] {
        [self.escape, self.open, self.close, self.query_open, self.query_close]
    }

    /// A bit for each of these characters that is ASCII.
    fn special_ascii(&self) -> u128 {
        let bytes = self.specials().into_iter().flat_map(str::bytes);
        bytes.filter(u8::is_ascii).fold(0, |bits, byte| bits | 1 << byte)
    }

    /// Tests for these characters.
    fn special(&self) -> impl Fn(char) -> bool {
        let (all, ascii) = (self.specials(), self.special_ascii());
        move |c: char| match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() => ascii & (1 << byte) != 0,
            _ => all.iter().any(|text| text.contains(c)),
        }
    }

    /// A fast path for the usual inside of ASCII without special characters. The result equals that of
    /// [`Self::inner_text`].
    fn plain_inside<'t>(&self, rest: &'t str) -> Option<&'t str> {
        let special = self.special_ascii();
        let is_end = |byte: u8| !byte.is_ascii() || special & (1 << byte) != 0;
        let (inside, after) = rest.split_at(rest.bytes().position(is_end)?);
        let ends =
            after.starts_with(self.close) && !after.starts_with(self.open) && !after.starts_with(self.escape);
        (ends && !inside.is_empty()).then_some(inside)
    }

    /// Characters until `stop` holds. A special character is consumed alone.
    fn content<'t>(&self, rest: &'t str, stop: impl Fn(&str) -> bool, never: &str) -> Parse<'t, String> {
        let mut plain = recognize(take_till1::<_, &str, NomError<&str>>(self.special()));
        let mut at = rest;
        while !at.is_empty() && !stop(at) {
            at = match plain.parse(at) {
                Ok((after, _)) => after,
                Err(_) if !never.is_empty() && at.starts_with(never) => break,
                Err(_) => &at[first_char(at)..],
            };
        }
        let taken = &rest[..rest.len() - at.len()];
        if taken.is_empty() { fail(rest) } else { Ok((at, taken.to_owned())) }
    }

    /// Whether a sentinel follows: plain, escaped, or after a doubled escape.
    fn is(&self, at: &str, sentinel: &str) -> bool {
        at.starts_with(sentinel)
            || self.behind_escape(at).is_some_and(|at| {
                at.starts_with(sentinel) || self.behind_escape(at).is_some_and(|at| at.starts_with(sentinel))
            })
    }

    /// The text after an escape. An empty escape never matches.
    fn behind_escape<'t>(&self, at: &'t str) -> Option<&'t str> {
        at.strip_prefix(self.escape).filter(|_| !self.escape.is_empty())
    }

    fn opens(&self, at: &str) -> bool {
        self.is(at, self.open) || self.is(at, self.query_open)
    }

    fn reference<'t>(&self, whole: &str, rest: &'t str, depth: usize) -> Parse<'t, Reference> {
        if depth > MAX_NESTING {
            return fail(rest);
        }
        let (mut at, _) = tag(self.open).parse(rest)?;
        let (mut parts, mut literal) = (Vec::new(), String::new());
        let plain = self.plain_inside(at);
        if let Some(inside) = plain {
            parts.push(Part::Literal(inside.into()));
            at = &at[inside.len()..];
        }
        while plain.is_none() {
            // If both sentinels are equal, the second one closes.
            if at.starts_with(self.open) && self.open != self.close {
                let (after, inner) = self.reference(whole, at, depth + 1)?;
                end_literal(&mut literal, &mut parts);
                parts.push(Part::Reference(inner));
                at = after;
            } else if let Ok((after, piece)) = self.inner_text(at) {
                literal.push_str(&piece);
                at = after;
            } else {
                break;
            }
        }
        end_literal(&mut literal, &mut parts);
        if parts.is_empty() {
            return fail(at);
        }
        let (after, _) = tag(self.close).parse(at)?;
        let span = (whole.len() - rest.len(), rest.len() - after.len());
        let fixed = match parts.as_slice() {
            [Part::Literal(inside)] => Some(split_default(inside, self.delimiter)),
            _ => None,
        };
        let inside = span.0 + self.open.len()..span.0 + span.1 - self.close.len();
        let written = self.without_default(whole, inside, &parts);
        Ok((after, Reference { parts, fixed, span, written }))
    }

    /// The written form of a reference, without defaults.
    fn without_default(&self, whole: &str, inside: std::ops::Range<usize>, parts: &[Part]) -> Text {
        let mut written = String::with_capacity(inside.len() + self.open.len() + self.close.len());
        written += self.open;
        let mut at = inside.start;
        for part in parts {
            let Part::Reference(inner) = part else { continue };
            let before = &whole[at..inner.span.0];
            at = inner.span.0 + inner.span.1;
            if let Some((path, _)) = find_default(before, self.delimiter) {
                return (written + path + self.close).into();
            }
            written += before;
            written += &inner.written;
        }
        let rest = &whole[at..inside.end];
        (written + find_default(rest, self.delimiter).map_or(rest, |(path, _)| path) + self.close).into()
    }

    /// Parses `$[…]` to its inside.
    fn query<'t>(&self, rest: &'t str) -> Parse<'t, String> {
        let (mut at, _) = tag(self.query_open).parse(rest)?;
        let mut inside = String::new();
        let first = &self.query_close[..first_char(self.query_close)];
        loop {
            if let Ok((after, piece)) = self.escaped(at, &[self.query_open, self.query_close]) {
                inside.push_str(&piece);
                at = after;
            } else if self.is(at, self.query_close) {
                break;
            } else {
                let length = at.find(first).unwrap_or(at.len());
                if length == 0 {
                    break;
                }
                inside.push_str(&at[..length]);
                at = &at[length..];
            }
        }
        if inside.is_empty() {
            return fail(at);
        }
        let (after, _) = tag(self.query_close).parse(at)?;
        Ok((after, inside))
    }

    fn unclosed(&self, text: &str, offset: usize) -> Fault {
        let rest = &text[offset..];
        let (sentinel, close) = if rest.starts_with(self.query_open) {
            (self.query_open, self.query_close)
        } else {
            (self.open, self.close)
        };
        let message = if rest.matches(self.open).count() > MAX_NESTING {
            format!("references nest deeper than {MAX_NESTING}")
        } else if rest[sentinel.len().min(rest.len())..].starts_with(close) {
            format!("'{sentinel}{close}' is empty")
        } else {
            format!("'{sentinel}' is not closed by '{close}'")
        };
        Fault::new(Kind::ReferenceSyntax { message }).sub_span(offset, sentinel.len())
    }
}

/// Ends the text in front of a reference, or at the end. A text with escapes has many pieces.
fn end_literal(literal: &mut String, parts: &mut Vec<Part>) {
    if !literal.is_empty() {
        parts.push(Part::Literal(std::mem::take(literal).into()));
    }
}

/// Whether a text contains a sentinel. Nearly all texts lack even its first byte.
fn has(text: &str, sentinel: &str) -> bool {
    sentinel.bytes().next().is_none_or(|first| text.as_bytes().contains(&first))
        && find(text, sentinel).is_some()
}

/// Python's `str.expandtabs()` with eight columns, counted anew on each line.
pub(super) fn expand_tabs(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\t' => {
                let width = 8 - column % 8;
                out.extend(std::iter::repeat_n(' ', width));
                column += width;
            }
            '\n' | '\r' => {
                out.push(c);
                column = 0;
            }
            _ => {
                out.push(c);
                column += 1;
            }
        }
    }
    out
}
