//! Fetches the branches and tags of a remote repository into its cache, and writes the record. Pushes commits.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::cache::{Cache, Record};
use super::program::{Failure, In, LOCAL, change, git, in_words, output};
use super::remote::{Remote, Transport};
use crate::storage::record::{FailedFetch, FetchLock, FetchTimes, Moment};

/// The credentials for servers of ssh, and the servers to trust.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Login {
    /// The private key. The default is the keys of the agent and of ssh's configuration.
    pub privkey: Option<PathBuf>,
    /// The public key. Without `privkey`, the agent must have the private key.
    pub pubkey: Option<PathBuf>,
    /// The password of the private key.
    pub password: Option<String>,
    /// The file of known servers. The default is that of ssh.
    pub known_hosts: Option<PathBuf>,
    /// Whether to trust an unknown server from its first use on.
    pub accept_new_hosts: bool,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("privkey", &self.privkey).finish_non_exhaustive()
    }
}

/// The repository to fetch, and its cache.
#[derive(Clone, Copy, Debug)]
pub struct FetchSource<'a> {
    pub cache: &'a Cache,
    /// The address of the repository.
    pub remote: &'a Remote,
    /// The credentials.
    pub login: &'a Login,
}

/// The reason for a failed fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The program `git` cannot be run.
    Program,
    /// The server refuses the client, or the client does not trust the server.
    Access,
    /// It took too long.
    Time,
    /// The cache cannot be written.
    Cache,
    /// Anything else: a wrong address, no network.
    Other,
}

const WORDS: [(Reason, &str); 5] = [
    (Reason::Program, "program"),
    (Reason::Access, "access"),
    (Reason::Time, "time"),
    (Reason::Cache, "cache"),
    (Reason::Other, "other"),
];

impl Reason {
    /// Its word in a record.
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(reason, _)| *reason == self).map_or("other", |(_, word)| word)
    }

    /// The reason for a word in a record.
    pub fn of_word(word: &str) -> Reason {
        WORDS.iter().find(|(_, known)| *known == word).map_or(Reason::Other, |(reason, _)| *reason)
    }

    /// The reason in a message of git or ssh.
    fn of_text(text: &str) -> Reason {
        let has_any = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has_any(&[
            "No space left",
            "Read-only file system",
            "Disk quota",
            "File too large",
            "unable to write",
        ]) {
            Reason::Cache
        } else if has_any(&[
            "Permission denied",
            "ermission to ",
            "Authentication failed",
            "could not read Username",
            "could not read Password",
            "error: 401",
            "error: 403",
            "Host key verification failed",
            "host key",
            "certificate",
            "dubious ownership",
        ]) {
            Reason::Access
        } else {
            Reason::Other
        }
    }
}

/// Fetches into a cache, and creates or repairs the cache if necessary. Needs its lock.
///
/// Returns the new record. It is also written, unless the cache cannot be written.
pub fn update(source: FetchSource<'_>, lock: &FetchLock, limit: Duration) -> Record {
    let cache = source.cache;
    let before = cache.record();
    let (began, clock) = (Moment::now(), Instant::now());
    let tried = if before.times.fetched.is_some() {
        cache.sweep();
        match fetch_all(source, lock, began, limit) {
            // A new cache helps against damage, but not against a server that cannot be reached.
            Err((Reason::Other | Reason::Cache, _)) if !is_sound(cache) => {
                anew(source, &before, lock, began, limit.saturating_sub(clock.elapsed()))
            }
            tried => tried,
        }
    } else {
        anew(source, &before, lock, began, limit)
    };
    let tried = tried.and_then(|mut record| match cache.write(record.after(&before, began)) {
        Ok(()) => Ok(record),
        Err(message) => Err((Reason::Cache, message)),
    });
    tried.unwrap_or_else(|(reason, message)| {
        let failure = FailedFetch { began, took: clock.elapsed(), code: reason.word().into(), message };
        let times = FetchTimes { failure: Some(failure), failed: Some(began.clock), ..before.times.clone() };
        let record = Record { times, ..before };
        // If the cache cannot be written, every process notices the failure itself.
        let _ = cache.write(&record);
        record
    })
}

