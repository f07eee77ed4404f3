//! Repairs turn findings of lint into edits: a misread scalar gets quotes, a redundant entry of a list goes.
//!
//! As every edit, the text is read back: the data must be the old data with this one change. A repair that is
//! not possible in place is left out, and its finding stays.

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
use reclass_base::value::{Map, Value};
use reclass_yaml::compose::{Data, Node, compose};
use reclass_yaml::outline::{NodeForm, OutlineNode};

/// The sections whose entries can be removed.
const SECTIONS: [&str; 2] = ["classes", "applications"];

/// The change that resolves a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RepairKind {
    /// Quotes around a plain scalar.
    Quote,
    /// Removes an entry of `classes` or `applications`.
    Remove,
}

/// A repair of one finding.
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

    /// The changed text; `None` if the repair is not possible.
    fn apply(&self, bytes: &[u8], path: &str, prefixes: &Prefixes) -> Option<Vec<u8>> {
        let document = compose(bytes).ok()?;
        let here =
            |span: &&reclass_base::source::Span| span.line + 1 == self.line && span.column + 1 == self.column;
        let start = document.spans.iter().find(here)?.start as usize;
        let splicer = Splicer::read(bytes).ok()?;
        match self.kind {
            RepairKind::Quote => {
                let after = self.quoted(&splicer, start)?;
                let before = document.root.as_ref()?;
                let index = value_at(before, &|index| {
                    document.spans.get(index as usize).is_some_and(|span| span.start as usize == start)
                })?;
                let changed = compose(&after).ok()?;
                is_same_except(before, changed.root.as_ref()?, index).then_some(after)
            }
            RepairKind::Remove => self.removed(&splicer, bytes, start, path, prefixes),
        }
    }

    /// Whether the message names this text.
    fn names(&self, written: &str) -> bool {
        self.message.contains(&format!("'{written}'"))
    }

    /// The text with quotes around the scalar at an offset.
    fn quoted(&self, splicer: &Splicer<'_>, start: usize) -> Option<Vec<u8>> {
        let root = splicer.outline.root.as_ref()?;
        let node = value_node(root, start).filter(|node| matches!(node.form, NodeForm::Plain))?;
        let range = node.content..node.end;
        let written = splicer.text.get(range.clone())?;
        // Digits with `_` are a number for people too. The values of aliases would change with the anchor.
        let is_safe = !written.contains(['_', '"', '\\', '\n']) && !splicer.outline.is_used(node);
        (is_safe && self.names(written))
            .then(|| splicer.splice(vec![Splice { range, text: format!("\"{written}\"") }]))
    }

    /// The text without the list item at an offset.
    fn removed(
        &self,
        splicer: &Splicer<'_>,
        bytes: &[u8],
        start: usize,
        path: &str,
        prefixes: &Prefixes,
    ) -> Option<Vec<u8>> {
        let (NodeForm::BlockMapping(pairs) | NodeForm::FlowMapping(pairs)) =
            &splicer.outline.root.as_ref()?.form
        else {
            return None;
        };
        let (section, list, items, at) = pairs.iter().find_map(|pair| {
            let section = SECTIONS.into_iter().find(|name| pair.name.text().as_deref() == Some(*name))?;
            let (NodeForm::BlockSequence(items) | NodeForm::FlowSequence(items)) = &pair.value.form else {
                return None;
            };
            let at = items.iter().position(|item| item.start == start)?;
            Some((section, &pair.value, items, at))
        })?;
        let item = &items[at];
        let before = read(bytes, path).ok()??;
        let Value::Map(map) = &before else { return None };
        let (key, Value::List(old)) = map.iter().find(|(key, _)| key.as_str() == Some(section))? else {
            return None;
        };
        let Value::Str(name) = old.get(at)? else { return None };
        if !self.names(name) || old.len() != items.len() {
            return None;
        }
        if items.len() == 1 {
            let change = Change::new(&[section], Action::Set(Value::list(Vec::new())));
            return change.apply(bytes, path, prefixes).ok()?;
        }
        splicer.keeps_anchors(item).ok()?;
        let splice = if matches!(list.form, NodeForm::FlowSequence(_)) {
            splicer.delete_in_brackets(items, at)
        } else {
            let dash = splicer.text.get(line_start(splicer.text, item.start)..item.start)?;
            if dash.trim() != "-" {
                return None;
            }
            Splice { range: splicer.whole_lines(item.start, splicer.end(item)), text: String::new() }
        };
        let text = splicer.splice(vec![splice]);
        let left = old.iter().enumerate().filter(|(index, _)| *index != at);
        let left = left.map(|(_, item)| item.clone()).collect();
        let expected: Map = map
            .iter()
            .map(|(other, value)| {
                let value = if other == key { Value::list(Vec::clone(&left)) } else { value.clone() };
                (other.clone(), value)
            })
            .collect();
        let found = read(&text, path).ok()??;
        indistinguishable(&found, &Value::map(expected)).then_some(text)
    }
}

/// The scalar value that begins at an offset.
fn value_node(node: &OutlineNode, start: usize) -> Option<&OutlineNode> {
    grow(|| match &node.form {
        NodeForm::BlockMapping(pairs) | NodeForm::FlowMapping(pairs) => {
            pairs.iter().find_map(|pair| value_node(&pair.value, start))
        }
        NodeForm::BlockSequence(items) | NodeForm::FlowSequence(items) => {
            items.iter().find_map(|item| value_node(item, start))
        }
        _ => (node.start == start).then_some(node),
    })
}

/// The index of the scalar value for which `is_it` holds.
fn value_at(node: &Node, is_it: &dyn Fn(u32) -> bool) -> Option<u32> {
    grow(|| match &node.data {
        Data::Value(_) => is_it(node.index).then_some(node.index),
        Data::List(items) => items.iter().find_map(|item| value_at(item, is_it)),
        Data::Map(entries) => entries.iter().find_map(|entry| value_at(&entry.value, is_it)),
    })
}

/// Whether two documents are the same, but for the scalar with this index, which must be a text in the second.
fn is_same_except(one: &Node, other: &Node, index: u32) -> bool {
    grow(|| match (&one.data, &other.data) {
        _ if one.index != other.index => false,
        (Data::Value(_), Data::Value(value)) if one.index == index => matches!(value, Value::Str(_)),
        (Data::Value(one), Data::Value(other)) => indistinguishable(one, other),
        (Data::List(some), Data::List(others)) => {
            some.len() == others.len()
                && some.iter().zip(others.iter()).all(|(one, other)| is_same_except(one, other, index))
        }
        (Data::Map(some), Data::Map(others)) => {
            some.len() == others.len()
                && some.iter().zip(others.iter()).all(|(one, other)| {
                    one.key_index == other.key_index
                        && indistinguishable(&one.key.0, &other.key.0)
                        && is_same_except(&one.value, &other.value, index)
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
        let mut text = None;
        let mut made = 0;
        for repair in &self.0 {
            if let Some(changed) = repair.apply(text.as_deref().unwrap_or(bytes), path, prefixes) {
                text = Some(changed);
                made += 1;
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
