//! Silence turns a comment in a file into findings that are not said.
//!
//! `# reclass: ignore` at the end of a line, or alone on the line above it, is about everything on
//! that line; `# reclass: ignore[tab, secret-plain]` about these rules. Errors cannot be silenced:
//! no node renders with them.

use rustc_hash::FxHashMap;

use crate::engine::Inventory;
use crate::error::Fault;

use super::rules::rule;

/// The comments of the files that were asked about.
pub(super) struct Silence<'a> {
    inventory: &'a Inventory,
    files: FxHashMap<String, Vec<(u32, Vec<String>)>>,
}

impl<'a> Silence<'a> {
    pub(super) fn new(inventory: &'a Inventory) -> Silence<'a> {
        Silence { inventory, files: FxHashMap::default() }
    }

    /// Whether a comment is about this finding.
    pub(super) fn covers(&mut self, fault: &Fault) -> bool {
        let Some(site) = fault.site.as_ref().filter(|_| rule(fault.code()).is_some()) else { return false };
        let inventory = self.inventory;
        let comments = self
            .files
            .entry(site.path.to_string())
            .or_insert_with(|| inventory.text(&site.path).map_or_else(Vec::new, |text| comments(&text)));
        comments.iter().any(|(line, codes)| {
            (*line == site.line || site.line == 0)
                && (codes.is_empty() || codes.iter().any(|code| code == fault.code()))
        })
    }
}

/// The line that each comment is about, and its codes; none stand for all.
fn comments(text: &str) -> Vec<(u32, Vec<String>)> {
    let mut found = Vec::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        let Some((before, after)) = line.split_once("# reclass: ignore") else { continue };
        let codes = match after.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((codes, _)) => codes.split(',').map(|code| code.trim().to_owned()).collect(),
            None => Vec::new(),
        };
        let own_line = before.trim().is_empty();
        found.push((if own_line { number + 1 } else { number }, codes));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::comments;

    #[test]
    fn comments_are_about_a_line() {
        let text = "a: 1 # reclass: ignore\n# reclass: ignore[tab, odd-name]\nb: 2\n";
        let codes = vec!["tab".to_owned(), "odd-name".to_owned()];
        assert_eq!(comments(text), vec![(1, Vec::new()), (3, codes)]);
    }
}
