//! `reclass compare` compares the answers of another program with those of this one.

use clap::{Arg, Command};
use reclass::error::Result;
use reclass::report::to_json;
use reclass_analysis::compare::{ComparedParts, OldAnswers, compare_state, summary, text};
use reclass_analysis::diff::NAMED;

use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, flag, many, node_globs};
use crate::manual_page::Manual;

/// The `compare` verb.
pub const VERB: Verb = Verb {
    name: "compare",
    about: "Compare the nodes with the answers of another program, and name the causes",
    manual: Manual {
        page: "compare",
        description: "Renders all nodes, compares them with the answers of another program, and prints the differences below their causes. The cause is a ruling that the two values show, or the explanation of the new one. Differences without a cause come first. The settings that give old values back are at the end.",
        examples: &[
            (
                "The differences from an installed program:",
                "/opt/reclass/bin/reclass --inventory > old.yml && reclass compare old.yml",
            ),
            ("Some nodes beside a file of old answers:", "reclass compare old.yml 'web*'"),
            ("The pillars of a Salt master:", "reclass compare pillars:pillars.json --except mine_functions"),
        ],
        exits: &[("1", "A node differs, or an unexpected failure.")],
    },
    outputs: &["text", "json"],
    arguments,
    answer: Answering::Opened(answer),
};

fn arguments(command: Command) -> Command {
    command
        .arg(Arg::new("old").value_name("OLD").required(true).value_parser(old_answers).help(
            "The old answers: a file with the output of --inventory in YAML or JSON, a folder with the output of \
             --nodeinfo in a file per node, or pillars:FILE with the output of \
             salt '*' pillar.items --out json --static",
        ))
        .arg(node_globs("Compare only these nodes, by name or glob"))
        .arg(many("only", "KEY", "Compare only the parameters below this first key, a glob"))
        .arg(many("except", "KEY", "Leave out the parameters below this first key, a glob"))
        .arg(flag("summary", "Show the number of differences, and the number of nodes for each path"))
        .arg(flag("all-nodes", "Name all nodes of a change, however many there are"))
}

/// Earlier versions ran the other program themselves.
fn old_answers(text: &str) -> std::result::Result<String, String> {
    match text.strip_prefix("python:") {
        Some(program) => {
            Err(format!("print its answers first: {program} --inventory > old.yml, then compare old.yml"))
        }
        None => Ok(text.to_owned()),
    }
}

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let shows = question.matches.get_flag("show-secrets");
    let old = question.matches.get_one::<String>("old").map_or("", String::as_str);
    let old = match old.strip_prefix("pillars:") {
        Some(file) => OldAnswers::pillars(file)?,
        None => OldAnswers::read(old)?,
    };
    let parts = ComparedParts {
        nodes: question.words("nodes"),
        only: question.words("only"),
        except: question.words("except"),
    };
    let comparison = compare_state(question.options, Some(&question.inventory), &old, &parts, shows)?;
    let named = if question.matches.get_flag("all-nodes") { usize::MAX } else { NAMED };
    let text = if question.output == "json" {
        to_json(&comparison)
    } else if question.matches.get_flag("summary") {
        summary(&comparison, named, question.paint)
    } else {
        text(&comparison, named, question.paint)
    };
    Ok(Printout { text, found: !comparison.is_empty(), ..Printout::default() })
}
