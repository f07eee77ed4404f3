//! References: resolves `${a:b:c}` to the whnf of the named parameter.

use std::borrow::Cow;

use super::root::RootSlot;
use super::{Evaluator, Found, Mode, Stop, Whnf};
use crate::model::slot::Slot;
use crate::model::template::{FixedPath, Part, Reference, split_default};
use reclass_base::error::{Fault, Kind, article};
use reclass_base::failpoints::failpoint;
use reclass_base::path::list_index;
use reclass_base::source::Origin;
use reclass_base::value::{Key, Text, Value};

impl Evaluator<'_> {
    /// The whnf that a reference names. `source` is the scalar with the reference, `origin` its origin.
    pub fn resolve(&mut self, reference: &Reference, source: &Text, origin: Origin) -> Result<Found, Stop> {
        let path = self.path_of(reference, source, origin)?;
        self.at_path(reference, &path, source, origin).map(|(found, _)| found)
    }

    /// The path of a reference, after the references inside of it are resolved.
    pub(super) fn path_of<'r>(
        &mut self,
        reference: &'r Reference,
        source: &Text,
        origin: Origin,
    ) -> Result<Cow<'r, FixedPath>, Stop> {
        failpoint("a reference is resolved");
        match &reference.fixed {
            Some(path) => Ok(Cow::Borrowed(path)),
            None => self.inside(&reference.parts, source, origin).map(Cow::Owned),
        }
    }

    /// The whnf that a reference with this path names, and whether it is the default.
    pub(super) fn at_path(
        &mut self,
        reference: &Reference,
        path: &FixedPath,
        source: &Text,
        origin: Origin,
    ) -> Result<(Found, bool), Stop> {
        // A default that is not YAML is an error even if it is not needed, as documented.
        let default = match &path.default {
            None => None,
            Some(text) => Some(reclass_yaml::parse_value(text).map_err(|error| {
                let message = error.first().kind.to_string();
                let kind = Kind::DefaultSyntax { reference: reference.written.to_string(), message };
                Stop::from(self.place(Fault::new(kind), origin, Some((source, reference.span))))
            })?),
        };
        let before = self.enter([]);
        let result = self.follow(&path.segments);
        self.leave(before);
        match (result?, default) {
            // The grain may be there, so the default would be a guess.
            (Err(Missing { unknown_grain: Some(grain), .. }), _) => {
                let fault = Fault::new(Kind::GrainsUnknown { grain });
                Err(self.place(fault, origin, Some((source, reference.span))).into())
            }
            (Ok(found), _) => Ok((found, false)),
            (Err(_), Some(default)) => {
                self.default_used = Some(reference.written.clone());
                if self.settings.verbose_warnings {
                    let kind = Kind::DefaultUsed { reference: reference.written.to_string() };
                    let warning = self.place(Fault::new(kind), origin, Some((source, reference.span)));
                    self.warn(warning);
                }
                Ok((Whnf::Value(default).into(), true))
            }
            (Err(missing), None) => {
                let missing = if reference.fixed.is_some() { missing } else { missing.unnamed() };
                Err(self.not_found(missing, &reference.written, origin, Some((source, reference.span))))
            }
        }
    }

    /// The whnf of the parameter that a query names with `self:`.
    pub(super) fn resolve_path(&mut self, path: &[Text], origin: Origin) -> Result<Found, Stop> {
        let before = self.enter([]);
        let result = self.follow(path);
        self.leave(before);
        result?.map_err(|missing| {
            if let Some(grain) = missing.unknown_grain {
                return self.place(Fault::new(Kind::GrainsUnknown { grain }), origin, None).into();
            }
            let keys: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
            let written = format!("self{0}{1}", self.settings.delimiter, keys.join(&self.settings.delimiter));
            self.not_found(missing, &written, origin, None)
        })
    }

    fn not_found(
        &self,
        missing: Missing,
        written: &str,
        origin: Origin,
        within: Option<(&Text, (usize, usize))>,
    ) -> Stop {
        let kind = Kind::ReferenceNotFound {
            reference: written.to_owned(),
            missing: missing.key,
            container: missing.container,
            similar: None,
            within: None,
        };
        let mut fault = self.place(Fault::new(kind), origin, within);
        if let Some((name, place)) = missing.defined
            && let Some(site) = self.site(place)
        {
            fault = fault.note(format!("{name} is set here"), Some(site));
        }
        Stop::Missing(Box::new(NotFound { fault, inside: missing.inside, top: missing.top }))
    }

    /// The fault of a missing reference that nothing makes up for, with a similar name if there is one.
    pub(super) fn problem(&mut self, not_found: NotFound) -> Fault {
        let NotFound { mut fault, inside, top } = not_found;
        let Kind::ReferenceNotFound { reference, missing, container, similar, within } = &mut fault.kind
        else {
            return fault;
        };
        // A fast evaluation is repeated if there are problems.
        if matches!(self.mode, Mode::Fast | Mode::Silent) || self.compared.is_spent() {
            return fault;
        }
        if top && let Some(path) = self.meant(reference) {
            *similar = Some(path);
            return fault;
        }
        let names: Vec<&str> = match &inside {
            Some(Whnf::Map(map)) => map.entries.keys().filter_map(Key::as_str).collect(),
            Some(Whnf::Raw(raw)) => raw.entries.keys().filter_map(Key::as_str).collect(),
            Some(Whnf::Value(Value::Map(map))) => map.keys().filter_map(Key::as_str).collect(),
            None if top => self.root.names(),
            _ => Vec::new(),
        };
        *similar = self.compared.nearest(missing, names.iter().copied()).map(str::to_owned);
        *within = match &inside {
            Some(whnf) => without_keys(container, whnf),
            None if top && similar.is_none() && missing.contains(['.', '/']) => {
                Some(format!("'{}' separates the keys of a path", self.settings.delimiter))
            }
            None => None,
        };
        fault
    }

    /// The path of a parameter that a reference means with `.` or `/` between its keys, or from `parameters` on.
    fn meant(&mut self, written: &str) -> Option<String> {
        let (open, close) = &self.settings.reference_sentinels;
        let inner = written.strip_prefix(&**open)?.strip_suffix(&**close)?;
        let delimiter = &self.settings.delimiter;
        let below = ["parameters", "pillar"]
            .iter()
            .find_map(|head| inner.strip_prefix(head)?.strip_prefix(&**delimiter));
        let path = below.unwrap_or(inner).replace(['.', '/'], delimiter);
        let keys: Vec<Text> = path.split(&**delimiter).map(Text::from).collect();
        if path == inner || keys.iter().any(|key| key.is_empty()) {
            return None;
        }
        let (place, depth) = self.root.get(&keys, &self.prefixes)?;
        let mut slot = place.slot()?;
        for key in &keys[depth..] {
            let Slot::Map(map) = slot else { return None };
            slot = map.entries.get(key.as_ref())?;
        }
        Some(path)
    }

    /// The path inside of a reference with nested references. Those are resolved first, then the text is
    /// split (R3, R7).
    pub(super) fn inside(
        &mut self,
        parts: &[Part],
        source: &Text,
        origin: Origin,
    ) -> Result<FixedPath, Stop> {
        let mut text = String::with_capacity(source.len());
        let separator = self.settings.delimiter.repeat(2);
        for part in parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Reference(inner) => {
                    let found = self.resolve(inner, source, origin).map_err(|stop| match stop {
                        // The forks never forgive a missing inner reference (R6).
                        Stop::Missing(not_found) => self.problem(*not_found).into(),
                        other => other,
                    })?;
                    let value = self.deep_found(&found)?;
                    match &value {
                        Value::Str(plain) => text.push_str(plain),
                        // The default is parsed as YAML again, so null and containers are written as YAML,
                        // unless the flag of reclass-rs asks for the text `None` (R7).
                        value @ (Value::Null | Value::List(_) | Value::Map(_))
                            if text.contains(&separator)
                                && !(*value == Value::Null && self.settings.compat_flags.null_as_none) =>
                        {
                            text.push_str(&reclass_base::json::dumps(value, false));
                        }
                        Value::Null if self.settings.compat_flags.null_as_null => text.push_str("null"),
                        value => text.push_str(&reclass_base::pystr::str(value)),
                    }
                }
            }
        }
        Ok(split_default(&text, &self.settings.delimiter))
    }

    /// Follows a path from the root. The inner error is the missing key.
    pub(super) fn follow(&mut self, segments: &[Text]) -> Result<Result<Found, Missing>, Stop> {
        let Some(first) = segments.first() else {
            return Ok(Err(Missing::default()));
        };
        if let Some(known) = self.root.reads_grains(segments) {
            // The grains are those of this node alone.
            self.own = true;
            if !known {
                let grain = segments[1..].iter().map(AsRef::as_ref).collect::<Vec<&str>>();
                let grain = grain.join(&self.settings.delimiter);
                return Ok(Err(Missing { unknown_grain: Some(grain), ..Missing::default() }));
            }
        }
        let place = self.root.get(segments, &self.prefixes);
        let Some((mut slot, mut depth)) =
            place.as_ref().and_then(|(place, depth)| Some((place.slot()?, *depth)))
        else {
            self.own = true;
            return Ok(Err(Missing { key: first.to_string(), top: true, ..Missing::default() }));
        };
        for segment in &segments[..depth] {
            self.push_text(segment);
        }
        if let Some((RootSlot::In(map, _), _)) = &place {
            self.use_entry(map, &**first);
        }
        // Mappings on the path need no computation.
        while let (Slot::Map(map), Some(segment)) = (slot, segments.get(depth)) {
            self.push_text(segment);
            let Some(next) = map.entries.get(segment.as_ref()) else {
                self.own = true;
                return Ok(Err(self.missing(segments, depth, &Whnf::Map(map.clone()))));
            };
            self.use_entry(map, &**segment);
            slot = next;
            depth += 1;
        }
        let mut found = self.whnf(slot)?;
        for (index, segment) in segments.iter().enumerate().skip(depth) {
            let Some(next) = self.child(&found, segment)? else {
                self.own = true;
                return Ok(Err(self.missing(segments, index, &found.whnf)));
            };
            found = next;
        }
        if found.whnf.is_container() && found.target.is_none() && !self.is_fast() {
            found.target = Some(self.path_keys().into());
        }
        found.from_reference = true;
        Ok(Ok(found))
    }

    /// The whnf at one key or index of a container.
    fn child(&mut self, found: &Found, segment: &Text) -> Result<Option<Found>, Stop> {
        if let Some(target) = &found.target {
            // A reference led here. From here on, the path is that of its target.
            self.change(target.iter());
        }
        self.push_text(segment);
        if let Whnf::Map(map) = &found.whnf {
            self.use_entry(map, &**segment);
        }
        let child = found.whnf.child(segment.as_ref() as &str, |length| list_index(segment, length));
        child.map(|child| self.child_whnf(child)).transpose()
    }

    fn missing(&self, segments: &[Text], index: usize, container: &Whnf) -> Missing {
        let key = segments[index].to_string();
        let origin = match container {
            Whnf::Map(map) => Some(map.origin),
            Whnf::Raw(raw) => Some(raw.origin),
            Whnf::List(list) => Some(list.origin),
            Whnf::Value(_) => None,
        };
        let parts: Vec<&str> = segments[..index].iter().map(AsRef::as_ref).collect();
        let parent = parts.join(&self.settings.delimiter);
        let defined = origin
            .filter(|origin| index > 0 && *origin != Origin::NONE)
            .map(|origin| (format!("'{parent}'"), origin));
        Missing { inside: Some(container.clone()), container: parent, defined, key, ..Missing::default() }
    }
}

