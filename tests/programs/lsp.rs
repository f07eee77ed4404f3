//! `reclass lsp` over standard input and output: the inventory is found below the folder of the editor, with the
//! settings of its file.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use support::folders::write;

fn send(input: &mut ChildStdin, message: &Value) {
    let text = message.to_string();
    write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    input.flush().unwrap();
}

/// The next message that has a key; the others are passed over.
fn receive(output: &mut BufReader<ChildStdout>, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "the server ended");
            if let Some(number) = line.trim().strip_prefix("Content-Length: ") {
                length = number.parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut text = vec![0; length];
        output.read_exact(&mut text).unwrap();
        let message: Value = serde_json::from_slice(&text).unwrap();
        if is_it(&message) {
            return message;
        }
    }
}

#[test]
fn the_server_of_an_editor_speaks_on_standard_output() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("salt/inventory");
    write(&base.join("reclass-config.yml"), "lint_levels: {scalar-implicit: warning}\n");
    write(&base.join("nodes/n.yml"), "classes: [c]\n");
    write(&base.join("classes/c.yml"), "parameters: {a: yes}\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
    command.args(["lsp", "--stdio"]).current_dir("/").env_remove("RECLASS_BASE").env("HOME", place.path());
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    let mut output = BufReader::new(output);
    let uri = |path: &str| format!("file://{}", place.path().join(path).display());
    let params = json!({ "capabilities": {}, "rootUri": uri("salt"), "processId": null });
    send(&mut input, &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    let answer = receive(&mut output, |message| message["id"] == 1);
    assert_eq!(answer["result"]["capabilities"]["hoverProvider"], true);
    send(&mut input, &json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
    // The check of all files begins without an open text.
    let found = receive(&mut output, |message| message["method"] == "textDocument/publishDiagnostics");
    assert_eq!(found["params"]["uri"], uri("salt/inventory/classes/c.yml"));
    let finding = &found["params"]["diagnostics"][0];
    assert_eq!((&finding["code"], &finding["severity"]), (&json!("scalar-implicit"), &json!(2)));
    // Settings that change count, and unsaved ones.
    let settings = uri("salt/inventory/reclass-config.yml");
    let text = "# Ours.\nclass_mappings: ['none c']\n";
    let item = json!({ "uri": settings, "languageId": "yaml", "version": 1, "text": text });
    let opened = json!({ "textDocument": item });
    send(&mut input, &json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": opened }));
    let found = receive(&mut output, |message| {
        message["params"]["uri"] == settings
            && message["params"]["diagnostics"][0]["code"] == "class-mapping-unused"
    });
    let start = &found["params"]["diagnostics"][0]["range"]["start"];
    assert_eq!(*start, json!({ "line": 1, "character": 17 }));
    assert_eq!(found["params"]["diagnostics"].as_array().unwrap().len(), 1);
    let closed = json!({ "textDocument": { "uri": settings } });
    send(&mut input, &json!({ "jsonrpc": "2.0", "method": "textDocument/didClose", "params": closed }));
    write(&base.join("reclass-config.yml"), "lint_levels: {scalar-implicit: error}\n");
    send(
        &mut input,
        &json!({ "jsonrpc": "2.0", "method": "workspace/didChangeWatchedFiles", "params": { "changes": [] } }),
    );
    let found = receive(&mut output, |message| message["params"]["diagnostics"][0]["severity"] == 1);
    assert_eq!(found["params"]["uri"], uri("salt/inventory/classes/c.yml"));
    send(&mut input, &json!({ "jsonrpc": "2.0", "id": 2, "method": "shutdown" }));
    receive(&mut output, |message| message["id"] == 2);
    send(&mut input, &json!({ "jsonrpc": "2.0", "method": "exit" }));
    assert!(server.wait().unwrap().success());
}

/// An editor that dies leaves no server behind.
#[test]
fn the_server_ends_with_its_editor() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
    let mut server = command
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    send(
        &mut input,
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "capabilities": {} } }),
    );
    let mut output = BufReader::new(server.stdout.take().unwrap());
    receive(&mut output, |message| message["id"] == 1);
    send(&mut input, &json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
    drop(input);
    server.wait().unwrap();
}

/// An editor that no longer listens, and dies in the middle of a message: this is no error of the command line.
#[test]
fn an_editor_that_closes_its_pipes_is_no_error() {
    for rest in ["", "Content-Length: 100\r\n\r\n{"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
        command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut input = server.stdin.take().unwrap();
        let params = json!({ "capabilities": {} });
        send(&mut input, &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
        let mut output = BufReader::new(server.stdout.take().unwrap());
        receive(&mut output, |message| message["id"] == 1);
        send(&mut input, &json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
        drop(output);
        send(&mut input, &json!({ "jsonrpc": "2.0", "id": 2, "method": "none" }));
        input.write_all(rest.as_bytes()).unwrap();
        drop(input);
        let done = server.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(done.stderr).unwrap(), "");
        assert!(done.status.success(), "{}", done.status);
    }
}

/// The server of an editor, with its pipes, after the first messages.
fn begun() -> (std::process::Child, ChildStdin, BufReader<ChildStdout>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
    command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let params = json!({ "capabilities": {} });
    send(&mut input, &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    receive(&mut output, |message| message["id"] == 1);
    send(&mut input, &json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
    (server, input, output)
}

#[test]
fn a_malformed_message_is_answered_and_the_next_one_is_read() {
    let (server, mut input, mut output) = begun();
    let bodies: [&[u8]; 5] = [b"{\"secret", b"{}", b"[{}]", b"\xff\xfesecret", b"null"];
    for (number, body) in bodies.into_iter().enumerate() {
        write!(input, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
        input.write_all(body).unwrap();
        let answer = receive(&mut output, |message| message["error"]["code"] == -32700);
        assert!(answer["id"].is_null() && !answer.to_string().contains("secret"), "{answer}");
        send(&mut input, &json!({ "jsonrpc": "2.0", "id": number + 10, "method": "none" }));
        let answer = receive(&mut output, |message| message["id"] == number + 10);
        assert_eq!(answer["error"]["code"], -32601);
    }
    send(&mut input, &json!({ "jsonrpc": "2.0", "id": 2, "method": "shutdown" }));
    receive(&mut output, |message| message["id"] == 2);
    send(&mut input, &json!({ "jsonrpc": "2.0", "method": "exit" }));
    let done = server.wait_with_output().unwrap();
    assert_eq!((done.status.code(), String::from_utf8(done.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn a_message_that_is_too_long_ends_the_server_with_a_sentence() {
    let (server, mut input, mut output) = begun();
    input.write_all(b"Content-Length: 99999999999999\r\n\r\n{\"secret").unwrap();
    let answer = receive(&mut output, |message| message["error"]["code"] == -32700);
    assert_eq!(answer["error"]["message"], "a message has more than 64 MiB");
    let done = server.wait_with_output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("a message has more than 64 MiB") && !said.contains("secret"), "{said}");
}

/// The first message can hold texts too.
#[test]
fn an_editor_that_begins_otherwise_reads_nothing_of_its_message() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
    command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for first in [
        json!({ "jsonrpc": "2.0", "id": 1, "result": "secret" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": "secret" }),
    ] {
        let mut server = command.spawn().unwrap();
        let mut input = server.stdin.take().unwrap();
        send(&mut input, &first);
        drop(input);
        let done = server.wait_with_output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains("did not begin with") && !said.contains("secret"), "{said}");
    }
}
