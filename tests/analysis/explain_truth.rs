//! Generated inventories turn explanations into predictions, and the engine into their judge.
//!
//! An explanation says where a value is written, what was there before, and which files it depends on.
//! So: another scalar written at that very place is the new value; without the entry at that place
//! the value is what the explanation says that it replaced or added to, or nothing; and a file that
//! the explanation does not name may lose all its parameters, and value and place stay as they are.
//! The inventories are those of the differential test, and small ones of a few layers that say much of
//! few keys: prefixes, nulls and scalars above one another, with constants that hold and that do not.
//! `RECLASS_SEEDS=1000 cargo test --test analysis explain_truth::` looks at more.

use support::{generate, inventory, options, random};

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use inventory::Node as Tree;
use random::Random;
use reclass::source::Site;
use reclass::value::{Key, Text, Value};
use reclass::{Inventory, Request};
use reclass_analysis::explain::{Effect, ReferenceTrace, Selection, ValueTrace, explain};
use reclass_yaml::compose::{Data, Node, compose};

/// What is written in place of a value.
const ANOTHER: &str = "another-value";

fn open(root: &Path, generated: &inventory::Inventory) -> Option<Inventory> {
    Inventory::open(&options::options(root, generated, "off")).ok()
}

/// The traces of the leaves of a node, and its classes.
fn traces(inventory: &Inventory, node: &str, paths: &[String]) -> Option<(Vec<ValueTrace>, Vec<Text>)> {
    let selection = Selection { parameters: paths.to_vec(), ..Selection::default() };
    let explanation = explain(inventory, node, &Request::default(), &selection).ok()?;
    inventory.nodeinfo(node, &Request::default()).ok()?;
    // As they come to, not as they are written: names may refer to parameters.
    let every = Selection { classes: vec!["*".to_owned()], ..Selection::default() };
    let classes = explain(inventory, node, &Request::default(), &every).map(|all| all.classes);
    let names = classes.unwrap_or_default().into_iter().map(|class| class.name).collect();
    Some((explanation.parameters, names))
}

/// Every file that a trace names; `None` where other nodes have a say in it.
fn files(trace: &ValueTrace, files: &mut BTreeSet<String>) -> Option<()> {
    for step in &trace.steps {
        if matches!(&step.written, Value::Str(text) if text.starts_with("$[") || text.contains("%[")) {
            return None;
        }
        files.extend(step.place.site.iter().map(|site| site.path.to_string()));
        step.references.iter().try_for_each(|reference| in_reference(reference, files))?;
    }
    Some(())
}

fn in_reference(reference: &ReferenceTrace, named: &mut BTreeSet<String>) -> Option<()> {
    reference.inner.iter().try_for_each(|inner| in_reference(inner, named))?;
    reference.trace.iter().try_for_each(|trace| files(trace, named))
}

/// The bytes of the plain scalar that begins at a place of a file.
fn scalar(text: &str, site: &Site) -> Option<(usize, usize)> {
    fn find(node: &Node, wanted: &dyn Fn(u32) -> bool, found: &mut Option<(u32, bool)>) {
        match &node.data {
            Data::Value(value) if wanted(node.index) => {
                *found = Some((node.index, !matches!(value, Value::Set(_) | Value::List(_) | Value::Map(_))));
            }
            Data::Value(_) => {}
            Data::List(items) => items.iter().for_each(|item| find(item, wanted, found)),
            Data::Map(entries) => entries.iter().for_each(|entry| find(&entry.value, wanted, found)),
        }
    }
    let document = compose(text.as_bytes()).ok()?;
    let at = |index: u32| {
        document
            .spans
            .get(index as usize)
            .is_some_and(|span| (span.line + 1, span.column + 1) == (site.line, site.column))
    };
    let mut found = None;
    find(document.root.as_ref()?, &at, &mut found);
    let (index, true) = found? else { return None };
    let span = document.spans[index as usize];
    let (start, end) = (span.start as usize, span.end as usize);
    let written = text.get(start..end)?;
    (!written.is_empty() && !written.starts_with(['&', '!', '|', '>'])).then_some((start, end))
}

