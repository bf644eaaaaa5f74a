//! From a description to nodes and links: checks it and lays out the links in an order that depends on it alone.

use crate::isl::{Layout, Mesh, NeighbourPlanes, Pair, PairKind, Seam};
use crate::{
    BeamOptions, CrossSeam, IslLayout, IslRules, LinkId, LinkKind, NetworkLink, NodeId, NodeKind, NodeSpec, Pairing,
    PlaneNeighbours, SkyOptions, TopologyError, TopologySpec, Unpaired,
};
use skyhop_base::{Angle, Duration, Index, IndexVec};
use skyhop_orbit::{Earth, Orbit};
use std::collections::BTreeSet;

/// More than any network that fits into memory with its packets.
const MOST_NODES: usize = 1 << 20;
/// Sums over all nodes then fit into 64 bits of nanoseconds.
const LONGEST_WIRE: Duration = Duration::from_secs(3600);
/// A gap between last and first plane up to so many spacings is one of a delta: it is 1 in a Walker delta, P + 1 in a
/// star.
const DELTA_GAP: f64 = 1.5;

const MOST_NEIGHBOURS: u32 = 16;
const MOST_ANTENNAS: u32 = 64;

/// The satellites of one plane in the order of their slots.
#[derive(Clone, Debug)]
pub(crate) struct Plane {
    pub shell: u32,
    pub plane: u32,
    pub members: Vec<NodeId>,
}

/// Who is linked to whom in shells of satellites from elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfElements {
    pub neighbours: PlaneNeighbours,
    pub pairing: Option<Pairing>,
    pub unpaired: Unpaired,
    /// Infinite without a limit.
    pub longest_km: f64,
}

pub(crate) fn check(spec: &TopologySpec) -> Result<(), TopologyError> {
    if spec.nodes.len() > MOST_NODES {
        return Err(TopologyError::TooManyNodes { nodes: spec.nodes.len(), most: MOST_NODES });
    }
    if let Some(name) = duplicate(spec.nodes.iter().map(|node| node.name.as_str())) {
        return Err(TopologyError::DuplicateNode { name });
    }
    let is_satellite = |node: &NodeSpec| matches!(node.kind, NodeKind::Satellite { .. });
    let sky = spec.gsl.is_some() && spec.nodes.iter().any(is_satellite);
    for NodeSpec { name, kind } in &spec.nodes {
        match kind {
            NodeKind::Satellite { orbit, .. } => {
                orbit.check().map_err(|source| TopologyError::Orbit { name: name.clone(), source })?;
            }
            NodeKind::Station(_) if !sky => return Err(TopologyError::NoConstellation { name: name.clone() }),
            NodeKind::Station(_) | NodeKind::Wired => {}
        }
    }
    for wire in &spec.wired {
        for node in [wire.from, wire.to] {
            let nodes = spec.nodes.len();
            let found = spec.nodes.get(node.index()).ok_or(TopologyError::UnknownNode { node, nodes })?;
            if is_satellite(found) {
                return Err(TopologyError::WiredSatellite { name: found.name.clone() });
            }
        }
        if wire.from == wire.to {
            return Err(TopologyError::SelfLink { name: spec.nodes[wire.from.index()].name.clone() });
        }
        if wire.delay > LONGEST_WIRE {
            return Err(TopologyError::WiredDelay { delay: wire.delay, longest: LONGEST_WIRE });
        }
    }
    check_rules(spec)
}

fn check_mask(mask: Angle) -> Result<(), TopologyError> {
    let degrees = mask.degrees();
    if (-90.0..90.0).contains(&degrees) { Ok(()) } else { Err(TopologyError::ElevationMask { degrees }) }
}

