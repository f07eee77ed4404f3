//! Explanations as data: the mapping that `--output json`, Python and Salt get.
//!
//! `docs/explain.md` describes it. Secrets are masked here, so that no shell has to think of it.

use super::{ApplicationStory, ClassListing, ClassStory, EnvironmentStory, Explanation};
use super::{ReferenceStory, Step, Story, ValuePart, ValuePlace};
use crate::base::error::{Fault, Link};
use crate::base::path::join_path;
use crate::base::source::Site;
use crate::base::stack::grow;
use crate::base::value::{Key, Map, Value};
use crate::output::redact::Redaction;

/// Builds a mapping in the order of the arguments.
macro_rules! map {
    ($($key:literal : $value:expr),* $(,)?) => {{
        let mut map = Map::default();
        $(map.insert($key.into(), $value);)*
        Value::map(map)
    }};
}

fn text(text: impl AsRef<str>) -> Value {
    Value::text(text.as_ref())
}

fn list<T>(items: impl IntoIterator<Item = T>, value: impl FnMut(T) -> Value) -> Value {
    Value::list(items.into_iter().map(value).collect())
}

fn optional<T>(item: Option<T>, value: impl FnOnce(T) -> Value) -> Value {
    item.map_or(Value::Null, value)
}

impl Explanation {
    /// The explanation as plain data.
    pub fn to_value(&self, delimiter: &str, redaction: &Redaction) -> Value {
        let writer = Writer { delimiter, redaction };
        map! {
            "node": text(&self.node),
            "environment": optional(self.environment.as_ref(), environment),
            "classes": list(&self.classes, class),
            "applications": list(&self.applications, application),
            "parameters": list(&self.parameters, |story| writer.story(story)),
            "exports": list(&self.exports, |story| writer.story(story)),
        }
    }
}

fn environment(story: &EnvironmentStory) -> Value {
    map! {
        "value": story.value.clone(),
        "from": text(story.source),
        "place": optional(story.place.as_ref(), place),
    }
}

fn class(story: &ClassStory) -> Value {
    map! {
        "name": text(&story.name),
        "file": optional(story.file.as_ref(), |site| text(&site.path)),
        "listings": list(&story.listings, listing),
    }
}

fn listing(listing: &ClassListing) -> Value {
    map! {
        "effective": Value::Bool(listing.effective),
        "written": optional(listing.written.as_ref(), text),
        "site": optional(listing.site.as_ref(), site_value),
        "chain": list(&listing.chain, link_value),
    }
}

fn application(story: &ApplicationStory) -> Value {
    map! {
        "name": text(&story.name),
        "present": Value::Bool(story.present),
        "steps": list(&story.steps, |step| map! {
            "effect": text(step.effect),
            "place": place(&step.place),
        }),
    }
}

fn site_value(site: &Site) -> Value {
    map! {
        "file": text(&site.path),
        "line": Value::Int(site.line.into()),
        "column": Value::Int(site.column.into()),
    }
}

fn link_value(link: &Link) -> Value {
    map! {
        "includer": text(&link.includer),
        "class": Value::Str(link.class.clone()),
        "site": optional(link.site.as_ref(), site_value),
    }
}

/// A place as plain data: `{layer, site, chain}`.
fn place(place: &ValuePlace) -> Value {
    map! {
        "layer": text(&place.layer),
        "site": optional(place.site.as_ref(), site_value),
        "chain": list(&place.chain, link_value),
    }
}

struct Writer<'a> {
    delimiter: &'a str,
    redaction: &'a Redaction,
}

impl Writer<'_> {
    fn path(&self, path: &[Key]) -> Value {
        Value::text(join_path(path, self.delimiter))
    }

    fn value(&self, path: &[Key], value: Option<&Value>) -> Value {
        optional(value, |value| self.redaction.value(path, value))
    }

    fn story(&self, story: &Story) -> Value {
        grow(|| {
            map! {
                "path": self.path(&story.path),
                "value": self.value(&story.path, story.value.as_ref()),
                "error": optional(story.fault.as_ref(), error),
                "place": optional(story.place.as_ref(), place),
                "steps": list(&story.steps, |step| self.step(story, step)),
                "parts": list(&story.parts, |part| self.part(part)),
            }
        })
    }

    fn step(&self, story: &Story, step: &Step) -> Value {
        let here = &story.path[..step.depth.min(story.path.len())];
        map! {
            "effect": text(step.effect.name()),
            "counts": Value::Bool(step.counts),
            "place": place(&step.place),
            "path": self.path(here),
            "prefix": text(&step.prefix),
            "written": self.redaction.written(here, &step.written),
            "after": self.value(&story.path, step.after.as_ref()),
            "setting": optional(step.setting, text),
            "references": list(&step.references, |reference| self.reference(reference)),
            "answers": list(&step.answers, |(node, at)| map! {
                "node": text(node),
                "place": optional(at.as_ref(), place),
            }),
        }
    }

    fn reference(&self, reference: &ReferenceStory) -> Value {
        let path = reference.path.as_deref().unwrap_or_default();
        map! {
            "written": text(&reference.written),
            "path": optional(reference.path.as_ref(), |path| self.path(path)),
            "value": self.value(path, reference.value.as_ref()),
            "default_used": Value::Bool(reference.default_used),
            "failed": Value::Bool(reference.failed),
            "error": optional(reference.fault.as_ref(), error),
            "inner": list(&reference.inner, |inner| self.reference(inner)),
            "story": optional(reference.story.as_deref(), |story| self.story(story)),
        }
    }

    fn part(&self, part: &ValuePart) -> Value {
        map! {
            "path": self.path(&part.path),
            "value": self.value(&part.path, part.value.as_ref()),
            "written": optional(part.written.as_ref(), |value| self.redaction.written(&part.path, value)),
            "place": place(&part.place),
            "via": list(&part.via, |(written, at)| map! {
                "written": written.clone(),
                "place": place(at),
            }),
        }
    }
}

fn error(fault: &Fault) -> Value {
    map! {
        "code": text(fault.code()),
        "message": Value::text(fault.kind.to_string()),
        "site": optional(fault.site.as_ref(), site_value),
    }
}
