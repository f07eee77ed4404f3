//! What an inventory serves: its state, and the nodes that have no pillar.

use std::fmt::Write as _;

use serde::Serialize;

use crate::analysis::diff::Renderer;
use crate::analysis::effect::not_carried;
use crate::analysis::schema::Schemas;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::progress::WorkUnit;
use crate::base::value::Text;
use crate::base::words::count;
use crate::engine::Inventory;
use crate::engine::sources::ServedState;

/// Maximum number of failing nodes that are named; the others are counted.
const NAMED: usize = 10;

/// What an inventory serves, as in `--output json`. `docs/fleet.md` describes it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    #[serde(flatten)]
    pub state: ServedState,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of nodes that have no pillar.
    pub failing: usize,
    /// The first of these.
    pub failing_nodes: Vec<Text>,
    /// The version of the engine.
    pub engine: &'static str,
}

/// What an inventory serves. Renders every node.
pub fn status(inventory: &Inventory) -> Result<Status> {
    let state = inventory.served_state()?;
    let refuses = &*inventory.settings().schema_check == "error";
    let schemas = if refuses { Schemas::of(inventory)? } else { None };
    let (nodes, failing) = inventory.inspect(|computation| {
        let names: Vec<&Text> = computation.catalog.nodes.keys().collect();
        let context = computation.context();
        let have_pillars = parallel::each_counted(
            WorkUnit::Nodes,
            computation.settings.threads,
            &names,
            || Renderer::new(context.computation()),
            |renderer, name| {
                renderer.render(name).and_then(Result::ok).is_some_and(|info| {
                    not_carried(renderer, &info).is_none()
                        && !schemas.as_ref().is_some_and(|schemas| schemas.check(&info).is_refused())
                })
            },
            |_| false,
        );
        let failing = names.iter().zip(have_pillars).filter(|(_, has_pillar)| !has_pillar);
        (names.len(), failing.map(|(name, _)| (*name).clone()).collect::<Vec<Text>>())
    })?;
    let failing_nodes = failing.iter().take(NAMED).cloned().collect();
    Ok(Status { state, nodes, failing: failing.len(), failing_nodes, engine: env!("CARGO_PKG_VERSION") })
}

/// The text of a status.
pub fn text(status: &Status) -> String {
    let since = status.state.since.as_ref().map_or_else(String::new, |since| format!(" since {since}"));
    let mut out = format!("revision {}{since}\n", status.state.revision);
    for source in &status.state.sources {
        let mut about: Vec<String> =
            source.commits.iter().map(|(branch, commit)| format!("{commit} of {branch}")).collect();
        about.extend(source.fingerprint.iter().map(|fingerprint| match source.clean {
            Some(_) => format!("changed files, fingerprint {fingerprint}"),
            None => format!("fingerprint {fingerprint}"),
        }));
        about.extend(source.fetched.iter().map(|fetched| format!("fetched {fetched}")));
        about.extend(source.failed.iter().map(|failed| format!("last failure {failed}")));
        let _ = writeln!(out, "{}: {}", crate::base::error::inert(&source.source), about.join(", "));
        if let Some(stale) = &source.stale {
            let _ = writeln!(out, "  stale: {stale}");
        }
    }
    let names = status.failing_nodes.iter().map(|name| &**name).collect::<Vec<_>>().join(", ");
    let more = status.failing.saturating_sub(status.failing_nodes.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names = if names.is_empty() { names } else { format!(": {names}{more}") };
    let verb = if status.failing == 1 { "fails" } else { "fail" };
    let _ = writeln!(out, "{}, {} {verb}{names}", count(status.nodes, "node"), status.failing);
    let _ = write!(out, "engine {}", status.engine);
    out
}
