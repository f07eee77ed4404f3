//! A change as data: the keys of an entry, and its new state.

use reclass_analysis::errors::{EDIT_REFERENCE, EDIT_REFUSED};
use reclass_base::error::{Fault, Result};
use reclass_base::settings::Settings;
use reclass_base::stack::grow;
use reclass_base::value::{Text, Value};
use reclass_yaml::compose::compose;
use reclass_yaml::to_value;

/// A change of one entry of a document of nested mappings.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The keys that lead to the entry, as reclass reads them: `parameters`, `_param`, `address`.
    pub keys: Vec<Text>,
    /// The new state of the entry.
    pub action: Action,
}

/// The new state of an entry.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Sets the value. A new key comes last in its mapping; missing mappings are created.
    Set(Value),
    /// Removes the entry. Its mapping stays, even if it is empty.
    Delete,
    /// Appends these items to the list, without duplicates. A missing list is created.
    Append(Vec<Value>),
}

impl Change {
    /// A change of the entry that these keys lead to.
    pub fn new(keys: &[&str], action: Action) -> Change {
        Change { keys: keys.iter().map(|key| Text::from(*key)).collect(), action }
    }

    /// The keys joined with `:`.
    pub fn notation(&self) -> String {
        self.keys.join(":")
    }

    /// The error that it cannot be made.
    pub(crate) fn refused(&self, reason: &str) -> Fault {
        EDIT_REFUSED.fault(format!("cannot change '{}' in place: {reason}", self.notation()), None)
    }

    /// Refuses text that contains a reference or a query (R1, Q1).
    pub fn without_references(&self, settings: &Settings) -> Result<()> {
        let opens = [&*settings.reference_sentinels.0, &*settings.export_sentinels.0, "${", "$["];
        let has_reference = |text: &str| opens.iter().any(|open| text.contains(open));
        let found = match &self.action {
            Action::Set(value) => any_text(value, &has_reference),
            Action::Append(items) => items.iter().any(|item| any_text(item, &has_reference)),
            Action::Delete => false,
        };
        if found {
            let message =
                format!("the value for '{}' holds a reference or an inventory query", self.notation());
            return Err(EDIT_REFERENCE.fault(message, Some("pass 'interpolate' to have it resolved")).into());
        }
        Ok(())
    }
}

/// The data of a text; `None` for an empty text.
pub fn read(bytes: &[u8], path: &str) -> Result<Option<Value>> {
    match compose(bytes) {
        Ok(document) => Ok(document.root.as_ref().map(to_value)),
        Err(mut error) => {
            for fault in error.faults_mut() {
                for site in
                    fault.site.iter_mut().chain(fault.notes.iter_mut().flat_map(|note| &mut note.site))
                {
                    site.path = path.into();
                }
            }
            Err(error)
        }
    }
}

/// Whether `matches` holds for any text in the value.
fn any_text(value: &Value, matches: &dyn Fn(&str) -> bool) -> bool {
    let any = |items: &[Value]| grow(|| items.iter().any(|item| any_text(item, matches)));
    match value {
        Value::Str(text) => matches(text),
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => any(items),
        Value::Map(map) => map
            .iter()
            .any(|(key, value)| any(std::slice::from_ref(&key.0)) || any(std::slice::from_ref(value))),
        _ => false,
    }
}
