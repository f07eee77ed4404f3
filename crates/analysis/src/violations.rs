//! Says what breaks a schema as a diagnostic: the place that set the value, what was expected, the place in the schema.

use crate::explain::{ValuePlace, ValuePlaces, Wanted, places, referenced};
use crate::schema::{BrokenParameter, NOT_ALLOWED, NodeVerdict, Schemas, Violation};
use reclass::parts::engine::{Computation, Database, Layers, NodeRequest};
use reclass::parts::evaluate::Locate as _;
use reclass::{NodeInfo, Request};
use reclass_base::error::{Fault, Kind, MAX_FAULTS, Result, truncate_faults};
use reclass_base::path::join_path;
use reclass_base::pystr;
use reclass_base::secrets::Secrets;
use reclass_base::source::{Origin, Site};
use reclass_base::value::Key;

/// The code of a value that should no longer be set.
pub(crate) const DEPRECATED: &str = "schema-deprecated";

impl Schemas {
    /// The diagnostics for what [`Schemas::check`] found in the answer to this request.
    pub(crate) fn faults(
        &self,
        computation: &Computation<'_>,
        request: NodeRequest<'_>,
        verdict: &NodeVerdict,
    ) -> Vec<Fault> {
        let layers = computation.layers(request).ok();
        let of = layers.as_ref().map(|layers| ValuePlaces::new(computation, layers));
        let secrets = Secrets::of(computation.settings);
        let delimiter = &computation.settings.delimiter;
        let mut faults = Vec::new();
        for BrokenParameter { schema, keys: root, found } in &verdict.broken {
            let violations = match (found, self.error_of(*schema)) {
                // Of more no place is looked for.
                (Some(found), _) => {
                    &found.0[..found.0.len().min((MAX_FAULTS + 1).saturating_sub(faults.len()))]
                }
                (None, Some(error)) => {
                    let node = || Some(request.name.into());
                    faults.extend(error.faults().iter().map(|fault| Fault { node: node(), ..fault.clone() }));
                    continue;
                }
                (None, None) => continue,
            };
            let wanted: Vec<Vec<Key>> =
                violations.iter().map(|one| [&root[..], &one.keys].concat()).collect();
            let places =
                of.as_ref().map_or_else(|| vec![None; wanted.len()], |of| places_of(of, violations, &wanted));
            let referenced =
                of.as_ref().map_or_else(|| vec![None; wanted.len()], |of| referenced(of, &wanted));
            for (((violation, keys), place), referenced) in
                violations.iter().zip(&wanted).zip(places).zip(referenced)
            {
                let parameter = join_path(keys, delimiter);
                let is_secret = secrets.covers(keys);
                let similar = violation.similar.clone().filter(|_| !is_secret);
                // The words that a schema allows for a secret are secrets.
                let has_words = |keyword: &&str| violation.address.ends_with(*keyword);
                let expected = if is_secret && ["/enum", "/const", "/anyOf", "/oneOf"].iter().any(has_words) {
                    NOT_ALLOWED.to_owned()
                } else {
                    violation.expected.clone()
                };
                let mut fault = Fault::new(if violation.deprecated {
                    let message = format!("'{parameter}' {expected}");
                    Kind::Lint { rule: DEPRECATED, message, help: None }
                } else {
                    Kind::Schema { parameter: parameter.clone(), expected, similar }
                });
                fault.path = Some(parameter);
                fault.node = Some(request.name.into());
                if let Some(place) = place {
                    (fault.site, fault.chain) = (place.site, place.chain);
                }
                if let Some(site) = self.site(&violation.address) {
                    fault = fault.note("the schema says so here", Some(site));
                }
                if let Some(site) = referenced.and_then(|place| place.site) {
                    fault = fault.note("the value is set here", Some(site));
                }
                if violation.deprecated {
                    let others =
                        of.as_ref().map_or_else(Vec::new, |of| others(of, keys, fault.site.as_ref()));
                    for site in others {
                        fault = fault.note("it is also set here", Some(site));
                    }
                }
                faults.push(fault);
            }
        }
        truncate_faults(&mut faults, MAX_FAULTS);
        faults
    }
}

