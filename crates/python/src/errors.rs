//! Errors turn what went wrong in the engine into Python exceptions.
//!
//! The classes are Python's own, in `saltext.reclass`, so that they can be
//! caught where the engine is not installed. Which class an error gets depends
//! on its stable code alone.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::error::{Error, Fault, Kind};
use crate::memory;
use crate::report::{inert, short};
use crate::source::Site;

macro_rules! exceptions {
    ($($name:ident)*) => {
        /// The exceptions of `saltext.reclass`.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[expect(missing_docs, reason = "documented where they are defined, in Python")]
        pub enum Exception { $($name),* }

        impl Exception {
            fn class(self, py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
                match self {
                    $(Exception::$name => {
                        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
                        CLASS.import(py, "saltext.reclass.errors", stringify!($name))
                    })*
                }
            }
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

    /// An exception of this class.
    fn raise(
        self,
        py: Python<'_>,
        message: &str,
        code: &str,
        location: Option<String>,
        notes: Vec<String>,
        full: &str,
    ) -> PyErr {
        match self.class(py).and_then(|class| class.call1((message, code, location, notes, full))) {
            Ok(exception) => PyErr::from_value(exception),
            Err(failure) => failure,
        }
    }
}

/// The exception for an error of the engine: class and code of its first problem.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    exception_with_excerpts(py, error, "")
}

/// The same with the full form of the error, for those who may see the files.
pub fn exception_with_excerpts(py: Python<'_>, error: &Error, full: &str) -> PyErr {
    let first = error.first();
    let location = first.site.as_ref().map(ToString::to_string);
    let notes = error.faults().iter().flat_map(notes).collect();
    Exception::of(&first.kind).raise(py, &error.to_string(), first.code(), location, notes, full)
}

/// What there is to know of a problem beside its line: remarks, how its file came in, and the same
/// of the problems of other nodes behind it.
fn notes(fault: &Fault) -> Vec<String> {
    let placed = |text: &str, site: &Option<Site>| match site {
        Some(site) => inert(&format!("{} at {site}", short(text))),
        None => inert(&short(text)),
    };
    let remarks = fault.notes.iter().map(|note| placed(&note.text, &note.site));
    let chain = fault
        .chain
        .iter()
        .map(|link| placed(&format!("{} includes '{}'", link.includer, link.class), &link.site));
    remarks.chain(chain).chain(fault.causes.iter().flat_map(notes)).collect()
}

thread_local! {
    static PANICKED_AT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Has panics noted instead of printed. The text of a panic may hold a parameter's value, so only
/// its place in our source is kept.
pub fn note_places_of_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        PANICKED_AT.with_borrow_mut(|noted| *noted = place);
    }));
}

/// Runs the body of a method; a panic in it becomes an `InternalError`.
///
/// A panic that reaches Salt is a `BaseException`, and takes a worker of the master out for good.
pub fn guard<T>(body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let work = || {
        let _call = memory::Call::begin();
        body()
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        crate::engine::Inventory::forget_all();
        let place = PANICKED_AT.take();
        // Where Python makes no object, PyO3 panics.
        let refused = memory::is_limited() && place.contains("pyo3");
        let exhausted = refused.then(|| Fault::new(Kind::MemoryExhausted {}).into());
        if let Some(error) = memory::error(payload.as_ref()).or(exhausted) {
            return Python::attach(|py| Err(exception(py, &error)));
        }
        // Of a crate, the path below the folder of all crates.
        let place = place.rsplit("/registry/src/").next().unwrap_or_default();
        Python::attach(|py| {
            let kind = Kind::Internal { message: format!("panic at {place}") };
            Err(Exception::InternalError.raise(py, &kind.to_string(), kind.code(), None, Vec::new(), ""))
        })
    })
}
