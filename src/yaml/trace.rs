//! The events and the syntax error of a text as plain data, for tests that compare YAML readers.

use super::events::{Event, Events, Mark, SyntaxProblem};
use crate::base::error::{Error, Result};

/// Line and column, counted from zero.
pub type LineColumn = (u32, u32);

/// One event of libyaml.
#[derive(Clone, PartialEq, Debug)]
pub struct Traced {
    /// `Scalar`, `MappingStart` and so on.
    pub name: &'static str,
    /// Its start.
    pub start: LineColumn,
    /// Its end.
    pub end: LineColumn,
    /// Its anchor, or that of an alias.
    pub anchor: Option<String>,
    /// Its tag; a lone `!` counts as none.
    pub tag: Option<String>,
    /// The text of a scalar, and true if it decides the tag.
    pub scalar: Option<(String, bool)>,
}

/// Why a text is not YAML.
#[derive(Debug)]
pub enum Trouble {
    /// Invalid bytes, characters or size.
    Unreadable(Error),
    /// libyaml's error: context and its position, problem and its position.
    Syntax(&'static str, LineColumn, &'static str, LineColumn),
}

/// All events, up to the end or to the error.
pub fn trace(bytes: &[u8]) -> (Vec<Traced>, Option<Trouble>) {
    let mut traced = Vec::new();
    match events(bytes, &mut traced) {
        Ok(None) => (traced, None),
        Ok(Some(problem)) => {
            let SyntaxProblem { context, context_mark, problem, mark } = problem;
            let begun = if context.is_empty() { (0, 0) } else { place(context_mark) };
            (traced, Some(Trouble::Syntax(context, begun, problem, place(mark))))
        }
        Err(error) => (traced, Some(Trouble::Unreadable(error))),
    }
}

fn events(bytes: &[u8], traced: &mut Vec<Traced>) -> Result<Option<SyntaxProblem>> {
    let mut events = Events::new(bytes)?;
    loop {
        match events.parsed() {
            Ok((Event::StreamEnd, ..)) => return Ok(None),
            Ok((event, start, end)) => traced.push(self::traced(event, place(start), place(end))),
            Err(problem) => return Ok(Some(problem)),
        }
    }
}

fn traced(event: Event, start: LineColumn, end: LineColumn) -> Traced {
    let (name, anchor, tag, scalar) = match event {
        Event::StreamEnd => ("StreamEnd", None, None, None),
        Event::DocumentStart => ("DocumentStart", None, None, None),
        Event::DocumentEnd => ("DocumentEnd", None, None, None),
        Event::Alias { anchor } => ("Alias", Some(anchor), None, None),
        Event::Scalar { anchor, tag, value, plain } => ("Scalar", anchor, tag, Some((value, plain))),
        Event::SequenceStart { anchor, tag } => ("SequenceStart", anchor, tag, None),
        Event::SequenceEnd => ("SequenceEnd", None, None, None),
        Event::MappingStart { anchor, tag } => ("MappingStart", anchor, tag, None),
        Event::MappingEnd => ("MappingEnd", None, None, None),
    };
    Traced { name, start, end, anchor, tag, scalar }
}

fn place(mark: Mark) -> LineColumn {
    (mark.line, mark.column)
}
