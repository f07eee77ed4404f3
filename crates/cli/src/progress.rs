//! Shows a line on the terminal during long work: the task and its duration.
//!
//! The line appears after a second, and only if standard error is a terminal. It is erased before any other
//! output there.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use reclass::lock::Mutex;

use crate::configuration::environment;

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
            while waits.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                write_line(&format!("{what}, {} s", begun.elapsed().as_secs()));
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
