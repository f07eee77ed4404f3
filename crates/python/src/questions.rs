//! Questions turn the keyword arguments of `explain`, `lint`, `diff` and the listings into what the
//! engine is asked, and its answers into plain data.

use reclass::Computation;
use reclass::diff::diff;
use reclass::error::{Error, Result};
use reclass::explain::{Selection, explain};
use reclass::lint::lint;
use reclass::list::{self, NodeFilter};
use reclass::redact::Redaction;
use reclass::report::findings_value;
use reclass::value::{Map, Text, Value};
use reclass::{Inventory, Request};

/// What `reclass explain -o json` prints.
pub fn explanation(
    inventory: &Inventory,
    node: &str,
    mut selection: Selection,
    environment: Option<&str>,
    show_secrets: bool,
) -> Result<Value> {
    let request =
        Request { environment: environment.map(Text::from), force_environment: true, input_data: None };
    selection.redaction = redaction(inventory, show_secrets);
    let explanation = explain(inventory, node, &request, &selection)?;
    if !explanation.missing.is_empty() {
        return Err(Error::new(explanation.missing));
    }
    Ok(explanation.to_value(&inventory.settings().delimiter, &selection.redaction))
}

/// What `reclass lint -o json --level info` prints.
pub fn findings(options: &Map, nodes: &[String]) -> Result<Value> {
    Ok(findings_value(&lint(options, nodes, &())?))
}

/// What `reclass diff -o json` prints.
pub fn difference(
    inventory: &Inventory,
    options: &Map,
    names: (&str, &str),
    nodes: &[String],
    show_secrets: bool,
) -> Result<Value> {
    let difference = diff(options, None, names, nodes, show_secrets)?;
    Ok(difference.to_value(&inventory.settings().delimiter))
}

/// What `reclass params -o json` prints.
pub fn parameters(
    inventory: &Inventory,
    paths: &[String],
    nodes: &[String],
    show_secrets: bool,
) -> Result<Value> {
    let redaction = redaction(inventory, show_secrets);
    let delimiter = &inventory.settings().delimiter;
    let filter = NodeFilter { names: nodes.to_vec(), ..NodeFilter::default() };
    let rows = list::parameters(inventory, paths, &filter, &redaction)?;
    Ok(Value::list(rows.iter().map(|row| row.to_value(delimiter)).collect()))
}

/// Hides the secrets in an answer.
fn redaction(inventory: &Inventory, show: bool) -> Redaction {
    if show { Redaction::none() } else { Redaction::of(inventory.settings()) }
}

/// The names of all nodes.
pub fn names(inventory: &Inventory) -> Result<Value> {
    let names =
        |computation: &Computation<'_>| computation.catalog.nodes.keys().cloned().map(Value::Str).collect();
    Ok(Value::list(inventory.inspect(names)?))
}

/// The nodes that pass a filter, by name.
pub fn nodes(inventory: &Inventory, filter: &NodeFilter) -> Result<Value> {
    let rows = list::nodes(inventory, filter)?;
    Ok(Value::list(rows.into_iter().map(|row| Value::Str(row.name)).collect()))
}

/// What `reclass classes -o json` prints.
pub fn classes(inventory: &Inventory, globs: &[String]) -> Result<Value> {
    Ok(Value::list(
        list::classes(inventory, globs, &NodeFilter::default())?
            .iter()
            .map(list::NameRow::to_value)
            .collect(),
    ))
}

/// What `reclass applications -o json` prints.
pub fn applications(inventory: &Inventory, globs: &[String]) -> Result<Value> {
    Ok(Value::list(
        list::applications(inventory, globs, &NodeFilter::default())?
            .iter()
            .map(list::NameRow::to_value)
            .collect(),
    ))
}

/// What `reclass refs -o json` prints.
pub fn references(inventory: &Inventory, paths: &[String]) -> Result<Value> {
    let rows = list::references(inventory, paths, &NodeFilter::default())?;
    Ok(Value::list(rows.iter().map(list::ReferenceRow::to_value).collect()))
}
