//! Routes to sixteen nodes at once, found anew after every change of delays or links.
//!
//! The distances to the roots of a [`Group`] stand side by side, so that one pass over the arcs serves all of them. The
//! pass visits the nodes in a sequence in which next hops mostly come before their nodes; then it finds all distances.
//! Where they do not, a distance comes out too long. A second pass over the arcs finds such nodes. They are repaired,
//! and so are the nodes behind them. Distances that are never too short, over arcs of which none makes one shorter, are
//! the shortest ones, whatever order they were found in.

use super::graph::{End, Graph, NARROW_COST};
use super::group::{Distances, FAR, Group, LANES, Lanes};
use skyhop_processor::{Sixteen, Vectors, Work, with_wide_vectors};
use std::collections::VecDeque;

/// Added to distances of which the longest is to be found: [`FAR`] then wraps around and comes before all others.
const RANK: i32 = NARROW_COST + 1;

/// The memory of a renewal, and what the last one found.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    /// For each node its distances to the roots in ns, [`FAR`] without a route.
    pub distances: Vec<Distances>,
    /// Nodes that take other arcs than before, some of them several times, and in which lanes.
    pub changed: Vec<(u32, Lanes)>,
    /// The longest distance to each root, [`RANK`] added.
    longest: Distances,
    /// Nodes that an arc brings nearer than the sweep did, and in which lanes.
    suspects: Vec<(u32, Lanes)>,
    /// For each node the lanes in which it has come nearer since its turn, …
    nearer: Vec<Lanes>,
    /// … and the nodes that wait for a turn because of it.
    queue: VecDeque<u32>,
    /// Nodes that have come nearer in a repair, or have another arc to choose from.
    touched: Vec<u32>,
}

/// A sweep with the vectors that the processor has.
struct Run<'a> {
    sweep: &'a mut Sweep,
    graph: &'a Graph,
    group: &'a mut Group,
}

impl Work for Run<'_> {
    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        let Run { sweep, graph, group } = self;
        sweep.relax(vectors, graph, group);
        sweep.choose(vectors, graph, group);
        sweep.repair(vectors, graph, group);
    }
}

impl Sweep {
    /// Finds the arcs that a group takes.
    pub fn run(&mut self, graph: &Graph, group: &mut Group) {
        self.distances.resize(graph.nodes(), Sixteen([FAR; LANES]));
        with_wide_vectors(Run { sweep: self, graph, group });
        // Now rather than before the next sweep: what it reads is in a near cache.
        group.note_repairs(graph, self.suspects.len(), &self.distances);
    }

    /// Whether a distance is beyond the reach of 31 bits, and what was found towards this root may be wrong.
    pub fn is_too_long(&self, lane: usize) -> bool {
        self.longest[lane] >= (FAR - NARROW_COST).wrapping_add(RANK)
    }

    /// Distances that the last sweep got wrong.
    #[cfg(test)]
    pub fn repairs(&self) -> usize {
        self.suspects.len()
    }

    /// Gives each node in turn the shortest distance over its arcs to nodes whose distances are known.
    #[inline(always)]
    fn relax(&mut self, vectors: impl Vectors, graph: &Graph, group: &Group) {
        let distances = &mut self.distances;
        let far = vectors.load(&Sixteen([FAR; LANES]));
        distances.iter_mut().for_each(|distance| vectors.store(far, distance));
        for (lane, root) in group.live() {
            distances[root as usize][lane] = 0;
        }
        for &node in &group.visits {
            let best = shortest(vectors, distances, node as usize, graph.fan(node as usize));
            vectors.store(best, &mut distances[node as usize]);
        }
    }

