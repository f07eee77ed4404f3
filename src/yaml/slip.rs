//! Guesses the slip behind a syntax error from the text around it, as help for people.
//!
//! `PyYAML` rejects the text where the grammar fails, often a line below the slip. The help names the line and
//! the mark that is missing. It never contains a word of the file, because that may be a password.

use crate::base::error::{Error, Fault, Kind, Note};
use crate::base::source::Site;

/// Adds help to the syntax errors of a text. An unclosed quote is reported where it opens.
pub(super) fn explain(mut error: Error, bytes: &[u8]) -> Error {
    let text = String::from_utf8_lossy(bytes);
    for fault in error.faults_mut() {
        if let Kind::YamlSyntax { message, help: None } = &fault.kind
            && let Some(site) = &fault.site
        {
            let place = SlipPlace::new(&text, site, fault.notes.first().and_then(|note| note.site.as_ref()));
            let found = place.help(message);
            if message.starts_with("found unexpected end of stream while scanning a quoted") {
                report_at_opening(fault);
            }
            if let Kind::YamlSyntax { help, .. } = &mut fault.kind {
                *help = found;
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

    fn help(&self, message: &str) -> Option<String> {
        let is = |begin: &str| message.starts_with(begin);
        if is("control character U+0000") || is("invalid UTF-8") && self.line == 0 && self.is_utf16() {
            return Some("the file looks like UTF-16; save it as UTF-8".into());
        }
        if is("invalid UTF-8") {
            return Some("save the file as UTF-8".into());
        }
        if is("control character") {
            return Some(
                "remove the character, or write it as an escape between double quotes, such as \"\\x07\""
                    .into(),
            );
        }
        if self.rest.starts_with('\t') || self.indentation_has_tab() {
            return Some("indent with spaces, not with a tab".into());
        }
        self.template_help().or_else(|| self.mark_help(message)).or_else(|| self.structure_help(message))
    }

    /// Templates of Jinja, which reclass does not read.
    fn template_help(&self) -> Option<String> {
        if self.whole().contains("{%") {
            let help =
                "reclass reads no templates: '{% … %}' belongs into files of Salt; between quotes it is text";
            return Some(help.into());
        }
        self.whole()
            .contains("{{")
            .then(|| "'{{ … }}' needs quotes to be text; a reference to a parameter is '${path}'".into())
    }

    /// Marks that begin something else than a text.
    fn mark_help(&self, message: &str) -> Option<String> {
        let quotes = |mark: char, meaning: &str| {
            Some(format!("a text that begins with '{mark}' needs quotes{meaning}"))
        };
        if message.starts_with("found character that cannot start any token") {
            return quotes(self.rest.chars().next()?, "");
        }
        if message.starts_with("found an undefined alias") || message.ends_with("while scanning an alias") {
            return quotes('*', "; without them it refers to an anchor ('&name')");
        }
        if message.ends_with("while scanning an anchor") {
            return quotes('&', "; without them it names an anchor");
        }
        if message.ends_with("directive name") || message.ends_with("while scanning a directive") {
            return quotes('%', "; without them it begins a directive of YAML");
        }
        if message.starts_with("found unknown escape character") {
            let help = "between double quotes, '\\' begins an escape: write '\\\\', or use single quotes";
            return Some(help.into());
        }
        None
    }

    /// Colons, quotes, brackets and indentation that do not fit.
    fn structure_help(&self, message: &str) -> Option<String> {
        let is = |begin: &str| message.starts_with(begin);
        let begun = self.begun.map_or(0, |line| line + 1);
        if is("expected a single document") {
            let help =
                "a file holds one document: remove this '---', or move the rest into a file of its own";
            return Some(help.into());
        }
        if is("found unexpected end of stream while scanning a quoted") {
            return Some("this quote is not closed".into());
        }
        if is("found unexpected document indicator") {
            return Some(format!("the quote that opens at line {begun} is not closed"));
        }
        if is("could not find expected ':'") {
            return self.missing_colon(self.begun?);
        }
        if is("mapping values are not allowed") {
            return self.stray_colon();
        }
        if is("did not find expected")
            && let Some(help) = self.early_quote()
        {
            return Some(help);
        }
        if is("did not find expected ',' or") {
            let (open, close) = if message.contains("']'") { ('[', ']') } else { ('{', '}') };
            return Some(format!(
                "the '{open}' at line {begun} is not closed by '{close}', or a ',' is missing"
            ));
        }
        if is("did not find expected key") || is("did not find expected '-' indicator") {
            let first = self.before.trim().is_empty();
            return first.then(|| "the line needs the indentation of its neighbours".into());
        }
        None
    }

    /// A line that has to be a key or an entry of a list.
    fn missing_colon(&self, index: usize) -> Option<String> {
        let line = self.lines.get(index)?.trim_start();
        let number = index + 1;
        let dash =
            line.strip_prefix('-').is_some_and(|rest| !rest.starts_with([' ', '-']) && !rest.is_empty());
        Some(if dash {
            format!("a space is missing after the '-' at line {number}")
        } else if has_tight_colon(line) {
            format!("a space is missing after the ':' at line {number}")
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
        Some(format!("the key needs the indentation of its neighbours: line {} is different", above + 1))
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

    fn indentation_has_tab(&self) -> bool {
        let line = self.whole();
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        line[..blank].contains('\t')
    }

    /// Whether the first bytes, which are not UTF-8, are the mark of UTF-16.
    fn is_utf16(&self) -> bool {
        self.before.is_empty() && self.rest.starts_with("\u{fffd}\u{fffd}")
    }
}

/// Whether a line has a key: a colon before a blank or the end.
fn has_colon(line: &str) -> bool {
    line.contains(": ") || line.trim_end().ends_with(':')
}

/// Whether a line has a colon that is part of a text, as in `a:1`, and that no address needs.
fn has_tight_colon(line: &str) -> bool {
    !line.contains("://") && line.split_once(':').is_some_and(|(key, _)| !key.is_empty())
}
