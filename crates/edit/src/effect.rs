//! What an edit does to the nodes: how many change, and which break.
//!
//! Only the nodes that the edit can touch are rendered, with the input as it is and as it would be. If their
//! exports change, all nodes are, because queries may ask for them.

use std::collections::BTreeSet;
use std::sync::Arc;

use reclass::parts::engine::{Computation, Dependencies, Sequence, StepAdditions};
use reclass::parts::storage::Overlay;
use reclass::{InventoryBuilder, NodeInfo};
use reclass_analysis::diff::{Renderer, differ};
use reclass_analysis::pillars::PillarCheck;
use reclass_base::error::{Error, Fault, Result};
use reclass_base::parallel::each;
use reclass_base::secrets::Secrets;
use reclass_base::settings::Settings;
use reclass_base::value::{Text, Value};

/// What an edit does to the nodes.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct EditEffect {
    /// The nodes that were rendered.
    pub rendered: usize,
    /// The number of nodes that change, appear or disappear.
    pub changed: usize,
    /// The first fault of each node that has an answer now, or is new, and would have none.
    pub broken: Vec<Fault>,
}

/// The nodes that an edit can touch.
#[derive(Clone, Copy, Debug)]
pub enum Touched<'a> {
    /// A node.
    Node(&'a str),
    /// The nodes that have a class, or ask for it.
    OfClass(&'a str),
}

/// The effect of an input in another state. `None` if the inventory gives no answer for any node as it is.
pub fn effect(settings: &Settings, overlay: &Overlay, touched: Touched<'_>) -> Result<Option<EditEffect>> {
    // Nothing is asked again.
    let uncached = Settings { cache: "off".into(), ..settings.clone() };
    let old = InventoryBuilder::of_settings(Arc::new(uncached)).open();
    // Nothing that renders now can break.
    let Some(old) = old.ok().filter(|old| old.nodes().is_ok()) else { return Ok(None) };
    let effect = old.inspect(|before| {
        let (names, _kept) = match touched {
            Touched::Node(name) => (vec![name.into()], Vec::new()),
            Touched::OfClass(class) => nodes_of(before, class),
        };
        // Files are read once for both states.
        let now = InventoryBuilder::of_settings(Arc::new(before.settings.clone()));
        now.files_of(before.inputs).overlay(overlay.clone()).open()?.inspect(|now| {
            let mut found = render(before, now, &names)?;
            if found.iter().any(|node| node.exports_differ) {
                let all = before.catalog.nodes.keys().chain(now.catalog.nodes.keys());
                let all: BTreeSet<Text> = all.cloned().collect();
                found = render(before, now, &all.into_iter().collect::<Vec<_>>())?;
            }
            let changed = found.iter().filter(|node| node.changed).count();
            let rendered = found.len();
            let broken = found.into_iter().filter_map(|node| node.broken).collect();
            Ok::<_, Error>(EditEffect { rendered, changed, broken })
        })?
    })??;
    Ok(Some(effect))
}

/// The names of the nodes that have a class or ask for it, and what their classes add, which is computed once as long
/// as it is kept. A node whose classes cannot be ordered may have any class.
fn nodes_of(before: &Computation<'_>, class: &str) -> (Vec<Text>, Vec<Arc<Sequence>>) {
    // A pattern may match a class that appears.
    let asks = |all: &Dependencies| {
        !all.patterns.is_empty() || all.classes.iter().any(|asked| *asked.name == *class)
    };
    let adds = |step: &StepAdditions| {
        asks(&step.dependencies) || step.included.iter().any(|one| *one.name == *class)
    };
    let context = before.context();
    let names: Vec<Text> = before.catalog.nodes.keys().cloned().collect();
    let sequences = each(
        before.settings.threads,
        &names,
        || Renderer::new(context.computation()),
        |renderer, name| {
            let (layers, own) = renderer.layers_with_inputs(name);
            let sequence = layers.ok().map(|layers| layers.linearization.sequence);
            let has = |it: &Arc<Sequence>| asks(&own) || it.steps().iter().any(|step| adds(&step.added));
            sequence.as_ref().is_none_or(has).then_some(sequence)
        },
        |_| false,
    );
    let found = names.into_iter().zip(sequences).filter_map(|(name, sequence)| Some((name, sequence?)));
    let (names, kept): (Vec<_>, Vec<_>) = found.unzip();
    (names, kept.into_iter().flatten().collect())
}

/// What happens to one node.
struct NodeEffect {
    changed: bool,
    exports_differ: bool,
    broken: Option<Fault>,
}

fn render(before: &Computation<'_>, now: &Computation<'_>, names: &[Text]) -> Result<Vec<NodeEffect>> {
    let (old, new) = (before.context(), now.context());
    let checks = (PillarCheck::of(before)?, PillarCheck::of(now)?);
    let secrets = Secrets::of(now.settings);
    let found = each(
        now.settings.threads,
        names,
        || (Renderer::new(old.computation()), Renderer::new(new.computation())),
        |(old, new), name| {
            let mut effect = node(old, new, name, &checks);
            if let Some(fault) = &mut effect.broken {
                fault.redact_query(&secrets, new.delimiter());
            }
            effect
        },
        |_| false,
    );
    Ok(found)
}

fn node(
    old: &Renderer<'_>,
    new: &Renderer<'_>,
    name: &Text,
    (old_check, new_check): &(PillarCheck, PillarCheck),
) -> NodeEffect {
    let (before, now) = (old.render(name), new.render(name));
    let exports_differ = exports(before.as_ref()) != exports(now.as_ref());
    let changed = match (&before, &now) {
        (Some(Ok(before)), Some(Ok(now))) => differ(before, now),
        (Some(Err(_)), Some(Err(_))) | (None, None) => false,
        _ => true,
    };
    let error = match now {
        Some(Ok(now)) => new_check.fault(new, &now),
        Some(Err(error)) => Some(error),
        None => None,
    };
    let had_pillar = || match &before {
        Some(Ok(before)) => old_check.fault(old, before).is_none(),
        Some(Err(_)) => false,
        None => true,
    };
    let broken = error.filter(|_| had_pillar()).and_then(|error| error.into_faults().into_iter().next());
    NodeEffect { changed, exports_differ, broken }
}

/// What queries of other nodes see of an answer.
fn exports(answer: Option<&Result<NodeInfo>>) -> Option<(&Value, &Value)> {
    let info = answer?.as_ref().ok()?;
    info.exports.as_map().is_some_and(|map| !map.is_empty()).then_some((&info.exports, &info.environment))
}
