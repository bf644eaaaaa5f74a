//! The delay curves between stations and their satellites.

use skyhop_base::{Duration, Index, Time};
use skyhop_topology::{LinkKind, NodeId, Parabola, Topology};

/// How far it is to the other end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Delay {
    Fixed(Duration),
    /// Between two satellites: the curve is kept with the path.
    Moving,
    /// Between the ground and the serving satellite: the curve is kept with the station.
    Ground,
}

/// The kind of a [`Path`], in a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Fixed,
    Moving,
    Up,
    Down,
}

/// The path over a link, in 40 bytes: between satellites with the piece of the delay curve that was used last.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Path {
    /// Fixed and moving: the far end; where that changes, the one to which the curve leads. To and from the ground: the
    /// near end.
    pub node: u32,
    kind: Kind,
    /// The piece is as long as 2 to the power of this, in ns.
    length_bits: u8,
    /// Fixed: the delay, ns. Moving: when the piece ends.
    delay_or_end_ns: u64,
    piece: Parabola,
}

const _: () = assert!(size_of::<Path>() == 40);

impl Path {
    fn new(kind: Kind, node: u32, delay_or_end_ns: u64) -> Path {
        Path { node, kind, length_bits: 0, delay_or_end_ns, piece: Parabola::NONE }
    }

    /// Over a wire to a node.
    pub fn fixed(delay: Duration, to: u32) -> Path {
        Path::new(Kind::Fixed, to, delay.as_nanos())
    }

    /// Between satellites. `to` is `u32::MAX` where it changes.
    pub fn moving(to: u32) -> Path {
        // A piece that ends at once holds at no time.
        Path::new(Kind::Moving, to, 0)
    }

    /// From a station.
    pub fn up(from: u32) -> Path {
        Path::new(Kind::Up, from, 0)
    }

    /// From a satellite to the ground.
    pub fn down(from: u32) -> Path {
        Path::new(Kind::Down, from, 0)
    }

    pub fn get(&self) -> Delay {
        match self.kind {
            Kind::Fixed => Delay::Fixed(Duration::from_nanos(self.delay_or_end_ns)),
            Kind::Moving => Delay::Moving,
            Kind::Up | Kind::Down => Delay::Ground,
        }
    }

    /// The delay of a packet that departs at `departure` to the node `to`. `from` is the near end: it is read only
    /// where the curve is renewed, because it stands on a cache line that nothing else of a packet touches.
    #[inline(always)]
    pub fn delay(
        &mut self,
        topology: &Topology,
        ground: &mut Ground,
        from: &u32,
        to: u32,
        departure: Time,
    ) -> Duration {
        // One by one: as a jump by a table they cost five instructions more.
        if self.kind == Kind::Fixed {
            return Duration::from_nanos(self.delay_or_end_ns);
        }
        if self.kind == Kind::Moving {
            return self.between(topology, from, to, departure);
        }
        let (station, satellite) = if self.kind == Kind::Up { (self.node, to) } else { (to, self.node) };
        ground.delay(topology, station, satellite, departure)
    }

    #[inline(always)]
    fn between(&mut self, topology: &Topology, from: &u32, to: u32, departure: Time) -> Duration {
        let since = self.since(departure);
        // A departure before the piece: packets were taken back from the queue.
        if self.node != to || departure.as_nanos() >= self.delay_or_end_ns || since < 0 {
            return self.renew(topology, *from, to, departure);
        }
        self.piece.at(since)
    }

    /// Time since the start of the piece, ns.
    #[inline(always)]
    fn since(&self, departure: Time) -> i64 {
        let begin = self.delay_or_end_ns.wrapping_sub(1 << self.length_bits);
        departure.as_nanos().wrapping_sub(begin) as i64
    }

    #[cold]
    #[inline(never)]
    fn renew(&mut self, topology: &Topology, from: u32, to: u32, departure: Time) -> Duration {
        let segment = topology.delay_segment(NodeId::new(from), NodeId::new(to), departure);
        let (begin, end) = (segment.from.as_nanos(), segment.until.as_nanos());
        // A piece of a curve is as long as a power of two. That between bodies that stand still has no end.
        let length_bits = (end - begin).ilog2();
        (self.node, self.piece, self.length_bits) = (to, segment.curve, length_bits as u8);
        self.delay_or_end_ns = begin + (1 << length_bits);
        self.piece.at(self.since(departure))
    }
}

/// The path from a station to a satellite, on one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Curve(Path);

/// The delays over a link, for functions of the link itself, which cannot lend its path to them.
pub(crate) struct Delays<'a> {
    pub path: Path,
    pub topology: &'a Topology,
    pub ground: &'a mut Ground,
    pub from: u32,
}

impl Delays<'_> {
    /// The delay of a packet that departs at `departure` to the node `to`.
    #[inline(always)]
    pub fn to(&mut self, to: u32, departure: Time) -> Duration {
        self.path.delay(self.topology, self.ground, &self.from, to, departure)
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
        Ground { begin, curves: vec![Curve(Path::moving(u32::MAX)); end as usize] }
    }

    /// The delay of a packet that departs from a station to a satellite, or from it to the station, at `departure`.
    #[inline(never)]
    fn delay(&mut self, topology: &Topology, station: u32, satellite: u32, departure: Time) -> Duration {
        match self.of(station, satellite) {
            Some(path) => path.between(topology, &station, satellite, departure),
            None => topology.delay_segment(NodeId::new(station), NodeId::new(satellite), departure).at(departure),
        }
    }

    /// The path between a station and a satellite; its curve may still be another satellite's.
    #[inline]
    fn of(&mut self, station: u32, satellite: u32) -> Option<&mut Path> {
        let (begin, end) = (self.begin[station as usize], self.begin[station as usize + 1]);
        let curves = &mut self.curves[begin as usize..end as usize];
        if curves.len() > 1 {
            let place = curves.iter().position(|curve| curve.0.node == satellite).unwrap_or(curves.len() - 1);
            curves[..=place].rotate_right(1);
        }
        curves.first_mut().map(|curve| &mut curve.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_topology::DelaySegment;

    #[test]
    fn each_antenna_keeps_a_curve() {
        let piece = |n: u32| DelaySegment::constant(Duration::from_nanos(n.into())).curve;
        let to = |satellite| Path { piece: piece(satellite), ..Path::moving(satellite) };
        let nobody = Path::moving(u32::MAX);
        let mut ground = Ground { begin: vec![0, 0, 2, 3], curves: vec![Curve(nobody); 3] };
        assert!(ground.of(0, 7).is_none(), "no station");
        for satellite in [7, 8] {
            *ground.of(1, satellite).unwrap() = to(satellite);
        }
        for satellite in [7, 8, 7, 8] {
            let path = ground.of(1, satellite).unwrap();
            assert_eq!((path.node, path.piece), (satellite, piece(satellite)));
        }
        // Nine takes the place of the one that was not used for longest.
        *ground.of(1, 9).unwrap() = to(9);
        assert_eq!(ground.of(1, 8).unwrap().node, 8);
        assert_eq!(ground.curves[2].0.node, nobody.node, "the other station's");
    }
}
