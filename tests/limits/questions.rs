//! What is asked of a hostile inventory beside the answer for a node: each question ends, with an answer
//! or an error, within the bounds of time and memory.

use std::path::Path;

use reclass::error::Error;
use reclass::redact::Redaction;
use reclass::style::Paint;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use reclass_analysis::diff::{NAMED, diff};
use reclass_analysis::explain::{Selection, explain, to_text};
use reclass_analysis::lint::lint;
use reclass_analysis::list::{self, NodeFilter};
use reclass_graph::{PageOptions, data, dot, graph, html};

/// The name of each question, and how long its answer is.
pub type Question = (&'static str, fn(&Map, &Path, &str) -> Result<usize, Error>);

/// All of them, as programs ask them: with the secrets masked, and written out.
pub const QUESTIONS: [Question; 8] = [
    ("explain", |options, _, node| explained(options, node, Selection::default())),
    ("explain **", |options, _, node| {
        explained(options, node, Selection { parameters: vec!["**".into()], ..Selection::default() })
    }),
    ("graph", |options, _, node| {
        let inventory = Inventory::open(options)?;
        let redaction = Redaction::of(inventory.settings());
        let page = html(&data(&inventory, &[node.into()], &redaction, &PageOptions::default())?, None);
        Ok(page.len() + dot(&graph(&inventory, &[node.into()])?).len())
    }),
    ("lint", |options, _, _| Ok(lint(options, &[], &())?.len())),
    ("diff", |options, empty, _| {
        let empty = empty.to_str().unwrap();
        let difference = diff(options, None, (empty, "."), &[], false)?;
        let data = reclass::report::to_json(&difference);
        Ok(reclass_analysis::diff::text(&difference, NAMED, Paint::PLAIN).len() + data.len())
    }),
    ("nodes --param", |options, _, _| {
        let filter = NodeFilter { parameters: vec!["**:nothing".into()], ..NodeFilter::default() };
        Ok(list::nodes(&Inventory::open(options)?, &filter)?.rows.len())
    }),
    ("params", |options, _, _| {
        let inventory = Inventory::open(options)?;
        let redaction = Redaction::of(inventory.settings());
        Ok(list::parameters(&inventory, &[], &NodeFilter::default(), &redaction)?.rows.len())
    }),
    ("refs", |options, _, _| {
        let inventory = Inventory::open(options)?;
        Ok(list::references(&inventory, &[], &NodeFilter::default())?.rows.len())
    }),
];

fn explained(options: &Map, node: &str, selection: Selection) -> Result<usize, Error> {
    let inventory = Inventory::open(options)?;
    let redaction = Redaction::of(inventory.settings());
    let selection = Selection { redaction: redaction.clone(), ..selection };
    let explanation = explain(&inventory, node, &Request::default(), &selection)?;
    let data = reclass::report::to_json(&explanation);
    Ok(to_text(&explanation, Paint::PLAIN).len() + data.len())
}

/// The options without a cache: each question begins anew.
pub fn alone(options: &Map) -> Map {
    let mut options = options.clone();
    options.insert("cache".into(), Value::text("off"));
    options
}
