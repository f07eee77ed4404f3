//! Rules of the Python programs that a ruling of `docs/semantics.md` replaces.
//!
//! `reclass compare` turns them on to find the cause of a difference: it renders with one of them, and compares
//! again. No setting does, so every answer for a minion is without them. Each is implemented where its ruling
//! is, and costs one test of a bit there.

/// A rule of an old program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum OldRule {
    /// S12: only `full` and `short`, as in salt-formulas/reclass.
    ShortNames,
    /// S12: `short` is the whole name if folders are no part of it, as in reclass-rs.
    WholeNames,
    /// S8: a `~application` in a class removes only applications of the classes that it includes.
    RemovalsInClass,
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
