//! `reclass init` creates a small inventory to begin with.
//!
//! Its files are those of `examples/start`, with a comment for every part.

use std::path::Path;

use clap::ArgMatches;
use reclass::error::Result;
use reclass::formats::{EmitOptions, emit};
use reclass::value::{Map, Value};

use crate::commands::tool::{self, Tool};
use crate::manual_page::{Manual, UNWRITABLE};
use crate::process::current_folder;

/// The `init` tool.
pub const TOOL: Tool = Tool {
    name: "init",
    about: "Create a small inventory, and print the Salt configuration for it",
    manual: Manual {
        page: "cli",
        description: "Writes a commented inventory with one node and three classes, and prints the configuration with which a Salt master uses it. It overwrites nothing.",
        examples: &[("A new inventory in the home directory:", "reclass init ~/inventory")],
        exits: &[("65", "One of the files is there."), UNWRITABLE],
    },
    arguments: |command| command.arg(tool::folder("The folder; it may have other files")),
    run,
};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$( ($name, include_str!(concat!("../../../../examples/start/", $name))) ),*]
    };
}

const FILES: [(&str, &str); 5] = files![
    "reclass-config.yml",
    "nodes/web1.example.com.yml",
    "classes/site.yml",
    "classes/role/web.yml",
    "classes/app/nginx.yml",
];

fn run(matches: &ArgMatches) -> Result<String> {
    let folder = tool::made(matches)?;
    let path = folder.path()?;
    if let Some(name) = FILES.iter().find_map(|(name, _)| folder.in_the_way_of(name)) {
        return Err(tool::in_the_way(&format!("{path}/{name}")));
    }
    FILES.iter().try_for_each(|(name, text)| folder.put(name, text.as_bytes()))?;
    let files = FILES.map(|(name, _)| format!("  {name}")).join("\n");
    let is_here = current_folder().is_some_and(|current| current == Path::new(&path));
    let change = if is_here { String::new() } else { format!("  cd {}\n", quoted(&path)) };
    Ok(format!(
        "Made an inventory in {path}:\n{files}\n\nLook at its node:\n{change}  reclass show web1\n  \
         reclass explain web1 nginx:listen\n\nIn the configuration of the Salt master:\n\n{}",
        salt(&path)
    ))
}

/// The path as a shell word.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%,:".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// The configuration of a master for an inventory in this folder. It names the settings file there, so that
/// the master and the programs use the same settings.
fn salt(path: &str) -> String {
    let file = format!("{path}/{}", FILES[0].0);
    let settings = Map::from_iter([("config_file".into(), Value::text(file))]);
    let settings = emit(&Value::map(settings), &EmitOptions { pretty: true, no_refs: true });
    format!(
        "reclass: &reclass\n  {settings}ext_pillar:\n  - reclass: *reclass\nmaster_tops:\n  reclass: *reclass\n"
    )
}
