//! Shrinking turns an inventory that shows something into a small one that still does.

use support::inventory::{Inventory, Node};

/// Makes an inventory smaller as long as `shows` holds.
pub fn shrink(mut inventory: Inventory, shows: &mut dyn FnMut(&Inventory) -> bool) -> Inventory {
    loop {
        let mut smaller = false;
        let mut at = 0;
        // Candidates are made anew after each success: what follows an index stays valid enough.
        while let Some(candidate) = candidate(&inventory, at) {
            if candidate != inventory && shows(&candidate) {
                inventory = candidate;
                smaller = true;
            } else {
                at += 1;
            }
        }
        if !smaller {
            return inventory;
        }
    }
}

/// The candidate with this number: without a file, without a setting, with a smaller document.
fn candidate(inventory: &Inventory, number: usize) -> Option<Inventory> {
    let mut left = number;
    if let Some(name) = inventory.files.keys().nth(left) {
        let mut fewer = inventory.clone();
        fewer.files.remove(&name.clone());
        return Some(fewer);
    }
    left -= inventory.files.len();
    if let Some(name) = inventory.settings.keys().nth(left) {
        let mut fewer = inventory.clone();
        fewer.settings.remove(&name.clone());
        return Some(fewer);
    }
    left -= inventory.settings.len();
    for (name, document) in &inventory.files {
        let smaller = smaller(document);
        if let Some(node) = smaller.get(left) {
            let mut fewer = inventory.clone();
            fewer.files.insert(name.clone(), node.clone());
            return Some(fewer);
        }
        left -= smaller.len();
    }
    None
}

/// All ways to make a node smaller by one step.
fn smaller(node: &Node) -> Vec<Node> {
    let mut all = Vec::new();
    match node {
        Node::Raw(text) => {
            if text != "1" && text != "null" {
                all.push(Node::Raw("1".into()));
            }
        }
        Node::Text(text) => {
            if text != "x" {
                all.push(Node::text("x"));
            }
            // Half a query is another query.
            if text.contains("$[") || text.contains("$(") {
                return all;
            }
            let chars: Vec<char> = text.chars().collect();
            for length in [chars.len() / 2, 4, 2, 1] {
                if length == 0 || length >= chars.len() {
                    continue;
                }
                for start in (0..chars.len()).step_by(length) {
                    let rest = chars[..start].iter().chain(chars.iter().skip(start + length));
                    let rest: String = rest.collect();
                    // A doubled delimiter has a meaning of its own here (R7).
                    if !rest.is_empty() && !rest.contains("::") {
                        all.push(Node::Text(rest));
                    }
                }
            }
        }
        Node::List(items) => {
            for index in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(index);
                all.push(Node::List(fewer));
            }
            for (index, item) in items.iter().enumerate() {
                for smaller in smaller(item).into_iter().chain(simple(item)) {
                    let mut changed = items.clone();
                    changed[index] = smaller;
                    all.push(Node::List(changed));
                }
            }
        }
        Node::Map(entries) => {
            for index in 0..entries.len() {
                let mut fewer = entries.clone();
                fewer.remove(index);
                all.push(Node::Map(fewer));
            }
            for (index, (key, value)) in entries.iter().enumerate() {
                for smaller in smaller(value).into_iter().chain(simple(value)) {
                    let mut changed = entries.clone();
                    changed[index] = (key.clone(), smaller);
                    all.push(Node::Map(changed));
                }
            }
        }
        Node::Anchored(name, inner) => {
            all.push((**inner).clone());
            all.extend(smaller(inner).into_iter().map(|node| Node::Anchored(name.clone(), Box::new(node))));
        }
    }
    all
}

/// A container as its parts, or as a number.
fn simple(node: &Node) -> Vec<Node> {
    match node {
        Node::List(items) => items.iter().take(1).cloned().chain([Node::Raw("1".into())]).collect(),
        Node::Map(entries) => {
            entries.iter().take(1).map(|(_, value)| value.clone()).chain([Node::Raw("1".into())]).collect()
        }
        _ => Vec::new(),
    }
}