fn check_rules(spec: &TopologySpec) -> Result<(), TopologyError> {
    let intervals = [
        ("ISL checks", spec.isl.map(|isl| isl.every)),
        ("handover checks", spec.gsl.map(|gsl| gsl.every)),
        ("route renewal", spec.routing.every),
    ];
    for (what, every) in intervals {
        if every.is_some_and(Duration::is_zero) {
            return Err(TopologyError::Interval { what });
        }
    }
    spec.gsl.map_or(Ok(()), |gsl| check_mask(gsl.elevation_mask))?;
    if let Some(degrees) = spec.isl.and_then(|isl| isl.latitude_limit).map(Angle::degrees)
        && !(0.0..=90.0).contains(&degrees)
    {
        return Err(TopologyError::LatitudeLimit { degrees });
    }
    match spec.isl.map(|isl| isl.grazing_altitude.km()) {
        Some(km) if !km.is_finite() => Err(TopologyError::GrazingAltitude { km }),
        _ => Ok(()),
    }
}

pub(crate) fn check_options(options: &SkyOptions, spec: &TopologySpec) -> Result<(), TopologyError> {
    let nodes = &spec.nodes;
    match options.isl.longest.map(|longest| longest.km()) {
        Some(km) if km.is_nan() || km <= 0.0 => return Err(TopologyError::LongestIsl { km }),
        None if matches!(options.isl.layout, IslLayout::Nearest { .. }) => return Err(TopologyError::NoLongestIsl),
        _ => {}
    }
    if options.isl.pairing.is_some_and(|pairing| pairing.every.is_zero()) {
        return Err(TopologyError::Interval { what: "pairing" });
    }
    if let Unpaired::Nearest { terminals } = options.isl.unpaired
        && !(Unpaired::LEAST_TERMINALS..=Unpaired::MOST_TERMINALS).contains(&terminals)
    {
        return Err(TopologyError::Terminals { terminals });
    }
    if let Some(km) = options.gsl.longest.map(|longest| longest.km())
        && (km.is_nan() || km <= 0.0)
    {
        return Err(TopologyError::LongestGsl { km });
    }
    if options.gsl.users_per_satellite == Some(0) {
        return Err(TopologyError::UsersPerSatellite);
    }
    let mut seen = BTreeSet::new();
    for (index, station) in options.stations.iter().enumerate() {
        let node = nodes.get(station.station.index()).filter(|node| matches!(node.kind, NodeKind::Station(_)));
        let node = node.filter(|_| seen.insert(station.station)).ok_or(TopologyError::StationOptions { index })?;
        if !(1..=MOST_ANTENNAS).contains(&station.antennas) {
            return Err(TopologyError::Antennas { name: node.name.clone(), antennas: station.antennas });
        }
        station.elevation_mask.map_or(Ok(()), check_mask)?;
    }
    if let Some(beams) = &options.beams {
        let total = beams.rings.iter().try_fold(0_u32, |sum, ring| sum.checked_add(*ring));
        let sound = total.is_some_and(|total| (1..=BeamOptions::MOST).contains(&total)) && !beams.rings.contains(&0);
        if !sound || beams.every.is_zero() {
            return Err(TopologyError::Beams { most: BeamOptions::MOST });
        }
    }
    let mut seen = BTreeSet::new();
    for (index, terrestrial) in options.terrestrial.iter().enumerate() {
        let station = terrestrial.station;
        let is_station = nodes.get(station.index()).is_some_and(|node| matches!(node.kind, NodeKind::Station(_)));
        let wire = |from, to| spec.wired.iter().any(|wire| wire.from == from && wire.to == to);
        let joined = wire(station, terrestrial.to) && wire(terrestrial.to, station);
        let single = options.station(station).is_none_or(|options| options.antennas == 1);
        if !is_station || !joined || !single || !seen.insert(station) {
            return Err(TopologyError::Terrestrial { index });
        }
    }
    Ok(())
}

fn satellites(nodes: &[NodeSpec]) -> impl Iterator<Item = NodeId> {
    let is_satellite = |(_, node): &(usize, &NodeSpec)| matches!(node.kind, NodeKind::Satellite { .. });
    nodes.iter().enumerate().filter(is_satellite).map(|(index, _)| NodeId::from_usize(index))
}

