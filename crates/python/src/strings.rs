//! Caches the Python strings of texts: one object per allocation, as long as it is in use.
//!
//! A thread that creates objects takes all strings and puts them back when it is done. So no lock is held while Python
//! code runs: creating an object may start a garbage collection, which may run anything. A thread that finds them taken
//! begins with none. A forked child continues with those of its parent. `PyO3` does not let a second interpreter of the
//! process load the module.

use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::FxHashMap;

use reclass::value::Text;
use reclass_base::lock::Mutex;

static STRINGS: Mutex<Option<Box<Strings>>> = Mutex::new(None);

/// Python strings by the address of their text, which they keep alive. The strings in `young` were used
/// recently.
#[derive(Default)]
struct Strings {
    young: FxHashMap<usize, (Text, Py<PyString>)>,
    old: FxHashMap<usize, (Text, Py<PyString>)>,
}

/// Maximum number of young strings. A large pillar has a tenth of this number.
const YOUNG: usize = 65_536;

impl Strings {
    fn get<'py>(&mut self, py: Python<'py>, text: &Text) -> Bound<'py, PyString> {
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

/// All strings of the process, taken by one thread.
pub struct TakenStrings(Option<Box<Strings>>);

impl TakenStrings {
    pub fn new() -> TakenStrings {
        TakenStrings(Some(STRINGS.lock().take().unwrap_or_default()))
    }

    /// The Python string of a text.
    pub fn get<'py>(&mut self, py: Python<'py>, text: &Text) -> Bound<'py, PyString> {
        self.0.as_mut().expect("they are there until this is dropped").get(py, text)
    }
}

impl Drop for TakenStrings {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let other = std::mem::replace(&mut *STRINGS.lock(), self.0.take());
            drop(other);
        }
    }
}

/// Approximate size in bytes of the strings of this process.
pub fn bytes() -> usize {
    let size = |(text, _): &(Text, Py<PyString>)| 64 + text.len();
    let of = |strings: &FxHashMap<usize, _>| strings.values().map(size).sum::<usize>();
    STRINGS.lock().as_ref().map_or(0, |strings| of(&strings.young) + of(&strings.old))
}
