//! The rulings that may cause a difference, and how each is turned off.

use reclass_base::old_rules::{OldRule, OldRules};
use reclass_base::settings::TABLE;
use reclass_base::value::{Key, Map, Value};

/// A way to render as an old program does.
#[derive(Debug)]
pub(super) struct Alternative {
    /// The number of the ruling in `docs/semantics.md`.
    pub ruling: &'static str,
    /// The ruling, and what the old programs do.
    pub sentence: &'static str,
    /// What turns the ruling off.
    pub change: TurnedOff,
}

/// What turns a ruling off.
#[derive(Clone, Copy, Debug)]
pub(super) enum TurnedOff {
    /// A setting that is on by default, or off.
    Setting(&'static str, bool),
    /// A flag of `compat_flags`.
    Flag(&'static str),
    /// Not worth suggesting: it turns an answer into an error.
    Refusal(&'static str, u32),
    /// A spelling of a setting that the Python programs do not know, so that the default holds.
    Alias(&'static str),
    /// A rule that no setting turns on.
    Rule(OldRule),
}

/// All alternatives, those first that explain most.
pub(super) const ALTERNATIVES: &[Alternative] = &[
    Alternative {
        ruling: "S12",
        sentence: "in '_reclass_:name' a name without folders is one part; kapicorp-reclass splits it at its dots",
        change: TurnedOff::Flag("ComposeNodeNameLiteralDots"),
    },
    Alternative {
        ruling: "S12",
        sentence: "'_reclass_:name' has 'path' and 'parts'; salt-formulas/reclass has only 'full' and 'short'",
        change: TurnedOff::Rule(OldRule::ShortNames),
    },
    Alternative {
        ruling: "S12",
        sentence: "'_reclass_:name:short' is the first label of the name; reclass-rs gives the whole name",
        change: TurnedOff::Rule(OldRule::WholeNames),
    },
    Alternative {
        ruling: "S12",
        sentence: "'_reclass_' holds the name and the environment; the old answers have no such parameter",
        change: TurnedOff::Setting("automatic_parameters", false),
    },
    Alternative {
        ruling: "S8",
        sentence: "'~application' in a class removes what any class before it added; in salt-formulas/reclass only what the classes that it includes added",
        change: TurnedOff::Rule(OldRule::RemovalsInClass),
    },
    Alternative {
        ruling: "M3",
        sentence: "null replaces a mapping or a list; the Python programs refuse that by default",
        change: TurnedOff::Setting("allow_none_override", false),
    },
    Alternative {
        ruling: "R13",
        sentence: "tabs in strings with references stay; the Python programs turn them into spaces",
        change: TurnedOff::Flag("ExpandTabs"),
    },
    Alternative {
        ruling: "R2",
        sentence: "null in text is 'None'; reclass-rs writes 'null' with a flag of its own",
        change: TurnedOff::Flag("NestedReferenceNullAsNull"),
    },
    Alternative {
        ruling: "R7",
        sentence: "null in the default of a reference is 'null'; reclass-rs writes 'None' with a flag of its own",
        change: TurnedOff::Flag("NestedReferenceNullAsNone"),
    },
    Alternative {
        ruling: "S12",
        sentence: "the name of a node is text; the Python programs search it for references",
        change: TurnedOff::Rule(OldRule::NamesWithReferences),
    },
    Alternative {
        ruling: "S4",
        sentence: "a class name sees the scalars that the setting 'scalar_parameters' names; kapicorp-reclass does not know the setting",
        change: TurnedOff::Refusal("scalar_parameters", 0),
    },
    Alternative {
        ruling: "S13",
        sentence: "'${1}' in a class mapping is a group, as in reclass-rs; for the Python programs it is a reference",
        change: TurnedOff::Rule(OldRule::PythonGroups),
    },
    Alternative {
        ruling: "S16",
        sentence: "'ignore_class_regexp' limits 'ignore_class_notfound', as documented; the Python programs do not know this name of the setting",
        change: TurnedOff::Alias("ignore_class_regexp"),
    },
    Alternative {
        ruling: "S16",
        sentence: "'ignore_overwritten_missing_reference' counts, as documented; the Python programs do not know this name of the setting",
        change: TurnedOff::Alias("ignore_overwritten_missing_reference"),
    },
    Alternative {
        ruling: "R7",
        sentence: "'${path::default}' has a default, as in reclass-rs; for the Python programs '::' is an empty key",
        change: TurnedOff::Rule(OldRule::NoDefaults),
    },
    Alternative {
        ruling: "M6",
        sentence: "a key that is empty, or '~' or '=' alone, is a key; the Python programs end with an error, or strip both prefixes",
        change: TurnedOff::Rule(OldRule::NoEmptyKeys),
    },
    Alternative {
        ruling: "R9",
        sentence: "a long chain of references has a value; the Python programs reach their recursion limit",
        change: TurnedOff::Refusal("limit_references", 250),
    },
    Alternative {
        ruling: "Q4",
        sentence: "inventory_ignore_failed_node leaves out every node that cannot be read; the Python programs only some",
        change: TurnedOff::Refusal("inventory_ignore_failed_node", 0),
    },
    Alternative {
        ruling: "Q4",
        sentence: "inventory_ignore_failed_render holds for every query; the Python programs do not apply it to all",
        change: TurnedOff::Refusal("inventory_ignore_failed_render", 0),
    },
    Alternative {
        ruling: "S8",
        sentence: "'~application' in front of the addition does nothing; in reclass-rs it removes the next one",
        change: TurnedOff::Rule(OldRule::RemovalsBefore),
    },
    Alternative {
        ruling: "S9",
        sentence: "'environment' of a node counts; in reclass-rs every node is in 'base'",
        change: TurnedOff::Rule(OldRule::BaseEnvironment),
    },
    Alternative {
        ruling: "R2",
        sentence: "a mapping or list in text is as in Python; in reclass-rs it is JSON",
        change: TurnedOff::Rule(OldRule::ContainersAsJson),
    },
    Alternative {
        ruling: "Y2",
        sentence: "of duplicate keys the last counts, with a warning; reclass-rs refuses them",
        change: TurnedOff::Rule(OldRule::UniqueKeys),
    },
    Alternative {
        ruling: "Y1",
        sentence: "scalars are those of YAML 1.1, as in the Python programs; reclass-rs reads YAML 1.2, where 'yes' and '014' are texts",
        change: TurnedOff::Rule(OldRule::Yaml12),
    },
    Alternative {
        ruling: "Y4",
        sentence: "dates in pillars are ISO 8601 texts; with Salt's own adapter they are 'datetime' objects, without an offset",
        change: TurnedOff::Rule(OldRule::Timestamps),
    },
];

/// An object of the Python programs in an old value.
pub(super) const LEAKED_OBJECT: &str = "leaked-object";

/// A class mapping that the old program did not have.
pub(super) const MAPPED: &str = "class-mapping";
/// A class mapping that matches a node at the top.
pub(super) const MATCHED: &str = "class-mapping-path";
/// A value merged over a mapping that a reference brings.
pub(super) const REFERRED: &str = "merged-reference";
/// A value that a merge key brings.
pub(super) const MERGED: &str = "merge-key";

/// What only a ruling makes, where an old program answers: the code of an error or of what
/// [`recognized`](super::recognized) finds, ruling, sentence.
const EVIDENCE: &[(&str, &str, &str)] = &[
    (
        "section-type",
        "S18",
        "a section of the wrong type is an error; the Python programs take a text apart into letters",
    ),
    ("duplicate-definition", "S6", "two files for one name are an error for whatever depends on that name"),
    ("default-syntax", "R7", "the default of a reference must be YAML, even where it is not needed"),
    (
        LEAKED_OBJECT,
        "R14",
        "a container inside of text is resolved first; the Python programs print objects of their own",
    ),
    (
        "reference-cycle",
        "R9",
        "a cycle is an error, also in a value that a later one replaces; reclass-rs does not evaluate such a value",
    ),
    (
        MAPPED,
        "S20",
        "a class mapping of the settings here brings a class that the old program did not have: it read other settings",
    ),
    (
        MATCHED,
        "S19",
        "with 'class_mappings_match_path' a node at the top is also tried by its name; the Python programs try './NAME' alone",
    ),
    (
        REFERRED,
        "R4",
        "what is merged over a mapping that a reference brings leaves that mapping as it is; the Python programs change one of the two, by the order of keys in a file",
    ),
    (
        MERGED,
        "Y9",
        "own keys win over those of '<<', and the first mapping of a list wins; PyYAML 6.0.4 lets others win",
    ),
    ("query-embedded", "Q5", "a query must be the whole string"),
    ("query-in-export", "Q6", "a query inside of an export is an error"),
    ("yaml-tag", "Y3", "an unknown tag is an error"),
];

/// The ruling and the sentence for an error of ours, or for a defect of an old value.
pub(super) fn evidence(code: &str) -> Option<(&'static str, &'static str)> {
    EVIDENCE.iter().find(|(known, ..)| *known == code).map(|(_, ruling, sentence)| (*ruling, *sentence))
}

impl Alternative {
    /// The setting and its value, if users can turn the ruling off. Further flags are those in the options.
    pub fn setting(&self, options: &Map) -> Option<(&'static str, Value)> {
        match self.change {
            TurnedOff::Setting(name, value) => Some((name, Value::Bool(value))),
            TurnedOff::Flag(flag) => {
                let mut flags = flags(options);
                if !flags.iter().any(|known| known.as_str() == Some(flag)) {
                    flags.push(Value::text(flag));
                }
                Some(("compat_flags", Value::list(flags)))
            }
            TurnedOff::Alias(alias) => {
                let row = TABLE.iter().find(|row| row.aliases.contains(&alias))?;
                let counts = options.contains_key(alias) && !options.contains_key(row.name);
                counts.then(|| (row.name, row.default_value()))
            }
            TurnedOff::Refusal(..) | TurnedOff::Rule(_) => None,
        }
    }

    /// Turns the ruling off.
    pub fn apply(&self, options: &mut Map, rules: &mut OldRules) {
        match self.change {
            TurnedOff::Rule(rule) => *rules = rules.with(rule),
            TurnedOff::Refusal(name, 0) => drop(options.insert(Key::from(name), Value::Bool(false))),
            TurnedOff::Refusal(name, limit) => {
                options.insert(Key::from(name), Value::Int(limit.into()));
            }
            TurnedOff::Setting(..) | TurnedOff::Flag(_) | TurnedOff::Alias(_) => {}
        }
        if let Some((name, value)) = self.setting(options) {
            options.insert(Key::from(name), value);
        }
    }

    /// Whether it takes the automatic parameters away.
    pub fn is_about_automatic(&self) -> bool {
        matches!(self.change, TurnedOff::Setting("automatic_parameters", _))
    }

    /// Whether two alternatives are about the same rule, so that only one of them can hold.
    pub fn excludes(&self, other: &Alternative) -> bool {
        self.ruling == "S12" && other.ruling == "S12"
    }
}

/// The flags that are set.
fn flags(options: &Map) -> Vec<Value> {
    let set = ["compat_flags", "reclass_rs_compat_flags"].into_iter().find_map(|name| options.get(name));
    match set {
        Some(Value::List(flags)) => flags.to_vec(),
        Some(Value::Str(flag)) => vec![Value::Str(flag.clone())],
        _ => Vec::new(),
    }
}
