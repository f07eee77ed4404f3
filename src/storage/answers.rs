//! The file with the answers of another program, so that a second comparison does not ask again.
//!
//! Its first line names the program, and each further line is the answer for one node. Lines are added as answers
//! arrive, so a comparison that was interrupted goes on. The name of the file is the fingerprint of everything
//! that the answers depend on. Only its owner can read it, because answers hold secrets.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::base::lock::Mutex;
use crate::storage::private::{PrivateFolder, message};
use crate::storage::record::hash;

/// The answer of a program for one node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProgramAnswer {
    /// The name of the node.
    pub node: String,
    /// The output, or the message of a refusal.
    pub answer: Result<String, String>,
}

/// A file with answers, open for more of them.
#[derive(Debug)]
pub struct AnswerFile {
    /// Its path.
    pub path: PathBuf,
    file: Mutex<File>,
}

impl AnswerFile {
    /// Opens the file for a key, and returns the answers in it. It is created if it does not exist.
    pub fn open(folder: &Path, key: &str, title: &str) -> Result<(AnswerFile, Vec<ProgramAnswer>), String> {
        let folder = PrivateFolder::make(folder)?;
        let name = format!("{key}.jsonl");
        let path = folder.path(&name);
        let mut file = folder.file(name.as_ref(), OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)?;
        let (bytes, _) = folder.read(name.as_ref())?;
        if bytes.is_empty() {
            writeln!(file, "{title}").map_err(|error| message(&path, error))?;
        }
        let text = String::from_utf8_lossy(&bytes);
        // A line that was not written to its end is no answer.
        let answers = text.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok((AnswerFile { path, file: Mutex::new(file) }, answers))
    }

    /// Adds an answer. A failure is ignored: the node is asked again next time.
    pub fn add(&self, answer: &ProgramAnswer) {
        if let Ok(line) = serde_json::to_string(answer) {
            // One write for the line, so that lines of two processes do not mix.
            let _ = self.file.lock().write_all(format!("{line}\n").as_bytes());
        }
    }
}

/// The fingerprint of parts, in order.
pub fn key_of<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> String {
    let mut all = 0_u64;
    for part in parts {
        let mut bytes = all.to_le_bytes().to_vec();
        bytes.extend_from_slice(&part.len().to_le_bytes());
        bytes.extend_from_slice(part);
        all = hash(&bytes);
    }
    format!("{all:016x}")
}

/// A folder that is removed with everything in it when it is dropped.
#[derive(Debug)]
pub struct WorkFolder(PathBuf);

impl WorkFolder {
    /// A new folder that only its owner can read, below the folder for temporary files.
    pub fn new() -> Result<WorkFolder, String> {
        let below = std::env::temp_dir();
        for attempt in 0..1_000_u32 {
            let path = below.join(format!("reclass-compare-{}-{attempt}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(WorkFolder(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(message(&path, error)),
            }
        }
        Err(format!("{}: too many folders of earlier comparisons", below.display()))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in it.
    pub fn put(&self, name: &str, text: &str) -> Result<(), String> {
        PrivateFolder::open(&self.0)?.replace(name.as_ref(), text.as_bytes(), 0o600)
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // Nobody can do anything about a folder that stays.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn answers_stay_and_a_broken_line_does_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let answer = |node: &str| ProgramAnswer { node: node.into(), answer: Ok("a: 1\n".into()) };
        let (file, known) = AnswerFile::open(folder.path(), "key", "reclass 1").expect("a file");
        assert_eq!(known, []);
        file.add(&answer("n"));
        let refused = ProgramAnswer { node: "m".into(), answer: Err("no".into()) };
        file.add(&refused);
        let _ = file.file.lock().write_all(b"{\"node\": \"half");
        let (file, known) = AnswerFile::open(folder.path(), "key", "reclass 1").expect("a file");
        assert_eq!(known, [answer("n"), refused]);
        let mode = fs::metadata(&file.path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn keys_depend_on_where_parts_end() {
        let key = |parts: &[&str]| key_of(parts.iter().map(|part| part.as_bytes()));
        assert_ne!(key(&["a", "bc"]), key(&["ab", "c"]));
        assert_eq!(key(&["a", "bc"]), key(&["a", "bc"]));
    }
}
