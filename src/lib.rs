//! reclass: a tree of YAML files becomes one value per node.
//!
//! Nodes and classes are merged depth first into classes, applications, parameters, exports and an
//! environment, with `${references}` and `$[inventory queries]`. `docs/semantics.md` says what an
//! inventory means, `docs/design.md` how the crate works, `docs/rust.md` how other programs use it:
//!
//! ```
//! use reclass::value::{Key, Map, Value};
//! use reclass::{Inventory, Request};
//!
//! let options = Map::from_iter([(Key::from("inventory_base_uri"), Value::text("examples/inventory"))]);
//! let inventory = Inventory::open(&options)?;
//! let node = inventory.nodeinfo("web1.example.com", &Request::default())?;
//! assert_eq!(&*node.classes[0], "site");
//! # Ok::<_, reclass::Error>(())
//! ```
//!
//! Two crates lie below it: `reclass_base` holds values, errors, settings, source positions, names and paths, and
//! `reclass_yaml` turns text into nodes with positions, and values into text, as `PyYAML` does. It has five rooms, and a
//! room never uses a higher one. From the lowest to the highest:
//!
//! | room | turns |
//! |---|---|
//! | `storage` | the places that settings name into bytes: files and git |
//! | `model` | one file into a layer: slots, references and queries as syntax; two layers into one |
//! | `evaluate` | the merged layers of a node into final values |
//! | `engine` | an inventory into answers, and keeps those that still hold |
//! | `output` | answers and errors into what leaves the process |
//!
//! The facade, this file, is for programs. The crates that analyse, edit and serve inventories use [`parts`] too.
//!
//! Invariants: an [`Inventory`] is one state, and an answer is of one state. An answer is complete, or it is an error. It
//! is the same whether it is computed from scratch or after an edit. Only `storage` touches files. No input makes the
//! library panic, hang, or recurse without a limit.
//!
//! Read first: `engine/question.rs` (the life of a question), `engine/node.rs` (how a node is computed), `model/layer.rs`.

// The examples on the page for users of the library are tested too.
#![cfg_attr(doctest, doc = include_str!("../docs/rust.md"))]

// The playground has no system: there, these names are those of calls that fail.
#[cfg(not(unix))]
extern crate closed as rustix;
#[cfg(not(unix))]
extern crate closed as stacker;

mod engine;
mod evaluate;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod model;
mod output;
pub mod parts;
mod storage;

pub use engine::Inventory;
pub use engine::answer::{NodeInfo, Request, inventory_value};
pub use engine::builder::InventoryBuilder;
pub use engine::fetch_state::FetchState;
pub use engine::sources::{ServedState, SourceState};
pub use engine::top::Top;
pub use model::configuration;
pub use output::report::Finding;
#[cfg(feature = "serde")]
pub use output::typed::UnfitParameter;
pub use output::{brief, redact, report, style};
pub use reclass_base::error::Error;
pub use reclass_base::settings::Settings;
pub use reclass_base::value::Value;
pub use reclass_base::{error, json, pystr, settings, source, value};

/// Text forms of values.
pub mod formats {
    pub use reclass_yaml::compose::{Data, Entry, Node};
    pub use reclass_yaml::emit::{EmitOptions, emit, write as write_yaml};
}
