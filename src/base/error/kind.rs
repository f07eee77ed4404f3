//! The kinds of diagnostics: one table with their data, stable codes, exit codes and messages.
//!
//! A message can be sent to a minion, so none contains the value of a parameter. Names, paths and
//! references are not values.

use std::fmt;

use super::short;

macro_rules! kinds {
    ($( $(#[doc = $doc:literal])+ $name:ident { $($field:ident : $type:ty),* } $code:literal $exit:literal
        $format:literal $(, $argument:expr)* ; )*) => {
        /// The kind of a diagnostic, with its data.
        #[derive(Clone, PartialEq, Debug)]
        #[expect(missing_docs, reason = "the message below them explains the fields")]
        pub enum Kind { $( $(#[doc = $doc])+ $name { $($field: $type),* }, )* }

        impl Kind {
            /// All stable codes.
            pub const CODES: &[&str] = &[$($code),*];
            /// The stable code.
            pub fn code(&self) -> &'static str {
                match self { $( Kind::$name { .. } => $code, )* }
            }
            /// The exit code of a program that ends with it: 65 data, 74 not found, 2 usage, 1 unexpected.
            pub fn exit_code(&self) -> u8 {
                match self { $( Kind::$name { .. } => $exit, )* }
            }
        }
        impl fmt::Display for Kind {
            /// The message, without the position, abbreviated to 2,000 characters.
            #[allow(unused_variables, clippy::too_many_lines, reason = "a table: not every message uses every field")]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let sentence = match self {
                    $( Kind::$name { $($field),* } => format!($format $(, $argument)*), )*
                };
                f.write_str(&short(&sentence))
            }
        }
    };
}

kinds! {
    // Settings.
    /// An unknown setting (Y6).
    UnknownSetting { name: String, similar: Option<String> } "unknown-setting" 65
        "unknown setting '{name}'";
    /// A setting of the wrong type.
    SettingType { name: String, expected: String, actual: String } "setting-type" 65
        "setting '{name}' must be {expected}, not {actual}";
    /// A setting with a word that is not allowed.
    SettingValue { name: String, allowed: String, similar: Option<String> } "setting-value" 65
        "setting '{name}' must be one of {allowed}";
    /// A wrong value that the Python programs accept, so it is accepted with their meaning.
    SettingOdd { name: String, message: String, similar: Option<String> } "setting-odd" 65
        "setting '{name}': {message}";
    /// A level for an unknown rule or error.
    UnknownRule { name: String, similar: Option<String> } "unknown-rule" 65
        "setting 'lint_levels': no rule and no error has the code '{name}'";
    /// An invalid class mapping, or an invalid pattern in a setting (S13).
    SettingPattern { name: String, pattern: String, message: String } "setting-pattern" 65
        "setting '{name}': '{pattern}': {message}";
    /// The folders of nodes and classes are the same, or one contains the other (S15).
    UriOverlap { nodes: String, classes: String } "uri-overlap" 65
        "nodes_uri '{nodes}' and classes_uri '{classes}' must not be the same folder nor one inside the other";
    /// A configuration file that cannot be used.
    ConfigFile { path: String, message: String } "config-file" 65
        "cannot use the configuration file '{path}': {message}";
    /// A configuration file in the folder of the inventory, while another one is used.
    ConfigurationUnread { path: String, names: String } "configuration-unread" 65
        "'{path}' is not read: its settings do not count here ({names})";
    /// An edit of files in a storage that is read-only.
    StorageUnsupported { storage: String, operation: &'static str } "storage-unsupported" 65
        "files of storage_type '{storage}' cannot be {operation}";
    /// A missing or wrong option in the mapping of a storage.
    StorageOption { setting: String, message: String } "storage-option" 65
        "setting '{setting}': {message}";

    // Storage and catalog.
    /// A missing folder of the inventory.
    DirectoryNotFound { path: String, message: String, similar: Option<String> } "directory-not-found" 74
        "cannot read the folder '{path}': {message}";
    /// A folder that exists and cannot be read.
    DirectoryUnreadable { path: String, message: String } "directory-unreadable" 74
        "cannot read the folder '{path}': {message}";
    /// A file that cannot be read.
    FileUnreadable { path: String, message: String } "file-unreadable" 74
        "cannot read '{path}': {message}";
    /// Several files with one name (S6).
    DuplicateDefinition { what: &'static str, name: String, files: Vec<String> } "duplicate-definition" 65
        "{what} '{name}' is defined {}", places_sentence(files);
    /// A node without a file.
    NodeNotFound { name: String, folder: String, similar: Option<String> } "node-not-found" 74
        "no node '{name}' in {}", folder_sentence(folder);

    // Git.
    /// A program that cannot be run.
    GitProgram { message: String } "git-program" 74
        "cannot run the program 'git': {message}";
    /// A repository that cannot be fetched: a wrong address, no network.
    GitFetch { repo: String, message: String } "git-fetch" 74
        "cannot fetch '{repo}': {message}";
    /// A server that refuses access, or an untrusted server.
    GitAccess { repo: String, message: String } "git-access" 74
        "no access to '{repo}': {message}";
    /// A server that does not answer in time.
    GitTimeout { repo: String, message: String } "git-timeout" 74
        "cannot fetch '{repo}': {message}";
    /// A cache that can neither be used nor recreated.
    GitCache { path: String, message: String } "git-cache" 74
        "cannot use the cache '{path}': {message}";
    /// A branch that a repository does not have.
    GitBranch { repo: String, branch: String, similar: Option<String> } "git-branch" 74
        "no branch '{branch}' in '{repo}'";
    /// A failed fetch; the previously fetched state is served.
    GitStale { repo: String, message: String } "git-stale" 74
        "'{repo}' is served as it was fetched last: {message}";

    // YAML.
    /// Text that is not YAML, or YAML that `PyYAML` rejects.
    YamlSyntax { message: String } "yaml-syntax" 65
        "{message}";
    /// An unknown tag (Y3). It has no name here, because a password can look like a tag.
    YamlTag { } "yaml-tag" 65
        "unknown tag";
    /// A limit on the size, depth or number of aliases of a document.
    YamlLimit { what: String, limit: usize, setting: Option<&'static str> } "yaml-limit" 65
        "{what} exceeds the limit of {limit}";
    /// A duplicate key of a mapping; the last one wins (Y2). With `types`, two keys of these types become
    /// the same text, and their values merge (M7). `written` are the two spellings, if they differ.
    DuplicateKey {
        key: String,
        types: Option<(&'static str, &'static str)>,
        written: Option<(String, String)>
    } "duplicate-key" 65
        "duplicate key '{key}'{}", duplicate_consequence(*types, written.as_ref());

    // The parts of a node or class file.
    /// An empty file: a full disk leaves such files.
    FileEmpty { what: &'static str, name: String } "file-empty" 65
        "the file of {what} '{name}' is empty";
    /// A file that is not a mapping.
    NotAMapping { found: &'static str } "not-a-mapping" 65
        "a node or class file must be a mapping, not {}", article(found);
    /// A section of the wrong type (S18).
    SectionType { section: String, expected: &'static str, found: &'static str } "section-type" 65
        "'{section}' must be a {expected}, not {}", article(found);
    /// An entry of `classes` or `applications` that is not a string.
    EntryType { section: String, found: &'static str } "entry-type" 65
        "an entry of '{section}' must be a string, not {}", article(found);
    /// A class name with a space or a slash, or an empty one.
    ClassNameInvalid { name: String, reason: String } "class-name-invalid" 65
        "invalid class name '{name}': {reason}";
    /// An unknown top-level key (Y6).
    UnknownSection { name: String, similar: Option<String> } "unknown-section" 65
        "unknown section '{name}'";
    /// An invalid reference.
    ReferenceSyntax { message: String } "reference-syntax" 65
        "{message}";
    /// An invalid inventory query.
    QuerySyntax { message: String } "query-syntax" 65
        "{message}";

    // Linearization.
    /// A class that does not exist.
    ClassNotFound { name: String, written: String, folder: String, similar: Option<String> } "class-not-found" 65
        "no class '{written}' in {}", folder_sentence(folder);
    /// A class that includes itself (S7).
    ClassCycle { cycle: String } "class-cycle" 65
        "classes include one another in a circle: {cycle}";
    /// An unresolvable reference in a class name (S4).
    ClassReference { written: String, reference: String, similar: Option<String> } "class-reference" 65
        "cannot resolve '{reference}' in the class name '{written}'";
    /// A class name of a top that may depend on the earlier pillar, which a top does not have.
    ClassNeedsPillar { written: String, reference: String } "class-needs-pillar" 65
        "the class name '{written}' needs '{reference}', and a top has no earlier pillar";
    /// A missing class that was skipped.
    ClassSkipped { name: String } "class-skipped" 65
        "class '{name}' not found, skipped";

    // Merging and evaluation.
    /// A reference to a parameter that does not exist (R5).
    ReferenceNotFound { reference: String, missing: String, container: String, similar: Option<String> }
        "reference-not-found" 65
        "{}", missing_sentence(reference, missing, container);
    /// A reference cycle (R9).
    ReferenceCycle { cycle: String } "reference-cycle" 65
        "references lead in a circle: {cycle}";
    /// Types that do not merge (M2).
    MergeType { later: &'static str, earlier: &'static str, setting: Option<&'static str> } "merge-type" 65
        "cannot merge a {later} over a {earlier}";
    /// A constant that a later layer changes (M5).
    ConstantChanged { } "constant-changed" 65
        "a constant is changed";
    /// A default that is not YAML (R7).
    DefaultSyntax { reference: String, message: String } "default-syntax" 65
        "the default of '{reference}' is not YAML: {message}";
    /// A missing reference whose value a later layer replaces (R6).
    OverwrittenReference { reference: String } "overwritten-reference" 65
        "'{reference}' does not exist, but is overwritten";
    /// A missing reference whose default is used (R12).
    DefaultUsed { reference: String } "default-used" 65
        "'{reference}' does not exist, its default is used";
    /// A value that could hold missing references and was replaced unrendered (R12).
    DroppedUnrendered { } "dropped-unrendered" 65
        "a value with references is replaced without being resolved";
    /// Text around an inventory query (Q5).
    QueryEmbedded { query: String } "query-embedded" 65
        "the inventory query '{query}' must stand alone, without text or another query around it";
    /// A query in an export (Q6).
    QueryInExport { query: String } "query-in-export" 65
        "the inventory query '{query}' must not be in an export";
    /// A query that failed for another node (Q4).
    QueryFailed { query: String, node: String } "query-failed" 65
        "the inventory query '{query}' fails for node '{node}'";
    /// A comparison with null or with a missing value.
    QueryOperand { query: String, message: String } "query-operand" 65
        "the inventory query '{query}': {message}";
    /// A limit of the evaluation.
    EvaluationLimit { what: &'static str, limit: usize, setting: Option<&'static str> } "evaluation-limit" 65
        "{what} exceeds the limit of {limit}";

    // Questions.
    /// A revision of a git repository that cannot be read.
    Revision { revision: String, message: String } "revision" 74
        "cannot read the revision '{revision}': {message}";
    /// A path, class or application to explain that a node does not have.
    NothingToExplain { what: &'static str, name: String, similar: Option<String> } "nothing-to-explain" 74
        "no {what} '{name}' in this node";

    /// A pattern of a listing that matches nothing.
    NothingMatches { what: &'static str, name: String, similar: Option<String> } "nothing-matches" 74
        "no {what} matches '{name}'";

    // Lints.
    /// A finding of lint: the rule is its code.
    Lint { rule: &'static str, message: String, help: Option<String> } "lint" 1
        "{message}";

    // Edits.
    /// An entry that cannot be changed without changing other entries.
    EditRefused { keys: String, reason: String } "edit-refused" 65
        "cannot change '{keys}' in place: {reason}";
    /// A value with references, without the option for them.
    EditReference { keys: String } "edit-reference" 65
        "the value for '{keys}' holds a reference or an inventory query";
    /// An invalid name.
    NameRefused { what: &'static str, name: String, reason: &'static str } "name-refused" 65
        "'{name}' cannot be the name of a {what}: {reason}";
    /// A path that no node or class file may have.
    PathRefused { path: String, reason: &'static str } "path-refused" 65
        "'{path}' is refused: {reason}";
    /// A node that exists already.
    NodeExists { name: String, path: String } "node-exists" 65
        "node '{name}' exists already, in '{path}'";
    /// A file that cannot be written.
    FileUnwritable { path: String, message: String } "file-unwritable" 74
        "cannot write '{path}': {message}";
    /// A changed file whose folder cannot be flushed.
    FolderUnflushed { path: String, message: String } "folder-unflushed" 74
        "the change of '{path}' is made, but may be lost if the system crashes: its folder cannot be flushed to disk: {message}";
    /// Another process holds the lock for too long.
    LockTimeout { path: String, seconds: u64 } "lock-timeout" 74
        "another process has held '{path}' for {seconds} seconds";

    // Shells.
    /// A host without a group, which Ansible does not see.
    HostWithoutGroup { name: String } "host-without-group" 65
        "node '{name}' has no class and no application, so it is in no group and Ansible does not see it";
    /// A folder for a new inventory that is not empty.
    FolderUsed { path: String } "folder-used" 65
        "'{path}' is not empty";
    /// A value that the caller's format cannot hold (Y4).
    WireType { what: String } "wire-type" 65
        "{what}";
    /// An invalid command line.
    Usage { message: String } "usage" 2
        "{message}";
    /// A defect of this program.
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
