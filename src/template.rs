//! Templates turn a string with `${references}` into its parts, each with its byte positions.
//!
//! The grammar is the one of the Python forks (`values/parser_funcs.py` there), quirks
//! included: an escape is only looked for where a new piece of text begins, so in `a\\}`
//! both backslashes stay, and a sentinel that is not closed is an error.
//! Sentinels and escape character are settings.

use std::cell::RefCell;
use std::hash::Hasher;
use std::sync::{Arc, Weak};

use nom::IResult;
use nom::Parser;
use nom::bytes::complete::{tag, take_till1};
use nom::combinator::recognize;
use nom::error::{Error as NomError, ErrorKind, ParseError};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::error::{Fault, Kind};
use crate::keys::Keys;
use crate::query::Query;
use crate::settings::Settings;
use crate::table::Table;
use crate::value::{Key, Text, Value};

/// A string that holds at least one reference.
#[derive(Clone, PartialEq, Debug)]
pub struct Template {
    /// The text as written.
    pub source: Text,
    /// Its parts in order; a single reference keeps the type of what it finds (R1).
    pub parts: Vec<Part>,
}

/// A piece of a template, or of the inside of a reference.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// Text, escapes already applied.
    Literal(Text),
    /// `${…}`.
    Reference(Reference),
}

/// One `${…}`.
#[derive(Clone, PartialEq, Debug)]
pub struct Reference {
    /// What stands between the sentinels.
    pub parts: Vec<Part>,
    /// The path, where the inside holds no other reference.
    pub fixed: Option<FixedPath>,
    /// Byte offset and length in the text of the scalar, sentinels included.
    pub span: (usize, usize),
    /// The text as written, sentinels included, for messages. The default is left out:
    /// it is a value.
    pub written: Text,
}

/// The inside of a reference, split: `path::default`.
#[derive(Clone, PartialEq, Debug)]
pub struct FixedPath {
    /// The keys.
    pub segments: Vec<Text>,
    /// The text of the default (R7).
    pub default: Option<Text>,
}

/// What a string turned out to be.
#[derive(Clone, PartialEq, Debug)]
pub enum Parsed {
    /// Plain text, escapes applied.
    Text(Text),
    /// Text with references.
    Template(Arc<Template>),
    /// One inventory query and nothing else.
    Query(Query),
}

/// Reads a string. Strings without a sentinel come back as they are.
pub fn parse(source: &Text, settings: &Settings) -> Result<Parsed, Fault> {
    let grammar = Grammar::new(settings);
    if grammar.is_plain(source) {
        return Ok(Parsed::Text(source.clone()));
    }
    let expanded;
    let text: &Text = if settings.compat_flags.expand_tabs && source.contains('\t') {
        expanded = expand_tabs(source).into();
        &expanded
    } else {
        source
    };
    grammar.line(text)
}

/// Whether a text holds a sentinel. Nearly all do not even hold its first byte.
fn has(text: &str, sentinel: &str) -> bool {
    sentinel.bytes().next().is_none_or(|first| text.as_bytes().contains(&first))
        && find(text, sentinel).is_some()
}

/// The strings of an inventory: one allocation for each distinct one, and one template.
///
/// All calls must be with the same settings. What nobody else has any longer goes when there has come as
/// much again as there was: a process that lives for months reads many versions of a file.
#[derive(Debug, Default)]
pub struct Pool {
    strings: Mutex<Strings>,
    templates: Mutex<FxHashMap<Text, Arc<Template>>>,
    /// Those of mappings, by a number for their strings.
    keys: Mutex<FxHashMap<u64, Weak<Keys>>>,
}

#[derive(Debug, Default)]
struct Strings {
    known: FxHashSet<Text>,
    /// How many were in use when that was last looked at.
    used: usize,
}

/// How many strings may come before it is worth looking for those that nobody has any longer.
const CROWD: usize = 16_384;

