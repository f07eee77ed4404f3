//! What the thread sanitizer has to find, and what it has to be silent about.
//!
//! `sanitizer race` has two threads write the same word without a lock. `sanitizer locks` has threads
//! share data by each means that the engine uses: mutexes, cells that are written once, atomics,
//! counted references, threads that end; and by a condition, which waits below the surface.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread;

const THREADS: u64 = 8;
const TURNS: u64 = 500;

struct Word(UnsafeCell<u64>);

// SAFETY: there is none. That is the race.
unsafe impl Sync for Word {}

static WORD: Word = Word(UnsafeCell::new(0));

fn race() {
    thread::scope(|scope| {
        for number in 0..2 {
            scope.spawn(move || {
                for turn in 0..TURNS {
                    // SAFETY: there is none, see above.
                    unsafe { *WORD.0.get() += number + turn }
                }
            });
        }
    });
    // SAFETY: the threads have ended. What nobody reads, the compiler does not write.
    println!("{}", unsafe { *WORD.0.get() });
}

#[derive(Default)]
struct Shared {
    standard: Mutex<Vec<u64>>,
    once: OnceLock<Vec<u64>>,
    published: AtomicU64,
    counted: Mutex<u64>,
    changed: Condvar,
    held: Mutex<Option<Arc<Vec<u64>>>>,
}

fn locks() {
    let shared = Shared::default();
    thread::scope(|scope| {
        for number in 0..THREADS {
            let shared = &shared;
            scope.spawn(move || {
                for turn in 0..TURNS {
                    shared.standard.lock().expect("no thread panics").push(turn);
                    assert_eq!(shared.once.get_or_init(|| vec![number; 8]).len(), 8);
                    shared.published.fetch_max(turn, Ordering::AcqRel);
                    // What one thread made another one frees.
                    *shared.held.lock().expect("no thread panics") = Some(Arc::new(vec![turn; 8]));
                    *shared.counted.lock().expect("no thread panics") += 1;
                    shared.changed.notify_all();
                }
            });
        }
        let mut counted = shared.counted.lock().expect("no thread panics");
        while *counted < THREADS * TURNS {
            counted = shared.changed.wait(counted).expect("no thread panics");
        }
    });
    let all = shared.standard.into_inner().expect("no thread panics").len();
    assert_eq!(all as u64, THREADS * TURNS);
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("race") => race(),
        Some("locks") => locks(),
        _ => panic!("race or locks?"),
    }
}
