//! `reclass graph` draws the classes that nodes include.

use clap::{Arg, Command};
use reclass::error::Result;
use reclass::graph::{Graph, PageOptions, data, dot, graph, html, mermaid};
use reclass::lint::{self, CodeSelection};

use crate::commands::explain_error;
use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, node_globs};
use crate::manual_page::Manual;
use crate::process::environment;

/// The `graph` verb.
pub const VERB: Verb = Verb {
    name: "graph",
    about: "Draw the graph of nodes and classes: a page for the browser, DOT or Mermaid",
    manual: Manual {
        page: "graph",
        description: "Prints the nodes, the classes that they include, and the classes that these include. The page in HTML is an explorer in one file that needs no network: a graph of packages that open, the values of all nodes with the layers that set them, the findings of lint, and a search.",
        examples: &[
            ("A page for the browser:", "reclass graph > graph.html"),
            (
                "Places as links into the repository:",
                "reclass graph --link 'https://git.example.com/salt/blob/{revision}/{file}#L{line}' > graph.html",
            ),
            ("The classes of one node, for a Markdown page:", "reclass graph web1.example.com -o mermaid"),
        ],
        exits: &[],
    },
    outputs: &["html", "dot", "mermaid"],
    arguments,
    answer: Answering::Opened(answer),
};

fn arguments(command: Command) -> Command {
    command
        .arg(node_globs("Draw only these nodes, by name or glob"))
        .arg(Arg::new("link").long("link").value_name("URL").help(
        "Where the page's places lead: the address of a file, with {revision}, {file}, {line} and {column}",
    ))
}

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let nodes = question.words("nodes");
    let print: fn(&Graph) -> String = match question.output {
        "dot" => dot,
        "mermaid" => mermaid,
        _ => return explorer(question, &nodes),
    };
    Ok(Printout::plain(print(&graph(&question.inventory, &nodes)?)))
}

/// The page.
fn explorer(question: &OpenInvocation<'_>, nodes: &[String]) -> Result<Printout> {
    let found = lint::selected(question.options, nodes, &CodeSelection::default(), question.configuration)?;
    let options = PageOptions {
        date: date(),
        link: question.matches.get_one::<String>("link").cloned(),
        findings: found.findings,
        meaning: Some(explain_error::meaning),
    };
    Ok(Printout::plain(html(&data(&question.inventory, nodes, &question.redaction(), &options)?)))
}

/// The time of the page: that of `SOURCE_DATE_EPOCH` if it is set, so that equal inventories give equal pages.
fn date() -> String {
    let fixed = environment("SOURCE_DATE_EPOCH").and_then(|seconds| seconds.to_str()?.parse().ok());
    let fixed = fixed.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    fixed.unwrap_or_else(jiff::Timestamp::now).strftime("%Y-%m-%d %H:%M UTC").to_string()
}