impl Pool {
    /// The pool for one thread, which asks for each string once.
    pub fn words(&self) -> Words<'_> {
        Words { pool: self, strings: RefCell::default() }
    }

    fn text(&self, text: &str) -> Text {
        let strings = &mut *self.strings.lock();
        if let Some(known) = strings.known.get(text) {
            return known.clone();
        }
        if strings.known.len() > CROWD + 2 * strings.used {
            self.templates.lock().retain(|_, template| Arc::strong_count(template) > 1);
            strings.known.retain(|text| !text.is_alone());
            strings.used = strings.known.len();
            strings.known.shrink_to(2 * strings.used);
        }
        let text = Text::from(text);
        if strings.known.is_empty() {
            strings.known.reserve(MANY);
        }
        strings.known.insert(text.clone());
        text
    }
}

/// As many strings as a node has with all its classes, about: room for them is made at once.
const MANY: usize = 800;

/// A number for strings in their order, that have one allocation each.
fn fingerprint<'k>(keys: impl Iterator<Item = &'k Key>) -> Option<u64> {
    let mut hasher = FxHasher::default();
    for key in keys {
        let Value::Str(text) = &key.0 else { return None };
        hasher.write_usize(text.address());
    }
    Some(hasher.finish())
}

/// What one thread knows of a [`Pool`].
#[derive(Debug)]
pub struct Words<'p> {
    pool: &'p Pool,
    strings: RefCell<FxHashSet<Text>>,
}

impl Words<'_> {
    /// The one allocation of a string.
    pub fn text(&self, text: &str) -> Text {
        let mut strings = self.strings.borrow_mut();
        if let Some(known) = strings.get(text) {
            return known.clone();
        }
        let text = self.pool.text(text);
        if strings.is_empty() {
            strings.reserve(MANY);
        }
        strings.insert(text.clone());
        text
    }

    /// The index that others with the same keys have.
    pub fn keys<'k>(&self, keys: impl ExactSizeIterator<Item = &'k Key> + Clone) -> Option<Arc<Keys>> {
        let number = fingerprint(keys.clone())?;
        let known = self.pool.keys.lock().get(&number).and_then(Weak::upgrade)?;
        known.are(keys).then_some(known)
    }

    /// Gives a mapping the index that others with the same keys have.
    pub fn share_keys<V>(&self, mapping: &mut Table<V>) {
        let Some(number) = fingerprint(mapping.keys()) else { return };
        let mut shared = self.pool.keys.lock();
        if let Some(known) = shared.get(&number).and_then(Weak::upgrade)
            && mapping.take_keys(&known)
        {
            return;
        }
        if shared.len() >= CROWD / 16 && shared.len().is_power_of_two() {
            shared.retain(|_, keys| keys.strong_count() > 0);
        }
        shared.insert(number, Arc::downgrade(mapping.shared_keys()));
    }

    /// Reads a string as [`parse`] does.
    pub fn parse(&self, source: &Text, settings: &Settings) -> Result<Parsed, Fault> {
        if Grammar::new(settings).is_plain(source) {
            return Ok(Parsed::Text(source.clone()));
        }
        if let Some(template) = self.pool.templates.lock().get(source) {
            return Ok(Parsed::Template(template.clone()));
        }
        let parsed = parse(source, settings)?;
        match &parsed {
            Parsed::Text(plain) if !plain.same(source) => Ok(Parsed::Text(self.text(plain))),
            Parsed::Template(template) => {
                let mut templates = self.pool.templates.lock();
                Ok(Parsed::Template(templates.entry(source.clone()).or_insert(template.clone()).clone()))
            }
            _ => Ok(parsed),
        }
    }
}

/// A path in the notation of references: a delimiter inside of a key is escaped (R8).
pub fn join_path(path: &[Key], delimiter: &str) -> String {
    let escaped = format!("\\{delimiter}");
    let keys: Vec<String> =
        path.iter().map(|key| crate::pystr::str(&key.0).replace(delimiter, &escaped)).collect();
    keys.join(delimiter)
}

/// Splits a path at the delimiters that are not escaped; `\:` is a delimiter inside of a key (R8).
pub fn split_path(text: &str, delimiter: &str) -> Vec<Text> {
    let mut segments = Vec::new();
    let mut segment = String::new();
    let mut rest = text;
    loop {
        match find(rest, delimiter) {
            Some(at) if rest[..at].ends_with('\\') => {
                segment.push_str(&rest[..at - 1]);
                segment.push_str(delimiter);
                rest = &rest[at + delimiter.len()..];
            }
            Some(at) => {
                segments.push(behind(&mut segment, &rest[..at]));
                rest = &rest[at + delimiter.len()..];
            }
            None => {
                segments.push(behind(&mut segment, rest));
                return segments;
            }
        }
    }
}