type Tried = Result<Record, (Reason, String)>;

/// Replaces a damaged cache by a new one. Needs its lock.
pub fn repair(source: FetchSource<'_>, lock: &FetchLock, limit: Duration) -> Result<(), (Reason, String)> {
    let before = source.cache.record();
    if is_sound(source.cache) { Ok(()) } else { anew(source, &before, lock, Moment::now(), limit).map(drop) }
}

/// Fetches into a new cache, which replaces the old one on success, with what is served.
fn anew(source: FetchSource<'_>, before: &Record, lock: &FetchLock, began: Moment, limit: Duration) -> Tried {
    let unwritable = |message: String| (Reason::Cache, message);
    let new = source.cache.beside().map_err(unwritable)?;
    let init = with(&new, &["init", "--quiet", "--bare"]);
    let fetched = with_reason(change(&init, lock.file(), LOCAL))
        .and_then(|()| fetch_all(FetchSource { cache: &new, ..source }, lock, began, limit))
        .and_then(|mut record| new.write(record.after(before, began)).map(|()| record).map_err(unwritable))
        .and_then(|record| source.cache.replace_by(&new).map(|()| record).map_err(unwritable));
    if fetched.is_err() {
        new.remove();
    }
    fetched
}

/// Fetches all branches and tags, and returns the commits of the branches.
fn fetch_all(source: FetchSource<'_>, lock: &FetchLock, began: Moment, limit: Duration) -> Tried {
    let FetchSource { cache, remote, .. } = source;
    let end = Instant::now() + limit;
    let mut command = reaching(source, &cache.folder)?;
    command.args(["fetch", "--quiet", "--force", "--prune", "--no-tags", "--no-recurse-submodules", "--"]);
    command.args([&*remote.address, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]);
    if remote.head {
        command.arg("+HEAD:refs/heads/HEAD");
    }
    let fetched = change(&command, lock.file(), limit);
    with_reason(fetched).map_err(|(reason, text)| (reason, without_password(text, remote)))?;
    let heads = ["for-each-ref", "--format=%(objecttype) %(objectname) %(refname)", "refs/heads/"];
    let heads = with_reason(output(with(cache, &heads), b"", LOCAL))?;
    let heads = String::from_utf8_lossy(&heads)
        .lines()
        .filter_map(|line| {
            let (commit, branch) = line.strip_prefix("commit ")?.split_once(" refs/heads/")?;
            Some((branch.to_owned(), commit.into()))
        })
        .collect();
    // Combines packs from time to time. Objects without references stay for two weeks.
    let tidy = with(cache, &["-c", "gc.autoDetach=false", "gc", "--auto", "--quiet"]);
    let _ = change(&tidy, lock.file(), end.saturating_duration_since(Instant::now()));
    let times = FetchTimes { fetched: Some(began), ..FetchTimes::default() };
    Ok(Record { times, heads, ..Record::default() })
}

/// Pushes a commit of a bare repository to a branch of the source, unless others have changed the branch.
pub fn push(
    source: FetchSource<'_>,
    folder: &Path,
    commit: &str,
    branch: &str,
    limit: Duration,
) -> Result<(), (Reason, String)> {
    let mut command = reaching(source, folder)?;
    command.args(["push", "--quiet", "--no-verify", "--no-recurse-submodules", "--"]);
    command.args([&*source.remote.address, &format!("{commit}:refs/heads/{branch}")]);
    let pushed = with_reason(output(command, b"", limit)).map(drop);
    pushed.map_err(|(reason, text)| (reason, without_password(text, source.remote)))
}

/// A git that may reach the server of a source, in a bare repository.
fn reaching(source: FetchSource<'_>, folder: &Path) -> Result<Command, (Reason, String)> {
    let mut command = git(In::Bare(folder));
    command.env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
    command.args(["-c", "core.askPass=", "-c", "gc.auto=0", "-c", "maintenance.auto=false"]);
    let introduced = introduce(&mut command, source.cache, source.remote, source.login);
    introduced.map(|()| command).map_err(|message| (Reason::Cache, message))
}

