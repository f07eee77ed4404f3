//! Explanations as data: the mapping that `--output json`, Python and Salt get.
//!
//! `docs/explain.md` describes it. Secrets are masked here, so that no shell has to think of it.

use super::{ApplicationStory, ClassStory, EnvironmentStory, Explanation, Listing};
use super::{Part, Place, ReferenceStory, Step, Story};
use crate::error::Fault;
use crate::evaluate::join_path;
use crate::report::{link_value, site_value};
use crate::secrets::Secrets;
use crate::value::{Key, Map, Value};

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
    /// Tells the secrets in it, to know them where references carry them.
    pub fn teach(&self, secrets: &mut Secrets) {
        self.secrets.iter().for_each(|values| secrets.learn(values));
        secrets.learn_all(self.written.iter());
    }

    /// The explanation as plain data.
    pub fn to_value(&self, delimiter: &str, secrets: &Secrets) -> Value {
        let writer = Writer { delimiter, secrets };
        map! {
            "node": text(&self.node),
            "environment": optional(self.environment.as_ref(), environment),
            "classes": list(&self.classes, |story| class(story, secrets)),
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

fn class(story: &ClassStory, secrets: &Secrets) -> Value {
    map! {
        "name": text(&story.name),
        "file": optional(story.file.as_ref(), |site| text(&site.path)),
        "listings": list(&story.listings, |one| listing(one, secrets)),
    }
}

fn listing(listing: &Listing, secrets: &Secrets) -> Value {
    map! {
        "effective": Value::Bool(listing.effective),
        "written": optional(listing.written.as_ref(), |name| text(secrets.written(name))),
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

/// A place as plain data: `{layer, site, chain}`.
pub fn place(place: &Place) -> Value {
    map! {
        "layer": text(&place.layer),
        "site": optional(place.site.as_ref(), site_value),
        "chain": list(&place.chain, link_value),
    }
}

struct Writer<'a> {
    delimiter: &'a str,
    secrets: &'a Secrets,
}

impl Writer<'_> {
    fn path(&self, path: &[Key]) -> Value {
        Value::text(join_path(path, self.delimiter))
    }

    fn value(&self, path: &[Key], value: Option<&Value>) -> Value {
        optional(value, |value| self.secrets.value(path, value))
    }

    fn story(&self, story: &Story) -> Value {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
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
            "written": self.secrets.value(here, &step.written),
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

    fn part(&self, part: &Part) -> Value {
        map! {
            "path": self.path(&part.path),
            "value": self.value(&part.path, part.value.as_ref()),
            "written": self.value(&part.path, part.written.as_ref()),
            "place": place(&part.place),
            "via": list(&part.via, |(written, at)| map! {
                "written": self.secrets.value(&[], written),
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
