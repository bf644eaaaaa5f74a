//! The +Grid over planes of satellites from elements. Such shells have spares and gaps: their planes have different
//! numbers of satellites, and their nodes are not evenly spread.

use crate::build::{Links, OfElements, Plane};
use crate::isl::{Pair, PairKind, Seam};
use crate::plane_drift::{Drifting, Neighbours, Phases};
use crate::second_links::{Now, SecondLinks};
use crate::{CrossSeam, IslRules, NodeId, NodeKind, PlaneNeighbours, TopologyError, Unpaired};
use skyhop_base::Index;
use skyhop_orbit::{Earth, Place, turn_between};
use std::collections::BTreeMap;

/// Planes are neighbours if the gap between their nodes is at most this many usual gaps, as in a Walker delta.
const USUAL_GAPS: f64 = 1.5;
/// Satellites of planes whose nodes are farther apart move in opposite directions somewhere.
const WIDEST_GAP_DEG: f64 = 90.0;
/// A partner half a spacing ahead is as good as one half a spacing behind. Where the distances are equal to within this
/// share of the spacing, the offsets along the shell decide.
const TIE: f64 = 0.02;

/// One plane with the phases of its satellites, in degrees.
struct Line<'p> {
    plane: &'p Plane,
    /// Phase of each member.
    phases: Vec<f64>,
    node_deg: f64,
    radius_km: f64,
}

impl Line<'_> {
    /// [`by_phase`] for members in any order: slots of a file need not ascend in the direction of flight.
    fn by_phase(&self, next: &Line<'_>, offset: f64) -> Match {
        let [(here, h), (there, t)] = [self, next].map(|line| {
            let mut order: Vec<usize> = (0..line.phases.len()).collect();
            order.sort_by(|&a, &b| line.phases[a].total_cmp(&line.phases[b]).then(a.cmp(&b)));
            let phases: Vec<f64> = order.iter().map(|&n| line.phases[n]).collect();
            (order, phases)
        });
        let found = by_phase(&h, &t, offset);
        let mut pairs: Vec<(usize, usize)> = found.pairs.iter().map(|&(i, j)| (here[i], there[j])).collect();
        pairs.sort_unstable();
        Match { pairs, ..found }
    }
}

/// The satellites of one plane and their partners in the next, as indices into the planes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Match {
    pub pairs: Vec<(usize, usize)>,
    /// Mean phase by which partners are ahead, in degrees.
    ahead_deg: f64,
}

