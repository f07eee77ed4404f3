//! Progress turns work that takes long into a line on the terminal that says what and for how long.
//!
//! It begins after a second, only where standard error is a terminal, and is wiped away before
//! anything else is printed there.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use reclass::lock::Mutex;

use crate::configuration::environment;

/// Before anything is said.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks at the clock.
const PAUSE: Duration = Duration::from_millis(200);
/// Back to the first column, and nothing to the right of it.
const WIPE: &str = "\r\u{1b}[K";

/// Whether the line stands on the terminal now.
static STANDS: Mutex<bool> = Mutex::new(false);

/// Works, and says so while it lasts.
pub fn shown<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let dumb = environment("TERM").is_none_or(|terminal| terminal == "dumb");
    if dumb || !io::stderr().is_terminal() {
        return work();
    }
    // The work stays in this thread: its stack is the one that is grown for deep inventories.
    std::thread::scope(|scope| {
        let (done, waits) = channel::<()>();
        let tell = move || {
            let begun = Instant::now();
            let mut pause = PATIENCE;
            while waits.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                say(&format!("{what}, {} s", begun.elapsed().as_secs()));
                pause = PAUSE;
            }
            wipe();
        };
        // Without a thread nothing is said.
        let _thread = std::thread::Builder::new().spawn_scoped(scope, tell);
        let answer = work();
        drop(done);
        answer
    })
}

/// Takes the line away, for something else to be printed.
pub fn wipe() {
    let mut stands = STANDS.lock();
    if std::mem::take(&mut *stands) {
        let _ = write!(io::stderr().lock(), "{WIPE}");
    }
}

fn say(text: &str) {
    let mut stands = STANDS.lock();
    *stands = true;
    // Cut where the narrowest terminal ends: a line that is broken cannot be wiped.
    let text: String = reclass::error::inert(text).chars().take(79).collect();
    let mut error = io::stderr().lock();
    // Where the terminal is gone there is no one to tell.
    let _ = write!(error, "{WIPE}{text}").and_then(|()| error.flush());
}
