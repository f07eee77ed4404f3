use crate::lint::prelude::*;
use reclass::parts::evaluate::Locate as _;
use reclass_base::error::Kind;

pub const RULE: Rule = Rule {
    id: "null-over-container",
    level: Level::Warning,
    about: "A key without a value takes away the mapping or list of an earlier class.",
    text: "An empty value is null, and null replaces whatever earlier classes set. Mostly the lines below the key lack their indentation. The rule accepts `null` and `~`, which somebody wrote on purpose.

```yaml
# Bad: nodes/web.yml
classes: [nginx]
parameters:
  nginx:
  port: 8080
# Good: nodes/web.yml
classes: [nginx]
parameters:
  nginx:
    port: 8080
# classes/nginx.yml
parameters:
  nginx: {port: 80, workers: 4}
```",
    checks: &[Check::Inventory(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    for section in MergedSection::ALL {
        check_section(linter, section, found);
    }
}

fn check_section(linter: &Linter<'_>, section: MergedSection, found: &mut Vec<Fault>) {
    let mut empty: Vec<(Vec<Key>, Origin, &SurveyedFile)> = Vec::new();
    for (file, layer) in known_layers(linter) {
        scalars(&linter.settled(section, layer), &mut |path, slot, prefix| {
            if let Slot::Value(Value::Null, origin) = slot
                && !prefix.any()
                && linter.context.inputs.locate(*origin).is_some_and(|(_, span)| span.start == span.end)
            {
                empty.push((path.to_vec(), *origin, file));
            }
        });
    }
    let classes = linter.survey.files.iter().filter(|file| file.is_class);
    let mentions = Mentions::of(linter, section, classes, empty.iter().map(|(path, ..)| path.as_slice()));
    for (path, origin, file) in &empty {
        let mentioned = mentions.at(path);
        let lost = linter.survey.kinds(file).find_map(|node| {
            let earlier = node.layers_before(origin.file).filter(|layer| mentioned.contains(&layer.file));
            earlier.fold(None, |lost, layer| match linter.settled(section, layer).at(path) {
                Some((slot, rest)) => container(slot, rest),
                None => lost,
            })
        });
        if let Some((kind, place)) = lost {
            let path = join_path(path, &linter.context.settings.delimiter);
            let message = format!("{} is empty and takes away the {kind} of a class", section.named(&path));
            let mut fault = linter.about(RULE.id, message, *origin, path, section);
            if let Kind::Lint { help, .. } = &mut fault.kind {
                *help = Some("indent the lines that belong to it, or write null if that is meant".to_owned());
            }
            found.push(fault.note("it is set here", linter.site(place)));
        }
    }
}

/// The kind and the place of a mapping or list that has something.
fn container(slot: &Slot, rest: &[Key]) -> Option<(&'static str, Origin)> {
    match alone(slot) {
        Some((Slot::Map(map), _)) if rest.is_empty() && !map.entries.is_empty() => {
            Some(("mapping", map.origin))
        }
        Some((Slot::List(list), _)) if rest.is_empty() && !list.items.is_empty() => {
            Some(("list", list.origin))
        }
        _ => None,
    }
}
