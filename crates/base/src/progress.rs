//! Counts the items of long work, so that a program can show how far it is.
//!
//! The counters belong to the process: a program does one thing at a time. Where several threads answer
//! questions, as in Salt, nobody reads them.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

static DONE: AtomicUsize = AtomicUsize::new(0);
static TOTAL: AtomicUsize = AtomicUsize::new(0);
/// The index of the unit.
static UNIT: AtomicUsize = AtomicUsize::new(0);
/// The number of works begun so far.
static WORKS: AtomicUsize = AtomicUsize::new(0);

/// The kind of items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkUnit {
    /// Nodes.
    Nodes,
    /// Files.
    Files,
}

impl WorkUnit {
    const ALL: [WorkUnit; 2] = [WorkUnit::Nodes, WorkUnit::Files];

    /// The plural.
    pub fn name(self) -> &'static str {
        match self {
            WorkUnit::Nodes => "nodes",
            WorkUnit::Files => "files",
        }
    }
}

/// How far the current work is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkProgress {
    /// A number that changes when other work begins.
    pub work: usize,
    /// The items that are done.
    pub done: usize,
    /// All items.
    pub total: usize,
    /// The kind of items.
    pub unit: WorkUnit,
}

/// How far the current work is; `None` before any.
pub fn current() -> Option<WorkProgress> {
    let work = WORKS.load(Ordering::Acquire);
    let total = TOTAL.load(Ordering::Relaxed);
    let unit = *WorkUnit::ALL.get(UNIT.load(Ordering::Relaxed))?;
    // The counters are read one after the other.
    let done = DONE.load(Ordering::Relaxed).min(total);
    (total > 0).then_some(WorkProgress { work, done, total, unit })
}

thread_local! {
    /// Whether this thread does counted work. Work inside of it is not counted.
    static COUNTS: Cell<bool> = const { Cell::new(false) };
}

/// Counts work until it is dropped.
pub struct WorkCount {
    done: &'static AtomicUsize,
}

impl WorkCount {
    /// Begins to count; `None` inside of counted work.
    pub fn begin(unit: WorkUnit, total: usize) -> Option<WorkCount> {
        if COUNTS.replace(true) {
            return None;
        }
        UNIT.store(unit as usize, Ordering::Relaxed);
        DONE.store(0, Ordering::Relaxed);
        TOTAL.store(total, Ordering::Relaxed);
        WORKS.fetch_add(1, Ordering::Release);
        Some(WorkCount { done: &DONE })
    }

    /// One more item is done.
    pub fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for WorkCount {
    fn drop(&mut self) {
        COUNTS.set(false);
        TOTAL.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{WorkCount, WorkUnit, current};

    #[test]
    fn work_inside_of_work_is_not_counted() {
        let count = WorkCount::begin(WorkUnit::Nodes, 7).expect("nothing is counted yet");
        assert!(WorkCount::begin(WorkUnit::Files, 3).is_none());
        count.step();
        // Other tests may count at the same time.
        assert!(current().is_none_or(|now| now.done <= now.total));
        drop(count);
        assert!(WorkCount::begin(WorkUnit::Files, 3).is_some());
    }
}
