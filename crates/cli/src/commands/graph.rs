//! `reclass graph` draws the classes that nodes include.

use std::process::Stdio;

use clap::{Arg, Command};
use reclass::error::Result;
use reclass_analysis::lint::{self, CodeSelection};
use reclass_graph::{Graph, PageOptions, data, dot, graph, html, mermaid};

use crate::commands::explain_error;
use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, flag, node_globs, usage};
use crate::manual_page::Manual;
use crate::process::environment;
use crate::{folder, screen};

/// The `graph` verb.
pub const VERB: Verb = Verb {
    name: "graph",
    about: "Draw the graph of nodes and classes: a page for the browser, DOT or Mermaid",
    manual: Manual {
        page: "graph",
        description: "Prints the nodes, the classes that they include, and the classes that these include. The page in HTML is an explorer in one file that needs no network: a graph of packages that open, the values of all nodes with the layers that set them, the findings of lint, and a search.",
        examples: &[
            ("A page for the browser:", "reclass graph > graph.html"),
            ("The same, opened at once:", "reclass graph --open"),
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
        .arg(link())
        .arg(flag("open", "Write the page to a temporary file, print its path and open it in the browser"))
}

/// The address behind the places of the page.
pub fn link() -> Arg {
    Arg::new("link").long("link").value_name("URL").help(
        "Where the page's places lead: the address of a file, with {revision}, {file}, {line} and {column}",
    )
}

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let nodes = question.words("nodes");
    let is_opened = question.matches.get_flag("open");
    if is_opened && question.output != "html" {
        return Err(usage("--open goes with the output html"));
    }
    let print: fn(&Graph) -> String = match question.output {
        "dot" => dot,
        "mermaid" => mermaid,
        _ if is_opened || !screen::is_answer_shown() => return explorer(question, &nodes, is_opened),
        _ => {
            return Err(usage(
                "a terminal cannot show the page: open it in the browser with --open, or write it to a file, 'reclass graph > graph.html'",
            ));
        }
    };
    Ok(Printout::plain(print(&graph(&question.inventory, &nodes)?)))
}

/// The page. A server gives the number of the state that its page shows.
pub fn page(question: &OpenInvocation<'_>, nodes: &[String], state: Option<u64>) -> Result<String> {
    let found = lint::selected(question.options, nodes, &CodeSelection::default(), question.configuration)?;
    let options = PageOptions {
        date: date(),
        link: question.matches.get_one::<String>("link").cloned(),
        findings: found.findings,
        meaning: Some(explain_error::meaning),
    };
    Ok(html(&data(&question.inventory, nodes, &question.redaction(), &options)?, state))
}

/// The page, or the path of its file if it is opened.
fn explorer(question: &OpenInvocation<'_>, nodes: &[String], is_opened: bool) -> Result<Printout> {
    let page = page(question, nodes, None)?;
    if !is_opened {
        return Ok(Printout::plain(page));
    }
    let file = folder::temporary("reclass-graph-", ".html", page.as_bytes())?;
    let failure = open(&file).err();
    Ok(Printout {
        text: file,
        found: failure.is_some(),
        hints: failure.into_iter().collect(),
        ..Printout::default()
    })
}

/// Opens a file or an address in the program of the desktop for it. The error is a sentence.
pub fn open(file: &str) -> std::result::Result<(), String> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = std::process::Command::new(program);
    let command = command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("'{program}' could not open the page: {status}")),
        Err(error) => Err(format!(
            "'{program}' could not open the page: {}",
            reclass::parts::storage::fs::reason(&error)
        )),
    }
}

/// The time of the page: that of `SOURCE_DATE_EPOCH` if it is set, so that equal inventories give equal pages.
fn date() -> String {
    let fixed = environment("SOURCE_DATE_EPOCH").and_then(|seconds| seconds.to_str()?.parse().ok());
    let fixed = fixed.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    fixed.unwrap_or_else(jiff::Timestamp::now).strftime("%Y-%m-%d %H:%M UTC").to_string()
}
