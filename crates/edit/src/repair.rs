//! Repairs turn findings of lint into edits: a misread scalar gets quotes, a redundant entry of a list goes.
//!
//! As every edit, the text is read back: the data must be the old data with this one change. A repair that is
//! not possible in place is left out, and its finding stays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::change::{Action, Change, read};
use super::expect::indistinguishable;
use super::layout::line_start;
use super::source;
use super::splice::{Splice, Splicer};
use super::tree::{EditOptions, EditTree, Edited};
use reclass::parts::model::Prefixes;
use reclass::report::Finding;
use reclass_base::error::{Kind, Result};
use reclass_base::settings::Settings;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Value};
use reclass_yaml::compose::{Data, Document, Node, compose};
use reclass_yaml::outline::{NodeForm, OutlineNode};
use reclass_yaml::to_value;

/// The sections whose entries can be removed.
const SECTIONS: [&str; 2] = ["classes", "applications"];

/// The most times that repairs of one file are tried apart, because they are not possible together. The findings of
/// the others stay.
const MOST_REFUSED: usize = 200;

/// The change that resolves a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RepairKind {
    /// Quotes around a plain scalar.
    Quote,
    /// Removes an entry of `classes` or `applications`.
    Remove,
}

#[derive(Clone, PartialEq, Debug)]
struct Repair {
    kind: RepairKind,
    line: u32,
    column: u32,
    /// The message, which names the scalar. A file that changed meanwhile has another one there.
    message: String,
}

/// Whether the repair of a finding can change more than the finding says: without a redundant entry, the order
/// of `classes` can change, and a node that is added later may need the entry.
pub fn is_unsafe(finding: &Finding) -> bool {
    finding.fault.code() == "class-redundant" && Repair::of(finding).is_some()
}

impl Repair {
    /// The path of the file and the repair; `None` for findings that people have to decide.
    fn of(finding: &Finding) -> Option<(String, Repair)> {
        let Kind::Lint { rule, .. } = &finding.fault.kind else { return None };
        let kind = match *rule {
            "scalar-misread" => RepairKind::Quote,
            "class-redundant" | "listed-twice" => RepairKind::Remove,
            _ => return None,
        };
        Repair::at(finding, kind)
    }

    /// A repair of this kind at the place of a finding.
    fn at(finding: &Finding, kind: RepairKind) -> Option<(String, Repair)> {
        let Kind::Lint { message, .. } = &finding.fault.kind else { return None };
        let site = finding.fault.site.as_ref().filter(|site| site.line > 0)?;
        let repair = Repair { kind, line: site.line, column: site.column, message: message.clone() };
        Some((site.path.to_string(), repair))
    }

    /// Whether the message names this text.
    fn names(&self, written: &str) -> bool {
        self.message.contains(&format!("'{written}'"))
    }
}

/// A text and its repairs of one kind, each with the offset of its place. All of them are made at once, so that
/// thousands are no trouble.
struct Together<'a> {
    bytes: &'a [u8],
    document: Document,
    splicer: Splicer<'a>,
    at: BTreeMap<usize, &'a Repair>,
}

