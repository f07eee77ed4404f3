//! `reclass manual` writes the command lines as manual pages, for `man`.
//!
//! The pages come from the same definitions that parse the command line. `make man` writes the pages in
//! `docs/man`, which are part of the wheel and become pages of the documentation site.

use clap::{ArgMatches, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use reclass::error::{Fault, Kind, Result};

use crate::commands::tool::{self, Tool};
use crate::commands::{VERBS, explain_error, tools};
use crate::folder::OutputFolder;
use crate::manual_page::{Manual, UNWRITABLE, address};
use crate::programs::PROGRAMS;
use crate::session::command_line;

/// The `manual` tool.
pub const TOOL: Tool = Tool {
    name: "manual",
    about: "Write the manual pages of all programs and commands into a folder",
    manual: Manual {
        page: "cli",
        description: "Writes one page for each program and one for each command. The wheel has the same pages.",
        examples: &[("For the man of this user:", "reclass manual ~/.local/share/man/man1")],
        exits: &[UNWRITABLE],
    },
    arguments: |command| {
        command.arg(tool::folder(
            "The folder, for example man1 below a MANPATH. It is created if it does not exist",
        ))
    },
    run,
};

fn run(matches: &ArgMatches) -> Result<String> {
    let folder = tool::made(matches)?;
    for program in PROGRAMS {
        // The pages must not depend on the folder of this program.
        let defaults = (program.defaults)("the directory of the program");
        let mut command = command_line(program, &defaults).disable_help_subcommand(true);
        command.build();
        for inner in command.get_subcommands() {
            let name = inner.get_name();
            let verb = VERBS.iter().find(|verb| verb.name == name).map(|verb| &verb.manual);
            let manual = verb.or_else(|| tools::find(name).map(|tool| &tool.manual));
            let name = format!("{}-{name}", program.name);
            write(inner, &name, manual.unwrap_or(&program.manual), &folder)?;
        }
        write(&command, program.name, &program.manual, &folder)?;
    }
    Ok(String::new())
}

/// Writes the page of one command.
fn write(command: &Command, name: &str, manual: &Manual, folder: &OutputFolder) -> Result<()> {
    let mut page = Vec::new();
    rendered(command, name, manual, &mut page)
        .map_err(|error| Fault::new(Kind::Internal { message: error.to_string() }))?;
    folder.put(&format!("{name}.1"), &page)
}

fn rendered(command: &Command, name: &str, manual: &Manual, page: &mut Vec<u8>) -> std::io::Result<()> {
    // The usage of the help instead of a list of all options.
    let usage = command.clone().render_usage().to_string();
    let command = command.clone().override_usage(usage.trim_start_matches("Usage: ").to_owned());
    // The sections below replace the text after the help. The version is in the footer.
    let shown = command.clone().display_name(name).after_help(None).after_long_help(None);
    let shown = shown.version(None).long_version(None).mut_args(|argument| {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        argument.help(help.replace('`', "")).hide_short_help(false).hide_long_help(false)
    });
    Man::new(shown.long_about(manual.description))
        .title(name)
        .source(format!("saltext-reclass {}", env!("CARGO_PKG_VERSION")))
        .manual("reclass")
        .render(page)?;
    let mut roff = Roff::default();
    roff.control("SH", ["EXAMPLES"]);
    for (purpose, example) in manual.examples {
        roff.control("PP", []);
        roff.text([roman(*purpose)]);
        roff.control("EX", []);
        roff.text([roman(format!("  {example}"))]);
        roff.control("EE", []);
    }
    let program = PROGRAMS.iter().any(|program| program.name == name);
    // Tools need no inventory.
    let opens = command.get_arguments().any(|argument| argument.get_id() == "config");
    table(&mut roff, "EXIT STATUS", &exit_status(manual, opens));
    if opens {
        table(&mut roff, "FILES", FILES);
    }
    let environment: Vec<_> = ENVIRONMENT
        .iter()
        .filter(|(variable, _)| match *variable {
            "SOURCE_DATE_EPOCH" => program,
            "GITHUB_WORKSPACE" => ["lint", "testing"].contains(&manual.page),
            "RECLASS_BASE" => opens && (name == "reclass" || name.starts_with("reclass-") && !program),
            _ => true,
        })
        .copied()
        .collect();
    table(&mut roff, "ENVIRONMENT", &environment);
    roff.control("SH", ["SEE ALSO"]);
    let others = PROGRAMS.iter().map(|program| program.name.to_owned());
    let others = others.chain([format!("reclass-{}", explain_error::TOOL.name)]);
    let others: Vec<_> = others.filter(|other| other != name).map(|other| format!("{other}(1)")).collect();
    roff.text([roman(others.join(", "))]);
    roff.control("PP", []);
    roff.text([roman(format!("Documentation: {}", address(manual.page)))]);
    page.extend(roff.to_roff().into_bytes());
    Ok(())
}

/// A section with terms and their meanings.
fn table(roff: &mut Roff, title: &str, rows: &[(&str, &str)]) {
    roff.control("SH", [title]);
    for (term, meaning) in rows {
        roff.control("TP", []);
        roff.text([bold(*term)]);
        roff.text([roman(*meaning)]);
    }
}

fn exit_status(manual: &Manual, opens: bool) -> Vec<(&'static str, &'static str)> {
    let mut rows =
        vec![("0", "Success."), ("1", "An unexpected failure."), ("2", "The command line is invalid.")];
    if opens {
        rows.push(("65", "Data or settings are wrong, so a node cannot be rendered."));
        rows.push((
            "74",
            "A node, file, folder or name does not exist, or a file cannot be read or written.",
        ));
    }
    for own in manual.exits {
        match rows.iter_mut().find(|row| row.0 == own.0) {
            Some(row) => *row = *own,
            None => rows.push(*own),
        }
    }
    rows
}

const FILES: &[(&str, &str)] = &[
    (
        "reclass-config.yml",
        "The settings. The first file counts that exists in the current directory, the home directory, \
         /etc/reclass or the directory of the program. In each of them, and in /etc/kapicorp-reclass, \
         kapicorp-reclass-config.yml is a second name. The option --config names another file.",
    ),
    (
        "~/.reclass/git",
        "The copies of git repositories and their locks, unless the settings name other folders.",
    ),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("NO_COLOR", "If it is set and not empty, the output has no colours, unless --color asks for them."),
    (
        "FORCE_COLOR",
        "If it is set and neither empty nor 0, the output has colours in pipes too, unless NO_COLOR or --color says otherwise.",
    ),
    (
        "RECLASS_BASE",
        "The folder of the inventory for commands without -b, -u, -c and --config. Without a command it counts if no settings file is found and /etc/reclass has no inventory.",
    ),
    ("TERM", "The value dumb turns off colours and the progress line."),
    (
        "SOURCE_DATE_EPOCH",
        "The time to print instead of the present, in seconds since 1970-01-01 00:00:00 UTC.",
    ),
    (
        "GITHUB_WORKSPACE",
        "The folder that paths of the formats github and sarif begin at, if the current directory is in it.",
    ),
];
