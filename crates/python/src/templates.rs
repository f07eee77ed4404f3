//! The templates that a process keeps for creating Python objects: strings, forms and prototypes.
//!
//! A thread that creates objects takes all templates and puts them back when it is done. So no lock is held
//! while Python code runs: creating an object may start a garbage collection, which may run anything. A
//! thread that finds them taken begins with none. A forked child continues with those of its parent. `PyO3`
//! does not let a second interpreter of the process load the module.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Weak};

use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use crate::form::DictForm;
use crate::prototype::Prototype;
use crate::strings::Strings;
use reclass::failpoints::failpoint;
use reclass::keys::Keys;
use reclass::lock::Mutex;
use reclass::value::{Map, Value, WeakContainer};
use reclass::wire;

static TEMPLATES: Mutex<Option<Box<SharedObjects>>> = Mutex::new(None);

/// The templates, by the address of their source.
#[derive(Default)]
pub struct SharedObjects {
    /// Strings by the address of their text.
    pub strings: Strings,
    /// Forms by the index of the keys.
    forms: FxHashMap<usize, Common>,
    /// Prototypes of containers that several answers share, or an answer and the layers of a file.
    shared: FxHashMap<usize, Shared>,
    /// Approximate size of forms and prototypes in bytes.
    bytes: usize,
    /// The largest limit of any caller.
    limit: usize,
    /// Number of templates that were not made because of the limit.
    refused: usize,
    /// Number of entries from which a search for unused ones pays off.
    sweep_at: usize,
}

/// A shared container.
struct Shared {
    source: WeakContainer,
    state: TemplateState<Box<Prototype>>,
}

/// The forms for an index of keys.
struct Common {
    /// Reserves the address of the index: as long as this exists, no other index has it.
    index: Weak<Keys>,
    state: TemplateState<Vec<Arc<DictForm>>>,
}

/// Maximum number of forms per index. A few forms are to serve many mappings.
const FORMS: usize = 8;

enum TemplateState<T> {
    /// Not made yet. The source was seen once, and many sources are never seen again.
    SeenOnce,
    Made(T),
    /// Impossible: some part is not plain, or it is too deep.
    Refused,
}

impl SharedObjects {
    /// The prototype of a shared container, from its second use on. `limit` is the approximate maximum size
    /// of all templates in bytes.
    pub fn prototype(&mut self, py: Python<'_>, value: &Value, limit: usize) -> PyResult<Option<&Prototype>> {
        let Some(address) = value.container_address() else { return Ok(None) };
        let met = self.shared.get(&address).map(|shared| shared.state.is_seen_once());
        if met != Some(false) && self.has_capacity(limit) {
            let state = match met {
                Some(_) => Prototype::of(py, value, self)?
                    .map_or(TemplateState::Refused, |made| TemplateState::Made(Box::new(made))),
                None => TemplateState::SeenOnce,
            };
            if let Some(source) = WeakContainer::of(value) {
                self.sweep();
                self.bytes += state.made().map_or(OVERHEAD, |made| made.bytes());
                failpoint("a prototype is kept");
                self.shared.insert(address, Shared { source, state });
            }
        }
        Ok(self.shared.get(&address).and_then(|shared| shared.state.made()).map(|made| &**made))
    }

    /// The form for a mapping, from the second use of its keys on. `limit` is the approximate maximum size of
    /// all templates in bytes.
    pub fn form(&mut self, py: Python<'_>, map: &Map, limit: usize) -> PyResult<Option<Arc<DictForm>>> {
        let index = map.shared_keys();
        if Arc::strong_count(index) == 1 {
            // No other mapping has these keys.
            return Ok(None);
        }
        let met = match self.forms.get(&address(index)).map(|common| &common.state) {
            Some(TemplateState::Made(forms)) => return Ok(forms.first().cloned()),
            Some(TemplateState::Refused) => return Ok(None),
            Some(TemplateState::SeenOnce) => true,
            None => false,
        };
        if !self.has_capacity(limit) {
            return Ok(None);
        }
        if met && has_plain_keys(map) {
            let form = Arc::new(DictForm::of(py, map, &mut self.strings)?);
            self.remember_form(index, form.clone());
            return Ok(Some(form));
        }
        self.sweep();
        self.bytes += OVERHEAD;
        let state = if met { TemplateState::Refused } else { TemplateState::SeenOnce };
        self.forms.insert(address(index), Common { index: Arc::downgrade(index), state });
        Ok(None)
    }

