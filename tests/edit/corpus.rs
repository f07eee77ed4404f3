//! The editor over every YAML file of the conformance corpus: keys are set, changed and deleted, and
//! each time the data differ in that key alone, the text in its lines alone.

use support::checks::data;
use support::yaml;

use std::collections::BTreeMap;

use reclass::parts::model::Prefixes;
use reclass::pystr;
use reclass::settings::Settings;
use reclass::source::Span;
use reclass::value::{Map, Text};
use reclass_edit::{Action, Change};
use reclass_yaml::compose::{Data, Document, Node, compose};
use reclass_yaml::{parse_value, to_value};
use support::faithful::faithful;
use support::random::Random;
use yaml::oracle::corpus;

/// Edits for each file.
const EDITS: usize = 24;

/// What an entry is made to be.
const VALUES: [&str; 9] = [
    "new",
    "5",
    "null",
    "'yes'",
    "\"one\\ntwo\\n\"",
    "{x: 1, y: [a, {b: c}]}",
    "[a, [b], {c: d, e: 'f: g'}]",
    "{}",
    "' # '",
];

/// A mapping of the document, or an entry of one: the keys that lead to it, and its node.
struct Place<'a> {
    keys: Vec<Text>,
    /// The lines of the entry, from zero; those of the mapping, for a new key.
    lines: (usize, usize),
    node: &'a Node,
    is_map: bool,
}

/// Whether a collection is written in brackets. Anchor and tag come before it.
fn in_brackets(text: &str, span: Span) -> bool {
    let mut words = text[span.start as usize..].split_whitespace();
    words.find(|word| !word.starts_with(['&', '!'])).is_some_and(|word| word.starts_with(['{', '[']))
}

/// The last line on which something of the node is written; at least `line`.
fn last_line(text: &str, document: &Document, node: &Node, line: usize) -> usize {
    let inside = match &node.data {
        Data::Value(_) => {
            let span = document.spans[node.index as usize];
            let written = &text[span.start as usize..span.end as usize];
            // With `+`, blank lines at its end are a part of a block scalar.
            let keeps =
                written.starts_with(['|', '>']) && written.lines().next().is_some_and(|l| l.contains('+'));
            let written =
                if keeps { written.strip_suffix('\n').unwrap_or(written) } else { written.trim_end() };
            span.line as usize + written.matches('\n').count()
        }
        Data::List(items) => {
            items.iter().fold(0, |last, item| last.max(last_line(text, document, item, last)))
        }
        Data::Map(entries) => entries.iter().fold(0, |last, entry| {
            let key = document.spans[entry.key_index as usize].line as usize;
            last.max(key).max(last_line(text, document, &entry.value, key))
        }),
    };
    // A collection in brackets may end on a line of its own.
    let span = document.spans[node.index as usize];
    let closed = if in_brackets(text, span) { text[..span.end as usize].matches('\n').count() } else { 0 };
    inside.max(closed).max(line)
}

fn places<'a>(text: &str, document: &'a Document, node: &'a Node, keys: &[Text], out: &mut Vec<Place<'a>>) {
    let Data::Map(entries) = &node.data else { return };
    for entry in entries.iter() {
        let keys = [keys, &[Text::from(pystr::str(&entry.key.0))]].concat();
        let line = document.spans[entry.key_index as usize].line as usize;
        let last = last_line(text, document, &entry.value, line);
        let is_map = matches!(entry.value.data, Data::Map(_));
        out.push(Place { keys: keys.clone(), lines: (line, last), node: &entry.value, is_map });
        places(text, document, &entry.value, &keys, out);
    }
}

/// The lines of the old text, from zero, that the new one has not, and how many of the new are new.
fn differing(before: &[u8], after: &[u8]) -> Option<(usize, usize, usize)> {
    let lines =
        |text: &[u8]| text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (old, new) = (lines(before), lines(after));
    let start = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let most = old.len().min(new.len()) - start;
    let end =
        old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(one, other)| one == other).count();
    (start < old.len().max(new.len())).then_some((start, old.len() - end, new.len() - end - start))
}

#[derive(Default)]
struct Tally {
    files: usize,
    made: BTreeMap<&'static str, usize>,
    refused: BTreeMap<String, usize>,
    same: usize,
}

