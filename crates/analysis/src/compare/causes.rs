//! The causes of differences: the ruling of each, and the setting that gives the old value.

use reclass_base::settings::TABLE;
use reclass_base::value::{Key, Map, Value};

/// The cause of a difference. What has none comes first, then those that explain most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Cause {
    Unexplained,
    SplitNames,
    ShortNames,
    WholeNames,
    NoAutomatic,
    NestedRemoval,
    EarlyRemoval,
    Tabs,
    Group,
    NoDefaults,
    EmptyKey,
    BaseEnvironment,
    JsonInText,
    DuplicateKeys,
    Yaml12,
    Timestamp,
    Mapped,
    MatchedAtTop,
    MergedOverReference,
    MergeKey,
    OtherNodesItem,
    LeakedObject,
    IgnoredName,
    SectionType,
    TwoFiles,
    DefaultSyntax,
    Cycle,
    EmbeddedQuery,
    QueryInExport,
    UnknownTag,
}

/// Errors that only a ruling makes, where an old program answers.
const OF_ERRORS: &[(&str, Cause)] = &[
    ("section-type", Cause::SectionType),
    ("duplicate-definition", Cause::TwoFiles),
    ("default-syntax", Cause::DefaultSyntax),
    ("reference-cycle", Cause::Cycle),
    ("query-embedded", Cause::EmbeddedQuery),
    ("query-in-export", Cause::QueryInExport),
    ("yaml-tag", Cause::UnknownTag),
];

impl Cause {
    /// The cause of an error of ours with this code.
    pub fn of_error(code: &str) -> Option<Cause> {
        OF_ERRORS.iter().find(|(known, _)| *known == code).map(|(_, cause)| *cause)
    }

