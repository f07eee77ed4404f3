//! Selects the paths of a file by patterns: the paths that match, and everything below them.

use reclass::parts::model::{MapSlot, Slot};
use reclass_base::pattern::{PathPattern, Progress};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value};

/// The state of patterns after some keys of a path.
enum Choice<'p> {
    /// A pattern matched the path, or a container of it.
    Chosen,
    /// Patterns that may still match below.
    Open(Vec<(&'p PathPattern, Progress)>),
}

impl<'p> Choice<'p> {
    /// The state after one more key.
    fn step(&self, step: impl Fn(&PathPattern, &Progress) -> Progress) -> Choice<'p> {
        let Choice::Open(open) = self else { return Choice::Chosen };
        let next = open.iter().map(|(pattern, progress)| (*pattern, step(pattern, progress)));
        let next: Vec<_> = next.filter(|(_, progress)| !progress.is_dead()).collect();
        if next.iter().any(|(pattern, progress)| pattern.is_match(progress)) {
            Choice::Chosen
        } else {
            Choice::Open(next)
        }
    }
}

/// Visits the values of a map that any of the patterns selects. A list is one value, unless a pattern leads
/// into it. Without patterns everything is selected.
pub(super) fn chosen_leaves(map: &MapSlot, patterns: &[PathPattern], visit: &mut dyn FnMut(&[Key], &Slot)) {
    map.leaves(&mut |path, slot| {
        let start = if patterns.is_empty() {
            Choice::Chosen
        } else {
            Choice::Open(patterns.iter().map(|pattern| (pattern, pattern.start())).collect())
        };
        let choice = path
            .iter()
            .fold(start, |choice, key| choice.step(|pattern, progress| pattern.step(progress, key)));
        match choice {
            Choice::Chosen => visit(path, slot),
            open @ Choice::Open(_) => inside(slot, &open, &mut path.to_vec(), visit),
        }
    });
}

/// Visits the selected values in a list, or in a mapping that is a list item.
fn inside(slot: &Slot, choice: &Choice<'_>, path: &mut Vec<Key>, visit: &mut dyn FnMut(&[Key], &Slot)) {
    if matches!(choice, Choice::Open(open) if open.is_empty()) {
        return;
    }
    let mut below = |key: Key, slot: &Slot, choice: &Choice<'_>| {
        path.push(key);
        match (choice, slot) {
            (Choice::Chosen, Slot::Raw(raw)) if !raw.entries.is_empty() => {
                grow(|| inside(slot, choice, path, visit));
            }
            (Choice::Chosen, _) => visit(path, slot),
            _ => grow(|| inside(slot, choice, path, visit)),
        }
        path.pop();
    };
    match slot {
        Slot::List(list) => {
            let length = list.items.len();
            for (at, (index, item)) in (0i64..).zip(&list.items).enumerate() {
                let choice = choice.step(|pattern, progress| pattern.step_item(progress, at, length));
                below(Key(Value::Int(index)), item, &choice);
            }
        }
        Slot::Raw(raw) => {
            for (key, slot) in &raw.entries {
                let choice = choice.step(|pattern, progress| pattern.step(progress, key));
                below(key.clone(), slot, &choice);
            }
        }
        _ => {}
    }
}
