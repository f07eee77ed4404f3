//! The page: the graph as one HTML file that needs nothing else, neither server nor network.
//!
//! All data is in one element of JSON. The script writes it with `textContent` alone, so that no
//! text of an inventory can be markup or code, and a policy in the page forbids all connections.

use super::{Graph, Leaf, Rendered, Vertex};
use crate::analysis::explain::brief;
use crate::base::error::Result;
use crate::base::source::Site;
use crate::base::value::{Map, Text, Value};

/// The page, with a place for the data.
const PAGE: &str = include_str!("page.html");

/// What stands where the data goes.
const DATA: &str = "{{data}}";

/// The page of a graph.
pub fn html(graph: &Graph) -> Result<String> {
    let data = map([
        ("nodes", list(graph.nodes.iter().map(node))),
        ("files", list(graph.vertices.iter().map(file))),
    ]);
    // Nothing in the data may end its element.
    let data = crate::base::json::dumps(&data, false)?.replace('<', "\\u003c");
    Ok(PAGE.replace(DATA, &data).trim_end().to_owned())
}

fn map(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map>())
}

fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::list(items.into_iter().collect())
}

fn texts<'t>(names: impl IntoIterator<Item = &'t Text>) -> Value {
    list(names.into_iter().cloned().map(Value::Str))
}

fn place(site: Option<&Site>) -> Value {
    site.map_or(Value::Null, |site| Value::text(site.to_string()))
}

fn leaf(leaf: &Leaf) -> Value {
    let value = leaf.value.as_ref().map_or_else(String::new, brief);
    list([Value::text(leaf.path.as_str()), Value::text(value), place(leaf.site.as_ref())])
}

fn node(node: &Rendered) -> Value {
    let mapped = node.mapped.iter();
    // That of a node whose layers cannot be ordered is not known.
    let environment = if node.environment == Value::Null { String::new() } else { brief(&node.environment) };
    map([
        ("name", Value::Str(node.name.clone())),
        ("environment", Value::text(environment)),
        ("applications", texts(&node.applications)),
        ("classes", texts(&node.classes)),
        ("mapped", list(mapped.map(|(mapping, class)| texts([mapping, class])))),
        ("values", node.values.as_ref().map_or(Value::Null, |values| list(values.iter().map(leaf)))),
        ("problems", list(node.problems.iter().map(|text| Value::text(text.as_str())))),
    ])
}

fn file(vertex: &Vertex) -> Value {
    let lists =
        vertex.lists.iter().map(|(class, site)| list([Value::Str(class.clone()), place(site.as_ref())]));
    map([
        ("name", Value::Str(vertex.name.clone())),
        ("kind", Value::text(if vertex.is_class { "class" } else { "node" })),
        ("file", vertex.file.as_ref().map_or(Value::Null, |file| Value::text(file.as_str()))),
        ("lists", list(lists)),
        ("sets", list(vertex.sets.iter().map(leaf))),
    ])
}
