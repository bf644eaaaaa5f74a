//! The stacks in virtual time, held against the same stacks in real time.
//!
//! The reference is a folder of measurements (`cases.csv` and series): real crates, sockets and clocks over an emulated
//! bottleneck. [`cases`] reads it, [`path`] is that bottleneck, [`run`] drives the hosts over it, [`compare`] judges. A
//! case is built from its row alone; nothing here knows a case by name.

pub mod cases;
pub mod compare;
pub mod judge;
pub mod path;
pub mod report;
pub mod run;

/// A fault in a folder of the reference.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("{path}: {error}")]
    File { path: String, error: String },
    #[error("{path}, row {row}: {column} is \"{value}\", not {expected}")]
    Value { path: String, row: usize, column: &'static str, value: String, expected: &'static str },
    #[error("{0}")]
    Unbuilt(String),
    #[error(transparent)]
    Config(#[from] crate::ConfigError),
    #[error("no case is called \"{0}\"")]
    NoSuchCase(String),
}
