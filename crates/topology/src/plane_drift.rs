//! Links between planes that drift against each other: which planes are paired again, and when.
//!
//! Planes at different altitudes move at different speeds, so the two satellites of a pair drift apart. At regular
//! times (`Pairing::every`) the pairs are compared with those that [`by_phase`] would find now. The engine's links are
//! a fixed list, so all pairs of a run are found at its start, and each is joined only while it is in use.

use crate::build::Links;
use crate::isl::{NeighbourPlanes, Pair, PairKind, Turn};
use crate::plane_grid::by_phase;
use crate::second_links::{Now, Second, SecondLinks};
use crate::sky::next_multiple;
use crate::{NodeId, NodeKind, Pairing};
use skyhop_base::{Index, Time};
use skyhop_orbit::{PhaseInFlight, turn_between};
use std::collections::{BTreeMap, BTreeSet};

/// Two planes are paired again where that brings a satellite of the smaller plane nearer to its partner by more than
/// this share of the spacing of the larger plane, and lowers the sum of all squared differences by more than this share
/// of the squared spacing. Evenly spaced planes then change when partners are 5/8 of the spacing apart; the new ones
/// are 3/8 apart, a quarter of the spacing from changing back. Ragged planes change from half a spacing on.
pub(crate) const LEAD: f64 = 0.25;
/// Pairs are compared again only once a satellite has moved against the others by this share of the spacing, which
/// saves most comparisons. It is a quarter of [`LEAD`], so that a change comes late by little.
const MOVED: f64 = 1.0 / 16.0;

/// Two neighbouring planes of a shell.
#[derive(Clone, Debug)]
pub(crate) struct Neighbours {
    pub planes: NeighbourPlanes,
    /// Pairs are those nearest in phase and may change; pairs of equal slots stay.
    pub is_by_phase: bool,
    /// `here` is the `there` of the neighbours before these in the list, so that their offsets add up.
    pub goes_on: bool,
}

impl Neighbours {
    pub fn at_start(&self) -> Now<'_> {
        Now { planes: &self.planes, pairs: &self.planes.pairs, follows: self.is_by_phase }
    }
}

/// The neighbouring planes of one shell.
#[derive(Clone, Debug)]
pub(crate) struct Drifting {
    pub gaps: Vec<Neighbours>,
    /// `None`: satellites without a partner stay alone.
    pub second: Option<SecondLinks>,
}

/// Phases of satellites at one instant in degrees, by node; `None` where the orbit has ended, and for other nodes.
pub(crate) type Phases = Vec<Option<f64>>;

/// Two neighbouring planes and their links over time.
struct Gap<'n> {
    of: &'n Neighbours,
    pairs: Vec<[NodeId; 2]>,
    second: Second,
    /// Result of `since_first` at the last comparison.
    seen: Vec<Option<f64>>,
}

