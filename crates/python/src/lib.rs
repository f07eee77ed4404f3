//! Turns Python's objects into requests, and answers into Python's objects: the module `saltext.reclass._engine`.
//!
//! It only translates: [`incoming`] and [`outgoing`] convert data, [`errors`] converts failures, [`log`]
//! writes the log, [`data`] and [`translating`] convert requests and results, [`once`] makes what is made once,
//! [`inventory`] has the questions, [`asking`] asks them, [`editor`] edits files.
//!
//! Invariants, for a Salt master, of each method:
//!
//! * A panic becomes an ordinary exception ([`errors::guard`]), because Salt survives nothing else.
//! * The interpreter is free for other threads while the engine works, and no lock of the engine is held
//!   while a thread waits for the interpreter.
//! * The result is new, and the caller may change it.

mod asking;
mod data;
pub mod editor;
pub mod errors;
pub mod incoming;
pub mod inventory;
mod log;
mod once;
pub mod outgoing;
mod strings;
mod translating;

/// The compiled part of `saltext.reclass`; use it through that package.
#[pyo3::pymodule]
mod _engine {
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    #[pymodule_export]
    use super::editor::Editor;
    #[pymodule_export]
    use super::inventory::Inventory;

    /// The settings, combined with those of the file in `config_file`.
    #[pyfunction]
    #[pyo3(signature = (**settings))]
    fn configured<'py>(
        py: Python<'py>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        super::errors::guard(|| {
            let options = super::incoming::options(py, settings)?;
            super::outgoing::Outgoing::new(py).dict(&options)
        })
    }

    /// Whether the last pillar or top of this thread was remembered, with the setting `metrics_file`.
    #[pyfunction]
    fn was_remembered() -> bool {
        super::asking::was_remembered()
    }

    /// Panics inside of the engine, for tests. The caller gets an `InternalError`.
    #[pyfunction]
    fn panic(py: Python<'_>) -> PyResult<()> {
        super::errors::guard(|| py.detach(|| panic!("on request")))
    }

    /// Makes the engine panic at the failpoint number `at`, counted from now on; 0 for none. Returns how many
    /// failpoints were passed since the last call. Only builds for tests have it.
    #[cfg(debug_assertions)]
    #[pyfunction]
    fn arm(at: usize) -> usize {
        reclass_base::failpoints::arm(at)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        reclass_base::panics::record_locations();
        super::once::make(module.py())?;
        let names: Vec<&str> = reclass::settings::TABLE.iter().map(|row| row.name).collect();
        module.add("setting_names", names)?;
        module.add("rustc_version", env!("RUSTC_VERSION"))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
