//! Which inter-satellite links are up.

use crate::choose::first_within;
use crate::link::{End, LinkTable};
use crate::sky::{Sky, next_multiple};
use crate::terminal::random_interval;
use crate::{Change, IslChecks, IslRules, LinkId, NodeId, Why};
use skyhop_base::{Duration, Index, IndexVec, Stream, Time};
use skyhop_orbit::visibility::grazing_altitude_km;
use skyhop_orbit::{Earth, Vec3};
use std::collections::BTreeSet;

/// How far apart the looks are that find the next change.
const STEP: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairKind {
    AlongPlane,
    BetweenPlanes,
}

/// Two satellites that may be linked, with both directions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub kind: PairKind,
    pub a: NodeId,
    pub b: NodeId,
    /// a→b and b→a.
    pub links: [LinkId; 2],
    /// False before a turn begins it and after one has ended it.
    pub is_joined: bool,
}

/// Pairs of drifting planes that follow one another.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// The first check from here on makes it.
    pub at: Time,
    /// Indices into the pairs.
    pub ends: Vec<usize>,
    pub begins: Vec<usize>,
}

/// The first and the last plane of a star, each satellite with its transmitter across the seam.
#[derive(Clone, Debug)]
pub(crate) struct Seam {
    pub first: Vec<(NodeId, LinkId)>,
    pub last: Vec<(NodeId, LinkId)>,
    /// For each of `first` the index in `last` to which it is linked.
    pub partner: Vec<Option<usize>>,
}

/// Satellites that are linked to their nearest neighbours.
#[derive(Clone, Debug)]
pub(crate) struct Mesh {
    pub satellites: Vec<NodeId>,
    /// For each satellite its transmitters.
    pub links: Vec<Vec<LinkId>>,
    /// For each transmitter the index of the satellite it is linked to.
    pub partners: Vec<Vec<Option<u32>>>,
}

/// Two neighbouring planes of a grid, and the pairs of their satellites that are linked at t = 0 if nothing is in the
/// way. A plane is in two of these, or in one at a seam.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourPlanes {
    /// Satellites of the plane with the lower number, or of the last where the shell closes.
    pub here: Vec<NodeId>,
    /// Satellites of the next plane.
    pub there: Vec<NodeId>,
    /// First `here`, then `there`.
    pub pairs: Vec<[NodeId; 2]>,
    /// Further pairs of a satellite that `pairs` leaves alone and one with a terminal free
    /// ([`Unpaired::Nearest`](crate::Unpaired)).
    pub second: Vec<[NodeId; 2]>,
}

/// What there may be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub pairs: Vec<Pair>,
    /// Those of a grid, shell by shell.
    pub neighbours: Vec<NeighbourPlanes>,
    /// Any satellite has a second link at some time of the run.
    pub has_second: bool,
    /// In the order of time.
    pub turns: Vec<Turn>,
    pub seams: Vec<Seam>,
    pub mesh: Option<Mesh>,
}

#[derive(Clone, Debug)]
pub(crate) struct Isls {
    rules: IslRules,
    longest_km: f64,
    checks: IslChecks,
    layout: Layout,
    /// With random checks: for each satellite its next one, and the stream of its times.
    own: Vec<Option<(Time, Stream)>>,
    /// Turns that have been made.
    turned: usize,
    /// The next check.
    pub next: Time,
}

/// What keeps two satellites from being linked at one instant.
struct Obstacles<'a> {
    earth: &'a Earth,
    grazing_km: f64,
    longest_km: f64,
    positions: &'a IndexVec<NodeId, Vec3>,
    /// Sine of the latitude limit.
    sin_limit: Option<f64>,
}

impl Obstacles<'_> {
    fn between(&self, kind: PairKind, a: NodeId, b: NodeId) -> Option<Why> {
        let (a, b) = (self.positions[a], self.positions[b]);
        let beyond = |p: Vec3| self.sin_limit.is_some_and(|sin| p.z.abs() > sin * p.norm());
        if kind == PairKind::BetweenPlanes && (beyond(a) || beyond(b)) {
            return Some(Why::BeyondLatitude);
        }
        self.in_the_way(a, b)
    }

    fn in_the_way(&self, a: Vec3, b: Vec3) -> Option<Why> {
        if (a - b).norm() > self.longest_km {
            return Some(Why::TooFar);
        }
        (grazing_altitude_km(self.earth, a, b) < self.grazing_km).then_some(Why::Grazing)
    }

    /// For each of `here` the nearest of `there`; the first of equal ones.
    fn nearest(&self, here: &[(NodeId, LinkId)], there: &[(NodeId, LinkId)]) -> Vec<Option<usize>> {
        let squared = |a: NodeId, b: NodeId| {
            let line = self.positions[a] - self.positions[b];
            line.dot(line)
        };
        let nearest_of = |&(a, _): &(NodeId, LinkId)| {
            (0..there.len()).min_by(|&i, &j| squared(a, there[i].0).total_cmp(&squared(a, there[j].0)).then(i.cmp(&j)))
        };
        here.iter().map(nearest_of).collect()
    }
}

