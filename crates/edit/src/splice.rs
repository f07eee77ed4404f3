//! Splices: a change of an entry to replacements of byte ranges.
//!
//! This file locates the entry; `block` and `braces` make the splices.
//!
//! A splice touches only the entry: the value after a key, the lines of an entry, a line below the
//! last entry of a mapping. [`super::Change::apply`] checks the data of the result and refuses the
//! edit if it differs, so rare syntax need not be handled here.

use std::ops::Range;

use super::change::{Action, Change};
use super::layout::{Indentation, column, line_end};
use super::render::{self, CollectionStyle, QuoteStyle};
use reclass_base::error::Result as Outcome;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Text, Value};
use reclass_yaml::outline::{NodeForm, Outline, OutlineEntry, OutlineNode};

/// The reason why an entry cannot be changed in place.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) reason: String,
    /// The offset of the cause in the text.
    pub(super) place: Option<usize>,
}

impl Refusal {
    pub(super) fn new(reason: impl Into<String>) -> Refusal {
        Refusal { reason: reason.into(), place: None }
    }

    pub(super) fn at(self, place: usize) -> Refusal {
        Refusal { place: Some(place), ..self }
    }
}

/// A range of the text and its replacement.
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// A text with its outline and its indentation.
pub(super) struct Splicer<'a> {
    pub(super) text: &'a str,
    pub(super) outline: Outline,
    pub(super) indentation: Indentation,
}

/// The location of an entry, which may be missing.
pub(super) struct EntryLocation<'p> {
    pub(super) mapping: &'p OutlineNode,
    pub(super) pairs: &'p [OutlineEntry],
    /// The entries with the key; the last one wins.
    pub(super) found: Vec<usize>,
    /// The parent mapping and the entry of this mapping in it; `None` for the root.
    pub(super) outer: Option<(&'p OutlineNode, &'p OutlineEntry)>,
    /// The key, and the keys of missing mappings below it.
    pub(super) keys: &'p [Text],
}

impl<'p> EntryLocation<'p> {
    pub(super) fn entries(&self) -> impl Iterator<Item = &'p OutlineEntry> {
        self.found.iter().map(|at| &self.pairs[*at])
    }

    /// The entry, if it exists.
    fn entry(&self) -> Option<&'p OutlineEntry> {
        self.entries().last().filter(|_| self.keys.len() == 1)
    }
}

