//! What the oracle answered is kept in a file, so that the same questions need not be asked again.
//!
//! `RECLASS_DIFFERENTIAL_ANSWERS` names the file. A line is a question's digest, a space, and
//! the answer as JSON, in which a digest stands for a value. The digest of a question covers the
//! inventory, the rulings in force, and the programs that answer.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::rc::Rc;

use serde_json::Value as Json;

use crate::answer::digest;
use crate::inventory::Inventory;

/// The texts of what answers: another text is another oracle.
const PLAIN: [&str; 2] =
    [include_str!("kapicorp_oracle.py"), include_str!("../support/src/yaml/pyyaml_oracle.py")];
/// What counts only where a ruling is in force.
const RULED: [&str; 2] = [include_str!("kapicorp_rulings.py"), include_str!("kapicorp_queries.py")];

/// Answers by the digest of their question.
#[derive(Default)]
pub struct Kept {
    known: HashMap<String, String>,
    file: Option<File>,
}

impl Kept {
    /// The answers in the file that the environment names; none if it names none.
    pub fn open() -> Rc<RefCell<Kept>> {
        let mut kept = Kept::default();
        if let Some(path) = std::env::var_os("RECLASS_DIFFERENTIAL_ANSWERS") {
            let file = OpenOptions::new().create(true).append(true).read(true).open(path);
            let file = file.expect("RECLASS_DIFFERENTIAL_ANSWERS names a file that can be written");
            for line in BufReader::new(&file).lines() {
                let line = line.expect("the answers are UTF-8");
                // What a run that was stopped did not finish is asked again.
                if let Some((question, answer)) = line.split_once(' ').filter(|_| line.ends_with('}')) {
                    kept.known.insert(question.to_owned(), answer.to_owned());
                }
            }
            kept.file = Some(file);
        }
        Rc::new(RefCell::new(kept))
    }

    /// The name of a question.
    pub fn question(inventory: &Inventory, rulings: &[&str]) -> String {
        let ruled = if rulings.is_empty() { String::new() } else { rulings.join(" ") + &RULED.concat() };
        digest(&format!("{}\n{ruled}\n{}", inventory.show(), PLAIN.concat()))
    }

    /// The answer to a question, if it was asked before.
    pub fn answer(&self, question: &str) -> Option<Json> {
        self.known.get(question).and_then(|answer| serde_json::from_str(answer).ok())
    }

    /// Keeps an answer, in which values are digests and messages are left out.
    pub fn keep(&mut self, question: &str, mut answer: Json) {
        let Some(file) = &mut self.file else { return };
        let nodes = answer["nodes"].as_object_mut().into_iter().flatten().map(|(_, result)| result);
        for result in nodes {
            if let Some(result) = result.as_object_mut() {
                result.remove("message");
                result.remove("value");
            }
        }
        writeln!(file, "{question} {answer}").expect("the file of the answers can be written");
    }
}
