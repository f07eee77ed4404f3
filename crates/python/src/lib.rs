//! The Python module `saltext.reclass._engine`: the engine as Python sees it.
//!
//! Nothing but translation: [`incoming`] and [`outgoing`] carry data over the border,
//! [`errors`] carries failures, [`log`] writes the log, [`data`] turns results into Python data, [`inventory`] asks the engine, [`editor`] edits
//! files. Three promises to a Salt master hold for each method:
//!
//! * a panic becomes an ordinary exception ([`errors::guard`]): Salt does not
//!   survive anything else;
//! * the interpreter is free for other threads while the engine works, and no
//!   lock of the engine is held while waiting for the interpreter;
//! * what is returned is new, and the caller may change it.

mod data;
pub mod editor;
pub mod errors;
mod form;
pub mod incoming;
pub mod inventory;
mod known;
mod log;
pub mod outgoing;
mod prototype;
mod strings;

/// The compiled part of `saltext.reclass`; use it through that package.
#[pyo3::pymodule]
mod _engine {
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    #[pymodule_export]
    use super::editor::Editor;
    #[pymodule_export]
    use super::inventory::Inventory;

    /// The settings with those of the file that `config_file` names.
    #[pyfunction]
    #[pyo3(signature = (**settings))]
    fn configured<'py>(
        py: Python<'py>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        super::errors::guard(|| {
            let options = super::incoming::options(py, settings)?;
            super::outgoing::Outgoing::new(py, 0).dict(&options)
        })
    }

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
        reclass::failpoints::arm(at)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        reclass::panics::record_locations();
        reclass::keys::seed();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
