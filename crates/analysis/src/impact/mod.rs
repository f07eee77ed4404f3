//! Names the nodes, values and applications that a change touches, or that a place of a file has a part in.
//!
//! For a place it is asked what another value there would change: the scalars of the place are replaced in
//! memory, and both states are compared as by `reclass diff`. So a value that a later layer replaces counts
//! nowhere, and a value that reads the place through references counts.

mod data;
mod marked;
mod subject;
mod text;

use std::collections::BTreeSet;

use crate::diff::{self, Difference, OwnOptions, Side};
use crate::pillars;
use crate::survey::Survey;
use reclass::Inventory;
use reclass_base::error::{Error, Result};
use reclass_base::value::{Map, Text};

pub use data::{BrokenNodes, Impact};
pub use subject::ImpactSubject;
pub use text::{markdown, text};

/// The impact of the difference between two states, named as for [`diff::diff`], and the difference.
pub fn of_states(
    options: &Map,
    own: Option<&OwnOptions<'_>>,
    states: (&str, &str),
    nodes: &[String],
    show_secrets: bool,
) -> Result<(Impact, Difference)> {
    let (old, new) = diff::sides(options, own, states, "impact")?;
    let difference = diff::between(&old, &new, states, nodes, show_secrets, own.is_some())?;
    Ok((Impact::of(&difference, without_pillar(&new, &difference)?, |_| true), difference))
}

/// The nodes that differ and render, and have no pillar all the same: Salt or a schema refuses a value.
fn without_pillar(new: &Side, difference: &Difference) -> Result<Vec<(Text, Error)>> {
    let changed = difference.changes.iter().flat_map(|change| &change.nodes);
    let of_schemas = difference.schemas_broken.iter().flat_map(|finding| &finding.nodes);
    let names: BTreeSet<Text> = changed.chain(of_schemas).chain(&difference.added).cloned().collect();
    let fails = |name: &Text| difference.unrendered.iter().any(|one| one.node == *name);
    let names: Vec<Text> = names.into_iter().filter(|name| !fails(name)).collect();
    let errors = pillars::errors_of(&new.inventory, &names)?;
    Ok(names.into_iter().zip(errors).filter_map(|(name, error)| Some((name, error?))).collect())
}

/// The impact of a subject on the inventory as it is, or else of the difference of two states.
pub fn impact(options: &Map, old: &str, new: &str, nodes: &[String]) -> Result<Impact> {
    let subject = match ImpactSubject::parse(old) {
        Some(subject) => subject,
        // An impact has no values, so none has to be hidden.
        None => match of_states(options, None, (old, new), nodes, true) {
            Ok((impact, _)) => return Ok(impact),
            Err(error) => ImpactSubject::named(&Inventory::open(options)?, old, error)?,
        },
    };
    of_subject(options, &subject, nodes)
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
    let counts = |node: &Text| found.only.as_ref().is_none_or(|only| only.contains(node));
    let mut impact = Impact::of(&difference, Vec::new(), counts);
    impact.of_subject(name, found.users, nodes);
    Ok(impact)
}
