//! Nodes that were asked for together answer as each one does alone.
//!
//! Nodes with the same classes rely on what another of them came to (`engine/values`). So generated
//! inventories get more nodes that differ a little from theirs: other values, keys that are gone or
//! new, references, one class more. Each node is asked in an inventory that has answered all others,
//! in several orders, and in a new one; values, warnings and errors must be the same to the letter.
//! `RECLASS_SEEDS=5000 cargo test --test engine together::` looks at more.

use support::{generate, inventory, options, random};

use std::path::Path;

use inventory::Node;
use random::Random;
use reclass::error::Fault;
use reclass::value::{Text, Value};
use reclass::{Inventory, Request};

/// How many nodes are made of each.
const VARIANTS: usize = 3;

fn open(root: &Path, generated: &inventory::Inventory, threads: i64) -> Option<Inventory> {
    let mut options = options::options(root, generated, "stat");
    options.insert("threads".into(), Value::Int(threads));
    Inventory::open(&options).ok()
}

/// The value of a key of a mapping.
fn entry<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Node> {
    let Node::Map(entries) = node else { return None };
    let named = |name: &Node| matches!(name, Node::Raw(text) | Node::Text(text) if text == key);
    entries.iter_mut().find(|(name, _)| named(name)).map(|(_, value)| value)
}

/// All references and names that an inventory writes somewhere, to write them somewhere else.
fn scalars(node: &Node, found: &mut Vec<Node>) {
    match node {
        Node::Raw(_) | Node::Text(_) => found.push(node.clone()),
        Node::List(items) => items.iter().for_each(|item| scalars(item, found)),
        Node::Map(entries) => entries.iter().for_each(|(_, value)| scalars(value, found)),
        Node::Anchored(_, inner) => scalars(inner, found),
    }
}

/// A name for a new key: mostly one that references ask for.
fn name(all: &[Node], random: &mut Random) -> Node {
    let texts = all.iter().filter_map(|node| match node {
        Node::Raw(text) | Node::Text(text) if text.contains("${") => Some(text.as_str()),
        _ => None,
    });
    let names: Vec<&str> = texts
        .flat_map(|text| text.split(|character: char| !character.is_alphanumeric() && character != '_'))
        .filter(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()))
        .collect();
    if names.is_empty() || random.once_in(4) {
        return Node::Raw(random.letters("abcdek", 2) + "n");
    }
    Node::Text(random.pick(&names).to_owned())
}

/// Changes one thing somewhere in a node.
fn vary(node: &mut Node, all: &[Node], random: &mut Random) {
    let any = |random: &mut Random| all[random.below(all.len())].clone();
    match node {
        Node::Map(entries) if !entries.is_empty() && !random.once_in(4) => {
            let at = random.below(entries.len());
            match random.below(8) {
                0 => drop(entries.remove(at)),
                1 | 2 => {
                    let new = name(all, random);
                    entries.retain(|(key, _)| *key != new);
                    entries.push((new, any(random)));
                }
                3 => entries[at].1 = Node::Map(vec![(name(all, random), any(random))]),
                _ => vary(&mut entries[at].1, all, random),
            }
        }
        Node::List(items) if !items.is_empty() && !random.once_in(3) => {
            let at = random.below(items.len());
            vary(&mut items[at], all, random);
        }
        Node::Anchored(_, inner) => vary(inner, all, random),
        _ => *node = any(random),
    }
}

/// The inventory with more nodes that are nearly as its own.
fn with_variants(mut generated: inventory::Inventory, random: &mut Random) -> inventory::Inventory {
    let nodes: Vec<(String, Node)> = generated
        .files
        .iter()
        .filter(|(name, _)| name.starts_with("nodes/"))
        .map(|(name, node)| (name.clone(), node.clone()))
        .collect();
    let mut all = vec![Node::Raw("~".into()), Node::Raw("1".into()), Node::Text("text".into())];
    generated.files.values().for_each(|file| scalars(file, &mut all));
    let classes: Vec<Node> = nodes
        .iter()
        .filter_map(|(_, node)| entry(&mut node.clone(), "classes").cloned())
        .flat_map(|list| if let Node::List(items) = list { items } else { Vec::new() })
        .collect();
    for (name, node) in &nodes {
        for number in 0..VARIANTS {
            let mut node = node.clone();
            if let (Some(Node::List(listed)), true) = (entry(&mut node, "classes"), random.once_in(3)) {
                listed.extend(classes.get(random.below(classes.len().max(1))).cloned());
            }
            for _ in 0..random.below(4) {
                if let Some(parameters) = entry(&mut node, "parameters") {
                    vary(parameters, &all, random);
                }
            }
            let path = name.replacen("nodes/", &format!("nodes/v{number}-"), 1);
            generated.files.insert(path, node);
        }
    }
    generated
}

/// The value of a node, and its warnings or errors.
fn answer(inventory: &Inventory, node: &str) -> (Option<Value>, String) {
    match inventory.nodeinfo(node, &Request::default()) {
        Ok(info) => (Some(info.to_value("")), info.warnings.iter().map(details).collect()),
        Err(error) => (None, error.faults().iter().map(details).collect()),
    }
}

/// All that a message says. The origin is left out: each inventory numbers its files itself.
fn details(fault: &Fault) -> String {
    let Fault { kind, site, node, path, chain, notes, causes, .. } = fault;
    let causes: String = causes.iter().map(details).collect();
    format!("{kind:?} {site:?} {node:?} {path:?} {chain:?} {notes:?} {causes}\n")
}

