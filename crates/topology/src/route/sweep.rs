//! Routes to sixteen nodes at once, found anew after every change of delays or links.
//!
//! The distances to the roots of a [`Group`] stand side by side, so that one pass over the arcs serves all of them. The
//! pass visits the nodes in a sequence in which next hops mostly come before their nodes; then it finds all distances.
//! Where they do not, a distance comes out too long. A second pass over the arcs finds such nodes. They are repaired,
//! and so are the nodes behind them. Distances that are never too short, over arcs of which none makes one shorter, are
//! the shortest ones, whatever order they were found in.

use super::graph::{End, Graph, NARROW_COST};
use super::group::{Distances, FAR, Group, LANES, Lanes};
use skyhop_processor::{signs, with_wide_vectors};
use std::collections::VecDeque;

/// The memory of a renewal, and what the last one found.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    /// For each node its distances to the roots in ns, [`FAR`] without a route.
    pub distances: Vec<Distances>,
    /// Nodes that take other arcs than before, some of them several times, and in which lanes.
    pub changed: Vec<(u32, Lanes)>,
    /// The longest distance to each root, as [`ranked`] has it.
    longest: [i32; LANES],
    /// Nodes that an arc brings nearer than the sweep did, and in which lanes.
    suspects: Vec<(u32, Lanes)>,
    /// For each node the lanes in which it has come nearer since its turn, …
    nearer: Vec<Lanes>,
    /// … and the nodes that wait for a turn because of it.
    queue: VecDeque<u32>,
    /// Nodes that have come nearer in a repair, or have another arc to choose from.
    touched: Vec<u32>,
}

impl Sweep {
    /// Finds the arcs that a group takes.
    pub fn run(&mut self, graph: &Graph, group: &mut Group) {
        self.distances.clear();
        self.distances.resize(graph.nodes(), Distances([FAR; LANES]));
        with_wide_vectors(
            #[inline(always)]
            || self.relax(graph, group),
        );
        with_wide_vectors(
            #[inline(always)]
            || self.choose(graph, group),
        );
        with_wide_vectors(
            #[inline(always)]
            || self.repair(graph, group),
        );
        // Now rather than before the next sweep: what it reads is in a near cache.
        group.note_repairs(graph, self.suspects.len(), &self.distances);
    }

    /// Whether a distance is beyond the reach of 31 bits, and what was found towards this root may be wrong.
    pub fn is_too_long(&self, lane: usize) -> bool {
        self.longest[lane] >= ranked(FAR - NARROW_COST)
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
        for (lane, root) in group.live() {
            distances[root as usize][lane] = 0;
        }
        for &node in &group.visits {
            distances[node as usize] = shortest(distances, node as usize, graph.fan(node as usize));
        }
    }

    /// Finds the arc over which each node is as near as it is, and nodes that an arc would bring nearer.
    #[inline(always)]
    fn choose(&mut self, graph: &Graph, group: &mut Group) {
        let Sweep { distances, changed, longest, suspects, .. } = self;
        changed.clear();
        suspects.clear();
        let mut most = [i32::MIN; LANES];
        for (node, here) in (0..).zip(&*distances) {
            most = longer(most, here);
            let Chosen { other, nearer } = choose_one(graph, distances, &mut group.taken, node as usize);
            if other != 0 {
                changed.push((node, other));
            }
            if nearer != 0 {
                suspects.push((node, nearer));
            }
        }
        *longest = most;
    }

    /// Gives the suspects their shortest distances, and all nodes that come nearer over them.
    #[inline(always)]
    fn repair(&mut self, graph: &Graph, group: &mut Group) {
        let Sweep { distances, changed, longest, suspects, nearer, queue, touched, .. } = self;
        nearer.resize(graph.nodes(), 0);
        for &(node, _) in &*suspects {
            // Those before it may have brought it nearer in more lanes than were seen.
            let here = shortest(distances, node as usize, graph.fan(node as usize));
            nearer[node as usize] = signs(&here, 0, &distances[node as usize]).negative;
            distances[node as usize] = here;
            queue.push_back(node);
        }
        touched.clear();
        // A node may come nearer again after its turn, and then has another one. So the order of the turns is free.
        while let Some(node) = queue.pop_front() {
            let lanes = std::mem::take(&mut nearer[node as usize]);
            let here = distances[node as usize];
            *longest = longer(*longest, &here);
            touched.push(node);
            for entry in graph.arcs_into(node as usize) {
                let (from, cost) = (entry.from as usize, entry.cost as i32);
                let more = signs(&here, cost, &distances[from]);
                let fell = more.negative & lanes;
                if fell != 0 {
                    for lane in 0..LANES {
                        distances[from][lane] = distances[from][lane].min(here[lane] + cost);
                    }
                    if nearer[from] == 0 {
                        queue.push_back(entry.from);
                    }
                    nearer[from] |= fell;
                }
                if more.zero & lanes != 0 {
                    // It has another arc to choose from.
                    touched.push(entry.from);
                }
            }
        }
        for &node in &*touched {
            let other = choose_one(graph, distances, &mut group.taken, node as usize).other;
            if other != 0 {
                changed.push((node, other));
            }
        }
    }
}

/// The result for a node.
struct Chosen {
    /// Lanes in which it takes another arc than before.
    other: Lanes,
    /// Lanes in which an arc would bring it nearer.
    nearer: Lanes,
}

/// Finds the arcs over which a node is as near as it is.
#[inline(always)]
fn choose_one(graph: &Graph, distances: &[Distances], taken: &mut [Lanes], node: usize) -> Chosen {
    let here = &distances[node];
    let (mut found, mut chosen) = (0, Chosen { other: 0, nearer: 0 });
    for (end, taken) in graph.fan(node).iter().zip(&mut taken[graph.range(node)]) {
        let more = signs(&distances[end.to as usize], end.cost, here);
        // The first of the arcs that make it so near.
        let first = more.zero & !found;
        found |= first;
        chosen.other |= first ^ std::mem::replace(taken, first);
        chosen.nearer |= more.negative;
    }
    chosen
}

/// A distance among others of which the longest is to be found: [`FAR`] comes before all of them.
#[inline(always)]
fn ranked(distance: i32) -> i32 {
    distance.wrapping_add(NARROW_COST + 1)
}

/// For each lane the shortest distance over any of a node's arcs, or that which it has.
#[inline(always)]
fn shortest(distances: &[Distances], node: usize, fan: &[End]) -> Distances {
    let mut best = distances[node];
    for end in fan {
        let there = &distances[end.to as usize];
        for lane in 0..LANES {
            best[lane] = best[lane].min(there[lane] + end.cost);
        }
    }
    best
}

/// For each lane the longer one of a distance that is [`ranked`] and one that is not.
#[inline(always)]
fn longer(mut most: [i32; LANES], here: &Distances) -> [i32; LANES] {
    for lane in 0..LANES {
        most[lane] = most[lane].max(ranked(here[lane]));
    }
    most
}