/// What breaks the schemas in the answer to a request for a node, each with the place that set the value; empty if
/// nothing does.
///
/// # Errors
///
/// A folder of the settings that cannot be read.
pub fn of_answer(database: &mut Database, request: &Request, info: &NodeInfo) -> Result<Vec<Fault>> {
    let schemas = Schemas::of_inputs(&database.inputs, &database.settings)?;
    let Some(schemas) = schemas else { return Ok(Vec::new()) };
    let verdict = schemas.check(info);
    if verdict.broken.is_empty() {
        return Ok(Vec::new());
    }
    let is_allowed = request.force_environment || database.settings.allow_adapter_env_override;
    database.inspect(&|computation| {
        let request = NodeRequest {
            environment: request.environment.as_ref().filter(|_| is_allowed),
            input: request.input_data.as_ref(),
            grains: request.grains.as_ref(),
            mapped: !computation.catalog.nodes.contains_key(&info.name),
            ..NodeRequest::plain(&info.name)
        };
        schemas.faults(computation, request, &verdict)
    })
}

/// The places of violations: of a missing key the layer that brought the mapping, otherwise the layer that has the last
/// word. A value without a place of its own has that of the nearest one above it.
fn places_of(of: &ValuePlaces<'_>, violations: &[Violation], wanted: &[Vec<Key>]) -> Vec<Option<ValuePlace>> {
    let place = |(violation, keys): (&Violation, &Vec<Key>)| {
        if violation.is_missing
            && let Some(first) = first_mention(of.layers(), keys)
        {
            return Some(of.of(first, "automatic parameters"));
        }
        (1..=keys.len()).rev().find_map(|end| {
            let wanted = Wanted { path: keys.get(..end)?.to_vec(), export: false, items: Vec::new() };
            let mut place = places(of, &[wanted]).pop()?.place.filter(|place| place.site.is_some())?;
            if violation.is_of_key
                && end == keys.len()
                && let Some(key) = keys.last()
            {
                let of_key = |site: Site| key_before(of, &site, &pystr::str(&key.0)).unwrap_or(site);
                place.site = place.site.map(of_key);
            }
            Some(place)
        })
    };
    violations.iter().zip(wanted).map(place).collect()
}

/// The place of the key of a value: the node before it, unless the value is the target of an alias or a reference.
fn key_before(of: &ValuePlaces<'_>, value: &Site, key: &str) -> Option<Site> {
    let inputs = of.computation().inputs;
    let file = of.layers().all().map(|layer| layer.file).find(|file| {
        inputs.locate(Origin { file: *file, node: 0 }).is_some_and(|(path, _)| path == value.path)
    })?;
    let node = (0..).map_while(|node| of.site(Origin { file, node })).position(|site| site == *value)?;
    let node = u32::try_from(node).ok()?.checked_sub(1)?;
    let (path, span) = inputs.locate(Origin { file, node })?;
    let bytes = inputs.bytes(file)?;
    let written = bytes.get(usize::try_from(span.start).ok()?..usize::try_from(span.end).ok()?)?;
    let written = std::str::from_utf8(written).ok()?.trim_matches(['\'', '"']);
    written.ends_with(key).then(|| Site::at(path, span))
}

/// The most other layers that a message about a deprecated value names.
const MOST_OTHERS: usize = 5;

/// The places of the other layers that set a value.
fn others(of: &ValuePlaces<'_>, path: &[Key], last: Option<&Site>) -> Vec<Site> {
    let slots = of.layers().all().filter_map(|layer| layer.parameters.at(path));
    let sites = slots.filter(|(_, rest)| rest.is_empty()).filter_map(|(slot, _)| of.site(slot.origin()));
    sites.filter(|site| Some(site) != last).take(MOST_OTHERS).collect()
}

/// The origin of the first mapping at a path among the layers.
fn first_mention(layers: &Layers, path: &[Key]) -> Option<Origin> {
    let mut slots = layers.all().filter_map(|layer| layer.parameters.at(path));
    slots.find(|(_, rest)| rest.is_empty()).map(|(slot, _)| slot.origin())
}