impl<'a> Together<'a> {
    fn new(repairs: &'a [Repair], bytes: &'a [u8]) -> Option<Together<'a>> {
        let document = compose(bytes).ok()?;
        let mut starts = BTreeMap::new();
        for span in document.spans.iter() {
            starts.entry((span.line + 1, span.column + 1)).or_insert(span.start as usize);
        }
        let place = |repair: &'a Repair| Some((*starts.get(&(repair.line, repair.column))?, repair));
        let at = repairs.iter().filter_map(place).collect();
        Some(Together { bytes, document, splicer: Splicer::read(bytes).ok()?, at })
    }

    /// The text with quotes around the scalars, and their number.
    fn quoted(&self) -> Option<(Vec<u8>, usize)> {
        let mut splices = BTreeMap::new();
        values(self.splicer.outline.root.as_ref()?, &mut |node| {
            if let Some(repair) = self.at.get(&node.start)
                && !splices.contains_key(&node.start)
            {
                splices.insert(node.start, self.quotes(node, repair));
            }
        });
        splices.retain(|_, splice| splice.is_some());
        let before = self.document.root.as_ref()?;
        let mut indexes = BTreeMap::new();
        indexes_of_values(before, &mut |index| {
            if let Some(span) = self.document.spans.get(index as usize) {
                indexes.entry(span.start as usize).or_insert(index);
            }
        });
        let quoted = splices.keys().map(|start| indexes.get(start).copied());
        let quoted: BTreeSet<u32> = quoted.collect::<Option<_>>()?;
        let after = self.splicer.splice(splices.into_values().flatten().collect());
        let changed = compose(&after).ok()?;
        is_same_except(before, changed.root.as_ref()?, &quoted).then_some((after, quoted.len()))
    }

    /// The quotes around a scalar.
    fn quotes(&self, node: &OutlineNode, repair: &Repair) -> Option<Splice> {
        let range = node.content..node.end;
        let written = self.splicer.text.get(range.clone())?;
        // Digits with `_` are a number for people too. The values of aliases would change with the anchor.
        let is_safe = matches!(node.form, NodeForm::Plain)
            && !written.contains(['_', '"', '\\', '\n'])
            && !self.splicer.outline.is_used(node);
        (is_safe && repair.names(written)).then(|| Splice { range, text: format!("\"{written}\"") })
    }

    /// The text without the list items, and their number.
    fn removed(&self, path: &str, prefixes: &Prefixes) -> Option<(Vec<u8>, usize)> {
        let (NodeForm::BlockMapping(pairs) | NodeForm::FlowMapping(pairs)) =
            &self.splicer.outline.root.as_ref()?.form
        else {
            return None;
        };
        let Value::Map(before) = to_value(self.document.root.as_ref()?) else { return None };
        let (mut after, mut splices) = (Map::clone(&before), Vec::new());
        for pair in pairs {
            let Some(section) = SECTIONS.into_iter().find(|name| pair.name.text().as_deref() == Some(*name))
            else {
                continue;
            };
            let (NodeForm::BlockSequence(items) | NodeForm::FlowSequence(items)) = &pair.value.form else {
                continue;
            };
            let Some(Value::List(old)) = before.get(section) else { continue };
            if old.len() != items.len() {
                continue;
            }
            let is_flow = matches!(pair.value.form, NodeForm::FlowSequence(_));
            let is_gone = |(item, value): (&OutlineNode, &Value)| {
                let is_named = |repair: &&Repair| value.as_str().is_some_and(|name| repair.names(name));
                self.at.get(&item.start).is_some_and(is_named)
                    && self.splicer.keeps_anchors(item).is_ok()
                    && (is_flow || self.is_behind_dash(item))
            };
            let gone: Vec<bool> = items.iter().zip(old.iter()).map(is_gone).collect();
            if !gone.contains(&true) {
                continue;
            }
            if gone.iter().all(|gone| *gone) {
                let change = Change::new(&[section], Action::Set(Value::list(Vec::new())));
                // A last entry alone.
                let text =
                    if self.at.len() == 1 { change.apply(self.bytes, path, prefixes).ok()? } else { None };
                return text.map(|text| (text, 1));
            }
            let kept = gone.iter().rposition(|gone| !gone)?;
            for at in (0..items.len()).filter(|at| gone[*at]) {
                splices.push(if is_flow {
                    self.splicer.delete_in_brackets(items, at, kept < at)
                } else {
                    let item = &items[at];
                    let range = self.splicer.whole_lines(item.start, self.splicer.end(item));
                    Splice { range, text: String::new() }
                });
            }
            let left = old.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(item, _)| item.clone());
            after.insert(Key::from(section), Value::list(left.collect()));
        }
        let removed = splices.len();
        let text = self.splicer.splice(splices);
        let found = read(&text, path).ok()??;
        indistinguishable(&found, &Value::map(after)).then_some((text, removed))
    }

    /// Whether nothing but its dash is before an item in its line.
    fn is_behind_dash(&self, item: &OutlineNode) -> bool {
        let text = self.splicer.text;
        text.get(line_start(text, item.start)..item.start).is_some_and(|dash| dash.trim() == "-")
    }
}

/// Visits all values of a document that are no collections.
fn values<'n>(node: &'n OutlineNode, visit: &mut dyn FnMut(&'n OutlineNode)) {
    grow(|| match &node.form {
        NodeForm::BlockMapping(pairs) | NodeForm::FlowMapping(pairs) => {
            for pair in pairs {
                values(&pair.value, visit);
            }
        }
        NodeForm::BlockSequence(items) | NodeForm::FlowSequence(items) => {
            for item in items {
                values(item, visit);
            }
        }
        _ => visit(node),
    });
}

/// Visits the indexes of all values of a document that are no collections.
fn indexes_of_values(node: &Node, visit: &mut dyn FnMut(u32)) {
    grow(|| match &node.data {
        Data::Value(_) => visit(node.index),
        Data::List(items) => items.iter().for_each(|item| indexes_of_values(item, visit)),
        Data::Map(entries) => entries.iter().for_each(|entry| indexes_of_values(&entry.value, visit)),
    });
}

/// Whether two documents are the same, but for the scalars with these indexes, which must be texts in the second.
fn is_same_except(one: &Node, other: &Node, quoted: &BTreeSet<u32>) -> bool {
    grow(|| match (&one.data, &other.data) {
        _ if one.index != other.index => false,
        (Data::Value(_), Data::Value(value)) if quoted.contains(&one.index) => matches!(value, Value::Str(_)),
        (Data::Value(one), Data::Value(other)) => indistinguishable(one, other),
        (Data::List(some), Data::List(others)) => {
            some.len() == others.len()
                && some.iter().zip(others.iter()).all(|(one, other)| is_same_except(one, other, quoted))
        }
        (Data::Map(some), Data::Map(others)) => {
            some.len() == others.len()
                && some.iter().zip(others.iter()).all(|(one, other)| {
                    one.key_index == other.key_index
                        && indistinguishable(&one.key.0, &other.key.0)
                        && is_same_except(&one.value, &other.value, quoted)
                })
        }
        _ => false,
    })
}

