//! Keeps the places of findings while a text changes: a check has looked at one text, and people type on.

use std::cell::LazyCell;

use reclass::Finding;
use reclass::source::Site;

/// Moves the places in a file to where their lines are in its new text. Findings in lines that changed go; if one of
/// the texts is not known, these are all.
pub fn follow(findings: &mut Vec<Finding>, path: &str, old: Option<&str>, new: Option<&str>) {
    // Most files have no findings.
    let lines = LazyCell::new(|| old.zip(new).map(|(old, new)| SameLines::of(old, new)));
    let stays = |site: &mut Site| {
        if *site.path != *path || site.line == 0 {
            return true;
        }
        let line = lines.as_ref().and_then(|lines| lines.line(site.line));
        line.map(|line| site.line = line).is_some()
    };
    findings.retain_mut(|finding| {
        let fault = &mut finding.fault;
        fault.notes.retain_mut(|note| note.site.as_mut().is_none_or(stays));
        fault.chain.retain_mut(|link| link.site.as_mut().is_none_or(stays));
        fault.site.as_mut().is_none_or(stays)
    });
}

/// The lines that two texts share at the beginning and at the end.
struct SameLines {
    above: usize,
    /// The first line of the end, in both texts.
    below: (usize, usize),
}

impl SameLines {
    fn of(old: &str, new: &str) -> SameLines {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
        let above = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let ends = old[above..].iter().rev().zip(new[above..].iter().rev());
        let end = ends.take_while(|(old, new)| old == new).count();
        SameLines { above, below: (old.len() - end, new.len() - end) }
    }

    /// The number of a line, from one, in the new text.
    fn line(&self, line: u32) -> Option<u32> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        if index < self.above {
            return Some(line);
        }
        let moved = index.checked_sub(self.below.0)? + self.below.1;
        u32::try_from(moved + 1).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_text() {
        for (old, new, expected) in [
            ("a\nb\n", "x\ny\na\nb\n", [Some(3), Some(4)]),
            ("a\nb\n", "a\nc\n", [Some(1), None]),
            ("a\nb\n", "b\n", [None, Some(1)]),
            ("a\na\n", "a\na\na\n", [Some(1), Some(2)]),
            ("a\nb", "", [None, None]),
        ] {
            let lines = SameLines::of(old, new);
            assert_eq!([lines.line(1), lines.line(2)], expected, "{old:?} {new:?}");
        }
    }
}
