//! Names the nodes, values and applications that a change touches, or that a place of a file has a part in.
//!
//! For a place it is asked what another value there would change: the scalars of the place are replaced in
//! memory, and both states are compared as by `reclass diff`. So a value that a later layer replaces counts
//! nowhere, and a value that reads the place through references counts.

mod data;
mod marked;
mod subject;
mod text;

use crate::diff::{self, OwnOptions, Side};
use crate::survey::Survey;
use reclass_base::error::Result;
use reclass_base::value::Map;

pub use data::{BrokenNodes, Impact};
pub use subject::ImpactSubject;
pub use text::{markdown, text};

/// What differs between two states, named as for [`diff::diff`].
pub fn of_states(
    options: &Map,
    own: Option<&OwnOptions<'_>>,
    states: (&str, &str),
    nodes: &[String],
) -> Result<Impact> {
    let difference = diff::diff(options, own, states, nodes, true)?;
    Ok(Impact::of(&difference, |_| true))
}

/// The impact of a subject on the inventory as it is, or else of the difference of two states.
pub fn impact(options: &Map, old: &str, new: &str, nodes: &[String]) -> Result<Impact> {
    match ImpactSubject::parse(old) {
        Some(subject) => of_subject(options, &subject, nodes),
        None => of_states(options, None, (old, new), nodes),
    }
}

/// What a place or a name has a part in. A name that nothing has is an error.
pub fn of_subject(options: &Map, subject: &ImpactSubject, nodes: &[String]) -> Result<Impact> {
    let (old, new) = (Side::open(options, ".", None)?, Side::open(options, ".", None)?);
    let found = subject.find(&old.inventory)?;
    // The trees of repositories take their texts when they are listed.
    new.inventory.inspect(|computation| {
        if !computation.inputs.trees.is_empty() {
            Survey::of(computation);
        }
    })?;
    for (path, text) in &found.texts {
        new.inventory.set_buffer(path.as_ref(), Some(text));
    }
    let name = subject.to_string();
    let difference = diff::between(&old, &new, (".", &name), nodes, true, false)?;
    let mut impact =
        Impact::of(&difference, |node| found.only.as_ref().is_none_or(|only| only.contains(node)));
    impact.of_subject(name, found.users, nodes);
    Ok(impact)
}
