//! The errors of the analyses and of the crates above them. They are here, and not where they are made, because the
//! setting `lint_levels` and the tests of an inventory may name any of them.

use reclass_base::error::{ErrorRow, Kind};

macro_rules! errors {
    ($( $(#[doc = $doc:literal])+ $name:ident $code:literal $exit:literal; )*) => {
        $(
            $(#[doc = $doc])+
            pub const $name: &ErrorRow = &ErrorRow { code: $code, meaning: concat!($($doc),+), exit: $exit };
        )*

        /// All of them.
        pub const ROWS: &[&ErrorRow] = &[$($name),*];
    };
}

errors! {
    /// A file or folder that `reclass compare` was given does not hold the answers of another program. It takes
    /// the output of `--inventory` in YAML or JSON, a folder with the output of `--nodeinfo` in a file per node,
    /// and with `pillars:` the output of `salt '*' pillar.items --out json --static`.
    OLD_ANSWERS "old-answers" 65;
    /// The answers that `reclass compare` was given have none for a node: its file is empty, or its pillar holds the
    /// errors of Salt.
    OLD_REFUSAL "old-refusal" 65;
    /// A file that `reclass lint --baseline` names is not a baseline. `--write-baseline` writes it anew.
    BASELINE_INVALID "baseline-invalid" 65;
    /// A test of `reclass test` cannot be run: it expects nothing, it has an unknown key or matcher, or none of its
    /// nodes has the path.
    TEST_INVALID "test-invalid" 65;
    /// A file in the folder of [schemas](parameter-schemas.md) is no schema, or two files are for one parameter. Until it is
    /// repaired, nothing checks that parameter.
    SCHEMA_INVALID "schema-invalid" 65;

    // Edits.
    /// An entry cannot be changed without a change of other entries, for example because an alias shares it.
    /// Edit the file by hand.
    EDIT_REFUSED "edit-refused" 65;
    /// A new value contains a reference or a query, and `interpolate` was not given.
    EDIT_REFERENCE "edit-reference" 65;
    /// An edit would break nodes that render now. The lines below are the errors that they would have.
    EDIT_BREAKS "edit-breaks" 65;
    /// A name is not allowed for a new node, class, cluster or parameter.
    NAME_REFUSED "name-refused" 65;
    /// A node to create exists already.
    NODE_EXISTS "node-exists" 65;

    // Programs.
    /// A node has no class and no application. Ansible knows hosts by their groups, so it does not see this
    /// one.
    HOST_WITHOUT_GROUP "host-without-group" 65;
    /// Something is where a new inventory would be.
    FOLDER_USED "folder-used" 65;
}

/// The codes of all errors, those of the crates below too.
pub fn codes() -> impl Iterator<Item = &'static str> + Clone {
    Kind::CODES.iter().copied().chain(ROWS.iter().map(|row| row.code))
}
