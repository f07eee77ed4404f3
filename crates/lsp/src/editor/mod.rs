//! What an editor asks about its text: the thing at a place, and the nodes and classes of the inventory.
//!
//! The server of the editor translates positions and answers; this knows the language. Broken text is normal
//! here, because people are typing.

mod at;
mod keys;
mod names;
mod overrides;
mod values;

pub use at::{
    Item, ItemAt, NameList, Symbol, item_at, keys_in, list_at, open_query, open_reference, outline,
    queries_in, references_in,
};
pub use keys::{KeyPlace, KnownKey, key_place_at, schema_keys};
pub use names::{InventoryNames, search_node};
pub use values::shown_parameters;