fn check(text: &[u8], path: &str, random: &mut Random, tally: &mut Tally) {
    let settings = Settings::from_options(&Map::default()).expect("settings").0;
    let prefixes = &Prefixes::new(&settings);
    let Ok(document) = compose(text) else { return };
    let Some(root) = &document.root else { return };
    let Ok(shown) = std::str::from_utf8(text) else { return };
    if !matches!(root.data, Data::Map(_)) {
        return;
    }
    tally.files += 1;
    let before = to_value(root);
    let mut all = Vec::new();
    places(shown, &document, root, &[], &mut all);
    all.push(Place { keys: Vec::new(), lines: (0, shown.lines().count()), node: root, is_map: true });
    for _ in 0..EDITS {
        let place = &all[random.below(all.len())];
        let new = parse_value(VALUES[random.below(VALUES.len())]).expect("YAML");
        let (what, keys, action) = match random.below(4) {
            0 if !place.keys.is_empty() => ("deleted", place.keys.clone(), Action::Delete),
            1 | 2 if !place.keys.is_empty() => ("changed", place.keys.clone(), Action::Set(new.clone())),
            _ if place.is_map => {
                let keys = [place.keys.as_slice(), &["a new key".into()]].concat();
                ("set", keys, Action::Set(new.clone()))
            }
            _ => continue,
        };
        let change = Change { keys: keys.clone(), action };
        let case = || format!("{path}: {what} {}", change.notation());
        let changed = match change.apply(text, path, prefixes) {
            Ok(changed) => changed,
            Err(error) => {
                assert_eq!(error.first().code(), "edit-refused", "{}: {error}", case());
                let message = error.first().kind.to_string();
                let reason = message.rsplit(" in place: ").next().unwrap_or_default();
                let reason = reason.split('&').next().unwrap_or_default().trim_end_matches('\'');
                *tally.refused.entry(reason.to_owned()).or_default() += 1;
                continue;
            }
        };
        let new = (what != "deleted").then_some(&new);
        let wanted = data::changed(&before, &keys, new);
        let Some(changed) = changed else {
            assert_eq!(faithful(&wanted), faithful(&before), "{}", case());
            tally.same += 1;
            continue;
        };
        let found = parse_value(std::str::from_utf8(&changed).expect("UTF-8"));
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", case()));
        assert_eq!(faithful(&found), faithful(&wanted), "{}", case());
        assert_eq!(change.apply(&changed, path, prefixes).expect("a second time"), None, "{}", case());

        // Of a duplicate key, both entries are deleted; the entries of a merge key are elsewhere;
        // only `\n` is counted as the end of a line.
        let odd_breaks = shown.replace("\r\n", "\n").contains(['\r', '\u{85}', '\u{2028}', '\u{2029}']);
        if !document.warnings.is_empty() || shown.contains("<<") || odd_breaks {
            continue;
        }
        let (start, end, added) =
            differing(text, &changed).unwrap_or_else(|| panic!("{}: no difference", case()));
        let flow = |keys: &[Text]| {
            let node = all.iter().find(|place| place.keys == keys).expect("a place").node;
            in_brackets(shown, document.spans[node.index as usize])
        };
        if what == "set" {
            if flow(&place.keys) {
                assert!(end <= start + 1 && added <= 1, "{}: more than a line", case());
            } else {
                // Only lines come in; the last one of the file may get the break that it had not.
                let last = !text.ends_with(b"\n") && end == start + 1;
                assert!(end == start || last, "{}: lines {start} to {end} are gone", case());
                let back =
                    Change { keys, action: Action::Delete }.apply(&changed, path, prefixes).expect("undone");
                assert_eq!(back.as_deref(), Some(text), "{}", case());
            }
        } else {
            let (mut first, last) = place.lines;
            let siblings = all.iter().filter(|other| {
                other.keys.len() == keys.len() && other.keys[..keys.len() - 1] == keys[..keys.len() - 1]
            });
            if what == "deleted" && siblings.count() == 1 && keys.len() > 1 {
                // The mapping around it stays as `{}`, behind its own key.
                let around = all.iter().find(|place| place.keys == keys[..keys.len() - 1]).expect("a place");
                first = around.lines.0;
            }
            // The last line of a file without a line break takes that of the line before it.
            if !text.ends_with(b"\n") {
                first = first.saturating_sub(1);
            }
            assert!(
                start >= first && end <= last + 1,
                "{}: lines {start} to {end} differ, of {first} to {last}\n{}",
                case(),
                String::from_utf8_lossy(&changed)
            );
        }
        *tally.made.entry(what).or_default() += 1;
    }
}

#[test]
fn every_file_of_the_corpus() {
    let seed = std::env::var("RECLASS_EDIT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut random = Random(seed);
    let mut tally = Tally::default();
    // In the short form, each fourth file.
    for (path, text) in corpus().into_iter().step_by(if support::is_long() { 1 } else { 4 }) {
        check(&text, &path.to_string_lossy(), &mut random, &mut tally);
    }
    let Tally { files, made, refused, same } = tally;
    println!("{files} files, {made:?}, {same} already so, refused: {refused:?}");
    let made: usize = made.values().sum();
    assert!(made > files * 10, "{made} edits in {files} files");
    assert!(refused.values().sum::<usize>() * 20 < made, "{refused:?}");
}
