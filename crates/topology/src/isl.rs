//! Which inter-satellite links are up.

use crate::link::{End, LinkTable};
use crate::sky::{Sky, next_multiple};
use crate::{Change, IslRules, LinkId, NodeId, Why};
use skyhop_base::{IndexVec, Time};
use skyhop_orbit::visibility::grazing_altitude_km;
use skyhop_orbit::{Earth, Vec3};

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
}

/// The first and the last plane of a star, each satellite with its transmitter across the seam.
#[derive(Clone, Debug)]
pub(crate) struct Seam {
    pub first: Vec<(NodeId, LinkId)>,
    pub last: Vec<(NodeId, LinkId)>,
    /// For each of `first` the index in `last` to which it is linked.
    pub partner: Vec<Option<usize>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Isls {
    rules: IslRules,
    pairs: Vec<Pair>,
    seams: Vec<Seam>,
    /// The next check.
    pub next: Time,
}

/// What keeps two satellites from being linked at one instant.
struct Obstacles<'a> {
    earth: &'a Earth,
    rules: &'a IslRules,
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
        (grazing_altitude_km(self.earth, a, b) < self.rules.grazing_altitude.km()).then_some(Why::Grazing)
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
    pub fn new(rules: IslRules, pairs: Vec<Pair>, seams: Vec<Seam>) -> Isls {
        Isls { rules, pairs, seams, next: Time::ZERO }
    }

    /// Checks every link at `now`.
    pub fn check(&mut self, now: Time, sky: &mut Sky, links: &mut LinkTable, changes: &mut Vec<Change>) {
        sky.refresh(now);
        let sin_limit = self.rules.latitude_limit.map(|limit| libm::sin(limit.radians()));
        let obstacles = Obstacles { earth: &sky.earth, rules: &self.rules, positions: sky.positions(), sin_limit };
        for pair in &self.pairs {
            let obstacle = obstacles.between(pair.kind, pair.a, pair.b);
            for (link, peer) in pair.links.into_iter().zip([pair.b, pair.a]) {
                match obstacle {
                    Some(why) => links.set(link, End::Down, why, changes),
                    None => links.set(link, End::At(peer), Why::InSight, changes),
                }
            }
        }
        for seam in &mut self.seams {
            seam.check(&obstacles, links, changes);
        }
        self.next = next_multiple(now, self.rules.every);
    }
}

impl Seam {
    fn check(&mut self, obstacles: &Obstacles<'_>, links: &mut LinkTable, changes: &mut Vec<Change>) {
        let over_there = obstacles.nearest(&self.first, &self.last);
        let over_here = obstacles.nearest(&self.last, &self.first);
        // Only those who are nearest to each other: no transmitter is asked for twice.
        let wanted = |i: usize| over_there[i].filter(|&j| over_here[j] == Some(i));
        let found: Vec<Result<usize, Why>> = (0..self.first.len())
            .map(|i| {
                let j = wanted(i).ok_or(Why::SeamNeighbour)?;
                let obstacle = obstacles.between(PairKind::BetweenPlanes, self.first[i].0, self.last[j].0);
                obstacle.map_or(Ok(j), Err)
            })
            .collect();
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