impl Isls {
    /// `names` of all nodes, to which the streams of random checks belong.
    pub fn new<'a>(
        rules: IslRules,
        longest_km: f64,
        checks: IslChecks,
        layout: Layout,
        names: impl Iterator<Item = Option<&'a str>>,
    ) -> Isls {
        let own = match checks {
            IslChecks::Randomised { seed } => {
                names.map(|name| name.map(|name| (Time::ZERO, Stream::new(seed, name, "isl checks")))).collect()
            }
            IslChecks::Regular | IslChecks::Exact => Vec::new(),
        };
        Isls { rules, longest_km, checks, layout, own, turned: 0, next: Time::ZERO }
    }

    pub fn neighbours(&self) -> &[NeighbourPlanes] {
        &self.layout.neighbours
    }

    pub fn has_second_links(&self) -> bool {
        self.layout.has_second
    }

    fn obstacles<'a>(&self, earth: &'a Earth, positions: &'a IndexVec<NodeId, Vec3>) -> Obstacles<'a> {
        Obstacles {
            earth,
            grazing_km: self.rules.grazing_altitude.km(),
            longest_km: self.longest_km,
            positions,
            sin_limit: self.rules.latitude_limit.map(|limit| libm::sin(limit.radians())),
        }
    }

    /// Checks every link at `now`, or with random checks those of the satellites that are due.
    pub fn check(&mut self, now: Time, sky: &mut Sky, links: &mut LinkTable, changes: &mut Vec<Change>) {
        sky.refresh(now);
        let due = self.due(now);
        let is_due = |node: NodeId| due.as_ref().is_none_or(|due| due[node.index()]);
        let begun = self.turn(now, links, changes);
        let obstacles = self.obstacles(&sky.earth, sky.positions());
        for (n, pair) in self.layout.pairs.iter().enumerate() {
            if !pair.is_joined || !(is_due(pair.a) || begun.contains(&n)) {
                continue;
            }
            let obstacle = obstacles.between(pair.kind, pair.a, pair.b);
            for (link, peer) in pair.links.into_iter().zip([pair.b, pair.a]) {
                match obstacle {
                    Some(why) => links.set(link, End::Down, why, changes),
                    None => links.set(link, End::At(peer), Why::InSight, changes),
                }
            }
        }
        for seam in self.layout.seams.iter_mut().filter(|seam| seam.first.iter().any(|&(node, _)| is_due(node))) {
            seam.check(&obstacles, links, changes);
        }
        if let Some(mesh) = &mut self.layout.mesh {
            mesh.check(&obstacles, links, changes);
        }
        self.next = match self.checks {
            IslChecks::Regular => next_multiple(now, self.rules.every),
            IslChecks::Randomised { .. } => self.own.iter().flatten().map(|own| own.0).min().unwrap_or(Time::MAX),
            IslChecks::Exact => {
                let turn = self.layout.turns.get(self.turned).map_or(Time::MAX, |turn| turn.at);
                self.next_exact(now, sky).min(turn)
            }
        };
    }

    /// Makes the turns that are due: pairs that end go down. Returns those that begin, which are checked at once.
    fn turn(&mut self, now: Time, links: &mut LinkTable, changes: &mut Vec<Change>) -> BTreeSet<usize> {
        let Layout { pairs, turns, .. } = &mut self.layout;
        let mut begun = BTreeSet::new();
        while let Some(turn) = turns.get(self.turned).filter(|turn| turn.at <= now) {
            for &n in &turn.ends {
                pairs[n].is_joined = false;
                begun.remove(&n);
                pairs[n].links.iter().for_each(|&link| links.set(link, End::Down, Why::PhaseNeighbour, changes));
            }
            for &n in &turn.begins {
                pairs[n].is_joined = true;
                begun.insert(n);
            }
            self.turned += 1;
        }
        begun
    }

    /// With random checks whose turn it is, by node; their next ones are drawn.
    fn due(&mut self, now: Time) -> Option<Vec<bool>> {
        if !matches!(self.checks, IslChecks::Randomised { .. }) {
            return None;
        }
        let every = self.rules.every;
        let is_due = |own: &mut Option<(Time, Stream)>| match own {
            Some((next, stream)) if *next <= now => {
                *next = random_interval(stream, now, every);
                true
            }
            _ => false,
        };
        Some(self.own.iter_mut().map(is_due).collect())
    }

    /// The next instant at which any link would change.
    fn next_exact(&self, now: Time, sky: &Sky) -> Time {
        let wanted = |positions: &IndexVec<NodeId, Vec3>| self.wanted(&self.obstacles(&sky.earth, positions));
        let present = wanted(sky.positions());
        first_within(|t| wanted(&sky.positions_at(t)) != present, now, STEP)
    }

    /// Which links there should be: each pair up or not, then the partners of seams and of the mesh.
    fn wanted(&self, obstacles: &Obstacles<'_>) -> Vec<u32> {
        const NOBODY: u32 = u32::MAX;
        let up = |pair: &Pair| u32::from(obstacles.between(pair.kind, pair.a, pair.b).is_none());
        let joined = self.layout.pairs.iter().filter(|pair| pair.is_joined);
        let mut all: Vec<u32> = joined.map(up).collect();
        for seam in &self.layout.seams {
            all.extend(seam.wanted(obstacles).iter().map(|found| found.map_or(NOBODY, |j| j as u32)));
        }
        if let Some(mesh) = &self.layout.mesh {
            all.extend(mesh.wanted(obstacles).into_iter().flat_map(|(a, b)| [a, b]));
        }
        all
    }
}

