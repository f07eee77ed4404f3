//! Writes differences as text. Equal changes of the same nodes form one block below the names of the nodes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::data::{ChangeKind, Difference, ItemChange, NodeProblems, ValueChange};
use crate::explain::ValuePlace;
use reclass::brief::{brief, briefs};
use reclass::report::Finding;
use reclass::style::{Paint, Style};
use reclass_base::error::{Error, Fault, concise, inert};
use reclass_base::value::Text;
use reclass_base::words::{count, listed};

/// Number of names above a block, unless all are requested.
pub const NAMED: usize = 6;

/// The words for nodes that exist or render on one side only.
pub(crate) struct SideWords {
    added: [&'static str; 2],
    removed: [&'static str; 2],
    broken: [&'static str; 2],
    mended: [&'static str; 2],
}

/// The words for two states of an inventory, in a text and in a summary.
const STATES: SideWords = SideWords {
    added: ["new nodes", "new"],
    removed: ["nodes that are gone", "gone"],
    broken: ["stops rendering", "stops rendering"],
    mended: ["renders again; before it was", "renders again"],
};

/// The words for two programs.
pub(crate) const PROGRAMS: SideWords = SideWords {
    added: ["nodes without an old answer", "without an old answer"],
    removed: ["nodes that only the old answers have", "only in the old answers"],
    broken: ["has an old answer, and does not render", "does not render"],
    mended: ["renders; the old program has no answer", "renders, without an old answer"],
};

/// The text of a difference. `named` is the number of names above a block.
pub fn text(difference: &Difference, named: usize, paint: Paint) -> String {
    blocks(difference, &STATES, named, paint) + &line(difference)
}

/// The text without its last lines.
pub(crate) fn blocks(difference: &Difference, words: &SideWords, named: usize, paint: Paint) -> String {
    let mut writer = DiffWriter { out: String::new(), named, paint };
    writer.nodes(words.added[0], &difference.added, Style::Added);
    writer.problems("is new, and does not render", &difference.unrendered, Style::Error);
    writer.nodes(words.removed[0], &difference.removed, Style::Error);
    writer.problems(words.broken[0], &difference.broken, Style::Error);
    writer.problems(words.mended[0], &difference.mended, Style::Added);
    writer.problems(
        "does not render, as before, but for another reason",
        &difference.otherwise,
        Style::Error,
    );
    let mut together: IndexMap<&[Text], Vec<&ValueChange>> = IndexMap::new();
    for change in &difference.changes {
        together.entry(&change.nodes).or_default().push(change);
    }
    for (nodes, changes) in together {
        writer.heading(nodes);
        for change in changes {
            writer.change(change);
        }
        writer.out.push('\n');
    }
    writer.findings("breaks a schema", &difference.schemas_broken, Style::Error);
    writer.findings("no longer breaks a schema", &difference.schemas_kept, Style::Added);
    writer.out
}

/// A summary: the counts, the nodes that exist or render on one side only, and the changed paths with their
/// number of nodes. `named` is the maximum number of names in one line.
pub fn summary(difference: &Difference, named: usize) -> String {
    summary_lines(difference, &STATES, named) + &line(difference)
}

/// The summary without its last lines.
pub(crate) fn summary_lines(difference: &Difference, words: &SideWords, named: usize) -> String {
    let mut nodes: IndexMap<String, (BTreeSet<&Text>, bool)> = IndexMap::new();
    for change in &difference.changes {
        let (nodes, differs) = nodes.entry(place_of(change)).or_default();
        nodes.extend(&change.nodes);
        *differs |= change.differs_by_node;
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
    let of = |nodes: &[NodeProblems]| nodes.iter().map(|one| one.node.clone()).collect();
    let sides: [(&str, Vec<Text>); 6] = [
        (words.added[1], difference.added.clone()),
        ("new, and does not render", of(&difference.unrendered)),
        (words.removed[1], difference.removed.clone()),
        (words.broken[1], of(&difference.broken)),
        (words.mended[1], of(&difference.mended)),
        ("fails otherwise", of(&difference.otherwise)),
    ];
    for (what, on_one_side) in sides {
        if !on_one_side.is_empty() {
            let number = count(on_one_side.len(), "node");
            let _ = writeln!(out, "{number}  {what}: {}", listed(&on_one_side, named));
        }
    }
    for (what, findings) in [
        ("breaks a schema", &difference.schemas_broken),
        ("no longer breaks a schema", &difference.schemas_kept),
    ] {
        for finding in findings {
            let number = count(finding.nodes.len(), "node");
            let _ = writeln!(out, "{number}  {what}: {}", inert(&finding.fault.kind.to_string()));
        }
    }
    out
}

/// `3 of 12 nodes differ: 2 changes, 1 new node`, after the nodes that were not compared.
fn line(difference: &Difference) -> String {
    let note = if difference.own_settings {
        "reclass-config.yml differs: each state is rendered with its own\n"
    } else {
        "reclass-config.yml differs: both states are rendered with the settings as they stand\n"
    };
    let note = if difference.settings_differ { note } else { "" };
    // A node that fails in both states shows no difference, but its values may differ. So it is named.
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
        (difference.schemas_broken.len(), "schema error more", "schema errors more"),
        (difference.schemas_kept.len(), "schema error less", "schema errors less"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {}", if number == 1 { what } else { whats }));
        }
    }
    let touched = difference.touched;
    let verb = if touched == 1 { "differs" } else { "differ" };
    format!("{touched} of {} {verb}: {}", count(difference.nodes, "node"), parts.join(", "))
}

/// `parameters a:b`, or the section alone.
fn place_of(change: &ValueChange) -> String {
    let section = change.section;
    if change.path.is_empty() { section.to_string() } else { format!("{section} {}", inert(&change.path)) }
}

struct DiffWriter {
    out: String,
    named: usize,
    paint: Paint,
}

impl DiffWriter {
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

    fn problems(&mut self, what: &str, nodes: &[NodeProblems], style: Style) {
        // The same faults in many nodes are written once.
        let mut together: IndexMap<String, Vec<Text>> = IndexMap::new();
        for NodeProblems { node, problems } in nodes {
            let bare = problems.iter().map(|one| Fault { node: None, ..one.fault.clone() }).collect();
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

    fn findings(&mut self, what: &str, findings: &[Finding], style: Style) {
        for finding in findings {
            self.heading(&finding.nodes);
            let what = self.paint.of(style, what);
            let _ = writeln!(self.out, "  {what}");
            let bare = Fault { node: None, ..finding.fault.clone() };
            let _ = writeln!(self.out, "    {}\n", concise(&Error::from(bare)));
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

    fn change(&mut self, change: &ValueChange) {
        let first = change.nodes.first().filter(|_| change.differs_by_node);
        let whose = first.map_or_else(String::new, |node| {
            format!("  (the values differ by node; these are of {})", inert(node))
        });
        let _ = writeln!(self.out, "  {}{whose}", place_of(change));
        if let Some(items) = &change.items {
            for (item, value) in items.iter().zip(brief_items(items)) {
                self.value(item.kind, &value, item.place.as_ref());
            }
            return;
        }
        let (old, new) = match (&change.old, &change.new) {
            (Some(old), Some(new)) => {
                let (old, new) = briefs(old, new);
                (Some(old), Some(new))
            }
            (old, new) => (old.as_ref().map(brief), new.as_ref().map(brief)),
        };
        for (kind, value, place) in
            [(ChangeKind::Removed, old, &change.old_place), (ChangeKind::Added, new, &change.new_place)]
        {
            if let Some(value) = value {
                self.value(kind, &value, place.as_ref());
            }
        }
    }

    fn value(&mut self, kind: ChangeKind, value: &str, place: Option<&ValuePlace>) {
        let (sign, style) = match kind {
            ChangeKind::Added => ("+", Style::Added),
            ChangeKind::Moved => ("moved", Style::Value),
            ChangeKind::Removed | ChangeKind::Changed => ("-", Style::Error),
        };
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

/// Items, each on one line. If a removed and an added item look the same when cut, they are cut around their
/// difference.
fn brief_items(items: &[ItemChange]) -> Vec<String> {
    let shown: Vec<String> = items.iter().map(|item| brief(&item.value)).collect();
    let added = |item: &ItemChange| item.kind == ChangeKind::Added;
    // Removed items and added items.
    let mut alike: FxHashMap<&str, [Vec<usize>; 2]> = FxHashMap::default();
    let is_moved = |item: &ItemChange| item.kind == ChangeKind::Moved;
    for (at, (item, text)) in items.iter().zip(&shown).enumerate().filter(|(_, (item, _))| !is_moved(item)) {
        alike.entry(text).or_default()[usize::from(added(item))].push(at);
    }
    let one = |(at, (item, text)): (usize, (&ItemChange, &String))| {
        let [gone, new] = alike.get(&**text)?;
        let (own, others) = if added(item) { (new, gone) } else { (gone, new) };
        let rank = own.binary_search(&at).ok()?;
        let other = others.get(rank).or(others.last())?;
        Some(briefs(&item.value, &items.get(*other)?.value).0)
    };
    let all = items.iter().zip(&shown).enumerate();
    all.map(|item| one(item).unwrap_or_else(|| item.1.1.clone())).collect()
}
