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
    /// S12: the name of a node in `_reclass_` is searched for references, as in the Python programs.
    NamesWithReferences,
    /// S8: a `~application` in a class removes only applications of the classes that it includes.
    RemovalsInClass,
    /// S8: a `~application` also removes the next addition, as in reclass-rs.
    RemovalsBefore,
    /// S9: every node is in the environment `base`, as in reclass-rs.
    BaseEnvironment,
    /// S4: class names do not see values that are references, or several values with a prefix.
    WrittenSelectors,
    /// S4: class names see only a value that one class sets, which the including class includes.
    SelectorsOfIncluder,
    /// S3: the classes of the result are those of the layers, in their order, as in ferroclass.
    ClassesAsMerged,
    /// S5: relative names are those of the programs alone, not those of their documents.
    RelativeToFile,
    /// S13: `${1}` is no group of a class mapping.
    PythonGroups,
    /// S15: folders overlap if the path of one begins with the text of the other.
    FoldersByPrefix,
    /// S17: hidden files count, and folders like `CVS`.
    HiddenFiles,
    /// S19: with `class_mappings_match_path`, a node at the top is `./n` alone.
    PathWithDot,
    /// M5: a constant must not be set again, even to the same value.
    ConstantsOnce,
    /// M6: an empty key, and one that is a prefix alone, is an error.
    NoEmptyKeys,
    /// M9: prefixes below a prefixed key stay text.
    PrefixesAtTop,
    /// R2: mappings and lists in text are JSON, as in reclass-rs.
    ContainersAsJson,
    /// R9: values before a last text or number are not evaluated, as in reclass-rs.
    LastScalar,
    /// R7: there are no defaults, so `::` is two delimiters.
    NoDefaults,
    /// R8: there is no escaped delimiter.
    PlainDelimiters,
    /// R10: the index of an item cannot end a reference, nor lead through an item that is a reference.
    NoLastIndex,
    /// R16: values that `~` replaces are evaluated.
    ReplacedValues,
    /// Q1: the path of an export must not lead through a list or a scalar.
    StrictExports,
    /// Q3: nodes come in the reverse order.
    NodesReversed,
    /// Q7: a query sees the nodes of all environments.
    AllEnvironments,
    /// Q7: a query without `+AllEnvs` sees no node.
    NoEnvironment,
    /// Y2: duplicate keys are an error, as in reclass-rs.
    UniqueKeys,
    /// Y1: scalars are those of YAML 1.2, as in reclass-rs.
    Yaml12,
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
