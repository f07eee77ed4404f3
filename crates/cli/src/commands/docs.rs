//! `reclass docs` documents the classes of an inventory.

use clap::{Arg, Command, ValueHint};
use reclass::error::Result;
use reclass::report::to_json;
use reclass_analysis::docs::{docs, pages, stream};
use reclass_base::words::count;

use crate::commands::list::left_out;
use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, usage};
use crate::folder::OutputFolder;
use crate::manual_page::Manual;

/// The `docs` verb.
pub const VERB: Verb = Verb {
    name: "docs",
    about: "Document the classes: a page in Markdown for each",
    manual: Manual {
        page: "documenting",
        description: "Writes what each class is for, its parameters with their defaults and comments, who sets them again, who uses the class, and the parameters that it expects of others. Secrets are masked. Equal inventories give equal pages.",
        examples: &[
            ("Pages for a repository or a wiki:", "reclass docs build/classes"),
            ("Everything as one text:", "reclass docs > classes.md"),
        ],
        exits: &[],
    },
    outputs: &["markdown", "json"],
    arguments,
    answer: Answering::Opened(answer),
};

fn arguments(command: Command) -> Command {
    command.arg(
        Arg::new("folder").value_name("DIR").value_hint(ValueHint::DirPath).help(
            "The folder for an index and the pages; it is created if it does not exist [default: all in one text on standard output]",
        ),
    )
}

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let docs = docs(&question.inventory, &question.redaction())?;
    let mut hints: Vec<String> = left_out(docs.left_out).into_iter().collect();
    let folder = question.matches.get_one::<String>("folder").filter(|folder| *folder != "-");
    let text = match (folder, question.output) {
        (Some(_), "json") => return Err(usage("the output json is one text: leave out the folder")),
        (Some(path), _) => {
            let folder = OutputFolder::make(path)?;
            let pages = pages(&docs);
            pages.iter().try_for_each(|(name, text)| folder.put(name, text.as_bytes()))?;
            hints.push(format!("{} written to '{path}'", count(pages.len(), "page")));
            String::new()
        }
        (None, "json") => to_json(&docs),
        (None, _) => stream(&docs).trim_end().to_owned(),
    };
    Ok(Printout { text, hints, ..Printout::default() })
}
