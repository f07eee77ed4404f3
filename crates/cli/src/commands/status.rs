//! `reclass status` says what the inventory serves.

use clap::Command;
use reclass::error::Result;
use reclass::report::to_json;
use reclass_serve::status::{status, text};

use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb};
use crate::manual_page::Manual;

/// The `status` verb.
pub const VERB: Verb = Verb {
    name: "status",
    about: "Say which revision is served, since when, and how many nodes fail",
    manual: Manual {
        page: "fleet",
        description: "Prints the revision of the inventory, when it began, its repositories, etcd and folders with the times of the last fetch and of the last failure, and the nodes that have no pillar. It renders every node.",
        examples: &[
            ("The inventory of the current folder:", "reclass status"),
            ("For a program:", "reclass status -o json"),
        ],
        exits: &[],
    },
    outputs: &["text", "json"],
    arguments: |command: Command| command,
    answer: Answering::Opened(answer),
};

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let status = status(&question.served)?;
    Ok(Printout::plain(if question.output == "json" { to_json(&status) } else { text(&status) }))
}
