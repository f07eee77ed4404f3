//! Known is what a process remembers to make Python objects from: strings, forms and prototypes.
//!
//! Whoever makes objects takes all of it away and puts it back when done. So no lock is held while
//! Python works: making an object may run a collection, which may run anything. Whoever finds it
//! taken begins with nothing. A forked child goes on with what its parent had. `PyO3` does not let a
//! second interpreter of the process load the module.

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
use reclass::value::{Map, Value};
use reclass::wire;

static KNOWN: Mutex<Option<Box<SharedObjects>>> = Mutex::new(None);

/// What is remembered, by the address of what it stands for.
#[derive(Default)]
pub struct SharedObjects {
    /// Strings, by their text.
    pub strings: Strings,
    /// By the index of the keys.
    forms: FxHashMap<usize, Common>,
    /// Of containers that several answers have, or an answer and the layers of a file.
    shared: FxHashMap<usize, Shared>,
    /// About how many bytes forms and prototypes take.
    weight: usize,
    /// The largest limit that anybody has.
    limit: usize,
    /// How many were not made for want of room.
    refused: usize,
    /// How many there have to be for it to be worth looking for what nobody has any more.
    crowd: usize,
}

/// A container that several have.
struct Shared {
    source: Source,
    state: State<Box<Prototype>>,
}

/// The forms for an index of keys.
struct Common {
    /// While it is held, no others have its address.
    index: Weak<Keys>,
    state: State<Vec<Arc<DictForm>>>,
}

/// How many forms an index may have. They are to be few, and used by many.
const FORMS: usize = 8;

/// What there is to make copies from.
enum State<T> {
    /// Nothing yet: it was seen once, and many are never seen again.
    Met,
    Made(T),
    /// Nothing: something is not plain, or too deep.
    Refused,
}

impl SharedObjects {
    /// The prototype of a container that several have, if it is met for the second time or later.
    /// `limit` is about how many bytes may be taken.
    pub fn prototype(&mut self, py: Python<'_>, value: &Value, limit: usize) -> PyResult<Option<&Prototype>> {
        let Some(address) = address_of(value) else { return Ok(None) };
        let met = self.shared.get(&address).map(|shared| shared.state.is_met());
        if met != Some(false) && self.has_room(limit) {
            let state = match met {
                Some(_) => {
                    Prototype::of(py, value, self)?.map_or(State::Refused, |made| State::Made(Box::new(made)))
                }
                None => State::Met,
            };
            if let Some(source) = Source::of(value) {
                self.sweep();
                self.weight += state.made().map_or(OVERHEAD, |made| made.weight());
                failpoint("a prototype is kept");
                self.shared.insert(address, Shared { source, state });
            }
        }
        Ok(self.shared.get(&address).and_then(|shared| shared.state.made()).map(|made| &**made))
    }

    /// The form for a mapping, if its keys are met for the second time or later. `limit` is about how
    /// many bytes may be taken.
    pub fn form(&mut self, py: Python<'_>, map: &Map, limit: usize) -> PyResult<Option<Arc<DictForm>>> {
        let index = map.shared_keys();
        if Arc::strong_count(index) == 1 {
            // Nobody else has these keys.
            return Ok(None);
        }
        let met = match self.forms.get(&address(index)).map(|common| &common.state) {
            Some(State::Made(forms)) => return Ok(forms.first().cloned()),
            Some(State::Refused) => return Ok(None),
            Some(State::Met) => true,
            None => false,
        };
        if !self.has_room(limit) {
            return Ok(None);
        }
        if met && has_plain_keys(map) {
            let form = Arc::new(DictForm::of(py, map, &mut self.strings)?);
            self.remember_form(index, form.clone());
            return Ok(Some(form));
        }
        self.sweep();
        self.weight += OVERHEAD;
        let state = if met { State::Refused } else { State::Met };
        self.forms.insert(address(index), Common { index: Arc::downgrade(index), state });
        Ok(None)
    }

    /// A form for a mapping that is a part of a prototype, and that has most of its scalars. Its keys must
    /// be plain.
    pub fn form_in_prototype(&mut self, py: Python<'_>, map: &Map) -> PyResult<Arc<DictForm>> {
        let index = map.shared_keys();
        let known = self.forms.get(&address(index));
        if let Some(forms) = known.and_then(|common| common.state.made()) {
            let nearest =
                forms.iter().map(|form| (form.other_scalars(map), form)).min_by_key(|(others, _)| *others);
            if let Some((others, form)) = nearest
                && (others <= map.len() / 4 || forms.len() >= FORMS)
            {
                return Ok(form.clone());
            }
        }
        let form = Arc::new(DictForm::of(py, map, &mut self.strings)?);
        if known.is_some() || Arc::strong_count(index) > ITS_OWN {
            self.remember_form(index, form.clone());
        }
        Ok(form)
    }