/// A text with what came before it, mostly nothing.
fn behind(before: &mut String, text: &str) -> Text {
    if before.is_empty() {
        return text.into();
    }
    before.push_str(text);
    std::mem::take(before).into()
}

/// Splits the flattened inside of a reference into path and default (R7).
pub fn split_default(inside: &str, delimiter: &str) -> FixedPath {
    match find_default(inside, delimiter) {
        Some((path, default)) => {
            FixedPath { segments: split_path(path, delimiter), default: Some(default.into()) }
        }
        None => FixedPath { segments: split_path(inside, delimiter), default: None },
    }
}

/// The path and the default, where there is one.
fn find_default<'t>(inside: &'t str, delimiter: &str) -> Option<(&'t str, &'t str)> {
    let mut from = 0;
    loop {
        let at = from + find(&inside[from..], delimiter)?;
        let behind = &inside[at + delimiter.len()..];
        if let Some(default) = behind.strip_prefix(delimiter) {
            return Some((&inside[..at], default));
        }
        from = at + first_char(&inside[at..]);
    }
}

/// Where a text that is not empty stands first in another. The search of `str` gets ready for long
/// ones, which takes longer than to look through a short one.
fn find(text: &str, wanted: &str) -> Option<usize> {
    if let [byte] = wanted.as_bytes() {
        return text.bytes().position(|other| other == *byte);
    }
    if text.len() > 1000 {
        return text.find(wanted);
    }
    text.as_bytes().windows(wanted.len()).position(|here| here == wanted.as_bytes())
}

/// Python's `str.expandtabs()`: eight columns, which start anew on each line.
fn expand_tabs(text: &str) -> String {
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

/// The sentinels, and what may follow what.
struct Grammar<'s> {
    open: &'s str,
    close: &'s str,
    query_open: &'s str,
    query_close: &'s str,
    escape: &'s str,
    delimiter: &'s str,
}

/// The nesting of references that is followed before a limit is reported.
const MAX_NESTING: usize = 200;

type Step<'t, T> = IResult<&'t str, T>;

fn fail<T>(at: &str) -> Step<'_, T> {
    Err(nom::Err::Error(NomError::from_error_kind(at, ErrorKind::Tag)))
}

