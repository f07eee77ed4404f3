//! Runs `etcdctl`: its environment, its requests, and the relevant part of its messages.
//!
//! Settings reach it by environment variables, so no list of processes shows the password.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::EtcdKey;
use crate::base::base64;
use crate::storage::fs;
use crate::storage::program::{self, Failure, RunBounds};

/// The servers, and how to reach them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Servers {
    /// The addresses, joined by commas.
    pub endpoints: String,
    /// The file of the certificate authority.
    pub ca: Option<String>,
    /// The file of the client's certificate.
    pub cert: Option<String>,
    /// The file of its key.
    pub key: Option<String>,
    /// The user, and the file of the password.
    pub login: Option<(String, String)>,
    /// Maximum duration of a request.
    pub limit: Duration,
}

/// The bound of an answer in bytes, with its setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Largest {
    /// Maximum size of all values.
    pub bytes: usize,
    /// The setting.
    pub setting: &'static str,
}

/// Variables of the caller that would lead `etcdctl` to another server, or change its output.
const MISLEADING: [&str; 20] = [
    "ETCDCTL_ENDPOINTS",
    "ETCDCTL_CACERT",
    "ETCDCTL_CERT",
    "ETCDCTL_KEY",
    "ETCDCTL_USER",
    "ETCDCTL_PASSWORD",
    "ETCDCTL_COMMAND_TIMEOUT",
    "ETCDCTL_DIAL_TIMEOUT",
    "ETCDCTL_KEEPALIVE_TIME",
    "ETCDCTL_KEEPALIVE_TIMEOUT",
    "ETCDCTL_WRITE_OUT",
    "ETCDCTL_HEX",
    "ETCDCTL_DEBUG",
    "ETCDCTL_DISCOVERY_SRV",
    "ETCDCTL_DISCOVERY_SRV_NAME",
    "ETCDCTL_INSECURE_DISCOVERY",
    "ETCDCTL_INSECURE_TRANSPORT",
    "ETCDCTL_INSECURE_SKIP_TLS_VERIFY",
    "ETCDCTL_AUTH_JWT_TOKEN",
    "GRPC_GO_LOG_SEVERITY_LEVEL",
];
/// What the program may take beyond the limit, to end by itself and report the reason.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes of JSON around a key and its value.
const AROUND_A_KEY: usize = 256;
/// The most keys. Each of them has a value, which is a file of its own for the engine.
const MOST_KEYS: usize = 100_000;

/// Keys at one revision of the server.
#[derive(Debug)]
pub struct Reading {
    /// The revision.
    pub revision: u64,
    /// The keys, sorted.
    pub keys: Vec<EtcdKey>,
}

/// The outcome of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    /// The revision of the server after it.
    pub revision: u64,
    /// Whether the key had the expected revision, and was changed.
    pub succeeded: bool,
}

#[derive(Deserialize)]
struct Header {
    revision: u64,
}

#[derive(Deserialize)]
struct EtcdctlAnswer {
    header: Header,
    #[serde(default)]
    kvs: Vec<EtcdctlKey>,
    #[serde(default)]
    succeeded: bool,
}

#[derive(Deserialize)]
struct EtcdctlKey {
    key: String,
    mod_revision: u64,
    #[serde(default)]
    value: String,
}

impl Servers {
    /// The keys with a prefix, or the key itself.
    pub fn read(&self, key: &str, is_prefix: bool, largest: Largest) -> Result<Reading, Failure> {
        let mut arguments = vec!["get", "--write-out=json"];
        if is_prefix {
            arguments.push("--prefix");
        }
        arguments.extend(["--", key]);
        let answer = self.ask(&arguments, b"", largest)?;
        let too_much = |what, limit| Failure::TooMuch(what, limit, largest.setting);
        if answer.kvs.len() > MOST_KEYS {
            return Err(too_much("the number of keys in etcd", MOST_KEYS));
        }
        let mut keys = Vec::with_capacity(answer.kvs.len());
        let mut bytes = 0;
        for EtcdctlKey { key, mod_revision, value } in answer.kvs {
            let (Some(key), Some(value)) = (base64::decode(&key), base64::decode(&value)) else {
                return Err(Failure::Exited("its answer is no base64".into()));
            };
            bytes += value.len();
            keys.push(EtcdKey {
                key: String::from_utf8_lossy(&key).as_ref().into(),
                revision: mod_revision,
                value: value.into(),
            });
        }
        if bytes > largest.bytes {
            return Err(too_much(SIZE, largest.bytes));
        }
        Ok(Reading { revision: answer.header.revision, keys })
    }

    /// Sets a key, or deletes it, if it still has this revision; 0 for a key that does not exist.
    pub fn change(
        &self,
        key: &str,
        expected: u64,
        value: Option<&[u8]>,
        largest: Largest,
    ) -> Result<Transaction, Failure> {
        let key = quoted(key.as_bytes());
        let request = match value {
            Some(value) => format!("put -- {key} {}", quoted(value)),
            None => format!("del -- {key}"),
        };
        let input = format!("mod({key}) = \"{expected}\"\n\n{request}\n\n\n");
        let answer = self.ask(&["txn", "--write-out=json"], input.as_bytes(), largest)?;
        Ok(Transaction { revision: answer.header.revision, succeeded: answer.succeeded })
    }