impl Gap<'_> {
    fn now(&self) -> Now<'_> {
        Now { planes: &self.of.planes, pairs: &self.pairs, follows: self.of.is_by_phase }
    }

    fn members(&self) -> impl Iterator<Item = NodeId> {
        self.of.planes.here.iter().chain(&self.of.planes.there).copied()
    }

    fn spacing(&self) -> f64 {
        360.0 / self.of.planes.here.len().max(self.of.planes.there.len()).max(1) as f64
    }

    /// Phases relative to that of the first satellite whose orbit has not ended.
    fn since_first(&self, phases: &Phases) -> Vec<Option<f64>> {
        let first = self.members().find_map(|node| phases[node.index()]);
        self.members().map(|node| Some(turn_between(first?, phases[node.index()]?))).collect()
    }

    /// Whether any satellite has moved against the first since the last comparison, or any orbit has ended.
    fn has_moved(&self, now: &[Option<f64>]) -> bool {
        let limit = MOVED * self.spacing();
        let moved = |(old, new): (&Option<f64>, &Option<f64>)| match (old, new) {
            (Some(old), Some(new)) => turn_between(*old, *new).abs() > limit,
            (None, None) => false,
            _ => true,
        };
        self.seen.iter().zip(now).any(moved)
    }

    /// How far the second plane is ahead of the first, in the mean of the pairs.
    fn ahead(&self, phases: &Phases) -> f64 {
        let ahead = |&[a, b]: &[NodeId; 2]| Some(turn_between(phases[a.index()]?, phases[b.index()]?));
        let all: Vec<f64> = self.pairs.iter().filter_map(ahead).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }

    /// The pairs that [`by_phase`] finds now; `offset` is its parameter.
    fn found_now(&self, phases: &Phases, offset: f64) -> Vec<[NodeId; 2]> {
        let [(here, h), (there, t)] =
            [&self.of.planes.here, &self.of.planes.there].map(|plane| in_flight(plane, phases));
        by_phase(&h, &t, offset).pairs.into_iter().map(|(i, j)| [here[i], there[j]]).collect()
    }

    /// For each satellite of the smaller plane the difference of phase to its partner. As in [`by_phase`], one without
    /// a partner counts like one whose partner is a spacing of the smaller plane away.
    fn differences(&self, pairs: &[[NodeId; 2]], phases: &Phases) -> Vec<f64> {
        let turned = self.of.planes.here.len() > self.of.planes.there.len();
        let few = if turned { &self.of.planes.there } else { &self.of.planes.here };
        let partner: BTreeMap<NodeId, NodeId> =
            pairs.iter().map(|&[a, b]| if turned { (b, a) } else { (a, b) }).collect();
        let alone = 360.0 / few.len().max(1) as f64;
        let apart = |node: &NodeId| {
            let other = partner.get(node)?;
            Some(turn_between(phases[node.index()]?, phases[other.index()]?).abs())
        };
        few.iter().map(|node| apart(node).unwrap_or(alone)).collect()
    }

    /// Other pairs if they are better by [`LEAD`], so that pairs do not change back and forth.
    fn better(&mut self, phases: &Phases, offset: f64) -> Option<Vec<[NodeId; 2]>> {
        let seen = self.since_first(phases);
        if !self.has_moved(&seen) {
            return None;
        }
        self.seen = seen;
        let found = self.found_now(phases, offset);
        let [old, new] = [&self.pairs, &found].map(|pairs| self.differences(pairs, phases));
        let spacing = self.spacing();
        let lead = old.iter().zip(&new).map(|(old, new)| old - new).fold(0.0, f64::max);
        let squares = |all: &[f64]| all.iter().map(|off| off * off).sum::<f64>();
        let is_better = lead > LEAD * spacing && squares(&old) - squares(&new) > LEAD * spacing * spacing;
        is_better.then_some(found)
    }
}

/// Satellites of a plane whose orbit has not ended, and their phases, sorted by phase: satellites of unequal altitudes
/// overtake one another.
fn in_flight(plane: &[NodeId], phases: &Phases) -> (Vec<NodeId>, Vec<f64>) {
    let mut all: Vec<(f64, NodeId)> = plane.iter().filter_map(|&node| Some((phases[node.index()]?, node))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all.into_iter().map(|(phase, node)| (node, phase)).unzip()
}

impl Links<'_> {
    /// The pairs that replace others during the run, and when they do. Pairs that are not there at the start are added
    /// to `pairs`; `has_second` is set where one of them is a second link.
    pub(crate) fn pair_anew(
        &mut self,
        pairing: Pairing,
        shells: &[Drifting],
        pairs: &mut Vec<Pair>,
        has_second: &mut bool,
    ) -> Vec<Turn> {
        let mut at = next_multiple(Time::ZERO, pairing.every);
        if at > pairing.until {
            return Vec::new();
        }
        let gaps = shells.iter().flat_map(|shell| &shell.gaps).map(|gap| &gap.planes);
        let satellites: BTreeSet<NodeId> = gaps.flat_map(|gap| gap.here.iter().chain(&gap.there)).copied().collect();
        let flight = |node: &NodeId| match self.nodes[node.index()].kind {
            NodeKind::Satellite { orbit, .. } => Some((*node, PhaseInFlight::of(&orbit)?)),
            _ => None,
        };
        let flights: Vec<(NodeId, PhaseInFlight)> = satellites.iter().filter_map(flight).collect();
        let mut phases: Phases = vec![None; self.nodes.len()];
        let look = |t: Time, phases: &mut Phases| {
            flights.iter().for_each(|(node, flight)| phases[node.index()] = flight.at(t));
        };
        look(Time::ZERO, &mut phases);
        let mut drifting: Vec<Shell<'_>> = shells.iter().map(|shell| Shell::at_start(shell, &phases)).collect();
        let mut index: BTreeMap<[NodeId; 2], usize> =
            pairs.iter().enumerate().map(|(n, pair)| ([pair.a, pair.b], n)).collect();
        let mut turns = Vec::new();
        while at <= pairing.until {
            look(at, &mut phases);
            let (mut ends, mut begins) = (Vec::new(), Vec::new());
            for shell in &mut drifting {
                for [old, new] in shell.look(&phases) {
                    ends.extend(old.difference(&new).map(|pair| index[pair]));
                    for &[a, b] in new.difference(&old) {
                        begins.push(*index.entry([a, b]).or_insert_with(|| {
                            pairs.push(Pair { is_joined: false, ..self.pair(PairKind::BetweenPlanes, a, b) });
                            pairs.len() - 1
                        }));
                    }
                }
                *has_second |= shell.gaps.iter().any(|gap| !gap.second.is_empty());
            }
            if !(ends.is_empty() && begins.is_empty()) {
                turns.push(Turn { at, ends, begins });
            }
            at = next_multiple(at, pairing.every);
        }
        turns
    }
}

