//! Rules of other programs that a ruling of `docs/semantics.md` replaces, as far as real inventories meet them.
//!
//! `reclass compare` turns them on to find the cause of a difference: it renders with one of them, and compares
//! again. No setting does, so every answer for a minion is without them.
//!
//! | rule           | acted out in                                                    |
//! |----------------|-----------------------------------------------------------------|
//! | S8, S9, Y2, Y4 | `analysis/compare/acted`: they need only an answer              |
//! | S12            | `engine/automatic`                                              |
//! | S13            | `model/mappings`                                                |
//! | M6             | `model/layer/slots` refuses, `model/merge` strips both prefixes |
//! | R2             | `evaluate`, `text`                                              |
//! | R7             | `model/template/path`                                           |
//! | Y1             | `yaml/construct`                                                |

/// A rule of an old program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum OldRule {
    /// S12: only `full` and `short`, as in salt-formulas/reclass.
    ShortNames,
    /// S12: `short` is the whole name if folders are no part of it, as in reclass-rs.
    WholeNames,
    /// S12: the name of a node in `_reclass_` is searched for references, as in the Python programs.
    NamesWithReferences,
    /// S8: a `~application` in a class removes only applications of the classes that it includes, as in
    /// salt-formulas/reclass.
    RemovalsInClass,
    /// S8: a `~application` also removes the next addition, as in reclass-rs.
    RemovalsBefore,
    /// S9: every node is in the environment `base`, as in reclass-rs.
    BaseEnvironment,
    /// S13: `${1}` is no group of a class mapping.
    PythonGroups,
    /// M6: an empty key, and one that is a prefix alone, is an error.
    NoEmptyKeys,
    /// R2: mappings and lists in text are JSON, as in reclass-rs.
    ContainersAsJson,
    /// R7: there are no defaults, so `::` is two delimiters.
    NoDefaults,
    /// Y1: scalars are those of YAML 1.2, as in reclass-rs.
    Yaml12,
    /// Y2: duplicate keys are an error, as in reclass-rs.
    UniqueKeys,
    /// Y4: dates and timestamps in pillars are timestamps without an offset.
    Timestamps,
}

/// A set of old rules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct OldRules(u32);

impl OldRules {
    /// Whether the set has this rule.
    pub fn has(self, rule: OldRule) -> bool {
        self.0 & (1 << rule as u8) != 0
    }

    /// The set with one more rule.
    #[must_use]
    pub fn with(self, rule: OldRule) -> OldRules {
        OldRules(self.0 | 1 << rule as u8)
    }
}