/// The text of a file without its parameters.
fn without_parameters(text: &str) -> Option<String> {
    let document = compose(text.as_bytes()).ok()?;
    let Data::Map(entries) = document.root?.data else { return None };
    let entry = entries.iter().find(|entry| entry.key.as_str() == Some("parameters"))?;
    let span = document.spans[entry.value.index as usize];
    // An anchor in it may be named elsewhere.
    let (start, end) = (span.start as usize, span.end as usize);
    // What comes after it stays on its lines.
    let lines = "\n".repeat(text.get(start..end)?.matches('\n').count());
    (!text.contains('&')).then(|| format!("{}{{}}{lines}{}", &text[..start], &text[end..]))
}

/// The text of a file without the entry of a mapping, or the item of a list, whose value begins at a
/// place. Everything else stays where it is: the key becomes one that nobody knows, an item blanks.
fn without_entry(text: &str, site: &Site) -> Option<String> {
    enum Entry {
        Key(u32),
        Item(u32),
    }
    fn find(node: &Node, wanted: &dyn Fn(u32) -> bool, found: &mut Vec<Entry>) {
        match &node.data {
            Data::Value(_) => {}
            Data::List(items) => {
                for item in items.iter() {
                    if wanted(item.index) && items.len() > 1 && matches!(item.data, Data::Value(_)) {
                        found.push(Entry::Item(item.index));
                    }
                    find(item, wanted, found);
                }
            }
            Data::Map(entries) => {
                for entry in entries.iter() {
                    if wanted(entry.value.index) {
                        found.push(Entry::Key(entry.key_index));
                    }
                    find(&entry.value, wanted, found);
                }
            }
        }
    }
    // What aliases repeat is written at one place and counts at others.
    if text.contains(['&', '*']) {
        return None;
    }
    let document = compose(text.as_bytes()).ok()?;
    let span = |index: u32| document.spans.get(index as usize);
    let at = |index: u32| {
        span(index).is_some_and(|span| (span.line + 1, span.column + 1) == (site.line, site.column))
    };
    let mut found = Vec::new();
    find(document.root.as_ref()?, &at, &mut found);
    let (Entry::Key(index) | Entry::Item(index)) = found.first()?;
    let span = span(*index)?;
    let (start, end) = (span.start as usize, span.end as usize);
    let (start, with) = match found.first()? {
        Entry::Key(_) => (start, "Z"),
        Entry::Item(_) => {
            let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
            let dash = line + text[line..start].rfind('-')?;
            let alone = text[dash + 1..start].trim().is_empty()
                && text[end..].split('\n').next().is_some_and(|rest| rest.trim().is_empty());
            alone.then_some((dash, " "))?
        }
    };
    let written = text.get(start..end).filter(|written| !written.contains('\n') && !written.is_empty())?;
    Some(format!("{}{}{}", &text[..start], with.repeat(written.chars().count()), &text[end..]))
}

/// The part of a value at a path.
fn value_at<'v>(value: &'v Value, path: &[Key]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| match (value, &key.0) {
        (Value::Map(map), _) => map.get(key),
        (Value::List(items), Value::Int(at)) => items.get(usize::try_from(*at).ok()?),
        _ => None,
    })
}

#[derive(Default, Debug)]
struct Tally {
    traces: usize,
    /// Entries that were removed, and how many of the values that remained were predicted.
    removed: usize,
    predicted: usize,
    rewritten: usize,
    emptied: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn expect(&mut self, right: bool, message: impl FnOnce() -> String) {
        if !right {
            self.wrong.push(message());
        }
    }
}

/// Whether two values are the same; a number that is none is the same as itself.
fn same(one: Option<&Value>, other: Option<&Value>) -> bool {
    one == other || one.map(reclass::pystr::repr) == other.map(reclass::pystr::repr)
}

