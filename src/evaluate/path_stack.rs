//! The path stack keeps the paths under evaluation, for messages and their source positions.
//!
//! Most nodes have no message. So a fast evaluation tracks the depth only, and if there is a diagnostic, the
//! node is evaluated again with full paths.

use super::memo::SlotKey;
use super::{Evaluator, Locate, Mode, Stop};
use reclass_base::error::{Fault, Kind, MAX_FAULTS, Warning, short_path};
use reclass_base::source::{Origin, Site, Span};
use reclass_base::value::{Key, Text, Value};
use reclass_yaml::sub_span::{ScalarPositions, sub_span};

/// The paths under evaluation.
#[derive(Default)]
pub(super) struct PathStack {
    /// The keys of all frames, one path after the other.
    keys: Vec<Key>,
    /// The index at which the path of the current frame starts.
    base: usize,
    /// The number of keys, including those that a fast evaluation does not store.
    length: usize,
    /// The computations in progress.
    active: Vec<Active>,
}

/// A computation in progress, for the message of a cycle.
struct Active {
    key: SlotKey,
    base: usize,
    end: usize,
    origin: Origin,
}

impl Evaluator<'_> {
    /// Whether paths are left out of messages.
    pub(super) fn is_fast(&self) -> bool {
        self.mode == Mode::Fast
    }

    /// Starts a frame with another path, for example for a reference. `leave` returns to the previous one.
    pub(crate) fn enter<'k>(&mut self, path: impl IntoIterator<Item = &'k Key>) -> (usize, usize) {
        let before = (self.path_stack.base, self.path_stack.length);
        if !self.is_fast() {
            self.path_stack.base = self.path_stack.length;
            self.path_stack.keys.extend(path.into_iter().cloned());
            self.path_stack.length = self.path_stack.keys.len();
        }
        before
    }

    /// Goes back to an earlier path.
    pub(crate) fn leave(&mut self, before: (usize, usize)) {
        self.path_stack.keys.truncate(before.1);
        (self.path_stack.base, self.path_stack.length) = before;
    }

    /// Replaces the path of the current frame.
    pub(super) fn change<'k>(&mut self, path: impl IntoIterator<Item = &'k Key>) {
        if !self.is_fast() {
            self.path_stack.keys.truncate(self.path_stack.base);
            self.path_stack.keys.extend(path.into_iter().cloned());
            self.path_stack.length = self.path_stack.keys.len();
        }
    }

    /// The current path.
    pub(crate) fn path_keys(&self) -> &[Key] {
        &self.path_stack.keys[self.path_stack.base..]
    }

    /// The number of keys in the path. In a fast evaluation, an upper bound.
    pub(super) fn nesting(&self) -> usize {
        self.path_stack.length - self.path_stack.base
    }

    /// Goes to an entry of a mapping.
    pub(crate) fn push_key(&mut self, key: &Key) {
        self.path_stack.length += 1;
        if !self.is_fast() {
            self.path_stack.keys.push(key.clone());
        }
    }

    /// Goes to an entry whose key is a text.
    pub(crate) fn push_text(&mut self, key: &Text) {
        self.path_stack.length += 1;
        if !self.is_fast() {
            self.path_stack.keys.push(key.clone().into());
        }
    }

    pub(super) fn push_index(&mut self, index: usize) {
        self.path_stack.length += 1;
        if !self.is_fast() {
            self.path_stack.keys.push(Key(Value::Int(i64::try_from(index).unwrap_or(i64::MAX))));
        }
    }

    pub(super) fn pop_key(&mut self) {
        self.path_stack.length -= 1;
        self.path_stack.keys.truncate(self.path_stack.length);
    }

    pub(super) fn push_active(&mut self, key: SlotKey, origin: Origin) {
        if !self.is_fast() {
            let (base, end) = (self.path_stack.base, self.path_stack.length);
            self.path_stack.active.push(Active { key, base, end, origin });
        }
    }

    pub(super) fn pop_active(&mut self) {
        self.path_stack.active.pop();
    }

    /// The origin of the innermost computation in progress.
    pub(super) fn active_origin(&self) -> Origin {
        self.path_stack.active.last().map_or(Origin::NONE, |active| active.origin)
    }

    /// The current path, in the notation of references.
    pub(crate) fn path_text(&self) -> String {
        short_path(self.path_keys(), &self.settings.delimiter)
    }

    /// Whether the current path is one of the exports, and not the target of a reference in them.
    pub(super) fn is_export(&self) -> bool {
        self.exports && self.path_stack.base == 0
    }

    /// Adds path and source position to a fault. `within` is the relevant part of the scalar `source`.
    pub fn place(&self, fault: Fault, origin: Origin, within: Option<(&Text, (usize, usize))>) -> Fault {
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

    /// The source position of a YAML node.
    pub fn site(&self, origin: Origin) -> Option<Site> {
        site(self.sources, origin, None)
    }

    /// Records a warning. The result is not shared, so that each node gets its own warning.
    pub(super) fn warn(&mut self, warning: Warning) {
        if self.mode != Mode::Explain {
            self.warnings.push(warning);
        }
        self.own = true;
    }

    /// Records a problem at the current path.
    pub(crate) fn report(&mut self, stop: Stop) {
        if self.faults.len() > MAX_FAULTS {
            return;
        }
        match stop {
            Stop::Missing(not_found) => {
                let fault = self.problem(*not_found);
                self.faults.push(fault);
            }
            Stop::Fault(fault) => self.faults.push(*fault),
            Stop::Reported => {}
        }
    }

    /// Records a fault, so that nothing is left to report.
    pub(super) fn reported(&mut self, stop: Stop) -> Stop {
        self.report(stop);
        Stop::Reported
    }

    pub(super) fn cycle(&self, key: SlotKey) -> Fault {
        let from = self.path_stack.active.iter().rposition(|active| active.key == key).unwrap_or(0);
        let path = |active: &Active| &self.path_stack.keys[active.base..active.end];
        let mut steps: Vec<&Active> = self.path_stack.active[from..].iter().collect();
        // An explanation meets a long cycle at each of its paths, so it shows only the two ends.
        if self.mode == Mode::Explain && steps.len() > 2 * ENDS {
            steps.drain(ENDS..steps.len() - ENDS);
        }
        // Of the steps into a container, only the innermost one counts: it leads out again.
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
            fault = fault.note(format!("'{}' is set here", text(active)), self.site(active.origin));
        }
        let origin = self.path_stack.active.last().map_or(Origin::NONE, |active| active.origin);
        Fault { export: fault.export, ..self.place(fault, origin, None) }
    }

    /// Records the origin of the stack entry under computation.
    pub(crate) fn at_entry(&mut self, origin: Origin) {
        if let Some(active) = self.path_stack.active.last_mut() {
            active.origin = origin;
        }
    }
}

