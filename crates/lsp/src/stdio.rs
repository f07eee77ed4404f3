//! Turns the bytes of standard input into messages, and messages into the bytes of standard output.
//!
//! What is no message is answered with an error, and the next one is read: `lsp-server` itself would end there, and
//! put the text of the message into its error. No error of this module has a part of a message: it is text of files,
//! and editors log what comes on standard error.

use std::io::{self, BufRead, Read as _, Write as _};

use crossbeam_channel::{Receiver, Sender};
use lsp_server::{ErrorCode, Message, Notification};
use lsp_types::notification::{Exit, Notification as _};
use serde_json::{Value, json};

/// The most bytes of a message. A file of an inventory has 4 MiB at the most.
const LARGEST_MESSAGE: u64 = 64 * 1024 * 1024;

/// The most bytes of the lines before a message.
const LARGEST_HEADER: u64 = 64 * 1024;

/// Hands messages on until the editor says goodbye or is gone. `answer` writes the answer to what is no message.
///
/// # Errors
///
/// Those of the pipe, and bytes after which nobody knows where the next message begins.
pub fn read(
    input: &mut impl BufRead,
    messages: &Sender<Message>,
    answer: impl Fn(&Value) -> io::Result<()>,
) -> io::Result<()> {
    loop {
        let body = match body(input) {
            Ok(Some(body)) => body,
            Ok(None) => return Ok(()),
            Err(error) => {
                if error.kind() == io::ErrorKind::InvalidData {
                    answer(&refusal(&Value::Null, &error.to_string()))?;
                }
                return Err(error);
            }
        };
        let Ok(message) = serde_json::from_slice(&body) else {
            let id = serde_json::from_slice::<Value>(&body).map(|value| value["id"].clone());
            let id = id.unwrap_or_default();
            let known = if id.is_i64() || id.is_string() { id } else { Value::Null };
            answer(&refusal(&known, "this is no message of JSON-RPC"))?;
            continue;
        };
        let is_last = matches!(&message, Message::Notification(told) if is_exit(told));
        if messages.send(message).is_err() || is_last {
            return Ok(());
        }
    }
}

fn is_exit(told: &Notification) -> bool {
    told.method == Exit::METHOD
}

/// The answer to what is no message.
fn refusal(id: &Value, message: &str) -> Value {
    let error = json!({ "code": ErrorCode::ParseError as i32, "message": message });
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// The bytes of the next message; `None` at the end.
fn body(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut header = input.by_ref().take(LARGEST_HEADER);
    let (mut line, mut length) = (Vec::new(), None);
    loop {
        line.clear();
        header.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            return match (header.limit(), line.len()) {
                (0, _) => Err(wrong("the lines before a message have no end")),
                (_, 0) => Ok(None),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        let text = str::from_utf8(&line).map_err(|_| wrong("a line before a message is no text"))?;
        let Some(text) = text.strip_suffix("\r\n") else {
            return Err(wrong("a line before a message does not end with CR LF"));
        };
        if text.is_empty() {
            break;
        }
        let Some((name, value)) = text.split_once(':') else {
            return Err(wrong("a line before a message has no colon"));
        };
        if name.eq_ignore_ascii_case("Content-Length") {
            length = Some(value.trim().parse::<u64>().map_err(|_| wrong("'Content-Length' is no number"))?);
        }
    }
    let length = length.ok_or_else(|| wrong("a message has no 'Content-Length'"))?;
    if length > LARGEST_MESSAGE {
        return Err(wrong(&format!("a message has more than {} MiB", LARGEST_MESSAGE / 1024 / 1024)));
    }
    let mut body = Vec::new();
    // Memory is taken as bytes come.
    let read = input.take(length).read_to_end(&mut body)?;
    if read as u64 == length { Ok(Some(body)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn wrong(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Writes messages until nobody sends any more.
pub fn write(messages: &Receiver<Message>) -> io::Result<()> {
    messages.iter().try_for_each(|message| message.write(&mut io::stdout().lock()))
}

/// Writes one answer.
pub fn write_value(value: &Value) -> io::Result<()> {
    let text = value.to_string();
    let mut output = io::stdout().lock();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages and answers of these bytes, and how they end.
    fn outcome(bytes: &[u8]) -> (Vec<Message>, Vec<Value>, Option<String>) {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let answers = std::cell::RefCell::new(Vec::new());
        let answer = |value: &Value| {
            answers.borrow_mut().push(value.clone());
            Ok(())
        };
        let ended = read(&mut &*bytes, &sender, answer).err().map(|error| error.to_string());
        (receiver.try_iter().collect(), answers.into_inner(), ended)
    }

    fn framed(body: &[u8]) -> Vec<u8> {
        [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
    }

    const GOOD: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"x"}"#;

    #[test]
    fn after_what_is_no_message_the_next_one_is_read() {
        let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
        for (body, id) in [
            (&b"secret"[..], Value::Null),
            (b"{}", Value::Null),
            (b"", Value::Null),
            (b"null", Value::Null),
            (b"1", Value::Null),
            (br#"[{"jsonrpc":"2.0","id":9,"method":"x"}]"#, Value::Null),
            (b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\"}", Value::Null),
            (br#"{"jsonrpc":"2.0","id":5,"method":5}"#, json!(5)),
            (br#"{"jsonrpc":"2.0","id":"a","secret":5}"#, json!("a")),
            (&deep, Value::Null),
        ] {
            let (messages, answers, ended) = outcome(&[framed(body), framed(GOOD)].concat());
            assert_eq!((messages.len(), ended), (1, None));
            assert_eq!((answers.len(), &answers[0]["id"]), (1, &id));
            assert_eq!(answers[0]["error"]["code"], -32700);
            assert!(!answers[0].to_string().contains("secret"), "{answers:?}");
        }
    }

    #[test]
    fn where_the_next_message_cannot_be_found_reading_ends_with_a_sentence() {
        for (bytes, sentence) in [
            (&b"Content-Length: 99999999999999\r\n\r\n"[..], "a message has more than 64 MiB"),
            (b"Content-Length: 99999999999999999999999999\r\n\r\n", "'Content-Length' is no number"),
            (b"Content-Length: -1\r\n\r\n", "'Content-Length' is no number"),
            (b"Content-Type: x\r\n\r\n", "a message has no 'Content-Length'"),
            (b"Content-Length: 2\n\n{}", "a line before a message does not end with CR LF"),
            (b"\x00\xff\r\n\r\n", "a line before a message is no text"),
            (b"secret\r\n\r\n", "a line before a message has no colon"),
            (&b"a: b\r\n".repeat(20_000), "the lines before a message have no end"),
            (&"a".repeat(100_000).into_bytes(), "the lines before a message have no end"),
        ] {
            let (messages, answers, ended) = outcome(&[bytes, &framed(GOOD)].concat());
            assert_eq!((messages.len(), ended.as_deref()), (0, Some(sentence)));
            assert_eq!(answers[0]["error"]["message"], sentence);
        }
    }

    #[test]
    fn the_end_of_the_editor_is_no_wrong_message() {
        for (bytes, is_error) in
            [(&b""[..], false), (b"Content-Le", true), (b"Content-Length: 5\r\n\r\n{", true)]
        {
            let (_, answers, ended) = outcome(bytes);
            assert_eq!((answers.len(), ended.is_some()), (0, is_error));
        }
        let exit = framed(br#"{"jsonrpc":"2.0","method":"exit"}"#);
        assert_eq!(outcome(&[&exit[..], &framed(GOOD)].concat()).0.len(), 1, "nothing is read after it");
    }
}
