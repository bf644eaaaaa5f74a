//! The delay curves between stations and their satellites.

use skyhop_base::{Duration, Index, Time};
use skyhop_topology::{DelaySegment, LinkKind, NodeId, Topology};

/// How far it is to the other end of a link.
#[derive(Debug)]
pub(crate) enum Delay {
    Fixed(Duration),
    /// Between two satellites: the peer and the piece of the delay curve to it that were used last.
    Moving(Box<Option<(u32, DelaySegment)>>),
    /// Between the ground and the serving satellite; the curve is kept with the station.
    Ground,
}

/// A satellite, and the piece of the delay curve to it that was used last.
type Curve = Option<(u32, DelaySegment)>;

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
        Ground { begin, curves: vec![None; end as usize] }
    }

    /// Where the curve between a station and a satellite is kept; it may hold another one's.
    #[inline]
    fn of(&mut self, station: u32, satellite: u32) -> Option<&mut Curve> {
        let (begin, end) = (self.begin[station as usize], self.begin[station as usize + 1]);
        let curves = &mut self.curves[begin as usize..end as usize];
        if curves.len() > 1 {
            let is_it = |curve: &Curve| curve.as_ref().is_some_and(|(with, _)| *with == satellite);
            let place = curves.iter().position(is_it).unwrap_or(curves.len() - 1);
            curves[..=place].rotate_right(1);
        }
        curves.first_mut()
    }
}

/// The delay of a link to or from a satellite for a packet that departs at `departure`.
#[inline]
pub(crate) fn moving_delay(
    topology: &Topology,
    ground: &mut Ground,
    delay: &mut Delay,
    from: u32,
    to: u32,
    departure: Time,
) -> Duration {
    let (kept, a, b) = match delay {
        Delay::Fixed(delay) => return *delay,
        Delay::Moving(kept) => (Some(&mut **kept), from, to),
        Delay::Ground if topology.is_station(NodeId::new(from)) => (ground.of(from, to), from, to),
        Delay::Ground => (ground.of(to, from), to, from),
    };
    let fresh = || topology.delay_segment(NodeId::new(a), NodeId::new(b), departure);
    let Some(kept) = kept else { return fresh().at(departure) };
    match kept {
        Some((with, segment)) if *with == b && segment.from <= departure && departure < segment.until => {
            segment.at(departure)
        }
        _ => {
            let segment = fresh();
            *kept = Some((b, segment));
            segment.at(departure)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_antenna_keeps_a_curve() {
        let segment = |n: u64| DelaySegment::constant(Duration::from_nanos(n));
        let mut ground = Ground { begin: vec![0, 0, 2, 3], curves: vec![None; 3] };
        assert!(ground.of(0, 7).is_none(), "no station");
        for satellite in [7, 8] {
            *ground.of(1, satellite).unwrap() = Some((satellite, segment(u64::from(satellite))));
        }
        for satellite in [7, 8, 7, 8] {
            assert_eq!(*ground.of(1, satellite).unwrap(), Some((satellite, segment(u64::from(satellite)))));
        }
        // Nine takes the place of the one that was not used for longest.
        *ground.of(1, 9).unwrap() = Some((9, segment(9)));
        assert_eq!(ground.of(1, 8).unwrap().unwrap().0, 8);
        assert!(ground.curves[2].is_none(), "the other station's");
    }
}
