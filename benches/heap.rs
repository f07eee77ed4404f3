//! Renders all nodes of an inventory, keeps the answers as the Python module does, and ends: what is on
//! the heap then is what `make bench` breaks down by its kind. Like the module it has the allocator of the
//! system, which valgrind can follow.
//!
//! Argument: the folder of the inventory.

use std::error::Error;

use reclass::value::{Map, Value};
use reclass::{Inventory, Request};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let Some(folder) = arguments.next() else { return Err("usage: heap FOLDER".into()) };
    let options = Map::from_iter([("inventory_base_uri".into(), Value::text(folder))]);
    let inventory = Inventory::open(&options).map_err(|error| error.to_string())?;
    for node in inventory.nodes().map_err(|error| error.to_string())? {
        inventory.nodeinfo(&node, &Request::default()).map_err(|error| error.to_string())?;
    }
    // Everything is still on the heap at the end.
    std::mem::forget(inventory);
    Ok(())
}
