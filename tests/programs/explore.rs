//! `reclass explore`: who may read the page, when it is loaded again, and what those cannot do who only reach the port.

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
    assert!(page.contains("connect-src 'self'") && page.contains("data-state=\"1\""));
    assert_eq!(explorer.get("state"), (200, "1".into()));
    assert_eq!(explorer.get("state"), (200, "1".into()));
    // The values of its only node, and of nodes and states that are not there.
    let (status, values) = explorer.get("values/1/0");
    assert!(status == 200 && values.contains("\"80\"") && !values.contains("hunter22"), "{status} {values}");
    let others = ["values/1/1", "values/2/0", "values/1/x", "values/1", "values/"];
    assert_eq!(others.map(|name| explorer.get(name).0), [404, 409, 404, 404, 404]);

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
        assert!(explorer.get("").1.contains(&format!("data-state=\"{state}\"")), "{file}");
    }
    // Without a folder of nodes there is an error to read, and then the page again.
    fs::rename(place.path().join("nodes"), place.path().join("other")).unwrap();
    state = explorer.state_after(&state);
    let (status, page) = explorer.get("");
    assert!(
        status == 200
            && page.contains("directory-not-found")
            && page.contains("<style>")
            && page.contains("data-state="),
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

/// A request of somebody who does not know the address.
const STRANGER: &str = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";

impl Explorer {
    fn over(place: &Path) -> Explorer {
        write(&place.join("nodes/web1.yml"), "{}\n");
        write(&place.join("classes/app.yml"), "{}\n");
        Explorer::of(place, &["--no-open"])
    }

    /// A connection on which these bytes were sent.
    fn sent(&self, bytes: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        stream
    }

    /// Whether a reader is answered, however others behave.
    fn answers(&self) -> bool {
        let mut stream = self.sent(&format!("GET {}state HTTP/1.0\r\nHost: localhost\r\n\r\n", self.path));
        let mut answer = String::new();
        stream.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 200")
    }
}

#[test]
fn whoever_reaches_the_port_keeps_no_reader_waiting() {
    let place = tempfile::tempdir().unwrap();
    let explorer = Explorer::over(place.path());
    let length = "Host: localhost\r\nContent-Length: 1000000\r\n\r\n";
    for bytes in [
        // A body that does not come.
        format!("POST / HTTP/1.1\r\n{length}"),
        format!("GET /x HTTP/1.1\r\n{length}abc"),
        "POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab".to_owned(),
        // Requests of somebody who reads no answer.
        STRANGER.repeat(500),
        // A page for a reader who does not read.
        format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", explorer.path),
        // A request without an end.
        "GET / HTTP/1.1\r\nX-a: ".to_owned(),
        String::new(),
    ] {
        let connections: Vec<_> = (0..4).map(|_| explorer.sent(&bytes)).collect();
        assert!(explorer.answers(), "{}", &bytes[..bytes.len().min(40)]);
        drop(connections);
    }
}

#[test]
fn a_request_without_an_end_takes_no_memory() {
    let place = tempfile::tempdir().unwrap();
    let explorer = Explorer::over(place.path());
    let part = vec![b'a'; 1 << 20];
    for (begin, between) in [("", ""), ("GET /", ""), ("GET / HTTP/1.1\r\nHost: localhost\r\n", "\r\nX: ")] {
        let mut stream = explorer.sent(begin);
        // What the kernel holds for both sides can be some megabytes.
        let taken = (0..200).take_while(|_| {
            stream.write_all(between.as_bytes()).and_then(|()| stream.write_all(&part)).is_ok()
        });
        assert!(taken.count() < 200, "{begin:?}");
        assert!(explorer.answers());
    }
}

#[test]
fn who_does_not_know_the_address_holds_no_connection() {
    let place = tempfile::tempdir().unwrap();
    let explorer = Explorer::over(place.path());
    for request in [STRANGER, "GET / HTTP/1.1\r\nHost: else\r\n\r\n"] {
        let mut answer = String::new();
        explorer.sent(request).read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 40"), "{answer}");
        assert!(answer.to_lowercase().contains("\r\nconnection: close\r\n"), "{answer}");
    }
}

#[test]
fn idle_connections_are_closed_and_then_others_are_answered() {
    let place = tempfile::tempdir().unwrap();
    let mut explorer = Explorer::over(place.path());
    let idle: Vec<_> = (0..300).map(|_| explorer.sent("")).collect();
    // They stay open here; each is closed by the server, or was turned away.
    let begun = Instant::now();
    while !explorer.answers() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody is answered");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(explorer.process.try_wait().unwrap(), None);
    drop(idle);
}
