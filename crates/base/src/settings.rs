//! Checks the options of a configuration (a YAML file, Salt's configuration, the command line) and
//! makes [`Settings`] of them.
//!
//! [`TABLE`] lists all names of the Python forks and of reclass-rs, with their defaults; no other
//! module knows a default. An unknown name is a warning with the nearest known name, a value of the
//! wrong type an error (Y6). If the Python programs accept a wrong value, it has the same meaning
//! here, with a warning.

mod value;

use crate::error::{Error, Kind, MAX_FAULTS, Result, Warning, article};
use crate::value::{Map, Text, Value};
use value::FromValue;
pub use value::{parse_bool, unknown_word};

/// The names of a settings file, by precedence.
pub const FILE_NAMES: [&str; 2] = ["reclass-config.yml", "kapicorp-reclass-config.yml"];

/// The settings that only the programs use. The library ignores them.
pub const PROGRAM_SETTINGS: [&str; 5] =
    ["applications_postfix", "group_form", "output", "pretty_print", "no_refs"];

/// The canonical spelling of a word: Kapitan's examples write `yml`.
pub fn canonical_word(word: &str) -> &str {
    if word == "yml" { "yaml" } else { word }
}

/// Maximum size of a settings file in bytes; a setting cannot limit its own file.
pub const LARGEST_FILE: usize = 4 * 1024 * 1024;

/// The type of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// `true` or `false`.
    Flag,
    /// A string.
    Word,
    /// A string, or false for "none".
    WordOrFalse,
    /// A list of strings.
    List,
    /// A string or a list of strings.
    Words,
    /// A pair of strings: opening and closing sentinel.
    Pair,
    /// A whole number, zero or more.
    Count,
    /// A whole number from one to this maximum.
    UpTo(u32),
    /// A path, a list of paths, or the mapping of a storage.
    Uri,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Any value; it is checked elsewhere.
    Any,
}

/// One row of the table of settings.
#[derive(Debug)]
pub struct SettingRow {
    /// The name, as the configuration writes it.
    pub name: &'static str,
    /// Other spellings that are accepted (ruling S16).
    pub aliases: &'static [&'static str],
    /// The type.
    pub shape: Shape,
    /// The default, as YAML: null, true, false, a number, a word, or a list of texts in single quotes.
    pub default: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
}

impl SettingRow {
    /// The default. `tests/base/settings_page.rs` compares it with the YAML reader.
    pub fn default_value(&self) -> Value {
        let quoted =
            |text: &str| text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).map(Text::from);
        let list = self.default.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        match (self.default, list) {
            ("null", _) => Value::Null,
            ("true", _) => Value::Bool(true),
            ("false", _) => Value::Bool(false),
            (_, Some(items)) => Value::list(items.split(", ").filter_map(quoted).map(Value::Str).collect()),
            (text, None) => match text.parse() {
                Ok(number) => Value::Int(number),
                Err(_) => Value::Str(quoted(text).unwrap_or_else(|| text.into())),
            },
        }
    }
}

/// The compatibility flags of reclass-rs and of this project.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct CompatFlags {
    /// `ComposeNodeNameLiteralDots`: split composed node names on each dot (S11).
    pub split_literal_dots: bool,
    /// `NestedReferenceNullAsNull`: `null` in text as `null`, not `None` (R2).
    pub null_as_null: bool,
    /// `NestedReferenceNullAsNone`: null in the default of a reference as `None` (R7).
    pub null_as_none: bool,
    /// `ExpandTabs`: tabs in strings with references become spaces (R13).
    pub expand_tabs: bool,
}

/// The answer for a Salt minion without a node file (S14).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum NodeNotFound {
    /// An error.
    #[default]
    Error,
    /// No data.
    Empty,
    /// A node of class mappings and automatic parameters alone.
    Mappings,
}

