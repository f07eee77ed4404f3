//! Writes the graph as one HTML file that needs neither server nor network: the explorer.
//!
//! The data is in two elements, compressed: an overview, which the page shows at once, and the values of all files
//! and nodes. A page of many nodes has no values of nodes: those of one node come from the server of the page when
//! a reader asks for them ([`node_values`]). The script inserts texts as text only, so a text of an inventory cannot
//! become markup or code. A policy in the page forbids all connections but those to its server.

use std::collections::BTreeMap;
use std::convert::identity;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::tables::{LeafSection, NumberedTable, Ordered, Tables};
use reclass::Inventory;
use reclass::brief::brief;
use reclass::parts::engine::{Computation, IncludedBy, NodeRequest, Version};
use reclass::parts::model::merge::settled;
use reclass::parts::model::{Layer, Operand, Prefixes, Template, visit};
use reclass::parts::storage::WorkTree;
use reclass::redact::Redaction;
use reclass::report::{Finding, Level, to_json_line};
use reclass_analysis::explain::{ExplainedLeaf, ExplainedLeaves, leaves};
use reclass_analysis::inclusions::{ByName, FileKind, Graph, chosen, of_nodes};
use reclass_analysis::lint::rule;
use reclass_analysis::schema::Schemas;
use reclass_analysis::survey::{Survey, Surveyed, chosen_nodes};
use reclass_base::base64;
use reclass_base::error::{Error, Fault, Result, concise, inert};
use reclass_base::source::{FileId, Site};
use reclass_base::value::{Key, Text, Value};

/// The page, with placeholders.
const PAGE: &str = include_str!("page.html");

/// The page of an error, with placeholders.
const ERROR_PAGE: &str = include_str!("error.html");

/// The script, made of the sources in `explorer`.
const SCRIPT: &str = include_str!("explorer.js");

/// The script of a page that a server shows.
const LIVE: &str = include_str!("../explorer/live.js");

const STYLE: &str = include_str!("../explorer/style.css");

/// Facts that are not in the inventory.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// The time of the page, for people.
    pub date: String,
    /// The address of a file in the repository, with `{revision}`, `{file}`, `{line}` and `{column}`.
    pub link: Option<String>,
    /// The findings of lint about the same nodes.
    pub findings: Vec<Finding>,
    /// The meaning of the code of an error, in Markdown. The rules of lint have their own texts.
    pub meaning: Option<fn(&str) -> Option<&'static str>>,
}

/// What the page shows at once.
#[derive(Serialize)]
struct Overview {
    /// The name of the inventory's folder.
    name: String,
    /// The folder that the paths begin at.
    folder: String,
    date: String,
    /// The commit of the work tree around the folder.
    revision: Option<String>,
    /// Whether files differ from that commit.
    changed: bool,
    /// The path of the folder in the work tree, with a slash at its end if it is not empty.
    inside: String,
    link: Option<String>,
    delimiter: String,
    /// Whether the page covers all nodes.
    whole: bool,
    /// The number of nodes: the first files.
    nodes: usize,
    /// Whether the values of the nodes are in the page.
    held: bool,
    files: Vec<FileRow>,
    /// The classes of nodes: nodes with the same classes share a row.
    kinds: NumberedTable<Kind>,
    facts: Vec<PageNode>,
    rules: Vec<RuleRow>,
    findings: Vec<FindingRow>,
}

/// A file: its name, its path and its list entries: the number of the class, line and column.
type FileRow = (Text, Option<String>, Vec<(usize, u32, u32)>, FileState);

/// Whether a file can be read.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum FileState {
    Read,
    Missing,
    Unreadable,
}

/// The classes of a node in merge order, and the included files in include order: each with the index of its
/// includer among these, zero for the node; or a negative number for a class mapping.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
struct Kind {
    merged: Vec<usize>,
    included: Vec<(usize, i64)>,
}

#[derive(Serialize)]
struct PageNode {
    kind: Option<usize>,
    environment: String,
    applications: Vec<Text>,
    mapped: Vec<(Text, usize)>,
    problems: Vec<PageProblem>,
}

