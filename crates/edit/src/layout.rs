//! The layout of a file: its indentation and line breaks, so that new lines look like the others.

use reclass_base::stack::grow;
use reclass_yaml::is_break;
use reclass_yaml::outline::{NodeForm, Outline, OutlineEntry, OutlineNode};

/// The indentation of a file, taken from its first block collections.
#[derive(Clone, Debug)]
pub(super) struct Indentation {
    /// The indent of a mapping relative to its parent.
    pub(super) step: usize,
    /// The indent of a list relative to its key.
    pub(super) list: usize,
}

/// The default indent.
const STEP: usize = 2;

impl Indentation {
    pub(super) fn of(text: &str, outline: &Outline) -> Indentation {
        let mut finder = IndentationFinder { step: None, list: None };
        if let Some(root) = &outline.root {
            finder.find(text, root);
        }
        let step = finder.step.unwrap_or(STEP);
        Indentation { step, list: finder.list.unwrap_or(step) }
    }
}

struct IndentationFinder {
    step: Option<usize>,
    list: Option<usize>,
}

impl IndentationFinder {
    /// Takes the indents of the first mapping and the first list below a key.
    fn find(&mut self, text: &str, node: &OutlineNode) {
        let NodeForm::BlockMapping(pairs) = &node.form else { return };
        let outer = column(text, node.content);
        for OutlineEntry { value, .. } in pairs {
            if self.step.is_some() && self.list.is_some() {
                return;
            }
            let further = column(text, value.content).checked_sub(outer);
            match &value.form {
                NodeForm::BlockMapping(_) if self.step.is_none() => {
                    self.step = further.filter(|step| *step > 0);
                }
                NodeForm::BlockSequence(_) if self.list.is_none() => self.list = further,
                _ => {}
            }
            grow(|| self.find(text, value));
        }
    }
}

/// The start of the line of an offset, after a byte order mark.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let before = &text[..at];
    let start = before
        .rfind(is_break)
        .map_or(0, |place| place + before[place..].chars().next().map_or(1, char::len_utf8));
    if start == 0 && text.starts_with('\u{feff}') { '\u{feff}'.len_utf8().min(at) } else { start }
}

/// The end of the line of an offset: its line break, or the end of the text.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find(is_break).map_or(text.len(), |length| at + length)
}

/// The length of the line break at an offset; zero at the end of the text.
pub(super) fn break_length(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    if rest.starts_with("\r\n") { 2 } else { rest.chars().next().map_or(0, char::len_utf8) }
}

/// The line break for a new line below an offset: that of its line, or of the line before it.
pub(super) fn break_near(text: &str, at: usize) -> &'static str {
    let mut end = line_end(text, at);
    if end == text.len() {
        // The last character of the previous line break.
        end = text[..line_start(text, at)].char_indices().next_back().map_or(end, |(place, _)| place);
        if text[..end].ends_with('\r') {
            end -= 1;
        }
    }
    match &text[end..] {
        rest if rest.starts_with("\r\n") => "\r\n",
        rest if rest.starts_with('\r') => "\r",
        _ => "\n",
    }
}

/// The column in bytes; the text before a block collection is ASCII.
pub(super) fn column(text: &str, at: usize) -> usize {
    at - line_start(text, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_are_learned() {
        for (text, step, list) in [
            ("", 2, 2),
            ("a:\n    b: 1\n", 4, 4),
            ("c:\n- x\na:\r\n   b: 1\n", 3, 0),
            ("c:\r\n  - x\r\n", 2, 2),
        ] {
            let outline = Outline::read(text.as_bytes()).expect(text);
            let indentation = Indentation::of(text, &outline);
            assert_eq!((indentation.step, indentation.list), (step, list), "{text:?}");
        }
    }

    #[test]
    fn lines_end_as_their_neighbours() {
        for (text, at, line_break) in [
            ("", 0, "\n"),
            ("a", 0, "\n"),
            ("a\r\nb\nc", 0, "\r\n"),
            ("a\r\nb\nc", 3, "\n"),
            ("a\r\nb\nc", 5, "\n"),
            ("a\nb\r\nc", 5, "\r\n"),
            ("a\nb\rc", 4, "\r"),
            ("a\u{2028}b", 4, "\n"),
            ("\u{feff}a\r\n", 3, "\r\n"),
            ("\u{feff}", 3, "\n"),
        ] {
            assert_eq!(break_near(text, at), line_break, "{text:?} {at}");
        }
    }
}
