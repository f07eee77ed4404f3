//! Differences as text: what is the same in the same nodes stands together, below their names.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::{Difference, Group, ListItem, ValueChange};
use crate::analysis::explain::{ValuePlace, brief, briefs};
use crate::base::error::{Error, Fault};
use crate::base::error::{concise, inert};
use crate::base::path::join_path;
use crate::base::value::{Text, Value};
use crate::output::style::{Paint, Style};

/// How many names stand above the changes that they have in common, unless all are asked for.
pub const NAMED: usize = 6;

/// The text of a difference. `named` is how many names stand above what nodes have in common.
pub fn text(difference: &Difference, delimiter: &str, named: usize, paint: Paint) -> String {
    let mut writer = Writer { out: String::new(), difference, delimiter, named, paint };
    writer.nodes("new nodes", &difference.added, Style::Added);
    writer.problems("is new, and does not render", &difference.unrendered, Style::Error);
    writer.nodes("nodes that are gone", &difference.removed, Style::Error);
    writer.problems("stops rendering", &difference.broken, Style::Error);
    writer.problems("renders again; before it was", &difference.mended, Style::Added);
    writer.problems(
        "does not render, as before, but for another reason",
        &difference.otherwise,
        Style::Error,
    );
    let mut together: IndexMap<&[Text], Vec<&Group>> = IndexMap::new();
    for group in &difference.changes {
        together.entry(&group.nodes).or_default().push(group);
    }
    for (nodes, groups) in together {
        writer.heading(nodes);
        for group in &groups {
            writer.group(group);
        }
        writer.out.push('\n');
    }
    writer.out.push_str(&line(difference));
    writer.out
}

