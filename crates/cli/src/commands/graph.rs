//! `reclass graph` draws the classes that nodes include.

use clap::Command;
use reclass::error::Result;
use reclass::graph::{Graph, dot, graph, html, mermaid};

use crate::commands::manual::Manual;
use crate::commands::{Answering, OpenInvocation, Printout, Verb, node_globs};

/// The `graph` verb.
pub const VERB: Verb = Verb {
    name: "graph",
    about: "Draw the graph of nodes and classes: a page for the browser, DOT or Mermaid",
    manual: Manual {
        page: "graph",
        description: "Prints the nodes, the classes that they include, and the classes that these include. The page in HTML needs no network: it can be searched, and it shows the parameters of a node.",
        examples: &[
            ("A page for the browser:", "reclass graph > graph.html"),
            ("The classes of one node, for a Markdown page:", "reclass graph web1.example.com -o mermaid"),
        ],
        exits: &[],
    },
    outputs: &["html", "dot", "mermaid"],
    arguments: |command: Command| command.arg(node_globs("Draw only these nodes, by name or glob")),
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
