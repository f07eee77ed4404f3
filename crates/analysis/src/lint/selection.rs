//! A selection turns the codes that a user names into the codes that are looked for.

use reclass_base::error::{Fault, Kind, Result};
use reclass_base::pattern::Glob;

use super::rules::{codes, similar_code};

/// The codes that lint reports.
#[derive(Clone, Default, Debug)]
pub struct CodeSelection {
    only: Vec<Glob>,
    without: Vec<Glob>,
}

impl CodeSelection {
    /// The codes that match `only`, or all if it is empty, less those that match `without`. Both are codes or
    /// globs of codes. One that matches no code is an error (`nothing-matches`).
    pub fn new(only: &[String], without: &[String]) -> Result<CodeSelection> {
        let globs = |words: &[String]| words.iter().map(|word| glob(word)).collect::<Result<Vec<Glob>>>();
        Ok(CodeSelection { only: globs(only)?, without: globs(without)? })
    }

    /// Whether a code is looked for.
    pub fn has(&self, code: &str) -> bool {
        (self.only.is_empty() || self.names(code)) && !self.leaves_out(code)
    }

    /// Whether `--ignore` names a code.
    pub(super) fn leaves_out(&self, code: &str) -> bool {
        self.without.iter().any(|glob| glob.matches(code))
    }

    /// Whether a rule of schemas is named as one to look for.
    pub(super) fn names_schemas(&self) -> bool {
        codes().any(|code| code.starts_with("schema") && self.names(code))
    }

    /// Whether a code is named as one to look for.
    pub(super) fn names(&self, code: &str) -> bool {
        self.only.iter().any(|glob| glob.matches(code))
    }
}

fn glob(word: &str) -> Result<Glob> {
    let glob = Glob::new(word);
    if codes().any(|code| glob.matches(code)) {
        return Ok(glob);
    }
    let similar = similar_code(word).map(str::to_owned);
    Err(Fault::new(Kind::NothingMatches { what: "rule or error", name: word.into(), similar }).into())
}
