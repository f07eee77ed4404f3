//! Command lines turn into outcomes of the built program, and those into verdicts.

use std::path::Path;
use std::process;

use serde_json::Map;
use sha2::{Digest as _, Sha256};

use crate::answer::{configuration, hide, path};
use crate::corpus::{Case, Command, Output};
use crate::deviations::hex;

/// The time that the recorded command lines ran at.
const EPOCH: &str = "1795206020";

/// What our program did.
pub struct Outcome {
    pub code: u8,
    pub output: String,
    pub messages: String,
}

/// An empty directory that holds only the configuration file of a case.
pub fn workplace(case: &Case) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let settings = configuration(case, &Map::new()).to_string();
    std::fs::write(directory.path().join("reclass-config.yml"), settings).expect("it is empty");
    directory
}

/// Runs our program there.
pub fn run(case: &Case, directory: &Path, arguments: &[String]) -> Outcome {
    let output = process::Command::new(env!("CARGO_BIN_EXE_reclass"))
        .args(arguments.iter().map(|argument| argument.replace("<INV>", &path(case))))
        .current_dir(directory)
        .env_clear()
        .env("HOME", directory)
        .env("SOURCE_DATE_EPOCH", EPOCH)
        .output()
        .expect("the program was built");
    let text = |bytes: &[u8]| hide(&String::from_utf8_lossy(bytes), case);
    Outcome {
        code: output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255),
        output: text(&output.stdout),
        messages: text(&output.stderr),
    }
}

/// Whether a program of Python's did the same.
pub fn same(ours: &Outcome, recorded: &Command) -> bool {
    // A traceback says nothing about what a program should do: any failure of ours is as good.
    if recorded.code == 1 {
        return ours.code != 0 && ours.code != 101;
    }
    // Help and version are the program's own.
    let own = recorded.arguments.iter().any(|argument| argument == "-h" || argument == "--version");
    ours.code == recorded.code
        && (recorded.code != 0
            || own
            || match &recorded.output {
                Output::Text(text) => *text == ours.output,
                Output::Sha256(hash) => *hash == hex(&Sha256::digest(ours.output.as_bytes())),
            })
}

/// The node that a command line asks for.
pub fn node(arguments: &[String]) -> Option<&str> {
    let at = arguments.iter().position(|argument| argument == "-n")?;
    arguments.get(at + 1).map(String::as_str)
}

/// Whether a command line is of a program that is not compared here.
pub fn is_adapter(arguments: &[String]) -> bool {
    arguments.first().is_some_and(|first| first.starts_with('!'))
}
