//! The table of lint rules: code, default level and purpose.

use crate::output::report::Level;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Its stable code.
    pub id: &'static str,
    /// Its level if the setting `lint_levels` does not name it.
    pub level: Level,
    /// The purpose in one sentence.
    pub about: &'static str,
}

const fn new(id: &'static str, level: Level, about: &'static str) -> Rule {
    Rule { id, level, about }
}

/// All rules. Errors are findings too, under their own codes. The order is the precedence: if several rules
/// report one place, the first one wins.
pub const RULES: &[Rule] = &[
    new("duplicate-key", Level::Warning, "A mapping has a duplicate key; the last one wins."),
    new("file-empty", Level::Warning, "A node or class file is empty, as a full disk leaves it."),
    new("unknown-section", Level::Warning, "A top-level key of a file means nothing."),
    new("unknown-setting", Level::Warning, "A setting that nobody knows."),
    new("setting-odd", Level::Warning, "A setting has an odd value, which counts as in the Python programs."),
    new(
        "configuration-unread",
        Level::Warning,
        "A configuration file in the folder of the inventory is not read, and says something else.",
    ),
    new("class-skipped", Level::Info, "A class does not exist, and the settings let it be missing."),
    new("overwritten-reference", Level::Info, "A reference leads nowhere, but a later layer replaces it."),
    new("listed-twice", Level::Warning, "A class or application is listed twice in one list."),
    new(
        "removal-without-effect",
        Level::Warning,
        "A ~application or a ~item of a list takes nothing away in any node.",
    ),
    new(
        "class-from-pillar",
        Level::Info,
        "A class name has references, and the earlier pillar can set what they name.",
    ),
    new("merge-option-unused", Level::Warning, "A merge option decides about no list in any node."),
    new(
        "merge-option-conflict",
        Level::Info,
        "Two files declare different merge options for one list; the order of the classes decides.",
    ),
    new(
        "wildcard-order",
        Level::Info,
        "Two classes that one pattern includes set one scalar differently; their names decide.",
    ),
    new("override-without-effect", Level::Warning, "A ~ in front of a key changes nothing in any node."),
    new("constant-held", Level::Warning, "A value is left out in every node, because a constant holds."),
    new("parameter-never-set", Level::Warning, "A reference names a key of _param that no file sets."),
    new(
        "query-without-exports",
        Level::Warning,
        "An inventory query begins with another word than exports, which is taken for it.",
    ),
    new(
        "query-unanswered",
        Level::Warning,
        "An inventory query asks for an export that no node has, or no node passes its tests.",
    ),
    new("scalar-misread", Level::Warning, "YAML 1.1 reads the scalar as something else than it looks like."),
    new("secret-plain", Level::Warning, "A secret is in the file as plain text."),
    new("tab", Level::Warning, "A tab is between tokens."),
    new("odd-name", Level::Warning, "The name of a file makes a name that is hard to refer to."),
    new("etcd-orphan", Level::Warning, "A key in etcd belongs to no class and no node."),
    new("class-unused", Level::Info, "No node has the class."),
    new(
        "class-redundant",
        Level::Info,
        "Redundant: every node that has this file already includes the class.",
    ),
    new(
        "value-repeated",
        Level::Info,
        "A value is set to what it is already, in every node that has the file.",
    ),
    new("default-unused", Level::Info, "The default of a reference is taken in no node."),
    new("parameter-unused", Level::Info, "Nothing refers to a key of _param."),
    new(
        "parameter-optional",
        Level::Info,
        "A reference with a default names a key of _param that no file sets, and none with a similar name is set.",
    ),
    new("node-unmapped", Level::Info, "There are class mappings, and none of them matches the node."),
    new(
        "scalar-implicit",
        Level::Info,
        "A word such as yes is read as a boolean, or a file mode such as 0644 as an octal number.",
    ),
    new("default-used", Level::Off, "A reference leads nowhere, and its default is taken."),
    new("dropped-unrendered", Level::Off, "A value with references is replaced without being resolved."),
];

/// The rule with this code.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
