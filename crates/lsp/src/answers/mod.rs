//! The answers, one file for each kind.

pub mod actions;
pub mod completion;
pub mod definition;
pub mod diagnostics;
pub mod hover;
pub mod lens;
pub mod references;
pub mod symbols;

/// `1 node`, `12 nodes`
fn counted(nodes: usize) -> String {
    if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") }
}
