//! The kinds of diagnostics: one table with their data, stable codes, exit codes and messages.
//!
//! A message can be sent to a minion, so none contains the value of a parameter. Names, paths and
//! references are not values.

use std::fmt;

use super::help::MergeSlip;
use super::{Fault, short};

/// An error of a crate above: that crate has a table of them, so that a new one compiles no crate below.
#[derive(PartialEq, Debug)]
pub struct ErrorRow {
    /// The stable code.
    pub code: &'static str,
    /// The meaning, as `docs/errors.md` has it.
    pub meaning: &'static str,
    /// The exit code of a program that ends with it.
    pub exit: u8,
}

impl ErrorRow {
    /// Such an error. The message contains no value of a parameter.
    pub fn fault(&'static self, message: impl Into<String>, help: Option<&str>) -> Fault {
        let (message, help) = (message.into(), help.map(str::to_owned));
        Fault::new(Kind::Finding { row: self, message, help })
    }
}

/// Picks the fields of a kind that quote an inventory, by their names, so that no kind can be forgotten.
macro_rules! quoted {
    (query $field:ident query) => {
        return Some($field)
    };
    (query $field:ident $other:ident) => {};
    (similar $field:ident similar) => {
        return $field.as_deref()
    };
    (similar $field:ident $other:ident) => {};
    (paths $all:ident $field:ident path) => {
        $all.push($field)
    };
    (paths $all:ident $field:ident folder) => {
        $all.push($field)
    };
    (paths $all:ident $field:ident files) => {
        $all.extend($field.iter_mut())
    };
    (paths $all:ident $field:ident $other:ident) => {};
}

