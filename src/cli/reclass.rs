//! `reclass` turns the name of a node into its data, or prints the whole inventory.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, Command};
use reclass::engine::{Inventory, NodeInfo, Request, inventory_value};
use reclass::error::{Error, Fault, Result};
use reclass::report::{Level, grouped};
use reclass::value::{Map, Value};

use super::flags;
use super::session::{Program, Session, run, warn};

/// Runs the program.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let program = Program {
        name: "reclass",
        command,
        modes: &["nodeinfo", "inventory", "nodeapps"],
        verbs: true,
        defaults: Map::from_iter([("inventory_base_uri".into(), Value::text("/etc/reclass"))]),
        answer,
    };
    run(program, arguments)
}

fn command(command: Command) -> Command {
    command
        .about("Merge data by recursive descent down an ancestry hierarchy")
        .override_usage(
            "reclass [OPTIONS] (--nodeinfo <NODE> | --inventory | --nodeapps <NODE>)\n       reclass [OPTIONS] <COMMAND>",
        )
        .arg(
            Arg::new("environment")
                .short('e')
                .long("environment")
                .value_name("NAME")
                .help("Render the node as if it were in this environment")
                .help_heading("Database options"),
        )
        .arg(flags::node_mode('n', "nodeinfo", "Print the data of a node"))
        .arg(flags::inventory_mode('i', "inventory", "Print the data of all nodes"))
        .arg(flags::node_mode('f', "nodeapps", "Print the applications of a node"))
}

fn answer(session: &Session<'_>) -> Result<Value> {
    let (mode, node) = session.mode;
    let Some(node) = node else {
        let nodes =
            session.inventory.inventory().map_err(|error| everything_wrong(&session.inventory, error))?;
        warn(nodes.iter().map(Arc::as_ref));
        return Ok(inventory_value(&nodes, &session.timestamp));
    };
    let environment = session.matches.get_one::<String>("environment");
    let request = Request {
        force_environment: environment.is_some(),
        environment: environment.map(|name| name.as_str().into()),
        input_data: None,
    };
    let info = session.inventory.nodeinfo(node, &request)?;
    warn([info.as_ref()]);
    Ok(if mode == "nodeapps" { applications(&info) } else { info.to_value(&session.timestamp) })
}

/// All problems of all nodes, each once, where the first of them has stopped the whole.
fn everything_wrong(inventory: &Inventory, first: Error) -> Error {
    if !inventory.settings().group_errors {
        return first;
    }
    let problems = inventory.inspect(|computation| {
        let names = computation.catalog.nodes.keys();
        let failed = names.filter_map(|name| computation.answer(name, None, None, false).err());
        failed.flat_map(Error::into_faults).map(|fault| (Level::Error, fault)).collect::<Vec<_>>()
    });
    let Ok(problems) = problems else { return first };
    let mut faults: Vec<Fault> = grouped(problems).into_iter().map(|finding| finding.fault).collect();
    // The exit code is that of the first node that fails.
    let is_first = |fault: &Fault| (fault.code(), &fault.site) == (first.first().code(), &first.first().site);
    match faults.iter().position(is_first) {
        Some(at) => {
            faults[..=at].rotate_right(1);
            Error::new(faults)
        }
        None => first,
    }
}

/// What `--nodeapps` prints: the applications and nothing else.
fn applications(info: &NodeInfo) -> Value {
    let names = info.applications.iter().cloned().map(Value::Str).collect();
    Value::map(Map::from_iter([("applications".into(), Value::list(names))]))
}