/// A fault of a node.
#[derive(Serialize)]
struct PageProblem {
    code: &'static str,
    message: String,
    file: Option<usize>,
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct RuleRow {
    code: &'static str,
    /// The most severe level of its findings.
    level: &'static str,
    /// The meaning in one sentence.
    about: &'static str,
    /// The details in Markdown.
    text: &'static str,
}

/// The number of the file, the line and the column of a place.
type PagePosition = (Option<usize>, u32, u32);

/// A finding: the number of its rule, message, file, line, column, number of nodes, level, the path of the parameter
/// or export, and whether it is an export.
type FindingRow = (usize, String, Option<usize>, u32, u32, usize, &'static str, Option<String>, bool);

/// The values of files and nodes.
#[derive(Default, Serialize)]
struct Values {
    #[serde(flatten)]
    tables: Tables,
    /// The containers of each node: parameters and exports. Empty if the values of the nodes are not here.
    roots: Vec<(Option<usize>, Option<usize>)>,
    /// By file.
    sets: Vec<SetValues>,
    /// By file: the references.
    references: Vec<Vec<PageReference>>,
    /// The merge options of all files.
    merge_options: Vec<MergeOption>,
    /// The sentences of schemas, by path.
    schemas: BTreeMap<usize, String>,
}

/// Path, written and place of each value that a file sets.
type SetValues = Vec<(usize, usize, Option<usize>)>;

/// A reference: the path that holds it, the path that it names, its text and its place. A reference in a class
/// list is held by no path.
type PageReference = (Option<usize>, Option<usize>, String, Option<usize>);

/// A merge option: file, pattern, strategy and place.
type MergeOption = (usize, String, String, Option<usize>);

/// The data of a page, as JSON.
#[derive(Clone, Debug)]
pub struct PageData {
    /// Names, classes, findings: what the page shows at once.
    pub overview: String,
    /// The values of all files, and of the nodes if they are few.
    pub values: String,
}

/// The most nodes whose values are in the page. The values of more would fill the memory of a browser, and most of
/// them nobody looks at.
const MOST_NODES: usize = 300;

/// The data of the page of the nodes that match the globs. Secrets are hidden.
pub fn data(
    inventory: &Inventory,
    globs: &[String],
    redaction: &Redaction,
    options: &PageOptions,
) -> Result<PageData> {
    made(inventory, globs, redaction, |maker| {
        let (overview, values) = maker.make(options, globs.is_empty());
        PageData { overview: to_json_line(&overview), values: to_json_line(&values) }
    })
}

/// The values of the node with this number in that page, as JSON; `None` if there is none. Secrets are hidden.
pub fn node_values(
    inventory: &Inventory,
    globs: &[String],
    redaction: &Redaction,
    node: usize,
) -> Result<Option<String>> {
    made(inventory, globs, redaction, |maker| {
        let node = maker.chosen.get(node)?;
        let mut tables = maker.tables(&maker.paths());
        let leaves = node_leaves(maker.computation, node, maker.redaction);
        let roots = vec![roots(&mut tables, maker.computation, &leaves)];
        Some(to_json_line(&Values { tables, roots, ..Values::default() }))
    })
}

/// What is made of the nodes that match the globs.
fn made<T>(
    inventory: &Inventory,
    globs: &[String],
    redaction: &Redaction,
    make: impl Fn(&Maker<'_>) -> T,
) -> Result<T> {
    inventory.inspect(|computation| {
        let names = chosen_nodes(computation.catalog, globs)?;
        let survey = Survey::of(computation);
        let chosen = chosen(&survey, &names);
        let graph = of_nodes(&survey, &chosen, globs.is_empty());
        Ok(make(&Maker { computation, survey: &survey, redaction, graph: &graph, chosen: &chosen }))
    })?
}

/// The files of an inventory with their versions. Two pages of one inventory differ only if these differ.
#[derive(PartialEq, Eq, Default, Debug)]
pub struct PageState {
    versions: Vec<(FileId, Version)>,
    /// How often the bytes of a file changed: a version stays if only positions change.
    changes: u64,
}

/// What the page depends on now. Costs what listing all nodes and classes costs.
pub fn page_state(inventory: &Inventory) -> Result<PageState> {
    inventory.inspect(|computation| {
        Survey::of(computation);
        let inputs = computation.inputs;
        PageState { versions: inputs.versions(), changes: inputs.files.content_changes() }
    })
}

/// The page of this data. The page of a server that has a number for the state of its inventory asks for this
/// number, at `state` beside its own address, and is loaded again if it differs.
pub fn html(data: &PageData, state: Option<u64>) -> String {
    let live = state.map(|state| live_script(state) + "\n");
    let connect = if state.is_some() { "; connect-src 'self'" } else { "" };
    let packed =
        |json: &str| base64::encode(&miniz_oxide::deflate::compress_to_vec(json.as_bytes(), DEFLATE_LEVEL));
    // The script comes last: its text is not searched for placeholders.
    PAGE.replace("{{style}}", STYLE.trim_end())
        .replace("{{overview}}", &packed(&data.overview))
        .replace("{{values}}", &packed(&data.values))
        .replace("{{connect}}", connect)
        .replace("{{live}}", &live.unwrap_or_default())
        .replace("{{script}}", SCRIPT.trim_end())
        .trim_end()
        .to_owned()
}

/// The page of a server whose inventory cannot be shown, with the text of the error. It is loaded again like the
/// page of the graph.
pub fn error_html(text: &str, state: u64) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    ERROR_PAGE
        .replace("{{style}}", STYLE.trim_end())
        .replace("{{live}}", &live_script(state))
        .replace("{{text}}", &text)
        .trim_end()
        .to_owned()
}

/// The element that loads the page of a server again when the state of the inventory has another number.
fn live_script(state: u64) -> String {
    format!("<script data-state=\"{state}\">\n{LIVE}</script>")
}

/// The level of compression: the highest one takes three times as long for two hundredths of the size.
const DEFLATE_LEVEL: u8 = 6;

/// Makes the data of a page.
struct Maker<'a> {
    computation: &'a Computation<'a>,
    survey: &'a Survey,
    redaction: &'a Redaction,
    graph: &'a Graph,
    chosen: &'a [&'a Surveyed],
}

