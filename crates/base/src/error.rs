//! Diagnostics as data: the message, the position, the include chain, notes and help.
//!
//! A [`Kind`] holds the data of one diagnostic and has its stable code, message and help. `concise`
//! has the one-line form, and the room `output` the other forms.

mod concise;
pub mod help;
mod kind;
mod names;
mod short;

use std::fmt;
use std::sync::Arc;

pub use concise::{by_problem, concise, concise_warning, inert, with_names};
pub use concise::{is_active, names_its_node, names_its_path};
pub use kind::{ErrorRow, Kind, article};
pub use short::{short, short_path};

use serde::Serialize;

use crate::source::{Origin, Site};
use crate::value::Text;

/// The result of an operation that can fail because of an inventory.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One step of an include chain: a file, the class it includes, and the position of the entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Link {
    /// `node 'web1'`, `class 'web.server'` or `class mapping '*.lan default'`.
    pub includer: String,
    /// The name of the class.
    pub class: Text,
    /// The place of the entry.
    pub site: Option<Site>,
}

/// A note, with or without a position: `'network' is set in …`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The message, lower case, without a full stop.
    pub text: String,
    /// The position that the note is about.
    pub site: Option<Site>,
}

/// One diagnostic, an error or a warning.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// The kind of diagnostic, with its data.
    pub kind: Kind,
    /// The origin of the value, until [`Fault::site`] is set from it.
    pub origin: Option<Origin>,
    /// A part of the scalar at `origin`: byte offset and length in its text.
    pub sub_span: Option<(u32, u32)>,
    /// The position in a file.
    pub site: Option<Site>,
    /// The setting that caused it, and the part of its value, if no file of the inventory did.
    pub setting: Option<(&'static str, Text)>,
    /// The node that was evaluated.
    pub node: Option<Text>,
    /// The parameter or export that holds the value, in the notation of references.
    pub path: Option<String>,
    /// True if `path` is an export.
    pub export: bool,
    /// The include chain from the node to the file; empty for the node's own file.
    pub chain: Vec<Link>,
    /// Notes.
    pub notes: Vec<Note>,
    /// Diagnostics of other nodes that caused this one.
    pub causes: Vec<Fault>,
}

/// A diagnostic that does not prevent a result.
pub type Warning = Fault;

/// Maximum number of faults in an [`Error`], and of warnings about one node or file.
pub const MAX_FAULTS: usize = 1_000;

/// Adds a fault, up to one more than [`MAX_FAULTS`]. The extra one shows [`truncate_faults`] that there are more.
pub fn push_fault(faults: &mut Vec<Fault>, fault: Fault) {
    if faults.len() <= MAX_FAULTS {
        faults.push(fault);
    }
}

/// Truncates a list of faults; the last one then gets a note that there are more.
pub fn truncate_faults(faults: &mut Vec<Fault>, most: usize) {
    if faults.len() > most {
        faults.truncate(most);
        let note = Note { text: "there are more; only the first ones are reported".into(), site: None };
        if let Some(last) = faults.last_mut().filter(|last| !last.notes.contains(&note)) {
            last.notes.push(note);
        }
    }
}

/// Keeps only the first fault, unless the setting `group_errors` asks for all (R5).
pub fn truncate_unless_grouped(faults: &mut Vec<Fault>, all: bool) {
    if !all {
        faults.truncate(1);
    }
}

impl Fault {
    /// A fault without a position.
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
    /// Sets the origin of the value.
    #[must_use]
    pub fn at(mut self, origin: Origin) -> Fault {
        self.origin = Some(origin);
        self
    }
    /// Sets the position.
    #[must_use]
    pub fn at_site(mut self, site: Site) -> Fault {
        self.site = Some(site);
        self
    }
    /// Sets the part of the scalar, in bytes of its text.
    #[must_use]
    pub fn sub_span(mut self, offset: usize, length: usize) -> Fault {
        self.sub_span = u32::try_from(offset).ok().zip(u32::try_from(length).ok());
        self
    }
    /// Sets the path of the parameter that holds the value.
    #[must_use]
    pub fn in_path(mut self, path: impl Into<String>) -> Fault {
        self.path = Some(path.into());
        self
    }
    /// Adds a note.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>, site: Option<Site>) -> Fault {
        self.notes.push(Note { text: text.into(), site });
        self
    }
    /// The setting that caused it, and the key or text in its value.
    pub fn setting(&self) -> Option<(&str, Option<&str>)> {
        match &self.setting {
            Some((name, part)) => Some((name, Some(part))),
            None => self.kind.setting(),
        }
    }
    /// The stable code, `reference-not-found`.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }
}

/// One to [`MAX_FAULTS`] faults in place of a result. A clone shares them: the error of a file is the
/// error of each node that includes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Error(Arc<Vec<Fault>>);

impl Error {
    /// An error of at least one fault; none is an internal error.
    pub fn new(mut faults: Vec<Fault>) -> Error {
        if faults.is_empty() {
            return Fault::new(Kind::Internal { message: "an error without a problem".into() }).into();
        }
        truncate_faults(&mut faults, MAX_FAULTS);
        Error(Arc::new(faults))
    }
    /// The faults, at least one.
    pub fn faults(&self) -> &[Fault] {
        &self.0
    }
    /// The faults, mutable.
    pub fn faults_mut(&mut self) -> &mut [Fault] {
        Arc::<Vec<Fault>>::make_mut(&mut self.0)
    }
    /// The owned faults.
    pub fn into_faults(self) -> Vec<Fault> {
        Arc::unwrap_or_clone(self.0)
    }
    /// The first fault.
    pub fn first(&self) -> &Fault {
        &self.0[0]
    }
    /// The exit code of a program that ends with this error (Y8).
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
    /// The concise form: one line per fault, no source text, no values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&concise(self))
    }
}

impl std::error::Error for Error {}
