//! Helpers at nodes; those of the engine describe themselves in `skyhop_sim::agents`.

use serde::Serialize;
use skyhop_base::Bytes;
use skyhop_sim::agents::config::{AgentTask, ShareName};
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
    Pep(Box<Pep>),
    /// Those of the engine, with every value filled in.
    #[serde(untagged)]
    Engine(AgentTask),
}

/// A split connection with every value filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pep {
    pub tcp: TcpConfig,
    pub buffer: Bytes,
    pub share: ShareName,
}
