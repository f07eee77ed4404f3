//! Lists turn an inventory into what is in it, and into the way back: which nodes have a class, an
//! application, a parameter or a file, and what refers to a parameter.

mod choice;
mod names;
mod nodes;
mod parameters;
mod references;
mod unmatched;

use crate::base::error::Result;
use crate::base::value::{Map, Text, Value};

pub use names::{NameRow, applications, classes};
pub use nodes::{NodeFilter, NodeRow, nodes};
pub(crate) use parameters::leaves;
pub use parameters::{ParameterRow, parameters};
pub use references::{Bearing, ReferenceRow, references};
pub use unmatched::{What, unmatched};

/// What the lists are made of.
pub type Rows<T> = Result<Vec<T>>;

fn texts<'t>(names: impl IntoIterator<Item = &'t Text>) -> Value {
    Value::list(names.into_iter().cloned().map(Value::Str).collect())
}

fn row(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map>())
}