impl Seam {
    /// For each of the first plane its partner in the last, or why there is none.
    fn wanted(&self, obstacles: &Obstacles<'_>) -> Vec<Result<usize, Why>> {
        let over_there = obstacles.nearest(&self.first, &self.last);
        let over_here = obstacles.nearest(&self.last, &self.first);
        // Only those who are nearest to each other: no transmitter is asked for twice.
        let wanted = |i: usize| over_there[i].filter(|&j| over_here[j] == Some(i));
        let found = |i: usize| {
            let j = wanted(i).ok_or(Why::SeamNeighbour)?;
            let obstacle = obstacles.between(PairKind::BetweenPlanes, self.first[i].0, self.last[j].0);
            obstacle.map_or(Ok(j), Err)
        };
        (0..self.first.len()).map(found).collect()
    }

    fn check(&mut self, obstacles: &Obstacles<'_>, links: &mut LinkTable, changes: &mut Vec<Change>) {
        let found = self.wanted(obstacles);
        // First all that end, then all that begin: a satellite of the last plane may change hands.
        for (i, found) in found.iter().enumerate() {
            if let Some(j) = self.partner[i].filter(|&j| *found != Ok(j)) {
                let why = found.err().unwrap_or(Why::SeamNeighbour);
                links.set(self.first[i].1, End::Down, why, changes);
                links.set(self.last[j].1, End::Down, why, changes);
                self.partner[i] = None;
            }
        }
        for (i, found) in found.into_iter().enumerate() {
            if let (None, Ok(j)) = (self.partner[i], found) {
                links.set(self.first[i].1, End::At(self.last[j].0), Why::InSight, changes);
                links.set(self.last[j].1, End::At(self.first[i].0), Why::InSight, changes);
                self.partner[i] = Some(j);
            }
        }
    }
}

impl Mesh {
    /// The pairs to be linked, as places in `satellites`, the lower one first, sorted.
    fn wanted(&self, obstacles: &Obstacles<'_>) -> Vec<(u32, u32)> {
        let place = |n: u32| obstacles.positions[self.satellites[n as usize]];
        let mut by_x: Vec<(f64, u32)> = (0..self.satellites.len() as u32).map(|n| (place(n).x, n)).collect();
        by_x.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // Walker constellations are full of equal lengths; rounding to the millimetre lets the numbers of the nodes
        // decide between them, not the last digits.
        let mut near: Vec<(u64, u32, u32)> = Vec::new();
        let longest_squared = obstacles.longest_km * obstacles.longest_km;
        for (start, &(x, a)) in by_x.iter().enumerate() {
            let here = place(a);
            for &(_, b) in by_x[start + 1..].iter().take_while(|other| other.0 - x <= obstacles.longest_km) {
                let line = place(b) - here;
                let squared = line.dot(line);
                if squared <= longest_squared {
                    near.push(((squared.sqrt() * 1e6 + 0.5) as u64, a.min(b), a.max(b)));
                }
            }
        }
        near.sort_unstable();
        let mut free: Vec<usize> = self.links.iter().map(Vec::len).collect();
        let mut pairs = Vec::new();
        for (_, a, b) in near {
            let both_free = free[a as usize] > 0 && free[b as usize] > 0;
            if both_free && obstacles.in_the_way(place(a), place(b)).is_none() {
                free[a as usize] -= 1;
                free[b as usize] -= 1;
                pairs.push((a, b));
            }
        }
        pairs.sort_unstable();
        pairs
    }

    fn check(&mut self, obstacles: &Obstacles<'_>, links: &mut LinkTable, changes: &mut Vec<Change>) {
        let wanted = self.wanted(obstacles);
        for a in 0..self.satellites.len() {
            for transmitter in 0..self.links[a].len() {
                let Some(b) = self.partners[a][transmitter] else { continue };
                let pair = (b.min(a as u32), b.max(a as u32));
                if wanted.binary_search(&pair).is_err() {
                    let [here, there] = [a, b as usize].map(|n| obstacles.positions[self.satellites[n]]);
                    let why = obstacles.in_the_way(here, there).unwrap_or(Why::NearerPair);
                    links.set(self.links[a][transmitter], End::Down, why, changes);
                    self.partners[a][transmitter] = None;
                }
            }
        }
        for (a, b) in wanted.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]) {
            let partners = &mut self.partners[a as usize];
            if partners.contains(&Some(b)) {
                continue;
            }
            if let Some(transmitter) = partners.iter().position(Option::is_none) {
                partners[transmitter] = Some(b);
                let end = End::At(self.satellites[b as usize]);
                links.set(self.links[a as usize][transmitter], end, Why::Nearest, changes);
            }
        }
    }
}
