//! Guesses the slip behind a syntax error from the text around it, as help for people.
//!
//! `PyYAML` rejects the text where the grammar fails, often a line below the slip. The help names the line and
//! the mark that is missing. It never contains a word of the file, because that may be a password.

use reclass_base::error::help::{NO_BREAK, NO_BREAK_HELP, SMART_QUOTES, SMART_QUOTES_HELP};
use reclass_base::error::{Error, Fault, Kind, Note};
use reclass_base::source::Site;

// The problems that have a help, and the contexts that decide about it.
pub const NO_TOKEN: &str = "found character that cannot start any token";
pub const UNKNOWN_ESCAPE: &str = "found unknown escape character";
pub const END_OF_TEXT: &str = "found unexpected end of stream";
pub const DOCUMENT_IN_QUOTES: &str = "found unexpected document indicator";
pub const NO_COLON: &str = "could not find expected ':'";
pub const NO_VALUES: &str = "mapping values are not allowed in this context";
pub const NO_DOCUMENT: &str = "did not find expected <document start>";
pub const NO_KEY: &str = "did not find expected key";
pub const NO_DASH: &str = "did not find expected '-' indicator";
pub const NO_COMMA_IN_LIST: &str = "did not find expected ',' or ']'";
pub const NO_COMMA_IN_MAPPING: &str = "did not find expected ',' or '}'";
pub const SECOND_DOCUMENT: &str = "expected a single document in the stream, but found another document";
pub const UNDEFINED_ALIAS: &str = "found an undefined alias";
pub const IN_ALIAS: &str = "while scanning an alias";
pub const IN_ANCHOR: &str = "while scanning an anchor";
pub const IN_DIRECTIVE: &str = "while scanning a directive";
pub const IN_QUOTES: &str = "while scanning a quoted scalar";

/// Adds help to the syntax errors of a text. An unclosed quote is reported where it opens.
pub(super) fn explain(mut error: Error, bytes: &[u8]) -> Error {
    let text = String::from_utf8_lossy(bytes);
    for fault in error.faults_mut() {
        if let Kind::YamlSyntax { message, help: help @ None } = &mut fault.kind
            && let Some(site) = &fault.site
        {
            let place = SlipPlace::new(&text, site, fault.notes.first().and_then(|note| note.site.as_ref()));
            let end = message.find(" while ").unwrap_or(message.len());
            let (problem, context) = (&message[..end], message[end..].trim_start());
            *help = place.help(problem, context);
            if let Some(line) = place.conflict_marker() {
                // The grammar fails on a line below it.
                fault.site = Some(Site { line, column: 1, length: 0, path: site.path.clone() });
                fault.notes.clear();
            } else if (problem, context) == (END_OF_TEXT, IN_QUOTES) {
                report_at_opening(fault);
            }
        }
    }
    error
}

/// Exchanges the place of an error, the end of the file, with that of its note, the opening quote.
fn report_at_opening(fault: &mut Fault) {
    if let (Some(end), [Note { text, site: Some(opening) }, ..]) = (&mut fault.site, &mut fault.notes[..]) {
        std::mem::swap(end, opening);
        "the file ends".clone_into(text);
    }
}

/// The text around an error.
struct SlipPlace<'t> {
    lines: Vec<&'t str>,
    /// The index of the line of the error.
    line: usize,
    /// The line before the error and from the error on.
    before: &'t str,
    rest: &'t str,
    /// The index of the line on which the failed construct began.
    begun: Option<usize>,
}

impl<'t> SlipPlace<'t> {
    fn new(text: &'t str, site: &Site, begun: Option<&Site>) -> SlipPlace<'t> {
        let index = |site: &Site| (site.line as usize).saturating_sub(1);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
        let line = index(site);
        let whole = lines.get(line).copied().unwrap_or_default();
        let at = whole.char_indices().nth((site.column as usize).saturating_sub(1));
        let (before, rest) = whole.split_at(at.map_or(whole.len(), |(at, _)| at));
        SlipPlace { lines, line, before, rest, begun: begun.map(index) }
    }

    fn whole(&self) -> &'t str {
        self.lines.get(self.line).copied().unwrap_or_default()
    }