fn seeds(usual: u64) -> u64 {
    std::env::var("RECLASS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn explanations_predict_what_an_edit_does() {
    let mut tally = Tally::default();
    for seed in 0..seeds(150) {
        // A few of each node: writing files is slow.
        check(seed, &generate::inventory(seed), 4, &mut tally);
    }
    let wrong = std::mem::take(&mut tally.wrong);
    println!("{tally:?}");
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong[..wrong.len().min(4)].join("\n\n"));
    assert!(
        tally.traces > 2000
            && tally.rewritten > 300
            && tally.emptied > 300
            && tally.removed > 400
            && tally.predicted > 250,
        "{tally:?}"
    );
}

#[test]
fn explanations_of_a_few_layers_predict_what_an_edit_does() {
    let mut tally = Tally::default();
    for seed in 0..seeds(400) {
        check(seed, &layers(seed), 1, &mut tally);
    }
    let wrong = std::mem::take(&mut tally.wrong);
    println!("{tally:?}");
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong[..wrong.len().min(4)].join("\n\n"));
    assert!(tally.traces > 1000 && tally.rewritten > 500 && tally.predicted > 100, "{tally:?}");
}

/// A node with a few classes, each of which says something of the same few keys.
fn layers(seed: u64) -> inventory::Inventory {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut settings = BTreeMap::new();
    let leniency = random.below(3);
    if leniency > 0 {
        settings.insert("strict_constant_parameters".to_owned(), false.into());
    }
    if leniency > 1 {
        for name in [
            "allow_scalar_over_dict",
            "allow_scalar_over_list",
            "allow_list_over_scalar",
            "allow_dict_over_scalar",
        ] {
            settings.insert(name.to_owned(), true.into());
        }
    }
    let mut inventory = inventory::Inventory { settings, ..inventory::Inventory::default() };
    let classes = ["a", "b", "c", "d"].into_iter().take(1 + random.below(4));
    for class in classes.clone() {
        let parameters = mapping(&mut random, 2);
        inventory.files.insert(format!("classes/{class}.yml"), Tree::map([("parameters", parameters)]));
    }
    let fixed = Tree::map([("m", Tree::map([("a", Tree::Raw("7".into()))])), ("n", Tree::Raw("~".into()))]);
    let Tree::Map(mut parameters) = mapping(&mut random, 2) else { return inventory };
    parameters.push((Tree::text("z"), fixed));
    let classes = Tree::texts(classes.map(str::to_owned));
    let node = Tree::map([("classes", classes), ("parameters", Tree::Map(parameters))]);
    inventory.files.insert("nodes/n.yml".to_owned(), node);
    inventory
}

fn mapping(random: &mut Random, deeper: usize) -> Tree {
    let mut entries = Vec::new();
    let mut taken = BTreeSet::new();
    for _ in 0..=random.below(2) {
        let name = random.pick(&["a", "b"]);
        // Not both: how many of them count depends on how often layers merge (M6).
        let prefix = random.pick(&["", "", "", "", "", "~", "=", "="]);
        if taken.insert((prefix, name)) {
            entries.push((Tree::text(format!("{prefix}{name}")), thing(random, deeper)));
        }
    }
    Tree::Map(entries)
}

fn thing(random: &mut Random, deeper: usize) -> Tree {
    match random.below(16) {
        0..8 if deeper > 0 => mapping(random, deeper - 1),
        0..10 => Tree::Raw(random.below(6).to_string()),
        10..12 => Tree::Raw("~".into()),
        12 => Tree::Raw("[8, 9]".into()),
        13 => Tree::text(random.pick(&["${z:m}", "${z:m}", "${z:n}", "${z:m:a}", "${z}"])),
        _ => Tree::Raw("x".into()),
    }
}

/// Looks at the values of up to two nodes, one of `of` of them with edits.
fn check(seed: u64, generated: &inventory::Inventory, of: usize, tally: &mut Tally) {
    let folder = inventory::folder();
    generated.write(folder.path()).unwrap();
    let Some(inventory) = open(folder.path(), generated) else { return };
    let Ok(nodes) = inventory.nodes() else { return };
    for node in nodes.iter().take(2) {
        let Some((before, classes)) = traces(&inventory, node, &["**".to_owned()]) else { continue };
        for (index, trace) in before.iter().enumerate() {
            tally.traces += 1;
            if let Some(last) = trace.steps.iter().rev().find(|step| step.counts) {
                let container = matches!(trace.value, Some(Value::Map(_)) | None);
                tally.expect(container || same(last.after.as_ref(), trace.value.as_ref()), || {
                    format!("seed {seed}: {node}: {} ends as {:?}\n{trace:#?}", path(trace), last.after)
                });
            }
            if index % of == usize::try_from(seed).unwrap() % of {
                rewrite(seed, &inventory, node, trace, tally);
                remove(seed, &inventory, node, trace, tally);
                empty(seed, folder.path(), &inventory, node, trace, &classes, tally);
            }
        }
    }
}

