//! Explains where the value at a path comes from: file, line and column, how the file was included, the
//! values that were replaced or merged, and what each reference found.
//!
//! Nothing is computed by a second implementation. The maps of all layers are folded as one stack by the evaluator,
//! which reports the effect of each layer (`steps`). The written form is read from the layer itself.

mod absent;
mod budget;
mod context;
mod cover;
mod data;
mod explainer;
mod leaves;
mod matching;
mod parts;
mod place;
mod references;
mod steps;
mod text;

use rustc_hash::FxHashSet;

use crate::schema::Schemas;
use budget::Budget;
use reclass::parts::engine::{Computation, Layers, NodeRequest, OtherNodes};
use reclass::redact::Redaction;
use reclass::{Inventory, NodeInfo, Request};
use reclass_base::error::{Fault, Kind, Result};
use reclass_base::pattern::{Glob, PathPattern, is_wild};
use reclass_base::secrets::Secrets;
use reclass_base::similar;
use reclass_base::value::{Key, Text};

pub use crate::schema::Description;
pub use absent::set_elsewhere;
pub use context::environment;
use cover::TraceCover;
pub use cover::{ValueAt, all_shown, shown};
pub use data::Leaf;
pub use data::{
    ApplicationStep, ApplicationTrace, ClassListing, ClassTrace, EnvironmentTrace, Explanation, ItemTrace,
    MergeOptionTrace, QueryAnswer, ReferencePlace, ReferenceTrace, Step, ValuePart, ValuePlace, ValueTrace,
};
use explainer::Explainer;
pub use explainer::{
    Wanted, WantedPlaces, effects, has_parameter, places, referenced, traces, values_without,
};
pub use leaves::{ExplainedLeaf, ExplainedLeaves, leaves};
pub use parts::default_layer;
pub use place::ValuePlaces;
pub use reclass::parts::evaluate::{Effect, ItemEffect};
pub use steps::LayerStep;
pub use text::explanation as to_text;

/// The items to explain. An empty selection means everything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Paths of parameters, `linux:system:name`. Keys may be globs; `**` matches any number of keys.
    pub parameters: Vec<String>,
    /// Paths of exports.
    pub exports: Vec<String>,
    /// Globs of classes.
    pub classes: Vec<String>,
    /// Globs of applications.
    pub applications: Vec<String>,
    /// The environment.
    pub environment: bool,
    /// All parameters at once, leaf by leaf.
    pub values: bool,
    /// Hides secrets; none by default.
    pub redaction: Redaction,
}

impl Selection {
    /// Whether the selection is empty.
    pub fn is_everything(&self) -> bool {
        self.parameters.is_empty()
            && self.exports.is_empty()
            && self.classes.is_empty()
            && self.applications.is_empty()
            && !self.environment
            && !self.values
    }
}

/// Explains a node. An unknown path, class or application is a fault that names a similar one; it is an error
/// if nothing else was requested. A glob without a match explains nothing.
pub fn explain(
    inventory: &Inventory,
    node: &str,
    request: &Request,
    selection: &Selection,
) -> Result<Explanation> {
    inspect_node(inventory, node, request, |computation, request| {
        let layers = computation.layers_or_all_faults(request)?;
        explain_layers(computation, &layers, request.environment, selection)?.found()
    })
}

/// Explains a node, and answers for it in the same state of the inventory. A whole node that fails is the error of
/// the answer. An explanation of nothing is empty, with the missing names.
pub fn explain_with_answer(
    inventory: &Inventory,
    node: &str,
    request: &Request,
    selection: &Selection,
) -> Result<(Explanation, Result<NodeInfo>)> {
    inspect_node(inventory, node, request, |computation, request| {
        let answer = computation.answer(request).map(|answer| answer.info);
        // The answer has all problems of a node, each once.
        if let (Err(error), true) = (&answer, selection.is_everything()) {
            return Err(error.clone());
        }
        let layers = computation.layers_or_all_faults(request)?;
        let explanation = explain_layers(computation, &layers, request.environment, selection)?;
        Ok((explanation, answer))
    })
}

fn inspect_node<T>(
    inventory: &Inventory,
    node: &str,
    request: &Request,
    read: impl Fn(&Computation<'_>, NodeRequest<'_>) -> Result<T>,
) -> Result<T> {
    let is_allowed = request.force_environment || inventory.settings().allow_adapter_env_override;
    let environment = request.environment.as_ref().filter(|_| is_allowed);
    let request = NodeRequest { environment, input: request.input_data.as_ref(), ..NodeRequest::plain(node) };
    inventory.inspect(|computation| read(computation, request))?
}

