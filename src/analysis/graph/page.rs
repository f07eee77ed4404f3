//! The page: the graph as one HTML file that needs nothing else, neither server nor network.
//!
//! All data is in one element of JSON. The script writes it with `textContent` alone, so that no
//! text of an inventory can be markup or code, and a policy in the page forbids all connections.

use super::Graph;
use crate::output::report::to_json_line;

/// The page, with a place for the data.
const PAGE: &str = include_str!("page.html");

/// What stands where the data goes.
const DATA: &str = "{{data}}";

/// The page of a graph.
pub fn html(graph: &Graph) -> String {
    // Nothing in the data may end its element.
    let data = to_json_line(graph).replace('<', "\\u003c");
    PAGE.replace(DATA, &data).trim_end().to_owned()
}