impl Links<'_> {
    /// The links of one shell whose satellites come from elements: plane by plane along it, then to the next plane.
    /// Returns the planes that are neighbours. Second links follow all others.
    ///
    /// # Errors
    /// A satellite whose elements describe no motion.
    pub(crate) fn grid_of_elements(
        &mut self,
        rules: IslRules,
        earth: &Earth,
        of_elements: OfElements,
        shell: &[Plane],
        pairs: &mut Vec<Pair>,
        seams: &mut Vec<Seam>,
    ) -> Result<Drifting, TopologyError> {
        let neighbours = of_elements.neighbours;
        let first_pair = pairs.len();
        let lines: Vec<Line<'_>> = shell.iter().map(|plane| self.line(plane)).collect::<Result<_, _>>()?;
        let count = lines.len();
        let next = |n: usize| (n + 1) % count;
        let gaps: Vec<f64> =
            (0..count).map(|n| turn_between(lines[n].node_deg, lines[next(n)].node_deg).abs()).collect();
        let widest_usual = widest_usual(&gaps, &lines, earth, rules);
        // A shell of two planes has one pair of neighbours, not two.
        let closing = if count > 2 { Some(count - 1) } else { None };
        let is_joined = |n: usize| match neighbours {
            PlaneNeighbours::BySlot if Some(n) != closing => true,
            _ => gaps[n] <= widest_usual,
        };
        let (mut offset, mut joined, mut goes_on) = (0.0, Vec::new(), false);
        let mut at_seam: Vec<NodeId> = Vec::new();
        for n in 0..count {
            self.along_plane(lines[n].plane, pairs);
            let is_last = n + 1 == count;
            if (is_last && closing.is_none()) || !is_joined(n) {
                (offset, goes_on) = (0.0, false);
                continue;
            }
            let (here, there) = (&lines[n], &lines[next(n)]);
            let is_by_phase = is_last || neighbours == PlaneNeighbours::ByPhase;
            let found = match is_by_phase {
                false => self.by_slot(here, there),
                true => here.by_phase(there, offset),
            };
            offset += found.ahead_deg;
            let [here, there] = [here.plane, there.plane];
            let found = found.pairs.into_iter().map(|(a, b)| [here.members[a], there.members[b]]).collect();
            let planes = self.join(here, there, found, pairs);
            joined.push((n, Neighbours { planes, is_by_phase, goes_on }));
            goes_on = true;
        }
        let open = |&n: &usize| !is_joined(n) && (n + 1 < count || closing.is_some());
        let widest = (0..count).filter(open).max_by(|&a, &b| gaps[a].total_cmp(&gaps[b]).then(b.cmp(&a)));
        if let (Some(n), CrossSeam::Nearest) = (widest, rules.cross_seam) {
            let (first, last) = (&lines[next(n)].plane.members, &lines[n].plane.members);
            seams.push(self.seam(first, last));
            at_seam.extend([first, last].into_iter().flatten().copied());
        }
        let (places, mut gaps): (Vec<usize>, Vec<Neighbours>) = joined.into_iter().unzip();
        let Unpaired::Nearest { terminals } = of_elements.unpaired else { return Ok(Drifting { gaps, second: None }) };
        let mut left: BTreeMap<NodeId, u32> =
            lines.iter().flat_map(|line| &line.plane.members).map(|&node| (node, terminals)).collect();
        let along = pairs[first_pair..].iter().filter(|pair| pair.kind == PairKind::AlongPlane);
        for node in along.flat_map(|pair| [pair.a, pair.b]).chain(at_seam) {
            left.entry(node).and_modify(|left| *left = left.saturating_sub(1));
        }
        let radius_km = least_radius_km(&lines);
        let furthest = in_sight_deg(radius_km, earth, rules)
            .min(2.0 * libm::asin((of_elements.longest_km / (2.0 * radius_km)).min(1.0)).to_degrees());
        let reach = |&n: &usize| {
            let few = lines[n].plane.members.len().min(lines[next(n)].plane.members.len());
            furthest.min(360.0 / few.max(1) as f64)
        };
        let second = SecondLinks { terminals: left, reach_deg: places.iter().map(reach).collect() };
        let mut phases: Phases = vec![None; self.nodes.len()];
        for line in &lines {
            line.plane.members.iter().zip(&line.phases).for_each(|(node, phase)| phases[node.index()] = Some(*phase));
        }
        let now: Vec<Now<'_>> = gaps.iter().map(Neighbours::at_start).collect();
        let found = second.find(&now, &phases, &vec![Vec::new(); now.len()]);
        for (gap, found) in gaps.iter_mut().zip(found) {
            pairs.extend(found.iter().map(|&[a, b]| self.pair(PairKind::BetweenPlanes, a, b)));
            gap.planes.second = found;
        }
        Ok(Drifting { gaps, second: Some(second) })
    }

    fn line<'p>(&self, plane: &'p Plane) -> Result<Line<'p>, TopologyError> {
        let place = |&node: &NodeId| {
            let spec = &self.nodes[node.index()];
            let found = if let NodeKind::Satellite { orbit, .. } = spec.kind { Place::of(&orbit) } else { None };
            found.ok_or_else(|| TopologyError::NoPlace { name: spec.name.clone() })
        };
        let places: Vec<Place> = plane.members.iter().map(place).collect::<Result<_, _>>()?;
        let first = places.first().map_or(0.0, |place| place.node_deg);
        let mut offs: Vec<f64> = places.iter().map(|place| turn_between(first, place.node_deg)).collect();
        offs.sort_by(f64::total_cmp);
        let node_deg = first + offs.get(offs.len() / 2).copied().unwrap_or(0.0);
        let radius_km = places.iter().map(|place| place.altitude_km).fold(f64::INFINITY, f64::min);
        let phases = places.iter().map(|place| place.phase_deg).collect();
        Ok(Line { plane, phases, node_deg, radius_km: radius_km + Earth::WGS84.radius_km })
    }

    /// Pairs of satellites with equal slots.
    fn by_slot(&self, here: &Line<'_>, there: &Line<'_>) -> Match {
        let slot = |node: NodeId| match self.nodes[node.index()].kind {
            NodeKind::Satellite { slot, .. } => slot,
            _ => 0,
        };
        let slots: BTreeMap<u32, usize> =
            there.plane.members.iter().enumerate().map(|(n, &node)| (slot(node), n)).collect();
        let partner = |(n, &node): (usize, &NodeId)| Some((n, *slots.get(&slot(node))?));
        Match { pairs: here.plane.members.iter().enumerate().filter_map(partner).collect(), ahead_deg: 0.0 }
    }
}

