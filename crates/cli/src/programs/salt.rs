//! `reclass-salt` gives Salt the pillar or the states of a minion, or the states of all minions.

use std::sync::Arc;

use clap::Command;
use reclass::NodeInfo;
use reclass::error::Result;
use reclass::value::{Key, Map, Value};

use crate::flags;
use crate::manual_page::Manual;
use crate::program::{Program, Session, entries};

pub const PROGRAM: Program = Program {
    name: "reclass-salt",
    manual: Manual {
        page: "cli",
        description: "Prints the data that a Salt master gets from an inventory. The Salt modules of saltext-reclass do not need this program.",
        examples: &[
            ("The pillar of a minion:", "reclass-salt --pillar web1.example.com"),
            ("The states of all minions:", "reclass-salt -b /srv/salt/reclass --top"),
        ],
        exits: &[],
    },
    command,
    modes: &["pillar", "top", "formulas"],
    verbs: false,
    defaults: |folder| Map::from_iter([("inventory_base_uri".into(), Value::text(folder))]),
    answer,
};

fn command(command: Command, _: &Map) -> Command {
    command
        .about("Print the pillar and the states that reclass gives to Salt")
        .override_usage("reclass-salt [OPTIONS] (--pillar <NODE> | --top | --formulas <NODE>)")
        .arg(flags::node_mode('p', "pillar", "Print the pillar of a minion"))
        .arg(flags::inventory_mode('t', "top", "Print the states of all minions, by environment"))
        .arg(flags::node_mode('f', "formulas", "Print the states of a minion, by environment"))
}

fn answer(session: &Session<'_>) -> Result<Option<Value>> {
    let (mode, node) = session.mode;
    let Some(node) = node else {
        let nodes = session.all_nodes()?;
        return Ok(Some(tops(&nodes)));
    };
    let request = flags::request(session.matches);
    let (info, revision) = session.served.answer(node, &request)?;
    session.warn([info.as_ref()]);
    Ok(Some(if mode == "formulas" { top(&info) } else { pillar(&info, revision) }))
}

/// The parameters with the additions of Salt's adapters. Dates stay dates, because this form is only printed
/// (Y4).
fn pillar(info: &NodeInfo, revision: Option<String>) -> Value {
    let mut pillar = entries(&info.to_value(""), "parameters");
    let mut about = Map::from_iter([
        (Key::from("nodename"), Value::Str(info.name.clone())),
        (Key::from("applications"), Value::texts(&info.applications)),
        (Key::from("classes"), Value::texts(&info.classes)),
        (Key::from("environment"), info.environment.clone()),
    ]);
    about.extend(revision.map(|revision| (Key::from("revision"), Value::text(revision))));
    pillar.insert("__reclass__".into(), Value::map(about));
    Value::map(pillar)
}

/// The applications of a minion under its environment.
fn top(info: &NodeInfo) -> Value {
    Value::map(Map::from_iter([(Key(info.environment.clone()), Value::texts(&info.applications))]))
}

/// The applications of all minions by environment and name.
fn tops(nodes: &[Arc<NodeInfo>]) -> Value {
    let mut environments: indexmap::IndexMap<Key, Map> = indexmap::IndexMap::new();
    for node in nodes {
        let minions = environments.entry(Key(node.environment.clone())).or_default();
        minions.insert(node.name.clone().into(), Value::texts(&node.applications));
    }
    Value::map(environments.into_iter().map(|(name, minions)| (name, Value::map(minions))).collect())
}