/// The number of steps to show at each end of a long cycle that is met often.
const ENDS: usize = 16;

/// The source position of a YAML node, or of a part of a scalar.
pub fn site(sources: &dyn Locate, origin: Origin, within: Option<(&Text, (usize, usize))>) -> Option<Site> {
    match within {
        None => sources.site(origin),
        Some((source, part)) => PartSites::of(sources, origin, source).site(part),
    }
}

/// The source positions of the parts of one scalar. What was read for one part is not read again for a later one.
pub struct PartSites<'s> {
    sources: &'s dyn Locate,
    origin: Origin,
    source: &'s Text,
    whole: Option<(Site, Span)>,
    /// The quotes before the text, if the file has it as it is.
    quotes: Option<u32>,
    /// The first line break in the text.
    line_break: usize,
    /// A byte of the text and the number of characters before it.
    counted: (usize, u32),
    /// The characters of a text that the file has in another notation.
    positions: Option<ScalarPositions>,
}

impl<'s> PartSites<'s> {
    /// The positions in the scalar at `origin`, whose text is `source`.
    pub fn of(sources: &'s dyn Locate, origin: Origin, source: &'s Text) -> PartSites<'s> {
        let whole = sources.locate(origin).map(|(path, span)| (Site::at(path, span), span));
        let written = whole.as_ref().map(|(_, span)| (span.end - span.start) as usize);
        let quotes = match written.and_then(|written| written.checked_sub(source.len())) {
            Some(0) => Some(0),
            Some(2) => Some(1),
            _ => None,
        };
        let line_break = source.find('\n').unwrap_or(source.len());
        PartSites { sources, origin, source, whole, quotes, line_break, counted: (0, 0), positions: None }
    }

    /// The position of a part, by its byte offset and length in the text.
    pub fn site(&mut self, (offset, length): (usize, usize)) -> Option<Site> {
        let (whole, span) = self.whole.as_ref()?;
        if whole.line == 0 {
            return Some(whole.clone());
        }
        if let Some(quotes) = self.quotes
            && offset <= self.line_break
            && let Some(part) = self.source.get(offset..offset + length)
        {
            let characters = |text: &str| u32::try_from(text.chars().count()).unwrap_or(0);
            let (from, before) = if self.counted.0 <= offset { self.counted } else { (0, 0) };
            let before = before + self.source.get(from..offset).map_or(0, characters);
            self.counted = (offset, before);
            let length = characters(part);
            return Some(Site { column: whole.column + before + quotes, length, ..whole.clone() });
        }
        if self.positions.is_none() {
            // The file has the text in another notation.
            let Some(bytes) = self.sources.bytes(self.origin.file) else { return Some(whole.clone()) };
            let scalar = bytes.get(span.start as usize..).unwrap_or_default();
            self.positions = Some(ScalarPositions::read(whole, scalar, self.source.len()));
        }
        self.positions.as_ref().map(|positions| positions.part((offset, length)))
    }
}

/// The source position of a fault: of its value, or of the relevant part. `file` is the content of the file.
pub fn site_of(sources: &dyn Locate, fault: &Fault, file: &[u8]) -> Option<Site> {
    let origin = fault.origin?;
    let site = site(sources, origin, None)?;
    Some(match (fault.sub_span, sources.locate(origin)) {
        (Some(part), Some((_, span))) => {
            sub_span(&site, part, file.get(span.start as usize..).unwrap_or_default())
        }
        _ => site,
    })
}
