//! `reclass explore` shows the page of the graph from a server on this machine, and shows it again when files
//! change.
//!
//! The server listens on the loopback interface alone. Its address has a random part, so that neither other
//! users of the machine nor pages of other sites can read the inventory. They can reach the port, so the server bounds
//! the time, the bytes and the number of connections, and only who knows the address makes the engine work.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use clap::{Arg, Command, value_parser};
use http_net::blocking::{Server, ServerConfig};
use http_net::{Limits, Method, RequestHead, Response};
use reclass::error::{Result, concise};
use reclass_graph::{PageState, error_html, node_values, page_state};

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
    let server = Server::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| refused(&error))?;
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).map_err(|error| refused(&error))?;
    let secret = secret.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let port = server.local_addr().port();
    let folder = format!("/{secret}/");
    let address = format!("http://127.0.0.1:{port}{folder}");
    let mut pages =
        Pages { question, nodes: question.words("nodes"), state: None, number: 0, page: String::new() };
    terminal::print(&address);
    if !question.matches.get_flag("no-open")
        && let Err(failure) = graph::open(&address)
    {
        terminal::hint(&failure);
    }
    let (asks, asked) = channel::<Ask>();
    std::thread::scope(|scope| {
        let server = server.with_config(limits());
        let serving = scope.spawn(move || server.serve(move |request, _| answer(request, &folder, &asks)));
        // One page is made at a time. The loop ends with the server.
        for (name, reply) in asked {
            // A browser that is gone needs no answer.
            let _ = reply.send(pages.answer(&name));
        }
        match serving.join() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(usage(format!("the server on port {port} ended: {error}"))),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The limits of the server. Nobody sends a body, and a browser opens few connections.
fn limits() -> ServerConfig {
    ServerConfig::new()
        .with_limits(Limits::new().with_max_body(0))
        .with_read_timeout(Some(Duration::from_secs(5)))
        .with_request_timeout(Some(Duration::from_secs(5)))
}

/// The name of what a reader asks for, and where the answer goes.
type Ask = (String, Sender<PageAnswer>);

/// Status, type and text of an answer.
type PageAnswer = (u16, &'static str, String);

/// The response to a request. Only one with the right address is asked further.
fn answer(request: &RequestHead<'_>, folder: &str, asks: &Sender<Ask>) -> Response {
    match refusal(request, folder) {
        // Who does not know the address holds no connection.
        Ok(refused) => response(refused).close(),
        Err(name) => {
            let (reply, answer) = channel();
            let _ = asks.send((name, reply));
            response(answer.recv().unwrap_or((503, TEXT, "the server has ended".into())))
        }
    }
}

fn response((status, kind, text): PageAnswer) -> Response {
    Response::new(status)
        .header("Content-Type", kind)
        .header("Cache-Control", "no-store")
        .header("Referrer-Policy", "no-referrer")
        .header("X-Content-Type-Options", "nosniff")
        .body(text.into_bytes())
}

/// Why a request gets nothing, or the name of what it asks for.
fn refusal(request: &RequestHead<'_>, folder: &str) -> std::result::Result<PageAnswer, String> {
    // A page of another site can have its name lead to this machine.
    let host = request.host().and_then(|host| host.split(':').next());
    if !matches!(host, Some("localhost" | "127.0.0.1")) {
        return Ok((403, TEXT, "unknown host".into()));
    }
    let Some(name) = request.target().strip_prefix(folder) else {
        return Ok((404, TEXT, "there is nothing here".into()));
    };
    if !matches!(request.method(), Method::Get | Method::Head) {
        return Ok((405, TEXT, "this server can only be read".into()));
    }
    Err(name.to_owned())
}

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

struct Pages<'a> {
    question: &'a OpenInvocation<'a>,
    nodes: Vec<String>,
    /// The state that the last page shows; `None` before the first one.
    state: Option<PageState>,
    /// How many states there were.
    number: u64,
    page: String,
}

impl Pages<'_> {
    /// The answer to a reader who knows the address.
    fn answer(&mut self, name: &str) -> PageAnswer {
        match name {
            "" => {
                self.update();
                (200, HTML, self.page.clone())
            }
            "state" => {
                self.update();
                (200, TEXT, self.number.to_string())
            }
            _ => self.values(name).unwrap_or_else(|| (404, TEXT, "there is nothing here".into())),
        }
    }

    /// The values of a node: `values/STATE/NUMBER`, with the number that it has in the page of this state. `None` if
    /// the page has no such node.
    fn values(&mut self, name: &str) -> Option<PageAnswer> {
        let (state, node) = name.strip_prefix("values/")?.split_once('/')?;
        let node = node.parse().ok()?;
        self.update();
        if state != self.number.to_string() {
            return Some((409, TEXT, "the inventory has changed".into()));
        }
        let (inventory, redaction) = (&self.question.inventory, self.question.redaction());
        match node_values(inventory, &self.nodes, &redaction, node) {
            Ok(values) => Some((200, JSON, values?)),
            Err(error) => Some((500, TEXT, terminal::hidden(&concise(&error)))),
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
