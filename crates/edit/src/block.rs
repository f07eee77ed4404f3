//! Splices for block collections: the value after a key, whole lines.

use std::ops::Range;

use super::layout::{break_length, break_near, column, line_end, line_start};
use super::render::{self, CollectionStyle, RenderedValue};
use super::splice::{EntryLocation, Refusal, Splice, Splicer};
use reclass_base::value::{Map, Value};
use reclass_yaml::is_break;
use reclass_yaml::outline::{NodeForm, OutlineEntry, OutlineNode};

impl Splicer<'_> {
    /// Writes all data into a text without data.
    pub(super) fn first_entry(&self, after: &Value, style: CollectionStyle) -> Result<Splice, Refusal> {
        let mut lines = Vec::new();
        for (key, value) in after.as_map().into_iter().flat_map(Map::iter) {
            lines.extend(render::entry(&key.0, value, 0, &self.indentation, style)?);
        }
        let at = self.outline.root.as_ref().map_or(self.text.len(), |root| root.start);
        if line_start(self.text, at) == at {
            let line_break = break_near(self.text, at);
            let text = lines.join(line_break) + line_break;
            return Ok(Splice { range: at..at, text });
        }
        Ok(self.below(at, &lines))
    }

    /// Replaces the value of an entry of a block mapping.
    pub(super) fn replace(
        &self,
        mapping: &OutlineNode,
        pair: &OutlineEntry,
        value: &Value,
        style: CollectionStyle,
    ) -> Result<Vec<Splice>, Refusal> {
        let colon = self.simple(pair)?;
        let old = &pair.value;
        let anchor = self.anchor(old)?;
        self.keeps_anchors(old)?;
        let column = column(self.text, mapping.content);
        let RenderedValue { head, lines } =
            render::value(value, column, &self.indentation, style, Self::quotes(old))?;
        let apart = self.text[colon..old.content.max(colon)].contains(is_break);
        // The end of the old value on the line of the key, and the lines below it.
        let (inline, below) = match &old.form {
            NodeForm::Empty => (old.end.max(colon), None),
            NodeForm::BlockMapping(_) | NodeForm::BlockSequence(_) => {
                let props = self.text[old.start..old.content].trim_end();
                let end = if props.is_empty() { colon } else { colon.max(old.start + first_line(props)) };
                (end, Some(self.lines(old.content, self.end(old))))
            }
            NodeForm::BlockScalar => {
                let header = self.text[old.content..].split(|c: char| c.is_whitespace()).next();
                let header = old.content + header.map_or(0, str::len);
                let end = line_end(self.text, header);
                let below = (end < old.end).then(|| self.lines(end + break_length(self.text, end), old.end));
                (header, below)
            }
            // The value starts on another line than its key, maybe after a comment.
            _ if apart && lines.is_empty() => {
                let text =
                    format!("{}{head}", anchor.strip_prefix(' ').map_or(String::new(), |a| format!("{a} ")));
                return Ok(vec![Splice { range: old.start..old.end, text }]);
            }
            _ if apart => (colon, Some(self.lines(old.start, old.end))),
            _ => (old.end, None),
        };
        // Keep blanks that align the value with its neighbours.
        let blanks = &self.text[colon..old.start.max(colon)];
        let is_blank = !blanks.is_empty() && blanks.chars().all(|character| matches!(character, ' ' | '\t'));
        let blanks = if is_blank && !matches!(old.form, NodeForm::Empty) { blanks } else { " " };
        let inline_text = match (anchor.trim_start(), &*head) {
            ("", "") => String::new(),
            (anchor, "") => format!("{blanks}{anchor}"),
            ("", head) => format!("{blanks}{head}"),
            (anchor, head) => format!("{blanks}{anchor} {head}"),
        };
        let mut splices = vec![Splice { range: colon..inline, text: inline_text }];
        match below {
            Some(range) => splices.push(Splice { range, text: self.broken(colon, &lines) }),
            None => splices.push(self.below(inline, &lines)),
        }
        Ok(splices)
    }

    pub(super) fn delete(&self, location: &EntryLocation<'_>) -> Result<Vec<Splice>, Refusal> {
        if location.found.is_empty() || location.keys.len() != 1 {
            let reason = "the key comes from a merge key ('<<'), not from the mapping itself";
            return Err(Refusal::new(reason).at(location.mapping.start));
        }
        for pair in location.entries() {
            self.keeps_anchors(&pair.key)?;
            self.keeps_anchors(&pair.value)?;
        }
        let left = location.pairs.len() - location.found.len();
        if matches!(location.mapping.form, NodeForm::FlowMapping(_)) {
            return location.found.iter().map(|at| self.delete_in_braces(location.pairs, *at)).collect();
        }
        for pair in location.entries() {
            self.simple(pair)?;
        }
        match (left, location.outer, location.pairs.first(), location.pairs.last()) {
            // A mapping stays a mapping.
            (0, Some((around, pair)), _, _) => {
                self.replace(around, pair, &Value::map(Map::default()), CollectionStyle::Flow)
            }
            (0, None, Some(first), Some(last)) => {
                Ok(vec![Splice { range: first.key.start..self.pair_end(last), text: "{}".into() }])
            }
            _ => {
                let lines = |pair: &OutlineEntry| self.whole_lines(pair.key.start, self.pair_end(pair));
                Ok(location
                    .entries()
                    .map(|pair| Splice { range: lines(pair), text: String::new() })
                    .collect())
            }
        }
    }

    /// Inserts lines below the line of an offset. The last of them ends as that line does.
    pub(super) fn below(&self, at: usize, lines: &[String]) -> Splice {
        let end = line_end(self.text, at);
        Splice { range: end..end, text: self.broken(at, lines) }
    }

    /// Lines with a line break before each, for insertion below the line of an offset.
    pub(super) fn broken(&self, at: usize, lines: &[String]) -> String {
        let line_break = break_near(self.text, at);
        lines.iter().flat_map(|line| [line_break, line.as_str()]).collect()
    }

    /// The lines between two offsets with their line breaks. If the last line of the text has no line
    /// break, the range has the line break before them instead.
    pub(super) fn whole_lines(&self, from: usize, to: usize) -> Range<usize> {
        let (start, end) = (line_start(self.text, from), line_end(self.text, to));
        match break_length(self.text, end) {
            0 => self.lines(from, to),
            length => start..end + length,
        }
    }

    /// The lines between two offsets, with the line break before them if there is one.
    pub(super) fn lines(&self, from: usize, to: usize) -> Range<usize> {
        let (start, end) = (line_start(self.text, from), line_end(self.text, to));
        if start == 0 || !self.text[..start].ends_with(is_break) {
            return start..end + break_length(self.text, end);
        }
        let before = &self.text[..start];
        let before = before.strip_suffix("\r\n").unwrap_or_else(|| {
            let mut characters = before.chars();
            characters.next_back();
            characters.as_str()
        });
        before.len()..end
    }
}

fn first_line(text: &str) -> usize {
    text.find(is_break).unwrap_or(text.len())
}
