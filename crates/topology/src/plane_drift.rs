//! Links between planes that drift against each other: who is paired anew, and when.
//!
//! Planes of several altitudes fly at several speeds, so a pair of the start leads further and further ahead. Every
//! look compares the pairs with those that would be found now ([`by_phase`]). All pairs of a run are laid out at its
//! start, and each is joined during its time only: links of the engine are a fixed list.

use crate::build::Links;
use crate::isl::{NeighbourPlanes, Pair, PairKind, Turn};
use crate::plane_grid::by_phase;
use crate::sky::next_multiple;
use crate::{NodeId, NodeKind, Pairing};
use skyhop_base::{Index, Time};
use skyhop_orbit::{PhaseInFlight, turn_between};
use std::collections::{BTreeMap, BTreeSet};

/// Two planes are paired anew once a satellite of the smaller one comes nearer to its partner by more than this share
/// of the spacing, and the squares of all differences fall by more than this share of the squared spacing. Evenly
/// spaced planes then change at 5/8 of the spacing and go to 3/8 on the other side, a quarter away from changing back;
/// ragged ones change from half a spacing on.
const LEAD: f64 = 0.25;
/// Pairs are not compared before a satellite has moved by this share of the spacing: two that move towards each other
/// need twice as much for a lead.
const MOVED: f64 = 1.0 / 16.0;

/// Two neighbouring planes of a shell.
#[derive(Clone, Debug)]
pub(crate) struct Neighbours {
    pub planes: NeighbourPlanes,
    /// Their pairs may change; those of one slot do not.
    pub is_by_phase: bool,
    /// The planes before in the list end where these begin.
    pub goes_on: bool,
}

/// Phases of satellites at one instant, by node; `None` where no orbit is left or none is asked for.
type Phases = Vec<Option<f64>>;

/// Two neighbouring planes while time goes on.
struct Gap<'n> {
    of: &'n Neighbours,
    pairs: Vec<[NodeId; 2]>,
    /// Phases from that of the first satellite, at the last comparison.
    seen: Vec<Option<f64>>,
}

impl Gap<'_> {
    fn members(&self) -> impl Iterator<Item = NodeId> {
        self.of.planes.here.iter().chain(&self.of.planes.there).copied()
    }

    fn spacing(&self) -> f64 {
        360.0 / self.of.planes.here.len().max(self.of.planes.there.len()).max(1) as f64
    }

    fn since_first(&self, phases: &Phases) -> Vec<Option<f64>> {
        let first = self.of.planes.here.first().and_then(|node| phases[node.index()]);
        self.members().map(|node| Some(turn_between(first?, phases[node.index()]?))).collect()
    }

    /// Whether any satellite has moved against the first since the last comparison.
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

    /// The pairs that would be found now; `offset` as [`by_phase`] wants it.
    fn found_now(&self, phases: &Phases, offset: f64) -> Vec<[NodeId; 2]> {
        let [(here, h), (there, t)] =
            [&self.of.planes.here, &self.of.planes.there].map(|plane| in_flight(plane, phases));
        by_phase(&h, &t, offset).pairs.into_iter().map(|(i, j)| [here[i], there[j]]).collect()
    }

    /// For each satellite of the smaller plane how far its partner is away; one without counts as one at the distance
    /// of its plane's spacing, as where pairs are found.
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

    /// Other pairs, if they are better by more than chance and a short drift make them.
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

/// Satellites of a plane whose orbit has not ended, by phase, and their phases. Some may have passed others.
fn in_flight(plane: &[NodeId], phases: &Phases) -> (Vec<NodeId>, Vec<f64>) {
    let mut all: Vec<(f64, NodeId)> = plane.iter().filter_map(|&node| Some((phases[node.index()]?, node))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all.into_iter().map(|(phase, node)| (node, phase)).unzip()
}

impl Links<'_> {
    /// Pairs that replace others later, and when. New ones are added to `pairs`.
    pub(crate) fn pair_anew(
        &mut self,
        pairing: Pairing,
        shells: &[Vec<Neighbours>],
        pairs: &mut Vec<Pair>,
    ) -> Vec<Turn> {
        let mut first = next_multiple(Time::ZERO, pairing.every);
        if first > pairing.until {
            return Vec::new();
        }
        let all = || shells.iter().flatten();
        let moving: BTreeSet<NodeId> =
            all().flat_map(|gap| gap.planes.here.iter().chain(&gap.planes.there)).copied().collect();
        let flight = |node: &NodeId| match self.nodes[node.index()].kind {
            NodeKind::Satellite { orbit, .. } => Some((*node, PhaseInFlight::of(&orbit)?)),
            _ => None,
        };
        let flights: Vec<(NodeId, PhaseInFlight)> = moving.iter().filter_map(flight).collect();
        let mut phases: Phases = vec![None; self.nodes.len()];
        let look = |t: Time, phases: &mut Phases| {
            flights.iter().for_each(|(node, flight)| phases[node.index()] = flight.at(t));
        };
        look(Time::ZERO, &mut phases);
        let mut gaps: Vec<Gap<'_>> =
            all().map(|of| Gap { of, pairs: of.planes.pairs.clone(), seen: Vec::new() }).collect();
        gaps.iter_mut().for_each(|gap| gap.seen = gap.since_first(&phases));
        let mut index: BTreeMap<[NodeId; 2], usize> =
            pairs.iter().enumerate().map(|(n, pair)| ([pair.a, pair.b], n)).collect();
        let mut turns = Vec::new();
        while first <= pairing.until {
            let at = first;
            look(at, &mut phases);
            let (mut offset, mut ends, mut begins) = (0.0, Vec::new(), Vec::new());
            for gap in &mut gaps {
                if !gap.of.goes_on {
                    offset = 0.0;
                }
                if let Some(found) = gap.of.is_by_phase.then(|| gap.better(&phases, offset)).flatten() {
                    let [old, new]: [BTreeSet<_>; 2] =
                        [&gap.pairs, &found].map(|pairs| pairs.iter().copied().collect());
                    ends.extend(old.difference(&new).map(|pair| index[pair]));
                    for &[a, b] in new.difference(&old) {
                        begins.push(*index.entry([a, b]).or_insert_with(|| {
                            pairs.push(Pair { is_joined: false, ..self.pair(PairKind::BetweenPlanes, a, b) });
                            pairs.len() - 1
                        }));
                    }
                    gap.pairs = found;
                }
                offset += gap.ahead(&phases);
            }
            if !(ends.is_empty() && begins.is_empty()) {
                turns.push(Turn { at, ends, begins });
            }
            first = next_multiple(at, pairing.every);
        }
        turns
    }
}
