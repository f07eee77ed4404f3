//! `reclass test` runs the tests of an inventory.

use std::path::Path;
use std::time::Duration;

use clap::{Arg, Command, ValueHint, value_parser};
use reclass::error::Result;
use reclass::report::{self, to_json};
use reclass_analysis::test::{TestQuestion, TestReport, junit, test, text};

use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, flag, many};
use crate::folder::{self, OutputFolder};
use crate::manual_page::Manual;
use crate::process::current_folder;

/// The `test` verb.
pub const VERB: Verb = Verb {
    name: "test",
    about: "Run the tests of an inventory",
    manual: Manual {
        page: "testing",
        description: "Runs the tests in files of YAML: each names nodes, and the values that they must have or the error with which they must fail. A failure shows the expected value, the value that is there, and the file and line that set it.",
        examples: &[
            ("All tests of the inventory:", "reclass test"),
            ("Those of one file:", "reclass test /srv/salt/reclass/tests/web.yml"),
            ("Those with a word in their name:", "reclass test --name shop"),
            ("The passed tests, too:", "reclass test --all"),
            ("A report for GitLab or Jenkins:", "reclass test -o junit > reclass-tests.xml"),
            ("Record the values that tests compare with snapshots:", "reclass test --snapshot"),
        ],
        exits: &[(
            "1",
            "A test failed, is written wrong, or was not done when the time was over; or an unexpected failure.",
        )],
    },
    outputs: &["text", "json", "junit", "github"],
    arguments,
    answer: Answering::Opened(answer),
};

fn arguments(command: Command) -> Command {
    command
        .arg(
            Arg::new("path")
                .value_name("FILE")
                .num_args(0..)
                .value_hint(ValueHint::AnyPath)
                .help("Files of tests, or folders of them [default: the folder 'tests' of the inventory]"),
        )
        .arg(many(
            "name",
            "NAME",
            "Run only the tests with this text in their name; a glob is for the whole name",
        ))
        .arg(
            Arg::new("time-limit")
                .long("time-limit")
                .value_name("SECONDS")
                .value_parser(value_parser!(u64))
                .default_value("600")
                .help("Look at no further node after this time; 0 for no limit"),
        )
        .arg(flag("snapshot", "Record the values that tests compare with snapshots"))
        .arg(flag("all", "Show the passed tests, too, and all failures of a test"))
}

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let current = current_folder().unwrap_or_default();
    let seconds = question.matches.get_one("time-limit").copied().unwrap_or_default();
    let report = test(
        &question.inventory,
        &TestQuestion {
            paths: question.words("path").iter().map(|path| current.join(path)).collect(),
            names: question.words("name"),
            record: question.matches.get_flag("snapshot"),
            redaction: question.redaction(),
            time_limit: (seconds > 0).then(|| Duration::from_secs(seconds)),
        },
    )?;
    let mut hints = Vec::new();
    for (path, text) in &report.recorded {
        write(path, text)?;
        hints.push(format!("snapshots written to '{}'", reclass::parts::storage::fs::display(path)));
    }
    let found = !report.is_passed();
    Ok(Printout { text: printed(question, &report, &current), found, hints, ..Printout::default() })
}

/// Writes a file of snapshots. Its folder may be missing, and must not be a link.
fn write(path: &Path, text: &str) -> Result<()> {
    let tests = path.ancestors().nth(2).unwrap_or(Path::new(""));
    let name = path.strip_prefix(tests).unwrap_or(path).to_string_lossy();
    OutputFolder::make(&reclass::parts::storage::fs::display(tests))?.put(&name, text.as_bytes())
}

fn printed(question: &OpenInvocation<'_>, report: &TestReport, current: &Path) -> String {
    let top = folder::top(current).to_string_lossy().into_owned();
    match question.output {
        "json" => to_json(report),
        "junit" => junit(report, &top),
        "github" => report::github(&report.findings(), &top),
        _ => text(report, question.matches.get_flag("all"), question.paint),
    }
}