fn explain_layers(
    computation: &Computation<'_>,
    layers: &Layers,
    environment: Option<&Text>,
    selection: &Selection,
) -> Result<Explanation> {
    let everything = selection.is_everything();
    // Budgets for the explanation, and for the same one without secrets.
    let (budget, budget_without) = (Budget::new(computation.settings), Budget::new(computation.settings));
    let others = computation.others(layers, environment);
    let globs = |texts: &[String]| texts.iter().map(|text| Glob::new(text)).collect::<Vec<_>>();
    let mut explanation = Explanation {
        node: layers.name.clone(),
        environment: (everything || selection.environment)
            .then(|| context::environment(computation, layers, environment)),
        ..Explanation::default()
    };
    let mut missing = Vec::new();
    // The names that were not found. A glob may find nothing.
    let absent = |wanted: &[String], is_found: &dyn Fn(&Glob) -> bool| -> Vec<String> {
        wanted.iter().filter(|text| !is_wild(text) && !is_found(&Glob::new(text))).cloned().collect()
    };
    if everything || !selection.classes.is_empty() {
        let classes = context::classes(computation, layers, &globs(&selection.classes), &budget);
        let is_found = |glob: &Glob| classes.iter().any(|class| glob.matches(&class.name));
        for name in absent(&selection.classes, &is_found) {
            let all = layers.linearization.include_chains().all();
            let names: Vec<String> = all.iter().skip(1).map(|one| one.name.to_string()).collect();
            missing.push(not_found("class", &name, &names, layers));
        }
        explanation.classes = classes;
    }
    if everything || !selection.applications.is_empty() {
        let all = |globs: &[Glob], budget: &Budget| context::applications(computation, layers, globs, budget);
        let applications = all(&globs(&selection.applications), &budget);
        let is_found = |glob: &Glob| applications.iter().any(|one| glob.matches(&one.name));
        for name in absent(&selection.applications, &is_found) {
            let all = all(&[], &Budget::new(computation.settings));
            let names: Vec<String> = all.iter().map(|one| one.name.to_string()).collect();
            missing.push(not_found("application", &name, &names, layers));
        }
        explanation.applications = applications;
    }
    for exports in [false, true] {
        let wanted = if exports { &selection.exports } else { &selection.parameters };
        let whole = everything || (selection.values && !exports);
        if !whole && wanted.is_empty() {
            continue;
        }
        let mut explainer = Explainer::new(computation, layers, &others, exports).within(&budget);
        let mut traces = if whole { vec![explainer.overview()] } else { Vec::new() };
        missing.extend(explain_paths(&mut explainer, wanted, &mut traces));
        let secrets = &selection.redaction.secrets;
        if !secrets.is_none() {
            let others =
                OtherNodes { without: Some(secrets.clone()), ..computation.others(layers, environment) };
            let mut explainer =
                Explainer::without(computation, layers, &others, exports, secrets).within(&budget_without);
            for trace in traces.iter_mut().take_while(|_| !budget.is_full() && !budget_without.is_full()) {
                let path = trace.path.clone();
                let without = if path.is_empty() { explainer.overview() } else { explainer.trace(&path) };
                TraceCover(&selection.redaction).cover(trace, Some(&without));
            }
        }
        if exports {
            explanation.exports = traces;
        } else {
            describe(computation, layers, &mut traces);
            explanation.parameters = traces;
        }
    }
    // A missing name may be among those that the budget cut off.
    if let Some(fault) = budget.fault().or_else(|| budget_without.fault()) {
        return Err(Fault { node: Some(layers.name.clone()), ..fault }.into());
    }
    explanation.missing = missing;
    let mut faults: Vec<Fault> = explanation
        .parameters
        .iter_mut()
        .chain(&mut explanation.exports)
        .filter_map(|trace| trace.fault.as_mut())
        .map(|fault| {
            computation.complete(fault, layers);
            if !selection.redaction.secrets.is_none() {
                computation.redact_cycles(std::slice::from_mut(fault), layers);
            }
            fault.clone()
        })
        .collect();
    faults.dedup();
    explanation.faults = faults;
    Ok(explanation)
}

/// Adds what the schemas of the parameters say. Schemas that cannot be read are a matter of lint.
fn describe(computation: &Computation<'_>, layers: &Layers, traces: &mut [ValueTrace]) {
    let Ok(Some(schemas)) = Schemas::of_computation(computation) else { return };
    let all = layers.linearization.include_chains().all();
    let classes = all.iter().skip(1).map(|included| &*included.name).collect();
    let scope = schemas.scope([(&*layers.name, classes)]);
    let secrets = Secrets::of(computation.settings);
    for trace in traces {
        trace.description = schemas.description(&scope, &trace.path, &secrets);
    }
}

/// Explains the requested paths, each once. Returns a fault for each path that does not exist.
fn explain_paths(
    explainer: &mut Explainer<'_>,
    wanted: &[String],
    traces: &mut Vec<ValueTrace>,
) -> Vec<Fault> {
    let mut missing = Vec::new();
    let mut visited: FxHashSet<Vec<Key>> = FxHashSet::default();
    for text in wanted {
        let pattern = PathPattern::new(text, &explainer.computation.settings.delimiter);
        let paths = explainer.matching(&pattern);
        if paths.is_empty() && !is_wild(text) {
            let what = if explainer.in_exports { "export" } else { "parameter" };
            let fault = not_found(what, text, &explainer.paths(), explainer.places.layers());
            missing.push(explainer.why_absent(text, fault));
        }
        for path in paths {
            if explainer.budget.is_full() {
                break;
            }
            if visited.insert(path.clone()) {
                traces.push(ValueTrace { exact: !is_wild(text), ..explainer.trace(&path) });
            }
        }
    }
    missing
}

/// The fault for an unknown name, with the most similar name as a suggestion.
fn not_found(what: &'static str, name: &str, names: &[String], layers: &Layers) -> Fault {
    let known = names.iter().map(String::as_str);
    let similar = match what {
        "class" => similar::class(name, known),
        "application" => similar::nearest(name, known),
        _ => similar::path(name, known),
    };
    let similar = similar.map(str::to_owned);
    let kind = Kind::NothingToExplain { what, name: name.to_owned(), similar };
    Fault { node: Some(layers.name.clone()), ..Fault::new(kind) }
}
