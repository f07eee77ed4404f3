//! What an editor asks about its text: the thing at a place, and the nodes and classes of the inventory.
//!
//! The server of the editor translates positions and answers; this knows the language. Broken text is normal
//! here, because people are typing.

mod at;
mod keys;
mod names;
mod overrides;
mod rename;
mod values;

pub use at::{
    Item, ItemAt, NameList, Symbol, item_at, keys_in, list_at, open_query, open_reference, outline,
    queries_in, references_in,
};
pub use keys::{KeyPlace, KnownKey, key_place_at, schema_keys};
pub use names::{ClassFacts, FileFacts, InventoryNames, search_node};
pub use overrides::OverriddenKey;
pub use rename::same_values;
pub use rename::{Renaming, edited, rename_class, rename_parameter};
pub use values::shown_parameters;
