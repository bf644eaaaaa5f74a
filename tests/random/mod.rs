//! Random scenarios over the whole format, and what must hold of each: `docs/howto/hunt-for-faults.md`.

pub mod bounds;
pub mod chance;
pub mod content;
pub mod defaults;
pub mod finding;
pub mod hashes;
pub mod judge;
pub mod mend;
pub mod network;
pub mod parts;
pub mod ranges;
pub mod schema;
pub mod shrink;
pub mod tables;
pub mod values;
pub mod variants;
pub mod workloads;

pub use defaults::Defaults;
pub use schema::{Coverage, Schema};
