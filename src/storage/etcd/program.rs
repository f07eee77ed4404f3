//! Runs `etcdctl`: its environment, its requests, and the relevant part of its messages.
//!
//! Settings reach it by environment variables, so no list of processes shows the password.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::bounds::{Bounds, SIZE, SIZE_SETTING};
use super::{EtcdKey, EtcdRecord};
use crate::storage::fs;
use crate::storage::program::{self, Failure, RunBounds};
use reclass_base::base64;

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
/// Bytes of JSON around a key and its value.
const AROUND_A_KEY: usize = 256;

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
    #[serde(default)]
    cluster_id: u64,
    revision: u64,
}

#[derive(Deserialize)]
struct EtcdctlAnswer {
    header: Header,
    #[serde(default)]
    kvs: Vec<EtcdctlKey>,
    /// The number of keys that the server has.
    count: Option<usize>,
    #[serde(default)]
    more: bool,
    #[serde(default)]
    succeeded: bool,
}

#[derive(Deserialize)]
struct EtcdctlKey {
    key: String,
    #[serde(default)]
    create_revision: u64,
    mod_revision: u64,
    #[serde(default)]
    value: String,
}

impl Servers {
    /// The keys with a prefix, without times.
    pub fn read(&self, prefix: &str, limit: Duration, bounds: Bounds) -> Result<EtcdRecord, Failure> {
        let arguments = ["get", "--write-out=json", "--prefix", "--", prefix];
        let EtcdctlAnswer { header, kvs, count, more, .. } = self.ask(&arguments, b"", limit, bounds)?;
        if more || count.is_some_and(|count| count != kvs.len()) {
            return Err(Failure::Exited("its answer does not have all keys".into()));
        }
        let mut keys = Vec::with_capacity(kvs.len());
        let mut bytes = 0;
        for EtcdctlKey { key, create_revision, mod_revision, value } in kvs {
            let (Some(key), Some(value)) = (base64::decode_exact(&key), base64::decode_exact(&value)) else {
                return Err(Failure::Exited("its answer is no base64".into()));
            };
            bytes += key.len() + value.len();
            let key = String::from_utf8(key).map_err(|error| {
                Failure::Exited(format!("the key '{}' is not UTF-8", error.as_bytes().escape_ascii()))
            })?;
            let (created, revision) = (create_revision, mod_revision);
            keys.push(EtcdKey { key: key.into(), created, revision, value: value.into() });
        }
        if bytes > bounds.bytes {
            return Err(bounds.too_large());
        }
        let Header { cluster_id: cluster, revision } = header;
        Ok(EtcdRecord { cluster, revision, keys: keys.into(), ..EtcdRecord::default() })
    }

    /// Sets a key, or deletes it, if it still has this revision; 0 for a key that does not exist.
    pub fn change(
        &self,
        key: &str,
        expected: u64,
        value: Option<&[u8]>,
        bounds: Bounds,
    ) -> Result<Transaction, Failure> {
        let key = quoted(key.as_bytes());
        let request = match value {
            Some(value) => format!("put -- {key} {}", quoted(value)),
            None => format!("del -- {key}"),
        };
        let input = format!("mod({key}) = \"{expected}\"\n\n{request}\n\n\n");
        let answer = self.ask(&["txn", "--write-out=json"], input.as_bytes(), self.limit, bounds)?;
        Ok(Transaction { revision: answer.header.revision, succeeded: answer.succeeded })
    }

    fn ask(
        &self,
        arguments: &[&str],
        input: &[u8],
        limit: Duration,
        bounds: Bounds,
    ) -> Result<EtcdctlAnswer, Failure> {
        let (command, password) = self.command(arguments, limit)?;
        // JSON has base64, which takes four bytes for three.
        let most = bounds.bytes / 3 * 4 + AROUND_A_KEY * bounds.most_keys();
        let bounds = RunBounds {
            program: "etcdctl",
            limit,
            largest: Some((most as u64, (SIZE, bounds.bytes, SIZE_SETTING))),
            summary,
        };
        let output = program::output(command, input, bounds).map_err(|failure| match failure {
            // No server is known to repeat a password, and none gets the chance.
            Failure::Exited(text) => Failure::Exited(match &password {
                Some(password) if !password.is_empty() => text.replace(password.as_str(), "***"),
                _ => text,
            }),
            failure => failure,
        })?;
        serde_json::from_slice(&output).map_err(|_| Failure::Exited("its answer is no JSON of etcd".into()))
    }

    fn command(&self, arguments: &[&str], limit: Duration) -> Result<(Command, Option<String>), Failure> {
        let mut command = Command::new("etcdctl");
        for name in MISLEADING {
            command.env_remove(name);
        }
        // It ends by itself a little earlier than it would be killed, to report the reason. etcdctl 3.4 reads no
        // variables for these two.
        let time = format!("{}ms", (limit * 9 / 10).as_nanos().div_ceil(1_000_000));
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
