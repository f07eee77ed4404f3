//! The oracle: kapicorp-reclass in a Python of its own, asked over a pipe.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use serde_json::{Value as Json, json};

use crate::answer::{Answers, add_digests, theirs};
use crate::inventory::{Inventory, folder};
use crate::kept::Kept;

/// The version that answers are compared with.
const VERSION: &str = "2.0.0";

/// A Python that has kapicorp-reclass; says so if there is none.
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
        println!("SKIPPED: no Python with kapicorp-reclass {VERSION} in RECLASS_TEST_PYTHON or .venv-oracle");
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
    /// How many questions it had to answer itself.
    pub asked: u64,
    pending: VecDeque<Pending>,
    kept: Rc<RefCell<Kept>>,
}

/// An answer that somebody waits for.
enum Pending {
    /// It was kept.
    Known(Json),
    /// It comes, for this question about the inventory in this folder.
    Due(String, PathBuf),
}

impl Oracle {
    /// Starts it.
    pub fn start(python: &Path, kept: Rc<RefCell<Kept>>) -> Oracle {
        let script = Path::new(support::ROOT).join("tests/differential/kapicorp_oracle.py");
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
            kept,
        }
    }

    /// Asks about an inventory; the answer comes later.
    pub fn ask(&mut self, inventory: &Inventory, rulings: &[&str]) {
        let question = Kept::question(inventory, rulings);
        if let Some(answer) = self.kept.borrow().answer(&question) {
            return self.pending.push_back(Pending::Known(answer));
        }
        self.asked += 1;
        let root = self.folder.path().join(self.asked.to_string());
        inventory.write(&root).expect("the temporary folder can be written");
        let settings = Json::Object(inventory.settings.clone().into_iter().collect());
        let job = json!({ "directory": root, "settings": settings, "rulings": rulings });
        let input = self.input.as_mut().expect("it is open until the end");
        writeln!(input, "{job}").and_then(|()| input.flush()).expect("the oracle listens");
        self.pending.push_back(Pending::Due(question, root));
    }

    /// The oldest answer that is still due.
    pub fn answer(&mut self) -> Answers {
        match self.pending.pop_front().expect("there was a question") {
            Pending::Known(answer) => theirs(&answer),
            Pending::Due(question, root) => {
                let mut line = String::new();
                self.output.read_line(&mut line).expect("the oracle answers in UTF-8");
                let _ = std::fs::remove_dir_all(&root);
                let mut answer = serde_json::from_str(&line).expect("the oracle answers in JSON");
                add_digests(&mut answer, &root);
                let answers = theirs(&answer);
                self.kept.borrow_mut().keep(&question, answer);
                answers
            }
        }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
