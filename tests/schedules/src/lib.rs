//! Models of what the engine's threads share: each thread may be held up at each lock, in orders that
//! Shuttle chooses. `tests/engine/schedules.rs` runs them.
//!
//! The sources are those of the engine, compiled once more with locks that Shuttle schedules in the
//! place of those of the standard library and `once_cell`: a crate of its own, since these names hold in a whole crate.
#![allow(dead_code, reason = "the sources are there for the engine, which uses all of them")]
#![allow(missing_docs, reason = "read by tests alone")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(
    clippy::missing_panics_doc,
    clippy::new_without_default,
    clippy::unnecessary_wraps,
    reason = "a stand-in looks like what it stands for"
)]

// What `std` and `once_cell` stand for in this crate.
extern crate reclass_base as real_base;
extern crate self as once_cell;
extern crate self as reclass_base;
extern crate self as std;
extern crate std as real;

pub mod layers;
pub mod processes;
pub mod sequences;
mod stand_ins;

#[path = "../../../crates/base/src/keys.rs"]
pub mod keys;
#[path = "../../../crates/base/src/lock.rs"]
pub mod lock;
#[path = "../../../src/engine/prefix.rs"]
pub mod prefix;
#[path = "../../../crates/serve/src/registry.rs"]
mod registry;
#[path = "../../../src/engine/sequence.rs"]
mod sequence;
#[path = "../../../crates/base/src/table.rs"]
pub mod table;

/// What the sources know the engine's modules by.
mod engine {
    pub use crate::prefix;
    pub use reclass::internals::engine::{counts, files};
}

/// The same for the crate that serves.
mod served {
    pub use crate::processes::Served;
}
mod rule {
    pub use crate::processes::Asker;
}

// The same for the lowest crate.
pub use real_base::{error, failpoints, source, value};

use std::sync::Arc;

use reclass::internals::model::layer;
use reclass::internals::{evaluate, model};
use reclass::parts::model::{MapSlot, Slot};
use source::{FileId, Origin};
use value::{Key, Value};

pub use real::{fmt, hash, iter, marker, mem, ops, ptr, slice, thread, vec};
pub use stand_ins::{process, race, sync};

/// How many orders are tried of each kind: any, and those with a few changes of thread at the worst
/// places.
const ORDERS: usize = 3000;

/// How many threads there are.
const THREADS: usize = 3;

/// Runs a model in many orders.
fn all_orders(model: fn()) {
    shuttle::check_random(model, ORDERS);
    shuttle::check_pct(model, ORDERS, 3);
}

/// A layer that says one more parameter, and what the layers before it may have said. Each version of
/// its file says something else.
fn layer(number: u32, version: i64) -> Arc<layer::Layer> {
    let origin = Origin { file: FileId(number), node: 0 };
    let value = |value| Slot::Value(Value::Int(value), origin);
    let entries = [
        (Key::from("all"), value(number.into())),
        (Key::from(format!("p{number}").as_str()), value(version)),
    ];
    let said = Arc::new(MapSlot::new(entries.into_iter().collect(), origin, false));
    Arc::new(layer::Layer {
        file: origin.file,
        aliased: false,
        classes: Vec::new(),
        repeated_classes: Vec::new(),
        applications: layer::Applications::default(),
        environment: None,
        parameters: said.clone(),
        exports: said,
        embedded_queries: Vec::new(),
        merge_options: Vec::new(),
        ruled: None,
        warnings: Vec::new(),
    })
}

/// The parameters of a state, in their order.
fn said(state: &MapSlot) -> Vec<(String, String)> {
    let entries = state.entries.iter();
    entries.map(|(key, slot)| (key.as_str().unwrap().to_owned(), format!("{slot:?}"))).collect()
}