/// The largest gap between the nodes of neighbours, in degrees: 1.5 usual ones, or the largest across which satellites
/// of equal phase see each other everywhere, whichever is more.
fn widest_usual(gaps: &[f64], lines: &[Line<'_>], earth: &Earth, rules: IslRules) -> f64 {
    let mut sorted = gaps.to_vec();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
    (USUAL_GAPS * usual).max(in_sight_deg(least_radius_km(lines), earth, rules).min(WIDEST_GAP_DEG))
}

fn least_radius_km(lines: &[Line<'_>]) -> f64 {
    lines.iter().map(|line| line.radius_km).fold(f64::INFINITY, f64::min)
}

/// The largest angle at the Earth's centre, in degrees, at which two satellites see each other: the line of sight just
/// clears the grazing altitude.
fn in_sight_deg(radius_km: f64, earth: &Earth, rules: IslRules) -> f64 {
    let cosine = ((earth.radius_km + rules.grazing_altitude.km()) / radius_km).clamp(-1.0, 1.0);
    2.0 * libm::acos(cosine).to_degrees()
}

/// Pairs of neighbours in phase: no pair crosses another, and the sum of the squared differences is least. A satellite
/// of the smaller plane without a partner adds the square of its plane's mean spacing. Phases are in degrees and
/// ascend.
///
/// `offset` is the sum of `ahead_deg` from the first plane of the shell up to `here`. It decides where partners half a
/// spacing ahead and behind are equally good: those win that bring the sum nearer to 0.
pub(crate) fn by_phase(here: &[f64], there: &[f64], offset: f64) -> Match {
    let spacing = 360.0 / here.len().max(there.len()).max(1) as f64;
    // Ahead first: with an even start the next plane is linked forwards.
    let answers = [TIE, -TIE].map(|bias| least_squares(here, there, bias * spacing));
    let best = answers.iter().enumerate().min_by(|(i, a), (j, b)| {
        let [a, b] = [a, b].map(|answer| ((offset + answer.ahead_deg).abs() / (TIE * spacing)).round());
        a.total_cmp(&b).then(i.cmp(j))
    });
    best.map_or(Match { pairs: Vec::new(), ahead_deg: 0.0 }, |(_, best)| best.clone())
}

/// The pairs with the least sum of squares of (difference − `bias`).
fn least_squares(here: &[f64], there: &[f64], bias: f64) -> Match {
    let turned = here.len() > there.len();
    let (few, many) = if turned { (there, here) } else { (here, there) };
    let (rows, columns) = (few.len(), many.len());
    if rows == 0 {
        return Match { pairs: Vec::new(), ahead_deg: 0.0 };
    }
    // From `here` to `there`.
    let difference =
        |i: usize, j: usize| if turned { turn_between(many[j], few[i]) } else { turn_between(few[i], many[j]) };
    let cost = |i: usize, j: usize| {
        let off = difference(i, j) - bias;
        off * off
    };
    // A satellite stays alone rather than take a partner farther away than the spacing of the smaller plane.
    let spacing = 360.0 / rows as f64;
    let alone = spacing * spacing;
    let mut best: Option<(f64, Vec<Option<usize>>)> = None;
    for start in 0..columns {
        // The two lists are aligned by dynamic programming: `least[i][j]` is the least cost of the first i of the few
        // with the first j of the many, which count from `start`.
        let at = |j: usize| (start + j) % columns;
        let mut least = vec![vec![0.0; columns + 1]; rows + 1];
        for i in 1..=rows {
            least[i][0] = alone * i as f64;
            for j in 1..=columns {
                let linked = least[i - 1][j - 1] + cost(i - 1, at(j - 1));
                least[i][j] = linked.min(least[i - 1][j] + alone).min(least[i][j - 1]);
            }
        }
        let total = least[rows][columns];
        if best.as_ref().is_some_and(|(cost, _)| total >= *cost) {
            continue;
        }
        let mut partners = vec![None; rows];
        let (mut i, mut j) = (rows, columns);
        while i > 0 && j > 0 {
            if least[i][j] == least[i - 1][j - 1] + cost(i - 1, at(j - 1)) {
                (i, j) = (i - 1, j - 1);
                partners[i] = Some(at(j));
            } else if least[i][j] == least[i - 1][j] + alone {
                i -= 1;
            } else {
                j -= 1;
            }
        }
        best = Some((total, partners));
    }
    let partners = best.map(|(_, partners)| partners).unwrap_or_default();
    let linked = || partners.iter().enumerate().filter_map(|(i, &j)| Some((i, j?)));
    let sum: f64 = linked().map(|(i, j)| difference(i, j)).sum();
    let mut pairs: Vec<(usize, usize)> = linked().map(|(i, j)| if turned { (j, i) } else { (i, j) }).collect();
    pairs.sort_unstable();
    Match { ahead_deg: sum / pairs.len().max(1) as f64, pairs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Stream;

    /// Every assignment of the few to the many that keeps their order around the circle, one by one.
    fn by_looking_at_all(few: &[f64], many: &[f64]) -> f64 {
        fn rest(few: &[f64], many: &[f64], i: usize, order: &[usize]) -> f64 {
            let Some(&phase) = few.get(i) else { return 0.0 };
            let each = |n: usize| {
                let off = turn_between(phase, many[order[n]]);
                off * off + rest(few, many, i + 1, &order[n + 1..])
            };
            let spacing = 360.0 / few.len() as f64;
            let alone = spacing * spacing + rest(few, many, i + 1, order);
            (0..order.len()).map(each).fold(alone, f64::min)
        }
        let around = |start: usize| (0..many.len()).map(|n| (start + n) % many.len()).collect::<Vec<_>>();
        (0..many.len()).map(|start| rest(few, many, 0, &around(start))).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn no_order_of_pairs_has_smaller_squares() {
        let mut stream = Stream::new(1, "matching", "test");
        for _ in 0..300 {
            let few = 3 + (4.0 * stream.uniform()) as usize;
            let many = few + (3.0 * stream.uniform()) as usize;
            let mut draw = |count: usize| {
                let mut phases: Vec<f64> = (0..count).map(|_| 360.0 * stream.uniform()).collect();
                phases.sort_by(f64::total_cmp);
                phases
            };
            let (few, many) = (draw(few), draw(many));
            let squares = |found: &Match, a: &[f64], b: &[f64]| {
                let linked: f64 = found.pairs.iter().map(|&(i, j)| turn_between(a[i], b[j])).map(|off| off * off).sum();
                let few = a.len().min(b.len());
                linked + (few - found.pairs.len()) as f64 * (360.0 / few as f64).powi(2)
            };
            let least = by_looking_at_all(&few, &many);
            for (found, a, b) in
                [(least_squares(&few, &many, 0.0), &few, &many), (least_squares(&many, &few, 0.0), &many, &few)]
            {
                let here = squares(&found, a, b);
                assert!((here / least - 1.0).abs() < 1e-9, "{here} {least}");
            }
        }
    }
}
