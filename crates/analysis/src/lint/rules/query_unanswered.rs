use crate::lint::param::each_query;
use crate::lint::prelude::*;
use reclass::parts::model::Query;

pub const RULE: Rule = Rule {
    id: "query-unanswered",
    level: Level::Warning,
    about: "An inventory query asks for an export that no node has, or no node passes its tests.",
    text: "The rule reports an export that no node has, and a query that found no node whichever node asked when the nodes were rendered. It reports nothing if a node of the file does not render.

```yaml
# Bad: nodes/web.yml
exports: {port: 80}
parameters: {ports: '$[ exports:prot ]'}
# Good: nodes/web.yml
exports: {port: 80}
parameters: {ports: '$[ exports:port ]'}
```",
    checks: &[Check::Whole(check)],
};

/// The number of nodes that asked a query, and whether any node answered.
#[derive(Default)]
struct Answers {
    asked: usize,
    answered: bool,
}

/// Queries for an export that no node has, and queries that found no node for any asking node.
fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    // The exports of a node without layers are unknown.
    if linter.survey.nodes.iter().any(|node| node.layers.is_err()) {
        return;
    }
    let mut memo: FxHashMap<Vec<Text>, bool> = FxHashMap::default();
    // Queries are identified by address.
    let mut answers: FxHashMap<*const Query, Answers> = FxHashMap::default();
    for (query, answered) in &linter.rendered.asked {
        let answers = answers.entry(Arc::as_ptr(query)).or_default();
        answers.asked += 1;
        answers.answered |= answered;
    }
    let mut unanswered = Vec::new();
    each_query(linter, &mut |_, query, origin| {
        let paths = query.comparisons().map(|test| &test.export).chain(&query.value);
        for path in paths {
            let has = *memo.entry(path.clone()).or_insert_with(|| {
                linter
                    .survey
                    .nodes
                    .iter()
                    .any(|node| node.layers.as_ref().is_ok_and(|layers| exports(&layers.exports, path)))
            });
            if !has {
                let delimiter = &linter.context.settings.delimiter;
                let keys: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
                unanswered.push((format!("no node exports '{}'", keys.join(delimiter)), origin));
                return;
            }
        }
        let all_known = linter.survey.file(origin.file).is_some_and(|file| linter.is_rendered(file));
        match answers.get(&std::ptr::from_ref(query)) {
            Some(Answers { asked, answered: false }) if all_known => {
                let asking = if *asked == 1 {
                    String::new()
                } else {
                    format!(", whichever of its {asked} nodes asks")
                };
                unanswered.push((format!("no node answers the query{asking}"), origin));
            }
            _ => {}
        }
    });
    for (message, origin) in unanswered {
        found.push(linter.at(RULE.id, message, origin));
    }
}

/// Whether a map may contain a path.
fn exports(map: &MapSlot, path: &[Text]) -> bool {
    fn inside(slot: &Slot, rest: &[Text]) -> bool {
        match slot {
            _ if rest.is_empty() => true,
            Slot::Map(map) => exports(map, rest),
            Slot::Stack(stack) => stack.entries.iter().any(|entry| inside(&entry.slot, rest)),
            Slot::Text(..) | Slot::Query(..) | Slot::List(_) => true,
            _ => false,
        }
    }
    let Some((first, rest)) = path.split_first() else { return true };
    map.entries.get(&**first).is_some_and(|slot| inside(slot, rest))
}
