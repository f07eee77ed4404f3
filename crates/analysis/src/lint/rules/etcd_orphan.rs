use crate::lint::prelude::*;
use reclass::parts::engine::EtcdOwner;
use reclass_base::similar;

pub const RULE: Rule = Rule {
    id: "etcd-orphan",
    level: Level::Warning,
    about: "A key in etcd belongs to no class and no node.",
    text: "Its class or node may be misspelled or gone, or the key is none that [a layer has](etcd.md#keys). The value is in no pillar.",
    checks: &[Check::Whole(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let Some(etcd) = &linter.context.inputs.etcd else { return };
    let classes = || linter.survey.files.iter().filter(|file| file.is_class).map(|file| &*file.name);
    let nodes = || linter.context.catalog.nodes.keys();
    let known: FxHashSet<&str> = classes().map(|name| name as &str).collect();
    let exists = |owner: &EtcdOwner| {
        let is_node = !owner.is_class && linter.context.catalog.nodes.contains_key(&owner.name);
        is_node || owner.is_class && known.contains(&*owner.name)
    };
    for (key, owner, site) in etcd.orphans(&exists) {
        let (message, help) = match owner {
            Some(EtcdOwner { is_class: true, name }) => (
                format!("there is no class '{name}' for the key '{key}'"),
                similar::class(&name, known.iter().copied()),
            ),
            Some(EtcdOwner { name, .. }) => (
                format!("there is no node '{name}' for the key '{key}'"),
                similar::node(&name, nodes().map(AsRef::as_ref)),
            ),
            None => (format!("no layer has the key '{key}'"), None),
        };
        let help = help.map(|name| format!("'{name}' is similar"));
        found.push(lint_fault(RULE.id, message, help).at_site(site));
    }
}