/// The leaves of a node: parameters and exports, and its faults.
#[derive(Default)]
struct NodeLeaves {
    parameters: Vec<ExplainedLeaf>,
    exports: Vec<ExplainedLeaf>,
    faults: Vec<Fault>,
}

/// The containers of a node: parameters and exports.
fn roots(
    tables: &mut Tables,
    computation: &Computation<'_>,
    leaves: &NodeLeaves,
) -> (Option<usize>, Option<usize>) {
    (
        tables.tree(computation, LeafSection::Parameters, &leaves.parameters),
        tables.tree(computation, LeafSection::Exports, &leaves.exports),
    )
}

impl Maker<'_> {
    /// The numbers of the files, by path.
    fn paths(&self) -> FxHashMap<Arc<str>, usize> {
        let paths = self.graph.files.iter().zip(0..);
        paths.filter_map(|(file, at)| Some((file.file.as_deref()?.into(), at))).collect()
    }

    /// Empty tables for the files and nodes of the page.
    fn tables(&self, paths: &FxHashMap<Arc<str>, usize>) -> Tables {
        let nodes = self.chosen.iter().zip(0..).map(|(node, at)| (node.name.clone(), at)).collect();
        Tables::new(self.computation.settings, paths.clone(), nodes, self.redaction)
    }

    fn make(&self, options: &PageOptions, whole: bool) -> (Overview, Values) {
        let (computation, graph, chosen) = (self.computation, self.graph, self.chosen);
        let numbers: FxHashMap<(FileKind, &str), usize> =
            graph.files.iter().zip(0..).map(|(file, at)| ((file.kind, &*file.name), at)).collect();
        let class = |name: &Text| numbers.get(&(FileKind::Class, &**name)).copied();
        let paths = self.paths();
        let mut tables = self.tables(&paths);
        let position = |site: Option<&Site>| {
            let file = site.and_then(|site| paths.get(&site.path)).copied();
            (file, site.map_or(0, |site| site.line), site.map_or(0, |site| site.column))
        };

        let held = chosen.len() <= MOST_NODES;
        let found = computation.context().each_node(chosen, identity, |computation, node| {
            if held {
                node_leaves(computation, node, self.redaction)
            } else {
                NodeLeaves { faults: node_faults(computation, node), ..NodeLeaves::default() }
            }
        });
        let mut kinds = NumberedTable::default();
        let mut facts = Vec::new();
        let mut all_roots = Vec::new();
        for (node, found) in chosen.iter().zip(found) {
            if held {
                all_roots.push(roots(&mut tables, computation, &found));
            }
            let problem = |fault: &Fault| {
                let (file, line, column) = position(fault.site.as_ref());
                PageProblem { code: fault.code(), message: sentence(fault), file, line, column }
            };
            let vertex = numbers.get(&(FileKind::Node, &*node.name)).and_then(|at| graph.files.get(*at));
            let mapped = vertex.iter().flat_map(|vertex| &vertex.mapped);
            let mapped = mapped.filter_map(|(mapping, name)| Some((mapping.clone(), class(name)?)));
            facts.push(PageNode {
                kind: node.layers.is_ok().then(|| kinds.number(kind(node, &class))),
                environment: Some(node.environment())
                    .filter(|value| *value != Value::Null)
                    .as_ref()
                    .map_or_else(String::new, brief),
                applications: node.applications(),
                mapped: mapped.collect(),
                problems: found.faults.iter().map(problem).collect(),
            });
        }

        let by_name = ByName::of(self.survey);
        let (sets, references) = self.of_files(&mut tables, &by_name);
        let merge_options = self.merge_options(&mut tables, &by_name);
        let schemas = self.described(&mut tables, &by_name);
        let (rules, findings) = found_by_rule(options, &position);
        let place = Place::of(computation);
        let files = graph.files.iter().map(|file| {
            let path = file.file.as_ref().map(|path| place.relative(path));
            let listed = file.lists.iter().filter_map(|(name, origin)| {
                let site = reclass::parts::evaluate::site(computation.inputs, *origin, None);
                let (_, line, column) = position(site.as_ref());
                Some((class(name)?, line, column))
            });
            let state = match by_name.file(file.kind, &file.name) {
                None => FileState::Missing,
                Some(file) if file.layer.is_err() => FileState::Unreadable,
                Some(_) => FileState::Read,
            };
            (file.name.clone(), path, listed.collect(), state)
        });
        let overview = Overview {
            files: files.collect(),
            name: place.name,
            folder: place.folder,
            date: options.date.clone(),
            revision: place.tree.as_ref().map(|tree| tree.commit.clone()),
            changed: place.tree.as_ref().is_some_and(|tree| tree.changed),
            inside: place.inside,
            link: options.link.clone(),
            delimiter: computation.settings.delimiter.to_string(),
            whole,
            nodes: chosen.len(),
            held,
            kinds,
            facts,
            rules,
            findings,
        };
        (overview, Values { tables, roots: all_roots, sets, references, merge_options, schemas })
    }

    /// The values that each file sets, and its references.
    fn of_files(
        &self,
        tables: &mut Tables,
        by_name: &ByName<'_>,
    ) -> (Vec<SetValues>, Vec<Vec<PageReference>>) {
        let (mut sets, mut references) = (Vec::new(), Vec::new());
        for file in &self.graph.files {
            let layer = by_name.layer(file);
            sets.push(layer.map(|layer| self.sets(tables, layer)).unwrap_or_default());
            references.push(layer.map(|layer| self.references(tables, layer)).unwrap_or_default());
        }
        (sets, references)
    }

    fn sets(&self, tables: &mut Tables, layer: &Layer) -> SetValues {
        let prefixes = Prefixes::new(self.computation.settings);
        let redaction = self.redaction.within(layer);
        let mut found = Vec::new();
        for (map, section) in
            [(&layer.parameters, LeafSection::Parameters), (&layer.exports, LeafSection::Exports)]
        {
            settled(map, &prefixes).leaves(&mut |path, slot| {
                let value = redaction.slot(path, slot, &prefixes);
                found.push((
                    tables.path(section, path),
                    tables.written(self.computation, &value),
                    tables.origin(self.computation, slot.origin()),
                ));
            });
        }
        found
    }

    /// What the schemas say about the parameters of files and the mappings above them, by path.
    fn described(&self, tables: &mut Tables, by_name: &ByName<'_>) -> BTreeMap<usize, String> {
        let mut described = BTreeMap::new();
        let Ok(Some(schemas)) = Schemas::of_computation(self.computation) else { return described };
        let prefixes = Prefixes::new(self.computation.settings);
        for file in &self.graph.files {
            let Some(surveyed) = by_name.file(file.kind, &file.name) else { continue };
            let Ok(layer) = &surveyed.layer else { continue };
            let scope = schemas.scope(self.survey.users_with_classes(surveyed));
            settled(&layer.parameters, &prefixes).leaves(&mut |path, _| {
                for path in (1..=path.len()).filter_map(|end| path.get(..end)) {
                    let number = tables.path(LeafSection::Parameters, path);
                    if described.contains_key(&number) {
                        continue;
                    }
                    let secrets = &self.redaction.secrets;
                    let found = schemas.description(&scope, path, secrets);
                    described.extend(found.map(|found| (number, inert(&found.to_string()))));
                }
            });
        }
        described
    }

    /// The merge options that the files declare.
    fn merge_options(&self, tables: &mut Tables, by_name: &ByName<'_>) -> Vec<MergeOption> {
        let mut rows = Vec::new();
        for (file, number) in self.graph.files.iter().zip(0..) {
            let Some(layer) = by_name.layer(file) else { continue };
            for one in &layer.merge_options {
                let place = tables.origin(self.computation, one.origin);
                rows.push((number, inert(&one.pattern.source), one.to_string(), place));
            }
        }
        rows
    }

    fn references(&self, tables: &mut Tables, layer: &Layer) -> Vec<PageReference> {
        let computation = self.computation;
        let prefixes = Prefixes::new(computation.settings);
        let mut rows: Vec<PageReference> = Vec::new();
        let mut add = |tables: &mut Tables, template: &Template, within: Option<usize>, place| {
            visit::references(&template.parts, &mut |reference| {
                let target = reference.fixed.as_ref().map(|path| tables.segments(&path.segments));
                rows.push((within, target, inert(&reference.written), place));
            });
        };
        for entry in &layer.classes {
            if let Some(template) = &entry.template {
                let place = tables.origin(computation, entry.origin);
                add(tables, template, None, place);
            }
        }
        let sections = [(&layer.parameters, LeafSection::Parameters), (&layer.exports, LeafSection::Exports)];
        for (map, section) in sections {
            settled(map, &prefixes).texts(&mut |path, template, origin| {
                let (within, place) = (tables.path(section, path), tables.origin(computation, origin));
                add(tables, template, Some(within), place);
            });
        }
        for (map, section) in sections {
            settled(map, &prefixes).queries(&mut |path, query, origin| {
                let (within, place) = (tables.path(section, path), tables.origin(computation, origin));
                for test in query.comparisons() {
                    let Operand::Parameter(segments) = &test.operand else { continue };
                    let keys: Vec<Key> = segments.iter().cloned().map(Key::from).collect();
                    let target = tables.segments(segments);
                    let text = reclass_base::path::join_path(&keys, &computation.settings.delimiter);
                    rows.push((Some(within), Some(target), inert(&format!("self:{text}")), place));
                }
            });
        }
        rows
    }
}