/// Why a value has no such key, if it is no mapping.
fn without_keys(path: &str, whnf: &Whnf) -> Option<String> {
    let items = match whnf {
        Whnf::List(list) => list.items.len(),
        Whnf::Value(Value::List(items)) => items.len(),
        Whnf::Value(value) if value.as_map().is_none() => {
            let found = if *value == Value::Null { "null".to_owned() } else { article(value.type_name()) };
            return Some(format!("'{path}' is {found}, and has no keys"));
        }
        _ => return None,
    };
    Some(match items {
        0 => format!("'{path}' is an empty list"),
        1 => format!("'{path}' is a list of 1 item: its number is 0, or -1"),
        _ => format!(
            "'{path}' is a list of {items} items: their numbers are 0 to {}, or -{items} to -1",
            items - 1
        ),
    })
}

/// A missing reference: its fault, and the container in which to search for a similar name if the fault is
/// reported. Most are forgiven.
#[derive(Debug)]
pub struct NotFound {
    pub(super) fault: Fault,
    inside: Option<Whnf>,
    top: bool,
}

/// The missing key of a reference.
#[derive(Default)]
pub(super) struct Missing {
    key: String,
    container: String,
    /// The container without the key. It is searched for a similar name only if needed.
    inside: Option<Whnf>,
    /// Whether the missing key is a top-level parameter.
    top: bool,
    defined: Option<(String, Origin)>,
    /// The path of a grain, if nobody knows the grains.
    unknown_grain: Option<String>,
}

