//! The rulings that may cause a difference, and how each is turned off.

use crate::base::old_rules::{OldRule, OldRules};
use crate::base::value::{Key, Map, Value};

/// A way to render as an old program does.
#[derive(Debug)]
pub(super) struct Alternative {
    /// The number of the ruling in `docs/semantics.md`.
    pub ruling: &'static str,
    /// The ruling, and what the old programs do.
    pub sentence: &'static str,
    /// What turns the ruling off.
    pub change: Change,
}

/// What turns a ruling off.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// A setting that is on by default, or off.
    Setting(&'static str, bool),
    /// A flag of `compat_flags`.
    Flag(&'static str),
    /// A rule that no setting turns on.
    Rule(OldRule),
}

/// All alternatives, those first that explain most.
pub(super) const ALTERNATIVES: &[Alternative] = &[
    Alternative {
        ruling: "S12",
        sentence: "in '_reclass_:name' a name without folders is one part; kapicorp-reclass splits it at its dots",
        change: Change::Flag("ComposeNodeNameLiteralDots"),
    },
    Alternative {
        ruling: "S12",
        sentence: "'_reclass_:name' has 'path' and 'parts'; salt-formulas/reclass has only 'full' and 'short'",
        change: Change::Rule(OldRule::ShortNames),
    },
    Alternative {
        ruling: "S12",
        sentence: "'_reclass_:name:short' is the first label of the name; reclass-rs gives the whole name",
        change: Change::Rule(OldRule::WholeNames),
    },
    Alternative {
        ruling: "S12",
        sentence: "'_reclass_' holds the name and the environment; the old answers have no such parameter",
        change: Change::Setting("automatic_parameters", false),
    },
    Alternative {
        ruling: "S8",
        sentence: "'~application' in a class removes what any class before it added; in salt-formulas/reclass only what the classes that it includes added",
        change: Change::Rule(OldRule::RemovalsInClass),
    },
    Alternative {
        ruling: "M3",
        sentence: "null replaces a mapping or a list; the Python programs refuse that by default",
        change: Change::Setting("allow_none_override", false),
    },
    Alternative {
        ruling: "R13",
        sentence: "tabs in strings with references stay; the Python programs turn them into spaces",
        change: Change::Flag("ExpandTabs"),
    },
    Alternative {
        ruling: "R2",
        sentence: "null in text is 'None'; reclass-rs writes 'null' with a flag of its own",
        change: Change::Flag("NestedReferenceNullAsNull"),
    },
    Alternative {
        ruling: "R7",
        sentence: "null in the default of a reference is 'null'; reclass-rs writes 'None' with a flag of its own",
        change: Change::Flag("NestedReferenceNullAsNone"),
    },
];

/// Errors that only a ruling makes, where an old program answers: code, ruling, sentence.
const REFUSALS: &[(&str, &str, &str)] = &[
    ("section-type", "S18", "a section of the wrong type is an error; the Python programs take a text apart into letters"),
    ("duplicate-definition", "S6", "two files for one name are an error for whatever depends on that name"),
    ("default-syntax", "R7", "the default of a reference must be YAML, even where it is not needed"),
    ("query-embedded", "Q5", "a query must be the whole string"),
    ("query-in-export", "Q6", "a query inside of an export is an error"),
    ("yaml-tag", "Y3", "an unknown tag is an error"),
];

/// The ruling and the sentence for an error of ours.
pub(super) fn refusal(code: &str) -> Option<(&'static str, &'static str)> {
    REFUSALS.iter().find(|(known, ..)| *known == code).map(|(_, ruling, sentence)| (*ruling, *sentence))
}

impl Alternative {
    /// The setting and its value, if users can turn the ruling off. Further flags are those in the options.
    pub fn setting(&self, options: &Map) -> Option<(&'static str, Value)> {
        match self.change {
            Change::Setting(name, value) => Some((name, Value::Bool(value))),
            Change::Flag(flag) => {
                let mut flags = flags(options);
                if !flags.iter().any(|known| known.as_str() == Some(flag)) {
                    flags.push(Value::text(flag));
                }
                Some(("compat_flags", Value::list(flags)))
            }
            Change::Rule(_) => None,
        }
    }

    /// Turns the ruling off.
    pub fn apply(&self, options: &mut Map, rules: &mut OldRules) {
        if let Change::Rule(rule) = self.change {
            *rules = rules.with(rule);
        }
        if let Some((name, value)) = self.setting(options) {
            options.insert(Key::from(name), value);
        }
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
