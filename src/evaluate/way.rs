//! The way turns where an evaluation stands into paths and places, for messages.
//!
//! Most nodes have no message. So their evaluation only counts how deep it stands, and is run
//! again with all names where there is something to tell.

use super::{Evaluator, Locate, Mode, Stop};
use crate::base::error::{Fault, Kind, MAX_FAULTS, Warning, short_path};
use crate::base::source::{Origin, Site};
use crate::base::value::{Key, Text, Value};
use crate::yaml::sub_span::sub_span;

/// Where an evaluation stands.
#[derive(Default)]
pub(super) struct Way {
    /// The paths of all places on the way, one after the other.
    keys: Vec<Key>,
    /// Where that of the last one begins.
    base: usize,
    /// How many keys there are, named or not.
    length: usize,
    /// What is computed at the moment.
    active: Vec<Active>,
}

/// What is computed at the moment, for the message of a cycle.
struct Active {
    address: usize,
    base: usize,
    end: usize,
    origin: Origin,
}

impl Evaluator<'_> {
    /// Whether messages lack names.
    pub(super) fn is_fast(&self) -> bool {
        self.mode == Mode::Fast
    }

    /// Goes to another path, as a reference does; `leave` comes back.
    pub(crate) fn enter<'k>(&mut self, path: impl IntoIterator<Item = &'k Key>) -> (usize, usize) {
        let before = (self.way.base, self.way.length);
        if !self.is_fast() {
            self.way.base = self.way.length;
            self.way.keys.extend(path.into_iter().cloned());
            self.way.length = self.way.keys.len();
        }
        before
    }

    pub(crate) fn leave(&mut self, before: (usize, usize)) {
        self.way.keys.truncate(before.1);
        (self.way.base, self.way.length) = before;
    }

    /// Goes to another path and stays there.
    pub(super) fn change<'k>(&mut self, path: impl IntoIterator<Item = &'k Key>) {
        if !self.is_fast() {
            self.way.keys.truncate(self.way.base);
            self.way.keys.extend(path.into_iter().cloned());
            self.way.length = self.way.keys.len();
        }
    }

    /// The path of the place.
    pub(crate) fn path_keys(&self) -> &[Key] {
        &self.way.keys[self.way.base..]
    }

    /// How many keys the path has; at least that many where names are left out.
    pub(super) fn nesting(&self) -> usize {
        self.way.length - self.way.base
    }

    pub(crate) fn push_key(&mut self, key: &Key) {
        self.way.length += 1;
        if !self.is_fast() {
            self.way.keys.push(key.clone());
        }
    }

    pub(crate) fn push_text(&mut self, key: &Text) {
        self.way.length += 1;
        if !self.is_fast() {
            self.way.keys.push(key.clone().into());
        }
    }

    pub(super) fn push_index(&mut self, index: usize) {
        self.way.length += 1;
        if !self.is_fast() {
            self.way.keys.push(Key(Value::Int(i64::try_from(index).unwrap_or(i64::MAX))));
        }
    }

    pub(super) fn pop_key(&mut self) {
        self.way.length -= 1;
        self.way.keys.truncate(self.way.length);
    }

    pub(super) fn push_active(&mut self, address: usize, origin: Origin) {
        if !self.is_fast() {
            let (base, end) = (self.way.base, self.way.length);
            self.way.active.push(Active { address, base, end, origin });
        }
    }

    pub(super) fn pop_active(&mut self) {
        self.way.active.pop();
    }

    /// Where that stands which is computed at the moment.
    pub(super) fn active_origin(&self) -> Origin {
        self.way.active.last().map_or(Origin::NONE, |active| active.origin)
    }

    /// The path of the place, in the notation of references.
    pub(crate) fn path_text(&self) -> String {
        short_path(self.path_keys(), &self.settings.delimiter)
    }

    /// Whether the place is one of the exports, and not what a reference of theirs leads to.
    pub(super) fn is_export(&self) -> bool {
        self.exports && self.way.base == 0
    }

    /// A fault with its place filled in; `within` is the part of the scalar `source`.
    pub(crate) fn place(
        &self,
        fault: Fault,
        origin: Origin,
        within: Option<(&Text, (usize, usize))>,
    ) -> Fault {
        let mut fault = fault.at(origin);
        fault.export |= self.is_export();
        if fault.path.is_none() {
            fault.path = Some(self.path_text()).filter(|path| !path.is_empty());
        }
        fault.site = site(self.sources, origin, within);
        if let Some((_, (offset, length))) = within {
            fault = fault.sub_span(offset, length);
        }
        fault
    }

    pub(crate) fn site(&self, origin: Origin) -> Option<Site> {
        site(self.sources, origin, None)
    }

    /// Takes note of a warning. Each node that meets it is told, so it is found anew for each.
    pub(super) fn warn(&mut self, warning: Warning) {
        if self.mode != Mode::Explain {
            self.warnings.push(warning);
        }
        self.own = true;
    }

    pub(crate) fn report(&mut self, stop: Stop) {
        if self.faults.len() > MAX_FAULTS {
            return;
        }
        match stop {
            Stop::Missing(not_found) => self.faults.push(self.problem(*not_found)),
            Stop::Fault(fault) => self.faults.push(*fault),
            Stop::Reported => {}
        }
    }

    /// Takes note of a problem, after which there is nothing to be told of it.
    pub(super) fn reported(&mut self, stop: Stop) -> Stop {
        self.report(stop);
        Stop::Reported
    }

    pub(super) fn cycle(&self, address: usize) -> Fault {
        let from = self.way.active.iter().rposition(|active| active.address == address).unwrap_or(0);
        let path = |active: &Active| &self.way.keys[active.base..active.end];
        let mut steps: Vec<&Active> = self.way.active[from..].iter().collect();
        // An explanation meets a long one at each of its places, and shows its ends.
        if self.mode == Mode::Explain && steps.len() > 2 * ENDS {
            steps.drain(ENDS..steps.len() - ENDS);
        }
        // On the way into a container, the place that leads out again is what counts.
        for index in (1..steps.len().saturating_sub(1)).rev() {
            if path(steps[index + 1]).starts_with(path(steps[index])) {
                steps.remove(index);
            }
        }
        let text = |active: &Active| short_path(path(active), &self.settings.delimiter);
        let mut names: Vec<String> =
            steps.iter().copied().map(text).filter(|name| !name.is_empty()).collect();
        names.dedup();
        let last = names.last().cloned();
        names.extend(names.first().cloned());
        let mut fault = Fault::new(Kind::ReferenceCycle { cycle: names.join(" -> ") });
        fault.path = last;
        fault.export = self.exports && steps.last().is_some_and(|active| active.base == 0);
        for active in steps {
            fault = fault.note(format!("'{}' stands here", text(active)), self.site(active.origin));
        }
        let origin = self.way.active.last().map_or(Origin::NONE, |active| active.origin);
        Fault { export: fault.export, ..self.place(fault, origin, None) }
    }

    /// Notes which of a stack's values is being computed.
    pub(crate) fn at_entry(&mut self, origin: Origin) {
        if let Some(active) = self.way.active.last_mut() {
            active.origin = origin;
        }
    }
}