fn node_leaves(computation: &Computation<'_>, node: &Surveyed, redaction: &Redaction) -> NodeLeaves {
    let Ok(layers) = &node.layers else {
        return NodeLeaves { faults: node_faults(computation, node), ..NodeLeaves::default() };
    };
    let mut faults = Vec::new();
    let mut is_wrong = false;
    let mut found = |exports: bool| match leaves(computation, layers, exports, redaction) {
        Ok(ExplainedLeaves { leaves, fault }) => {
            is_wrong |= fault.is_some();
            leaves
        }
        Err(error) => {
            faults.extend(error.into_faults());
            Vec::new()
        }
    };
    let (parameters, exports) = (found(false), found(true));
    if is_wrong {
        faults.extend(node_faults(computation, node));
    }
    NodeLeaves { parameters, exports, faults }
}

/// All faults of a node, as a minion gets them.
fn node_faults(computation: &Computation<'_>, node: &Surveyed) -> Vec<Fault> {
    match &node.layers {
        Ok(_) => computation.answer(NodeRequest::plain(&node.name)).err().map(Error::into_faults),
        Err(error) => Some(error.faults().to_vec()),
    }
    .unwrap_or_default()
}

/// The classes of a node that can be linearized.
fn kind(node: &Surveyed, class: &dyn Fn(&Text) -> Option<usize>) -> Kind {
    let files: FxHashMap<FileId, &Text> =
        node.included.iter().map(|included| (included.file, &included.name)).collect();
    let own = node.included.first().map(|own| own.file);
    let merged = node.all_layers().filter(|layer| Some(layer.file) != own);
    let merged = merged.filter_map(|layer| class(files.get(&layer.file)?)).collect();
    let included = node.included.iter().skip(1).map(|included| {
        let by = match &included.by {
            IncludedBy::Includer(index) => i64::try_from(*index).unwrap_or(i64::MAX),
            IncludedBy::Mapping(_) => -1,
            IncludedBy::Node => 0,
        };
        (class(&included.name).unwrap_or(usize::MAX), by)
    });
    Kind { merged, included: included.collect() }
}

