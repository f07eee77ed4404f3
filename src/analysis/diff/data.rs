//! Differences as data: what `--output json` and Python get. `docs/diff.md` describes it.

use super::{Difference, Group, ListItem, names};
use crate::analysis::explain::place_value;
use crate::base::error::Fault;
use crate::base::path::join_path;
use crate::base::value::{Map, Text, Value};
use crate::output::report::{Finding, Level, findings_value};

fn map(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map>())
}

impl Difference {
    /// The difference as plain data.
    pub fn to_value(&self, delimiter: &str) -> Value {
        let number = |number: usize| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let problems = |nodes: &[(Text, Vec<Fault>)]| {
            let one = |(name, faults): &(Text, Vec<Fault>)| {
                map([("node", Value::Str(name.clone())), ("problems", problems_value(faults))])
            };
            Value::list(nodes.iter().map(one).collect())
        };
        map([
            ("old", Value::text(self.names.0.as_str())),
            ("new", Value::text(self.names.1.as_str())),
            ("settings_differ", Value::Bool(self.settings_differ)),
            ("nodes", number(self.nodes)),
            ("touched", number(self.touched().len())),
            ("added", names(&self.added)),
            ("unrendered", problems(&self.unrendered)),
            ("removed", names(&self.removed)),
            ("broken", problems(&self.broken)),
            ("mended", problems(&self.mended)),
            ("otherwise", problems(&self.otherwise)),
            ("changes", Value::list(self.changes.iter().map(|group| self.group(group, delimiter)).collect())),
        ])
    }

    fn group(&self, group: &Group, delimiter: &str) -> Value {
        let change = &group.change;
        let value = |value: &Option<Value>| {
            value.as_ref().map_or(Value::Null, |value| self.redaction.value(&change.path, value))
        };
        let place = |place: &Option<crate::analysis::explain::ValuePlace>| {
            place.as_ref().map_or(Value::Null, place_value)
        };
        let item = |item: &ListItem| {
            map([
                ("kind", Value::text(if item.added { "added" } else { "removed" })),
                (
                    "value",
                    change.item(item).map_or(Value::Null, |item| self.redaction.value(&change.path, item)),
                ),
                ("place", place(&item.place)),
            ])
        };
        let items = match change.items.as_slice() {
            [] => Value::Null,
            items => Value::list(items.iter().map(item).collect()),
        };
        map([
            ("section", Value::text(change.section.name())),
            ("path", Value::text(join_path(&group.path(), delimiter))),
            ("kind", Value::text(kind(group))),
            ("old", value(&change.old)),
            ("new", value(&change.new)),
            ("old_place", place(&group.old_place)),
            ("new_place", place(&group.new_place)),
            ("items", items),
            ("differs_by_node", Value::Bool(group.differs_by_node)),
            ("nodes", names(&group.nodes)),
        ])
    }
}

/// `added`, `removed` or `changed`: null is a value too.
fn kind(group: &Group) -> &'static str {
    match (&group.change.old, &group.change.new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    }
}

fn problems_value(faults: &[Fault]) -> Value {
    let findings: Vec<Finding> = faults
        .iter()
        .map(|fault| Finding {
            fault: fault.clone(),
            level: Level::Error,
            nodes: fault.node.iter().cloned().collect(),
        })
        .collect();
    findings_value(&findings)
}
