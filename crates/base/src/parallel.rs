//! Parallel iteration with threads that end with the call: no thread may exist when the process forks.

use std::cell::Cell;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use crate::failpoints::failpoint;
use crate::panics::{Caught, catch};
use crate::progress::{WorkCount, WorkUnit};

/// Minimum number of items for which threads are started.
const MIN_ITEMS: usize = 64;

/// Number of items that a thread takes at a time.
const CHUNK: usize = 8;

/// The number of threads for the setting `threads`; zero means one per processor.
fn threads(wanted: u32) -> usize {
    /// The number of processors, cached: the system reads files to get it, and each query of a node needs it.
    static PROCESSORS: AtomicUsize = AtomicUsize::new(0);
    match (wanted as usize, PROCESSORS.load(Ordering::Relaxed)) {
        (0, 0) => {
            let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
            PROCESSORS.store(processors, Ordering::Relaxed);
            processors
        }
        (0, processors) => processors,
        (wanted, _) => wanted,
    }
}

/// Consecutive items. Each thread starts with a range of its own: neighbours share intermediate
/// results, which two threads would compute twice.
struct WorkRange {
    next: AtomicUsize,
    end: usize,
}

impl WorkRange {
    fn split(items: usize, ranges: usize) -> Vec<WorkRange> {
        let start = |range: usize| items * range / ranges;
        (0..ranges)
            .map(|range| WorkRange { next: AtomicUsize::new(start(range)), end: start(range + 1) })
            .collect()
    }

    /// The next items that no thread has taken.
    fn take(&self) -> Option<std::ops::Range<usize>> {
        let first = self.next.fetch_add(CHUNK, Ordering::Relaxed);
        (first < self.end).then(|| first..self.end.min(first + CHUNK))
    }
}

thread_local! {
    /// Whether this thread does the work of a call that started threads.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as busy while it works.
struct Busy(bool);

impl Busy {
    fn new() -> Busy {
        Busy(BUSY.replace(true))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.set(self.0);
    }
}

/// Does the work for all items and returns the results in order, with as many threads as the setting `threads`
/// says. Each thread has its own context.
/// If `stop` is true for a result, the items after it are left out. Work inside of this work starts no threads:
/// all processors are busy.
pub fn each<'i, T: Sync, C, R: Send>(
    wanted: u32,
    items: &'i [T],
    context: impl Fn() -> C + Sync,
    work: impl Fn(&C, &'i T) -> R + Sync,
    stop: impl Fn(&R) -> bool + Sync,
) -> Vec<R> {
    let others = if items.len() < MIN_ITEMS || BUSY.get() { 0 } else { threads(wanted).saturating_sub(1) };
    let ranges: Vec<WorkRange> = WorkRange::split(items.len(), others + 1);
    let end = AtomicUsize::new(items.len());
    let worker = |own: usize| {
        let _busy = (others > 0).then(Busy::new);
        let context = context();
        let mut results = Vec::new();
        // Its own range first, then the rest of the other ranges.
        for range in ranges[own..].iter().chain(&ranges[..own]) {
            while let Some(chunk) = range.take() {
                for index in chunk {
                    if index >= end.load(Ordering::Relaxed) {
                        break;
                    }
                    if others > 0 {
                        failpoint("threads are at work");
                    }
                    let result = work(&context, &items[index]);
                    if stop(&result) {
                        end.fetch_min(index + 1, Ordering::Relaxed);
                    }
                    results.push((index, result));
                }
            }
        }
        results
    };
    let worker = &worker;
    let mut results = std::thread::scope(|scope| {
        // If the system refuses a thread, this one does the work.
        let others: Vec<_> = (1..=others)
            .filter_map(|own| {
                std::thread::Builder::new().spawn_scoped(scope, move || catch(|| worker(own))).ok()
            })
            .collect();
        let mut results = worker(0);
        for other in others {
            results.extend(joined(other));
        }
        results
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.truncate(end.into_inner());
    results.into_iter().map(|(_, result)| result).collect()
}

/// The same as [`each`], and counts the items that are done for those who watch (`progress`).
pub fn each_counted<'i, T: Sync, C, R: Send>(
    unit: WorkUnit,
    wanted: u32,
    items: &'i [T],
    context: impl Fn() -> C + Sync,
    work: impl Fn(&C, &'i T) -> R + Sync,
    stop: impl Fn(&R) -> bool + Sync,
) -> Vec<R> {
    let count = if BUSY.get() { None } else { WorkCount::begin(unit, items.len()) };
    let counted = |context: &C, item: &'i T| {
        let result = work(context, item);
        if let Some(count) = &count {
            count.step();
        }
        result
    };
    each(wanted, items, context, counted, stop)
}

/// Does two tasks, the first in its own thread if the system allows one.
pub fn both<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let other = std::thread::Builder::new().spawn_scoped(scope, || catch(&first));
        let second = second();
        (other.map_or_else(|_none| first(), joined), second)
    })
}

/// The result of a thread; its panic continues here.
fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, Caught>>) -> T {
    match thread.join() {
        Ok(result) => result.unwrap_or_else(|caught| caught.resume()),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn results_are_in_order_and_end_with_the_first_that_stops() {
        let items: Vec<usize> = (0..1000).collect();
        for threads in [1, 2, 5] {
            let all = each(threads, &items, || (), |(), item| item * 2, |_| false);
            assert_eq!(all, items.iter().map(|item| item * 2).collect::<Vec<_>>());
            let some = each(threads, &items, || (), |(), item| *item, |item| *item == 300 || *item == 700);
            assert_eq!(some, (0..=300).collect::<Vec<_>>());
        }
    }

    #[test]
    fn work_inside_of_work_starts_no_threads() {
        let items: Vec<usize> = (0..1000).collect();
        let thread = || std::thread::current().id();
        each(
            3,
            &items[..100],
            || (),
            |(), _| {
                let own = thread();
                assert!(each(3, &items, || (), |(), _| thread(), |_| false).iter().all(|id| *id == own));
            },
            |()| false,
        );
        let slow = |(): &(), _: &usize| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            thread()
        };
        let ids = each(3, &items[..100], || (), slow, |_| false);
        assert!(ids.iter().any(|id| *id != thread()), "afterwards threads start again");
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let items: Vec<usize> = (0..1000).collect();
        let panics = || each(2, &items, || (), |(), item| assert_ne!(*item, 500), |()| false);
        assert!(std::panic::catch_unwind(panics).is_err());
    }
}
