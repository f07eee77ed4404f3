//! Memory is asked for in advance: work that makes many values asks, every now and then, for more
//! than it will take until it asks again, and where that is refused it ends in an error.
//!
//! Rust ends a process whose memory is refused, and a worker of Salt's master would go with it. So the
//! refusal is to meet a question that can take it: a block is asked for and given back untouched, two
//! calls of the system. The work then unwinds, as `-Zoom=panic` has it, up to whoever called the engine,
//! and what it leaves is what any panic leaves (see `points`).
//!
//! A system that refuses memory is one with a limit on the process (`ulimit -v`, `LimitAS=`,
//! `LimitDATA=`) or without overcommitment. Elsewhere nothing is asked: there the kernel ends a process.

use std::any::Any;
use std::cell::Cell;
use std::hint::black_box;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use once_cell::race::OnceBool;
use rustix::process::{Resource, getrlimit};

use crate::base::error::{Error, Fault, Kind};

const MIB: usize = 1024 * 1024;

/// How many bytes are made between two questions, about: several threads work between theirs.
const STEP: usize = MIB / 2;

/// How many bytes must be there at each, for each call that is at work, beside a part of what the work has
/// made: what grows doubles.
/// More than glibc has at hand for a thread (64 MiB): what is asked for is what stacks are made from, too.
const RESERVE: usize = 80 * MIB;

/// How many times its size is counted of what stands in one block with others, which doubles when it is full:
/// a quarter of what was made must be there at once.
pub const GROWTH: usize = 8;

/// What is more than any process has.
const HUGE: usize = 1 << 46;

/// What unwinds where memory is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Exhausted;

thread_local! {
    /// How many bytes the work of this thread has made, about, and how many of them when it asked last.
    static MADE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// How many calls are at work: what one is promised, another may take.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// A call that is at work.
#[derive(Debug)]
pub struct Call(());

impl Call {
    /// Begins a call.
    pub fn begin() -> Call {
        CALLS.fetch_add(1, Relaxed);
        let call = Call(());
        begin();
        call
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Relaxed);
    }
}

/// Begins a piece of work.
///
/// Unwinds where memory is refused, as all that asks for it does; [`error`] is for who catches it.
pub fn begin() {
    MADE.set((0, 0));
    need(0);
}

/// Counts what was made or is made next, in bytes.
#[inline]
pub fn take(bytes: usize) {
    let (made, asked) = MADE.get();
    let made = made.saturating_add(bytes);
    if made - asked < STEP {
        MADE.set((made, asked));
    } else {
        ask(made, bytes);
    }
}

#[cold]
fn ask(made: usize, bytes: usize) {
    MADE.set((made, made));
    need(made / (GROWTH / 2) + bytes.saturating_mul(2));
}

/// Asks whether so many bytes could be had at once, and some more.
pub fn need(bytes: usize) {
    let bytes = bytes.saturating_add(RESERVE).saturating_mul(CALLS.load(Relaxed).max(1));
    if bytes > HUGE || is_limited() {
        let mut block: Vec<u8> = Vec::new();
        let refused = block.try_reserve_exact(bytes).is_err();
        // A compiler may leave out a block that nobody looks at, and take it for granted.
        black_box(&block);
        if refused {
            resume_unwind(Box::new(Exhausted));
        }
    }
}

/// Whether the system may refuse memory to this process.
#[expect(clippy::disallowed_methods, reason = "the storage refuses what is in /proc")]
pub fn is_limited() -> bool {
    // Nobody waits for it: a fork may catch whoever writes it.
    static STRICT: OnceBool = OnceBool::new();
    let has = |resource| getrlimit(resource).current.is_some();
    has(Resource::As)
        || has(Resource::Data)
        || STRICT.get_or_init(|| {
            let mode = std::fs::read("/proc/sys/vm/overcommit_memory");
            mode.is_ok_and(|mode| mode.trim_ascii() == b"2")
        })
}

/// The error for what was caught, if it is memory that was refused.
pub fn error(caught: &(dyn Any + Send)) -> Option<Error> {
    caught.is::<Exhausted>().then(|| Fault::new(Kind::MemoryExhausted {}).into())
}