/// One shell and its links over time.
struct Shell<'n> {
    gaps: Vec<Gap<'n>>,
    second: Option<&'n SecondLinks>,
}

impl Shell<'_> {
    fn at_start<'n>(shell: &'n Drifting, phases: &Phases) -> Shell<'n> {
        let gap = |of: &'n Neighbours| {
            let NeighbourPlanes { pairs, second, .. } = &of.planes;
            let mut gap = Gap { of, pairs: pairs.clone(), second: second.clone(), seen: Vec::new() };
            gap.seen = gap.since_first(phases);
            gap
        };
        Shell { gaps: shell.gaps.iter().map(gap).collect(), second: shell.second.as_ref() }
    }

    /// Finds the links of this instant. Returns old and new links of each two planes between which any link changes.
    fn look(&mut self, phases: &Phases) -> Vec<[BTreeSet<[NodeId; 2]>; 2]> {
        let old: Vec<[Vec<[NodeId; 2]>; 2]> =
            self.gaps.iter().map(|gap| [gap.pairs.clone(), gap.second.clone()]).collect();
        let mut offset = 0.0;
        for gap in &mut self.gaps {
            if !gap.of.goes_on {
                offset = 0.0;
            }
            if let Some(found) = gap.of.is_by_phase.then(|| gap.better(phases, offset)).flatten() {
                gap.pairs = found;
            }
            offset += gap.ahead(phases);
        }
        if let Some(second) = self.second {
            let now: Vec<Now<'_>> = self.gaps.iter().map(Gap::now).collect();
            let kept: Vec<Second> = self.gaps.iter().map(|gap| gap.second.clone()).collect();
            let found = second.find(&now, phases, &kept);
            self.gaps.iter_mut().zip(found).for_each(|(gap, found)| gap.second = found);
        }
        let set = |links: [&Vec<[NodeId; 2]>; 2]| links.into_iter().flatten().copied().collect();
        let changed =
            self.gaps.iter().zip(&old).filter(|(gap, [pairs, second])| gap.pairs != *pairs || gap.second != *second);
        changed.map(|(gap, [pairs, second])| [set([pairs, second]), set([&gap.pairs, &gap.second])]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two planes of four satellites, of which the second flies `ahead` degrees in front; `None` for orbits that ended.
    fn phases(ahead: f64, ended: &[usize]) -> Phases {
        let even = |n: usize| 90.0 * (n % 4) as f64 + if n < 4 { 0.0 } else { ahead };
        (0..8).map(|n| (!ended.contains(&n)).then(|| even(n).rem_euclid(360.0))).collect()
    }

    #[test]
    fn pairs_still_follow_the_phases_after_the_orbit_of_the_first_satellite_has_ended() {
        let plane = |first: usize| (first..first + 4).map(NodeId::from_usize).collect::<Vec<_>>();
        let (here, there) = (plane(0), plane(4));
        let pairs: Vec<[NodeId; 2]> = here.iter().zip(&there).map(|(&a, &b)| [a, b]).collect();
        let planes = NeighbourPlanes { here, there, pairs: pairs.clone(), second: Vec::new() };
        let gaps = vec![Neighbours { planes, is_by_phase: true, goes_on: false }];
        let shell = Drifting { gaps, second: None };
        let mut shell = Shell::at_start(&shell, &phases(0.0, &[]));
        assert!(shell.look(&phases(10.0, &[0])).is_empty(), "10 of 90 degrees are too few for other partners");
        assert_eq!(shell.look(&phases(60.0, &[0])).len(), 1, "60 degrees are 2/3 of the spacing");
        // Each satellite of the first plane now has the one behind its first partner, 30 degrees away.
        let ids: Vec<[usize; 2]> = shell.gaps[0].pairs.iter().map(|pair| pair.map(Index::index)).collect();
        assert_eq!(ids, [[1, 4], [2, 5], [3, 6]]);
    }
}