/// A fault as a sentence without its place and its node, which the page shows beside it.
fn sentence(fault: &Fault) -> String {
    concise(&Error::from(Fault { site: None, node: None, ..fault.clone() }))
}

/// The findings of lint, and their rules with the most severe first.
fn found_by_rule(
    options: &PageOptions,
    position: &dyn Fn(Option<&Site>) -> PagePosition,
) -> (Vec<RuleRow>, Vec<FindingRow>) {
    let all = &options.findings;
    let mut rules: Ordered<&'static str, (Level, usize)> = Ordered::default();
    for finding in all {
        let (level, count) = rules.entry(finding.fault.code()).or_insert((finding.level, 0));
        *level = finding.level.max(*level);
        *count += 1;
    }
    rules.sort_by(|one, (level, count), other, (other_level, other_count)| {
        other_level.cmp(level).then(other_count.cmp(count)).then(one.cmp(other))
    });
    let row = |finding: &Finding| {
        let fault = &finding.fault;
        let (file, line, column) = position(fault.site.as_ref());
        let number = rules.get_index_of(fault.code()).unwrap_or(0);
        let path = fault.path.as_deref().map(inert);
        let level = finding.level.name();
        (number, sentence(fault), file, line, column, finding.nodes.len(), level, path, fault.export)
    };
    let rows = all.iter().map(row).collect();
    let about = |(code, (level, _)): (&&'static str, &(Level, usize))| {
        let (about, text) = match rule(code) {
            Some(rule) => (rule.about, rule.text),
            None => first_sentence(options.meaning.and_then(|meaning| meaning(code)).unwrap_or_default()),
        };
        RuleRow { code, level: level.name(), about, text }
    };
    (rules.iter().map(about).collect(), rows)
}

