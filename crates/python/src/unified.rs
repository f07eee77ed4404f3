//! The difference that an edit makes in a file, in the format of `diff -u`, without secrets.

use std::fmt::Write as _;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// A text of a file, and the same lines without secrets.
pub struct ShownText {
    pub text: String,
    /// As many lines, which may be shown.
    pub shown: String,
}

/// The lines that differ, as they may be shown; empty if a text is too long to be shown. There are no lines around
/// them, because these may hold values that the reader has no need to know.
pub fn unified(before: Option<&ShownText>, after: Option<&ShownText>, path: &str) -> String {
    let lines = |side: Option<&ShownText>, shown: bool| -> Vec<String> {
        let text = side.map_or("", |side| if shown { &side.shown } else { &side.text });
        text.split_inclusive('\n').map(str::to_owned).collect()
    };
    let (old, new) = (lines(before, false), lines(after, false));
    let (old_shown, new_shown) = (lines(before, true), lines(after, true));
    if (old.len(), new.len()) != (old_shown.len(), new_shown.len()) {
        return String::new();
    }
    let mut out = String::new();
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        if out.is_empty() {
            let name = |side: Option<&ShownText>| if side.is_some() { path } else { "/dev/null" };
            // Writing to a string cannot fail.
            let _ = writeln!(out, "--- {}\n+++ {}", name(before), name(after));
        }
        let (gone, come) = (op.old_range(), op.new_range());
        let _ = writeln!(out, "@@ -{} +{} @@", place(&gone), place(&come));
        for (sign, line) in old_shown[gone]
            .iter()
            .map(|line| ('-', line))
            .chain(new_shown[come].iter().map(|line| ('+', line)))
        {
            let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            let _ = write!(out, "{sign}{line}{end}");
        }
    }
    out
}

/// The first line and the number of lines. Without lines, the line before them.
fn place(lines: &Range<usize>) -> String {
    match lines.len() {
        1 => (lines.start + 1).to_string(),
        0 => format!("{},0", lines.start),
        number => format!("{},{number}", lines.start + 1),
    }
}