    /// Finds the arc over which each node is as near as it is, and nodes that an arc would bring nearer.
    #[inline(always)]
    fn choose(&mut self, vectors: impl Vectors, graph: &Graph, group: &mut Group) {
        let Sweep { distances, changed, longest, suspects, .. } = self;
        changed.clear();
        suspects.clear();
        let mut most = vectors.load(&Sixteen([i32::MIN; LANES]));
        for (node, here) in (0..).zip(&*distances) {
            most = vectors.greater(most, vectors.load(here), RANK);
            if is_unchanged(vectors, graph, distances, &group.taken, node as usize) {
                continue;
            }
            let Chosen { other, nearer } = choose_one(vectors, graph, distances, &mut group.taken, node as usize);
            if other != 0 {
                changed.push((node, other));
            }
            if nearer != 0 {
                suspects.push((node, nearer));
            }
        }
        vectors.store(most, longest);
    }

    /// Gives the suspects their shortest distances, and all nodes that come nearer over them.
    #[inline(always)]
    fn repair(&mut self, vectors: impl Vectors, graph: &Graph, group: &mut Group) {
        let Sweep { distances, changed, longest, suspects, nearer, queue, touched, .. } = self;
        nearer.resize(graph.nodes(), 0);
        for &(node, _) in &*suspects {
            // Those before it may have brought it nearer in more lanes than were seen.
            let before = vectors.load(&distances[node as usize]);
            let here = shortest(vectors, distances, node as usize, graph.fan(node as usize));
            vectors.store(here, &mut distances[node as usize]);
            nearer[node as usize] = vectors.signs(&distances[node as usize], 0, before).negative;
            queue.push_back(node);
        }
        touched.clear();
        // A node may come nearer again after its turn, and then has another one. So the order of the turns is free.
        while let Some(node) = queue.pop_front() {
            let lanes = std::mem::take(&mut nearer[node as usize]);
            let here = distances[node as usize];
            vectors.store(vectors.greater(vectors.load(longest), vectors.load(&here), RANK), longest);
            touched.push(node);
            for entry in graph.arcs_into(node as usize) {
                let (from, cost) = (entry.from as usize, entry.cost as i32);
                let before = vectors.load(&distances[from]);
                let more = vectors.signs(&here, cost, before);
                let fell = more.negative & lanes;
                if fell != 0 {
                    vectors.store(vectors.lesser(before, &here, cost), &mut distances[from]);
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
            let other = choose_one(vectors, graph, distances, &mut group.taken, node as usize).other;
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
fn choose_one(
    vectors: impl Vectors,
    graph: &Graph,
    distances: &[Distances],
    taken: &mut [Lanes],
    node: usize,
) -> Chosen {
    let here = vectors.load(&distances[node]);
    let (mut found, mut chosen) = (0, Chosen { other: 0, nearer: 0 });
    for (end, taken) in graph.fan(node).iter().zip(&mut taken[graph.range(node)]) {
        let more = vectors.signs(&distances[end.to as usize], end.cost, here);
        // The first of the arcs that make it so near.
        let first = more.zero & !found;
        found |= first;
        chosen.other |= first ^ std::mem::replace(taken, first);
        chosen.nearer |= more.negative;
    }
    chosen
}

/// Whether [`choose_one`] would find in each lane the arc that is taken, and no other one as short: the usual case.
#[inline(always)]
fn is_unchanged(vectors: impl Vectors, graph: &Graph, distances: &[Distances], taken: &[Lanes], node: usize) -> bool {
    let here = vectors.load(&distances[node]);
    let mut differ = 0;
    for (end, taken) in graph.fan(node).iter().zip(&taken[graph.range(node)]) {
        let more = vectors.signs(&distances[end.to as usize], end.cost, here);
        differ |= more.negative | more.zero ^ taken;
    }
    differ == 0
}

/// For each lane the shortest distance over any of a node's arcs, or that which it has.
#[inline(always)]
fn shortest<V: Vectors>(vectors: V, distances: &[Distances], node: usize, fan: &[End]) -> V::Numbers {
    let mut best = vectors.load(&distances[node]);
    for end in fan {
        best = vectors.lesser(best, &distances[end.to as usize], end.cost);
    }
    best
}
