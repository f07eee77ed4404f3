//! Runs other programs in a limited time, and returns their output or the reason for their failure.
//!
//! They read and write files in memory instead of pipes. So nobody waits for a reader, no thread is needed,
//! and processes that a program leaves running keep none of our pipes open.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::storage::os::unix::process::CommandExt as _;

/// The reason for a failed program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The program is missing or cannot be run.
    NotRun(String),
    /// It took too long.
    TimedOut(Duration),
    /// The program failed, with this message on one line.
    Exited(String),
    /// The output exceeds a limit: the name of the quantity, the limit, and its setting.
    TooMuch(&'static str, usize, &'static str),
}

/// The bounds of a run, and how to read the messages of the program.
#[derive(Clone, Copy, Debug)]
pub struct RunBounds {
    /// The name of the program, for messages.
    pub program: &'static str,
    /// Maximum duration.
    pub limit: Duration,
    /// Maximum size of the output in bytes, with the quantity, its limit and setting for the message.
    pub largest: Option<(u64, (&'static str, usize, &'static str))>,
    /// Makes one line of the messages of the program.
    pub summary: fn(&str) -> String,
}

/// The output of a command that succeeds in time.
pub fn output(mut command: Command, input: &[u8], bounds: RunBounds) -> Result<Vec<u8>, Failure> {
    let (mut stdin, mut stdout) = (memory()?, memory()?);
    stdin.write_all(input).and_then(|()| stdin.rewind()).map_err(not_run)?;
    command.stdin(stdin).stdout(stdout.try_clone().map_err(not_run)?);
    run(command, bounds, Some(&stdout))?;
    read(&mut stdout)
}

/// Runs a command that succeeds in time. `stdout` is the file that its output goes to, if its size is bounded.
pub fn run(mut command: Command, bounds: RunBounds, stdout: Option<&File>) -> Result<(), Failure> {
    let RunBounds { program, limit, largest, summary } = bounds;
    let too_large =
        |most: u64| stdout.and_then(|file| file.metadata().ok()).is_some_and(|is| is.len() > most);
    let is_over = || largest.is_some_and(|(most, _)| too_large(most));
    let mut stderr = memory()?;
    command.stderr(stderr.try_clone().map_err(not_run)?).process_group(0);
    let mut child = command.spawn().map_err(not_run)?;
    // Now only the child has its files open.
    drop(command);
    let ended = wait(&mut child, limit, &is_over).map_err(|error| match error.raw_os_error() {
        Some(code) if code == Errno::CHILD.raw_os_error() => {
            Failure::NotRun("this process ignores SIGCHLD, so nobody can tell how it ended".into())
        }
        _ => not_run(error),
    });
    let status = ended?;
    if let Some((_, (what, limit, setting))) = largest.filter(|(most, _)| too_large(*most)) {
        return Err(Failure::TooMuch(what, limit, setting));
    }
    let Some(status) = status else {
        return Err(Failure::TimedOut(limit));
    };
    if status.success() {
        return Ok(());
    }
    Err(match summary(&String::from_utf8_lossy(&read(&mut stderr)?)) {
        text if text.is_empty() => Failure::Exited(format!("{program} ended with {status}")),
        text => Failure::Exited(text),
    })
}

/// A time limit in a message: `a second`, `30 seconds`. Of a limit, a moment may have passed already.
pub fn in_words(limit: Duration) -> String {
    match (limit + Duration::from_millis(500)).as_secs() {
        1 => "a second".into(),
        seconds => format!("{seconds} seconds"),
    }
}

/// The failure of a program that did not start, or whose files cannot be used.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes the error by value")]
pub fn not_run(error: std::io::Error) -> Failure {
    Failure::NotRun(crate::storage::fs::reason(&error))
}

fn read(file: &mut File) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(not_run)?;
    Ok(bytes)
}

/// A file in memory.
pub fn memory() -> Result<File, Failure> {
    crate::storage::os::memory().map_err(not_run)
}

/// The exit status of a child; `None` if it took too long or wrote too much, and was killed.
fn wait(
    child: &mut Child,
    limit: Duration,
    is_over: &dyn Fn() -> bool,
) -> std::io::Result<Option<ExitStatus>> {
    const LONGEST_PAUSE: Duration = Duration::from_millis(20);
    let end = Instant::now() + limit;
    let mut pause = Duration::from_micros(500);
    loop {
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => return Ok(Some(status)),
            Err(error) => {
                end_group(child);
                return Err(error);
            }
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || is_over() {
            end_group(child);
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn end_group(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: RunBounds =
        RunBounds { program: "sh", limit: Duration::from_secs(60), largest: None, summary: str::to_owned };

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn input_goes_in_and_output_comes_out() {
        assert_eq!(output(shell("cat; echo x >&2"), b"hello", RUN), Ok(b"hello".to_vec()));
        assert_eq!(
            output(shell("exit 3"), b"", RUN),
            Err(Failure::Exited("sh ended with exit status: 3".into()))
        );
    }

    #[test]
    fn whatever_takes_too_long_is_ended() {
        let limit = Duration::from_millis(200);
        let ended = output(shell("sleep 100000"), b"", RunBounds { limit, ..RUN });
        assert_eq!(ended, Err(Failure::TimedOut(limit)));
    }

    #[test]
    fn whatever_writes_too_much_is_ended() {
        let bounds = RunBounds { largest: Some((1_000, ("the output", 1_000, "limit"))), ..RUN };
        let much = Err(Failure::TooMuch("the output", 1_000, "limit"));
        assert_eq!(output(shell("head -c 1001 /dev/zero; sleep 100000"), b"", bounds), much);
        assert_eq!(output(shell("head -c 1001 /dev/zero"), b"", bounds), much);
        assert!(output(shell("head -c 1000 /dev/zero"), b"", bounds).is_ok());
    }
}