/// How many steps of a long circle are told at each of its ends, of one that is met often.
const ENDS: usize = 16;

/// The place of a node, or of a part of a scalar.
pub(crate) fn site(
    sources: &dyn Locate,
    origin: Origin,
    within: Option<(&Text, (usize, usize))>,
) -> Option<Site> {
    let (path, span) = sources.locate(origin)?;
    let mut site = Site::at(path, span);
    if let Some((source, (offset, length))) = within {
        let written = (span.end - span.start) as usize;
        let quotes = match written.checked_sub(source.len()) {
            Some(0) => Some(0),
            Some(2) => Some(1),
            _ => None,
        };
        if let Some(quote) = quotes
            && let (Some(before), Some(part)) = (source.get(..offset), source.get(offset..offset + length))
            && !before.contains('\n')
        {
            site.column += u32::try_from(before.chars().count()).unwrap_or(0) + quote;
            site.length = u32::try_from(part.chars().count()).unwrap_or(0);
        } else if let Some(bytes) = sources.bytes(origin.file) {
            // Its text does not stand in the file as it is.
            let part = (u32::try_from(offset).unwrap_or(u32::MAX), u32::try_from(length).unwrap_or(0));
            site = sub_span(&site, part, bytes.get(span.start as usize..).unwrap_or_default());
        }
    }
    Some(site)
}

/// The place of a problem: of its value, or of the part that is meant of it. `file` is all that the file
/// holds.
pub(crate) fn site_of(sources: &dyn Locate, fault: &Fault, file: &[u8]) -> Option<Site> {
    let origin = fault.origin?;
    let site = site(sources, origin, None)?;
    Some(match (fault.sub_span, sources.locate(origin)) {
        (Some(part), Some((_, span))) => {
            sub_span(&site, part, file.get(span.start as usize..).unwrap_or_default())
        }
        _ => site,
    })
}