    fn ask(&self, arguments: &[&str], input: &[u8], largest: Largest) -> Result<EtcdctlAnswer, Failure> {
        let (command, password) = self.command(arguments)?;
        // JSON has base64, which takes four bytes for three.
        let most = largest.bytes / 3 * 4 + AROUND_A_KEY * MOST_KEYS;
        let bounds = RunBounds {
            program: "etcdctl",
            limit: self.limit + GRACE,
            largest: Some((most as u64, (SIZE, largest.bytes, largest.setting))),
            summary,
        };
        let output = program::output(command, input, bounds).map_err(|failure| match failure {
            // No server is known to repeat a password, and none gets the chance.
            Failure::Exited(text) => Failure::Exited(match &password {
                Some(password) if !password.is_empty() => text.replace(password.as_str(), "***"),
                _ => text,
            }),
            Failure::TimedOut(_) => Failure::TimedOut(self.limit),
            failure => failure,
        })?;
        serde_json::from_slice(&output).map_err(|_| Failure::Exited("its answer is no JSON of etcd".into()))
    }

    fn command(&self, arguments: &[&str]) -> Result<(Command, Option<String>), Failure> {
        let mut command = Command::new("etcdctl");
        for name in MISLEADING {
            command.env_remove(name);
        }
        // etcdctl 3.4 reads no variables for these two.
        let time = format!("{}ms", self.limit.as_millis());
        command.arg(format!("--command-timeout={time}")).arg(format!("--dial-timeout={time}"));
        command.args(arguments).env("ETCDCTL_API", "3").env("ETCDCTL_ENDPOINTS", &self.endpoints);
        let files = [("CACERT", &self.ca), ("CERT", &self.cert), ("KEY", &self.key)];
        for (name, file) in files {
            if let Some(file) = file {
                command.env(format!("ETCDCTL_{name}"), file);
            }
        }
        let Some((user, file)) = &self.login else { return Ok((command, None)) };
        let password = password(file)
            .map_err(|reason| Failure::Exited(format!("the password in '{file}' is unusable: {reason}")))?;
        command.env("ETCDCTL_USER", format!("{user}:{password}"));
        Ok((command, Some(password)))
    }
}

/// The first line of a file.
fn password(file: &str) -> Result<String, String> {
    let (bytes, _) = fs::read(Path::new(file), LONGEST_PASSWORD).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() || line.contains('\0') {
        return Err("its first line is no password".into());
    }
    Ok(line.to_owned())
}

/// Maximum size of the file of a password, in bytes.
const LONGEST_PASSWORD: usize = 4_096;
const SIZE: &str = "the size of the values in etcd";

/// A text as `etcdctl txn` reads it: like a string of Go.
fn quoted(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push('"');
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-_./ ".contains(byte) {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text.push('"');
    text
}

/// What the client says of a failed connection if it does not know why it failed.
const WITHOUT_REASON: &str = "all SubConns are in TransientFailure";

/// The relevant part of the messages, on one line.
fn summary(text: &str) -> String {
    /// Maximum number of messages to show.
    const MESSAGES: usize = 2;
    let mut messages: Vec<String> = Vec::new();
    let mut add = |message: &str| {
        let message = message.trim().trim_end_matches('"');
        if !message.is_empty() && !messages.iter().any(|known| known.contains(message)) {
            messages.push(message.to_owned());
        }
    };
    for line in text.lines().rev() {
        if let Some(message) = line.strip_prefix("Error: ") {
            add(message);
        } else if line.starts_with('{') {
            // A line of the log says which connection failed, and why.
            let log: Option<serde_json::Value> = serde_json::from_str(line).ok();
            let error = log.as_ref().and_then(|log| log.get("error")?.as_str());
            let reason =
                error.and_then(|error| Some(error.rsplit_once("desc = ")?.1.trim_start_matches('"')));
            if let Some(reason) = reason.filter(|reason| !reason.contains(WITHOUT_REASON)) {
                add(reason);
            }
        } else {
            add(line);
        }
    }
    messages.truncate(MESSAGES);
    messages.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_go_reads_them() {
        assert_eq!(quoted("a/b c".as_bytes()), "\"a/b c\"");
        assert_eq!(quoted("\"(ö\n".as_bytes()), "\"\\x22\\x28\\xc3\\xb6\\x0a\"");
    }

    #[test]
    fn messages_say_which_connection_failed() {
        let text = "{\"level\":\"warn\",\"error\":\"rpc error: code = DeadlineExceeded desc = latest \
                    balancer error: connection error: desc = \\\"transport: dial tcp 127.0.0.1:1: \
                    connect: connection refused\\\"\"}\nError: context deadline exceeded\n";
        let summary = summary(text);
        assert_eq!(
            summary,
            "context deadline exceeded; transport: dial tcp 127.0.0.1:1: connect: connection refused"
        );
    }
}
