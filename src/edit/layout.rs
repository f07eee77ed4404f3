//! Layout learns from a file how its author writes: line breaks, indentation, lists below keys.

use crate::yaml::outline::{Form, Outline, Pair, Piece};

/// The habits of a file.
#[derive(Clone, Debug)]
pub(super) struct Habits {
    /// `\n`, `\r\n` or `\r`.
    pub(super) line_break: &'static str,
    /// How much further in a mapping stands than the one around it.
    pub(super) step: usize,
    /// How much further in a list stands than the key before it.
    pub(super) list: usize,
}

/// What people use who use anything.
const STEP: usize = 2;

impl Habits {
    pub(super) fn of(text: &str, outline: &Outline) -> Habits {
        let line_break = match text.find(['\r', '\n']).map(|end| &text[end..]) {
            Some(rest) if rest.starts_with("\r\n") => "\r\n",
            Some(rest) if rest.starts_with('\r') => "\r",
            _ => "\n",
        };
        let mut seen = Seen { step: None, list: None };
        if let Some(root) = &outline.root {
            seen.look(text, root);
        }
        let step = seen.step.unwrap_or(STEP);
        Habits { line_break, step, list: seen.list.unwrap_or(step) }
    }
}

struct Seen {
    step: Option<usize>,
    list: Option<usize>,
}

impl Seen {
    /// The first mapping and the first list below a key count.
    fn look(&mut self, text: &str, piece: &Piece) {
        let Form::BlockMapping(pairs) = &piece.form else { return };
        let outer = column(text, piece.content);
        for Pair { value, .. } in pairs {
            if self.step.is_some() && self.list.is_some() {
                return;
            }
            let further = column(text, value.content).checked_sub(outer);
            match &value.form {
                Form::BlockMapping(_) if self.step.is_none() => self.step = further.filter(|step| *step > 0),
                Form::BlockSequence(_) if self.list.is_none() => self.list = further,
                _ => {}
            }
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.look(text, value));
        }
    }
}

/// The first byte of the line of a place; a byte order mark is before it.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let before = &text[..at];
    let start = before
        .rfind(is_break)
        .map_or(0, |place| place + before[place..].chars().next().map_or(1, char::len_utf8));
    if start == 0 && text.starts_with('\u{feff}') { '\u{feff}'.len_utf8().min(at) } else { start }
}

/// Where the line of a place ends: its line break, or the end of the text.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find(is_break).map_or(text.len(), |length| at + length)
}

/// The length of the line break at a place; zero at the end of the text.
pub(super) fn break_length(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    if rest.starts_with("\r\n") { 2 } else { rest.chars().next().map_or(0, char::len_utf8) }
}

/// In bytes: before a block collection stand only spaces and indicators.
pub(super) fn column(text: &str, at: usize) -> usize {
    at - line_start(text, at)
}

/// The line breaks of YAML 1.1.
pub(super) fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_are_learned() {
        for (text, step, list, line_break) in [
            ("", 2, 2, "\n"),
            ("a:\n    b: 1\n", 4, 4, "\n"),
            ("c:\n- x\na:\r\n   b: 1\n", 3, 0, "\n"),
            ("c:\r\n  - x\r\n", 2, 2, "\r\n"),
        ] {
            let outline = Outline::read(text.as_bytes()).expect(text);
            let habits = Habits::of(text, &outline);
            assert_eq!((habits.step, habits.list, habits.line_break), (step, list, line_break), "{text:?}");
        }
    }
}
