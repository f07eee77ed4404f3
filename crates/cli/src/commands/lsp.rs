//! `reclass lsp` answers an editor.

use clap::{ArgMatches, Command};
use reclass::error::Result;

use crate::commands::tool::Tool;
use crate::commands::verb::{flag, usage};
use crate::configuration::of_folder;
use crate::manual_page::Manual;

/// The `lsp` tool.
pub const TOOL: Tool = Tool {
    name: "lsp",
    about: "Answer an editor over the Language Server Protocol",
    manual: Manual {
        page: "editors",
        description: "Speaks the Language Server Protocol on standard input and output. The editor starts it. The inventory is the one around the folder that the editor opened.",
        examples: &[("The command for the editor's settings:", "reclass lsp")],
        exits: &[],
    },
    arguments,
    run,
};

fn arguments(command: Command) -> Command {
    // Some editors add it to the command of a server.
    command.arg(flag("stdio", "Use standard input and output, as always"))
}

fn run(_matches: &ArgMatches) -> Result<String> {
    let served = reclass_lsp::serve_stdio(of_folder);
    served.map(|()| String::new()).map_err(usage)
}