/// The counts, the nodes that are there or render on one side alone, and the paths with the number of
/// nodes in which each changes. `named` is how many nodes are named at most in one line.
pub fn summary(difference: &Difference, delimiter: &str, named: usize) -> String {
    let mut nodes: IndexMap<String, (BTreeSet<&Text>, bool)> = IndexMap::new();
    for group in &difference.changes {
        let (nodes, differs) = nodes.entry(place_of(group, delimiter)).or_default();
        nodes.extend(&group.nodes);
        *differs |= group.differs_by_node;
    }
    let path = |(path, (nodes, differs)): (String, (BTreeSet<&Text>, bool))| {
        (if differs { format!("{path}  (the values differ by node)") } else { path }, nodes.len())
    };
    let mut paths: Vec<(String, usize)> = nodes.into_iter().map(path).collect();
    paths.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut out = String::new();
    for (path, nodes) in paths {
        let _ = writeln!(out, "{}  {path}", count(nodes, "node"));
    }
    let of = |nodes: &[(Text, Vec<Fault>)]| nodes.iter().map(|(node, _)| node.clone()).collect();
    let sides: [(&str, Vec<Text>); 6] = [
        ("new", difference.added.clone()),
        ("new, and does not render", of(&difference.unrendered)),
        ("gone", difference.removed.clone()),
        ("stops rendering", of(&difference.broken)),
        ("renders again", of(&difference.mended)),
        ("fails otherwise", of(&difference.otherwise)),
    ];
    for (what, on_one_side) in sides {
        if !on_one_side.is_empty() {
            let number = count(on_one_side.len(), "node");
            let _ = writeln!(out, "{number}  {what}: {}", listed(&on_one_side, named));
        }
    }
    out.push_str(&line(difference));
    out
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// The first names, and how many more there are.
fn listed(nodes: &[Text], most: usize) -> String {
    let names: Vec<String> = nodes.iter().take(most).map(|name| inert(name)).collect();
    let mut text = names.join(", ");
    if let Some(more @ 1..) = nodes.len().checked_sub(most) {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// `3 of 12 nodes differ: 2 changes, 1 new node`, behind what is not compared.
fn line(difference: &Difference) -> String {
    let note = if difference.own_settings {
        "reclass-config.yml differs: each state is rendered with its own\n"
    } else {
        "reclass-config.yml differs: both states are rendered with the settings as they stand\n"
    };
    let note = if difference.settings_differ { note } else { "" };
    // An error that both states have is no difference, but no proof that nothing differs either.
    let failing = match difference.failing.as_slice() {
        [] => String::new(),
        [name] => format!("'{}' is not compared: it renders in neither state\n", inert(name)),
        nodes => {
            let number = count(nodes.len(), "node");
            format!("{number} are not compared, they render in neither state: {}\n", listed(nodes, NAMED))
        }
    };
    format!("{note}{failing}{}", counted(difference))
}

fn counted(difference: &Difference) -> String {
    if difference.is_empty() {
        return format!("nothing differs in {}", count(difference.nodes, "node"));
    }
    let mut parts = Vec::new();
    for (number, what, whats) in [
        (difference.changes.len(), "change", "changes"),
        (difference.added.len(), "new node", "new nodes"),
        (difference.unrendered.len(), "of them does not render", "of them do not render"),
        (difference.removed.len(), "node gone", "nodes gone"),
        (difference.broken.len(), "stops rendering", "stop rendering"),
        (difference.mended.len(), "renders again", "render again"),
        (difference.otherwise.len(), "fails otherwise", "fail otherwise"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {}", if number == 1 { what } else { whats }));
        }
    }
    let touched = difference.touched().len();
    let verb = if touched == 1 { "differs" } else { "differ" };
    format!("{touched} of {} {verb}: {}", count(difference.nodes, "node"), parts.join(", "))
}

/// `parameters a:b`, or the section alone.
fn place_of(group: &Group, delimiter: &str) -> String {
    let path = inert(&join_path(&group.path(), delimiter));
    if path.is_empty() {
        group.change.section.name().into()
    } else {
        format!("{} {path}", group.change.section.name())
    }
}

struct Writer<'a> {
    out: String,
    difference: &'a Difference,
    delimiter: &'a str,
    named: usize,
    paint: Paint,
}

impl Writer<'_> {
    fn nodes(&mut self, what: &str, nodes: &[Text], style: Style) {
        if nodes.is_empty() {
            return;
        }
        let heading = self.paint.of(style, what);
        let _ = writeln!(self.out, "{heading}");
        for node in nodes {
            let _ = writeln!(self.out, "  {}", inert(node));
        }
        self.out.push('\n');
    }

    fn problems(&mut self, what: &str, nodes: &[(Text, Vec<Fault>)], style: Style) {
        // The same problems in many nodes are said once.
        let mut together: IndexMap<String, Vec<Text>> = IndexMap::new();
        for (node, faults) in nodes {
            let bare = faults.iter().map(|fault| Fault { node: None, ..fault.clone() }).collect();
            together.entry(concise(&Error::new(bare))).or_default().push(node.clone());
        }
        for (text, nodes) in together {
            self.heading(&nodes);
            let what = self.paint.of(style, what);
            let _ = writeln!(self.out, "  {what}");
            for line in text.lines() {
                let _ = writeln!(self.out, "    {line}");
            }
            self.out.push('\n');
        }
    }

    fn heading(&mut self, nodes: &[Text]) {
        let mut text = listed(nodes, self.named);
        if nodes.len() > 1 {
            let _ = write!(text, " ({} nodes)", nodes.len());
        }
        let text = self.paint.of(Style::Heading, &text);
        let _ = writeln!(self.out, "{text}");
    }

    fn group(&mut self, group: &Group) {
        let change = &group.change;
        let first = group.nodes.first().filter(|_| group.differs_by_node);
        let whose = first.map_or_else(String::new, |node| {
            format!("  (the values differ by node; these are of {})", inert(node))
        });
        let _ = writeln!(self.out, "  {}{whose}", place_of(group, self.delimiter));
        if !change.items.is_empty() {
            for (item, value) in change.items.iter().zip(self.items(change)) {
                self.value(item.added, &value, item.place.as_ref());
            }
            return;
        }
        let masked = |value: &Option<Value>| {
            value.as_ref().map(|value| self.difference.redaction.value(&change.path, value))
        };
        let (old, new) = match (masked(&change.old), masked(&change.new)) {
            (Some(old), Some(new)) => {
                let (old, new) = briefs(&old, &new);
                (Some(old), Some(new))
            }
            (old, new) => (old.as_ref().map(brief), new.as_ref().map(brief)),
        };
        for (added, value, place) in [(false, old, &group.old_place), (true, new, &group.new_place)] {
            if let Some(value) = value {
                self.value(added, &value, place.as_ref());
            }
        }
    }

    /// The items of a change, each on one line. Of those that are cut alike, one that is gone and one
    /// that is new are cut around their difference.
    fn items(&self, change: &ValueChange) -> Vec<String> {
        let values: Vec<Value> = change
            .items
            .iter()
            .map(|item| {
                let value = change.item(item).unwrap_or(&Value::Null);
                self.difference.redaction.value(&change.path, value)
            })
            .collect();
        let shown: Vec<String> = values.iter().map(brief).collect();
        // Those that are gone, and those that are new.
        let mut alike: FxHashMap<&str, [Vec<usize>; 2]> = FxHashMap::default();
        for (at, (item, text)) in change.items.iter().zip(&shown).enumerate() {
            alike.entry(text).or_default()[usize::from(item.added)].push(at);
        }
        let one = |(at, (item, text)): (usize, (&ListItem, &String))| {
            let sides = alike.get(&**text)?;
            let (own, others) = if item.added { (&sides[1], &sides[0]) } else { (&sides[0], &sides[1]) };
            let rank = own.binary_search(&at).ok()?;
            let other = others.get(rank).or(others.last())?;
            Some(briefs(values.get(at)?, values.get(*other)?).0)
        };
        let items = change.items.iter().zip(&shown).enumerate();
        items.map(|item| one(item).unwrap_or_else(|| item.1.1.clone())).collect()
    }

    fn value(&mut self, added: bool, value: &str, place: Option<&ValuePlace>) {
        let (sign, style) = if added { ('+', Style::Added) } else { ('-', Style::Error) };
        let value = self.paint.of(style, &format!("{sign} {value}"));
        let text = format!("    {value}  {}", self.place(place));
        let _ = writeln!(self.out, "{}", text.trim_end());
    }

    fn place(&self, place: Option<&ValuePlace>) -> String {
        let text = place.map_or_else(String::new, |place| {
            place.site.as_ref().map_or_else(|| place.layer.clone(), ToString::to_string)
        });
        if text.is_empty() { text } else { self.paint.of(Style::Place, &inert(&text)) }
    }
}
