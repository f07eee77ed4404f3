//! Lists the contents of an inventory, also in reverse: the nodes that have a class, an application, a
//! parameter or a file, and the references to a parameter.

mod choice;
mod names;
mod nodes;
mod parameters;
mod references;
mod unmatched;

use crate::base::error::Result;

pub use names::{NameRow, applications, classes, empty_files};
pub use nodes::{NodeFilter, NodeRow, nodes};
pub(crate) use parameters::leaves;
pub use parameters::{ParameterPlace, ParameterRow, parameters};
pub use references::{Bearing, ReferenceRow, references};
pub use unmatched::{What, unmatched};

/// The rows of a listing.
#[derive(Clone, Debug)]
pub struct ListedRows<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The number of nodes that do not render, so that nothing is known of their classes and parameters.
    pub left_out: usize,
}

/// The result of a listing.
pub type Rows<T> = Result<ListedRows<T>>;