macro_rules! kinds {
    ($( $(#[doc = $doc:literal])+ $name:ident { $($field:ident : $type:ty),* } $code:literal $exit:literal
        $format:literal $(, $argument:expr)* ; )*) => {
        /// The kind of a diagnostic, with its data.
        #[derive(Clone, PartialEq, Debug)]
        #[expect(missing_docs, reason = "the message below them explains the fields")]
        pub enum Kind {
            $( $(#[doc = $doc])+ $name { $($field: $type),* }, )*
            /// A finding of lint: the rule is its code.
            Lint { rule: &'static str, message: String, help: Option<String> },
            /// An error of a crate above, which has a row for it.
            Finding { row: &'static ErrorRow, message: String, help: Option<String> },
        }

        impl Kind {
            /// The stable codes of this table. The rules of lint and the crates above have others.
            pub const CODES: &[&str] = &[$($code),*];
            /// The meanings of the codes, in the same order. `(Y6)` is a ruling of `docs/semantics.md`.
            pub const MEANINGS: &[&str] = &[$(concat!($($doc),+)),*];
            /// The stable code.
            pub fn code(&self) -> &'static str {
                match self {
                    $( Kind::$name { .. } => $code, )*
                    Kind::Lint { rule, .. } => rule,
                    Kind::Finding { row, .. } => row.code,
                }
            }
            /// The inventory query in the message: the field `query`.
            #[allow(unused_variables, unreachable_code, reason = "a table: few kinds have the field")]
            pub fn query_mut(&mut self) -> Option<&mut String> {
                match self {
                    $( Kind::$name { $($field),* } => { $( quoted!(query $field $field); )* None } )*
                    Kind::Lint { .. } | Kind::Finding { .. } => None,
                }
            }
            /// The name that was probably meant: the field `similar`.
            #[allow(unused_variables, unreachable_code, reason = "a table: few kinds have the field")]
            pub fn similar(&self) -> Option<&str> {
                match self {
                    $( Kind::$name { $($field),* } => { $( quoted!(similar $field $field); )* None } )*
                    Kind::Lint { .. } | Kind::Finding { .. } => None,
                }
            }
            /// The paths in the message: the fields `path`, `folder` and `files`. For a revision of git, the
            /// caller replaces them by display names.
            #[allow(unused_variables, reason = "a table: few kinds have the fields")]
            pub fn paths_mut(&mut self) -> Vec<&mut String> {
                let mut all = Vec::new();
                match self {
                    $( Kind::$name { $($field),* } => { $( quoted!(paths all $field $field); )* } )*
                    Kind::Lint { .. } | Kind::Finding { .. } => {}
                }
                all
            }
            /// The exit code of a program that ends with it: 65 data, 74 not found, 2 usage, 1 unexpected.
            pub fn exit_code(&self) -> u8 {
                match self {
                    $( Kind::$name { .. } => $exit, )*
                    Kind::Lint { .. } => 1,
                    Kind::Finding { row, .. } => row.exit,
                }
            }
        }
        impl fmt::Display for Kind {
            /// The message, without the position, abbreviated to 2,000 characters.
            #[allow(unused_variables, clippy::too_many_lines, reason = "a table: not every message uses every field")]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let sentence = match self {
                    $( Kind::$name { $($field),* } => format!($format $(, $argument)*), )*
                    Kind::Lint { message, .. } | Kind::Finding { message, .. } => message.clone(),
                };
                f.write_str(&short(&sentence))
            }
        }
    };
}

kinds! {
    // Settings.
    /// No setting has this name (Y6). The setting has no effect; correct the name or remove it.
    UnknownSetting { name: String, similar: Option<String> } "unknown-setting" 65
        "unknown setting '{name}'";
    /// A setting has a value of the wrong type. The message names the right one.
    SettingType { name: String, expected: String, actual: String } "setting-type" 65
        "setting '{name}' must be {expected}, not {actual}";
    /// A setting allows only certain words, and its value is none of them.
    SettingValue { name: String, allowed: String, similar: Option<String> } "setting-value" 65
        "setting '{name}' must be one of {allowed}";
    /// A setting has a value that makes little sense, but that the Python programs accept (Y6). It counts as
    /// it does there.
    SettingOdd { name: String, message: String, similar: Option<String> } "setting-odd" 65
        "setting '{name}': {message}";
    /// The setting `lint_levels` names a code that no rule and no error has.
    UnknownRule { name: String, similar: Option<String> } "unknown-rule" 65
        "setting 'lint_levels': no rule and no error has the code '{name}'";
    /// A class mapping or a pattern in a setting is invalid (S13), or a regular expression takes more steps
    /// than `limit_backtracking` allows.
    SettingPattern { name: String, pattern: String, message: String } "setting-pattern" 65
        "setting '{name}': '{pattern}': {message}";
    /// `nodes_uri` and `classes_uri` are the same folder, or one contains the other (S15). Each needs a
    /// folder of its own.
    UriOverlap { nodes: String, classes: String } "uri-overlap" 65
        "nodes_uri '{nodes}' and classes_uri '{classes}' must not be the same folder nor one inside the other";
    /// A configuration file exists or is named, but cannot be used: it is missing, unreadable, too large or
    /// no mapping.
    ConfigFile { path: String, message: String, help: Option<String> } "config-file" 65
        "cannot use the configuration file '{path}': {message}";
    /// The folder of the inventory has a configuration file that is not read, because another file or none is
    /// in use. Name it, or remove it.
    ConfigurationUnread { path: String, names: String } "configuration-unread" 65
        "'{path}' is not read: its settings do not count here ({names})";
    /// Edits are for files in folders. The files of this storage, as of git repositories, are read-only.
    StorageUnsupported { storage: String, operation: &'static str } "storage-unsupported" 65
        "files of storage_type '{storage}' cannot be {operation}";
    /// The mapping of a storage in `nodes_uri` or `classes_uri` lacks an option, or has a wrong one; or an address is
    /// in the place of a folder.
    StorageOption { setting: String, message: String } "storage-option" 65
        "setting '{setting}': {message}";

    // Storage and catalog.
    /// A folder of the inventory does not exist. The settings `inventory_base_uri`, `nodes_uri` and
    /// `classes_uri` name the folders. If neither the command line (`-b DIR`) nor a file names one, `reclass`
    /// looks for an inventory in the current folder and above it, and then in `/etc/reclass`.
    DirectoryNotFound { path: String, message: String, similar: Option<String> } "directory-not-found" 74
        "{}", if path.is_empty() { message.clone() } else { format!("cannot read the folder '{path}': {message}") };
    /// A folder of the inventory exists and cannot be read. In Salt, the user of the master needs the right
    /// to read it.
    DirectoryUnreadable { path: String, message: String } "directory-unreadable" 74
        "cannot read the folder '{path}': {message}";
    /// A file of the inventory exists and cannot be read. In Salt, the user of the master needs the right to
    /// read it.
    FileUnreadable { path: String, message: String } "file-unreadable" 74
        "cannot read '{path}': {message}";
    /// A file or folder of the inventory changed each time that it was read, for about a second. No answer is
    /// given, because it could mix two states of the files. Something writes there all the time: find it, or
    /// let it write a new file and rename it over the old one.
    FileChanging { path: String, message: String } "file-changing" 74
        "'{path}' keeps changing while it is read: {message}";
    /// Several files define the same node or class (S6). Everything that depends on the name fails, and other
    /// nodes do not. Keep one of the files.
    DuplicateDefinition { what: &'static str, name: String, files: Vec<String> } "duplicate-definition" 65
        "{what} '{name}' is defined {}", places_sentence(files);
    /// No file defines the node. In Salt, the setting `node_not_found` decides about minions without a node
    /// (S14).
    NodeNotFound { name: String, folder: String, similar: Option<String>, longer: Vec<String> } "node-not-found" 74
        "no node '{name}' in {}", folder_sentence(folder);

    // Git.
    /// The program `git` cannot be run.
    GitProgram { message: String } "git-program" 74
        "cannot run the program 'git': {message}";
    /// A git repository cannot be fetched, for example because its address is wrong or there is no network.
    GitFetch { repo: String, message: String } "git-fetch" 74
        "cannot fetch '{repo}': {message}";
    /// The server of a git repository refuses access, or it is not among the known ssh servers.
    GitAccess { repo: String, message: String } "git-access" 74
        "no access to '{repo}': {message}";
    /// The server of a git repository does not answer within `git_fetch_timeout`.
    GitTimeout { repo: String, message: String } "git-timeout" 74
        "cannot fetch '{repo}': {message}";
    /// The local copy of a git repository can neither be used nor made again.
    GitCache { path: String, message: String } "git-cache" 74
        "cannot use the cache '{path}': {message}";
    /// A git repository does not have the branch that the settings name.
    GitBranch { repo: String, branch: String, similar: Option<String> } "git-branch" 74
        "no branch '{branch}' in '{repo}'";
    /// A git repository could not be fetched. The state that was fetched last is in use, until a fetch
    /// succeeds.
    GitStale { repo: String, message: String } "git-stale" 74
        "'{repo}' is served as it was fetched last: {message}";

    // Etcd.
    /// The data in etcd cannot be read, and there is no earlier state of them, or `etcd_failure` is `fail`. No
    /// answer is given without them.
    EtcdUnreachable { endpoints: String, message: String } "etcd-unreachable" 74
        "cannot use etcd at '{endpoints}': {message}";
    /// The data in etcd cannot be read. The state that was fetched last is in use, until reading succeeds.
    EtcdStale { endpoints: String, message: String } "etcd-stale" 74
        "etcd at '{endpoints}' is served as it was fetched last: {message}";
    /// Another process changed a key in etcd between the reading and the writing of it. Nothing was written.
    EtcdConflict { key: String } "etcd-conflict" 65
        "another process changed '{key}' in etcd meanwhile; nothing was written";

    // YAML.
    /// A file is not YAML, or `PyYAML` would reject it (Y5). The help names the probable slip.
    YamlSyntax { message: String, help: Option<String> } "yaml-syntax" 65
        "{message}";
    /// A value has a tag that YAML 1.1 does not define (Y3). The message shows the tag only if a value is behind
    /// it: a password without quotes may look like a tag.
    YamlTag { tag: Option<String> } "yaml-tag" 65
        "unknown tag{}", tag.as_ref().map_or_else(String::new, |tag| format!(" '{tag}'"));
    /// A file exceeds a limit on its size, its depth, or the number of its values, aliases included. If a
    /// setting is the limit, the message names it.
    YamlLimit { what: String, limit: usize, setting: Option<&'static str> } "yaml-limit" 65
        "{what} exceeds the limit of {limit}";
    /// A mapping has the same key twice; the last one wins (Y2). If only the types of the keys differ, both
    /// become the same text, and the later value merges over the earlier (M7).
    DuplicateKey {
        key: String,
        types: Option<(&'static str, &'static str)>,
        written: Option<(String, String)>
    } "duplicate-key" 65
        "duplicate key '{key}'{}", duplicate_consequence(*types, written.as_ref());

    // The parts of a node or class file.
    /// A node or class file is empty. A full disk leaves such files.
    FileEmpty { what: &'static str, name: String } "file-empty" 65
        "the file of {what} '{name}' is empty";
    /// A node or class file holds something other than a mapping.
    NotAMapping { found: &'static str } "not-a-mapping" 65
        "a node or class file must be a mapping, not {}", article(found);
    /// A section such as `classes` or `parameters` has the wrong type (S18).
    SectionType { section: String, expected: &'static str, found: &'static str } "section-type" 65
        "'{section}' must be a {expected}, not {}", article(found);
    /// An entry of `classes` or `applications` is not a string.
    EntryType { section: String, found: &'static str } "entry-type" 65
        "an entry of '{section}' must be a string, not {}", article(found);
    /// A class name is empty, or contains a space or a slash.
    ClassNameInvalid { name: String, reason: String } "class-name-invalid" 65
        "invalid class name '{name}': {reason}";
    /// A file has a top-level key without a meaning (Y6). It has no effect.
    UnknownSection { name: String, similar: Option<String> } "unknown-section" 65
        "unknown section '{name}'";
    /// A reference such as `${network:address}` is not closed, or is invalid in another way.
    ReferenceSyntax { message: String } "reference-syntax" 65
        "{message}";
    /// An inventory query such as `$[ exports:address ]` is invalid. `\$[ 1 + 2 ]` is text for a shell; between
    /// double quotes, YAML needs two backslashes.
    QuerySyntax { message: String } "query-syntax" 65
        "{message}";

    // Linearization.
    /// A node or a class includes a class that no file defines. Correct the name, add the file, or allow
    /// missing classes with the setting `ignore_class_notfound`.
    ClassNotFound { name: String, written: String, folder: String, similar: Option<String>, shown: Option<String> } "class-not-found" 65
        "no class '{written}' in {}", folder_sentence(folder);
    /// Classes include one another in a cycle (S7). Remove one of the entries that the message shows.
    ClassCycle { cycle: String } "class-cycle" 65
        "classes include one another in a cycle: {cycle}";
    /// A class name contains a reference, and the parameters merged so far do not have its value (S4). Set the
    /// parameter in a class that comes before.
    ClassReference { written: String, reference: String, similar: Option<String> } "class-reference" 65
        "cannot resolve '{reference}' in the class name '{written}'";
    /// A class name depends on the pillar from before reclass. A master top is made without that pillar.
    ClassNeedsPillar { written: String, reference: String } "class-needs-pillar" 65
        "the class name '{written}' needs '{reference}', and a top has no earlier pillar";
    /// A class does not exist, and the settings `ignore_class_notfound…` skip it.
    ClassSkipped { name: String } "class-skipped" 65
        "class '{name}' not found, skipped";

    // Merging and evaluation.
    /// A reference leads to a parameter that does not exist (R5). Correct the path, set the parameter in the
    /// node or in one of its classes, or give a default: `${path::default}`. `\${NAME}` is text for a shell; between
    /// double quotes, YAML needs two backslashes.
    ReferenceNotFound { reference: String, missing: String, container: String, similar: Option<String>, within: Option<String> }
        "reference-not-found" 65
        "{}", missing_sentence(reference, missing, container);
    /// References form a cycle, so none of them has a value (R9). The message shows every path of the
    /// cycle.
    ReferenceCycle { cycle: String } "reference-cycle" 65
        "references form a cycle: {cycle}";
    /// Two layers give a parameter types that do not merge (M2). The prefix `~` in front of the key replaces the
    /// earlier value. If a setting allows the merge everywhere, the message names this setting.
    MergeType {
        later: &'static str,
        earlier: &'static str,
        setting: Option<&'static str>,
        replacing: Option<String>,
        slip: Option<MergeSlip>
    } "merge-type" 65
        "cannot merge a {later} over a {earlier}";
    /// A later layer changes a value whose key has the prefix `=` (M5).
    ConstantChanged { } "constant-changed" 65
        "a constant is changed";
    /// An entry of `merge_options`, in a file or in the setting, is invalid. The message names the wrong word.
    MergeOption { message: String, similar: Option<String> } "merge-option" 65
        "merge_options: {message}";
    /// The items of a list merge `by` keys, so each item must be a mapping with a scalar at each of them.
    /// Add the key to the item.
    MergeKeyMissing { key: String } "merge-key-missing" 65
        "an item of a list that merges by '{key}' has no scalar '{key}'";
    /// One layer has two items with the same values at the keys of `by`. Which of them counts would depend on
    /// their order. Join them, or remove one.
    MergeKeyDuplicate { keys: String } "merge-key-duplicate" 65
        "two items of one list have the same '{keys}', by which the list merges";
    /// An item that removes another one, as `{name: ~web}` with `by: name` and `remove: true`, has further keys.
    /// They would have no effect.
    RemovalWithValue { keys: String } "removal-with-value" 65
        "an item that removes another one has more keys than '{keys}'";
    /// A file sets the key that leads to grains. Its values would hide the grains of the minion, or pass for
    /// them. Use another key, or change the setting `grains_key`.
    GrainsSet { key: String } "grains-set" 65
        "'{key}' is the key of the grains, so no file can set it";
    /// A value, or a class name, depends on a grain, and the request has no grains: a program was started
    /// without `--grains`, or a query asks for an export of another node.
    GrainsUnknown { grain: String } "grains-unknown" 65
        "the grain '{grain}' is needed, and the grains of the node are not known here";
    /// A class name depends on a grain that the setting `trusted_grains` does not list. A minion writes its
    /// grains itself, so it could choose its classes, and read the pillar of any of them.
    GrainUntrusted { grain: String } "grain-untrusted" 65
        "a class name depends on {}, which {} not trusted",
        if grain.is_empty() { "all grains".to_owned() } else { format!("the grain '{grain}'") },
        if grain.is_empty() { "are" } else { "is" };
    /// The value of a trusted grain is not in its list of the setting `trusted_grains`, so it chooses no
    /// class. The message does not repeat the value, because the minion wrote it.
    GrainRefused { grain: String } "grain-refused" 65
        "the value of the grain '{grain}' is not permitted";
    /// A class name depends on a value of the earlier pillar that the setting `trusted_pillar` does not list.
    PillarUntrusted { path: String } "pillar-untrusted" 65
        "a class name depends on '{path}' of the earlier pillar, which is not trusted";
    /// The default of a reference, as in `${path::default}`, is not YAML (R7). Quotes inside of the default
    /// make it a text.
    DefaultSyntax { reference: String, message: String } "default-syntax" 65
        "the default of '{reference}' is not YAML: {message}";
    /// A reference leads nowhere, but a later layer replaces its value, so it does no harm (R6).
    OverwrittenReference { reference: String } "overwritten-reference" 65
        "'{reference}' does not exist, but is overwritten";
    /// A reference leads nowhere, and its default is used (R12).
    DefaultUsed { reference: String } "default-used" 65
        "'{reference}' does not exist, its default is used";
    /// A reference inside of a text leads to a mapping or a list, which becomes text as Python writes it (R2).
    ContainerInText { reference: String, found: &'static str } "container-in-text" 65
        "'{reference}' is a {found}, and becomes a part of a text as Python writes it";
    /// A later layer replaces a value with references, so these were never resolved (R12). An error in them
    /// would not show.
    DroppedUnrendered { } "dropped-unrendered" 65
        "a value with references is replaced without being resolved";
    /// An inventory query must be the whole value. Text, a reference or another query is beside it (Q5).
    QueryEmbedded { query: String } "query-embedded" 65
        "the inventory query '{query}' must stand alone, without text or another query around it";
    /// An export, or a value that a class name needs, contains an inventory query (Q6). Both are computed before
    /// queries are answered.
    QueryInExport { query: String } "query-in-export" 65
        "neither an export nor a class name can depend on the inventory query '{query}'";
    /// An inventory query fails, because an export of another node cannot be computed (Q4). Repair the
    /// export, or leave such nodes out with `+IgnoreErrors`.
    QueryFailed { query: String, node: String } "query-failed" 65
        "the inventory query '{query}' fails for node '{node}'";
    /// An inventory query compares with null, or with a value that does not exist.
    QueryOperand { query: String, message: String } "query-operand" 65
        "the inventory query '{query}': {message}";
    /// The values of a node exceed a limit, for example because references repeat a large value. If a setting
    /// is the limit, the message names it.
    EvaluationLimit { what: &'static str, limit: usize, setting: Option<&'static str> } "evaluation-limit" 65
        "{what} exceeds the limit of {limit}";

    // Questions.
    /// A revision of a git repository cannot be read.
    Revision { revision: String, message: String } "revision" 74
        "cannot read the revision '{revision}': {message}";
    /// The node does not have the path, class or application to explain.
    NothingToExplain { what: &'static str, name: String, similar: Option<String> } "nothing-to-explain" 74
        "no {what} '{name}' in this node";

    /// A name or a pattern of a listing matches nothing.
    NothingMatches { what: &'static str, name: String, similar: Option<String> } "nothing-matches" 74
        "no {what} matches '{name}'";

    // Schemas.
    /// A value of a node breaks the [schema](parameter-schemas.md) of its parameter. The message says what the schema expects,
    /// and a note has the place in the schema.
    Schema { parameter: String, expected: String, similar: Option<String> } "schema" 65
        "{}", if parameter.is_empty() { expected.clone() } else { format!("'{parameter}' {expected}") };

    // Edits.
    /// A path leads out of the inventory, or to a place where no such file may be.
    PathRefused { path: String, reason: &'static str } "path-refused" 65
        "'{path}' is refused: {reason}";
    /// A file or folder cannot be written.
    FileUnwritable { path: String, message: String } "file-unwritable" 74
        "cannot write '{path}': {message}";
    /// A file was changed, but its folder cannot be flushed to disk. The change may be lost if the system
    /// crashes.
    FolderUnflushed { path: String, message: String } "folder-unflushed" 74
        "the change of '{path}' is made, but may be lost if the system crashes: its folder cannot be flushed to disk: {message}";
    /// Another process holds the lock of the inventory for too long. Try again when its edit is done.
    LockTimeout { path: String, seconds: u64 } "lock-timeout" 74
        "another process has held '{path}' for {seconds} seconds";

    // Shells.
    /// A value has a type that Salt cannot carry to a minion (Y4). Give it another type, for example a text
    /// in quotes.
    WireType { what: String } "wire-type" 65
        "{what}";
    /// The command line is invalid.
    Usage { message: String } "usage" 2
        "{message}";
    /// A defect of this program. Please report it.
    Internal { message: String } "internal" 1
        "internal error: {message}";
}

/// The consequence of a duplicate key.
fn duplicate_consequence(types: Option<(&str, &str)>, written: Option<&(String, String)>) -> String {
    match (types, written) {
        (None, None) => "; the last one wins".to_owned(),
        (None, Some((earlier, later))) => {
            format!(", as '{earlier}' and as '{later}'; the last one wins")
        }
        (Some((earlier, later)), _) => format!(
            ", as {} and as {}: keys become text, and the later value merges over the earlier",
            article(earlier),
            article(later)
        ),
    }
}

/// A noun with its article.
pub fn article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// `'/srv/nodes'`; an empty folder means the whole inventory.
fn folder_sentence(folder: &str) -> String {
    if folder.is_empty() { "the inventory".to_owned() } else { format!("'{folder}'") }
}

/// `twice, in 'a' and in 'b'`
fn places_sentence(files: &[String]) -> String {
    let times = if files.len() == 2 { "twice".to_owned() } else { format!("{} times", files.len()) };
    let places: Vec<String> = files.iter().map(|file| format!("in '{file}'")).collect();
    match places.split_last() {
        Some((last, before)) => format!("{times}, {} and {last}", before.join(", ")),
        None => times,
    }
}

fn missing_sentence(reference: &str, missing: &str, container: &str) -> String {
    if missing.is_empty() {
        // The keys come from values of parameters, which no message may contain.
        format!("'{reference}' leads to nothing")
    } else if container.is_empty() {
        format!("no parameter '{missing}' for '{reference}'")
    } else {
        format!("no '{missing}' in '{container}' for '{reference}'")
    }
}
