use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "configuration-unread",
    level: Level::Warning,
    about: "A configuration file in the folder of the inventory is not read, and says something else.",
    text: "The page on errors has [an example](errors.md#configuration-unread).",
    checks: &[],
};
