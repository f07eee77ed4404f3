//! Renders all nodes of an inventory in this process, and prints how long it took: the engine
//! alone, without text or Python objects of the answers.
//!
//! Arguments: the folder of the inventory, the number of threads, how often. Each time is one line,
//! in seconds, of an inventory that is opened anew.

use std::error::Error;
use std::io::Write;
use std::time::Instant;

use reclass::Inventory;
use reclass::value::{Map, Value};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (Some(folder), Some(threads), Some(rounds)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: render FOLDER THREADS ROUNDS".into());
    };
    let options = Map::from_iter([
        ("inventory_base_uri".into(), Value::text(folder)),
        ("threads".into(), Value::Int(threads.parse()?)),
        ("cache".into(), Value::text("stat")),
        ("cache_size".into(), Value::Int(4096)),
    ]);
    for _ in 0..rounds.parse()? {
        let start = Instant::now();
        let inventory = Inventory::open(&options).map_err(|error| error.to_string())?;
        let nodes = inventory.inventory().map_err(|error| error.to_string())?;
        writeln!(std::io::stdout(), "{:.6} {}", start.elapsed().as_secs_f64(), nodes.len())?;
    }
    Ok(())
}
