//! Errors turn what went wrong into data: what, where, how one got there, and a way out.
//!
//! The [`Kind`] holds the data of one problem and knows its stable code and its
//! sentence; `report` holds the layout. No sentence contains the value of a
//! parameter: it may be sent to a minion. Names, paths and references are no values.

use std::fmt;

use crate::report::short;
use crate::secrets::MASK;
use crate::source::{Origin, Site};
use crate::value::Text;

/// The result of everything that can fail because of an inventory.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One step of an include chain: who listed which class, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// `node 'web1'`, `class 'web.server'` or `class mapping '*.lan default'`.
    pub includer: String,
    /// The name of the class as it was looked up.
    pub class: Text,
    /// Where it is listed.
    pub site: Option<Site>,
}

/// A remark with or without a place: `'network' is set in …`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The sentence, lower case, without a full stop.
    pub text: String,
    /// The place it speaks of.
    pub site: Option<Site>,
}

/// One problem, an error or a warning.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// What went wrong.
    pub kind: Kind,
    /// The value it is about, until [`Fault::site`] is filled in from it.
    pub origin: Option<Origin>,
    /// Byte offset in the text of the scalar at `origin`, and the length meant.
    pub within: Option<(u32, u32)>,
    /// The place.
    pub site: Option<Site>,
    /// The setting it comes from, and what in it, where that is no file of the inventory.
    pub setting: Option<(&'static str, Text)>,
    /// The node that was rendered.
    pub node: Option<Text>,
    /// The parameter or export that holds the value, in the notation of references.
    pub path: Option<String>,
    /// Whether it is an export.
    pub export: bool,
    /// How the file came in, from the node down to the file; empty for the node's own file.
    pub chain: Vec<Link>,
    /// More to know.
    pub notes: Vec<Note>,
    /// Problems of other nodes that caused this one.
    pub causes: Vec<Fault>,
}

/// A problem that does not stop anything.
pub type Warning = Fault;

/// How many problems, or warnings, of one thing are told at once.
pub const MOST_TOLD: usize = 1_000;

/// Leaves out what is more than can be told at once; the last one says so. Whoever looks for problems may
/// stop with one more than that.
pub fn tell_most(told: &mut Vec<Fault>, most: usize) {
    if told.len() > most {
        told.truncate(most);
        if let Some(last) = told.last_mut() {
            last.notes.push(Note { text: "more than this are not told at once".into(), site: None });
        }
    }
}

/// Leaves out all but the first problem, unless all are asked for (`group_errors`, R5).
pub fn tell_asked(told: &mut Vec<Fault>, all: bool) {
    if !all {
        told.truncate(1);
    }
}

impl Fault {
    /// A problem without a place yet.
    pub fn new(kind: Kind) -> Fault {
        Fault {
            kind,
            origin: None,
            within: None,
            site: None,
            setting: None,
            node: None,
            path: None,
            export: false,
            chain: Vec::new(),
            notes: Vec::new(),
            causes: Vec::new(),
        }
    }
    /// The same with the value it is about.
    #[must_use]
    pub fn at(mut self, origin: Origin) -> Fault {
        self.origin = Some(origin);
        self
    }
    /// The same with its place.
    #[must_use]
    pub fn at_site(mut self, site: Site) -> Fault {
        self.site = Some(site);
        self
    }
    /// The same with the part of the scalar that is meant, in bytes of its text.
    #[must_use]
    pub fn within(mut self, offset: usize, length: usize) -> Fault {
        self.within = u32::try_from(offset).ok().zip(u32::try_from(length).ok());
        self
    }
    /// The same with the path of the parameter that holds it.
    #[must_use]
    pub fn in_path(mut self, path: impl Into<String>) -> Fault {
        self.path = Some(path.into());
        self
    }
    /// The same with a remark.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>, site: Option<Site>) -> Fault {
        self.notes.push(Note { text: text.into(), site });
        self
    }
    /// The setting that it is about, and what in it: a key or a text of its value.
    pub fn setting(&self) -> Option<(&str, Option<&str>)> {
        match &self.setting {
            Some((name, part)) => Some((name, Some(part))),
            None => self.kind.setting(),
        }
    }
    /// The stable code, `reference-not-found`.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            Kind::Lint { rule, .. } => rule,
            kind => kind.code(),
        }
    }
}

/// One or more problems that leave no result.
#[derive(Clone, PartialEq, Debug)]
pub struct Error(Vec<Fault>);

