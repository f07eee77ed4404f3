//! Prints the steps that lead to a value, each with its place.
//!
//! `cargo run --example explain [FOLDER [NODE [PATH]]]`
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use reclass::value::{Key, Map, Value};
use reclass::{Error, Inventory, Request};
use reclass_analysis::explain::{Explanation, Selection, explain};

/// The inventory beside this file.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/inventory");

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |default: &str| arguments.next().unwrap_or_else(|| default.to_owned());
    let (folder, node, path) = (next(EXAMPLE), next("web1.example.com"), next("nginx:workers"));
    print!("{}", explained(&folder, &node, &path)?);
    Ok(())
}

fn explained(folder: &str, node: &str, path: &str) -> Result<String, Error> {
    let options = Map::from_iter([(Key::from("inventory_base_uri"), Value::text(folder))]);
    let inventory = Inventory::open(&options)?;
    let selection = Selection { parameters: vec![path.to_owned()], ..Selection::default() };
    let explanation: Explanation = explain(&inventory, node, &Request::default(), &selection)?;
    // As JSON, in the form of `reclass explain --output json`.
    Ok(reclass::report::to_json(&explanation))
}

#[cfg(test)]
#[test]
fn the_example_runs() {
    let text = explained(EXAMPLE, "web1.example.com", "nginx:workers").expect("an explanation");
    assert!(text.contains("web1.example.com.yml") && text.contains("\"line\": 9"), "{text}");
}
