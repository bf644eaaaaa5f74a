//! Why no simulation can be built.

use crate::events::MOST_SLOTS;
use crate::spec::MOST_TRANSFERS;
use skyhop_topology::TopologyError;

/// Why no simulation can be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error("{count} wired links have {configs} configurations: one each is needed")]
    WiredConfigs { count: usize, configs: usize },
    #[error("the topology has {kind} links, but none is configured")]
    MissingConfig { kind: &'static str },
    #[error("flow {flow}: node {node} does not exist")]
    UnknownNode { flow: String, node: u32 },
    #[error("flow {flow} leads from a node to itself")]
    SelfFlow { flow: String },
    #[error("flow {flow}: its application needs a TCP, datagrams have no acknowledged stream")]
    TransferOverDatagrams { flow: String },
    #[error(
        "flow {flow}: a call needs datagrams (udp, or quic with datagrams), in which late frames do not hold up others"
    )]
    CallNeedsDatagrams { flow: String },
    #[error("flow {flow}: its messages have {bytes} B, and its transport carries {least} to {most} B")]
    MessageSize { flow: String, bytes: u32, least: u32, most: u32 },
    #[error("flow {flow}: {what} needs Skyhop's own TCP, and this flow has another transport")]
    NeedsTcp { flow: String, what: &'static str },
    #[error("no link is called {name:?}, so its errors cannot be reported")]
    UnknownWatchedLink { name: String },
    #[error("the errors of {name:?} are reported to two agents")]
    WatchedTwice { name: String },
    #[error("what survives {name:?}, or is lost on it, is marked by two agents")]
    MarkedTwice { name: String },
    #[error("an agent is at node {node}, which does not exist")]
    UnknownAgentNode { node: u32 },
    #[error("no link is called {name:?}, so its packets cannot be recorded")]
    UnknownRecordedLink { name: String },
    #[error("flow {flow}: {what} has {size} B on the wire, at most 65535 B are possible")]
    PacketTooLarge { flow: String, what: &'static str, size: u64 },
    #[error("a run of {days:.0} days is too long: 52 days are possible")]
    TooLong { days: f64 },
    #[error("`clock = \"ns-2\"` requires links of constant rate; {link} is not one")]
    NotByNs2Clock { link: String },
    #[error("the queue of {link}: {error}")]
    Queue { link: String, error: Box<skyhop_queue::ConfigError> },
    #[error("workload {workload} makes more than {} transfers in this run", MOST_TRANSFERS)]
    TooManyTransfers { workload: String },
    #[error("{components} links and endpoints are too many: {MOST_SLOTS} are possible")]
    TooLarge { components: usize },
}

impl SimulationError {
    /// The name of the flow that is meant, if one is.
    pub fn flow(&self) -> Option<&str> {
        match self {
            SimulationError::UnknownNode { flow, .. }
            | SimulationError::SelfFlow { flow }
            | SimulationError::TransferOverDatagrams { flow }
            | SimulationError::NeedsTcp { flow, .. }
            | SimulationError::CallNeedsDatagrams { flow }
            | SimulationError::MessageSize { flow, .. }
            | SimulationError::PacketTooLarge { flow, .. } => Some(flow),
            _ => None,
        }
    }
}
