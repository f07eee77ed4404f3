use crate::lint::prelude::*;
use reclass_base::stack::grow;
use reclass_yaml::compose::{Data, Node};

pub const RULE: Rule = Rule {
    id: "tab",
    level: Level::Warning,
    about: "A tab is between tokens.",
    text: "The rule reports the tab in `a:<tab>1`. The reader of the Python programs takes it for a space (ruling [Y5](semantics.md)), but other readers refuse the whole file, PyYAML without its C library among them. Use spaces. The rule accepts tabs in texts and comments. A tab in an indentation is an error, `yaml-syntax`.

```yaml
# Bad: nodes/web.yml
parameters: {port:	80}
# Good: nodes/web.yml
parameters: {port: 80}
```",
    checks: &[Check::File(check)],
};

/// Tabs outside scalars and comments.
fn check(written: &FileText<'_>, found: &mut Vec<Fault>) {
    if !written.text.contains('\t') {
        return;
    }
    let mut offset = 0;
    let mut places = Vec::new();
    for (number, line) in (0u32..).zip(written.text.split_inclusive('\n')) {
        let comment = line.find(" #").or_else(|| line.starts_with('#').then_some(0)).unwrap_or(line.len());
        if let Some(at) = line[..comment].trim_end().find('\t') {
            let column = u32::try_from(line[..at].chars().count()).unwrap_or(0);
            places.push((offset + at, number, column));
        }
        offset += line.len();
    }
    let mut scalars = Vec::new();
    if let Some(root) = &written.document.root {
        collect_scalars(root, &mut scalars);
    }
    let mut scalars: Vec<Span> = scalars.iter().filter_map(|index| written.span(*index)).collect();
    scalars.retain(|span| span.end > span.start);
    scalars.sort_unstable_by_key(|span| span.start);
    for (at, line, column) in places {
        // Scalars do not overlap.
        let behind = scalars.partition_point(|span| span.start as usize <= at);
        let before = behind.checked_sub(1).and_then(|last| scalars.get(last));
        if before.is_none_or(|span| span.end as usize <= at) {
            let start = u32::try_from(at).unwrap_or(u32::MAX - 1);
            let span = Span { start, end: start + 1, line, column };
            let (message, help) = ("there is a tab between tokens".into(), Some("use spaces".into()));
            found.push(written.fault(RULE.id, message, help, span));
        }
    }
}

fn collect_scalars(node: &Node, out: &mut Vec<u32>) {
    match &node.data {
        Data::Value(_) => out.push(node.index),
        Data::List(items) => {
            items.iter().for_each(|item| grow(|| collect_scalars(item, out)));
        }
        Data::Map(entries) => entries.iter().for_each(|entry| {
            out.push(entry.key_index);
            grow(|| collect_scalars(&entry.value, out));
        }),
    }
}