/// The first name, in alphabetical order, that appears twice.
pub(crate) fn duplicate<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_owned())
}

/// All planes, by shell and number. Those of satellites from elements are known with the layout `Planes` only.
///
/// # Errors
/// Two satellites in one slot.
pub(crate) fn planes(nodes: &[NodeSpec], of_elements: bool) -> Result<Vec<Plane>, TopologyError> {
    let mut places: Vec<(u32, u32, u32, NodeId)> = nodes
        .iter()
        .enumerate()
        .filter_map(|(index, node)| match node.kind {
            NodeKind::Satellite { orbit: Orbit::Elements { .. }, .. } if !of_elements => None,
            NodeKind::Satellite { plane, slot, shell, .. } => Some((shell, plane, slot, NodeId::from_usize(index))),
            _ => None,
        })
        .collect();
    places.sort_unstable();
    let same_slot = |pair: &&[(u32, u32, u32, NodeId)]| {
        let [a, b] = [pair[0], pair[1]];
        (a.0, a.1, a.2) == (b.0, b.1, b.2)
    };
    if let Some(pair) = places.windows(2).find(same_slot) {
        let name = |node: NodeId| nodes[node.index()].name.clone();
        return Err(TopologyError::SharedSlot { first: name(pair[0].3), second: name(pair[1].3) });
    }
    let same_plane = |a: &(u32, u32, u32, NodeId), b: &(u32, u32, u32, NodeId)| (a.0, a.1) == (b.0, b.1);
    Ok(places
        .chunk_by(same_plane)
        .map(|plane| Plane {
            shell: plane[0].0,
            plane: plane[0].1,
            members: plane.iter().map(|&(.., node)| node).collect(),
        })
        .collect())
}

/// Adds links under their names.
pub(crate) struct Links<'a> {
    pub nodes: &'a [NodeSpec],
    pub list: IndexVec<LinkId, NetworkLink>,
}

