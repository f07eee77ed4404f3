//! The Python module `saltext.reclass._engine`: the engine as Python sees it.
//!
//! Nothing but translation: [`incoming`] and [`outgoing`] carry data over the border,
//! [`errors`] carries failures, [`inventory`] and [`questions`] ask the engine, [`editor`] edits
//! files. Three promises to a Salt master hold for each method:
//!
//! * a panic becomes an ordinary exception ([`errors::guard`]): Salt does not
//!   survive anything else;
//! * the interpreter is free for other threads while the engine works, and no
//!   lock of the engine is held while waiting for the interpreter;
//! * what is returned is new, and the caller may change it.

pub mod editor;
pub mod errors;
mod form;
pub mod incoming;
pub mod inventory;
mod known;
pub mod outgoing;
mod prototype;
pub mod questions;
mod strings;

/// The compiled part of `saltext.reclass`; use it through that package.
#[pyo3::pymodule]
mod _engine {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::editor::Editor;
    #[pymodule_export]
    use super::inventory::Inventory;

    /// Panics inside of the engine, to show what a caller then sees: an `InternalError`.
    #[pyfunction]
    fn panic(py: Python<'_>) -> PyResult<()> {
        super::errors::guard(|| py.detach(|| panic!("on request")))
    }

    /// Has the point `at` of the engine panic that is passed from now on, zero for none; tells how many were
    /// passed since the last time. Builds for tests alone have it.
    #[cfg(debug_assertions)]
    #[pyfunction]
    fn arm(at: usize) -> usize {
        crate::points::arm(at)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::errors::note_places_of_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
