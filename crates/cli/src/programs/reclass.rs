//! `reclass` prints the data of a node or of the whole inventory, or writes the inventory to a folder.

use std::sync::Arc;

use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, Command, ValueHint};
use reclass::error::{Fault, Kind, Result};
use reclass::parts::storage::fs;
use reclass::value::{Map, Value};
use reclass::{NodeInfo, inventory_value};

use crate::commands::verb::usage;
use crate::configuration::DEFAULT;
use crate::folder::{OutputFolder, is_in};
use crate::manual_page::Manual;
use crate::program::{Program, Session, entries};
use crate::{flags, terminal};

pub const PROGRAM: Program = Program {
    name: "reclass",
    manual: Manual {
        page: "cli",
        description: "Merges the classes of a node depth first into its parameters, applications and environment, and resolves references. A mode prints the result for one node or for all. The commands answer questions about an inventory.",
        examples: &[
            ("The data of a node:", "reclass --nodeinfo web1.example.com"),
            ("The data of all nodes, as JSON:", "reclass -b /srv/salt/reclass --inventory -o json"),
            ("Where a value comes from:", "reclass explain web1.example.com nginx:listen"),
        ],
        exits: &[],
    },
    command,
    modes: &["nodeinfo", "inventory", "nodeapps"],
    verbs: true,
    defaults: |_| Map::from_iter([("inventory_base_uri".into(), Value::text(DEFAULT))]),
    answer,
};

fn command(command: Command, _: &Map) -> Command {
    command
        .about("Puts together the data of each node from YAML files of nodes and classes")
        .override_usage(
            "reclass [OPTIONS] (--nodeinfo <NODE> | --inventory | --nodeapps <NODE>)\n       reclass [OPTIONS] <COMMAND>",
        )
        .arg(flags::node_mode('n', "nodeinfo", "Print the data of a node"))
        .arg(flags::inventory_mode('i', "inventory", "Print the data of all nodes"))
        .arg(flags::node_mode('f', "nodeapps", "Print the applications of a node"))
        .arg(flags::served())
        .arg(
            Arg::new("output-dir")
                .long("output-dir")
                .value_name("DIR")
                .value_parser(NonEmptyStringValueParser::new())
                .value_hint(ValueHint::DirPath)
                .help("With --inventory: write a file for each node into this folder, and print nothing")
                .help_heading(flags::OUTPUT),
        )
}

fn answer(session: &Session<'_>) -> Result<Option<Value>> {
    let (mode, node) = session.mode;
    let folder = session.matches.get_one::<String>("output-dir");
    let Some(node) = node else {
        let nodes = session.all_nodes()?;
        return match folder {
            Some(folder) => write(session, &nodes, folder).map(|()| None),
            None => Ok(Some(inventory_value(&nodes, &session.timestamp))),
        };
    };
    if folder.is_some() {
        let message = format!("--output-dir goes with --inventory, not with --{mode}");
        return Err(usage(message));
    }
    let info = session.node(node)?;
    Ok(Some(match mode {
        "nodeapps" => Value::record([("applications", Value::texts(&info.applications))]),
        _ => info.to_value(&session.timestamp),
    }))
}

/// Writes one file per node with the output of `--nodeinfo`. The time is left out, so a file changes only if
/// the data do.
fn write(session: &Session<'_>, nodes: &[Arc<NodeInfo>], folder: &str) -> Result<()> {
    let settings = session.served.settings();
    let base = settings.inventory_base_uri.as_deref();
    for (uri, name) in [(&settings.nodes_uri, "nodes_uri"), (&settings.classes_uri, "classes_uri")] {
        // Only an inventory in files has folders to protect.
        if fs::roots(base, uri, name).is_ok_and(|roots| is_in(folder, &roots)) {
            let reason = "the files of the inventory are there";
            return Err(Fault::new(Kind::PathRefused { path: folder.into(), reason }).into());
        }
    }
    let end = if &*settings.output == "json" { "json" } else { "yml" };
    let folder = OutputFolder::make(folder)?;
    nodes.iter().try_for_each(|node| {
        let value = node.to_value("");
        let about = entries(&value, "__reclass__").into_iter();
        let about = about.filter(|(key, _)| key.as_str() != Some("timestamp")).collect();
        let mut map = value.as_map().cloned().unwrap_or_default();
        map.insert("__reclass__".into(), Value::map(about));
        let text = terminal::format(&Value::map(map), settings);
        let text = text.trim_end_matches('\n').to_owned() + "\n";
        folder.put(&format!("{}.{end}", node.name), text.as_bytes())
    })
}