    /// A form with most scalars of a mapping that is part of a prototype. The keys must be plain.
    pub fn form_in_prototype(&mut self, py: Python<'_>, map: &Map) -> PyResult<Arc<DictForm>> {
        let index = map.shared_keys();
        let common = self.forms.get(&address(index));
        if let Some(forms) = common.and_then(|common| common.state.made()) {
            let nearest =
                forms.iter().map(|form| (form.other_scalars(map), form)).min_by_key(|(others, _)| *others);
            if let Some((others, form)) = nearest
                && (others <= map.len() / 4 || forms.len() >= FORMS)
            {
                return Ok(form.clone());
            }
        }
        let form = Arc::new(DictForm::of(py, map, &mut self.strings)?);
        if common.is_some() || Arc::strong_count(index) > ITS_OWN {
            self.remember_form(index, form.clone());
        }
        Ok(form)
    }

    fn remember_form(&mut self, index: &Arc<Keys>, form: Arc<DictForm>) {
        self.sweep();
        self.bytes += form.bytes();
        failpoint("a form is kept");
        let common = self.forms.entry(address(index));
        let common =
            common.or_insert_with(|| Common { index: Arc::downgrade(index), state: TemplateState::SeenOnce });
        match &mut common.state {
            TemplateState::Made(forms) => forms.push(form),
            state => *state = TemplateState::Made(vec![form]),
        }
    }

    /// Whether the limit allows more templates. If many more were refused than exist, the requests have
    /// changed, so all forms and prototypes are dropped.
    fn has_capacity(&mut self, limit: usize) -> bool {
        self.limit = self.limit.max(limit);
        if self.bytes >= self.limit {
            self.refused += 1;
            if self.refused > 4 * (self.forms.len() + self.shared.len()) {
                let strings = std::mem::take(&mut self.strings);
                *self = SharedObjects { strings, limit: self.limit, ..SharedObjects::default() };
            }
        }
        self.bytes < limit
    }

    /// Drops templates whose source is gone, if there are enough entries for this to pay off.
    fn sweep(&mut self) {
        if self.forms.len() + self.shared.len() < self.sweep_at {
            return;
        }
        self.forms.retain(|_, common| common.index.strong_count() > 0);
        self.shared.retain(|_, shared| shared.source.is_used());
        let forms = self.forms.values().filter_map(|common| common.state.made()).flatten();
        let forms = forms.map(|form| form.bytes());
        let shared = self.shared.values().filter_map(|shared| shared.state.made()).map(|made| made.bytes());
        let count = self.forms.len() + self.shared.len();
        self.bytes = forms.sum::<usize>() + shared.sum::<usize>() + count * OVERHEAD;
        self.sweep_at = MIN_SWEEP + 2 * count;
    }
}

/// Approximate size of an entry without its template, in bytes.
const OVERHEAD: usize = 64;

/// Minimum number of entries for a search.
const MIN_SWEEP: usize = 1024;

/// Number of owners of the keys if a container belongs to one file only: its slot and its value.
const ITS_OWN: usize = 2;

impl<T> TemplateState<T> {
    fn is_seen_once(&self) -> bool {
        matches!(self, TemplateState::SeenOnce)
    }

    fn made(&self) -> Option<&T> {
        match self {
            TemplateState::Made(made) => Some(made),
            TemplateState::SeenOnce | TemplateState::Refused => None,
        }
    }
}

/// Whether a container has other owners.
pub fn is_shared(value: &Value) -> bool {
    match value {
        Value::Map(map) => Arc::strong_count(map) > 1,
        Value::List(list) => Arc::strong_count(list) > 1,
        _ => false,
    }
}

/// Whether Salt carries the keys of a mapping unchanged.
pub fn has_plain_keys(map: &Map) -> bool {
    map.keys().all(|key| wire::is_plain(&key.0))
}

fn address<T>(of: &Arc<T>) -> usize {
    Arc::as_ptr(of) as usize
}

/// All templates of the process, taken by one thread.
pub struct Taken(Option<Box<SharedObjects>>);

impl Taken {
    /// Takes the templates.
    pub fn new() -> Taken {
        Taken(Some(TEMPLATES.lock().take().unwrap_or_default()))
    }
}

impl Deref for Taken {
    type Target = SharedObjects;
    fn deref(&self) -> &SharedObjects {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for Taken {
    fn deref_mut(&mut self) -> &mut SharedObjects {
        self.0.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let other = std::mem::replace(&mut *TEMPLATES.lock(), self.0.take());
            drop(other);
        }
    }
}

/// Approximate size in bytes of the forms and prototypes of this process.
pub fn bytes() -> usize {
    TEMPLATES.lock().as_ref().map_or(0, |templates| templates.bytes)
}
