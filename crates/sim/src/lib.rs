//! The event engine: queues, links, nodes, applications, records.

mod application;
mod aqm;
mod dynamics;
mod errors;
mod events;
mod flow;
mod link;
mod measure;
mod packet;
mod recorder;
pub mod records;
mod simulation;
pub mod spec;
mod trace;

pub use measure::jain;
pub use records::Records;
pub use simulation::{Simulation, SimulationError, seeded};
pub use spec::SimulationSpec;