impl Missing {
    /// Removes the keys. If a reference has references inside, its keys are values of parameters.
    fn unnamed(self) -> Missing {
        Missing {
            defined: self.defined.map(|(_, origin)| ("the mapping".into(), origin)),
            ..Missing::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::evaluate::{Evaluator, Locate, Mode, Root};
    use crate::model::interner::Interner;
    use crate::model::layer::{Layer, LayerSource};
    use crate::model::merge::{Prefixes, merge_maps};
    use crate::model::slot::MapSlot;
    use reclass_base::settings::Settings;
    use reclass_base::source::{FileId, Origin, Span};
    use reclass_base::value::Map;
    use reclass_yaml::compose::compose;

    struct Nowhere;

    impl Locate for Nowhere {
        fn locate(&self, _origin: Origin) -> Option<(Arc<str>, Span)> {
            None
        }

        fn bytes(&self, _file: FileId) -> Option<Arc<[u8]>> {
            None
        }
    }

    /// The help of the faults in these layers, and the cost of the search for similar names.
    fn searched(texts: &[&str], fast: bool) -> (Vec<Option<String>>, usize) {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        let (interner, prefixes) = (Interner::default(), Prefixes::new(&settings));
        let layers = texts.iter().map(|text| {
            let document = compose(text.as_bytes()).expect("YAML");
            let subject = LayerSource {
                file: FileId::NONE,
                name: "n",
                init: false,
                is_class: true,
                settings: &settings,
            };
            Layer::build(&document, subject, &interner).expect("a class").parameters
        });
        let merged = layers.fold(Arc::new(MapSlot::empty()), |all, one| merge_maps(all, &one, &prefixes));
        let mut evaluator = Evaluator::new(Root::whole(merged.clone()), &settings, &Nowhere)
            .in_mode(if fast { Mode::Fast } else { Mode::Full });
        evaluator.evaluate(&merged);
        let faults = evaluator.finish();
        (faults.iter().map(|fault| fault.kind.help()).collect(), evaluator.compared.spent())
    }

    #[test]
    fn similar_names_are_searched_only_for_reported_faults() {
        let missing = "parameters: {port: 80, a: '${prot}'}";
        let (help, compared) = searched(&[missing], false);
        assert_eq!(help, [Some("'port' is similar".to_owned())]);
        assert!(compared > 0);
        // A later layer replaces the value, so nothing is searched. A fast evaluation is repeated with all
        // names.
        assert_eq!(searched(&[missing, "parameters: {a: 1}"], false), (Vec::new(), 0));
        assert_eq!(searched(&[missing], true), (vec![None], 0));
    }
}