    /// The number of the first line that is a marker of a conflict.
    fn conflict_marker(&self) -> Option<u32> {
        let index = self.lines.iter().position(|line| is_conflict_marker(line))?;
        u32::try_from(index + 1).ok()
    }

    fn help(&self, problem: &str, context: &str) -> Option<String> {
        if self.rest.starts_with('\t') || self.indentation_has_tab() {
            return Some("indent with spaces, not with a tab".into());
        }
        if self.conflict_marker().is_some() {
            return Some("this is a marker of a conflict of git: resolve it, and remove the markers".into());
        }
        // A no-break space looks like a space, and is a letter.
        let near = self.begun.unwrap_or(self.line).min(self.line);
        if let Some(at) =
            (near..=self.line).find(|at| self.lines.get(*at).is_some_and(|line| line.contains(NO_BREAK)))
        {
            return Some(format!("line {} {NO_BREAK_HELP}", at + 1));
        }
        // Templates of Jinja, which reclass does not read.
        if self.whole().contains("{%") {
            let help =
                "reclass reads no templates: '{% … %}' belongs into files of Salt; between quotes it is text";
            return Some(help.into());
        }
        if self.whole().contains("{{") {
            let help = "'{{ … }}' needs quotes to be text; a reference to a parameter is '${path}'";
            return Some(help.into());
        }
        let quotes = |mark: char, meaning: &str| {
            Some(format!("a text that begins with '{mark}' needs quotes{meaning}"))
        };
        let begun = self.begun.map_or(0, |line| line + 1);
        match (problem, context) {
            (NO_VALUES | NO_COMMA_IN_LIST | NO_COMMA_IN_MAPPING, _) if self.has_smart_quotes() => {
                Some(SMART_QUOTES_HELP.into())
            }
            (NO_TOKEN, _) => quotes(self.rest.chars().next()?, ""),
            (UNDEFINED_ALIAS, _) if self.before.trim_end().ends_with("<<:") => Some(
                "the anchor has to stand above, in this file: '&name' behind the key of the mapping".into(),
            ),
            (UNDEFINED_ALIAS, _) | (_, IN_ALIAS) => {
                quotes('*', "; without them it refers to an anchor ('&name')")
            }
            (_, IN_ANCHOR) => quotes('&', "; without them it names an anchor"),
            (_, IN_DIRECTIVE) => quotes('%', "; without them it begins a directive of YAML"),
            (UNKNOWN_ESCAPE, _) => {
                let help = "between double quotes, '\\' begins an escape: write '\\\\', or use single quotes";
                Some(help.into())
            }
            (SECOND_DOCUMENT, _) => {
                let help =
                    "a file holds one document: remove this '---', or move the rest into a file of its own";
                Some(help.into())
            }
            (END_OF_TEXT, IN_QUOTES) => Some("this quote is not closed".into()),
            (DOCUMENT_IN_QUOTES, _) => Some(format!("the quote that opens at line {begun} is not closed")),
            (NO_COLON, _) => self.missing_colon(self.begun?),
            (NO_VALUES, _) => self.stray_colon(),
            (NO_DOCUMENT | NO_KEY | NO_DASH | NO_COMMA_IN_LIST | NO_COMMA_IN_MAPPING, _) => {
                self.early_quote().or_else(|| self.unfinished(problem, begun))
            }
            _ => None,
        }
    }

    /// A list or a mapping that does not end where it should.
    fn unfinished(&self, problem: &str, begun: usize) -> Option<String> {
        let (open, close) = match problem {
            NO_COMMA_IN_LIST => ('[', ']'),
            NO_COMMA_IN_MAPPING => ('{', '}'),
            NO_KEY | NO_DASH if self.before.trim().is_empty() => {
                return Some("indent the line like the lines around it".into());
            }
            _ => return None,
        };
        Some(format!("the '{open}' at line {begun} is not closed by '{close}', or a ',' is missing"))
    }

