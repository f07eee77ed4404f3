//! `reclass explore` shows the page of the graph from a server on this machine, and shows it again when files
//! change.
//!
//! The server listens on the loopback interface alone. Its address has a random part, so that neither other
//! users of the machine nor pages of other sites can read the inventory.

use std::fmt::Write as _;

use clap::{Arg, Command, value_parser};
use reclass::error::{Result, concise};
use reclass::graph::{PageState, error_html, page_state};
use tiny_http::{Header, Method, Request, Response, Server, StatusCode};

use crate::commands::graph;
use crate::commands::verb::{Answering, OpenInvocation, Verb, flag, node_globs, usage};
use crate::manual_page::Manual;
use crate::{progress, terminal};

/// The `explore` verb.
pub const VERB: Verb = Verb {
    name: "explore",
    about: "Show the page of the graph from a local server, and keep it current",
    manual: Manual {
        page: "graph",
        description: "Prints the address of the page that 'reclass graph' writes, and opens it in the browser. The page is loaded again when files of the inventory change. The server listens on this machine alone, until it is interrupted.",
        examples: &[
            ("The page of the inventory around the current folder:", "reclass explore"),
            (
                "For a browser on another machine, through ssh -L 8000:localhost:8000:",
                "reclass explore --port 8000 --no-open",
            ),
        ],
        exits: &[],
    },
    outputs: &["html"],
    arguments,
    answer: Answering::Serving(serve),
};

fn arguments(command: Command) -> Command {
    let port = Arg::new("port").long("port").value_name("PORT").value_parser(value_parser!(u16));
    command
        .arg(node_globs("Show only these nodes, by name or glob"))
        .arg(graph::link())
        .arg(port.default_value("0").help("The port; 0 takes a free one"))
        .arg(flag("no-open", "Print the address, and open no browser"))
}

fn serve(question: &OpenInvocation<'_>) -> Result<()> {
    // Without an inventory there is nothing to wait for.
    question.inventory.nodes()?;
    let port = question.matches.get_one::<u16>("port").copied().unwrap_or_default();
    let refused = |error: &dyn std::fmt::Display| usage(format!("no server on port {port}: {error}"));
    let server = Server::http(("127.0.0.1", port)).map_err(|error| refused(&error))?;
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).map_err(|error| refused(&error))?;
    let secret = secret.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let port = server.server_addr().to_ip().map_or(port, |address| address.port());
    let mut pages = Pages {
        question,
        nodes: question.words("nodes"),
        folder: format!("/{secret}/"),
        state: None,
        number: 0,
        page: String::new(),
    };
    let address = format!("http://127.0.0.1:{port}{}", pages.folder);
    terminal::print(&address);
    if !question.matches.get_flag("no-open")
        && let Err(failure) = graph::open(&address)
    {
        terminal::hint(&failure);
    }
    for request in server.incoming_requests() {
        let (status, kind, text) = pages.answer(&request);
        let mut response = Response::from_string(text).with_status_code(StatusCode(status));
        for (name, value) in [
            ("Content-Type", kind),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
        ] {
            if let Ok(header) = Header::from_bytes(name, value) {
                response.add_header(header);
            }
        }
        // A browser that is gone needs no answer.
        let _ = request.respond(response);
    }
    Ok(())
}

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// The pages of the server.
struct Pages<'a> {
    question: &'a OpenInvocation<'a>,
    nodes: Vec<String>,
    /// The path of the page.
    folder: String,
    /// The state that the last page shows; `None` before the first one.
    state: Option<PageState>,
    /// How many states there were.
    number: u64,
    /// The last page.
    page: String,
}

impl Pages<'_> {
    /// Status, type and text of the answer.
    fn answer(&mut self, request: &Request) -> (u16, &'static str, String) {
        // A page of another site can have its name lead to this machine.
        let host = request.headers().iter().find(|header| header.field.equiv("Host"));
        let host = host.and_then(|header| header.value.as_str().split(':').next());
        if !matches!(host, Some("localhost" | "127.0.0.1")) {
            return (403, TEXT, "unknown host".into());
        }
        let Some(name) = request.url().strip_prefix(&*self.folder) else {
            return (404, TEXT, "there is nothing here".into());
        };
        if !matches!(request.method(), Method::Get | Method::Head) {
            return (405, TEXT, "this server can only be read".into());
        }
        match name {
            "" => {
                self.update();
                (200, HTML, self.page.clone())
            }
            "state" => {
                self.update();
                (200, TEXT, self.number.to_string())
            }
            _ => (404, TEXT, "there is nothing here".into()),
        }
    }

    /// Makes the page anew if files changed.
    fn update(&mut self) {
        let now = page_state(&self.question.inventory).unwrap_or_default();
        if self.state.as_ref() == Some(&now) {
            return;
        }
        self.number += 1;
        let page = progress::shown("page", || graph::page(self.question, &self.nodes, Some(self.number)));
        self.page = page.unwrap_or_else(|error| error_html(&terminal::hidden(&concise(&error)), self.number));
        self.state = Some(now);
    }
}
