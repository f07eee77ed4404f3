//! Room bounds how much one explanation tells.
//!
//! What references repeat is one value in the engine, and a story tells it each time: sixty lists of
//! which each has the next one twice are sixty values and 2⁶⁰ places. So all that is told takes of one
//! room, that of the setting `limit_values`, and an explanation that would be larger is an error.

use std::cell::Cell;
use std::rc::Rc;

use super::Story;
use super::parts::ValuePart;
use super::place::ValuePlace;
use super::references::ReferenceStory;
use super::steps::Step;
use crate::base::error::{Fault, Kind};
use crate::base::settings::Settings;
use crate::base::size::ValueSize;
use crate::base::value::Value;
use crate::model::template::Template;
use crate::model::visit::references as each;

/// How much may still be told, in values: shared by all that tell of one explanation.
#[derive(Clone, Debug)]
pub(super) struct Room {
    left: Rc<Cell<usize>>,
    limit: usize,
}

/// How many values a story, a part or a step takes the memory of, beside what is in it.
const EACH: usize = 8;

/// How many values a link of a chain takes the memory of, written out.
const LINK: usize = 8;

/// How many values that are shared take as much as one with its place.
const SHARED: usize = 4;

/// How many letters of a reference take as long to tell as a value: those inside of it are looked up for
/// each around them.
const LETTERS: usize = 16;

impl Room {
    /// All of it.
    pub fn new(settings: &Settings) -> Room {
        let limit = settings.limit_values as usize;
        Room { left: Rc::new(Cell::new(limit)), limit }
    }

    /// Takes so many values; `false` where they have none any more.
    pub fn take(&self, values: usize) -> bool {
        let left = self.left.get().checked_sub(values);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Takes a value for what is in it, which is shared until it is written out.
    pub fn take_value(&self, value: Option<&Value>) -> bool {
        self.take(value.map_or(0, |value| ValueSize::of(value).size / SHARED))
    }

    /// Takes one entry of a list, with the links of the chain that leads there.
    pub fn take_links(&self, links: usize) -> bool {
        self.take(EACH + LINK * links)
    }

    /// Takes a part.
    pub fn take_part(&self, part: &ValuePart) -> bool {
        let places = part.via.iter().map(|one| links(&one.place)).sum::<usize>() + links(&part.place);
        self.take(EACH + part.path.len() + places)
            && self.take_value(part.value.as_ref())
            && self.take_value(part.written.as_ref())
    }

    /// Takes a step, but for the stories of its references.
    pub fn take_step(&self, step: &Step) -> bool {
        let references = EACH * (step.references.len() + step.answers.len());
        self.take(EACH + links(&step.place) + references)
            && self.take_value(Some(&step.written))
            && self.take_value(step.after.as_ref())
    }

    /// Takes a reference, but for those inside of it and what it found.
    pub fn take_reference(&self, reference: &ReferenceStory) -> bool {
        self.take(EACH + reference.written.len() / LETTERS) && self.take_value(reference.value.as_ref())
    }

    /// Takes the defaults of the references of a text, as far as others stand in them.
    pub fn take_defaults(&self, template: &Template) -> bool {
        let mut letters = 0;
        each(&template.parts, &mut |reference| {
            letters += reference.span.1.saturating_sub(reference.written.len());
        });
        self.take(letters / LETTERS)
    }

    /// Takes a story, but for its steps and parts.
    pub fn take_story(&self, story: &Story) -> bool {
        self.take(EACH + story.path.len()) && self.take_value(story.value.as_ref())
    }

    /// Whether there is none left.
    pub fn is_full(&self) -> bool {
        self.left.get() == 0
    }

    /// The problem of an explanation that had not enough.
    pub fn fault(&self) -> Option<Fault> {
        let what = "the number of values and places that an explanation tells";
        let kind = Kind::EvaluationLimit { what, limit: self.limit, setting: Some("limit_values") };
        self.is_full().then(|| Fault::new(kind))
    }
}

/// How many values the links of a place take the memory of.
fn links(place: &ValuePlace) -> usize {
    2 + 2 * place.chain.len()
}