impl<'a> Splicer<'a> {
    /// A splicer for a text that is YAML.
    pub(super) fn read(bytes: &'a [u8]) -> Outcome<Splicer<'a>> {
        let outline = Outline::read(bytes)?;
        // An outline exists only for UTF-8.
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let indentation = Indentation::of(text, &outline);
        Ok(Splicer { text, outline, indentation })
    }

    /// The changed text. `after` is the data of the whole text after the change.
    pub(super) fn with(
        &self,
        change: &Change,
        after: &Value,
        style: CollectionStyle,
    ) -> Result<Vec<u8>, Refusal> {
        let splices = match (self.locate(&change.keys)?, &change.action) {
            (None, _) => vec![self.first_entry(after, style)?],
            (Some(location), Action::Delete) => self.delete(&location)?,
            (Some(location), Action::Set(value)) => self.set(&location, value, style)?,
            (Some(location), Action::Append(items)) => match location.entry() {
                Some(pair) if !self.is_null(&pair.value) => {
                    vec![self.append(&pair.value, items, style)?]
                }
                _ => self.set(&location, &Value::list(items.clone()), style)?,
            },
        };
        Ok(self.splice(splices))
    }

    /// The text with the splices.
    pub(super) fn splice(&self, mut splices: Vec<Splice>) -> Vec<u8> {
        splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
        let mut out = String::with_capacity(self.text.len() + 64);
        let mut at = 0;
        for Splice { range, text } in splices {
            out.push_str(self.text.get(at..range.start).unwrap_or_default());
            out.push_str(&text);
            at = range.end.max(at);
        }
        out.push_str(self.text.get(at..).unwrap_or_default());
        out.into_bytes()
    }

    /// The location of the entry; `None` for a text without a mapping.
    fn locate<'p>(&'p self, keys: &'p [Text]) -> Result<Option<EntryLocation<'p>>, Refusal> {
        let Some(root) = self.outline.root.as_ref().filter(|root| !matches!(root.form, NodeForm::Empty))
        else {
            return Ok(None);
        };
        let mut mapping = root;
        let mut outer = None;
        let mut keys = keys;
        loop {
            if self.outline.is_used(mapping) {
                let anchor = mapping.anchor.as_deref().unwrap_or_default();
                let reason = format!("aliases refer to the anchor '&{anchor}' of its mapping");
                return Err(Refusal::new(reason).at(mapping.start));
            }
            let pairs = match &mapping.form {
                NodeForm::BlockMapping(pairs) | NodeForm::FlowMapping(pairs) => pairs.as_slice(),
                NodeForm::Alias => {
                    let reason = "it is in an alias; change the mapping of the anchor";
                    return Err(Refusal::new(reason).at(mapping.start));
                }
                _ => return Err(Refusal::new("it is not in a mapping").at(mapping.start)),
            };
            let Some((name, below)) = keys.split_first() else {
                return Err(Refusal::new("no key is named"));
            };
            let is_it = |pair: &OutlineEntry| pair.name.text().is_some_and(|text| text == **name);
            let found: Vec<usize> =
                pairs.iter().enumerate().filter(|(_, pair)| is_it(pair)).map(|(at, _)| at).collect();
            let next = found.last().map(|at| &pairs[*at]);
            match next {
                Some(pair) if !below.is_empty() && !self.is_null(&pair.value) => {
                    outer = Some((mapping, pair));
                    mapping = &pair.value;
                    keys = below;
                }
                _ => return Ok(Some(EntryLocation { mapping, pairs, found, outer, keys })),
            }
        }
    }

    /// The offset of the last key of a path.
    pub(super) fn key(&self, keys: &[Text]) -> Option<usize> {
        Some(self.locate(keys).ok().flatten()?.entry()?.key.start)
    }

    pub(super) fn is_null(&self, node: &OutlineNode) -> bool {
        match node.form {
            NodeForm::Empty => true,
            NodeForm::Plain => {
                matches!(self.text.get(node.content..node.end), Some("~" | "null" | "Null" | "NULL"))
            }
            _ => false,
        }
    }

    /// The offset after the `:` of an entry; `None` without `:`.
    pub(super) fn colon(&self, pair: &OutlineEntry) -> Option<usize> {
        self.after(b':', pair.key.end)
    }

    /// The offset after a mark; `None` if there is more than blanks and comments before it.
    pub(super) fn after(&self, mark: u8, mut at: usize) -> Option<usize> {
        loop {
            match self.text.as_bytes().get(at)? {
                b' ' | b'\t' | b'\n' | b'\r' => at += 1,
                b'#' => at = line_end(self.text, at),
                byte => return (*byte == mark).then_some(at + 1),
            }
        }
    }

    /// Refuses an entry that is not `key: value`.
    pub(super) fn simple(&self, pair: &OutlineEntry) -> Result<usize, Refusal> {
        let before = self.text[..pair.key.start].trim_end_matches([' ', '\t']);
        let marked = before.ends_with('?') && before.len() < pair.key.start;
        match self.colon(pair) {
            Some(colon) if !marked => Ok(colon),
            _ => Err(Refusal::new("the entry is written with '?' or without ':'").at(pair.key.start)),
        }
    }

    /// The end of a node with its children.
    pub(super) fn end(&self, node: &OutlineNode) -> usize {
        let mut node = node;
        loop {
            let last = match &node.form {
                NodeForm::BlockMapping(pairs) => match pairs.last() {
                    Some(pair) if matches!(pair.value.form, NodeForm::Empty) => return self.pair_end(pair),
                    Some(pair) => &pair.value,
                    None => return node.end,
                },
                NodeForm::BlockSequence(items) => match items.last() {
                    Some(item) => item,
                    None => return node.end,
                },
                _ => return node.end,
            };
            node = last;
        }
    }

    pub(super) fn pair_end(&self, pair: &OutlineEntry) -> usize {
        match &pair.value.form {
            // The position of an empty value is only reliable after a `:`.
            NodeForm::Empty if pair.value.end == pair.value.start => self.colon(pair).unwrap_or(pair.key.end),
            _ => self.end(&pair.value),
        }
    }

    fn set(
        &self,
        location: &EntryLocation<'_>,
        value: &Value,
        style: CollectionStyle,
    ) -> Result<Vec<Splice>, Refusal> {
        let (name, below) = match location.keys.split_first() {
            Some((name, below)) => (Value::Str(name.clone()), below),
            None => return Err(Refusal::new("no key is named")),
        };
        let value = below.iter().rev().fold(value.clone(), |value, name| {
            Value::map(Map::from_iter([(Key::from(name.clone()), value)]))
        });
        let flow = matches!(location.mapping.form, NodeForm::FlowMapping(_));
        match location.entries().last() {
            Some(pair) if flow => Ok(vec![self.replace_in_braces(pair, &value)?]),
            Some(pair) => self.replace(location.mapping, pair, &value, style),
            None if flow => Ok(vec![self.insert_in_braces(location, &render::flow_entry(&name, &value)?)]),
            None => {
                let column = column(self.text, location.mapping.content);
                let lines = render::entry(&name, &value, column, &self.indentation, style)?;
                Ok(vec![self.below(self.end(location.mapping), &lines)])
            }
        }
    }

    /// Appends items to a list.
    fn append(
        &self,
        sequence: &OutlineNode,
        items: &[Value],
        style: CollectionStyle,
    ) -> Result<Splice, Refusal> {
        if self.outline.is_used(sequence) {
            return Err(Refusal::new("aliases refer to the list").at(sequence.start));
        }
        match &sequence.form {
            NodeForm::BlockSequence(_) => {
                let column = column(self.text, sequence.content);
                let mut lines = Vec::new();
                for item in items {
                    lines.extend(render::item(item, column, &self.indentation, style)?);
                }
                Ok(self.below(self.end(sequence), &lines))
            }
            NodeForm::FlowSequence(old) => {
                let parts: Result<Vec<String>, Refusal> =
                    items.iter().map(|item| render::flow(item, QuoteStyle::Needed)).collect();
                let parts = parts?.join(", ");
                Ok(match old.last() {
                    Some(last) => self.insert_behind(last.end, &parts),
                    None => Splice { range: sequence.content + 1..sequence.content + 1, text: parts },
                })
            }
            _ => Err(Refusal::new("it is not written as a list").at(sequence.start)),
        }
    }

    /// The quotes of the old value.
    pub(super) fn quotes(node: &OutlineNode) -> QuoteStyle {
        match node.form {
            NodeForm::SingleQuoted => QuoteStyle::Single,
            NodeForm::DoubleQuoted => QuoteStyle::Double,
            _ => QuoteStyle::Needed,
        }
    }

    /// The anchor of a value to replace. An anchor with aliases must keep its value.
    pub(super) fn anchor(&self, node: &OutlineNode) -> Result<String, Refusal> {
        match &node.anchor {
            Some(anchor) if self.outline.is_used(node) => {
                Err(Refusal::new(format!("aliases refer to its anchor '&{anchor}'")).at(node.start))
            }
            Some(anchor) => Ok(format!(" &{anchor}")),
            None => Ok(String::new()),
        }
    }

    /// Refuses to remove a node that aliases refer to.
    pub(super) fn keeps_anchors(&self, node: &OutlineNode) -> Result<(), Refusal> {
        self.anchor(node)?;
        grow(|| match &node.form {
            NodeForm::FlowSequence(items) | NodeForm::BlockSequence(items) => {
                items.iter().try_for_each(|item| self.keeps_anchors(item))
            }
            NodeForm::FlowMapping(pairs) | NodeForm::BlockMapping(pairs) => {
                pairs.iter().try_for_each(|pair| {
                    self.keeps_anchors(&pair.key)?;
                    self.keeps_anchors(&pair.value)
                })
            }
            _ => Ok(()),
        })
    }
}