/// The first sentence of a text, and the others.
fn first_sentence(text: &str) -> (&str, &str) {
    match text.find(". ") {
        Some(end) => (&text[..=end], &text[end + 2..]),
        None => (text, ""),
    }
}

/// The folder of an inventory, and the work tree around it.
struct Place {
    name: String,
    folder: String,
    /// The folder with a slash at its end; empty if there is none.
    prefix: String,
    tree: Option<WorkTree>,
    inside: String,
}

impl Place {
    fn of(computation: &Computation<'_>) -> Place {
        let base = computation.settings.inventory_base_uri.as_deref().unwrap_or_default();
        let absolute = reclass::parts::storage::fs::absolute(None, base.as_ref()).unwrap_or_default();
        let folder = reclass::parts::storage::fs::display(&absolute);
        let name = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
        let tree = if base.is_empty() { None } else { WorkTree::around(&absolute) };
        let inside = tree.as_ref().map_or_else(String::new, |tree| tree.inside.clone());
        let prefix =
            if folder.is_empty() { String::new() } else { format!("{}/", folder.trim_end_matches('/')) };
        Place { name: name.unwrap_or_else(|| folder.clone()), folder, prefix, tree, inside }
    }

    /// A path from the folder on, if it is in it.
    fn relative(&self, path: &str) -> String {
        inert(path.strip_prefix(&self.prefix).unwrap_or(path))
    }
}
