//! The delay curves between stations and their satellites.

use skyhop_base::{Duration, Index, Time};
use skyhop_topology::{DelaySegment, LinkKind, NodeId, Topology};

/// How far it is to the other end of a link, in eight bytes: the delay where it is fixed, else one of the two longest
/// durations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkDelay(Duration);

impl LinkDelay {
    const MOVING: Duration = Duration::from_nanos(u64::MAX);
    const GROUND: Duration = Duration::from_nanos(u64::MAX - 1);

    #[inline(always)]
    pub fn fixed(self) -> Option<Duration> {
        (self.0 < LinkDelay::GROUND).then_some(self.0)
    }

    #[inline(always)]
    pub fn get(self) -> Delay {
        match self.0 {
            LinkDelay::MOVING => Delay::Moving,
            LinkDelay::GROUND => Delay::Ground,
            delay => Delay::Fixed(delay),
        }
    }
}

impl From<Delay> for LinkDelay {
    fn from(delay: Delay) -> LinkDelay {
        LinkDelay(match delay {
            // Six centuries, in ns.
            Delay::Fixed(delay) => delay.min(Duration::from_nanos(u64::MAX - 2)),
            Delay::Moving => LinkDelay::MOVING,
            Delay::Ground => LinkDelay::GROUND,
        })
    }
}

/// How far it is to the other end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Delay {
    Fixed(Duration),
    /// Between two satellites: the curve is kept with the link.
    Moving,
    /// Between the ground and the serving satellite: the curve is kept with the station.
    Ground,
}

/// A satellite, and the piece of the delay curve to it that was used last, on one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Curve {
    with: u32,
    segment: DelaySegment,
}

impl Curve {
    /// To nobody.
    pub const NONE: Curve = Curve { with: u32::MAX, segment: DelaySegment::NONE };

    /// The delay of a packet that departs from `a` to `b`, or from `b` to `a`, at `departure`. `a` is read only where
    /// the curve is renewed: with the link it stands on a cache line that nothing else of a packet touches.
    #[inline(always)]
    fn delay(&mut self, topology: &Topology, a: &u32, b: u32, departure: Time) -> Duration {
        if self.with != b || departure < self.segment.from || self.segment.until <= departure {
            self.renew(topology, *a, b, departure);
        }
        self.segment.at(departure)
    }

    #[cold]
    #[inline(never)]
    fn renew(&mut self, topology: &Topology, a: u32, b: u32, departure: Time) {
        let segment = topology.delay_segment(NodeId::new(a), NodeId::new(b), departure);
        *self = Curve { with: b, segment };
    }
}

/// Both directions of a link to the ground share a curve, so it is kept with the station: one for each antenna, that in
/// use last in front.
#[derive(Debug)]
pub(crate) struct Ground {
    /// Where those of a node begin; the last entry is the end.
    begin: Vec<u32>,
    curves: Vec<Curve>,
}

impl Ground {
    pub fn new(topology: &Topology) -> Ground {
        let mut antennas = vec![0; topology.nodes().len()];
        for link in topology.links().iter().filter(|link| link.kind == LinkKind::Uplink) {
            antennas[link.from.index()] += 1;
        }
        let mut end = 0;
        let mut begin = vec![0];
        for count in antennas {
            end += count;
            begin.push(end);
        }
        Ground { begin, curves: vec![Curve::NONE; end as usize] }
    }

    /// The delay of a packet that departs from one end of a link between ground and satellite at `departure`.
    #[inline(never)]
    pub fn delay(&mut self, topology: &Topology, from: u32, to: u32, departure: Time) -> Duration {
        let (station, satellite) = if topology.is_station(NodeId::new(from)) { (from, to) } else { (to, from) };
        match self.of(station, satellite) {
            Some(curve) => curve.delay(topology, &station, satellite, departure),
            None => topology.delay_segment(NodeId::new(station), NodeId::new(satellite), departure).at(departure),
        }
    }

    /// Where the curve between a station and a satellite is kept; it may hold another one's.
    #[inline]
    fn of(&mut self, station: u32, satellite: u32) -> Option<&mut Curve> {
        let (begin, end) = (self.begin[station as usize], self.begin[station as usize + 1]);
        let curves = &mut self.curves[begin as usize..end as usize];
        if curves.len() > 1 {
            let place = curves.iter().position(|curve| curve.with == satellite).unwrap_or(curves.len() - 1);
            curves[..=place].rotate_right(1);
        }
        curves.first_mut()
    }
}

/// The delay of a link to or from a satellite for a packet that departs at `departure`. `curve` is that of the link.
#[inline(always)]
pub(crate) fn moving_delay(
    topology: &Topology,
    ground: &mut Ground,
    (delay, curve): (LinkDelay, &mut Curve),
    from: &u32,
    to: u32,
    departure: Time,
) -> Duration {
    if let Some(delay) = delay.fixed() {
        return delay;
    }
    match delay.get() {
        Delay::Ground => ground.delay(topology, *from, to, departure),
        _ => curve.delay(topology, from, to, departure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_antenna_keeps_a_curve() {
        let segment = |n: u64| DelaySegment::constant(Duration::from_nanos(n));
        let mut ground = Ground { begin: vec![0, 0, 2, 3], curves: vec![Curve::NONE; 3] };
        assert!(ground.of(0, 7).is_none(), "no station");
        for satellite in [7, 8] {
            *ground.of(1, satellite).unwrap() = Curve { with: satellite, segment: segment(u64::from(satellite)) };
        }
        for satellite in [7, 8, 7, 8] {
            let curve = ground.of(1, satellite).unwrap();
            assert_eq!((curve.with, curve.segment), (satellite, segment(u64::from(satellite))));
        }
        // Nine takes the place of the one that was not used for longest.
        *ground.of(1, 9).unwrap() = Curve { with: 9, segment: segment(9) };
        assert_eq!(ground.of(1, 8).unwrap().with, 8);
        assert_eq!(ground.curves[2].with, Curve::NONE.with, "the other station's");
    }
}
