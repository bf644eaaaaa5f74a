//! Helpers at nodes.

use crate::format::{ShareName, UnitName};
use serde::Serialize;
use skyhop_base::{Bytes, Duration};
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
    Snoop(Snoop),
    Survival(Survival),
    Eln(Eln),
}

/// Repair of losses behind a node with every value filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snoop {
    pub packets: u32,
    pub repeats: u32,
    pub timer: Duration,
}

/// Marks of losses with every value filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Eln {
    /// By name, or "isl".
    pub links: Vec<String>,
}

/// Marks of survival with every value filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Survival {
    /// By name, or "isl".
    pub links: Vec<String>,
    pub window: u32,
    pub weight: f64,
    pub unit: UnitName,
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
