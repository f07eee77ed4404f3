//! Lists all references to a parameter: in texts, in queries and in class mappings.

use std::cell::OnceCell;

use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::nodes::{ListedRows, NodeFilter, Rows, SelectedNodes};
use crate::survey::Survey;
use reclass::Inventory;
use reclass::parts::engine::Computation;
use reclass::parts::evaluate::{PartSites, site};
use reclass::parts::model::merge::settled;
use reclass::parts::model::{Operand, Parsed, Part, Prefixes, Query, Reference, Template, template, visit};
use reclass_base::error::Result;
use reclass_base::path::join_path;
use reclass_base::path::split_path;
use reclass_base::pattern::{Glob, PathPattern, push_escaped};
use reclass_base::source::{Origin, Site};
use reclass_base::value::{Key, Text};

/// The relation between a reference and the requested path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bearing {
    /// It names the path.
    Exact,
    /// It names a path below it.
    Inside,
    /// It names a container of it.
    Around,
    /// It depends on a nested reference and may name the path.
    Perhaps,
}

impl Bearing {
    /// The name of the relation.
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
#[derive(Clone, Debug, Serialize)]
pub struct ReferenceRow {
    /// The reference as written, without its default. For a query: `self:` and a path.
    pub reference: Text,
    /// Its relation to the requested path.
    pub bearing: Bearing,
    /// Its place; `None` in a class mapping.
    pub site: Option<Site>,
    /// The path of the parameter or export that contains it, `classes`, or the class mapping.
    pub within: String,
    /// The nodes that the file contributes to, sorted.
    pub nodes: Vec<Text>,
}

/// Finds the references to the requested paths.
struct Finder<'a> {
    computation: &'a Computation<'a>,
    patterns: &'a [PathPattern],
    /// The covered nodes, if these are not all.
    nodes: Option<FxHashSet<&'a Text>>,
    rows: Vec<ReferenceRow>,
}

/// The nodes of a reference.
type Users<'u> = &'u dyn Fn() -> Vec<Text>;

/// All references to paths that match any of the patterns, file by file, then those of class mappings.
/// Without patterns, all references. With a filter, only references of the nodes that pass it.
pub fn references(inventory: &Inventory, patterns: &[String], filter: &NodeFilter) -> Rows<ReferenceRow> {
    let delimiter = inventory.settings().delimiter.clone();
    let everything = ["**".to_owned()];
    let patterns = if patterns.is_empty() { &everything } else { patterns };
    let patterns: Vec<PathPattern> = patterns.iter().map(|text| PathPattern::new(text, &delimiter)).collect();
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let selected = SelectedNodes::of(computation, &survey, filter)?;
        let nodes = selected.nodes(&survey).map(|node| &node.name);
        let prefixes = Prefixes::new(computation.settings);
        let nodes = (!filter.is_empty()).then(|| nodes.collect());
        let mut finder = Finder { computation, patterns: &patterns, nodes, rows: Vec::new() };
        for file in survey.files.iter().filter(|file| selected.includes(file)) {
            let Ok(layer) = &file.layer else { continue };
            let names = OnceCell::new();
            let nodes = || names.get_or_init(|| survey.names(&selected.users(file))).clone();
            let users: Users<'_> = &nodes;
            for entry in &layer.classes {
                if let Some(template) = &entry.template {
                    finder.template(template, entry.origin, "classes", users);
                }
            }
            for (map, section) in [(&layer.parameters, ""), (&layer.exports, "exports:")] {
                let within = |path: &[Key]| format!("{section}{}", join_path(path, &delimiter));
                let map = settled(map, &prefixes);
                map.texts(&mut |path, template, origin| {
                    finder.template(template, origin, &within(path), users);
                });
                map.queries(&mut |path, query, origin| {
                    finder.query(query, origin, &within(path), users);
                });
            }
        }
        finder.mappings();
        Ok(ListedRows { rows: finder.rows, left_out: selected.left_out })
    })?
}

/// The places of the queries that ask for an export or compare it, for a part of it or for a container of it.
pub fn queries_of_export(inventory: &Inventory, path: &str) -> Result<Vec<Site>> {
    let mut escaped = String::new();
    push_escaped(&mut escaped, path);
    let pattern = PathPattern::new(&escaped, &inventory.settings().delimiter);
    inventory.inspect(|computation| {
        let (mut sites, prefixes) = (Vec::new(), Prefixes::new(computation.settings));
        for layer in Survey::of(computation).files.iter().filter_map(|file| file.layer.as_ref().ok()) {
            for map in [&layer.parameters, &layer.exports] {
                settled(map, &prefixes).queries(&mut |_, query, origin| {
                    let mut exports = query.value.iter().chain(query.comparisons().map(|test| &test.export));
                    if exports.any(|path| bearing_of(&pattern, path).is_some()) {
                        sites.extend(site(computation.inputs, origin, None));
                    }
                });
            }
        }
        sites
    })
}

