//! Lists the contents of an inventory, also in reverse: the nodes that have a class, an application, a
//! parameter or a file, and the references to a parameter.

mod choice;
mod names;
mod nodes;
mod parameters;
mod references;
mod unmatched;

pub use super::survey::names_of_nodes;
pub use names::{NameRow, applications, classes, empty_files};
pub use nodes::{ListedRows, NodeFilter, NodeRow, Rows, nodes};
pub use parameters::{ParameterPlace, ParameterRow, parameters};
pub use references::{Bearing, ReferenceRow, queries_of_export, references};
pub use unmatched::{What, unmatched};
