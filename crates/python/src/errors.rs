//! Converts errors of the engine to Python exceptions.
//!
//! The classes are Python classes in `saltext.reclass`, so callers can catch them even if the engine is not
//! installed. The class of an exception depends only on the stable code of the error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use crate::once::objects;
use reclass::error::{Error, Fault, Kind, Link};
use reclass::error::{inert, short, with_names};
use reclass::source::Site;

macro_rules! exceptions {
    ($($name:ident)*) => {
        /// The exceptions of `saltext.reclass`.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Exception { $($name),* }

        impl Exception {
            /// The names of all, in order.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];
        }
    };
}

exceptions! { ReclassError NodeNotFoundError ClassNotFoundError ReferenceNotFoundError SettingsError WireError InternalError }

impl Exception {
    /// The class for an error of this kind.
    fn of(kind: &Kind) -> Exception {
        match kind {
            Kind::NodeNotFound { .. } => Exception::NodeNotFoundError,
            Kind::ClassNotFound { .. } => Exception::ClassNotFoundError,
            Kind::ReferenceNotFound { .. } => Exception::ReferenceNotFoundError,
            Kind::UnknownSetting { .. }
            | Kind::SettingType { .. }
            | Kind::SettingValue { .. }
            | Kind::UnknownRule { .. }
            | Kind::SettingPattern { .. }
            | Kind::UriOverlap { .. }
            | Kind::ConfigFile { .. }
            | Kind::StorageOption { .. }
            | Kind::StorageUnsupported { .. } => Exception::SettingsError,
            Kind::WireType { .. } => Exception::WireError,
            Kind::Internal { .. } => Exception::InternalError,
            _ => Exception::ReclassError,
        }
    }

    /// Creates an exception of this class.
    fn raise(self, py: Python<'_>, arguments: Arguments<'_>) -> PyErr {
        match objects(py).exceptions[self as usize].bind(py).call1(arguments) {
            Ok(exception) => PyErr::from_value(exception),
            Err(failure) => failure,
        }
    }
}

/// The exception for an error of the engine, with the class and code of its first fault.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    exception_with_excerpts(py, error, "", false)
}

/// The same with the full form of the error, for readers with access to the files, and whether it was raised
/// before.
pub fn exception_with_excerpts(py: Python<'_>, error: &Error, full: &str, repeated: bool) -> PyErr {
    let first = error.first();
    let location = first.site.as_ref().map(ToString::to_string);
    let notes = error.faults().iter().flat_map(notes).collect();
    let mut problems = Vec::new();
    error.faults().iter().for_each(|fault| add_problem(fault, &mut problems));
    let arguments = (&*with_names(error), first.code(), location, notes, full, problems);
    let raised = Exception::of(&first.kind).raise(py, arguments);
    let value = raised.value(py);
    match value.setattr("repeated", repeated).and_then(|()| value.setattr("sent", error.to_string())) {
        Ok(()) => raised,
        Err(failure) => failure,
    }
}

/// The arguments of `ReclassError`: message, code, location, notes, the full form and the problems.
type Arguments<'a> = (&'a str, &'a str, Option<String>, Vec<String>, &'a str, Vec<Problem>);

/// The fields of `saltext.reclass.Problem`.
type Problem =
    (&'static str, String, Option<String>, Option<String>, Option<String>, Vec<String>, Option<String>);

/// Adds a problem and then its causes in other nodes: one per line of the concise form.
fn add_problem(fault: &Fault, problems: &mut Vec<Problem>) {
    problems.push((
        fault.code(),
        inert(&fault.kind.to_string()),
        fault.site.as_ref().map(|site| inert(&site.to_string())),
        fault.node.as_ref().map(|node| inert(&short(node))),
        fault.path.as_ref().map(|path| inert(&short(path))),
        chain(fault).collect(),
        fault.kind.help().as_deref().map(inert),
    ));
    fault.causes.iter().for_each(|cause| add_problem(cause, problems));
}

/// The notes on a problem beside its line: its own, its include chain, and those of its causes in other
/// nodes.
fn notes(fault: &Fault) -> Vec<String> {
    let remarks = fault.notes.iter().map(|note| placed(&note.text, note.site.as_ref()));
    remarks.chain(chain(fault)).chain(fault.causes.iter().flat_map(notes)).collect()
}

/// The include chain of a problem's file.
fn chain(fault: &Fault) -> impl Iterator<Item = String> {
    let text = |link: &Link| format!("{} includes '{}'", link.includer, link.class);
    fault.chain.iter().map(move |link| placed(&text(link), link.site.as_ref()))
}

fn placed(text: &str, site: Option<&Site>) -> String {
    match site {
        Some(site) => inert(&format!("{} at {site}", short(text))),
        None => inert(&short(text)),
    }
}

/// Runs the body of a method. A panic becomes an `InternalError`.
///
/// A panic that reaches Salt is a `BaseException`, and removes a worker of the master permanently.
pub fn guard<T>(body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        reclass_serve::Served::forget_all();
        let place = reclass_base::panics::take_location();
        // For a file of a dependency, the path below the folder of the registry.
        let place = place.rsplit("/registry/src/").next().unwrap_or_default();
        Python::attach(|py| {
            let kind = Kind::Internal { message: format!("panic at {place}") };
            let arguments = (&*kind.to_string(), kind.code(), None, Vec::new(), "", Vec::new());
            Err(Exception::InternalError.raise(py, arguments))
        })
    })
}
