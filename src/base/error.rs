//! Errors turn what went wrong into data: what, where, how one got there, and a way out.
//!
//! The [`Kind`] holds the data of one problem and knows its stable code, its sentence and its way out;
//! `concise` holds the one-line form, and `report` the others.

mod concise;
mod help;
mod kind;
mod names;
mod short;

use std::fmt;
use std::sync::Arc;

pub use concise::{concise, concise_warning, inert};
pub(crate) use concise::{is_active, names_its_node, names_its_path};
pub use kind::{Kind, article};
pub use short::{short, short_path};

use serde::Serialize;

use crate::base::source::{Origin, Site};
use crate::base::value::Text;

/// The result of everything that can fail because of an inventory.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One step of an include chain: who listed which class, and where.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Link {
    /// `node 'web1'`, `class 'web.server'` or `class mapping '*.lan default'`.
    pub includer: String,
    /// The name of the class as it was looked up.
    pub class: Text,
    /// Where it is listed.
    pub site: Option<Site>,
}

/// A remark with or without a place: `'network' is set in …`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The sentence, lower case, without a full stop.
    pub text: String,
    /// The place it speaks of.
    pub site: Option<Site>,
}

/// One problem, an error or a warning.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// What went wrong.
    pub kind: Kind,
    /// The value it is about, until [`Fault::site`] is filled in from it.
    pub origin: Option<Origin>,
    /// Byte offset in the text of the scalar at `origin`, and the length meant.
    pub sub_span: Option<(u32, u32)>,
    /// The place.
    pub site: Option<Site>,
    /// The setting it comes from, and what in it, where that is no file of the inventory.
    pub setting: Option<(&'static str, Text)>,
    /// The node that was rendered.
    pub node: Option<Text>,
    /// The parameter or export that holds the value, in the notation of references.
    pub path: Option<String>,
    /// Whether it is an export.
    pub export: bool,
    /// How the file came in, from the node down to the file; empty for the node's own file.
    pub chain: Vec<Link>,
    /// More to know.
    pub notes: Vec<Note>,
    /// Problems of other nodes that caused this one.
    pub causes: Vec<Fault>,
}

/// A problem that does not stop anything.
pub type Warning = Fault;

/// The largest number of problems in an [`Error`], and of warnings about one node or file.
pub const MAX_FAULTS: usize = 1_000;

/// Adds a problem to a list that will be cut by [`truncate_faults`]: one more than fit shows that there are more.
pub fn push_fault(told: &mut Vec<Fault>, fault: Fault) {
    if told.len() <= MAX_FAULTS {
        told.push(fault);
    }
}

/// Cuts a list of problems; the last one then says that there are more.
pub fn truncate_faults(told: &mut Vec<Fault>, most: usize) {
    if told.len() > most {
        told.truncate(most);
        let note = Note { text: "more than this are not told at once".into(), site: None };
        if let Some(last) = told.last_mut().filter(|last| !last.notes.contains(&note)) {
            last.notes.push(note);
        }
    }
}

/// Leaves out all but the first problem, unless all are asked for (`group_errors`, R5).
pub fn truncate_unless_grouped(told: &mut Vec<Fault>, all: bool) {
    if !all {
        told.truncate(1);
    }
}

impl Fault {
    /// A problem without a place yet.
    pub fn new(kind: Kind) -> Fault {
        Fault {
            kind,
            origin: None,
            sub_span: None,
            site: None,
            setting: None,
            node: None,
            path: None,
            export: false,
            chain: Vec::new(),
            notes: Vec::new(),
            causes: Vec::new(),
        }
    }
    /// The same with the value it is about.
    #[must_use]
    pub fn at(mut self, origin: Origin) -> Fault {
        self.origin = Some(origin);
        self
    }
    /// The same with its place.
    #[must_use]
    pub fn at_site(mut self, site: Site) -> Fault {
        self.site = Some(site);
        self
    }
    /// The same with the part of the scalar that is meant, in bytes of its text.
    #[must_use]
    pub fn sub_span(mut self, offset: usize, length: usize) -> Fault {
        self.sub_span = u32::try_from(offset).ok().zip(u32::try_from(length).ok());
        self
    }
    /// The same with the path of the parameter that holds it.
    #[must_use]
    pub fn in_path(mut self, path: impl Into<String>) -> Fault {
        self.path = Some(path.into());
        self
    }
    /// The same with a remark.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>, site: Option<Site>) -> Fault {
        self.notes.push(Note { text: text.into(), site });
        self
    }
    /// The setting that it is about, and what in it: a key or a text of its value.
    pub fn setting(&self) -> Option<(&str, Option<&str>)> {
        match &self.setting {
            Some((name, part)) => Some((name, Some(part))),
            None => self.kind.setting(),
        }
    }
    /// The stable code, `reference-not-found`.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            Kind::Lint { rule, .. } => rule,
            kind => kind.code(),
        }
    }
}

/// One to [`MAX_FAULTS`] problems that leave no result. A clone shares them: the error of a file is the
/// error of each node that includes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Error(Arc<Vec<Fault>>);

impl Error {
    /// An error of at least one problem; without any it becomes an internal error.
    pub fn new(mut faults: Vec<Fault>) -> Error {
        if faults.is_empty() {
            return Fault::new(Kind::Internal { message: "an error without a problem".into() }).into();
        }
        truncate_faults(&mut faults, MAX_FAULTS);
        Error(Arc::new(faults))
    }
    /// The problems, at least one.
    pub fn faults(&self) -> &[Fault] {
        &self.0
    }
    /// The problems, to complete them.
    pub fn faults_mut(&mut self) -> &mut [Fault] {
        Arc::<Vec<Fault>>::make_mut(&mut self.0)
    }
    /// The problems themselves.
    pub fn into_faults(self) -> Vec<Fault> {
        Arc::unwrap_or_clone(self.0)
    }
    /// The first problem.
    pub fn first(&self) -> &Fault {
        &self.0[0]
    }
    /// The exit code of a program that stops for it (ruling Y8).
    pub fn exit_code(&self) -> u8 {
        self.first().kind.exit_code()
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error(Arc::new(vec![fault]))
    }
}

impl fmt::Display for Error {
    /// The concise form: one line a problem, no source text, no values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&concise(self))
    }
}

impl std::error::Error for Error {}
