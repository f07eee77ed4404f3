//! `reclass explore`: who may read the page, and when it is loaded again.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test makes files and may panic")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::folders::write;

#[test]
fn no_address_is_printed_without_an_inventory() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
    command.current_dir(&folder).env_remove("RECLASS_BASE").args(["explore", "--no-open", "-b", "."]);
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(74), 0));
}

/// A server over a folder.
struct Explorer {
    process: Child,
    /// Its port, as `127.0.0.1:4000`.
    host: String,
    /// The path of the page, with its secret part.
    path: String,
}

impl Drop for Explorer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Explorer {
    fn of(folder: &Path, arguments: &[&str]) -> Explorer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
        command.current_dir(folder).env_remove("RECLASS_BASE").arg("explore").args(arguments);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let (host, path) = line.trim_end().strip_prefix("http://").unwrap().split_once('/').unwrap();
        Explorer { process, host: host.into(), path: format!("/{path}") }
    }

    /// The status and the text of an answer.
    fn ask(&self, method: &str, path: &str, host: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        // HTTP/1.0: the text ends with the connection.
        write!(stream, "{method} {path} HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Cache-Control: no-store"), "{head}");
        (head.split(' ').nth(1).unwrap().parse().unwrap(), text.to_owned())
    }

    fn get(&self, name: &str) -> (u16, String) {
        self.ask("GET", &format!("{}{name}", self.path), &self.host)
    }

    /// The number of the state, once it is another one.
    fn state_after(&self, number: &str) -> String {
        let begun = Instant::now();
        loop {
            let (_, now) = self.get("state");
            if now != number {
                return now;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the state stays {number}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn the_page_has_a_new_state_when_files_change() {
    let place = tempfile::tempdir().unwrap();
    write(&place.path().join("nodes/web1.yml"), "classes: [app]\nparameters: {db: {password: hunter22}}\n");
    write(&place.path().join("classes/app.yml"), "parameters: {port: 80}\n");
    let explorer = Explorer::of(place.path(), &["--no-open"]);
    let (status, page) = explorer.get("");
    assert!(status == 200 && page.starts_with("<!DOCTYPE html>"), "{status}");
    assert!(page.contains("connect-src 'self'") && page.contains("const shown = \"1\""));
    assert_eq!(explorer.get("state"), (200, "1".into()));
    assert_eq!(explorer.get("state"), (200, "1".into()));

    // A value, a comment that moves values, a class that no node has, and a broken node.
    let edits = [
        ("classes/app.yml", "parameters: {port: 81}\n"),
        ("classes/app.yml", "# ports\nparameters: {port: 81}\n"),
        ("classes/unused.yml", "parameters: {x: 1}\n"),
        ("nodes/web1.yml", "classes: [gone]\n"),
    ];
    let mut state = "1".to_owned();
    for (file, text) in edits {
        write(&place.path().join(file), text);
        state = explorer.state_after(&state);
        assert!(explorer.get("").1.contains(&format!("const shown = \"{state}\"")), "{file}");
    }
    // Without a folder of nodes there is an error to read, and then the page again.
    fs::rename(place.path().join("nodes"), place.path().join("other")).unwrap();
    state = explorer.state_after(&state);
    let (status, page) = explorer.get("");
    assert!(
        status == 200
            && page.contains("directory-not-found")
            && page.contains("<style>")
            && page.contains("const shown"),
        "{page}"
    );
    fs::rename(place.path().join("other"), place.path().join("nodes")).unwrap();
    explorer.state_after(&state);
    assert!(explorer.get("").1.contains("id=\"overview\""));
}

#[test]
fn nobody_else_can_read_it() {
    let place = tempfile::tempdir().unwrap();
    write(&place.path().join("nodes/web1.yml"), "{}\n");
    write(&place.path().join("classes/app.yml"), "{}\n");
    let explorer = Explorer::of(place.path(), &["--no-open"]);
    assert_eq!(explorer.path.len(), 34);
    let (host, port) = explorer.host.split_once(':').unwrap();
    assert_eq!(host, "127.0.0.1");
    for (method, path, host, expected) in [
        ("GET", &*explorer.path, &*explorer.host, 200),
        ("GET", &explorer.path, &format!("localhost:{port}"), 200),
        // A name that another site lets lead to this machine.
        ("GET", &explorer.path, &format!("example.com:{port}"), 403),
        ("GET", &explorer.path, "", 403),
        ("GET", "/", &explorer.host, 404),
        ("GET", &explorer.path[..explorer.path.len() - 1], &explorer.host, 404),
        ("GET", &format!("{}../state", explorer.path), &explorer.host, 404),
        ("POST", &explorer.path, &explorer.host, 405),
        ("DELETE", &format!("{}state", explorer.path), &explorer.host, 405),
    ] {
        let (status, text) = explorer.ask(method, path, host);
        assert_eq!(status, expected, "{method} {path} {host}");
        assert!(status == 200 || !text.contains("web1"));
    }
    // The same port cannot have a second server.
    let mut again = Command::new(env!("CARGO_BIN_EXE_reclass"));
    again.current_dir(place.path()).args(["explore", "--no-open", "--port", port]);
    let output = again.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains(&format!("no server on port {port}")));
}
