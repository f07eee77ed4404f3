//! The lint rules, one file each.

mod class_from_pillar;
mod class_mapping_unused;
mod class_redundant;
mod class_skipped;
mod class_unused;
mod comment_cuts_value;
mod configuration_unread;
mod conflict_marker;
mod constant_held;
mod container_in_text;
mod default_unused;
mod default_used;
mod dropped_unrendered;
mod duplicate_key;
mod environment_of_class;
mod etcd_orphan;
mod file_empty;
mod file_unread;
mod listed_twice;
mod merge_option_conflict;
mod merge_option_unused;
mod node_unmapped;
mod null_over_container;
mod odd_name;
mod override_without_effect;
mod overwritten_reference;
mod parameter_never_set;
mod parameter_optional;
mod parameter_unused;
mod query_unanswered;
mod query_without_exports;
mod removal_without_effect;
mod scalar_implicit;
mod scalar_misread;
mod schema;
mod schema_deprecated;
mod schema_keyword;
mod schema_unused;
mod secret_plain;
mod setting_odd;
mod smart_quotes;
mod tab;
mod text_like_reference;
mod text_like_yaml;
mod unknown_section;
mod unknown_setting;
mod value_repeated;
mod wildcard_order;

use super::rule::Rule;
use crate::errors;
use reclass_base::similar::nearest;

macro_rules! rules {
    ($($rule:ident)*) => { &[$($rule::RULE),*] };
}

/// All rules. Errors are findings too, under their own codes. The order is the precedence: if several rules
/// report one place, the first one wins.
pub const RULES: &[Rule] = rules! {
    schema schema_deprecated schema_keyword duplicate_key file_empty file_unread unknown_section unknown_setting setting_odd configuration_unread
    class_skipped comment_cuts_value null_over_container overwritten_reference listed_twice removal_without_effect class_from_pillar
    merge_option_unused merge_option_conflict wildcard_order override_without_effect constant_held
    parameter_never_set query_without_exports query_unanswered scalar_misread smart_quotes secret_plain
    container_in_text text_like_reference conflict_marker text_like_yaml environment_of_class tab odd_name etcd_orphan class_unused
    class_redundant value_repeated default_unused parameter_unused parameter_optional node_unmapped class_mapping_unused schema_unused
    scalar_implicit default_used dropped_unrendered
};

/// The rule with this code.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The codes of all rules and errors, each once.
pub fn codes() -> impl Iterator<Item = &'static str> {
    let errors = errors::codes().filter(|code| rule(code).is_none());
    RULES.iter().map(|rule| rule.id).chain(errors)
}

/// The code that is closest to a misspelled one.
pub fn similar_code(code: &str) -> Option<&'static str> {
    // `unsed-class` is `class-unused`.
    let words = |code: &'static str| code.split('-');
    let alike = |one: &str, other| one == other || nearest(one, [other]).is_some();
    let is_meant = |known: &&'static str| {
        words(known).count() == code.split('-').count()
            && code.split('-').all(|word| words(known).any(|known| alike(word, known)))
    };
    nearest(code, codes()).or_else(|| codes().find(is_meant))
}
