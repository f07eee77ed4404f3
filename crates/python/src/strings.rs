//! Caches the Python strings of texts: one object per allocation, as long as it is in use.

use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::FxHashMap;

use reclass::value::Text;

/// Python strings by the address of their text, which they keep alive. The strings in `young` were used
/// recently.
#[derive(Default)]
pub struct Strings {
    young: FxHashMap<usize, (Text, Py<PyString>)>,
    old: FxHashMap<usize, (Text, Py<PyString>)>,
}

/// Maximum number of young strings. A large pillar has a tenth of this number.
const YOUNG: usize = 65_536;

impl Strings {
    /// The Python string of a text.
    pub fn get<'py>(&mut self, py: Python<'py>, text: &Text) -> Bound<'py, PyString> {
        let address = text.address();
        if let Some((_, string)) = self.young.get(&address) {
            return string.bind(py).clone();
        }
        if text.is_alone() {
            // There are many such texts, and each is used once in one answer.
            return PyString::new(py, text);
        }
        let aged = self.old.remove(&address);
        let (text, string) = aged.unwrap_or_else(|| (text.clone(), PyString::new(py, text).unbind()));
        let found = string.bind(py).clone();
        if self.young.len() >= YOUNG {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(address, (text, string));
        found
    }
}
