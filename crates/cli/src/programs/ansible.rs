//! `reclass-ansible` is an inventory script for Ansible: it prints groups with their hosts, and the variables
//! of hosts.

use clap::Command;
use reclass::error::Result;
use reclass::pystr;
use reclass::value::{Key, Map, Value};
use reclass::{NodeInfo, inventory_value};
use reclass_analysis::errors::HOST_WITHOUT_GROUP;

use crate::manual_page::Manual;
use crate::program::{Program, Session, entries};
use crate::{flags, terminal};

pub const PROGRAM: Program = Program {
    name: "reclass-ansible",
    manual: Manual {
        page: "ansible",
        description: "An inventory script: Ansible runs it with --list. Classes and applications are groups of hosts, and parameters are the variables of a host.",
        examples: &[
            (
                "As the inventory of Ansible, in the folder of nodes and classes:",
                "ln -s $(command -v reclass-ansible) /etc/ansible/hosts",
            ),
            ("All groups, and the variables of all hosts:", "reclass-ansible -b /srv/salt/reclass --list"),
        ],
        exits: &[],
    },
    command,
    modes: &["list", "host"],
    verbs: false,
    defaults: |folder| {
        Map::from_iter([
            ("inventory_base_uri".into(), Value::text(folder)),
            ("output".into(), Value::text("json")),
        ])
    },
    answer,
};

fn command(command: Command, defaults: &Map) -> Command {
    flags::add_ansible(command, defaults)
        .about(
            "Print the inventory for Ansible: classes and applications are groups, parameters are variables",
        )
        .override_usage("reclass-ansible [OPTIONS] (--list | --host <NODE>)")
        .arg(flags::inventory_mode('l', "list", "Print the groups, and the variables of all hosts"))
        .arg(flags::node_mode('t', "host", "Print the variables of a host"))
}

fn answer(session: &Session<'_>) -> Result<Option<Value>> {
    if let (_, Some(node)) = session.mode {
        let info = session.node(node)?;
        return Ok(Some(variables(&info, &session.timestamp)));
    }
    let nodes = session.all_nodes()?;
    for node in nodes.iter().filter(|node| node.classes.is_empty() && node.applications.is_empty()) {
        let message = format!(
            "node '{}' has no class and no application, so it is in no group and Ansible does not see it",
            node.name
        );
        let help = "a class mapping '* CLASS' gives every node a class";
        terminal::warn(&HOST_WITHOUT_GROUP.fault(message, Some(help)));
    }
    let settings = session.served.settings();
    let postfix = settings.applications_postfix.as_deref().unwrap_or_default();
    let whole = inventory_value(&nodes, &session.timestamp);
    let mut groups = entries(&whole, "classes");
    // If a class has the name of such a group, the hosts of the application replace it, as in the Python
    // program.
    let applications = entries(&whole, "applications").into_iter();
    groups.extend(applications.map(|(name, hosts)| (Key::from(&*(pystr::str(&name.0) + postfix)), hosts)));
    if &*settings.group_form == "mapping" {
        for hosts in groups.values_mut() {
            *hosts = Value::record([("hosts", hosts.clone())]);
        }
    }
    let hosts = nodes.iter().map(|node| (node.name.clone().into(), variables(node, &session.timestamp)));
    let hosts = Value::map(hosts.collect());
    groups.insert("_meta".into(), Value::record([("hostvars", hosts)]));
    Ok(Some(Value::map(groups)))
}

/// The variables of a host: the parameters, and under `__reclass__` the data of `reclass` about the node,
/// with its classes and applications.
fn variables(info: &NodeInfo, timestamp: &str) -> Value {
    let node = info.to_value(timestamp);
    let mut about = entries(&node, "__reclass__");
    about.insert("classes".into(), Value::texts(&info.classes));
    about.insert("applications".into(), Value::texts(&info.applications));
    let mut variables = entries(&node, "parameters");
    variables.insert("__reclass__".into(), Value::map(about));
    Value::map(variables)
}
