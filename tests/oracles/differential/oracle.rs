//! The oracle: kapicorp-reclass in a Python of its own, asked over a pipe.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value as Json, json};

use super::answer::{Answers, theirs};
use support::inventory::{Inventory, folder};

/// The version that answers are compared with.
const VERSION: &str = "2.0.0";

/// A Python that has kapicorp-reclass.
pub fn python() -> Option<PathBuf> {
    let local = Path::new(support::ROOT).join(".venv-oracle/bin/python");
    let named = std::env::var_os("RECLASS_TEST_PYTHON").map(PathBuf::from);
    let program = format!(
        "import reclass.version as v; assert v.VERSION == '{VERSION}' and 'kapicorp' in v.RECLASS_NAME"
    );
    let found = named.into_iter().chain([local]).find(|python| {
        let tried = Command::new(python).args(["-c", &program]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    });
    if found.is_none() {
        support::absent("kapicorp-reclass", "make .venv-oracle/.tools");
    }
    found
}

/// A running oracle, and the questions that it was asked.
pub struct Oracle {
    child: Child,
    /// Closed to end it.
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
    /// How many questions it was asked.
    pub asked: u64,
    /// The folders of the inventories whose answers are due.
    pending: VecDeque<PathBuf>,
}

impl Oracle {
    /// Starts it.
    pub fn start(python: &Path) -> Oracle {
        let script = Path::new(support::ROOT).join("tests/oracles/differential/kapicorp_oracle.py");
        let mut child = Command::new(python)
            .arg(script)
            .env("PYTHONHASHSEED", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python starts");
        Oracle {
            input: child.stdin.take().map(BufWriter::new),
            output: BufReader::new(child.stdout.take().expect("stdout is piped")),
            child,
            folder: folder(),
            asked: 0,
            pending: VecDeque::new(),
        }
    }

    /// Asks about an inventory; the answer comes later.
    pub fn ask(&mut self, inventory: &Inventory, rulings: &[&str]) {
        self.asked += 1;
        let root = self.folder.path().join(self.asked.to_string());
        inventory.write(&root).expect("the temporary folder can be written");
        let settings = Json::Object(inventory.settings.clone().into_iter().collect());
        let job = json!({ "directory": root, "settings": settings, "rulings": rulings });
        let input = self.input.as_mut().expect("it is open until the end");
        writeln!(input, "{job}").and_then(|()| input.flush()).expect("the oracle listens");
        self.pending.push_back(root);
    }

    /// The oldest answer that is still due.
    pub fn answer(&mut self) -> Answers {
        let root = self.pending.pop_front().expect("there was a question");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the oracle answers in UTF-8");
        let _ = std::fs::remove_dir_all(&root);
        theirs(&serde_json::from_str(&line).expect("the oracle answers in JSON"), &root)
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
