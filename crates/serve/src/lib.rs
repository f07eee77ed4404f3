//! Turns the states of an inventory into the one that a node gets, and a request of a minion into an answer of that
//! state alone.
//!
//! Invariants: whoever asks about a node asks the state that [`Served::of`] hands out. No method picks one by itself. A
//! pillar comes with its warnings, its verdict and its revision from one question, under one lock.
//!
//! Without the setting `serve` there is one state, the newest. With it a new commit is tested before it is served:
//!
//! | file | turns |
//! |---|---|
//! | `served` | options into an inventory with its states |
//! | `rule` | the last fetch and the record into the decision in force |
//! | `judge` | a new commit into the next decision |
//! | `decision` | the commits in use into the one of a node |
//! | `question` | a request of a minion into a pillar or a top, of one state and under one lock |
//! | `delivery`, `status` | all that into a report |

mod canary;
mod decision;
mod delivery;
mod judge;
mod question;
mod registry;
mod rule;
mod served;
pub mod status;

pub use decision::{Decision, HeldNodes, Trial};
pub use delivery::{Delivery, TrialState};
pub use question::{FailedQuestion, Fetches, News, Pillar, Remarks, ServedReply, without_node};
pub use rule::Asker;
pub use served::Served;
