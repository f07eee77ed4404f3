//! The conformance test turns the recorded answers of the Python programs into a table of agreement.
//!
//! `make conformance` prints one line per disagreement and the table. Every difference is an
//! entry of `tests/deviations.toml` with the number of its ruling; one without an entry fails,
//! and so does an entry that no longer differs. By environment variable:
//!
//! - `RECLASS_SHARED`: where the real inventories are, `../shared` beside the repository if not given;
//! - `RECLASS_CONFORMANCE_ONLY`: only inventories whose name contains this;
//! - `RECLASS_CONFORMANCE_ALL`: one line for each deviation too, with its ruling;
//! - `RECLASS_CONFORMANCE_DRAFT`: a file to write entries to for all that has none. Each must
//!   then be checked by thinking against its ruling;
//! - `RECLASS_CONFORMANCE_WIDE`: do not cut lines.

mod command;
mod compare;
mod deviations;
mod draft;
mod print;
mod tally;
mod verdict;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use deviations::Deviations;
use support::corpus::{self, Case};
use tally::Tally;
use verdict::Line;

/// How long one inventory may take, command lines included.
const PATIENCE: Duration = Duration::from_secs(600);

/// Prints the table of agreement, and tells whether it is as expected.
pub fn agrees() -> bool {
    let only = std::env::var("RECLASS_CONFORMANCE_ONLY").unwrap_or_default();
    let cases: Vec<Arc<Case>> =
        corpus::load().into_iter().filter(|case| case.id.contains(&only)).map(Arc::new).collect();
    let deviations = Arc::new(Deviations::read());
    // A panic of the engine is an answer; one of this program is printed.
    std::panic::set_hook(Box::new(|panic| {
        if panic.location().is_some_and(|place| !place.file().starts_with("src/")) {
            println!("{panic}");
        }
    }));
    let lines = judge(&cases, &deviations);
    let _ = std::panic::take_hook();
    let all = std::env::var_os("RECLASS_CONFORMANCE_ALL").is_some();
    let mut tally = Tally::new(all);
    for line in &lines {
        tally.add(line);
    }
    if only.is_empty() {
        for line in &verdict::strangers(&deviations, &cases) {
            tally.add(line);
        }
    }
    tally.print();
    if let Some(path) = std::env::var_os("RECLASS_CONFORMANCE_DRAFT") {
        let draft: String = lines.iter().filter_map(|line| line.draft.as_deref()).collect();
        std::fs::write(path, draft).expect("the draft can be written");
    }
    !tally.failed()
}

/// Judges all cases, two at a time, in the order of their names.
fn judge(cases: &[Arc<Case>], deviations: &Arc<Deviations>) -> Vec<Line> {
    let next = AtomicUsize::new(0);
    let mut parts: Vec<(usize, Vec<Line>)> = std::thread::scope(|scope| {
        let worker = || {
            let mut parts = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(case) = cases.get(index) else { return parts };
                parts.push((index, patiently(case, cases, deviations)));
            }
        };
        let workers = [scope.spawn(worker), scope.spawn(worker)];
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    parts.sort_by_key(|(index, _)| *index);
    parts.into_iter().flat_map(|(_, lines)| lines).collect()
}

/// Judges one case in a thread of its own: a defect there is a line, and so is silence.
fn patiently(case: &Arc<Case>, cases: &[Arc<Case>], deviations: &Arc<Deviations>) -> Vec<Line> {
    let (sender, receiver) = mpsc::channel();
    let (judged, all, entries) = (Arc::clone(case), cases.to_vec(), Arc::clone(deviations));
    std::thread::spawn(move || {
        // The receiver is gone if it lost its patience.
        let _ = sender.send(verdict::judge(&judged, &all, &entries));
    });
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|error| {
        vec![Line::unexplained(case, verdict::Sort::Answer, "*", format!("no answer at all: {error}"))]
    })
}
