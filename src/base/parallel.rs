//! Parallel work: one piece of work for each of many items, shared by threads that end with the call.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use crate::base::failpoints::failpoint;
use crate::base::panics::{Caught, catch};

/// Fewer items than this are not worth a thread.
const WORTH: usize = 64;

/// How many items a thread takes at a time.
const PORTION: usize = 8;

/// How many threads work where settings ask for `wanted`; zero for as many as there are processors.
pub fn threads(wanted: u32) -> usize {
    /// The number of processors. The system reads files to tell it, and each query of a node asks.
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

/// Some of the items, one after the other. Each thread has a range of its own to begin with: what
/// stands side by side has much in common, and two threads at it would do the same work twice.
struct Range {
    next: AtomicUsize,
    end: usize,
}

impl Range {
    fn split(items: usize, ranges: usize) -> Vec<Range> {
        let start = |range: usize| items * range / ranges;
        (0..ranges)
            .map(|range| Range { next: AtomicUsize::new(start(range)), end: start(range + 1) })
            .collect()
    }

    /// The next items that nobody has taken.
    fn take(&self) -> Option<std::ops::Range<usize>> {
        let first = self.next.fetch_add(PORTION, Ordering::Relaxed);
        (first < self.end).then(|| first..self.end.min(first + PORTION))
    }
}

/// Does the work for all items, and gives back the results in their order. Each thread has a
/// context of its own. Where `stop` says of a result that it is the last one of interest, the items
/// behind it may be left out.
pub fn each<'i, T: Sync, C, R: Send>(
    threads: usize,
    items: &'i [T],
    context: impl Fn() -> C + Sync,
    work: impl Fn(&C, &'i T) -> R + Sync,
    stop: impl Fn(&R) -> bool + Sync,
) -> Vec<R> {
    let others = if items.len() < WORTH { 0 } else { threads.saturating_sub(1) };
    let ranges: Vec<Range> = Range::split(items.len(), others + 1);
    let end = AtomicUsize::new(items.len());
    let worker = |own: usize| {
        let context = context();
        let mut results = Vec::new();
        // Its own range first, then what others have not come to.
        for range in ranges[own..].iter().chain(&ranges[..own]) {
            while let Some(portion) = range.take() {
                for index in portion {
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
        // Where no thread can be had, this one does it all.
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

/// Does two pieces of work, the first in a thread of its own where one can be had.
pub fn both<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let other = std::thread::Builder::new().spawn_scoped(scope, || catch(&first));
        let second = second();
        (other.map_or_else(|_none| first(), joined), second)
    })
}

/// The result of a thread; a panic of it goes on here.
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
    fn results_come_in_order_and_end_with_the_first_that_stops() {
        let items: Vec<usize> = (0..1000).collect();
        for threads in [1, 2, 5] {
            let all = each(threads, &items, || (), |(), item| item * 2, |_| false);
            assert_eq!(all, items.iter().map(|item| item * 2).collect::<Vec<_>>());
            let some = each(threads, &items, || (), |(), item| *item, |item| *item == 300 || *item == 700);
            assert_eq!(some, (0..=300).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let items: Vec<usize> = (0..1000).collect();
        let panics = || each(2, &items, || (), |(), item| assert_ne!(*item, 500), |()| false);
        assert!(std::panic::catch_unwind(panics).is_err());
    }
}
