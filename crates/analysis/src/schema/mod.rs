//! Schemas of parameters: JSON Schema for what a parameter may be, checked in the values of nodes.
//!
//! `document` and `compile` make schemas of files, `check` finds what breaks them in the answer for a node, and
//! `analysis/violations` says it as diagnostics with the place that set the value. `docs/parameter-schemas.md` is the page for users. Without the
//! feature `validation`, `none` stands for them.

#[cfg(feature = "validation")]
mod check;
#[cfg(feature = "validation")]
mod compile;
#[cfg(feature = "validation")]
mod describe;
#[cfg(feature = "validation")]
mod document;
#[cfg(feature = "validation")]
mod inspect;
#[cfg(feature = "validation")]
mod instance;
#[cfg(feature = "validation")]
mod items;
#[cfg(feature = "validation")]
mod keywords;
#[cfg(not(feature = "validation"))]
mod none;
#[cfg(feature = "validation")]
mod objection;
#[cfg(feature = "validation")]
mod sentence;
#[cfg_attr(not(feature = "validation"), expect(dead_code, reason = "nothing is checked"))]
mod verdict;

#[cfg(feature = "validation")]
pub use check::Schemas;
#[cfg(not(feature = "validation"))]
pub use none::Schemas;
#[cfg(feature = "validation")]
pub(crate) use sentence::NOT_ALLOWED;
pub use verdict::Description;
#[cfg(feature = "validation")]
pub(crate) use verdict::{BrokenParameter, Violation};
pub(crate) use verdict::{FoundViolations, NodeVerdict};
