//! The schemas of an inventory as its files are now.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use super::check::Schemas;
use reclass::parts::engine::{Computation, Inputs, SchemaFiles};
use reclass_base::error::Result;
use reclass_base::settings::Settings;

thread_local! {
    /// What was compiled of the files of each state: minions ask for one pillar after the other, and a command for the
    /// explanation of one node after the other. Those of files that nobody has any more go when others are compiled. The
    /// table belongs to the thread: a pillar waits for no other thread, and a forked child for none of its parent.
    static COMPILED: RefCell<Vec<(Weak<SchemaFiles>, Arc<Schemas>)>> = const { RefCell::new(Vec::new()) };
}

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
        Ok((!files.files.is_empty()).then(|| Schemas::compiled(&files, settings)))
    }

    fn compiled(files: &Arc<SchemaFiles>, settings: &Settings) -> Arc<Schemas> {
        let known = COMPILED.with_borrow(|all| {
            let found = all.iter().find(|(of, _)| of.upgrade().is_some_and(|of| Arc::ptr_eq(&of, files)));
            found.map(|(_, schemas)| schemas.clone())
        });
        known.unwrap_or_else(|| {
            let schemas = Arc::new(Schemas::read(files, settings));
            COMPILED.with_borrow_mut(|all| {
                all.retain(|(of, _)| of.strong_count() > 0);
                all.push((Arc::downgrade(files), schemas.clone()));
            });
            schemas
        })
    }
}
