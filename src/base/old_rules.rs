//! Rules of the Python programs that a ruling of `docs/semantics.md` replaces, and that explain differences of real
//! inventories.
//!
//! `reclass compare` turns them on to find the cause of a difference: it renders with one of them, and compares
//! again. No setting does, so every answer for a minion is without them. The hooks are in `engine/automatic`
//! (S12), `model/mappings` (S13), `model/template/path` (R7), `model/merge` and `model/layer/slots` (M6).

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
    /// S13: `${1}` is no group of a class mapping.
    PythonGroups,
    /// M6: an empty key, and one that is a prefix alone, is an error.
    NoEmptyKeys,
    /// R7: there are no defaults, so `::` is two delimiters.
    NoDefaults,
    /// Y4: dates and timestamps in pillars are timestamps without an offset. `compare` applies it to the pillars.
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
