//! The network as the sky makes it: links that change with time, and routes over them. Knows no packets.
//!
//! A [`Topology`] holds all nodes (satellites, stations, wired nodes) and all directed links. Who drives it calls
//! [`Topology::advance`] at [`Topology::next_change`], learns what changed, and asks for routes again when told so:
//!
//! ```text
//!   next_change() ──► advance(now) ──► LinkUp / LinkDown / Handover … Routes ──► routes(destinations, now)
//!                                        delay_segment(from, to, t): propagation between changes
//! ```
//!
//! Equations, rules, assumptions and sources: `docs/models/topology.md`.

#![forbid(unsafe_code)]

mod beams;
mod build;
mod change;
mod choose;
mod delay;
mod error;
mod gsl;
mod isl;
mod link;
mod options;
mod path;
mod plane_drift;
mod plane_grid;
mod route;
mod second_links;
mod share;
mod sky;
mod spec;
mod terminal;
mod terrestrial;
mod topology;

pub use beams::BeamOptions;
pub use change::{Change, Handover, HandoverKind, Why};
pub use delay::{DelaySegment, Parabola};
pub use error::TopologyError;
pub use isl::NeighbourPlanes;
pub use link::{LinkKind, NetworkLink};
pub use options::{
    GatewayRule, GslOptions, IslChecks, IslLayout, IslOptions, Metric, Obstruction, Pairing, PlaneNeighbours,
    SkyOptions, StationOptions, Switching, Unpaired, slot_phase,
};
pub use path::{Path, PathHop};
pub use route::{Forwarding, Hop};
pub use spec::{
    CheckTimes, CrossSeam, GslRules, HandoverPolicy, IslRules, Node, NodeKind, NodeSpec, RoutingRules, TopologySpec,
    WiredLink,
};
pub use terrestrial::{TerrestrialOptions, TerrestrialRule};
pub use topology::Topology;

skyhop_base::new_index! {
    /// A node: a satellite, a ground station or a wired node. Its index is its place in [`TopologySpec::nodes`].
    pub struct NodeId;
    /// A link in one direction.
    pub struct LinkId;
}