    /// A line that has to be a key or an entry of a list.
    fn missing_colon(&self, index: usize) -> Option<String> {
        let line = self.lines.get(index)?.trim_start();
        let number = index + 1;
        let above = self.lines.get(..index)?.iter().rposition(|line| !line.trim().is_empty());
        if let Some(above) = above.filter(|above| begins_block_text(self.lines[*above])) {
            return Some(format!("indent the text more than line {}, which it belongs to", above + 1));
        }
        let dash =
            line.strip_prefix('-').is_some_and(|rest| !rest.starts_with([' ', '-']) && !rest.is_empty());
        Some(if dash {
            format!("a space is missing after the '-' at line {number}")
        } else if has_tight_colon(line) {
            format!("a space is missing after the ':' at line {number}")
        } else if above.is_some_and(|above| has_value(self.lines[above])) {
            format!(
                "a ':' is missing at line {number}; or the line continues the text above it: indent it more, or \
                 write '|' behind the key and the text below it"
            )
        } else {
            format!("a ':' is missing at line {number}")
        })
    }

    /// A colon where no key can be.
    fn stray_colon(&self) -> Option<String> {
        if has_colon(self.before) {
            return Some("a text with ': ' in it needs quotes".into());
        }
        let content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let (above, line) =
            self.lines.get(..self.line)?.iter().enumerate().rev().find(|(_, line)| content(line))?;
        let text = line.trim_end();
        if !has_colon(text) {
            return self.missing_colon(above);
        }
        Some(format!(
            "indent the key like the keys around it: the indentation of line {} is different",
            above + 1
        ))
    }

    /// A quote that closes before the text does.
    fn early_quote(&self) -> Option<String> {
        let before = self.before.trim_end();
        let quote = before.chars().next_back().filter(|quote| ['"', '\''].contains(quote))?;
        let inside = &before[..before.len() - 1];
        if !inside.contains(quote)
            && let Some(above) = self.lines.get(..self.line)?.iter().rposition(|line| line.contains(quote))
        {
            let number = above + 1;
            return Some(format!(
                "the quotes close here that open at line {number}: one may be missing there"
            ));
        }
        let written = if quote == '"' { "\\\"" } else { "''" };
        Some(format!("the quotes close here; between them, write {written} for {quote}"))
    }

    /// Whether a value of the line begins with quotes of a word processor.
    fn has_smart_quotes(&self) -> bool {
        self.before.match_indices(SMART_QUOTES).any(|(at, _)| {
            let before = self.before[..at].trim_end();
            before.is_empty() || before.ends_with([':', '-', '[', '{', ','])
        })
    }

    fn indentation_has_tab(&self) -> bool {
        let line = self.whole();
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        line[..blank].contains('\t')
    }
}

/// Whether a text consists of such words, as `a:1 b:2`: keys and values, if spaces are missing.
pub fn is_tight_mapping(text: &str) -> bool {
    !text.trim().is_empty() && text.split_whitespace().all(has_tight_colon)
}

/// Whether the value of a line is the text in the lines below it.
fn begins_block_text(line: &str) -> bool {
    let end = line.trim_end().trim_end_matches(['-', '+']);
    end.ends_with(" |") || end.ends_with(" >")
}

/// Whether a line has a key and a text behind it, which further lines may continue.
fn has_value(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(_, value)| value.trim().starts_with(|c| !"{[|>&*!#\"'".contains(c)))
}

/// Whether git wrote the line into a file with a conflict.
fn is_conflict_marker(line: &str) -> bool {
    ["<<<<<<< ", ">>>>>>> ", "||||||| "].iter().any(|marker| line.starts_with(marker))
}

/// Whether a line has a key: a colon before a blank or the end.
fn has_colon(line: &str) -> bool {
    line.contains(": ") || line.trim_end().ends_with(':')
}

/// Whether a line has a colon that is part of a text, as in `a:1`, and that no address needs.
fn has_tight_colon(line: &str) -> bool {
    !line.contains("://") && line.split_once(':').is_some_and(|(key, _)| !key.is_empty())
}