/// The repairs of one file, from its end to its beginning, so that no repair moves the next one.
#[derive(Debug)]
pub(super) struct FileRepairs(Vec<Repair>);

impl FileRepairs {
    fn new(mut repairs: Vec<Repair>) -> FileRepairs {
        repairs.sort_by_key(|repair| std::cmp::Reverse((repair.line, repair.column)));
        FileRepairs(repairs)
    }

    /// The changed text and the number of repairs made; `None` if none is possible.
    pub(super) fn apply(&self, bytes: &[u8], path: &str, prefixes: &Prefixes) -> Option<(Vec<u8>, usize)> {
        let (mut text, mut made, mut refused) = (None, 0, 0);
        let mut batches: Vec<&[Repair]> =
            self.0.chunk_by(|one, other| one.kind == other.kind).rev().collect();
        while let Some(batch) = batches.pop() {
            let before = text.as_deref().unwrap_or(bytes);
            let repaired = Together::new(batch, before).and_then(|together| match batch[0].kind {
                RepairKind::Quote => together.quoted(),
                RepairKind::Remove => together.removed(path, prefixes),
            });
            match repaired {
                Some((_, 0)) => {}
                Some((changed, number)) => {
                    text = Some(changed);
                    made += number;
                }
                // One that is not possible keeps only itself.
                None if batch.len() > 1 && refused < MOST_REFUSED => {
                    refused += 1;
                    let (first, rest) = batch.split_at(batch.len() / 2);
                    batches.extend([rest, first]);
                }
                None => {}
            }
        }
        text.map(|text| (text, made))
    }
}

/// A file that was repaired.
#[derive(Clone, PartialEq, Debug)]
pub struct RepairedFile {
    /// The texts before and after.
    pub edited: Edited,
    /// The number of findings that are resolved.
    pub repairs: usize,
}

/// The text of a file with the repairs of its findings; `None` if none is possible.
pub fn repaired(settings: &Settings, path: &str, text: &str, findings: &[Finding]) -> Option<String> {
    made(settings, path, text, findings.iter().filter_map(Repair::of))
}

/// The text of a file with quotes around the scalar of a finding, for somebody who means the text `yes` and not what
/// YAML reads; `None` for other findings. It changes a value, so it is no repair for all findings at once.
pub fn quoted(settings: &Settings, path: &str, text: &str, finding: &Finding) -> Option<String> {
    let is_scalar = finding.fault.code() == "scalar-implicit";
    let repair = Repair::at(finding, RepairKind::Quote).filter(|_| is_scalar);
    made(settings, path, text, repair.into_iter())
}

/// The text of a file after those of the repairs that are about it.
fn made(
    settings: &Settings,
    path: &str,
    text: &str,
    repairs: impl Iterator<Item = (String, Repair)>,
) -> Option<String> {
    let of_file = repairs.filter(|(other, _)| other == path);
    let repairs = FileRepairs::new(of_file.map(|(_, repair)| repair).collect());
    let changed = repairs.apply(text.as_bytes(), path, &Prefixes::new(settings));
    changed.and_then(|(text, _)| String::from_utf8(text).ok())
}

/// Repairs the files of the findings that have a repair, sorted by path. A finding whose place in the file
/// has changed, or that cannot be repaired in place, is left out. In test mode nothing is written.
pub fn repair(settings: &Settings, findings: &[Finding], options: EditOptions) -> Result<Vec<RepairedFile>> {
    let mut files: IndexMap<String, Vec<Repair>> = IndexMap::new();
    for (path, repair) in findings.iter().filter_map(Repair::of) {
        files.entry(path).or_default().push(repair);
    }
    files.sort_unstable_keys();
    let (classes, nodes) = source::roots_to_edit(settings)?;
    let mut trees: Vec<(PathBuf, EditTree)> = Vec::new();
    let mut repaired = Vec::new();
    for (path, repairs) in files {
        let path = Path::new(&path);
        let Some(root) = classes.iter().chain(&nodes).find(|root| path.starts_with(root)) else { continue };
        let Ok(relative) = path.strip_prefix(root) else { continue };
        if !trees.iter().any(|(known, _)| known == root) {
            trees.push((root.clone(), EditTree::open(root, settings, options)?));
        }
        let Some((_, tree)) = trees.iter().find(|(known, _)| known == root) else { continue };
        repaired.extend(tree.repair(relative, &FileRepairs::new(repairs))?);
    }
    Ok(repaired)
}
