//! A path through the network at one instant.

use crate::{LinkId, NodeId};
use skyhop_base::{Angle, Duration, Length};

#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// In order; empty when both ends are the same node.
    pub hops: Vec<PathHop>,
    /// Propagation only.
    pub delay: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathHop {
    pub link: LinkId,
    pub from: NodeId,
    pub to: NodeId,
    pub delay: Duration,
    /// Distance of the two ends; `None` for wires.
    pub range: Option<Length>,
    /// Of the satellite over the station's horizon, for links to and from the ground.
    pub elevation: Option<Angle>,
}