fn with(cache: &Cache, arguments: &[&str]) -> Command {
    let mut command = git(In::Bare(&cache.folder));
    command.args(arguments);
    command
}

/// Passes the credentials to git. Secrets are in environment variables, which only the same user can read.
fn introduce(command: &mut Command, cache: &Cache, remote: &Remote, login: &Login) -> Result<(), String> {
    match &remote.transport {
        Transport::Ssh => {
            command.arg("-c").arg(format!("core.sshCommand={}", ssh(login)));
            if login.privkey.is_some() || login.pubkey.is_some() {
                command.env_remove("GIT_SSH_COMMAND").env_remove("GIT_SSH");
            }
            if let Some(password) = &login.password {
                command.env("RECLASS_PASSWORD", password).env("SSH_ASKPASS_REQUIRE", "force");
                command.env("SSH_ASKPASS", cache.script("reclass-ask", ASK)?);
            }
        }
        Transport::Password(login) => {
            command.env("RECLASS_USER", &login.user).env("RECLASS_PASSWORD", &login.password);
            command.args(["-c", "credential.helper="]);
            command.arg("-c").arg(format!("credential.{}.helper={HELPER}", login.server));
        }
        Transport::Local | Transport::Plain => {}
    }
    Ok(())
}

/// A credential helper that prints user and password. Git passes one argument, and data on standard input
/// that the helper ignores.
const HELPER: &str = "!f() { test \"$1\" = get && \
     printf 'username=%s\\npassword=%s\\n' \"$RECLASS_USER\" \"$RECLASS_PASSWORD\"; }; f";

/// Passes the password of the key to ssh.
const ASK: &str = "#!/bin/sh\nprintf '%s\\n' \"$RECLASS_PASSWORD\"\n";

fn ssh(login: &Login) -> String {
    // Quoted for the shell, and then for ssh, which splits words and expands `%` in paths.
    let quoted = |option: &str, path: &PathBuf| {
        let path = path.to_string_lossy().replace('%', "%%").replace('\'', "'\\''");
        format!(" -o '{option}=\"{path}\"'")
    };
    let hosts = if login.accept_new_hosts { "accept-new" } else { "yes" };
    let mut command = format!("ssh -o StrictHostKeyChecking={hosts}");
    command += match login.password {
        // The password of the key must not be sent to a server.
        Some(_) => " -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no",
        None => " -o BatchMode=yes",
    };
    if let Some(file) = &login.known_hosts {
        command += &quoted("UserKnownHostsFile", file);
    }
    if let Some(key) = login.privkey.as_ref().or(login.pubkey.as_ref()) {
        command += " -o IdentitiesOnly=yes";
        command += &quoted("IdentityFile", key);
    }
    command
}

/// Whether git can read the repository.
fn is_sound(cache: &Cache) -> bool {
    let heads = output(with(cache, &["rev-parse", "--is-bare-repository"]), b"", LOCAL).is_ok();
    heads && output(with(cache, &["fsck", "--connectivity-only", "--no-dangling"]), b"", LOCAL).is_ok()
}

fn with_reason<T>(result: Result<T, Failure>) -> Result<T, (Reason, String)> {
    result.map_err(|failure| match failure {
        Failure::NotRun(message) => (Reason::Program, message),
        Failure::TimedOut(limit) => (Reason::Time, format!("no answer within {}", in_words(limit))),
        Failure::Exited(text) => (Reason::of_text(&text), text),
        Failure::TooMuch(what, limit, _) => (Reason::Other, format!("{what} exceeds the limit of {limit}")),
    })
}

fn without_password(text: String, remote: &Remote) -> String {
    match &remote.transport {
        Transport::Password(login) if !login.password.is_empty() => text.replace(&login.password, "***"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_git_are_reported_without_the_password() {
        // A server may send the password back, and git shows the message of the server.
        let remote = Remote::parse("https://ada:hunter%202@host/x.git", None).expect("an address");
        let message = "remote: no user 'ada' with 'hunter 2'".to_owned();
        assert_eq!(without_password(message, &remote), "remote: no user 'ada' with '***'");
    }
}
