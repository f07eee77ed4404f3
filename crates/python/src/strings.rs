//! Strings are the Python strings of texts: one object for one allocation, as long as it is in use.

use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::FxHashMap;

use reclass::value::Text;

/// Python strings by the address of the text, which they keep alive. Those in `young` were used
/// lately.
#[derive(Default)]
pub struct Strings {
    young: FxHashMap<usize, (Text, Py<PyString>)>,
    old: FxHashMap<usize, (Text, Py<PyString>)>,
}

/// How many strings are young: a large pillar has a tenth.
const YOUNG: usize = 65_536;

impl Strings {
    /// The Python string for a text.
    pub fn get<'py>(&mut self, py: Python<'py>, text: &Text) -> Bound<'py, PyString> {
        let address = text.address();
        if let Some((_, string)) = self.young.get(&address) {
            return string.bind(py).clone();
        }
        if text.is_alone() {
            // Such texts are many, and each of them has one place in one answer.
            return PyString::new(py, text);
        }
        let known = self.old.remove(&address);
        let (text, string) = known.unwrap_or_else(|| (text.clone(), PyString::new(py, text).unbind()));
        let found = string.bind(py).clone();
        if self.young.len() >= YOUNG {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(address, (text, string));
        found
    }
}