    /// The number of the ruling in `docs/semantics.md`, and a sentence: the ruling, and what the old programs do.
    #[expect(clippy::too_many_lines, reason = "a table that has each cause")]
    pub fn ruling(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Cause::Unexplained => return None,
            Cause::SplitNames => (
                "S12",
                "in '_reclass_:name' a name without folders is one part; kapicorp-reclass splits it at its dots",
            ),
            Cause::ShortNames => (
                "S12",
                "'_reclass_:name' has 'path' and 'parts', and 'short' is the last part of a composed name; salt-formulas/reclass has only 'full' and 'short', the first label",
            ),
            Cause::WholeNames => (
                "S12",
                "'_reclass_:name:short' is the first label of the name; reclass-rs gives the whole name",
            ),
            Cause::NoAutomatic => (
                "S12",
                "'_reclass_' holds the name and the environment; the old answers have no such parameter",
            ),
            Cause::NestedRemoval => (
                "S8",
                "'~application' in a class removes what any class before it added; in salt-formulas/reclass only what the classes that it includes added",
            ),
            Cause::EarlyRemoval => (
                "S8",
                "'~application' in front of the addition does nothing; in reclass-rs it removes the next one",
            ),
            Cause::Tabs => {
                ("R13", "tabs in strings with references stay; the Python programs turn them into spaces")
            }
            Cause::Group => (
                "S13",
                "'${1}' in a class mapping is a group, as in reclass-rs; for the Python programs it is a reference",
            ),
            Cause::NoDefaults => (
                "R7",
                "'${path::default}' has a default, as in reclass-rs; for the Python programs '::' is an empty key",
            ),
            Cause::EmptyKey => (
                "M6",
                "a key that is empty, or '~' or '=' alone, is a key; the Python programs end with an error, or strip both prefixes",
            ),
            Cause::BaseEnvironment => {
                ("S9", "'environment' of a node counts; in reclass-rs every node is in 'base'")
            }
            Cause::JsonInText => {
                ("R2", "a mapping or list in text is as in Python; in reclass-rs it is JSON")
            }
            Cause::DuplicateKeys => {
                ("Y2", "of duplicate keys the last counts, with a warning; reclass-rs refuses them")
            }
            Cause::Yaml12 => (
                "Y1",
                "scalars are those of YAML 1.1, as in the Python programs; reclass-rs reads YAML 1.2, where 'yes' and '014' are texts",
            ),
            Cause::Timestamp => (
                "Y4",
                "dates in pillars are ISO 8601 texts; with Salt's own adapter they are 'datetime' objects, without an offset",
            ),
            Cause::Mapped => (
                "S20",
                "a class mapping of the settings here brings a class, or brings it earlier; the old program read settings without this mapping",
            ),
            Cause::MatchedAtTop => (
                "S19",
                "with 'class_mappings_match_path' a node at the top is also tried by its name; the Python programs try './NAME' alone",
            ),
            Cause::MergedOverReference => (
                "R4",
                "what is merged over a mapping that a reference brings leaves that mapping as it is; the Python programs change one of the two, by the order of keys in a file",
            ),
            Cause::MergeKey => (
                "Y9",
                "own keys win over those of '<<', and the first mapping of a list wins; PyYAML 6.0.4 lets others win",
            ),
            Cause::OtherNodesItem => (
                "M10",
                "what one node adds to a list that has a '~' never shows in another; in the '--inventory' of the Python programs it may",
            ),
            Cause::LeakedObject => (
                "R14",
                "a container inside of text is resolved first; the Python programs print objects of their own",
            ),
            Cause::IgnoredName => (
                "S16",
                "'ignore_class_regexp' limits 'ignore_class_notfound', as documented; the Python programs do not know this name of the setting",
            ),
            Cause::SectionType => (
                "S18",
                "a section of the wrong type is an error; the Python programs take a text apart into letters",
            ),
            Cause::TwoFiles => {
                ("S6", "two files for one name are an error for whatever depends on that name")
            }
            Cause::DefaultSyntax => {
                ("R7", "the default of a reference must be YAML, even where it is not needed")
            }
            Cause::Cycle => (
                "R9",
                "a cycle is an error, also in a value that a later one replaces; reclass-rs does not evaluate such a value",
            ),
            Cause::EmbeddedQuery => ("Q5", "a query must be the whole string"),
            Cause::QueryInExport => ("Q6", "a query inside of an export is an error"),
            Cause::UnknownTag => ("Y3", "an unknown tag is an error"),
        })
    }

    /// The setting that gives the old value, if there is one. Further flags are those in the options.
    pub fn setting(self, options: &Map) -> Option<(&'static str, Value)> {
        match self {
            Cause::SplitNames => Some(flag(options, "ComposeNodeNameLiteralDots")),
            Cause::Tabs => Some(flag(options, "ExpandTabs")),
            Cause::NoAutomatic => Some(("automatic_parameters", Value::Bool(false))),
            Cause::IgnoredName => {
                let row = TABLE.iter().find(|row| row.aliases.contains(&IGNORED_NAME))?;
                Some((row.name, row.default_value()))
            }
            _ => None,
        }
    }
}

/// A name of a setting that the Python programs document and do not read (S16).
pub(super) const IGNORED_NAME: &str = "ignore_class_regexp";

/// The flags that are set, and this one.
fn flag(options: &Map, flag: &str) -> (&'static str, Value) {
    let set = ["compat_flags", "reclass_rs_compat_flags"].into_iter().find_map(|name| options.get(name));
    let mut flags = match set {
        Some(Value::List(flags)) => flags.to_vec(),
        Some(Value::Str(flag)) => vec![Value::Str(flag.clone())],
        _ => Vec::new(),
    };
    if !flags.iter().any(|known| known.as_str() == Some(flag)) {
        flags.push(Value::text(flag));
    }
    ("compat_flags", Value::list(flags))
}

/// The settings that give back the old values of these causes; `None` if there is none.
pub(super) fn settings(causes: impl Iterator<Item = Cause>, options: &Map) -> Option<Map> {
    let (mut options, mut settings) = (options.clone(), Map::default());
    for cause in causes {
        if let Some((name, value)) = cause.setting(&options) {
            options.insert(Key::from(name), value.clone());
            settings.insert(Key::from(name), value);
        }
    }
    (!settings.is_empty()).then_some(settings)
}
