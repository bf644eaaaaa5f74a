//! Where every node is at one instant.

use crate::NodeId;
use crate::share::{share, worth_threads};
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
    /// Satellites that SGP4 moves.
    propagated: usize,
    /// As many threads as may work out positions together, …
    threads: usize,
    /// … each of which must have so many satellites that SGP4 moves.
    least_share: usize,
    /// The most threads that have worked out positions together since their number was given.
    most_threads: usize,
}

/// [`Sky::least_share`], about 0.5 ms. To start a thread and to wait for it takes 0.1 ms of CPU.
const LEAST_SHARE: usize = 2_000;
/// Parts of the nodes for each thread: a thread that has other work first, or waits for its core, takes fewer.
const PARTS: usize = 8;

impl Sky {
    pub fn new(earth: Earth, motions: IndexVec<NodeId, Motion>) -> Sky {
        let positions = motions.iter().map(|_| Vec3::ZERO).collect();
        let propagated = motions.iter().filter(|motion| motion.is_propagated()).count();
        Sky { earth, motions, positions, at: None, propagated, threads: 1, least_share: LEAST_SHARE, most_threads: 1 }
    }

    /// Positions are worked out on so many threads from now on, where that is worth it, or `always`. They do not depend
    /// on it.
    pub fn use_threads(&mut self, threads: usize, always: bool) {
        self.threads = threads.max(1);
        self.most_threads = 1;
        self.least_share = if always { 0 } else { LEAST_SHARE };
    }

    /// [`Topology::route_threads`](crate::Topology::route_threads), for positions.
    pub fn most_threads(&self) -> usize {
        self.most_threads
    }

    pub fn motion(&self, node: NodeId) -> &Motion {
        &self.motions[node]
    }

    /// Works out the positions at `t`, unless they are known.
    pub fn refresh(&mut self, t: Time) {
        self.refresh_while(t, || ());
    }

    /// The same. This thread does `first` before, while others have begun.
    pub fn refresh_while(&mut self, t: Time, first: impl FnOnce()) {
        if self.at == Some(t) {
            return first();
        }
        let threads = worth_threads(self.propagated, self.least_share, self.motions.len(), self.threads);
        self.most_threads = self.most_threads.max(threads);
        let mut helpers = vec![(); threads - 1];
        let Sky { earth, motions, positions, .. } = self;
        let size = motions.len().div_ceil(PARTS * threads).max(1);
        let parts = positions.iter_mut().into_slice().chunks_mut(size).zip(motions.as_slice().chunks(size));
        share(parts, &mut (), &mut helpers, first, |(), (positions, motions)| {
            let fresh = earth_fixed_positions(earth, motions.iter(), t);
            positions.iter_mut().zip(fresh).for_each(|(old, new)| *old = new);
        });
        self.at = Some(t);
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

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::{Angle, Length};
    use skyhop_orbit::{CircularOrbit, Orbit};

    #[test]
    fn threads_give_the_positions_of_single_nodes() {
        let earth = Earth::WGS84;
        // Three rates, several of them in one part.
        let motions: IndexVec<NodeId, Motion> = (0..50)
            .map(|n| {
                Orbit::Circular(CircularOrbit {
                    altitude: Length::from_km(f64::from(500 + n / 19 * 40)),
                    inclination: Angle::from_degrees(53.0),
                    raan: Angle::from_degrees(f64::from(n * 11)),
                    argument_of_latitude: Angle::from_degrees(f64::from(n * 37)),
                })
                .motion(&earth)
            })
            .collect();
        for threads in 1..=4 {
            let mut sky = Sky::new(earth, motions.clone());
            sky.use_threads(threads, true);
            let mut done = 0;
            for second in [0, 1, 1, 500] {
                let t = Time::ZERO + Duration::from_secs(second);
                sky.refresh_while(t, || done += 1);
                assert_eq!(sky.positions().as_slice(), Sky::new(earth, motions.clone()).positions_at(t).as_slice());
            }
            assert_eq!((done, sky.most_threads()), (4, threads));
        }
        let mut sky = Sky::new(earth, motions);
        sky.use_threads(4, false);
        sky.refresh(Time::ZERO);
        assert_eq!(sky.most_threads(), 1, "50 positions are not worth a thread");
    }
}
