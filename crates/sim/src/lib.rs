//! The event engine: queues, links, nodes, applications, records.

#![forbid(unsafe_code)]

mod ack_details;
mod agents;
mod application;
pub mod applications;
mod aqm;
mod browser;
mod build;
pub mod call;
mod check;
mod code;
mod deferred;
pub mod distribution;
mod drops;
mod dynamics;
pub mod errors;
mod events;
mod flow;
mod foresight;
mod ground;
pub mod headers;
mod host;
mod jitter;
mod limits;
mod link;
mod listed;
mod measure;
mod ns2_clock;
mod pace;
mod packet;
mod packet_rows;
pub mod pages;
mod recorder;
pub mod records;
mod relay;
mod simulation;
mod slots;
pub mod spec;
mod trace;
mod updates;
pub mod video;
mod visit;
mod warnings;
mod wire;
pub mod workload;
mod workload_measures;

pub use build::seeded;
pub use events::LONGEST_RUN;
pub use flow::FlowState;
pub use host::endpoint;
pub use limits::{Halt, Limits, least_memory};
pub use measure::jain;
pub use records::Records;
pub use simulation::{Simulation, SimulationError};
pub use spec::SimulationSpec;
