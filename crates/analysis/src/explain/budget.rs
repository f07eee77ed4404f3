//! Bounds the size of one explanation.
//!
//! The engine shares a value that references repeat, but a trace shows it each time: sixty lists that each
//! contain the next one twice are sixty values and 2⁶⁰ places. So everything in an explanation counts against
//! one budget, the setting `limit_values`. A larger explanation is an error.

use std::cell::Cell;
use std::rc::Rc;

use super::data::{Leaf, ReferenceTrace, Step, ValuePart, ValueTrace};
use reclass::parts::model::Template;
use reclass::parts::model::visit::references as each;
use reclass_base::error::{Fault, Kind};
use reclass_base::settings::Settings;
use reclass_base::size::ValueSize;
use reclass_base::source::Origin;
use reclass_base::value::Value;

/// The remaining budget in values, shared by everything that contributes to one explanation.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    remaining: Rc<Cell<usize>>,
    limit: usize,
}

/// Memory cost of a trace, a part or a step without its content, in values.
const EACH: usize = 8;

/// Memory cost of a written include link, in values.
const LINK: usize = 8;

/// Number of shared values that cost as much as one value with its place.
const SHARED: usize = 4;

/// Number of letters in a reference that cost as much time as one value. Nested references are looked up once
/// per enclosing reference.
const LETTERS: usize = 16;

impl Budget {
    /// The full budget.
    pub fn new(settings: &Settings) -> Budget {
        let limit = settings.limit_values as usize;
        Budget { remaining: Rc::new(Cell::new(limit)), limit }
    }

    /// Takes this many values from the budget; `false` if it does not have them.
    pub fn take(&self, values: usize) -> bool {
        let remaining = self.remaining.get().checked_sub(values);
        self.remaining.set(remaining.unwrap_or(0));
        remaining.is_some()
    }

    /// Takes the cost of a value's content, which is shared until it is written out.
    pub fn take_value(&self, value: Option<&Value>) -> bool {
        self.take(value.map_or(0, |value| ValueSize::of(value).size / SHARED))
    }

    /// Takes the cost of one list entry and the links of its include chain.
    pub fn take_links(&self, links: usize) -> bool {
        self.take(EACH + LINK * links)
    }

    /// Takes the cost of a part of finished data.
    pub fn take_part(&self, part: &ValuePart) -> bool {
        self.take(EACH + part.path.len() + links(part.place.chain.len()))
            && self.take_value(part.value.as_ref())
    }

    /// Takes the cost of a leaf; `chain` is the number of links in the include chain of an origin.
    pub fn take_leaf(&self, leaf: &Leaf, chain: impl Fn(Origin) -> usize) -> bool {
        let place = |origin: Origin| links(chain(origin));
        let places = leaf.via.iter().map(|(_, origin)| place(*origin)).sum::<usize>() + place(leaf.origin);
        self.take(EACH + leaf.path.len() + places)
            && self.take_value(leaf.value.as_ref())
            && self.take_value(leaf.written.as_ref())
    }

    /// Takes the cost of a step without the traces of its references.
    pub fn take_step(&self, step: &Step) -> bool {
        let references = EACH * (step.references.len() + step.answers.len());
        self.take(EACH + links(step.place.chain.len()) + references)
            && self.take_value(Some(&step.written))
            && self.take_value(step.after.as_ref())
    }

    /// Takes the cost of a reference without its inner references and its trace.
    pub fn take_reference(&self, reference: &ReferenceTrace) -> bool {
        self.take(EACH + reference.written.len() / LETTERS) && self.take_value(reference.value.as_ref())
    }

    /// Takes the cost of the defaults in a text. A default counts again for each reference around it.
    pub fn take_defaults(&self, template: &Template) -> bool {
        let mut letters = 0;
        each(&template.parts, &mut |reference| {
            letters += reference.span.1.saturating_sub(reference.written.len());
        });
        self.take(letters / LETTERS)
    }

    /// Takes the cost of a trace without its steps and parts.
    pub fn take_trace(&self, trace: &ValueTrace) -> bool {
        self.take(EACH + trace.path.len()) && self.take_value(trace.value.as_ref())
    }

    /// Whether the budget is used up.
    pub fn is_full(&self) -> bool {
        self.remaining.get() == 0
    }

    /// The fault of an explanation that exceeds the budget.
    pub fn fault(&self) -> Option<Fault> {
        let what = "the number of values and places in an explanation";
        let kind = Kind::EvaluationLimit { what, limit: self.limit, setting: Some("limit_values") };
        self.is_full().then(|| Fault::new(kind))
    }
}

/// Memory cost of a place with this many links, in values.
fn links(links: usize) -> usize {
    2 + 2 * links
}
