//! Parallel work: one piece of work for each of many items, shared by threads that end with the call.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Fewer items than this are not worth a thread.
const WORTH: usize = 64;

/// How many items a thread takes at a time.
const PORTION: usize = 8;

/// How many threads work where settings ask for `wanted`; zero for as many as there are processors.
pub fn threads(wanted: u32) -> usize {
    match usize::try_from(wanted) {
        Ok(0) | Err(_) => std::thread::available_parallelism().map_or(1, NonZero::get),
        Ok(wanted) => wanted,
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
    let next = AtomicUsize::new(0);
    let end = AtomicUsize::new(items.len());
    let worker = || {
        let context = context();
        let mut results = Vec::new();
        loop {
            let first = next.fetch_add(PORTION, Ordering::Relaxed);
            for (index, item) in items.iter().enumerate().skip(first).take(PORTION) {
                if index >= end.load(Ordering::Relaxed) {
                    return results;
                }
                let result = work(&context, item);
                if stop(&result) {
                    end.fetch_min(index + 1, Ordering::Relaxed);
                }
                results.push((index, result));
            }
            if first >= items.len() {
                return results;
            }
        }
    };
    let others = if items.len() < WORTH { 0 } else { threads.saturating_sub(1) };
    let mut results = std::thread::scope(|scope| {
        // Where no thread can be had, this one does it all.
        let others: Vec<_> = (0..others)
            .filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, worker).ok())
            .collect();
        let mut results = worker();
        for other in others {
            match other.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.truncate(end.into_inner());
    results.into_iter().map(|(_, result)| result).collect()
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
