//! Shows a line on the terminal during long work: the task, how many nodes or files are done, how many in a
//! second, and the duration.
//!
//! The line appears after a second, and only if standard error is a terminal. It is erased before any other
//! output there.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use reclass_base::lock::Mutex;
use reclass_base::progress::{self, WorkProgress};

use crate::process::environment;

/// Delay before the line appears.
const PATIENCE: Duration = Duration::from_secs(1);
/// Interval between updates.
const PAUSE: Duration = Duration::from_millis(200);
/// Moves to the first column and clears the line.
const WIPE: &str = "\r\u{1b}[K";

/// Whether the line is on the terminal now.
static IS_SHOWN: Mutex<bool> = Mutex::new(false);

/// Runs the work and shows its progress.
pub fn shown<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let dumb = environment("TERM").is_none_or(|terminal| terminal == "dumb");
    if dumb || !io::stderr().is_terminal() {
        return work();
    }
    // The work stays in this thread, because this stack grows for deep inventories.
    std::thread::scope(|scope| {
        let (done, waits) = channel::<()>();
        let show = move || {
            let begun = Instant::now();
            let mut pause = PATIENCE;
            let mut current = CurrentWork::default();
            while waits.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                write_line(&current.line(what, progress::current(), begun.elapsed()));
                pause = PAUSE;
            }
            wipe();
        };
        // If the thread cannot start, no progress is shown.
        let _thread = std::thread::Builder::new().spawn_scoped(scope, show);
        let answer = work();
        drop(done);
        answer
    })
}

/// The work that is shown, and its state when it was first seen.
#[derive(Default)]
struct CurrentWork(Option<(WorkProgress, Duration)>);

impl CurrentWork {
    /// `lint 1,240/2,000 nodes, 620/s, 3 s`
    fn line(&mut self, what: &str, now: Option<WorkProgress>, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs();
        let Some(now) = now else { return format!("{what}, {seconds} s") };
        let (first, seen) = match self.0 {
            Some((first, seen)) if first.work == now.work && first.total == now.total => (first, seen),
            _ => {
                self.0 = Some((now, elapsed));
                (now, elapsed)
            }
        };
        let rate = match (elapsed.checked_sub(seen).unwrap_or_default(), now.done.saturating_sub(first.done))
        {
            // Too short to say anything.
            (time, done) if time < PAUSE || done == 0 => String::new(),
            (time, done) => {
                let tenths = done as u128 * 10_000 / time.as_millis().max(1);
                match tenths {
                    0..100 => format!(", {}.{}/s", tenths / 10, tenths % 10),
                    _ => format!(", {}/s", thousands(tenths / 10)),
                }
            }
        };
        let (done, total) = (thousands(now.done as u128), thousands(now.total as u128));
        format!("{what} {done}/{total} {}{rate}, {seconds} s", now.unit.name())
    }
}

/// A number with commas, `1,240`.
fn thousands(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Erases the line before other output.
pub fn wipe() {
    let mut is_shown = IS_SHOWN.lock();
    if std::mem::take(&mut *is_shown) {
        let _ = write!(io::stderr().lock(), "{WIPE}");
    }
}

fn write_line(text: &str) {
    let mut is_shown = IS_SHOWN.lock();
    *is_shown = true;
    // Cut to the width of the narrowest terminal, because a wrapped line cannot be erased.
    let text: String = reclass::error::inert(text).chars().take(79).collect();
    let mut error = io::stderr().lock();
    // An error is ignored: the terminal is gone.
    let _ = write!(error, "{WIPE}{text}").and_then(|()| error.flush());
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reclass_base::progress::{WorkProgress, WorkUnit};

    use super::{CurrentWork, thousands};

    #[test]
    fn the_line_has_counts_and_a_rate() {
        let at = |done| Some(WorkProgress { work: 1, done, total: 2_000, unit: WorkUnit::Nodes });
        let mut current = CurrentWork::default();
        assert_eq!(current.line("lint", None, Duration::from_secs(1)), "lint, 1 s");
        assert_eq!(current.line("lint", at(40), Duration::from_secs(1)), "lint 40/2,000 nodes, 1 s");
        assert_eq!(
            current.line("lint", at(1_240), Duration::from_secs(3)),
            "lint 1,240/2,000 nodes, 600/s, 3 s"
        );
        let other = WorkProgress { work: 2, done: 5, total: 2_000, unit: WorkUnit::Files };
        assert_eq!(current.line("lint", Some(other), Duration::from_secs(4)), "lint 5/2,000 files, 4 s");
    }

    #[test]
    fn a_slow_rate_has_a_decimal() {
        let at = |done| Some(WorkProgress { work: 1, done, total: 9, unit: WorkUnit::Nodes });
        let mut current = CurrentWork::default();
        current.line("rendering", at(1), Duration::from_secs(1));
        let line = current.line("rendering", at(4), Duration::from_secs(5));
        assert_eq!(line, "rendering 4/9 nodes, 0.7/s, 5 s");
    }

    #[test]
    fn numbers_have_commas() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
