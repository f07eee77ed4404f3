//! What the tests of YAML share: Python as the oracle, and generated documents.

pub mod events;
pub mod generate;
pub mod oracle;