impl Finder<'_> {
    fn template(&mut self, template: &Template, origin: Origin, within: &str, users: Users<'_>) {
        let delimiter = &self.computation.settings.delimiter;
        let mut sites = PartSites::of(self.computation.inputs, origin, &template.source);
        visit::references(&template.parts, &mut |reference| {
            let bearing = self.patterns.iter().find_map(|pattern| bearing(pattern, reference, delimiter));
            self.rows.extend(bearing.map(|bearing| {
                row_of(reference.written.clone(), bearing, sites.site(reference.span), within, users)
            }));
        });
    }

    /// The parameters that a query compares exports with: `self:` and a path.
    fn query(&mut self, query: &Query, origin: Origin, within: &str, users: Users<'_>) {
        let delimiter = &self.computation.settings.delimiter;
        for test in query.comparisons() {
            let Operand::Parameter(path) = &test.operand else { continue };
            let bearing = self.patterns.iter().find_map(|pattern| bearing_of(pattern, path));
            let keys: Vec<&str> = std::iter::once("self").chain(path.iter().map(AsRef::as_ref)).collect();
            let written = Text::from(keys.join(delimiter));
            let site = site(self.computation.inputs, origin, None);
            self.rows.extend(bearing.map(|bearing| row_of(written, bearing, site, within, users)));
        }
    }

    /// The references in the class mappings, with the nodes that the mappings match.
    fn mappings(&mut self) {
        let mut found: IndexMap<(&Text, Text), Vec<Text>> = IndexMap::new();
        let mut given = Vec::new();
        for item in self.computation.catalog.nodes.values() {
            let mapped = self.computation.mapped_classes(item).unwrap_or_default();
            given.extend(mapped.into_iter().filter(|one| !one.literal).map(|one| (one, &item.name)));
        }
        for (mapped, node) in &given {
            found.entry((&mapped.mapping, mapped.class.clone())).or_default().push((*node).clone());
        }
        // Mappings without a node, in their written form.
        for (mapping, name) in self.computation.mappings.names() {
            if !given.iter().any(|(mapped, _)| mapped.mapping == *mapping) {
                found.entry((mapping, name.into())).or_default();
            }
        }
        for ((mapping, name), mut nodes) in found {
            if let Some(selected) = &self.nodes {
                nodes.retain(|node| selected.contains(node));
                if nodes.is_empty() {
                    continue;
                }
            }
            if let Ok(Parsed::Template(template)) = template::parse(&name, self.computation.settings) {
                let within = format!("class mapping '{mapping}'");
                self.template(&template, Origin::NONE, &within, &|| nodes.clone());
            }
        }
    }
}

fn row_of(
    reference: Text,
    bearing: Bearing,
    site: Option<Site>,
    within: &str,
    nodes: Users<'_>,
) -> ReferenceRow {
    ReferenceRow { reference, bearing, site, within: within.to_owned(), nodes: nodes() }
}

/// The relation of a path to a pattern; `None` if there is none.
fn bearing_of(pattern: &PathPattern, path: &[Text]) -> Option<Bearing> {
    let mut progress = pattern.start();
    let mut inside = false;
    for segment in path {
        inside |= pattern.is_match(&progress);
        progress = pattern.step(&progress, &Key::from(segment.clone()));
    }
    if pattern.is_match(&progress) {
        return Some(Bearing::Exact);
    }
    if inside {
        return Some(Bearing::Inside);
    }
    (!progress.is_dead()).then_some(Bearing::Around)
}

/// The relation of a reference to a pattern; `None` if there is none.
fn bearing(pattern: &PathPattern, reference: &Reference, delimiter: &str) -> Option<Bearing> {
    if let Some(path) = &reference.fixed {
        return bearing_of(pattern, &path.segments);
    }
    // The keys before the first nested reference are known.
    let Some(Part::Literal(begin)) = reference.parts.first() else { return Some(Bearing::Perhaps) };
    // A default follows two delimiters.
    let double = delimiter.repeat(2);
    if let Some((path, _)) = begin.split_once(&double) {
        return bearing_of(pattern, &split_path(path, delimiter));
    }
    let wild = pattern.source.contains(['*', '?', '[']);
    let inside = if wild { Bearing::Perhaps } else { Bearing::Inside };
    let mut known = split_path(begin, delimiter);
    known.pop();
    let mut progress = pattern.start();
    for segment in known {
        if pattern.is_match(&progress) {
            return Some(inside);
        }
        progress = pattern.step(&progress, &Key::from(segment));
    }
    if pattern.is_match(&progress) {
        return Some(inside);
    }
    if progress.is_dead() {
        return None;
    }
    // The text around the nested references is known too, and can be compared with a single path.
    let text = template::glob(&reference.parts);
    let text = text.split_once(&double).map_or(text.as_str(), |(path, _)| path);
    let around = |keys: &[Text], wanted: &[Text]| {
        let mut pairs = wanted.iter().zip(keys);
        wanted.len() < keys.len() && pairs.all(|(wanted, key)| Glob::new(key).matches(wanted))
    };
    let is_around = around(&split_path(text, delimiter), &split_path(&pattern.source, delimiter));
    let same = |text: &str| Glob::new(text).matches(&pattern.source);
    let unclear = wild || is_around || text.contains(['?', '[']);
    (unclear || same(text) || same(&format!("{text}{delimiter}*"))).then_some(Bearing::Perhaps)
}
