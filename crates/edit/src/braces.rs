//! Splices for flow collections: items between commas.

use super::layout::{line_end, line_start};
use super::render;
use super::splice::{EntryLocation, Refusal, Splice, Splicer};
use reclass_base::value::Value;
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
        Ok(self.delete_between_commas(pair.key.start, self.pair_end(pair), previous))
    }

    /// Removes an item of a flow sequence.
    pub(super) fn delete_in_brackets(&self, items: &[OutlineNode], at: usize) -> Splice {
        let previous = at.checked_sub(1).map(|previous| items[previous].end);
        self.delete_between_commas(items[at].start, items[at].end, previous)
    }

    /// Removes a part of a flow collection with one of its commas. `previous` is the end of the part before it.
    fn delete_between_commas(&self, start: usize, end: usize, previous: Option<usize>) -> Splice {
        let before = self.text[..start].trim_end();
        let range = match (self.after(b',', end), previous) {
            (Some(comma), _) => {
                let line = line_end(self.text, comma);
                let alone = before.len() <= line_start(self.text, start);
                if alone && self.text[comma..line].trim().is_empty() {
                    self.whole_lines(start, comma)
                } else {
                    let blanks =
                        self.text[comma..].len() - self.text[comma..].trim_start_matches([' ', '\t']).len();
                    start..comma + blanks
                }
            }
            // Remove the comma before the last entry, but no comment.
            (None, Some(previous)) if !self.text[previous..start].contains('#') => previous..end,
            (None, _) => start..end,
        };
        Splice { range, text: String::new() }
    }
}
