//! Turns who includes whom, and the values of the nodes, into a page that a person can search and click through, into
//! DOT and into Mermaid.
//!
//! Invariants: the page decides nothing; each value, the layer that counts and the effect of each layer come from the
//! functions behind `explain`. The data hold no secret when they are made. The page loads nothing: script, styles and
//! data are in it.
//!
//! Read first: `page`, `tables`, and `explorer/source/main.ts` for what the browser does.

mod page;
mod picture;
mod tables;

pub use page::{PageData, PageOptions, PageState, data, error_html, html, node_values, page_state};
pub use picture::{dot, mermaid};
pub use reclass_analysis::inclusions::{Graph, graph};
