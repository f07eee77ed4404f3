//! The parser: tokens to events, with the state machine of libyaml 0.2.5.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::events::{Event, Mark, SyntaxProblem};
use super::scan::{Scanned, Scanner, TokenData};
use super::slip;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceFirstEntry,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingFirstKey,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirstEntry,
    FlowSequenceEntry,
    FlowSequenceEntryMappingKey,
    FlowSequenceEntryMappingValue,
    FlowSequenceEntryMappingEnd,
    FlowMappingFirstKey,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

pub(super) struct Parser<'a> {
    pub(super) scanner: Scanner<'a>,
    pub(super) state: State,
    pub(super) states: Vec<State>,
    /// The start marks of the open collections.
    pub(super) marks: Vec<Mark>,
    /// Handles and their prefixes.
    tag_directives: FxHashMap<String, String>,
}

type ParsedEvent<'a> = Scanned<(Event<'a>, Mark, Mark)>;

#[expect(clippy::unnecessary_wraps, reason = "the last step of many states")]
fn empty_scalar<'a>(mark: Mark) -> ParsedEvent<'a> {
    Ok((Event::Scalar { anchor: None, tag: None, value: Cow::Borrowed(""), plain: true }, mark, mark))
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Parser<'a> {
        Parser {
            scanner: Scanner::new(text),
            state: State::ImplicitDocumentStart,
            states: Vec::with_capacity(8),
            marks: Vec::with_capacity(8),
            tag_directives: FxHashMap::default(),
        }
    }

    /// The next event; `StreamEnd` repeats.
    pub(super) fn next(&mut self) -> ParsedEvent<'a> {
        match self.state {
            State::ImplicitDocumentStart => self.document_start(true),
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(true, false),
            State::BlockSequenceFirstEntry => self.block_sequence_entry(true),
            State::BlockSequenceEntry => self.block_sequence_entry(false),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingFirstKey => self.block_mapping_key(true),
            State::BlockMappingKey => self.block_mapping_key(false),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirstEntry => self.flow_sequence_entry(true),
            State::FlowSequenceEntry => self.flow_sequence_entry(false),
            State::FlowSequenceEntryMappingKey => self.flow_sequence_mapping_key(),
            State::FlowSequenceEntryMappingValue => self.flow_sequence_mapping_value(),
            State::FlowSequenceEntryMappingEnd => {
                let (start, _) = self.peek_marks()?;
                self.state = State::FlowSequenceEntry;
                Ok((Event::MappingEnd, start, start))
            }
            State::FlowMappingFirstKey => self.flow_mapping_key(true),
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(false),
            State::FlowMappingEmptyValue => self.flow_mapping_value(true),
            State::End => Ok((Event::StreamEnd, self.scanner.mark, self.scanner.mark)),
        }
    }

    fn peek(&mut self) -> Scanned<&TokenData<'a>> {
        Ok(&self.scanner.peek()?.data)
    }

    fn peek_marks(&mut self) -> Scanned<(Mark, Mark)> {
        let token = self.scanner.peek()?;
        Ok((token.start, token.end))
    }

    /// Consumes the token and returns its marks.
    fn skip(&mut self) -> Scanned<(Mark, Mark)> {
        let marks = self.peek_marks()?;
        self.scanner.skip_token();
        Ok(marks)
    }

    pub(super) fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    fn fail<T>(&mut self, context: &'static str, context_mark: Mark, problem: &'static str) -> Scanned<T> {
        let (mark, _) = self.peek_marks()?;
        Err(Box::new(SyntaxProblem { context, context_mark, problem, mark }))
    }

    /// The error of a collection that is not closed.
    fn fail_within<T>(&mut self, context: &'static str, problem: &'static str) -> Scanned<T> {
        let began = self.marks.pop().unwrap_or_default();
        self.fail(context, began, problem)
    }

    fn document_start(&mut self, implicit: bool) -> ParsedEvent<'a> {
        if !implicit {
            while *self.peek()? == TokenData::DocumentEnd {
                self.scanner.skip_token();
            }
        }
        let (start, end) = self.peek_marks()?;
        match self.peek()? {
            TokenData::StreamEnd => {
                self.state = State::End;
                return Ok((Event::StreamEnd, start, end));
            }
            TokenData::VersionDirective { .. } | TokenData::TagDirective(_) | TokenData::DocumentStart => {}
            _ if implicit => {
                self.process_directives()?;
                self.states.push(State::DocumentEnd);
                self.state = State::BlockNode;
                return Ok((Event::DocumentStart, start, start));
            }
            _ => {}
        }
        self.process_directives()?;
        if *self.peek()? != TokenData::DocumentStart {
            return self.fail("", Mark::default(), slip::NO_DOCUMENT);
        }
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        let (_, end) = self.skip()?;
        Ok((Event::DocumentStart, start, end))
    }

    fn process_directives(&mut self) -> Scanned<()> {
        let mut version_seen = false;
        loop {
            let token = self.scanner.peek()?;
            let fail = |problem| {
                Err(Box::new(SyntaxProblem {
                    context: "",
                    context_mark: Mark::default(),
                    problem,
                    mark: token.start,
                }))
            };
            match &mut token.data {
                TokenData::VersionDirective { .. } if version_seen => {
                    return fail("found duplicate %YAML directive");
                }
                TokenData::VersionDirective { major: 1, minor: 1 | 2 } => version_seen = true,
                TokenData::VersionDirective { .. } => {
                    return fail("found incompatible YAML document");
                }
                TokenData::TagDirective(names) => {
                    let (handle, prefix) = std::mem::take(&mut **names);
                    if self.tag_directives.contains_key(&handle) {
                        return fail("found duplicate %TAG directive");
                    }
                    self.tag_directives.insert(handle, prefix);
                }
                _ => break,
            }
            self.scanner.skip_token();
        }
        Ok(())
    }

    fn document_content(&mut self) -> ParsedEvent<'a> {
        match self.peek()? {
            TokenData::VersionDirective { .. }
            | TokenData::TagDirective(_)
            | TokenData::DocumentStart
            | TokenData::DocumentEnd
            | TokenData::StreamEnd => {
                self.pop_state();
                empty_scalar(self.peek_marks()?.0)
            }
            _ => self.node(true, false),
        }
    }

    fn document_end(&mut self) -> ParsedEvent<'a> {
        let (start, _) = self.peek_marks()?;
        let mut end = start;
        if *self.peek()? == TokenData::DocumentEnd {
            end = self.skip()?.1;
        }
        self.tag_directives.clear();
        self.state = State::DocumentStart;
        Ok((Event::DocumentEnd, start, end))
    }

    fn node(&mut self, block: bool, indentless_sequence: bool) -> ParsedEvent<'a> {
        let token = self.scanner.peek()?;
        let (mut start, mut end) = (token.start, token.end);
        let alone = match &mut token.data {
            // Fast path: most nodes are scalars without anchor and tag.
            TokenData::Scalar { value, plain } => {
                Some(Event::Scalar { anchor: None, tag: None, value: std::mem::take(value), plain: *plain })
            }
            TokenData::Alias(anchor) => Some(Event::Alias { anchor }),
            _ => None,
        };
        if let Some(event) = alone {
            self.pop_state();
            self.scanner.skip_token();
            return Ok((event, start, end));
        }
        end = start;
        let (mut anchor, mut tag) = (None, None);
        let mut tag_mark = start;
        // An anchor and a tag, each at most once, in any order.
        for number in 0..2 {
            let token = self.scanner.peek()?;
            match &mut token.data {
                TokenData::Anchor(name) if anchor.is_none() => anchor = Some(*name),
                TokenData::Tag(names) if tag.is_none() => {
                    tag = Some(std::mem::take(&mut **names));
                    tag_mark = token.start;
                }
                _ => break,
            }
            if number == 0 {
                start = token.start;
            }
            end = token.end;
            self.scanner.skip_token();
        }
        let tag = tag.map(|(handle, suffix)| self.full_tag(&handle, suffix, start, tag_mark)).transpose()?;
        // The tag `!` is no tag of the event: it only decides `plain`.
        let is_bare = tag.as_deref() == Some("!");
        let tag = tag.filter(|_| !is_bare);
        let token = self.scanner.peek()?;
        let token_end = token.end;
        let event = match &mut token.data {
            TokenData::BlockEntry if indentless_sequence => {
                self.state = State::IndentlessSequenceEntry;
                Event::SequenceStart { anchor, tag }
            }
            TokenData::Scalar { value, plain } => {
                let plain = *plain && tag.is_none() || is_bare;
                let value = std::mem::take(value);
                self.pop_state();
                self.scanner.skip_token();
                Event::Scalar { anchor, tag, value, plain }
            }
            TokenData::FlowSequenceStart => {
                self.state = State::FlowSequenceFirstEntry;
                Event::SequenceStart { anchor, tag }
            }
            TokenData::FlowMappingStart => {
                self.state = State::FlowMappingFirstKey;
                Event::MappingStart { anchor, tag }
            }
            TokenData::BlockSequenceStart if block => {
                self.state = State::BlockSequenceFirstEntry;
                Event::SequenceStart { anchor, tag }
            }
            TokenData::BlockMappingStart if block => {
                self.state = State::BlockMappingFirstKey;
                Event::MappingStart { anchor, tag }
            }
            _ if anchor.is_some() || tag.is_some() || is_bare => {
                self.pop_state();
                let plain = !is_bare && tag.as_deref().is_none_or(str::is_empty);
                return Ok((Event::Scalar { anchor, tag, value: Cow::Borrowed(""), plain }, start, end));
            }
            _ => {
                let context = if block { "while parsing a block node" } else { "while parsing a flow node" };
                return self.fail(context, start, "did not find expected node content");
            }
        };
        Ok((event, start, token_end))
    }

    fn full_tag(&self, handle: &str, suffix: String, start: Mark, mark: Mark) -> Scanned<String> {
        if handle.is_empty() {
            return Ok(suffix);
        }
        let implicit = match handle {
            "!" => Some("!"),
            "!!" => Some("tag:yaml.org,2002:"),
            _ => None,
        };
        let Some(prefix) = self.tag_directives.get(handle).map(String::as_str).or(implicit) else {
            let problem = "found undefined tag handle";
            return Err(Box::new(SyntaxProblem {
                context: "while parsing a node",
                context_mark: start,
                problem,
                mark,
            }));
        };
        Ok(prefix.to_owned() + &suffix)
    }

    /// Records the start mark of a collection.
    fn begin(&mut self, first: bool) -> Scanned<()> {
        if first {
            let (start, _) = self.skip()?;
            self.marks.push(start);
        }
        Ok(())
    }

    fn finish(&mut self, event: Event<'a>) -> ParsedEvent<'a> {
        self.pop_state();
        self.marks.pop();
        let (start, end) = self.skip()?;
        Ok((event, start, end))
    }

    /// A node, followed by the state `next`.
    fn node_then(&mut self, next: State, block: bool, indentless_sequence: bool) -> ParsedEvent<'a> {
        self.states.push(next);
        self.node(block, indentless_sequence)
    }

    fn block_sequence_entry(&mut self, first: bool) -> ParsedEvent<'a> {
        self.begin(first)?;
        match self.peek()? {
            TokenData::BlockEntry => {
                let (_, end) = self.skip()?;
                if matches!(self.peek()?, TokenData::BlockEntry | TokenData::BlockEnd) {
                    self.state = State::BlockSequenceEntry;
                    return empty_scalar(end);
                }
                self.node_then(State::BlockSequenceEntry, true, false)
            }
            TokenData::BlockEnd => self.finish(Event::SequenceEnd),
            _ => self.fail_within("while parsing a block collection", slip::NO_DASH),
        }
    }

    fn indentless_sequence_entry(&mut self) -> ParsedEvent<'a> {
        if *self.peek()? != TokenData::BlockEntry {
            let (start, _) = self.peek_marks()?;
            self.pop_state();
            return Ok((Event::SequenceEnd, start, start));
        }
        let (_, end) = self.skip()?;
        let next = self.peek()?;
        if matches!(next, TokenData::BlockEntry | TokenData::Key | TokenData::Value | TokenData::BlockEnd) {
            self.state = State::IndentlessSequenceEntry;
            return empty_scalar(end);
        }
        self.node_then(State::IndentlessSequenceEntry, true, false)
    }

    fn block_mapping_key(&mut self, first: bool) -> ParsedEvent<'a> {
        self.begin(first)?;
        match self.peek()? {
            TokenData::Key => {
                let (_, end) = self.skip()?;
                if matches!(self.peek()?, TokenData::Key | TokenData::Value | TokenData::BlockEnd) {
                    self.state = State::BlockMappingValue;
                    return empty_scalar(end);
                }
                self.node_then(State::BlockMappingValue, true, true)
            }
            TokenData::BlockEnd => self.finish(Event::MappingEnd),
            _ => self.fail_within("while parsing a block mapping", slip::NO_KEY),
        }
    }

    fn block_mapping_value(&mut self) -> ParsedEvent<'a> {
        let (start, _) = self.peek_marks()?;
        if *self.peek()? != TokenData::Value {
            self.state = State::BlockMappingKey;
            return empty_scalar(start);
        }
        let (_, end) = self.skip()?;
        if matches!(self.peek()?, TokenData::Key | TokenData::Value | TokenData::BlockEnd) {
            self.state = State::BlockMappingKey;
            return empty_scalar(end);
        }
        self.node_then(State::BlockMappingKey, true, true)
    }

    fn flow_sequence_entry(&mut self, first: bool) -> ParsedEvent<'a> {
        self.begin(first)?;
        if *self.peek()? != TokenData::FlowSequenceEnd {
            if !first {
                if *self.peek()? != TokenData::FlowEntry {
                    return self.fail_within("while parsing a flow sequence", slip::NO_COMMA_IN_LIST);
                }
                self.scanner.skip_token();
            }
            match self.peek()? {
                TokenData::Key => {
                    self.state = State::FlowSequenceEntryMappingKey;
                    let (start, end) = self.skip()?;
                    return Ok((Event::MappingStart { anchor: None, tag: None }, start, end));
                }
                TokenData::FlowSequenceEnd => {}
                _ => return self.node_then(State::FlowSequenceEntry, false, false),
            }
        }
        self.finish(Event::SequenceEnd)
    }

    fn flow_sequence_mapping_key(&mut self) -> ParsedEvent<'a> {
        let next = self.peek()?;
        if matches!(next, TokenData::Value | TokenData::FlowEntry | TokenData::FlowSequenceEnd) {
            // As libyaml: any token is skipped here.
            let (_, end) = self.skip()?;
            self.state = State::FlowSequenceEntryMappingValue;
            return empty_scalar(end);
        }
        self.node_then(State::FlowSequenceEntryMappingValue, false, false)
    }

    fn flow_sequence_mapping_value(&mut self) -> ParsedEvent<'a> {
        if *self.peek()? == TokenData::Value {
            self.scanner.skip_token();
            if !matches!(self.peek()?, TokenData::FlowEntry | TokenData::FlowSequenceEnd) {
                return self.node_then(State::FlowSequenceEntryMappingEnd, false, false);
            }
        }
        self.state = State::FlowSequenceEntryMappingEnd;
        empty_scalar(self.peek_marks()?.0)
    }

    fn flow_mapping_key(&mut self, first: bool) -> ParsedEvent<'a> {
        self.begin(first)?;
        if *self.peek()? != TokenData::FlowMappingEnd {
            if !first {
                if *self.peek()? != TokenData::FlowEntry {
                    return self.fail_within("while parsing a flow mapping", slip::NO_COMMA_IN_MAPPING);
                }
                self.scanner.skip_token();
            }
            match self.peek()? {
                TokenData::Key => {
                    self.scanner.skip_token();
                    let next = self.peek()?;
                    if !matches!(next, TokenData::Value | TokenData::FlowEntry | TokenData::FlowMappingEnd) {
                        return self.node_then(State::FlowMappingValue, false, false);
                    }
                    self.state = State::FlowMappingValue;
                    return empty_scalar(self.peek_marks()?.0);
                }
                TokenData::FlowMappingEnd => {}
                _ => return self.node_then(State::FlowMappingEmptyValue, false, false),
            }
        }
        self.finish(Event::MappingEnd)
    }

    fn flow_mapping_value(&mut self, empty: bool) -> ParsedEvent<'a> {
        if !empty && *self.peek()? == TokenData::Value {
            self.scanner.skip_token();
            if !matches!(self.peek()?, TokenData::FlowEntry | TokenData::FlowMappingEnd) {
                return self.node_then(State::FlowMappingKey, false, false);
            }
        }
        self.state = State::FlowMappingKey;
        empty_scalar(self.peek_marks()?.0)
    }
}
