//! The difference that an edit makes in a file, in the format of `diff -u`, without secrets.

use std::fmt::Write as _;
use std::ops::Range;

use similar::{Algorithm, capture_diff_slices, group_diff_ops};

/// A text of a file, and the same lines without secrets.
#[derive(Debug)]
pub struct ShownText {
    /// The text.
    pub text: String,
    /// As many lines, which may be shown.
    pub shown: String,
}

/// The lines that differ, as they may be shown, with this many lines around them; empty if a text is too long to be
/// shown.
pub fn unified(before: Option<&ShownText>, after: Option<&ShownText>, path: &str, context: usize) -> String {
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
    for hunk in group_diff_ops(capture_diff_slices(Algorithm::Myers, &old, &new), context) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        if out.is_empty() {
            let name = |side: Option<&ShownText>| if side.is_some() { path } else { "/dev/null" };
            // Writing to a string cannot fail.
            let _ = writeln!(out, "--- {}\n+++ {}", name(before), name(after));
        }
        let gone = first.old_range().start..last.old_range().end;
        let come = first.new_range().start..last.new_range().end;
        let _ = writeln!(out, "@@ -{} +{} @@", place(&gone), place(&come));
        for change in hunk.iter().flat_map(|op| op.iter_changes(&old_shown, &new_shown)) {
            let line = change.value();
            let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            let _ = write!(out, "{}{line}{end}", change.tag());
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