impl Links<'_> {
    fn name(&self, node: NodeId) -> &str {
        &self.nodes[node.index()].name
    }

    pub fn fixed(&mut self, kind: LinkKind, from: NodeId, to: NodeId) -> LinkId {
        let name = format!("{}->{}", self.name(from), self.name(to));
        self.list.push(NetworkLink { name, kind, from, to: Some(to) })
    }

    /// A link whose far end changes, called by where it leads.
    pub fn roaming(&mut self, kind: LinkKind, from: NodeId, towards: &str) -> LinkId {
        let name = format!("{}->{towards}", self.name(from));
        self.list.push(NetworkLink { name, kind, from, to: None })
    }

    pub fn pair(&mut self, kind: PairKind, a: NodeId, b: NodeId) -> Pair {
        let forward = self.fixed(LinkKind::Isl, a, b);
        let backward = self.fixed(LinkKind::Isl, b, a);
        Pair { kind, a, b, links: [forward, backward], is_joined: true }
    }

    /// The planes of satellites from elements are not known.
    pub fn refuse_elements(&self) -> Result<(), TopologyError> {
        let elements =
            |node: &&NodeSpec| matches!(node.kind, NodeKind::Satellite { orbit: Orbit::Elements { .. }, .. });
        match self.nodes.iter().find(elements) {
            Some(found) => Err(TopologyError::GridWithoutPlanes { name: found.name.clone() }),
            None => Ok(()),
        }
    }

    fn is_of_elements(&self, plane: &Plane) -> bool {
        let is_one = |node: &NodeId| {
            matches!(self.nodes[node.index()].kind, NodeKind::Satellite { orbit: Orbit::Elements { .. }, .. })
        };
        plane.members.iter().any(is_one)
    }

    /// The +Grid of all shells: plane by plane the links along it, then those to the next plane. `of_elements` says who
    /// is linked in shells of satellites from elements. Pairs that a later time joins follow all others.
    pub fn grid(
        &mut self,
        rules: IslRules,
        earth: &Earth,
        of_elements: Option<OfElements>,
        planes: &[Plane],
    ) -> Result<Layout, TopologyError> {
        let (mut pairs, mut seams, mut drifting) = (Vec::new(), Vec::new(), Vec::new());
        let mut neighbours = Vec::new();
        for shell in planes.chunk_by(|a, b| a.shell == b.shell) {
            let of_elements = of_elements.filter(|_| shell.iter().any(|plane| self.is_of_elements(plane)));
            if let Some(of_elements) = of_elements {
                let found = self.grid_of_elements(rules, earth, of_elements, shell, &mut pairs, &mut seams)?;
                neighbours.extend(found.gaps.iter().map(|gap| gap.planes.clone()));
                drifting.push(found);
                continue;
            }
            let count = shell.len();
            for (n, plane) in shell.iter().enumerate() {
                self.along_plane(plane, &mut pairs);
                let Some(next) = shell.get(n + 1) else { continue };
                let (first_len, second_len) = (plane.members.len(), next.members.len());
                if first_len != second_len {
                    let (first, second) = (plane.plane, next.plane);
                    return Err(TopologyError::UnevenPlanes {
                        shell: plane.shell,
                        first,
                        first_len,
                        second,
                        second_len,
                    });
                }
                let joined = plane.members.iter().zip(&next.members).map(|(&a, &b)| [a, b]);
                neighbours.push(self.join(plane, next, joined.collect(), &mut pairs));
            }
            // Two planes are neighbours already.
            let [first, second, .., last] = shell else { continue };
            debug_assert!(count >= 3);
            match self.closing(first, second, last) {
                Some(Closing::Delta { shift }) => {
                    let shifted = first.members.iter().cycle().skip(shift);
                    let joined = last.members.iter().zip(shifted).map(|(&a, &b)| [a, b]);
                    neighbours.push(self.join(last, first, joined.collect(), &mut pairs));
                }
                Some(Closing::Seam) if rules.cross_seam == CrossSeam::Nearest => {
                    seams.push(self.seam(&first.members, &last.members));
                }
                Some(Closing::Seam) | None => {}
            }
        }
        let pairing = of_elements.and_then(|of_elements| of_elements.pairing);
        let mut has_second = neighbours.iter().any(|planes| !planes.second.is_empty());
        let turns = pairing.map(|pairing| self.pair_anew(pairing, &drifting, &mut pairs, &mut has_second));
        Ok(Layout { pairs, neighbours, has_second, turns: turns.unwrap_or_default(), seams, mesh: None })
    }

    /// Links satellites of two planes, each pair first of `here`.
    pub fn join(
        &mut self,
        here: &Plane,
        there: &Plane,
        joined: Vec<[NodeId; 2]>,
        pairs: &mut Vec<Pair>,
    ) -> NeighbourPlanes {
        pairs.extend(joined.iter().map(|&[a, b]| self.pair(PairKind::BetweenPlanes, a, b)));
        NeighbourPlanes { here: here.members.clone(), there: there.members.clone(), pairs: joined, second: Vec::new() }
    }

    /// Every satellite with so many transmitters.
    ///
    /// # Errors
    /// Too many or none.
    pub fn mesh(&mut self, transmitters: u32) -> Result<Layout, TopologyError> {
        if !(1..=MOST_NEIGHBOURS).contains(&transmitters) {
            return Err(TopologyError::NearestLinks { links: transmitters });
        }
        let satellites: Vec<NodeId> = satellites(self.nodes).collect();
        let mut link = |node, n| self.roaming(LinkKind::Isl, node, &format!("neighbour-{n}"));
        let links: Vec<Vec<LinkId>> =
            satellites.iter().map(|&node| (0..transmitters).map(|n| link(node, n)).collect()).collect();
        let partners = vec![vec![None; transmitters as usize]; satellites.len()];
        Ok(Layout { mesh: Some(Mesh { satellites, links, partners }), ..Layout::default() })
    }

    /// The pairs of a list.
    ///
    /// # Errors
    /// A pair of a satellite with itself or with another kind of node, or a pair listed twice.
    pub fn list(&mut self, list: &[[NodeId; 2]]) -> Result<Layout, TopologyError> {
        let plane = |node: NodeId| match self.nodes.get(node.index())?.kind {
            NodeKind::Satellite { orbit: Orbit::Elements { .. }, .. } => Some(None),
            NodeKind::Satellite { plane, shell, .. } => Some(Some((shell, plane))),
            _ => None,
        };
        let mut kinds = Vec::new();
        for (index, &[a, b]) in list.iter().enumerate() {
            let (first, second) = plane(a).zip(plane(b)).ok_or(TopologyError::ListedLink { index })?;
            if a == b {
                return Err(TopologyError::ListedLink { index });
            }
            let same = first.is_some() && first == second;
            kinds.push(if same { PairKind::AlongPlane } else { PairKind::BetweenPlanes });
        }
        let mut sorted: Vec<[NodeId; 2]> = list.iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|two| two[0] == two[1]) {
            let [first, second] = twice[0].map(|node| self.name(node).to_owned());
            return Err(TopologyError::ListedTwice { first, second });
        }
        let pairs = kinds.into_iter().zip(list).map(|(kind, &[a, b])| self.pair(kind, a, b)).collect();
        Ok(Layout { pairs, ..Layout::default() })
    }

    pub fn along_plane(&mut self, plane: &Plane, pairs: &mut Vec<Pair>) {
        let members = &plane.members;
        for (slot, &a) in members.iter().enumerate() {
            match members.get(slot + 1) {
                Some(&b) => pairs.push(self.pair(PairKind::AlongPlane, a, b)),
                // The last closes the ring; two satellites do not make a ring.
                None if members.len() > 2 => pairs.push(self.pair(PairKind::AlongPlane, a, members[0])),
                None => {}
            }
        }
    }

    pub fn seam(&mut self, first: &[NodeId], last: &[NodeId]) -> Seam {
        let mut link = |&node: &NodeId| (node, self.roaming(LinkKind::Isl, node, "seam"));
        let first: Vec<_> = first.iter().map(&mut link).collect();
        let last: Vec<_> = last.iter().map(&mut link).collect();
        Seam { partner: vec![None; first.len()], first, last }
    }

    /// How the last plane of a shell meets its first, from ascending nodes and phases of the first satellites.
    fn closing(&self, first: &Plane, second: &Plane, last: &Plane) -> Option<Closing> {
        let circle = |node: NodeId| match self.nodes[node.index()].kind {
            NodeKind::Satellite { orbit: Orbit::Circular(orbit), .. } => Some(orbit),
            _ => None,
        };
        let turn = |from: Angle, to: Angle| (to.degrees() - from.degrees()).rem_euclid(360.0);
        let [a, b, z] = [first, second, last].map(|plane| circle(plane.members[0]));
        let (a, b, z) = (a?, b?, z?);
        if turn(z.raan, a.raan) > DELTA_GAP * turn(a.raan, b.raan) {
            return Some(Closing::Seam);
        }
        // The slot of the first plane that is ahead of the last plane as the second plane is of the first.
        let ahead = turn(a.argument_of_latitude, b.argument_of_latitude);
        let off = |&node: &NodeId| {
            let found = turn(z.argument_of_latitude, circle(node)?.argument_of_latitude);
            Some((found - ahead).rem_euclid(360.0).min((ahead - found).rem_euclid(360.0)))
        };
        let offs: Vec<f64> = first.members.iter().map(off).collect::<Option<_>>()?;
        let shift = (0..offs.len()).min_by(|&i, &j| offs[i].total_cmp(&offs[j]).then(i.cmp(&j)))?;
        Some(Closing::Delta { shift })
    }
}

enum Closing {
    /// Slot k of the last plane meets slot k + `shift` of the first.
    Delta {
        shift: usize,
    },
    Seam,
}