    fn remember_form(&mut self, index: &Arc<Keys>, form: Arc<DictForm>) {
        self.sweep();
        self.weight += form.weight();
        failpoint("a form is kept");
        let common = self.forms.entry(address(index));
        let common = common.or_insert_with(|| Common { index: Arc::downgrade(index), state: State::Met });
        match &mut common.state {
            State::Made(forms) => forms.push(form),
            state => *state = State::Made(vec![form]),
        }
    }

    /// Whether there is room for more. Where there was none for many times as much as there is,
    /// something else is asked for than was: all is forgotten.
    fn has_room(&mut self, limit: usize) -> bool {
        self.limit = self.limit.max(limit);
        if self.weight >= self.limit {
            self.refused += 1;
            if self.refused > 4 * (self.forms.len() + self.shared.len()) {
                let strings = std::mem::take(&mut self.strings);
                *self = SharedObjects { strings, limit: self.limit, ..SharedObjects::default() };
            }
        }
        self.weight < limit
    }

    /// Forgets what nobody has any more, if there are enough that it is worth a look.
    fn sweep(&mut self) {
        if self.forms.len() + self.shared.len() < self.crowd {
            return;
        }
        self.forms.retain(|_, common| common.index.strong_count() > 0);
        self.shared.retain(|_, shared| shared.source.is_alive());
        let forms = self.forms.values().filter_map(|common| common.state.made()).flatten();
        let forms = forms.map(|form| form.weight());
        let shared = self.shared.values().filter_map(|shared| shared.state.made()).map(|made| made.weight());
        let count = self.forms.len() + self.shared.len();
        self.weight = forms.sum::<usize>() + shared.sum::<usize>() + count * OVERHEAD;
        self.crowd = CROWD + 2 * count;
    }
}

/// About how many bytes an entry takes beside what it is for.
const OVERHEAD: usize = 64;

/// How many may be there before it is worth looking for the dead.
const CROWD: usize = 1024;

/// How many have the keys of a container that one file has: its slot and its value.
const ITS_OWN: usize = 2;

impl<T> State<T> {
    fn is_met(&self) -> bool {
        matches!(self, State::Met)
    }

    fn made(&self) -> Option<&T> {
        match self {
            State::Made(made) => Some(made),
            State::Met | State::Refused => None,
        }
    }
}

/// Where a mapping or a list is.
fn address_of(value: &Value) -> Option<usize> {
    match value {
        Value::Map(map) => Some(address(map)),
        Value::List(list) => Some(address(list)),
        _ => None,
    }
}

/// Keeps the allocation of a container, but not what is in it: no other has its address.
enum Source {
    Map(Weak<Map>),
    List(Weak<Vec<Value>>),
}

impl Source {
    fn of(value: &Value) -> Option<Source> {
        match value {
            Value::Map(map) => Some(Source::Map(Arc::downgrade(map))),
            Value::List(list) => Some(Source::List(Arc::downgrade(list))),
            _ => None,
        }
    }

    fn is_alive(&self) -> bool {
        match self {
            Source::Map(map) => map.strong_count() > 0,
            Source::List(list) => list.strong_count() > 0,
        }
    }
}

/// Whether somebody else has a container too.
pub fn is_shared(value: &Value) -> bool {
    match value {
        Value::Map(map) => Arc::strong_count(map) > 1,
        Value::List(list) => Arc::strong_count(list) > 1,
        _ => false,
    }
}

/// Whether Salt carries the keys of a mapping as they are.
pub fn has_plain_keys(map: &Map) -> bool {
    map.keys().all(|key| wire::is_plain(&key.0))
}

fn address<T>(of: &Arc<T>) -> usize {
    Arc::as_ptr(of) as usize
}

/// All that is known, taken away from where others find it.
pub struct Taken(Option<Box<SharedObjects>>);

impl Taken {
    /// Takes it away.
    pub fn new() -> Taken {
        Taken(Some(KNOWN.lock().take().unwrap_or_default()))
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
            let other = std::mem::replace(&mut *KNOWN.lock(), self.0.take());
            drop(other);
        }
    }
}

/// About how many bytes forms and prototypes of this process take.
pub fn weight() -> usize {
    KNOWN.lock().as_ref().map_or(0, |known| known.weight)
}
