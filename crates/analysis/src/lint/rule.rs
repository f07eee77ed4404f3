//! What a lint rule is: its text for users, and its checks.

use super::file_text::FileText;
use super::linter::Linter;
use reclass::report::Level;
use reclass_base::error::Fault;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Its stable code.
    pub id: &'static str,
    /// Its level if the setting `lint_levels` does not name it.
    pub level: Level,
    /// The purpose in one sentence.
    pub about: &'static str,
    /// The details, and an example as YAML: `# Bad: PATH` is above a file that the rule reports, `# Good: PATH`
    /// above one that it does not, and `# PATH` above a file of both inventories.
    pub text: &'static str,
    /// Without any, reading or rendering reports it as a warning with its code.
    pub(super) checks: &'static [Check],
}

/// A function that adds the findings of a rule.
#[derive(Debug)]
pub enum Check {
    /// About the text of each checked file.
    File(fn(&FileText<'_>, &mut Vec<Fault>)),
    /// About the checked nodes and their files.
    Inventory(fn(&Linter<'_>, &mut Vec<Fault>)),
    /// The same, if all nodes are checked.
    Whole(fn(&Linter<'_>, &mut Vec<Fault>)),
}
