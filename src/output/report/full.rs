//! Writes the full form of a fault: a title, an excerpt of the source, and notes below it.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, Title};

use super::{Finding, Sources, remarks};
use reclass_base::error::{Error, Fault, Kind, Note, Warning, inert, is_active};
use reclass_base::secrets::MASK;
use reclass_base::source::Site;

/// Lines longer than this are not shown at all; shorter ones are cut around the marked part.
const LONGEST_EXCERPT: usize = 20_000;

/// Maximum number of causes shown; the others are counted.
const MOST_CAUSES: usize = 20;

/// The faults with excerpts of the source. `read` returns the text of a file by its path.
pub fn full(error: &Error, colour: bool, read: &dyn Fn(&str) -> Option<String>) -> String {
    let sources = Sources::new(read);
    let part = |fault: &Fault| {
        // `empty_files: error` makes an error of this warning, which is then the first.
        let is_beside = fault.kind.is_about_file() && fault != error.first();
        render(fault, if is_beside { &Level::WARNING } else { &Level::ERROR }, colour, &sources)
    };
    error.faults().iter().map(part).collect::<Vec<String>>().join("\n\n")
}

/// A warning in the same form.
pub fn full_warning(warning: &Warning, colour: bool, read: &dyn Fn(&str) -> Option<String>) -> String {
    render(warning, &Level::WARNING, colour, &Sources::new(read))
}

/// A note in the same form.
pub fn full_note(note: &Fault, colour: bool, read: &dyn Fn(&str) -> Option<String>) -> String {
    render(note, &Level::NOTE, colour, &Sources::new(read))
}

/// Findings in the same form, each for itself.
pub fn full_findings(
    findings: &[Finding],
    colour: bool,
    read: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let sources = Sources::new(read);
    let finding = |finding: &Finding| {
        let level = match finding.level {
            super::Level::Error => Level::ERROR,
            super::Level::Warning => Level::WARNING,
            super::Level::Info | super::Level::Off => Level::INFO,
        };
        render(&finding.fault, &level, colour, &sources)
    };
    findings.iter().map(finding).collect()
}

fn render(fault: &Fault, level: &Level<'static>, colour: bool, sources: &Sources<'_>) -> String {
    let heading = level.clone().primary_title(inert(&fault.kind.to_string())).id(fault.code());
    let mut groups = vec![group(heading, fault, sources)];
    let mut causes = Vec::new();
    collect_causes(fault, &mut causes);
    for cause in causes.iter().take(MOST_CAUSES) {
        let title = format!("because of {}: {}", cause.code(), inert(&cause.kind.to_string()));
        groups.push(group(Level::NOTE.secondary_title(title), cause, sources));
    }
    if let Some(rest) = causes.len().checked_sub(MOST_CAUSES).filter(|rest| *rest > 0) {
        groups.push(Group::with_title(Level::NOTE.secondary_title(format!("and {rest} more"))));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    without_lone_bars(&renderer.decor_style(DecorStyle::Unicode).render(&groups))
}

/// The text without the bars that the renderer writes between a headline and its notes, where no excerpt is.
fn without_lone_bars(text: &str) -> String {
    let shown = |line: &str| {
        let mut parts = line.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        // A colour ends with `m`.
        parts.fold(first, |line, part| line + part.split_once('m').map_or("", |(_, text)| text))
    };
    let mut below_headline = false;
    let kept = text.split('\n').filter(|line| {
        let line = shown(line);
        let is_lone = below_headline && line.trim() == "│";
        below_headline = line.starts_with(|c: char| c.is_ascii_alphabetic());
        !is_lone
    });
    kept.collect::<Vec<_>>().join("\n")
}

fn collect_causes<'a>(fault: &'a Fault, causes: &mut Vec<&'a Fault>) {
    for cause in &fault.causes {
        causes.push(cause);
        collect_causes(cause, causes);
    }
}

fn group<'a>(title: Title<'a>, fault: &Fault, sources: &Sources<'_>) -> Group<'a> {
    let mut group = Group::with_title(title);
    if let Some(site) = &fault.site {
        let line = sources.line(&site.path, site.line as usize, LONGEST_EXCERPT);
        let is_token = !matches!(fault.kind, Kind::YamlSyntax { .. });
        match line.as_deref().and_then(|line| Excerpt::of(site, line, is_token)) {
            Some(excerpt) => group = group.element(excerpt.snippet(site)),
            None => group = group.element(origin(site)),
        }
    }
    for Note { text, site } in remarks(fault) {
        let text = site.map_or_else(|| text.clone(), |site| format!("{text} at {site}"));
        group = group.element(Level::NOTE.message(inert(&text)));
    }
    if let Some(help) = fault.kind.help() {
        group = group.element(Level::HELP.message(inert(&help)));
    }
    group
}

