//! The answers, one file for each kind.

pub mod actions;
pub mod calls;
pub mod completion;
pub mod definition;
pub mod diagnostics;
pub mod hover;
pub mod lens;
pub mod marks;
pub mod references;
pub mod rename;
pub mod symbols;

/// `1 node`, `12 nodes`
fn counted(nodes: usize) -> String {
    if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") }
}