impl<'s> Grammar<'s> {
    fn new(settings: &'s Settings) -> Grammar<'s> {
        Grammar {
            open: &settings.reference_sentinels.0,
            close: &settings.reference_sentinels.1,
            query_open: &settings.export_sentinels.0,
            query_close: &settings.export_sentinels.1,
            escape: &settings.escape_character,
            delimiter: &settings.delimiter,
        }
    }

    /// Whether nothing in a text begins with a sentinel.
    fn is_plain(&self, text: &str) -> bool {
        !has(text, self.open) && !has(text, self.query_open)
    }

    fn line(&self, text: &Text) -> Result<Parsed, Fault> {
        let mut parts: Vec<Part> = Vec::new();
        let mut queries: Vec<(Query, usize, usize)> = Vec::new();
        let mut rest: &str = text;
        while !rest.is_empty() {
            let offset = text.len() - rest.len();
            if rest.starts_with(self.open) {
                let (after, reference) =
                    self.reference(text, rest, 0).map_err(|_| self.unclosed(text, offset))?;
                parts.push(Part::Reference(reference));
                rest = after;
            } else if rest.starts_with(self.query_open) {
                let (after, inside) = self.query(rest).map_err(|_| self.unclosed(text, offset))?;
                let length = rest.len() - after.len();
                let query = crate::query::parse(&inside, self.delimiter)
                    .map_err(|message| Fault::new(Kind::QuerySyntax { message }).within(offset, length))?;
                queries.push((query, offset, length));
                rest = after;
            } else {
                let (after, piece) = self.text(rest).map_err(|_| self.unclosed(text, offset))?;
                match parts.last_mut() {
                    Some(Part::Literal(before)) => *before = format!("{before}{piece}").into(),
                    _ => parts.push(Part::Literal(piece.into())),
                }
                rest = after;
            }
        }
        if let Some((query, offset, length)) = queries.pop() {
            if parts.is_empty() && queries.is_empty() {
                return Ok(Parsed::Query(query));
            }
            let query = query.source.to_string();
            return Err(Fault::new(Kind::QueryEmbedded { query }).within(offset, length));
        }
        Ok(match parts.as_slice() {
            [] => Parsed::Text(text.clone()),
            [Part::Literal(only)] => Parsed::Text(only.clone()),
            _ => Parsed::Template(Arc::new(Template { source: text.clone(), parts })),
        })
    }

    /// A piece of text outside of references.
    fn text<'t>(&self, rest: &'t str) -> Step<'t, String> {
        if let Ok(found) = self.escaped(rest, &[self.open, self.query_open]) {
            return Ok(found);
        }
        self.content(rest, |at| self.opens(at), "")
    }

    /// A piece of text inside of a reference.
    fn inner_text<'t>(&self, rest: &'t str) -> Step<'t, String> {
        if let Ok(found) = self.escaped(rest, &[self.open, self.close]) {
            return Ok(found);
        }
        let stop = |at: &str| self.is(at, self.open) || self.is(at, self.close);
        self.content(rest, stop, &self.close[..first_char(self.close)])
    }

    /// A doubled escape in front of any sentinel, or an escaped sentinel of those given.
    fn escaped<'t>(&self, rest: &'t str, sentinels: &[&str]) -> Step<'t, String> {
        let (after, _) = tag(self.escape).parse(rest)?;
        if let Some(sentinel) = after.strip_prefix(self.escape)
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

    /// The characters of the sentinels.
    fn special(&self) -> impl Fn(char) -> bool {
        let all = [self.escape, self.open, self.close, self.query_open, self.query_close];
        // Those of ASCII, one bit for each.
        let bit = |byte: u8| if byte.is_ascii() { 1_u128 << byte } else { 0 };
        let ascii = all.iter().flat_map(|s| s.bytes()).fold(0, |bits, byte| bits | bit(byte));
        move |c: char| match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() => ascii & bit(byte) != 0,
            _ => all.iter().any(|s| s.contains(c)),
        }
    }

    /// The inside of a reference where it is without any of them, as in most: what [`Self::inner_text`]
    /// would make of it.
    fn plain_inside<'t>(&self, rest: &'t str) -> Option<&'t str> {
        let (inside, after) = rest.split_at(rest.find(self.special())?);
        let ends =
            after.starts_with(self.close) && !after.starts_with(self.open) && !after.starts_with(self.escape);
        (ends && !inside.is_empty()).then_some(inside)
    }

    /// Characters up to where `stop` holds; a special character counts alone.
    fn content<'t>(&self, rest: &'t str, stop: impl Fn(&str) -> bool, never: &str) -> Step<'t, String> {
        let plain = recognize(take_till1::<_, &str, NomError<&str>>(self.special()));
        let mut plain = plain;
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

    /// Whether a sentinel stands here, plain, escaped or behind a doubled escape.
    fn is(&self, at: &str, sentinel: &str) -> bool {
        at.starts_with(sentinel)
            || at.strip_prefix(self.escape).is_some_and(|at| {
                at.starts_with(sentinel)
                    || at.strip_prefix(self.escape).is_some_and(|at| at.starts_with(sentinel))
            })
    }

    fn opens(&self, at: &str) -> bool {
        self.is(at, self.open) || self.is(at, self.query_open)
    }

    fn reference<'t>(&self, whole: &str, rest: &'t str, depth: usize) -> Step<'t, Reference> {
        if depth > MAX_NESTING {
            return fail(rest);
        }
        let (mut at, _) = tag(self.open).parse(rest)?;
        let mut parts: Vec<Part> = Vec::new();
        let plain = self.plain_inside(at);
        if let Some(inside) = plain {
            parts.push(Part::Literal(inside.into()));
            at = &at[inside.len()..];
        }
        while plain.is_none() {
            // Where both sentinels are the same, the next one closes.
            if at.starts_with(self.open) && self.open != self.close {
                let (after, inner) = self.reference(whole, at, depth + 1)?;
                parts.push(Part::Reference(inner));
                at = after;
            } else if let Ok((after, piece)) = self.inner_text(at) {
                match parts.last_mut() {
                    Some(Part::Literal(before)) => *before = format!("{before}{piece}").into(),
                    _ => parts.push(Part::Literal(piece.into())),
                }
                at = after;
            } else {
                break;
            }
        }
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

    /// A reference as it is written, without its default and those of the references in it.
    fn without_default(&self, whole: &str, inside: std::ops::Range<usize>, parts: &[Part]) -> Text {
        let mut written = self.open.to_owned();
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

    /// The inside of `$[…]`.
    fn query<'t>(&self, rest: &'t str) -> Step<'t, String> {
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
        Fault::new(Kind::ReferenceSyntax { message }).within(offset, sentinel.len())
    }
}

