//! The schemas of an inventory as its files are now.

use std::sync::Arc;

use super::check::Schemas;
use crate::base::error::Result;
use crate::engine::Inventory;
use crate::engine::context::Computation;

impl Schemas {
    /// The schemas of an inventory as their files are now; `None` if it has none.
    ///
    /// # Errors
    ///
    /// A folder of the settings that cannot be read. What is wrong in a file is a fault of the schemas.
    pub fn of(inventory: &Inventory) -> Result<Option<Arc<Schemas>>> {
        let files = inventory.schema_files()?;
        Ok((!files.files.is_empty()).then(|| files.made(|files| Schemas::read(files, inventory.settings()))))
    }

    /// The same in a computation.
    pub(crate) fn of_computation(computation: &Computation<'_>) -> Result<Option<Arc<Schemas>>> {
        let files = computation.inputs.schemas()?;
        Ok((!files.files.is_empty()).then(|| files.made(|files| Schemas::read(files, computation.settings))))
    }
}
