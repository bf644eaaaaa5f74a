//! Routes to sixteen nodes at once, found anew after every change of delays or links.
//!
//! The distances to the roots of a [`Group`] stand side by side, so that one pass over the arcs serves all of them. The
//! pass visits the nodes in an order in which next hops mostly come before their nodes; then it finds all distances.
//! Where the order is wrong a distance comes out too long. A second pass over the arcs finds such nodes, and they are
//! repaired by a search from there. Distances that are never too short, over arcs of which none makes one shorter, are
//! the shortest ones, whatever order they were found in.

use super::graph::{Graph, NARROW_COST};
use super::group::{Distances, FAR, Group, LANES, Lanes, NO_ROOT, NO_SLOT};
use skyhop_processor::with_wide_vectors;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The memory of a renewal, and what the last one found.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    /// For each node its distances to the roots in ns, [`FAR`] without a route.
    pub distances: Vec<Distances>,
    /// Nodes whose slots have changed, some of them several times, and in which lanes.
    pub changed: Vec<(u32, Lanes)>,
    /// The longest distance to each root.
    longest: [i32; LANES],
    /// Nodes that an arc brings nearer than the sweep did, and in which lane.
    suspects: Vec<(u32, usize)>,
    heap: BinaryHeap<Reverse<(i32, u32)>>,
}

impl Sweep {
    /// Finds the slots of a group.
    pub fn run(&mut self, graph: &Graph, group: &mut Group) {
        self.distances.clear();
        self.distances.resize(graph.nodes(), Distances([FAR; LANES]));
        group.prepare(graph);
        with_wide_vectors(
            #[inline(always)]
            || self.relax(graph, group),
        );
        with_wide_vectors(
            #[inline(always)]
            || self.choose(graph, group),
        );
        for place in 0..self.suspects.len() {
            let (node, lane) = self.suspects[place];
            self.repair(graph, group, node, lane);
        }
        for &(node, lanes) in &self.changed {
            group.note_change(graph, node, lanes);
        }
        // Now rather than when order and plan are needed: the slots are in a near cache. A new order brings a plan.
        group.arrange(graph, &self.distances);
        group.prepare(graph);
    }

    /// Whether a distance is beyond the reach of 31 bits, and what was found towards this root may be wrong.
    pub fn is_too_long(&self, lane: usize) -> bool {
        self.longest[lane] >= FAR - NARROW_COST
    }

    /// Distances that the last sweep got wrong.
    #[cfg(test)]
    pub fn repairs(&self) -> usize {
        self.suspects.len()
    }

    /// Gives each node in turn the shortest distance over its arcs to nodes whose distances are known.
    #[inline(always)]
    fn relax(&mut self, graph: &Graph, group: &Group) {
        let distances = &mut self.distances;
        for (lane, &root) in group.roots.iter().enumerate().filter(|(_, root)| **root != NO_ROOT) {
            distances[root as usize][lane] = 0;
        }
        let mut steps = group.plan.iter().peekable();
        for (rank, &node) in (0..).zip(&group.order) {
            while let Some(step) = steps.next_if(|step| step.rank == rank) {
                let (to, cost) = graph.end(step.arc);
                let total = distances[to as usize][step.lane as usize] + cost;
                // A step of an old plan may be that of the root itself.
                let here = &mut distances[step.node as usize][step.lane as usize];
                *here = total.min(*here);
            }
            distances[node as usize] = shortest(distances, node as usize, graph.fan(node as usize));
        }
    }

    /// Finds the arc over which each node is as near as it is, and nodes that an arc would bring nearer.
    #[inline(always)]
    fn choose(&mut self, graph: &Graph, group: &mut Group) {
        let Sweep { distances, changed, longest, suspects, .. } = self;
        changed.clear();
        suspects.clear();
        let mut most = [0; LANES];
        for ((node, fan), old) in graph.fans().zip(&mut group.slots) {
            let here = &distances[node];
            let (slots, nearer) = choices(distances, here, fan);
            most = longer(most, here);
            if *old != slots {
                let lanes = (0..LANES).fold(0, |lanes, lane| lanes | Lanes::from(old[lane] != slots[lane]) << lane);
                *old = slots;
                changed.push((node as u32, lanes));
            }
            if nearer.iter().fold(0, |any, &lane| any | lane) < 0 {
                suspects.extend((0..LANES).filter(|&lane| nearer[lane] < 0).map(|lane| (node as u32, lane)));
            }
        }
        *longest = most;
    }

    /// Gives a node its shortest distance, and tells those behind it if it has come nearer.
    fn repair(&mut self, graph: &Graph, group: &mut Group, node: u32, lane: usize) {
        let totals = graph.fan(node as usize).iter().map(|&(to, cost)| self.distances[to as usize][lane] + cost);
        let Some(total) = totals.min().filter(|&total| total < self.distances[node as usize][lane]) else { return };
        self.distances[node as usize][lane] = total;
        self.heap.push(Reverse((total, node)));
        while let Some(Reverse((near, node))) = self.heap.pop() {
            if self.distances[node as usize][lane] < near {
                continue;
            }
            self.longest[lane] = self.longest[lane].max(near);
            self.choose_one(graph, group, node, lane);
            for entry in graph.arcs_into(node as usize) {
                let (total, from) = (near + entry.cost as i32, entry.from as usize);
                let known = self.distances[from][lane];
                if total < known {
                    self.distances[from][lane] = total;
                    self.heap.push(Reverse((total, entry.from)));
                } else if total == known && total < FAR {
                    self.choose_one(graph, group, entry.from, lane);
                }
            }
        }
    }

    /// Finds the arc over which a node is as near as it is.
    fn choose_one(&mut self, graph: &Graph, group: &mut Group, node: u32, lane: usize) {
        let here = self.distances[node as usize][lane];
        let same = |&(to, cost): &(u32, i32)| self.distances[to as usize][lane] + cost == here;
        let slot = graph.fan(node as usize).iter().position(same).map_or(NO_SLOT, |slot| slot as u16);
        if std::mem::replace(&mut group.slots[node as usize][lane], slot) != slot {
            self.changed.push((node, 1 << lane));
        }
    }
}

/// For each lane the shortest distance over any of a node's arcs, or that which it has.
#[inline(always)]
fn shortest(distances: &[Distances], node: usize, fan: &[(u32, i32)]) -> Distances {
    let mut best = distances[node];
    for &(to, cost) in fan {
        let there = &distances[to as usize];
        for lane in 0..LANES {
            best[lane] = best[lane].min(there[lane] + cost);
        }
    }
    best
}

/// For each lane the longer one of two distances. [`FAR`] counts as none.
#[inline(always)]
fn longer(mut most: [i32; LANES], here: &Distances) -> [i32; LANES] {
    for lane in 0..LANES {
        most[lane] = most[lane].max(here[lane] & ((here[lane] - FAR) >> 31));
    }
    most
}

/// For each lane the first of a node's arcs over which it is as near as it is, and a negative number if one of them
/// would bring it nearer.
#[inline(always)]
fn choices(distances: &[Distances], here: &Distances, fan: &[(u32, i32)]) -> ([u16; LANES], [i32; LANES]) {
    let (mut slots, mut nearer) = ([i32::from(NO_SLOT); LANES], [0; LANES]);
    for (slot, &(to, cost)) in fan.iter().enumerate().rev() {
        let there = &distances[to as usize];
        for lane in 0..LANES {
            let more = there[lane] + cost - here[lane];
            nearer[lane] |= more;
            slots[lane] = if more == 0 { slot as i32 } else { slots[lane] };
        }
    }
    (slots.map(|slot| slot as u16), nearer)
}
