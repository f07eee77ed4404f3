//! What the tests of YAML share: Python as the oracle, and generated documents.

pub mod events;
pub mod faithful;
pub mod generate;
pub mod oracle;
pub mod random;
