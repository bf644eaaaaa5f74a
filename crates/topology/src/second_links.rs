//! Second links between planes with different numbers of satellites: a satellite that the pairs of two planes leave
//! alone is linked to one over there that has a partner already and a terminal free.
//!
//! The nearest in phase come first over all planes of a shell, because terminals are shared by both sides of a plane. A
//! link that is there stays as long as another one is not much nearer: setting up a link takes seconds.

use crate::NodeId;
use crate::isl::NeighbourPlanes;
use crate::plane_drift::{LEAD, Phases};
use skyhop_base::Index;
use skyhop_orbit::turn_between;
use std::collections::{BTreeMap, BTreeSet};

/// The second links between two planes, first `here`, then `there`.
pub(crate) type Second = Vec<[NodeId; 2]>;

/// What decides about the second links of one shell.
#[derive(Clone, Debug)]
pub(crate) struct SecondLinks {
    /// Terminals of each satellite that its plane and a seam leave for links to neighbouring planes.
    pub terminals: BTreeMap<NodeId, u32>,
    /// For each two neighbouring planes the largest difference of phase that a second link spans.
    pub reach_deg: Vec<f64>,
}

/// Two neighbouring planes at one instant.
#[derive(Clone, Copy)]
pub(crate) struct Now<'n> {
    pub planes: &'n NeighbourPlanes,
    pub pairs: &'n [[NodeId; 2]],
    /// Links follow the phases.
    pub follows: bool,
}

/// The links while they are found.
struct Found {
    /// Terminals that no link has taken.
    free: BTreeMap<NodeId, u32>,
    /// Who still has no partner in the other plane, for each two neighbouring planes.
    alone: Vec<BTreeSet<NodeId>>,
    links: Vec<Second>,
}

impl Found {
    fn is_free(&self, node: NodeId) -> bool {
        self.free.get(&node).is_some_and(|free| *free > 0)
    }

    /// Takes the link if it serves somebody who is alone and both ends have a terminal.
    fn take(&mut self, gap: usize, [a, b]: [NodeId; 2]) {
        let serves = [a, b].iter().any(|node| self.alone[gap].contains(node));
        if !serves || !self.is_free(a) || !self.is_free(b) {
            return;
        }
        for node in [a, b] {
            self.alone[gap].remove(&node);
            self.free.entry(node).and_modify(|free| *free -= 1);
        }
        self.links[gap].push([a, b]);
    }

    fn release(&mut self, gap: usize, pair: [NodeId; 2], alone: &BTreeSet<NodeId>) {
        self.links[gap].retain(|link| *link != pair);
        for node in pair {
            self.free.entry(node).and_modify(|free| *free += 1);
        }
        self.alone[gap].extend(pair.iter().filter(|node| alone.contains(node)));
    }
}

impl SecondLinks {
    /// The second links of all neighbouring planes; `kept` are those that are there.
    pub fn find(&self, gaps: &[Now<'_>], phases: &Phases, kept: &[Second]) -> Vec<Second> {
        let mut free = self.terminals.clone();
        for node in gaps.iter().flat_map(|gap| gap.pairs).flatten() {
            free.entry(*node).and_modify(|free| *free = free.saturating_sub(1));
        }
        let alone: Vec<BTreeSet<NodeId>> = gaps.iter().map(alone).collect();
        let mut found = Found { free, alone: alone.clone(), links: vec![Vec::new(); gaps.len()] };
        for (n, (gap, kept)) in gaps.iter().zip(kept).enumerate() {
            for &pair in kept {
                let near = apart(phases, pair).is_some_and(|apart| apart <= self.reach_deg[n]);
                if near || !gap.follows {
                    found.take(n, pair);
                }
            }
        }
        for (n, gap) in gaps.iter().enumerate().filter(|(_, gap)| gap.follows) {
            for pair in found.links[n].clone() {
                if let Some(nearer) = nearer(gap, &found, pair, &alone[n], phases) {
                    found.release(n, pair, &alone[n]);
                    found.take(n, nearer);
                }
            }
        }
        let mut candidates: Vec<(f64, usize, [NodeId; 2])> = Vec::new();
        for (n, gap) in gaps.iter().enumerate() {
            let alone = &found.alone[n];
            for (&a, &b) in gap.planes.here.iter().flat_map(|a| gap.planes.there.iter().map(move |b| (a, b))) {
                if !(alone.contains(&a) || alone.contains(&b)) {
                    continue;
                }
                let near = apart(phases, [a, b]).filter(|apart| *apart <= self.reach_deg[n]);
                candidates.extend(near.map(|apart| (apart, n, [a, b])));
            }
        }
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        for (_, gap, pair) in candidates {
            found.take(gap, pair);
        }
        found.links.iter_mut().for_each(|links| links.sort_unstable());
        found.links
    }
}

/// Who of two neighbouring planes has no partner in the other.
fn alone(gap: &Now<'_>) -> BTreeSet<NodeId> {
    let paired: BTreeSet<NodeId> = gap.pairs.iter().flatten().copied().collect();
    gap.planes.here.iter().chain(&gap.planes.there).filter(|node| !paired.contains(node)).copied().collect()
}

/// The difference of phase; `None` where an orbit has ended.
fn apart(phases: &Phases, [a, b]: [NodeId; 2]) -> Option<f64> {
    Some(turn_between(phases[a.index()]?, phases[b.index()]?).abs())
}

/// The pair in place of `pair` that serves the same satellite and is nearer by more than chance and a short drift make
/// it. `None` also where both ends were alone: one would lose what the other wins.
fn nearer(
    gap: &Now<'_>,
    found: &Found,
    pair: [NodeId; 2],
    alone: &BTreeSet<NodeId>,
    phases: &Phases,
) -> Option<[NodeId; 2]> {
    let NeighbourPlanes { here, there, .. } = gap.planes;
    let others: Vec<[NodeId; 2]> = match pair.map(|node| alone.contains(&node)) {
        [true, false] => there.iter().filter(|b| found.is_free(**b)).map(|&b| [pair[0], b]).collect(),
        [false, true] => here.iter().filter(|a| found.is_free(**a)).map(|&a| [a, pair[1]]).collect(),
        _ => return None,
    };
    let lead = LEAD * 360.0 / here.len().max(there.len()).max(1) as f64;
    let limit = apart(phases, pair)? - lead;
    let others = others.into_iter().filter_map(|other| Some((apart(phases, other)?, other)));
    others.filter(|(apart, _)| *apart < limit).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, other)| other)
}
