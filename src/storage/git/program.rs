//! A program turns a command of git into what it printed, or into why it failed, in a limited time.
//!
//! What git reads and writes are files in memory, not pipes: nobody waits for a reader, no thread is
//! needed, and what git leaves running holds nothing of ours.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

/// Why a command of git gave nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// There is no program `git`, or it cannot be run.
    NotRun(String),
    /// It took too long.
    TimedOut(Duration),
    /// Git failed; its message on one line.
    Exited(String),
    /// The output exceeds a limit: of what, the limit, and its setting.
    TooMuch(&'static str, usize, &'static str),
}

/// How long a command may take that only reads the disk.
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

/// Where the repository is that a command is about.
#[derive(Clone, Copy, Debug)]
pub enum In<'a> {
    /// The repository that holds this folder, as the user's own commands find it.
    Around(&'a Path),
    /// This bare repository.
    Bare(&'a Path),
    /// This repository of a submodule, wherever its files are or were.
    Kept(&'a Path),
}

/// A `git` that neither asks nor takes locks that it can do without.
pub fn git(place: In<'_>) -> Command {
    let mut command = Command::new("git");
    match place {
        In::Around(folder) => {
            command.arg("-C").arg(folder);
        }
        In::Bare(folder) | In::Kept(folder) => {
            command.arg("--git-dir").arg(folder);
            if matches!(place, In::Kept(_)) {
                // In place of the folder in its configuration, which may be gone.
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

/// Runs a command that changes a cache, and may use the network. When this process ends, whatever it
/// started ends with it; until that has ended, it holds the lock of the cache too.
pub fn change(command: &Command, lock: &File, limit: Duration) -> Result<(), Failure> {
    // The shell holds the other end of a pipe of ours. When it closes before git has ended, the whole
    // group of processes is ended.
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
    // A locked file that is open in several processes is locked until the last one has closed it.
    let lock = lock.try_clone().map_err(not_run)?;
    shell.stdin(Stdio::piped()).stdout(Stdio::from(lock));
    run(shell, limit)
}

/// What a command prints, if it ends well in time.
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
    // Its files are open in the child alone.
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

#[expect(clippy::needless_pass_by_value, reason = "it is what failed calls pass on")]
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

/// How a child ended; `None` where it had to be ended.
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
    let idle = ["warning:", "hint:", "@@@", "please make sure you have", "and the repository exists"];
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        let low = line.to_ascii_lowercase();
        let line =
            line.trim_start_matches("remote: ").trim_start_matches("fatal: ").trim_start_matches("error: ");
        if !line.is_empty() && !idle.iter().any(|idle| low.starts_with(idle)) && !lines.contains(&line) {
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
