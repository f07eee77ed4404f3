//! Why the old program refuses a node: the node has an entry that only this program accepts.

use crate::compare::causes::Cause;
use crate::compare::normal::OldForm;
use reclass::NodeInfo;
use reclass::parts::engine::{AUTOMATIC, IncludedBy, Layers};
use reclass::parts::model::visit::references;
use reclass::parts::model::{Part, Prefixes, Slot};
use reclass_base::error::{Fault, Kind};
use reclass_base::settings::Settings;
use reclass_base::value::Key;

pub(super) fn cause(info: &NodeInfo, layers: &Layers, settings: &Settings, form: OldForm) -> Option<Cause> {
    let is_duplicate = |fault: &Fault| matches!(fault.kind, Kind::DuplicateKey { .. });
    let is_group =
        |text: &str| text.split("${").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let mut included = layers.linearization.include_chains().all().into_iter();
    let mut sought = Sought::new(settings);
    for layer in layers.all() {
        for map in [&layer.parameters, &layer.exports] {
            map.visit(&mut |path, slot| {
                sought.take(path, slot);
                true
            });
        }
    }
    if sought.empty_key {
        Some(Cause::EmptyKey)
    } else if sought.default {
        Some(Cause::NoDefaults)
    } else if included.any(|one| matches!(&one.by, IncludedBy::Mapping(mapping) if is_group(mapping))) {
        Some(Cause::Group)
    } else if form == OldForm::Json {
        // reclass-rs has no program that prints YAML.
        info.warnings.iter().any(is_duplicate).then_some(Cause::DuplicateKeys)
    } else {
        sought.path.then_some(Cause::ShortNames)
    }
}

/// What the values of a node may have.
struct Sought {
    prefixes: Prefixes,
    /// Two delimiters.
    twice: String,
    /// A reference with a default (R7).
    default: bool,
    /// A key that is empty or a prefix alone (M6).
    empty_key: bool,
    /// A reference to a part of the node's name that salt-formulas/reclass does not have (S12).
    path: bool,
}

impl Sought {
    fn new(settings: &Settings) -> Sought {
        let (prefixes, twice) = (Prefixes::new(settings), settings.delimiter.repeat(2));
        Sought { prefixes, twice, default: false, empty_key: false, path: false }
    }

    fn take(&mut self, path: &[Key], slot: &Slot) {
        let key = path.last().and_then(Key::as_str);
        self.empty_key |= key.is_some_and(|key| key.is_empty() || self.prefixes.is_lone(key));
        let Slot::Text(template, _) = slot else { return };
        references(&template.parts, &mut |reference| {
            let has_twice = |part: &Part| matches!(part, Part::Literal(text) if text.contains(&self.twice));
            self.default |= reference.parts.iter().any(has_twice);
            let path = reference.fixed.as_ref().map_or(&[][..], |path| &path.segments);
            let path: Vec<&str> = path.iter().take(3).map(AsRef::as_ref).collect();
            self.path |= matches!(path[..], [AUTOMATIC, "name", "path" | "parts"]);
        });
    }
}
