//! `reclass migrate` converts the files of another program.

use std::fmt::Write as _;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Arg, ArgMatches, Command, ValueHint};
use reclass::error::{Result, inert};
use reclass_edit::saltclass::{Conversion, convert};

use crate::commands::tool::{self, Tool};
use crate::folder::yaml_files;
use crate::manual_page::Manual;

/// The `migrate` tool.
pub const TOOL: Tool = Tool {
    name: "migrate",
    about: "Convert the tree of saltclass into an inventory, and list what needs manual work",
    manual: Manual {
        page: "howto/migrate-from-saltclass",
        description: "Copies the tree of saltclass into a new folder. In its files, 'pillars' becomes 'parameters', 'states' becomes 'applications', and a list that begins with '^' gets the prefix '~' at its key; every other byte stays. Files with Jinja are copied as they are, and listed with their lines.",
        examples: &[("A copy in another folder:", "reclass migrate saltclass /srv/saltclass /srv/reclass")],
        exits: &[("65", "OUT is not empty."), ("74", "DIR cannot be read, or OUT cannot be written.")],
    },
    arguments,
    run,
};

fn arguments(command: Command) -> Command {
    let program = PossibleValuesParser::new(["saltclass"]);
    command
        .arg(
            Arg::new("program")
                .value_name("PROGRAM")
                .required(true)
                .value_parser(program)
                .help("The other program"),
        )
        .arg(
            Arg::new("from")
                .value_name("FROM")
                .required(true)
                .value_parser(NonEmptyStringValueParser::new())
                .value_hint(ValueHint::DirPath)
                .help("Its tree, with the folders nodes and classes"),
        )
        .arg(tool::folder("The folder for the inventory, which must be new or empty"))
}

fn run(matches: &ArgMatches) -> Result<String> {
    let from = matches.get_one::<String>("from").map_or("", String::as_str);
    let files = yaml_files(from, &["nodes", "classes"])?;
    let folder = tool::made(matches)?;
    let path = folder.path()?;
    if folder.is_used()? {
        return Err(tool::in_the_way(&path));
    }
    let mut changed = 0;
    let (mut jinja, mut left, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (name, bytes) in &files {
        let Conversion { bytes: new, has_jinja, remarks } = convert(bytes, name.starts_with("classes/"));
        let list = match &new {
            Some(_) => &mut places,
            None if has_jinja => &mut jinja,
            None => &mut left,
        };
        list.extend(
            remarks
                .iter()
                .map(|remark| format!("  {}:{}: {}", inert(name), remark.line, inert(&remark.text))),
        );
        let content = new.as_ref().unwrap_or(bytes);
        changed += usize::from(content != bytes);
        folder.put(name, content)?;
    }
    let mut text = format!("Copied {} files into {path}; {changed} of them changed.\n", files.len());
    for (heading, lines) in [
        ("Jinja is not rendered; these files are copied as they are:", jinja),
        ("These files are copied as they are:", left),
        ("These places mean something else:", places),
    ] {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{heading}\n{}", lines.join("\n"));
        }
    }
    Ok(text)
}