macro_rules! settings {
    ($( $(#[doc = $doc:literal])+ $name:ident $(| $alias:literal)* : $type:ty = $default:literal as $shape:expr; )*) => {
        /// All settings of an inventory, checked.
        #[derive(Clone, PartialEq, Debug)]
        pub struct Settings {
            $( $(#[doc = $doc])+ pub $name: $type, )*
            /// Whether the commit that is checked out is read in place of the folders (`serve`).
            pub commits: bool,
        }

        /// All settings with their spellings, shapes and defaults.
        pub const TABLE: &[SettingRow] = &[ $( SettingRow {
            name: stringify!($name),
            aliases: &[$($alias),*],
            shape: $shape,
            default: $default,
            doc: concat!($($doc),+),
        }, )* ];

        impl Settings {
            fn from_values(
                values: &mut dyn FnMut(&'static SettingRow) -> Result<Value>,
                odd: &mut Vec<Warning>,
            ) -> Result<Settings> {
                let mut rows = TABLE.iter();
                let mut next = || {
                    let row = rows.next().expect("one row for each field: both come from one table");
                    values(row).and_then(|value| Ok((row, value)))
                };
                let mut faults = Vec::new();
                $( let $name = {
                    let (row, value) = next()?;
                    let read = <$type as FromValue>::from_value(row, &value, odd);
                    read.map_err(|error| faults.extend(error.into_faults())).ok()
                }; )*
                if !faults.is_empty() {
                    return Err(Error::new(faults));
                }
                Ok(Settings {
                    $( $name: $name.expect("without a fault, each setting was read"), )*
                    commits: false,
                })
            }
        }
    };
}

settings! {
    /// Kind of storage: `yaml_fs`, `yaml_git` or `mixed`.
    storage_type: Text = "yaml_fs" as Shape::OneOf(&["yaml_fs", "yaml_git", "mixed"]);
    /// File with settings, which are defaults for the settings beside it: a `reclass-config.yml`, or the configuration of a Salt master or minion.
    config_file: Option<Text> = "null" as Shape::Word;
    /// Folder that `nodes_uri` and `classes_uri` are relative to.
    inventory_base_uri: Option<Text> = "null" as Shape::Word;
    /// Folder of the node files, or the mapping of a storage.
    nodes_uri: Value = "nodes" as Shape::Uri;
    /// Folder of the class files, a list of folders, or the mapping of a storage.
    classes_uri: Value = "classes" as Shape::Uri;
    /// Folder of the [schemas of parameters](parameter-schemas.md), a list of folders, or the mapping of a storage. In a repository of git it is beside the folder of the nodes.
    schemas_uri: Value = "schemas" as Shape::Uri;
    /// Folders of formulas that have schemas, as `<formula>/schemas/<role>.yaml`.
    formula_schemas: Vec<Text> = "[]" as Shape::Words;
    /// Salt: what a pillar that breaks a [schema](parameter-schemas.md) means: `off` checks nothing, `warn` logs it once, `error` gives the minion an error in place of a pillar.
    schema_check: Text = "'off'" as Shape::OneOf(&["off", "warn", "error"]);
    /// How many seconds old the branches of git repositories may be; 0 to fetch them for every answer. The first answer of a process always does.
    git_fetch_interval: u32 = "60" as Shape::Count;
    /// How many seconds a fetch may take, the wait for another process included; the first one of a repository may take ten times as long.
    git_fetch_timeout: u32 = "30" as Shape::Count;
    /// Policy for a failed fetch: `serve` the last fetched state with a warning, or `fail`.
    git_fetch_failure: Text = "serve" as Shape::OneOf(&["serve", "fail"]);
    /// File of the known ssh servers, instead of ssh's own.
    git_known_hosts: Option<Text> = "null" as Shape::Word;
    /// Policy for an unknown ssh server: `refuse` is an error, `accept` trusts it from then on.
    git_unknown_hosts: Text = "refuse" as Shape::OneOf(&["refuse", "accept"]);
    /// A branch, tag or commit to read git repositories at, if they have it, instead of their branches.
    git_revision: Option<Text> = "null" as Shape::Word;
    /// When a new commit is [served](serving.md), of a git repository or of one that is checked out where the folders are: `now`; `tested`, when all nodes were rendered, to those that it does not break; or `whole`, only if it breaks none.
    serve: Text = "now" as Shape::OneOf(&["now", "tested", "whole"]);
    /// The commit, tag or branch that a new master serves before it has decided anything, with `serve`.
    serve_from: Option<Text> = "null" as Shape::Word;
    /// The nodes that get a new commit first, with `serve`: a mapping with `match`, a glob, and `percent`.
    canary: Value = "null" as Shape::Any;
    /// Seconds after which the other nodes get it too; 0 for when somebody says so.
    canary_for: u32 = "0" as Shape::Count;
    /// Addresses of the servers of [etcd](etcd.md), as `https://host:2379`. With them, soft metadata in etcd are parameters too.
    etcd_endpoints: Vec<Text> = "[]" as Shape::Words;
    /// Prefix of the keys in etcd.
    etcd_prefix: Text = "/reclass" as Shape::Word;
    /// How many seconds old the data of etcd may be; 0 to read them for every answer.
    etcd_interval: u32 = "60" as Shape::Count;
    /// How many seconds a request to etcd may take, the wait for another process included.
    etcd_timeout: u32 = "5" as Shape::Count;
    /// Policy for an etcd that cannot be read: `serve` the data that were fetched last with a warning, or `fail`.
    etcd_failure: Text = "serve" as Shape::OneOf(&["serve", "fail"]);
    /// File of the certificate authority of etcd.
    etcd_ca: Option<Text> = "null" as Shape::Word;
    /// File of the client certificate for etcd.
    etcd_cert: Option<Text> = "null" as Shape::Word;
    /// File of the key of that certificate.
    etcd_key: Option<Text> = "null" as Shape::Word;
    /// User of etcd.
    etcd_user: Option<Text> = "null" as Shape::Word;
    /// File with the password of that user in its first line.
    etcd_password_file: Option<Text> = "null" as Shape::Word;
    /// Folder of the record of what was read from etcd, which all processes share.
    etcd_cache_dir: Text = "~/.reclass/etcd" as Shape::Word;
    /// Let values in etcd contain references and inventory queries, as class files do. Otherwise they are data.
    etcd_references: bool = "false" as Shape::Flag;
    /// How many seconds pass until Python's and Salt's log says again that data from git or etcd are stale.
    stale_log_interval: u32 = "600" as Shape::Count;
    /// File for the textfile collector of Prometheus' node exporter, with the [metrics](fleet.md#metrics) of a Salt master. With it, each answer is counted.
    metrics_file: Option<Text> = "null" as Shape::Word;
    /// Salt: put the [revision](fleet.md#the-revision-in-the-pillar) of the inventory into the pillar, as `__reclass__:revision`.
    revision_in_pillar: bool = "false" as Shape::Flag;
    /// Branch that edits of an inventory in git are pushed to, with `storage_type: yaml_git`.
    edit_branch: Option<Text> = "null" as Shape::Word;
    /// Folder of the clusters, below `classes_uri`: where soft metadata are edited.
    cluster_folder: Text = "cluster" as Shape::Word;
    /// File of a cluster that holds its soft metadata.
    cluster_file: Text = "overrides.yml" as Shape::Word;
    /// Folders outside of the inventory that symbolic links in it may lead to, for the functions that show files as they are written. Edits refuse such links all the same. Answers for nodes follow all links.
    linked_folders: Vec<Text> = "[]" as Shape::List;
    /// List of `pattern class…`: classes for all nodes that match a glob or `/regular expression/`.
    class_mappings: Vec<Text> = "[]" as Shape::List;
    /// Match `class_mappings` against the path of the node file instead of the node's name.
    class_mappings_match_path: bool = "false" as Shape::Flag;
    /// Lets an entry of `classes` include all classes that match a [pattern](classes-by-pattern.md): `apps.*`.
    class_wildcards: bool = "false" as Shape::Flag;
    /// Make folders part of the names of nodes.
    compose_node_name: bool = "false" as Shape::Flag;
    /// Environment of a node that names none.
    default_environment: Value = "base" as Shape::Any;
    /// Salt: let a request (`pillarenv`, `saltenv`) choose the node's environment.
    allow_adapter_env_override: bool = "false" as Shape::Flag;
    /// Provide the parameters `_reclass_:name` and `_reclass_:environment`.
    automatic_parameters: bool = "true" as Shape::Flag;
    /// Top-level parameter whose scalars in the node file class names may refer to; false for none.
    scalar_parameters: Option<Text> = "false" as Shape::WordOrFalse;
    /// Let a scalar replace a mapping.
    allow_scalar_over_dict: bool = "false" as Shape::Flag;
    /// Let a scalar replace a list.
    allow_scalar_over_list: bool = "false" as Shape::Flag;
    /// Let a list follow a scalar, which becomes its first item.
    allow_list_over_scalar: bool = "false" as Shape::Flag;
    /// Let a mapping replace a scalar.
    allow_dict_over_scalar: bool = "false" as Shape::Flag;
    /// Let null replace a mapping or a list.
    allow_none_override: bool = "true" as Shape::Flag;
    /// Changing a `=constant` is an error; otherwise the change is ignored.
    strict_constant_parameters: bool = "true" as Shape::Flag;
    /// Rules by which lists merge: `true` reads the section [`merge_options`](merge-options.md) of the files. A mapping of patterns to strategies does too, and its declarations come before those of all files.
    merge_options: Value = "false" as Shape::Any;
    /// Separator of the keys in a reference.
    delimiter: Text = "':'" as Shape::Word;
    /// Prefix of a key that replaces what earlier classes said: one character.
    dict_key_override_prefix: Text = "'~'" as Shape::Word;
    /// Prefix of a key that later classes must not change: one character.
    dict_key_constant_prefix: Text = "'='" as Shape::Word;
    /// Character that makes a sentinel plain text.
    escape_character: Text = "'\\'" as Shape::Word;
    /// Opening and closing sentinel of a reference.
    reference_sentinels: (Text, Text) = "['${', '}']" as Shape::Pair;
    /// Opening and closing sentinel of an inventory query.
    export_sentinels: (Text, Text) = "['$[', ']']" as Shape::Pair;
    /// Skip classes that do not exist, where their names match `ignore_class_notfound_regexp`.
    ignore_class_notfound: bool = "false" as Shape::Flag;
    /// Patterns of the names that `ignore_class_notfound` skips, matched at their start.
    ignore_class_notfound_regexp | "ignore_class_regexp": Vec<Text> = "['.*']" as Shape::Words;
    /// Warn of each class that is skipped.
    ignore_class_notfound_warning: bool = "true" as Shape::Flag;
    /// A missing reference that a later scalar replaces is a warning.
    ignore_overwritten_missing_references | "ignore_overwritten_missing_reference": bool = "true" as Shape::Flag;
    /// Policy for an empty node or class file: `warn`, or `error`, so that nothing is answered from what a full disk leaves.
    empty_files: Text = "warn" as Shape::OneOf(&["warn", "error"]);
    /// Report all errors of a node at once.
    group_errors: bool = "true" as Shape::Flag;
    /// Inventory queries leave out nodes whose file or classes cannot be read.
    inventory_ignore_failed_node: bool = "false" as Shape::Flag;
    /// Inventory queries leave out exports that cannot be resolved.
    inventory_ignore_failed_render: bool = "false" as Shape::Flag;
    /// Say more: values dropped unrendered, defaults used for missing references.
    verbose_warnings: bool = "false" as Shape::Flag;
    /// List of `ComposeNodeNameLiteralDots`, `NestedReferenceNullAsNull`, `NestedReferenceNullAsNone`, `ExpandTabs`.
    compat_flags | "reclass_rs_compat_flags": CompatFlags = "[]" as Shape::Words;
    /// Salt: a minion without a node file gets an `error`, `empty` data, or its `mappings` alone.
    node_not_found: NodeNotFound = "error" as Shape::OneOf(&["error", "empty", "mappings"]);
    /// Salt: make the pillar so far available to references, merged before the classes of the node. A class that it chooses makes every top fail: Salt gives tops no pillar.
    propagate_pillar_data_to_reclass: bool = "false" as Shape::Flag;
    /// Paths in the earlier pillar, as globs, that class names may depend on. An empty list permits all of them.
    trusted_pillar: Vec<Text> = "[]" as Shape::List;
    /// Paths of the [grains](grains.md) that references can read, as globs.
    grains: Vec<Text> = "[]" as Shape::List;
    /// A mapping of paths of grains to the values that they may have: class names may depend on these grains.
    trusted_grains: Value = "null" as Shape::Any;
    /// First key of a reference to a grain, as in `${_grains_:os}`.
    grains_key: Text = "_grains_" as Shape::Word;
    /// [Grains](grains.md) by the name of the node, for questions that no minion asks: a mapping, or the path of a file or folder with them.
    known_grains: Value = "null" as Shape::Any;
    /// Ansible: suffix that makes the name of an application the name of a group.
    applications_postfix: Option<Text> = "_hosts" as Shape::WordOrFalse;
    /// Ansible: a group is a `list` of hosts, as the Python program has it, or a `mapping` with the key `hosts`, which ansible-core asks for from 2.19 on and needs from 2.23 on.
    group_form: Text = "list" as Shape::OneOf(&["list", "mapping"]);
    /// Salt: path of the Python reclass; accepted for old configurations and not used.
    reclass_source_path: Value = "null" as Shape::Any;
    /// Globs of keys whose values are secrets, in any case, with all that is below them; with `=` at the end of a glob, texts, numbers and lists (with all that is in them), but no mapping at the key itself. [Answers and excerpts](explain.md#secrets) hide them.
    secret_keys: Vec<Text> = "['*password*', '*passwd*=', '*passphrase*', 'pass', '*[-_]pass', 'secrets', '*secret*=', '*token*=', '*private[-_]key*', '*privatekey*', '*access[-_]key', '*accesskey', '*api[-_]key', '*api[-_]keys', '*api[-_]key[!a-z]*', '*apikey*', '*credential*=']" as Shape::Words;
    /// Whether the excerpts of files in errors show keys and references only, and `***` in place of each value: for logs that more people read than the inventory, such as those of CI.
    mask_excerpts: bool = "false" as Shape::Flag;
    /// Lint: a mapping of the code of a rule to `off`, `info`, `warning` or `error`.
    lint_levels: Value = "null" as Shape::Any;
    /// Lint: file with the findings that are known and not reported, a [baseline](lint.md#a-baseline). A relative path begins at `inventory_base_uri`.
    lint_baseline: Option<Text> = "null" as Shape::Word;
    /// How changes are detected: `auto` and `inotify` use inotify where it is reliable and fingerprints elsewhere, `stat` always uses fingerprints, `off` keeps no answers.
    cache: Text = "auto" as Shape::OneOf(&["auto", "stat", "inotify", "off"]);
    /// Milliseconds that a file must be unchanged after a write before its content is used, because its writer may not be done; ten times as long for an empty file. A file that keeps changing for a second is an error. 0 uses it at once.
    settle_time: u32 = "20" as Shape::Count;
    /// Memory for answers, in MiB; the least recently used ones are evicted first.
    cache_size: u32 = "384" as Shape::Count;
    /// Largest node or class file, in MiB.
    limit_file_size: u32 = "16" as Shape::UpTo(64);
    /// Most values in a node or class file, those behind YAML aliases and merge keys counted each time; a text counts once more for every 64 bytes.
    limit_file_values: u32 = "1000000" as Shape::UpTo(10_000_000);
    /// Most files and folders in a tree, those behind symbolic links counted each time.
    limit_files: u32 = "500000" as Shape::UpTo(100_000_000);
    /// Maximum nesting depth of folders in a tree; folders behind symbolic links count each time.
    limit_folder_depth: u32 = "200" as Shape::UpTo(500);
    /// Maximum nesting depth of mappings and lists, in a file and after references are resolved.
    limit_depth: u32 = "1000" as Shape::UpTo(1_000);
    /// Maximum length of a chain of references.
    limit_references: u32 = "20000" as Shape::UpTo(20_000);
    /// Most values that the parameters of a node may come to, those that references repeat counted each time; a text counts once more for every 64 bytes. The same limit holds for values of layers merged by references, and for values and positions in one explanation.
    limit_values: u32 = "2000000" as Shape::UpTo(100_000_000);
    /// Maximum text that the references of a node may build, in MiB.
    limit_text: u32 = "64" as Shape::UpTo(1_024);
    /// Most classes of a node.
    limit_classes: u32 = "10000" as Shape::UpTo(1_000_000);
    /// Maximum length of an include chain.
    limit_include_depth: u32 = "2000" as Shape::UpTo(10_000);
    /// Maximum steps of a regular expression with look-around or backtracking, for one name.
    limit_backtracking: u32 = "1000000" as Shape::UpTo(1_000_000_000);
    /// How many threads work where the answer needs many nodes, in one call only; 0 for as many as there are processors.
    threads: u32 = "0" as Shape::Count;
    /// Command line: output format, `yaml` or `json`.
    output: Text = "yaml" as Shape::OneOf(&["yaml", "json"]);
    /// Command line: one entry per line.
    pretty_print: bool = "true" as Shape::Flag;
    /// Command line: no YAML anchors and aliases.
    no_refs: bool = "false" as Shape::Flag;
}

impl Settings {
    /// How long a file must be unchanged before its content is used.
    pub fn settle(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.settle_time.into())
    }
    /// Maximum size of a file in bytes.
    pub fn max_file_bytes(&self) -> usize {
        self.limit_file_size as usize * 1024 * 1024
    }
    /// Reads settings from options by name. Unknown names are warnings.
    pub fn from_options(options: &Map) -> Result<(Settings, Vec<Warning>)> {
        let (mut warnings, mut odd) = (Vec::new(), Vec::new());
        for key in options.keys() {
            if warnings.len() > MAX_FAULTS {
                break;
            }
            let name = crate::pystr::str(&key.0);
            if !TABLE.iter().any(|row| row.name == name || row.aliases.contains(&&*name)) {
                let known =
                    TABLE.iter().flat_map(|row| std::iter::once(&row.name).chain(row.aliases)).copied();
                let similar = crate::similar::nearest(&name, known).map(str::to_owned);
                warnings.push(Warning::new(Kind::UnknownSetting { name, similar }));
            }
        }
        let given = |row: &SettingRow| {
            std::iter::once(&row.name).chain(row.aliases).find_map(|name| options.get(*name)).cloned()
        };
        let mut value = |row: &'static SettingRow| match given(row) {
            // As in the forks, it is not read unless missing classes are ignored.
            Some(value) if row.name == "ignore_class_notfound_regexp" && !value::is_read(row, &value) => {
                let skips = TABLE.iter().find(|row| row.name == "ignore_class_notfound").and_then(given);
                if skips.is_some_and(|skips| value::python_truth(&skips)) {
                    return Ok(value);
                }
                let message = format!("{} does not count", article(value.type_name()));
                let kind = Kind::SettingOdd { name: row.name.into(), message, similar: None };
                warnings.push(Warning::new(kind));
                Ok(row.default_value())
            }
            Some(value) => Ok(value),
            None => Ok(row.default_value()),
        };
        let settings = Settings::from_values(&mut value, &mut odd)?;
        warnings.append(&mut odd);
        let prefixes = [
            ("dict_key_override_prefix", &settings.dict_key_override_prefix),
            ("dict_key_constant_prefix", &settings.dict_key_constant_prefix),
        ];
        for (name, prefix) in prefixes.into_iter().filter(|(_, prefix)| prefix.chars().count() != 1) {
            // The forks compare it with the first character of a key.
            let message = format!("'{prefix}' is not one character, so that no key has this prefix");
            warnings.push(Warning::new(Kind::SettingOdd { name: name.into(), message, similar: None }));
        }
        Ok((settings, warnings))
    }
}