impl Error {
    /// An error of at least one problem; without any it becomes an internal error.
    pub fn new(faults: Vec<Fault>) -> Error {
        if faults.is_empty() {
            return Fault::new(Kind::Internal { message: "an error without a problem".into() }).into();
        }
        Error(faults)
    }
    /// The problems, at least one.
    pub fn faults(&self) -> &[Fault] {
        &self.0
    }
    /// The problems, to complete them.
    pub fn faults_mut(&mut self) -> &mut [Fault] {
        &mut self.0
    }
    /// The problems themselves.
    pub fn into_faults(self) -> Vec<Fault> {
        self.0
    }
    /// The first problem.
    pub fn first(&self) -> &Fault {
        &self.0[0]
    }
    /// The exit code of a program that stops for it (ruling Y8).
    pub fn exit_code(&self) -> u8 {
        self.first().kind.exit_code()
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error(vec![fault])
    }
}

impl fmt::Display for Error {
    /// The concise form: one line a problem, no source text, no values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::report::concise(self))
    }
}

impl std::error::Error for Error {}

macro_rules! kinds {
    ($( $(#[doc = $doc:literal])+ $name:ident { $($field:ident : $type:ty),* } $code:literal $exit:literal
        $format:literal $(, $argument:expr)* ; )*) => {
        /// What went wrong, with the data of it.
        #[derive(Clone, PartialEq, Debug)]
        #[expect(missing_docs, reason = "the fields are the words of the sentence below them")]
        pub enum Kind { $( $(#[doc = $doc])+ $name { $($field: $type),* }, )* }

        impl Kind {
            /// All stable codes.
            pub const CODES: &[&str] = &[$($code),*];
            /// The stable code.
            pub fn code(&self) -> &'static str {
                match self { $( Kind::$name { .. } => $code, )* }
            }
            /// The exit code of a program that stops for it: 65 data, 74 not found, 2 usage, 1 unexpected.
            pub fn exit_code(&self) -> u8 {
                match self { $( Kind::$name { .. } => $exit, )* }
            }
        }
        impl fmt::Display for Kind {
            /// What went wrong, in one sentence without a place: 2,000 characters at the most.
            #[allow(unused_variables, clippy::too_many_lines, reason = "a table: not every sentence uses every field")]
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
    /// A setting that nobody knows (Y6).
    UnknownSetting { name: String, similar: Option<String> } "unknown-setting" 65
        "unknown setting '{name}'";
    /// A setting of the wrong type.
    SettingType { name: String, expected: String, actual: String } "setting-type" 65
        "setting '{name}' must be {expected}, not {actual}";
    /// A setting with a word that is not among the allowed.
    SettingValue { name: String, allowed: String, similar: Option<String> } "setting-value" 65
        "setting '{name}' must be one of {allowed}";
    /// A level for a rule or error that does not exist.
    UnknownRule { name: String, similar: Option<String> } "unknown-rule" 65
        "setting 'lint_levels': no rule and no error has the code '{name}'";
    /// A class mapping that cannot be read, or a bad pattern in a setting (S13).
    SettingPattern { name: String, pattern: String, message: String } "setting-pattern" 65
        "setting '{name}': '{pattern}': {message}";
    /// The folders of nodes and classes are the same, or one holds the other (S15).
    UriOverlap { nodes: String, classes: String } "uri-overlap" 65
        "nodes_uri '{nodes}' and classes_uri '{classes}' must not be the same folder nor one inside the other";
    /// A configuration file that cannot be used.
    ConfigFile { path: String, message: String } "config-file" 65
        "cannot use the configuration file '{path}': {message}";
    /// An edit of files that are not in folders.
    StorageUnsupported { storage: String } "storage-unsupported" 65
        "files of storage_type '{storage}' cannot be edited";
    /// An option in the mapping of a storage that is missing or wrong.
    StorageOption { setting: String, message: String } "storage-option" 65
        "setting '{setting}': {message}";

    // Storage and catalog.
    /// A folder of the inventory that is not there or cannot be read.
    DirectoryNotFound { path: String, message: String, similar: Option<String> } "directory-not-found" 74
        "cannot read the folder '{path}': {message}";
    /// A file that cannot be read.
    FileUnreadable { path: String, message: String } "file-unreadable" 74
        "cannot read '{path}': {message}";
    /// One name, two files or more (S6).
    DuplicateDefinition { what: &'static str, name: String, files: Vec<String> } "duplicate-definition" 65
        "{what} '{name}' is defined {}", places_sentence(files);
    /// A node without a file.
    NodeNotFound { name: String, folder: String, similar: Option<String> } "node-not-found" 74
        "no node '{name}' in '{folder}'";

    // Git.
    /// A program that cannot be run.
    GitProgram { message: String } "git-program" 74
        "cannot run the program 'git': {message}";
    /// A repository that cannot be fetched: a wrong address, no network.
    GitFetch { repo: String, message: String } "git-fetch" 74
        "cannot fetch '{repo}': {message}";
    /// A server that refuses us, or that we do not trust.
    GitAccess { repo: String, message: String } "git-access" 74
        "no access to '{repo}': {message}";
    /// A server that does not answer in time.
    GitTimeout { repo: String, message: String } "git-timeout" 74
        "cannot fetch '{repo}': {message}";
    /// A cache that cannot be written or read, nor made anew.
    GitCache { path: String, message: String } "git-cache" 74
        "cannot use the cache '{path}': {message}";
    /// A branch that a repository does not have.
    GitBranch { repo: String, branch: String, similar: Option<String> } "git-branch" 74
        "no branch '{branch}' in '{repo}'";
    /// A fetch that failed, where what was fetched before is served.
    GitStale { repo: String, message: String } "git-stale" 74
        "'{repo}' is served as it was fetched last: {message}";

    // YAML.
    /// Text that is not YAML, or YAML that `PyYAML` would not take.
    YamlSyntax { message: String } "yaml-syntax" 65
        "{message}";
    /// A tag that no constructor knows (Y3). What looks like one may be a password.
    YamlTag { } "yaml-tag" 65
        "unknown tag";
    /// A limit on the size, depth or number of aliases of a document.
    YamlLimit { what: String, limit: usize, setting: Option<&'static str> } "yaml-limit" 65
        "{what} exceeds the limit of {limit}";
    /// A key that stands twice in a mapping; the last counts (Y2).
    DuplicateKey { key: String } "duplicate-key" 65
        "key '{key}' stands twice in this mapping; the last one counts";

    // The parts of a node or class file.
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
    /// A top-level key that means nothing (Y6).
    UnknownSection { name: String, similar: Option<String> } "unknown-section" 65
        "unknown section '{name}'";
    /// A string with a reference that does not parse.
    ReferenceSyntax { message: String } "reference-syntax" 65
        "{message}";
    /// An inventory query that does not parse.
    QuerySyntax { message: String } "query-syntax" 65
        "{message}";

    // Linearization.
    /// A class that does not exist.
    ClassNotFound { name: String, written: String, folder: String, similar: Option<String> } "class-not-found" 65
        "no class '{written}' in '{folder}'";
    /// A class that includes itself (S7).
    ClassCycle { cycle: String } "class-cycle" 65
        "classes include one another in a circle: {cycle}";
    /// A reference in a class name that leads nowhere (S4).
    ClassReference { written: String, reference: String, similar: Option<String> } "class-reference" 65
        "cannot resolve '{reference}' in the class name '{written}'";
    /// A missing class that was skipped.
    ClassSkipped { name: String } "class-skipped" 65
        "class '{name}' not found, skipped";

    // Merging and evaluation.
    /// A reference to a parameter that does not exist (R5).
    ReferenceNotFound { reference: String, missing: String, container: String, similar: Option<String> }
        "reference-not-found" 65
        "{}", missing_sentence(reference, missing, container);
    /// References that lead back to themselves (R9).
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
    /// A missing reference whose default was taken (R12).
    DefaultUsed { reference: String } "default-used" 65
        "'{reference}' does not exist, its default is used";
    /// A value that could hold missing references and was replaced unrendered (R12).
    DroppedUnrendered { } "dropped-unrendered" 65
        "a value with references is replaced without being resolved";
    /// Text around an inventory query (Q5).
    QueryEmbedded { query: String } "query-embedded" 65
        "the inventory query '{query}' must stand alone, without text or another query around it";
    /// A query in the exports that a query asks for (Q6).
    QueryInExport { query: String } "query-in-export" 65
        "the inventory query '{query}' must not stand in an export";
    /// A query that failed for another node (Q4).
    QueryFailed { query: String, node: String } "query-failed" 65
        "the inventory query '{query}' fails for node '{node}'";
    /// A comparison whose other side is null or missing.
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

    // Lints.
    /// Something that is probably not meant: the rule is its code.
    Lint { rule: &'static str, message: String, help: Option<String> } "lint" 1
        "{message}";

    // Edits.
    /// An entry that cannot be changed without touching more than itself.
    EditRefused { keys: String, reason: String } "edit-refused" 65
        "cannot change '{keys}' in place: {reason}";
    /// A value with references that were not asked for.
    EditReference { keys: String } "edit-reference" 65
        "the value for '{keys}' holds a reference or an inventory query";
    /// A name that is not one.
    NameRefused { what: &'static str, name: String, reason: &'static str } "name-refused" 65
        "'{name}' cannot be the name of a {what}: {reason}";
    /// A path that is no place for a node or class file.
    PathRefused { path: String, reason: &'static str } "path-refused" 65
        "'{path}' is refused: {reason}";
    /// A node that exists already.
    NodeExists { name: String, path: String } "node-exists" 65
        "node '{name}' exists already, in '{path}'";
    /// A file that cannot be written.
    FileUnwritable { path: String, message: String } "file-unwritable" 74
        "cannot write '{path}': {message}";
    /// Another process that keeps on writing.
    LockTimeout { path: String, seconds: u64 } "lock-timeout" 74
        "another process has held '{path}' for {seconds} seconds";

    // Shells.
    /// A host of Ansible that no group has: Ansible does not see it.
    HostWithoutGroup { name: String } "host-without-group" 65
        "node '{name}' has no class and no application, so it is in no group and Ansible does not see it";
    /// A folder for a new inventory that holds something.
    FolderUsed { path: String } "folder-used" 65
        "'{path}' is not empty";
    /// A value that cannot be carried to the caller (Y4).
    WireType { what: String } "wire-type" 65
        "{what}";
    /// A command line that makes no sense.
    Usage { message: String } "usage" 2
        "{message}";
    /// A defect of ours.
    Internal { message: String } "internal" 1
        "internal error: {message}";
}

/// A noun with its article.
pub(crate) fn article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
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

/// What mostly leads to a message of YAML.
fn slip(message: &str) -> Option<&'static str> {
    const SLIPS: [(&str, &str); 3] = [
        (
            "found character that cannot start",
            "indent with spaces, not with a tab; a text that begins with another such character needs quotes",
        ),
        ("did not find expected ',' or", "a text with a reference needs quotes between brackets"),
        (
            "mapping values are not allowed",
            "a text with ': ' in it needs quotes; a key needs the indentation of its neighbours",
        ),
    ];
    SLIPS.iter().find(|(begin, _)| message.starts_with(begin)).map(|(_, help)| *help)
}

fn missing_sentence(reference: &str, missing: &str, container: &str) -> String {
    if missing.is_empty() {
        // The keys come from parameters' values, which no sentence may hold.
        format!("'{reference}' leads to nothing")
    } else if container.is_empty() {
        format!("no parameter '{missing}' for '{reference}'")
    } else {
        format!("no '{missing}' in '{container}' for '{reference}'")
    }
}

/// What helps where the operating system refuses something.
fn refusal(message: &str) -> Option<&'static str> {
    const WAYS_OUT: [(&str, &str); 9] = [
        ("it changes while it is", "ask again once it is written"),
        ("permission denied", "give the user that runs this the right to it, and to the folders around it"),
        ("no such file or directory", "look for a wrong name, and for a link that leads nowhere"),
        ("input/output error", "look into the log of the system for what is wrong with the disk"),
        ("no space left on device", "make room on the disk"),
        ("disk quota exceeded", "make room on the disk, or raise the quota"),
        ("read-only file system", "mount it so that it can be written"),
        ("too many open files", "raise the limit of open files, 'ulimit -n'"),
        ("not a regular file", "put a regular file in its place"),
    ];
    let message = message.to_lowercase();
    WAYS_OUT.iter().find(|(said, _)| message.contains(said)).map(|(_, help)| *help)
}

impl Kind {
    /// Takes out what it quotes of a value, which is a secret; tells whether there was anything.
    pub fn withhold(&mut self) -> bool {
        match self {
            Kind::ReferenceNotFound { reference, missing, container, similar } => {
                MASK.clone_into(reference);
                missing.clear();
                container.clear();
                *similar = None;
            }
            Kind::OverwrittenReference { reference: quoted }
            | Kind::DefaultUsed { reference: quoted }
            | Kind::DefaultSyntax { reference: quoted, .. }
            | Kind::QueryEmbedded { query: quoted }
            | Kind::QueryInExport { query: quoted }
            | Kind::QueryFailed { query: quoted, .. } => MASK.clone_into(quoted),
            Kind::QueryOperand { query, message } => {
                MASK.clone_into(query);
                "a test has nothing to compare with".clone_into(message);
            }
            _ => return false,
        }
        true
    }
    /// The names of classes in its sentence, as they are written, and what says a finding.
    pub fn written_mut(&mut self) -> Vec<&mut String> {
        match self {
            Kind::ClassNotFound { written, .. } => vec![written],
            Kind::ClassReference { written, reference, .. } => vec![written, reference],
            Kind::ClassNameInvalid { name, .. } | Kind::ClassSkipped { name } => vec![name],
            Kind::Lint { message, help, .. } => std::iter::once(message).chain(help).collect(),
            _ => Vec::new(),
        }
    }
    /// The inventory query in its sentence.
    pub fn query(&self) -> Option<&str> {
        match self {
            Kind::QueryEmbedded { query }
            | Kind::QueryInExport { query }
            | Kind::QueryFailed { query, .. }
            | Kind::QueryOperand { query, .. } => Some(query),
            _ => None,
        }
    }
    /// The files and folders of the inventory in its sentence. Where one stands for another, as a
    /// folder for a revision, they are shown by its name.
    pub fn paths_mut(&mut self) -> Vec<&mut String> {
        match self {
            Kind::DirectoryNotFound { path, .. } | Kind::FileUnreadable { path, .. } => vec![path],
            Kind::DuplicateDefinition { files, .. } => files.iter_mut().collect(),
            Kind::NodeNotFound { folder, .. } | Kind::ClassNotFound { folder, .. } => vec![folder],
            _ => Vec::new(),
        }
    }
    /// The setting that it is about, and what in it: a key or a text of its value.
    fn setting(&self) -> Option<(&str, Option<&str>)> {
        match self {
            Kind::UnknownSetting { name, .. } | Kind::SettingType { name, .. } => Some((name, None)),
            Kind::StorageOption { setting, .. } => Some((setting, None)),
            Kind::SettingValue { name, .. } => {
                let (name, key) = name.split_once(':').map_or((name.as_str(), None), |(a, b)| (a, Some(b)));
                Some((name, key))
            }
            Kind::UnknownRule { name, .. } => Some(("lint_levels", Some(name))),
            Kind::SettingPattern { name, pattern, .. } => Some((name, Some(pattern))),
            Kind::UriOverlap { .. } => Some(("classes_uri", None)),
            Kind::StorageUnsupported { .. } => Some(("storage_type", None)),
            _ => None,
        }
    }
    /// The way out, where there is one: 2,000 characters at the most.
    pub fn help(&self) -> Option<String> {
        self.way_out().map(|text| short(&text).into_owned())
    }
    fn way_out(&self) -> Option<String> {
        match self {
            Kind::UnknownSetting { similar: Some(name), .. }
            | Kind::SettingValue { similar: Some(name), .. }
            | Kind::UnknownRule { similar: Some(name), .. }
            | Kind::UnknownSection { similar: Some(name), .. }
            | Kind::DirectoryNotFound { similar: Some(name), .. }
            | Kind::NodeNotFound { similar: Some(name), .. }
            | Kind::ClassNotFound { similar: Some(name), .. }
            | Kind::NothingToExplain { similar: Some(name), .. }
            | Kind::GitBranch { similar: Some(name), .. }
            | Kind::ClassReference { similar: Some(name), .. }
            | Kind::ReferenceNotFound { similar: Some(name), .. } => Some(format!("'{name}' is similar")),
            Kind::MergeType { setting: Some(setting), .. } => {
                Some(format!("set '{setting}: true' to allow it"))
            }
            Kind::GitAccess { message, .. } if message.contains("Host key verification failed") => Some(
                "add the key of the server to the file of known hosts, or set 'git_unknown_hosts: accept'"
                    .into(),
            ),
            Kind::YamlLimit { setting: Some(setting), .. }
            | Kind::EvaluationLimit { setting: Some(setting), .. } => {
                Some(format!("'{setting}' is the limit"))
            }
            Kind::YamlSyntax { message } => slip(message).map(str::to_owned),
            Kind::GitTimeout { .. } => Some("'git_fetch_timeout' is the limit, in seconds".into()),
            Kind::DirectoryNotFound { message, .. }
            | Kind::FileUnreadable { message, .. }
            | Kind::FileUnwritable { message, .. } => refusal(message).map(str::to_owned),
            Kind::GitCache { message, .. } => {
                let help =
                    refusal(message).unwrap_or("remove what is in the way: all in it is fetched again");
                Some(help.to_owned())
            }
            Kind::GitProgram { .. } => Some("install git, and ssh for addresses of ssh".into()),
            Kind::Lint { help, .. } => help.clone(),
            Kind::HostWithoutGroup { .. } => {
                Some("a class mapping '* CLASS' gives every node a class".into())
            }
            Kind::DuplicateDefinition { .. } => Some("remove or rename all of these files but one".into()),
            Kind::EditReference { .. } => Some("pass 'interpolate' to have it resolved".into()),
            Kind::ConstantChanged { .. } => Some(
                "remove the value, or set 'strict_constant_parameters: false' to keep the constant".into(),
            ),
            _ => None,
        }
    }
}
