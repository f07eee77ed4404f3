//! Runs commands of git in a limited time, and returns their output or the reason for their failure.
//!
//! Git reads and writes files in memory instead of pipes. So nobody waits for a reader, no thread is needed,
//! and processes that git leaves running keep none of our pipes open.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

/// The reason for a failed command of git.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The program `git` is missing or cannot be run.
    NotRun(String),
    /// It took too long.
    TimedOut(Duration),
    /// Git failed, with this message on one line.
    Exited(String),
    /// A tree exceeds a limit: the name of the quantity, the limit, and its setting.
    TooMuch(&'static str, usize, &'static str),
}

/// Maximum duration of a command that only reads the disk.
pub const LOCAL: Duration = Duration::from_secs(60);

/// Variables that would lead git to another repository, for example those that a hook of git sets.
const MISLEADING: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
];

/// The repository of a command.
#[derive(Clone, Copy, Debug)]
pub enum In<'a> {
    /// The repository around this folder, found as for the user's own commands.
    Enclosing(&'a Path),
    /// This bare repository.
    Bare(&'a Path),
    /// The repository of a submodule, whose files may have moved.
    Submodule(&'a Path),
}

/// A `git` that asks the user nothing and takes no optional locks.
pub fn git(place: In<'_>) -> Command {
    let mut command = Command::new("git");
    match place {
        In::Enclosing(folder) => {
            command.arg("-C").arg(folder);
        }
        In::Bare(folder) | In::Submodule(folder) => {
            command.arg("--git-dir").arg(folder);
            if matches!(place, In::Submodule(_)) {
                // Replaces the folder in the configuration of the submodule, which may not exist any more.
                command.arg("--work-tree").arg(folder);
            }
            for name in MISLEADING {
                command.env_remove(name);
            }
        }
    }
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    command.env_remove("GIT_ASKPASS").env_remove("SSH_ASKPASS").env_remove("LANGUAGE");
    command
}

/// Runs a command that changes a cache, and may use the network. When this process ends, all processes that
/// it started are killed. They hold the lock of the cache until they have ended.
pub fn change(command: &Command, lock: &File, limit: Duration) -> Result<(), Failure> {
    // The shell reads from a pipe of this process. If the pipe closes before git has ended, the shell kills
    // the whole process group.
    const WATCHED: &str = "exec 3<&0; { read -r _ <&3; kill -KILL 0; } & watch=$!; \
         \"$@\" </dev/null 3<&-; code=$?; kill $watch; wait $watch 2>/dev/null; exit $code";
    let mut shell = Command::new("sh");
    shell.args(["-c", WATCHED, "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    // A file that is open in several processes stays locked until the last one has closed it.
    let lock = lock.try_clone().map_err(not_run)?;
    shell.stdin(Stdio::piped()).stdout(Stdio::from(lock));
    run(shell, limit)
}

/// The output of a command that succeeds in time.
pub fn output(mut command: Command, input: &[u8], limit: Duration) -> Result<Vec<u8>, Failure> {
    let (mut stdin, mut stdout) = (memory()?, memory()?);
    stdin.write_all(input).and_then(|()| stdin.rewind()).map_err(not_run)?;
    command.stdin(stdin).stdout(stdout.try_clone().map_err(not_run)?);
    run(command, limit)?;
    read(&mut stdout)
}

fn run(mut command: Command, limit: Duration) -> Result<(), Failure> {
    let mut stderr = memory()?;
    command.stderr(stderr.try_clone().map_err(not_run)?).process_group(0);
    let mut child = command.spawn().map_err(not_run)?;
    // Now only the child has its files open.
    drop(command);
    let ended = wait(&mut child, limit).map_err(|error| match error.raw_os_error() {
        Some(code) if code == Errno::CHILD.raw_os_error() => {
            Failure::NotRun("this process ignores SIGCHLD, so nobody can tell how it ended".into())
        }
        _ => not_run(error),
    });
    let Some(status) = ended? else {
        return Err(Failure::TimedOut(limit));
    };
    if status.success() {
        return Ok(());
    }
    Err(match summary(&String::from_utf8_lossy(&read(&mut stderr)?)) {
        text if text.is_empty() => Failure::Exited(format!("git ended with {status}")),
        text => Failure::Exited(text),
    })
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes the error by value")]
fn not_run(error: std::io::Error) -> Failure {
    Failure::NotRun(crate::storage::fs::reason(&error))
}

fn read(file: &mut File) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(not_run)?;
    Ok(bytes)
}

/// A file in memory.
fn memory() -> Result<File, Failure> {
    let made = rustix::fs::memfd_create("reclass", MemfdFlags::CLOEXEC);
    made.map(File::from).map_err(|error| not_run(error.into()))
}

/// The exit status of a child; `None` if it took too long and was killed.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
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
        if left.is_zero() {
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

/// The relevant part of git's messages, on one line.
fn summary(text: &str) -> String {
    /// Maximum number of lines to show.
    const LINES: usize = 3;
    // Ssh writes a dozen lines.
    if text.contains("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        return "the host key of the server has changed".to_owned();
    }
    let noise = ["warning:", "hint:", "@@@", "please make sure you have", "and the repository exists"];
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        let low = line.to_ascii_lowercase();
        let line =
            line.trim_start_matches("remote: ").trim_start_matches("fatal: ").trim_start_matches("error: ");
        if !line.is_empty() && !noise.iter().any(|noise| low.starts_with(noise)) && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.truncate(LINES);
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn input_goes_in_and_output_comes_out() {
        assert_eq!(output(shell("cat; echo x >&2"), b"hello", LOCAL), Ok(b"hello".to_vec()));
        let failure =
            output(shell("echo 'warning: w' >&2; echo 'fatal: a' >&2; echo b >&2; exit 1"), b"", LOCAL);
        assert_eq!(failure, Err(Failure::Exited("a; b".into())));
        assert_eq!(
            output(shell("exit 3"), b"", LOCAL),
            Err(Failure::Exited("git ended with exit status: 3".into()))
        );
    }

    #[test]
    fn whatever_takes_too_long_is_ended_with_its_children() {
        let limit = Duration::from_millis(200);
        let begun = Instant::now();
        let lock = memory().expect("a file");
        assert_eq!(change(&shell("sleep 60 & sleep 60"), &lock, limit), Err(Failure::TimedOut(limit)));
        assert_eq!(output(shell("sleep 60"), b"", limit), Err(Failure::TimedOut(limit)));
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(change(&shell("exit 0"), &lock, LOCAL), Ok(()));
        assert_eq!(change(&shell("echo no >&2; exit 1"), &lock, LOCAL), Err(Failure::Exited("no".into())));
    }
}