/// How many answers there were, how many of them values, and how many of these with warnings.
fn compare(seed: u64) -> [usize; 3] {
    let mut random = Random(seed);
    let generated = with_variants(generate::inventory(seed), &mut random);
    let folder = inventory::folder();
    generated.write(folder.path()).unwrap();
    compare_in(folder.path(), &generated, &format!("seed {seed}"))
}

fn compare_in(folder: &Path, generated: &inventory::Inventory, what: &str) -> [usize; 3] {
    let Some(together) = open(folder, generated, 1) else { return [0; 3] };
    let Ok(names) = together.nodes() else { return [0; 3] };
    let alone = |name: &Text| answer(&open(folder, generated, 1).unwrap(), name);
    let expected: Vec<_> = names.iter().map(alone).collect();
    let backwards = open(folder, generated, 1).unwrap();
    let at_once = open(folder, generated, 2).unwrap();
    // What it says is asked for below; this is what it remembers.
    drop(at_once.inventory());
    for (order, inventory) in [("in order", &together), ("backwards", &backwards), ("at once", &at_once)] {
        let mut indexes: Vec<usize> = (0..names.len()).collect();
        if order == "backwards" {
            indexes.reverse();
        }
        for index in indexes {
            let (name, got) = (&names[index], answer(inventory, &names[index]));
            assert!(
                got == expected[index],
                "{what}, {order}: '{name}' answers\n{}\n{:?}\nalone\n{}\n{:?}\nin\n{}",
                got.1,
                got.0,
                expected[index].1,
                expected[index].0,
                generated.show()
            );
        }
    }
    let values = expected.iter().filter(|(value, _)| value.is_some());
    let warned = values.clone().filter(|(_, messages)| !messages.is_empty());
    [names.len(), values.count(), warned.count()]
}

#[test]
fn nodes_answer_together_as_alone() {
    let seeds: u64 = std::env::var("RECLASS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let sum = |sum: [usize; 3], one: [usize; 3]| std::array::from_fn(|at| sum[at] + one[at]);
    let [answers, values, warned] = (1..=seeds).map(compare).fold([0; 3], sum);
    println!("{seeds} inventories, {answers} nodes, {values} of them values, {warned} with warnings");
    assert!(values > answers / 8, "too few nodes render to say anything: {values} of {answers}");
}

/// Each parameter of these classes is a reason of its own why one node cannot take over what another
/// one came to, or a trap for who forgets it.
const CLASSES: [(&str, &str); 2] = [
    (
        "first",
        r#"
parameters:
  _param: {host: none, port: 1, name: "${_param:port}.lan"}
  plain: {a: 1, b: {c: 2}}
  overwritten: ${nowhere}
  replaced: {deep: {one: "${nowhere:at:all}", two: 2}}
  merged: ${_param}
  merged_plain: ${plain}
  extended: ["${_param:host}"]
exports:
  of: {host: "${_param:host}", plain: "${plain}"}
"#,
    ),
    (
        "second",
        r#"
parameters:
  overwritten: at last
  replaced: {deep: {~one: 1}}
  merged: {more: 1}
  merged_plain: {more: 1}
  extended: ["${plain:b:c}", {of: "${plain}"}]
  whole: ${_param}
  whole_text: all ${_param} and ${plain}
  through: {first: "${_param}", second: "${through:first:host}", third: {"in": "${through:second}"}}
  again: ["${through}", "${through:third}", "${plain:b}"]
  default_inside: ${_param:extra::fallback}
  default_on_top: ${extra::fallback}
  default_in_plain: ${plain:b:extra::fallback}
  default_of_default: ${_param:other::${_param:extra::fallback}}
  indirect: ${plain:${_param:which::a}}
  others: $[ +IgnoreErrors exports:of:host if exports:of:host != no ]
  stays: {the: same, for: ["${stays:the}", "all"]}
"#,
    ),
];

/// What nodes with these classes say themselves.
const NODES: [&str; 16] = [
    "{}",
    "{}",
    "{_param: {host: a}}",
    "{_param: {host: b}}",
    "{_param: {host: b, extra: given}}",
    "{_param: {host: ~}}",
    "{_param: {host: a, which: b}}",
    "{extra: given}",
    "{plain: {a: 3}}",
    "{plain: {b: {extra: given}}}",
    "{plain: {b: 4}}",
    "{_param: {host: a}, plain: {a: '${_param:host}'}}",
    "{_param: {host: a}, overwritten: own}",
    "{_param: {host: a}, ~merged: own}",
    "{_param: {host: a}, through: {first: {host: own}}}",
    "{_param: {host: '${missing}'}}",
];

/// Those of them that do not render.
const FAILING: [&str; 2] = ["{plain: {b: 4}}", "{_param: {host: '${missing}'}}"];

#[test]
fn what_a_node_has_a_say_in_is_its_own() {
    for warnings in [false, true] {
        // All pairs, as the first one to be asked settles what others rely on.
        for first in NODES {
            for second in NODES {
                let folder = inventory::folder();
                let mut settings = inventory::Inventory::default();
                settings.settings.insert("verbose_warnings".into(), warnings.into());
                settings.write(folder.path()).unwrap();
                for (name, text) in CLASSES {
                    std::fs::write(folder.path().join(format!("classes/{name}.yml")), text).unwrap();
                }
                for (number, own) in [first, second, second].iter().enumerate() {
                    let text = format!("{{classes: [first, second], parameters: {own}}}");
                    std::fs::write(folder.path().join(format!("nodes/n{number}.yml")), text).unwrap();
                }
                let [answers, values, warned] =
                    compare_in(folder.path(), &settings, &format!("{first} and {second}"));
                assert_eq!(answers, 3);
                if ![first, second].iter().any(|own| FAILING.contains(own)) {
                    assert_eq!((values, warned), (3, 3), "{first} and {second}");
                }
            }
        }
    }
}