/// Another scalar, written where the explanation says that the value is, is the value.
fn rewrite(seed: u64, inventory: &Inventory, node: &str, trace: &ValueTrace, tally: &mut Tally) {
    let Some(last) = trace.steps.iter().rev().find(|step| step.counts) else { return };
    let Some(site) = &last.place.site else { return };
    let whole = last.path.len() == trace.path.len();
    let scalar_there = !matches!(last.written, Value::List(_) | Value::Map(_));
    // In a list, what follows stays; a constant does not take it.
    if !whole || !scalar_there || matches!(trace.value, Some(Value::List(_) | Value::Map(_)) | None) {
        return;
    }
    let text = fs::read_to_string(&*site.path).unwrap();
    let Some((start, end)) = scalar(&text, site) else { return };
    fs::write(&*site.path, format!("{}{ANOTHER}{}", &text[..start], &text[end..])).unwrap();
    let after = traces(inventory, node, &[path(trace)]);
    fs::write(&*site.path, &text).unwrap();
    // Elsewhere the value may have been needed: a class name, a constant.
    let Some((after, _)) = after else { return };
    let value = after.iter().find(|one| one.path == trace.path).and_then(|one| one.value.clone());
    let expected = Value::text(ANOTHER);
    let right = value.as_ref() == Some(&expected) || after.iter().all(|one| one.fault.is_some());
    tally.expect(right, || {
        format!("seed {seed}: node {node}: {} is {value:?} after a change at {site}\n{trace:#?}", path(trace))
    });
    tally.rewritten += 1;
}

/// What a value is without the entry at its place, as far as an explanation shows.
enum Before<'s> {
    Unknown,
    Nothing,
    Value(&'s Value),
}

/// The value at a path before the last entry was merged.
fn before(trace: &ValueTrace) -> Before<'_> {
    let Some((last, earlier)) = trace.steps.split_last() else { return Before::Unknown };
    let plain = |written: &Value| !format!("{written:?}").contains(['$', '%', '@', '<', '(']);
    // The prefix may be on a key further up, which stays. In a list, the next item takes the place.
    if !last.counts
        || trace.path.last().is_some_and(|Key(key)| matches!(key, Value::Int(_)))
        || (last.path.len() > 1 && !last.prefix.is_empty())
        || last.path.len() != trace.path.len()
        || !matches!(last.effect, Effect::Sets | Effect::Replaces | Effect::Extends)
    {
        return Before::Unknown;
    }
    let Some(step) = earlier.last() else { return Before::Nothing };
    // The earlier value may refer to what is taken away; and two entries in one file count together.
    let same_file = earlier.iter().any(|step| {
        step.place.site.as_ref().map(|site| &site.path) == last.place.site.as_ref().map(|site| &site.path)
    });
    if same_file || !earlier.iter().all(|step| plain(&step.written) && step.references.is_empty()) {
        return Before::Unknown;
    }
    match step.effect {
        Effect::Removes => Before::Nothing,
        _ => step.after.as_ref().map_or(Before::Unknown, Before::Value),
    }
}

