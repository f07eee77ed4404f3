//! Splices for flow collections: items between commas.

use super::render;
use super::splice::{EntryLocation, Refusal, Splice, Splicer};
use reclass_base::value::Value;
use reclass_yaml::is_break;
use reclass_yaml::outline::{NodeForm, OutlineEntry, OutlineNode};

impl Splicer<'_> {
    /// Replaces the value of an entry of a flow mapping.
    pub(super) fn replace_in_braces(&self, pair: &OutlineEntry, value: &Value) -> Result<Splice, Refusal> {
        let anchor = self.anchor(&pair.value)?;
        self.keeps_anchors(&pair.value)?;
        let text = render::flow(value, Self::quotes(&pair.value))?;
        let old = &pair.value;
        Ok(match (self.colon(pair), &old.form) {
            (None, _) => Splice { range: pair.key.end..pair.key.end, text: format!(": {text}") },
            (Some(colon), NodeForm::Empty) => {
                let end = if old.end > old.start { old.end } else { colon };
                Splice { range: colon..end, text: format!("{anchor} {text}") }
            }
            (Some(colon), _) => {
                // `"a":1` has no space, but `"a":b` would be one scalar.
                let gap = if colon == old.start { " " } else { "" };
                let anchor = anchor.strip_prefix(' ').map_or(String::new(), |a| format!("{a} "));
                Splice { range: old.start..old.end, text: format!("{gap}{anchor}{text}") }
            }
        })
    }

    pub(super) fn insert_in_braces(&self, location: &EntryLocation<'_>, entry: &str) -> Splice {
        let Some(last) = location.pairs.last() else {
            let at = location.mapping.content + 1;
            return Splice { range: at..at, text: entry.into() };
        };
        self.insert_behind(self.pair_end(last), entry)
    }

    /// Inserts an item after the last item of a flow collection.
    pub(super) fn insert_behind(&self, at: usize, part: &str) -> Splice {
        match self.after(b',', at) {
            Some(comma) => Splice { range: comma..comma, text: format!(" {part}") },
            None => Splice { range: at..at, text: format!(", {part}") },
        }
    }

    pub(super) fn delete_in_braces(&self, pairs: &[OutlineEntry], at: usize) -> Result<Splice, Refusal> {
        let pair = &pairs[at];
        let before = self.text[..pair.key.start].trim_end();
        if before.ends_with('?') {
            return Err(Refusal::new("the entry is written with '?'").at(pair.key.start));
        }
        let previous = at.checked_sub(1).map(|previous| self.pair_end(&pairs[previous]));
        let end = self.pair_end(pair);
        Ok(self.delete_between_commas(pair.key.start, end, self.after(b',', end), previous))
    }

    /// Removes an item of a flow sequence. `is_last`: those behind it are removed too.
    pub(super) fn delete_in_brackets(&self, items: &[OutlineNode], at: usize, is_last: bool) -> Splice {
        let previous = at.checked_sub(1).map(|previous| items[previous].end);
        let OutlineNode { start, end, .. } = items[at];
        // Of the items at the end, the comma before them goes.
        let has_comma = !is_last || items.last().is_some_and(|last| self.after(b',', last.end).is_some());
        let comma = if has_comma { self.after(b',', end) } else { None };
        self.delete_between_commas(start, end, comma, previous)
    }

    /// Removes a part of a flow collection with the comma behind it, or with the one before it. `previous` is the end
    /// of the part before it.
    fn delete_between_commas(
        &self,
        start: usize,
        end: usize,
        comma: Option<usize>,
        previous: Option<usize>,
    ) -> Splice {
        let before = self.text[..start].trim_end();
        let range = match (comma, previous) {
            (Some(comma), _) => {
                // A line may have thousands of parts: only the blanks are looked at.
                let alone = before.trim_start_matches('\u{feff}').is_empty()
                    || self.text[before.len()..start].contains(is_break);
                let behind = self.text[comma..].trim_start_matches([' ', '\t']);
                if alone && (behind.is_empty() || behind.starts_with(is_break)) {
                    self.whole_lines(start, comma)
                } else {
                    start..self.text.len() - behind.len()
                }
            }
            // Remove the comma before the last entry, but no comment.
            (None, Some(previous)) if !self.text[previous..start].contains('#') => previous..end,
            (None, _) => start..end,
        };
        Splice { range, text: String::new() }
    }
}
