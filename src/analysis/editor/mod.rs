//! What an editor asks about its text: the thing at a place, and the nodes and classes of the inventory.
//!
//! The server of the editor translates positions and answers; this knows the language. Broken text is normal
//! here, because people are typing.

mod at;
mod names;
mod rename;

pub use at::{
    Item, ItemAt, NameList, Symbol, item_at, list_at, open_reference, outline, queries_in, references_in,
};
pub use names::{ClassFacts, FileFacts, InventoryNames};
pub use rename::{Renaming, edited, rename_class, rename_parameter};