/// Without the entry where the explanation says that the value is, the value is another, or is elsewhere.
/// If the explanation has an earlier value, the value becomes that one.
fn remove(seed: u64, inventory: &Inventory, node: &str, trace: &ValueTrace, tally: &mut Tally) {
    let Some(place) = site(trace) else { return };
    let text = fs::read_to_string(&*place.path).unwrap();
    let Some(without) = without_entry(&text, place) else { return };
    let request = Request::default();
    let rendered =
        |inventory: &Inventory| inventory.nodeinfo(node, &request).map(|info| info.parameters.clone());
    let Ok(old) = rendered(inventory) else { return };
    fs::write(&*place.path, without).unwrap();
    // The judge is the engine, not the explanation.
    let (new, after) = (rendered(inventory), traces(inventory, node, &[path(trace)]));
    fs::write(&*place.path, &text).unwrap();
    // Elsewhere the value may have been needed.
    let Ok(new) = new else { return };
    let (was, is) = (value_at(&old, &trace.path), value_at(&new, &trace.path));
    let moved = || {
        let after = after.as_ref().and_then(|(after, _)| after.iter().find(|one| one.path == trace.path));
        after.is_none_or(|after| site(after) != Some(place))
    };
    let message =
        || format!("seed {seed}: node {node}: {} is {is:?} without {place}\n{trace:#?}", path(trace));
    tally.expect(!same(was, is) || moved(), message);
    tally.removed += 1;
    // A reference may bring the same item in twice; a scalar that a list extends replaces another one.
    let once = trace.steps.iter().all(|step| {
        step.references.is_empty()
            && !(step.effect == Effect::Replaces && step.place.site.as_ref() == Some(place))
    });
    let in_list = trace.path.split_last().filter(|(key, _)| once && matches!(key.0, Value::Int(_)));
    let list =
        in_list.and_then(|(key, around)| Some((key, value_at(&old, around)?, value_at(&new, around)?)));
    if let Some((Key(Value::Int(at)), Value::List(old), Value::List(new))) = list {
        let mut expected = old.to_vec();
        expected.remove(usize::try_from(*at).unwrap());
        tally.expect(same(Some(&Value::list(expected)), Some(&Value::List(new.clone()))), message);
        tally.predicted += 1;
        return;
    }
    let expected = match before(trace) {
        Before::Unknown => return,
        Before::Nothing => None,
        Before::Value(value) => Some(value),
    };
    tally.expect(same(is, expected), message);
    tally.predicted += 1;
}

/// A file that is not named may lose its parameters.
fn empty(
    seed: u64,
    root: &Path,
    inventory: &Inventory,
    node: &str,
    trace: &ValueTrace,
    classes: &[Text],
    tally: &mut Tally,
) {
    let mut named = BTreeSet::new();
    // An item has of the history of its list what is in it.
    let in_list = trace.path.iter().any(|Key(key)| matches!(key, Value::Int(_)));
    let replaces = trace.steps.iter().any(|step| step.effect == Effect::Replaces);
    if files(trace, &mut named).is_none() || (in_list && replaces) {
        return;
    }
    for folder in ["classes", "nodes"] {
        let mut paths: Vec<_> =
            fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for file in paths {
            let shown = file.to_string_lossy().into_owned();
            if file.is_dir() || named.contains(&shown) {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            let Some(emptied) = without_parameters(&text) else { continue };
            fs::write(&file, emptied).unwrap();
            let after = traces(inventory, node, &[path(trace)]);
            fs::write(&file, &text).unwrap();
            let Some((after, now)) = after else { continue };
            if now != classes {
                continue;
            }
            let one = after.iter().find(|one| one.path == trace.path);
            let right = one.is_some_and(|one| {
                same(one.value.as_ref(), trace.value.as_ref()) && site(one) == site(trace)
            });
            tally.expect(right, || {
                let path = path(trace);
                format!("seed {seed}: node {node}: {path} changes without {shown}, not named in\n{trace:#?}\n{one:#?}")
            });
            tally.emptied += 1;
        }
    }
}

/// The place of the value. The chain may change: names of classes refer to parameters.
fn site(trace: &ValueTrace) -> Option<&Site> {
    trace.place.as_ref()?.site.as_ref()
}

/// The path as it is asked for: what looks like a wildcard is one.
fn path(trace: &ValueTrace) -> String {
    let keys: Vec<String> = trace.path.iter().map(|Key(key)| reclass::pystr::str(key)).collect();
    keys.iter().map(|key| key.replace(':', "\\:")).collect::<Vec<_>>().join(":")
}
