//! Renders a node, and reads its parameters into a type of this program.
//!
//! `cargo run --features serde --example render [FOLDER [NODE]]`
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;

use reclass::value::{Key, Map, Value};
use reclass::{Inventory, Request};
use serde::Deserialize;

/// The parameters that this program needs. Others are ignored.
#[derive(Deserialize, Debug)]
struct Parameters {
    nginx: Nginx,
}

#[derive(Deserialize, Debug)]
struct Nginx {
    workers: u32,
}

/// The inventory beside this file.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/inventory");

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| EXAMPLE.to_owned());
    let node = arguments.next().unwrap_or_else(|| "web1.example.com".to_owned());
    print!("{}", rendered(&folder, &node)?);
    Ok(())
}

fn rendered(folder: &str, node: &str) -> Result<String, Box<dyn Error>> {
    let options = Map::from_iter([(Key::from("inventory_base_uri"), Value::text(folder))]);
    // Keep it: a second answer reads and computes only what has changed.
    let inventory = Inventory::open(&options)?;
    let info = inventory.nodeinfo(node, &Request::default())?;
    let parameters: Parameters = info.parameters_as()?;
    Ok(format!("{}: {} classes, {} workers\n", info.name, info.classes.len(), parameters.nginx.workers))
}

#[cfg(test)]
#[test]
fn the_example_runs() {
    let text = rendered(EXAMPLE, "web1.example.com").expect("an answer");
    assert!(text.starts_with("web1.example.com: ") && text.ends_with(" classes, 4 workers\n"), "{text}");
}