fn origin<'a>(site: &Site) -> Origin<'a> {
    let origin = Origin::path(inert(&site.path));
    if site.line == 0 {
        return origin;
    }
    origin.line(site.line as usize).char_column(site.column as usize)
}

/// One line of a file without control characters, and the byte range of the marked part.
struct Excerpt {
    line: String,
    start: usize,
    end: usize,
}

impl Excerpt {
    /// The line at a place, if it still has the place. A place without a length marks the token that begins
    /// there, or one character.
    fn of(site: &Site, line: &str, is_token: bool) -> Option<Excerpt> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        // The parser does not count a byte order mark as a column.
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        let mut column = (site.column as usize).saturating_sub(1);
        // The line may end where a secret begins. What is in it or behind it is marked by the mask.
        if let Some(shown) = line.strip_suffix(MASK) {
            column = column.min(shown.chars().count());
        }
        if column > line.chars().count() {
            return None;
        }
        // Each character becomes exactly one, so that columns stay the same.
        let line: String = line.chars().map(shown).collect();
        let offset = |column: usize| line.char_indices().nth(column).map_or(line.len(), |(offset, _)| offset);
        let length = match site.length as usize {
            _ if line[offset(column)..] == *MASK => MASK.len(),
            0 if is_token => {
                let start = offset(column);
                token_length(&line[..start], &line[start..])
            }
            length => length,
        };
        let (start, end) = (offset(column), offset(column.saturating_add(length.max(1))));
        Some(Excerpt { line, start, end })
    }

    fn snippet<'a>(self, site: &Site) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        Snippet::source(self.line)
            .line_start(site.line as usize)
            .path(inert(&site.path))
            .annotation(AnnotationKind::Primary.span(self.start..self.end))
    }
}

/// The number of characters of the node that begins behind `before`: a text in quotes, a collection in
/// brackets, or a text up to a comment, a colon, or the comma or bracket of an enclosing collection.
fn token_length(before: &str, rest: &str) -> usize {
    let characters: Vec<char> = rest.chars().collect();
    if let Some(quote @ ('"' | '\'')) = characters.first() {
        let end = characters.iter().skip(1).position(|c| c == quote);
        return end.map_or(characters.len(), |end| end + 2);
    }
    let opened = before.matches(['[', '{']).count() > before.matches([']', '}']).count();
    let mut depth = 0usize;
    let mut length = 0;
    for (at, c) in characters.iter().enumerate() {
        let next = characters.get(at + 1).copied().unwrap_or(' ');
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' if depth > 0 => depth -= 1,
            ']' | '}' | ',' if depth == 0 && opened => break,
            ':' if depth == 0 && next.is_whitespace() => break,
            '#' if at > 0 && characters[at - 1].is_whitespace() => break,
            _ => {}
        }
        if !c.is_whitespace() {
            length = at + 1;
        }
    }
    length
}

/// The displayed form of a character: itself, or a symbol for a control character.
fn shown(c: char) -> char {
    match c {
        // The renderer replaces it with four spaces and moves the markers accordingly.
        '\t' => c,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        c if is_active(c) => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::token_length;

    #[test]
    fn tokens_end_with_their_node() {
        for (before, rest, token) in [
            ("- ", "web server  # why", "web server"),
            ("classes: [", "web, db]", "web"),
            ("classes: [", "web]", "web"),
            ("a: ", "one, two", "one, two"),
            ("a: ", "'it, x' # c", "'it, x'"),
            ("a: ", "\"open", "\"open"),
            ("- ", "role.${role::base}", "role.${role::base}"),
            ("a: ", "{x: 1}  # c", "{x: 1}"),
            ("  ", "listen: 81", "listen"),
            ("a: ", "&v {x: 1}", "&v {x: 1}"),
            ("a: {b: ", "${c:d}}", "${c:d}"),
            ("a: ", "", ""),
        ] {
            assert_eq!(token_length(before, rest), token.len(), "{before}{rest}");
        }
    }
}
