//! Writes an impact as text, and a difference as Markdown for a comment on a merge request.

use std::fmt::Write as _;

use indexmap::IndexMap;

use super::data::Impact;
use crate::diff::{self, Difference, ValueChange};
use reclass::style::Paint;
use reclass_base::error::inert;
use reclass_base::value::Text;
use reclass_base::words::{count, listed};

/// The greatest length of a comment in bytes. GitHub refuses comments of more than 65,536 characters.
const LARGEST: usize = 60_000;
/// Names in one line of a comment.
const NAMED: usize = 50;

/// The text of an impact. `most` is the number of names in a line.
pub fn text(impact: &Impact, most: usize) -> String {
    let mut out = String::new();
    let counted = |out: &mut String, number: usize, what: &str| {
        let _ = writeln!(out, "{}  {what}", count(number, "node"));
    };
    let by_number = |counts: Vec<(String, usize)>| {
        let mut counts = counts;
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts
    };
    let paths = impact.paths.iter().map(|(path, nodes)| (inert(path), *nodes)).collect();
    for (path, nodes) in by_number(paths) {
        counted(&mut out, nodes, &path);
    }
    let applications = impact.applications.iter();
    let applications = applications.map(|(name, nodes)| (format!("application {}", inert(name)), *nodes));
    for (name, nodes) in by_number(applications.collect()) {
        counted(&mut out, nodes, &name);
    }
    for broken in &impact.problems {
        let names = listed(&broken.nodes, most);
        let verb = if impact.is_subject { "may break" } else { verb(broken.nodes.len()) };
        counted(&mut out, broken.nodes.len(), &format!("{verb}: {names}"));
        for line in broken.problem.lines().filter(|_| !impact.is_subject) {
            let _ = writeln!(out, "    {line}");
        }
    }
    for (what, names) in [("gone", &impact.removed), ("touched", &impact.names)] {
        if !names.is_empty() {
            counted(&mut out, names.len(), &format!("{what}: {}", listed(names, most)));
        }
    }
    out + &verdict(impact)
}

fn verb(number: usize) -> &'static str {
    if number == 1 { "breaks" } else { "break" }
}

/// `3 of 4 nodes differ, 1 breaks`
fn verdict(impact: &Impact) -> String {
    let (differ, nodes) = (impact.differ, count(impact.nodes, "node"));
    let is_one = differ == 1;
    if impact.is_subject {
        let verb = if is_one { "depends" } else { "depend" };
        return format!("{differ} of {nodes} {verb} on {}", inert(&impact.new));
    }
    let verb_of = if is_one { "differs" } else { "differ" };
    let breaks = impact.breaks.len();
    format!("{differ} of {nodes} {verb_of}, {breaks} {}", verb(breaks))
}

/// The impact of the difference of two states as Markdown: a verdict, the nodes that break, and the values that change, one
/// fold for each group of nodes. A text that is too long is cut.
pub fn markdown(impact: &Impact, difference: &Difference) -> String {
    let names = |nodes: &[Text]| {
        let names: Vec<String> = nodes.iter().take(NAMED).map(|name| code(name)).collect();
        let more = nodes.len().checked_sub(NAMED).filter(|more| *more > 0);
        names.join(", ") + &more.map_or_else(String::new, |more| format!(" and {more} more"))
    };
    let broken = impact.problems.iter().map(|broken| {
        let verb = verb(broken.nodes.len());
        format!("{} {verb}:\n\n{}", names(&broken.nodes), fenced(&broken.problem))
    });
    let sides = [("New", &difference.added), ("Gone", &impact.removed)];
    let sides = sides.into_iter().filter(|(_, nodes)| !nodes.is_empty());
    let sides = sides.map(|(what, nodes)| format!("{what}: {}\n", names(nodes)));
    let mut together: IndexMap<&[Text], Vec<ValueChange>> = IndexMap::new();
    for change in &difference.changes {
        together.entry(&change.nodes).or_default().push(change.clone());
    }
    let changed = together.into_iter().map(|(nodes, changes)| {
        let title = format!("{}: {}", listed(nodes, diff::NAMED), count(changes.len(), "change"));
        let title = title.replace('&', "&amp;").replace('<', "&lt;");
        let difference = Difference { changes, ..Difference::default() };
        let text = diff::blocks(&difference, &diff::PROGRAMS, diff::NAMED, Paint::PLAIN);
        format!("<details><summary>{title}</summary>\n\n{}\n</details>\n", fenced(&text))
    });
    let mut out = format!("**{}.**\n", verdict(impact));
    let mut left_out = 0;
    for part in broken.chain(sides).chain(changed) {
        if out.len() + part.len() > LARGEST {
            left_out += 1;
        } else {
            let _ = write!(out, "\n{part}");
        }
    }
    if left_out > 0 {
        let (old, new) = (inert(&difference.old), inert(&difference.new));
        let _ = write!(out, "\nToo long; this shows all: {}", code(&format!("reclass diff {old} {new}")));
    }
    out.truncate(out.trim_end().len());
    out
}

/// A name as code in a line. A name of a node has no backtick and no line break in it where it matters.
fn code(name: &str) -> String {
    format!("`{}`", inert(name).replace('`', "'"))
}

/// A text in a fence that is longer than any in it.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}\n", text.trim_end())
}

impl Impact {
    /// The names of the nodes with commas, as `salt -L` takes them.
    pub fn list(&self) -> String {
        self.names.join(",")
    }
}
