//! Lists turn an inventory into what is in it, and into the way back: which nodes have a class, an
//! application, a parameter or a file, and what refers to a parameter.

mod choice;
mod names;
mod nodes;
mod parameters;
mod references;
mod unmatched;

use crate::base::error::Result;

pub use names::{NameRow, applications, classes};
pub use nodes::{NodeFilter, NodeRow, nodes};
pub(crate) use parameters::leaves;
pub use parameters::{ParameterPlace, ParameterRow, parameters};
pub use references::{Bearing, ReferenceRow, references};
pub use unmatched::{What, unmatched};

/// What the lists are made of.
pub type Rows<T> = Result<Vec<T>>;
