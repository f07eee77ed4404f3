//! Threads that ask for an inventory, and processes that were forked while others were at work.
//!
//! The threads of a parent that are at work when it forks never go on in its child: here they wait until
//! its child has its answers. A child that waited for one of them would wait without end.

use std::sync::{Arc, Weak};

use real::sync::PoisonError;
use real::sync::atomic::Ordering;
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use reclass::error::Result;
use reclass::settings::Settings;
use reclass::value::{Map, Value};

use crate::process::{self, PROCESS};
use crate::race::{LAST_COUNTS, RUN};
use crate::{ORDERS, all_orders, registry};

/// Who asks makes no difference here.
pub type Asker = u8;

/// What stands for the inventory: the lock that whoever works on it holds.
#[derive(Debug)]
pub struct Served {
    work: Mutex<()>,
    settings: Settings,
    /// Whether process 2 is about to take it over when it forks.
    still: bool,
}

shuttle::lazy_static! {
    /// Where the threads of a parent wait.
    static ref FORK: Fork = Fork::default();
}

#[derive(Default)]
struct Fork {
    /// How many threads wait, and whether the child has its answers.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Fork {
    /// From the fork on, a thread of the parent waits until the child has its answers.
    fn wait_for_child(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        self.changed.notify_all();
        while !state.1 {
            state = self.changed.wait(state).unwrap();
        }
    }

    /// Waits until that many threads wait.
    fn until(&self, count: usize) {
        let mut state = self.state.lock().unwrap();
        while state.0 < count {
            state = self.changed.wait(state).unwrap();
        }
    }

    fn is_over(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

impl Served {
    /// Opens one; that of the options `still` is being opened when its process forks.
    pub fn opened(options: &Map, _: bool, _: Asker) -> Result<Served> {
        thread::yield_now();
        if options.contains_key("still") {
            FORK.wait_for_child();
        }
        let settings = Settings::from_options(&Map::default())?.0;
        Ok(Served { work: Mutex::new(()), settings, still: options.contains_key("adopting") })
    }

    /// As in the engine.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// As in the engine.
    pub fn paths_hold(&self) -> bool {
        !self.settings.inventory_base_uri.as_ref().is_some_and(|base| base.is_empty())
    }

    /// As in the engine.
    pub fn forget(&self) {
        drop(self.work.try_lock());
    }

    /// As in the engine.
    pub fn adopt(&self) -> bool {
        if self.still && process::id() == 2 {
            FORK.wait_for_child();
        }
        self.work.try_lock().is_ok()
    }
}

fn ask(name: &str) -> Arc<Served> {
    let options: Map = [(name.into(), Value::Null)].into_iter().collect();
    registry::shared(&options, 0).unwrap()
}

/// A thread of a process.
fn of<T: Send + 'static>(process: u32, work: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::spawn(move || {
        PROCESS.with(|own| own.set(process));
        work()
    })
}

/// What is static is shared by all models: one runs after the other.
static ONE: real::sync::Mutex<()> = real::sync::Mutex::new(());

fn begin() {
    RUN.fetch_add(1, Ordering::SeqCst);
}

fn one_process() {
    begin();
    let threads: Vec<_> = [["a", "b"], ["b", "a"], ["a", "b"]]
        .into_iter()
        .map(|names| {
            of(1, move || {
                let mut asked = names.map(|name| (name, ask(name)));
                asked.sort_by_key(|(name, _)| *name);
                asked.map(|(_, inventory)| inventory)
            })
        })
        .collect();
    let asked: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    for [a, b] in &asked {
        assert!(Arc::ptr_eq(a, &asked[0][0]) && Arc::ptr_eq(b, &asked[0][1]) && !Arc::ptr_eq(a, b));
    }
}

/// A child asks, in so many threads, and a child of that one. In the parent, one thread may be at work
/// on the registry, and one on the inventory.
fn forked(threads: usize, registry: bool, inventory: bool) {
    begin();
    let known = Arc::downgrade(&of(1, || ask("a")).join().unwrap());
    let mut parents = Vec::new();
    if inventory {
        // It may have any lock of the inventory, or none at the moment.
        let asked = known.upgrade();
        parents.push(of(1, move || {
            FORK.wait_for_child();
            drop(asked);
        }));
    }
    if registry {
        parents.push(of(1, || drop(ask("still"))));
    }
    FORK.until(parents.len());
    let answers = |process: u32| {
        let asking: Vec<_> = (0..threads)
            .map(|_| {
                of(process, || {
                    let asked = ask("a");
                    // Nobody is at work on it for ever.
                    drop(asked.work.lock().unwrap());
                    asked
                })
            })
            .collect();
        let asked: Vec<_> = asking.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(asked.iter().all(|one| Arc::ptr_eq(one, &asked[0])));
        Arc::downgrade(&asked[0])
    };
    let child = answers(2);
    if registry || inventory {
        assert!(!Weak::ptr_eq(&child, &known));
    } else if threads == 1 {
        assert!(Weak::ptr_eq(&child, &known), "nobody was at work");
    }
    let grandchild = answers(3);
    assert!(threads > 1 || Weak::ptr_eq(&child, &grandchild), "nobody was at work");
    FORK.is_over();
    for parent in parents {
        parent.join().unwrap();
    }
}

/// A process forks while one of its threads takes over what its own parent knew.
fn forked_at_once() {
    begin();
    of(1, || drop(ask("adopting"))).join().unwrap();
    let parent = of(2, || drop(ask("a")));
    FORK.until(1);
    let children: Vec<_> = (0..2).map(|_| of(3, || ask("a"))).collect();
    let asked: Vec<_> = children.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(Arc::ptr_eq(&asked[0], &asked[1]));
    FORK.is_over();
    parent.join().unwrap();
}

/// A process forks while one of its threads is at work, and the child has the number of its grandparent,
/// which is gone.
fn number_again() {
    begin();
    drop(of(1, || ask("a")).join().unwrap());
    let known = of(2, || ask("a")).join().unwrap();
    let parent = of(2, move || {
        let _working = known.work.lock().unwrap();
        FORK.wait_for_child();
    });
    FORK.until(1);
    let child = of(1, || drop(ask("a").work.lock().unwrap()));
    child.join().unwrap();
    FORK.is_over();
    parent.join().unwrap();
}

pub fn threads_of_a_process_get_the_same_inventory() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    all_orders(one_process);
}

pub fn two_registries_in_one_process_are_found() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    LAST_COUNTS.store(true, Ordering::SeqCst);
    let found = real::panic::catch_unwind(|| all_orders(one_process));
    LAST_COUNTS.store(false, Ordering::SeqCst);
    assert!(found.is_err(), "each thread had a registry of its own");
}

pub fn a_child_waits_for_no_thread_of_its_parent() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    shuttle::check_random(|| forked(1, false, false), ORDERS);
    all_orders(|| forked(2, false, false));
    all_orders(|| forked(2, false, true));
    all_orders(|| forked(2, true, false));
    all_orders(|| forked(2, true, true));
    all_orders(forked_at_once);
}

pub fn a_child_with_the_number_of_its_grandparent_waits_for_nobody() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    all_orders(number_again);
}
