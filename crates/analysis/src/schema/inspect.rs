//! The schemas of an inventory as its files are now.

use std::sync::Arc;

use super::check::Schemas;
use reclass::parts::engine::context::Computation;
use reclass::parts::engine::inputs::Inputs;
use reclass_base::error::Result;
use reclass_base::settings::Settings;

impl Schemas {
    /// The schemas in a computation; `None` if the inventory has none.
    ///
    /// # Errors
    ///
    /// A folder of the settings that cannot be read. What is wrong in a file is a fault of the schemas.
    pub fn of_computation(computation: &Computation<'_>) -> Result<Option<Arc<Schemas>>> {
        Schemas::of_inputs(computation.inputs, computation.settings)
    }

    /// The schemas of an inventory as its files are now.
    pub(crate) fn of_inputs(inputs: &Inputs, settings: &Settings) -> Result<Option<Arc<Schemas>>> {
        let files = inputs.schemas()?;
        Ok((!files.files.is_empty()).then(|| files.made(|files| Schemas::read(files, settings))))
    }
}