fn first_char(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Map;

    fn show(text: &str) -> String {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        match parse(&text.into(), &settings) {
            Ok(Parsed::Text(text)) => format!("text {text}"),
            Ok(Parsed::Template(template)) => inside(&template.parts),
            Ok(Parsed::Query(query)) => format!("query {}", query.source),
            Err(fault) => format!("error {}", fault.kind),
        }
    }
    fn inside(parts: &[Part]) -> String {
        parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => format!("'{text}'"),
                Part::Reference(inner) => format!("<{}>", inside(&inner.parts)),
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn strings_that_nobody_has_any_longer_are_forgotten() {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        let pool = Pool::default();
        let kept = pool.words().text("${kept}");
        let template = pool.words().parse(&kept, &settings).expect("a reference");
        for number in 0..5 * CROWD {
            let words = pool.words();
            words.parse(&words.text(&format!("${{a{number}}}")), &settings).expect("a reference");
        }
        assert!(pool.strings.lock().known.len() <= CROWD + 10);
        assert!(pool.templates.lock().len() <= CROWD + 10);
        assert!(pool.words().text("${kept}").same(&kept));
        let (Parsed::Template(before), Ok(Parsed::Template(now))) =
            (template, pool.words().parse(&kept, &settings))
        else {
            panic!("templates");
        };
        assert!(Arc::ptr_eq(&before, &now));
    }

    #[test]
    fn strings_fall_into_parts() {
        for (text, expected) in [
            ("plain } ] $ { \\", "text plain } ] $ { \\"),
            ("${a}", "<'a'>"),
            ("x ${a:b} y", "'x ' <'a:b'> ' y'"),
            ("${a:${b}:c}", "<'a:' <'b'> ':c'>"),
            (r"\${a}", "text ${a}"),
            (r"\\${a}", r"'\' <'a'>"),
            (r"\\\${a}", r"'\\' <'a'>"),
            (r"${a\:b}", r"<'a\:b'>"),
            (r"${a\}b}", r"<'a}b'>"),
            (r"\$[ a ]", "text $[ a ]"),
            ("${a", "error '${' is not closed by '}'"),
            ("${}", "error '${}' is empty"),
            ("${a}}", "<'a'> '}'"),
            (r"${a} \\} b", r"<'a'> ' \\} b'"),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
    }

    #[test]
    fn references_are_told_without_defaults() {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        for (text, expected) in [
            ("${a::b}", "${a}"),
            ("x ${t:${a::b}}", "${t:${a}}"),
            ("${t:${a::b}:c::${d}}", "${t:${a}:c}"),
            ("${t::${a::b}}", "${t}"),
            ("${t:${a:${b::c}}x}", "${t:${a:${b}}x}"),
        ] {
            let Ok(Parsed::Template(template)) = parse(&text.into(), &settings) else { panic!("{text}") };
            let Some(Part::Reference(reference)) = template.parts.last() else { panic!("{text}") };
            assert_eq!(&*reference.written, expected, "{text}");
        }
    }

    #[test]
    fn paths_split_at_plain_delimiters() {
        let split = |text: &str| split_path(text, ":").iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(split("a:b"), ["a", "b"]);
        assert_eq!(split(r"a\:b:c"), ["a:b", "c"]);
        assert_eq!(split(""), [""]);
        assert_eq!(split("a:"), ["a", ""]);
    }
}
