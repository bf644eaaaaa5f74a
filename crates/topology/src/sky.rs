//! Where every node is at one instant.

use crate::NodeId;
use skyhop_base::{Duration, IndexVec, Time};
use skyhop_orbit::{Earth, Motion, Vec3, earth_fixed_positions};

/// Motions of all nodes, and their positions at the instant asked for last.
#[derive(Clone, Debug)]
pub(crate) struct Sky {
    pub earth: Earth,
    /// Wired nodes have no place and stand at the Earth's centre; nobody asks where they are.
    motions: IndexVec<NodeId, Motion>,
    positions: IndexVec<NodeId, Vec3>,
    at: Option<Time>,
}

impl Sky {
    pub fn new(earth: Earth, motions: IndexVec<NodeId, Motion>) -> Sky {
        let positions = motions.iter().map(|_| Vec3::ZERO).collect();
        Sky { earth, motions, positions, at: None }
    }

    pub fn motion(&self, node: NodeId) -> &Motion {
        &self.motions[node]
    }

    /// Works out the positions at `t`, unless they are known.
    pub fn refresh(&mut self, t: Time) {
        if self.at != Some(t) {
            let fresh = earth_fixed_positions(&self.earth, self.motions.iter(), t);
            self.positions.iter_mut().zip(fresh).for_each(|(old, new)| *old = new);
            self.at = Some(t);
        }
    }

    /// Earth-fixed, in km, at the instant of the last [`refresh`](Sky::refresh).
    pub fn positions(&self) -> &IndexVec<NodeId, Vec3> {
        &self.positions
    }

    /// Of one node at any instant; the same number as from [`refresh`](Sky::refresh), without working out all others.
    pub fn position_at(&self, node: NodeId, t: Time) -> Vec3 {
        if self.at == Some(t) { self.positions[node] } else { self.motions[node].earth_fixed_km(&self.earth, t) }
    }

    /// Positions of all nodes at another instant.
    pub fn positions_at(&self, t: Time) -> IndexVec<NodeId, Vec3> {
        earth_fixed_positions(&self.earth, self.motions.iter(), t).collect()
    }

    /// Light time between two nodes at that instant, to the nearest nanosecond.
    pub fn delay_ns(&self, a: NodeId, b: NodeId) -> u64 {
        let km = (self.positions[a] - self.positions[b]).norm();
        (self.earth.light_time_ns(km) + 0.5) as u64
    }

    /// Nothing moves over the Earth.
    pub fn stands_still(&self) -> bool {
        self.motions.iter().all(|motion| motion.is_earth_fixed(&self.earth))
    }
}

/// The first multiple of `every` after `now`.
pub(crate) fn next_multiple(now: Time, every: Duration) -> Time {
    let count = now.as_nanos() / every.as_nanos() + 1;
    Time::from_nanos(count.saturating_mul(every.as_nanos()))
}
