//! References turn the path of a parameter into everything that refers to it.

use super::inside::{each, texts_in};
use super::{Rows, row, texts};
use crate::engine::Inventory;
use crate::evaluate::{join_path, site};
use crate::pattern::{Glob, PathPattern};
use crate::report::site_value;
use crate::source::{Origin, Site};
use crate::survey::{Reach, Survey};
use crate::template::{Part, Reference, split_path};
use crate::value::{Key, Text, Value};

/// How a reference bears on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bearing {
    /// It names the path.
    Exact,
    /// It names something inside of it.
    Inside,
    /// It names a container around it.
    Around,
    /// A reference inside of it decides what it names; this may be it.
    Perhaps,
}

impl Bearing {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Bearing::Exact => "exact",
            Bearing::Inside => "inside",
            Bearing::Around => "around",
            Bearing::Perhaps => "perhaps",
        }
    }
}

/// One reference.
#[derive(Clone, Debug)]
pub struct ReferenceRow {
    /// The reference as written, without its default.
    pub reference: Text,
    /// How it bears on what was asked for.
    pub bearing: Bearing,
    /// Where it stands.
    pub site: Site,
    /// What holds it: the path of a parameter or export, or `classes`.
    pub within: String,
    /// The nodes that the file has a part in, sorted.
    pub nodes: Vec<Text>,
    /// Whether these are all: a node whose classes cannot be ordered may have the file too.
    pub complete: bool,
}

impl ReferenceRow {
    /// The row as plain data.
    pub fn to_value(&self) -> Value {
        row([
            ("reference", Value::Str(self.reference.clone())),
            ("bearing", Value::text(self.bearing.name())),
            ("site", site_value(&self.site)),
            ("within", Value::text(self.within.as_str())),
            ("nodes", texts(&self.nodes)),
            ("complete", Value::Bool(self.complete)),
        ])
    }
}

/// All references to the paths that any of the patterns choose, file by file; without a pattern all.
pub fn references(inventory: &Inventory, patterns: &[String]) -> Rows<ReferenceRow> {
    let delimiter = inventory.settings().delimiter.clone();
    let everything = ["**".to_owned()];
    let patterns = if patterns.is_empty() { &everything } else { patterns };
    let patterns: Vec<PathPattern> = patterns.iter().map(|text| PathPattern::new(text, &delimiter)).collect();
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let reach = Reach::of(computation, &survey, survey.nodes.iter());
        let mut rows = Vec::new();
        for file in &survey.files {
            let Ok(layer) = &file.layer else { continue };
            let names = std::cell::OnceCell::new();
            let mut found = |reference: &Reference, source: &Text, origin: Origin, within: String| {
                let bearing = patterns.iter().find_map(|pattern| bearing(pattern, reference, &delimiter));
                let (Some(bearing), Some(site)) =
                    (bearing, site(computation.inputs, origin, Some((source, reference.span))))
                else {
                    return;
                };
                rows.push(ReferenceRow {
                    reference: reference.written.clone(),
                    bearing,
                    site,
                    within,
                    nodes: names.get_or_init(|| survey.names(&file.nodes)).clone(),
                    complete: reach.knows(file),
                });
            };
            for entry in &layer.classes {
                if let Some(template) = &entry.template {
                    each(&template.parts, &mut |reference| {
                        found(reference, &template.source, entry.origin, "classes".into());
                    });
                }
            }
            for (map, section) in [(&layer.parameters, ""), (&layer.exports, "exports:")] {
                texts_in(map, &mut |path, template, origin| {
                    each(&template.parts, &mut |reference| {
                        let within = format!("{section}{}", join_path(path, &delimiter));
                        found(reference, &template.source, origin, within);
                    });
                });
            }
        }
        rows
    })
}

/// How a reference bears on a pattern; `None` where it does not.
fn bearing(pattern: &PathPattern, reference: &Reference, delimiter: &str) -> Option<Bearing> {
    if let Some(path) = &reference.fixed {
        let mut progress = pattern.start();
        let mut inside = false;
        for segment in &path.segments {
            inside |= pattern.is_match(&progress);
            progress = pattern.step(&progress, &Key::from(segment.clone()));
        }
        if pattern.is_match(&progress) {
            return Some(Bearing::Exact);
        }
        if inside {
            return Some(Bearing::Inside);
        }
        return (!progress.is_dead()).then_some(Bearing::Around);
    }
    // The keys before the first reference inside of it are known.
    let Some(Part::Literal(begin)) = reference.parts.first() else { return Some(Bearing::Perhaps) };
    let mut known = split_path(begin, delimiter);
    known.pop();
    let mut progress = pattern.start();
    for segment in known {
        if pattern.is_match(&progress) {
            return Some(Bearing::Perhaps);
        }
        progress = pattern.step(&progress, &Key::from(segment));
    }
    if progress.is_dead() {
        return None;
    }
    // What stands beside the inner references is known too, and can be compared with one path.
    let text = glob_of(&reference.parts);
    let same = |text: &str| Glob::new(text).matches(&pattern.source);
    let wild = pattern.source.contains(['*', '?', '[']) || text.contains(['?', '[']);
    (wild || same(&text) || same(&format!("{text}{delimiter}*"))).then_some(Bearing::Perhaps)
}

/// The inside of a reference with a star for each reference in it.
fn glob_of(parts: &[Part]) -> String {
    let text = parts.iter().map(|part| match part {
        Part::Literal(text) => text,
        Part::Reference(_) => "*",
    });
    text.collect()
}
