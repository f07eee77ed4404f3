//! Runs commands of git: their environment, and the relevant part of their messages.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::storage::program::{self, RunBounds, not_run};
pub use crate::storage::program::{Failure, in_words};

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
}

/// A `git` that asks the user nothing and takes no optional locks.
pub fn git(place: In<'_>) -> Command {
    let mut command = Command::new("git");
    match place {
        In::Enclosing(folder) => {
            command.arg("-C").arg(folder);
        }
        In::Bare(folder) => {
            command.arg("--git-dir").arg(folder);
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
    program::run(shell, bounds(limit), None)
}

/// The output of a command that succeeds in time.
pub fn output(command: Command, input: &[u8], limit: Duration) -> Result<Vec<u8>, Failure> {
    program::output(command, input, bounds(limit))
}

fn bounds(limit: Duration) -> RunBounds {
    RunBounds { program: "git", limit, largest: None, summary }
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
    lines.join("; ").replace(":; ", ": ")
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::storage::program::memory;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_failure_has_the_message_without_noise() {
        let failure =
            output(shell("echo 'warning: w' >&2; echo 'fatal: a' >&2; echo b >&2; exit 1"), b"", LOCAL);
        assert_eq!(failure, Err(Failure::Exited("a; b".into())));
    }

    #[test]
    fn whatever_takes_too_long_is_ended_with_its_children() {
        let limit = Duration::from_millis(200);
        let begun = Instant::now();
        let lock = memory().expect("a file");
        assert_eq!(change(&shell("sleep 60 & sleep 60"), &lock, limit), Err(Failure::TimedOut(limit)));
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(change(&shell("exit 0"), &lock, LOCAL), Ok(()));
        assert_eq!(change(&shell("echo no >&2; exit 1"), &lock, LOCAL), Err(Failure::Exited("no".into())));
    }
}
