//! Helpers at nodes.

use crate::format::{ShareName, UnitName};
use serde::Serialize;
use skyhop_base::Bytes;
use skyhop_transport::TcpConfig;

/// A helper at a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agent {
    pub at: String,
    #[serde(flatten)]
    pub task: Task,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    ErrorReport(ErrorReport),
    Pep(Box<Pep>),
}

/// A split connection with every value filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pep {
    pub tcp: TcpConfig,
    pub buffer: Bytes,
    pub share: ShareName,
}

/// Reports of corruption with every value filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorReport {
    /// By name, or "isl".
    pub links: Vec<String>,
    pub window: u32,
    pub weight: f64,
    pub unit: UnitName,
    pub probe: Bytes,
    pub option: Bytes,
    pub report: Bytes,
}
