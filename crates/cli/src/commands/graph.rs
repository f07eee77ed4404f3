//! `reclass graph` draws the classes that nodes include.

use clap::Command;
use reclass::error::Result;
use reclass::graph::{Graph, dot, graph, html, mermaid};

use crate::commands::{Answering, OpenInvocation, Printout, Verb, node_globs};

/// The `graph` verb.
pub const VERB: Verb = Verb {
    name: "graph",
    about: "Draw which classes nodes have: DOT, Mermaid, or a page to search and click through",
    page: "docs/graph.md",
    outputs: &["html", "dot", "mermaid"],
    arguments: |command: Command| command.arg(node_globs("Draw these nodes; all by default")),
    answer: Answering::Opened(answer),
};

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let redaction = question.redaction();
    let (print, values): (fn(&Graph) -> String, _) = match question.output {
        "dot" => (dot, None),
        "mermaid" => (mermaid, None),
        _ => (html, Some(&redaction)),
    };
    let graph = graph(&question.inventory, &question.words("nodes"), values)?;
    Ok(Printout::plain(print(&graph)))
}
