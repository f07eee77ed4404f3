//! Writes the graph as one HTML file that needs neither server nor network.
//!
//! All data is in one JSON element. The script inserts it with `textContent` only, so a text of an inventory
//! cannot become markup or code. A policy in the page forbids all connections.

use super::Graph;
use crate::output::report::to_json_line;

/// The page, with a placeholder for the data.
const PAGE: &str = include_str!("page.html");

/// The placeholder.
const DATA: &str = "{{data}}";

/// The page of a graph.
pub fn html(graph: &Graph) -> String {
    // The data must not contain the end tag of its element.
    let data = to_json_line(graph).replace('<', "\\u003c");
    PAGE.replace(DATA, &data).trim_end().to_owned()
}
