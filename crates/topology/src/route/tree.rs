//! The shortest ways to one node: found by a search, and renewed when delays or links have changed.
//!
//! Among equally short ways a node takes the arc of the lowest place, that is over the neighbour of the lower
//! [`NodeId`](crate::NodeId), and of parallel links that of the lower [`LinkId`](crate::LinkId). So the tree depends on
//! the graph alone, not on how it was found.

use super::buckets::Buckets;
use super::graph::{Graph, NARROW_COST, NO_ARC};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// More than any distance: a path has 2²⁰ arcs of 2⁴³ ns at most.
pub(super) const UNREACHED: u64 = u64::MAX;
const NO_PLACE: u32 = u32::MAX;

/// Trees that are renewed together: as many distances as a cache line holds.
pub(super) const LANES: usize = 16;
/// In place of [`UNREACHED`] in a renewal, in ns: one more arc must not overflow.
pub(super) const FAR: i32 = i32::MAX - NARROW_COST;

/// Dijkstra's search, and what it found.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    pub queue: Buckets,
    /// For each node the arc that it takes towards the root; [`NO_ARC`] for the root and for nodes without a route.
    pub parent: Vec<u32>,
    /// The distance to the root; [`UNREACHED`] without a route.
    pub distance: Vec<u64>,
    /// The distance with which a node was visited last.
    visited: Vec<u64>,
    /// Visits: node and distance.
    visits: Vec<(u32, u64)>,
}

impl Search {
    /// Goes from `root` against the direction of the links.
    pub fn run(&mut self, graph: &Graph, root: u32) {
        let Search { queue, parent, distance, visited, visits } = self;
        let nodes = graph.nodes();
        for list in [&mut *distance, visited] {
            list.clear();
            list.resize(nodes, UNREACHED);
        }
        parent.clear();
        parent.resize(nodes, NO_ARC);
        visits.clear();
        distance[root as usize] = 0;
        queue.start(root);
        while let Some(node) = queue.next(distance) {
            let near = distance[node as usize];
            // A node may wait twice in a bucket.
            if std::mem::replace(&mut visited[node as usize], near) == near {
                continue;
            }
            visits.push((node, near));
            for entry in graph.arcs_into(node as usize) {
                let (total, from) = (near + entry.cost, entry.from as usize);
                let known = distance[from];
                if total < known {
                    distance[from] = total;
                    parent[from] = entry.arc;
                    queue.improve(entry.from, known, total);
                } else if total == known && entry.arc < parent[from] {
                    parent[from] = entry.arc;
                }
            }
        }
    }
}

/// A node of a tree and the arc to its parent.
#[derive(Clone, Copy, Debug)]
struct Step {
    node: u32,
    /// The parent; the place behind the last node if it has lost its way.
    to: u32,
    /// The place behind the last arc if it has lost its way.
    arc: u32,
}

/// For each node the arc that it takes towards the root, in an order in which parents come first.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// The shape of the graph in which it was found; 0 if it is not to be renewed.
    shape: u64,
    /// The root, unless nobody needs the tree.
    pub root: Option<u32>,
    steps: Vec<Step>,
    /// For each node its place among the steps, or [`NO_PLACE`].
    places: Vec<u32>,
}

impl Tree {
    /// Takes over what a search has found, if it can be renewed.
    pub fn keep(&mut self, graph: &Graph, root: u32, found: &Search) {
        self.root = Some(root);
        self.shape = if graph.is_narrow() { graph.shape } else { 0 };
        self.places.clear();
        self.steps.clear();
        if self.shape == 0 {
            return;
        }
        self.places.resize(graph.nodes(), NO_PLACE);
        // Only the last visit of a node counts, and the root has no parent.
        let last = |&&(node, distance): &&(u32, u64)| node != root && found.distance[node as usize] == distance;
        for &(node, _) in found.visits.iter().filter(last) {
            let arc = found.parent[node as usize];
            self.steps.push(Step { node, to: graph.arcs[arc as usize].to, arc });
        }
        self.number();
    }

    /// Whether it can be renewed.
    pub fn fits(&self, graph: &Graph) -> bool {
        self.shape != 0 && graph.is_narrow() && (self.shape == graph.shape || self.shape == graph.shape_before)
    }

    /// The arc that a node takes, if there is one.
    pub fn parent(&self, graph: &Graph, node: usize) -> Option<u32> {
        let step = self.steps.get(*self.places.get(node)? as usize)?;
        ((step.arc as usize) < graph.arcs.len()).then_some(step.arc)
    }

    /// The distances of its nodes now, the place behind the last one included. Adds those without a way to `changed`.
    /// Returns the longest.
    fn walk(&mut self, graph: &Graph, distance: &mut Vec<i32>, changed: &mut Vec<u32>) -> i32 {
        if self.shape != graph.shape {
            self.shape = graph.shape;
            for step in &mut self.steps {
                step.arc = graph.moved[step.arc as usize];
                if step.arc as usize == graph.arcs.len() {
                    step.to = graph.nodes() as u32;
                }
            }
        }
        distance.clear();
        distance.resize(graph.nodes() + 1, FAR);
        if let Some(root) = self.root {
            distance[root as usize] = 0;
        }
        let mut longest = 0;
        for step in &mut self.steps {
            let total = distance[step.to as usize] + graph.costs[step.arc as usize];
            if total < FAR {
                distance[step.node as usize] = total;
                longest = longest.max(total);
            } else {
                // Its link is gone, or another one on its path.
                (step.to, step.arc) = (graph.nodes() as u32, graph.arcs.len() as u32);
                changed.push(step.node);
            }
        }
        longest
    }

    /// Gives a node a parent. Returns whether parents still come first.
    fn lead(&mut self, graph: &Graph, node: u32, arc: u32) -> bool {
        let to = graph.arcs[arc as usize].to;
        let place = self.places[node as usize];
        match self.steps.get_mut(place as usize) {
            Some(step) => {
                (step.to, step.arc) = (to, arc);
                Some(to) == self.root || self.places[to as usize] < place
            }
            None => {
                self.places[node as usize] = self.steps.len() as u32;
                self.steps.push(Step { node, to, arc });
                false
            }
        }
    }

    /// Orders the steps by distance.
    fn sort(&mut self, graph: &Graph, distance: &[i32]) {
        self.steps.retain(|step| (step.arc as usize) < graph.arcs.len());
        self.steps.sort_unstable_by_key(|step| distance[step.node as usize]);
        self.number();
    }

    fn number(&mut self) {
        self.places.fill(NO_PLACE);
        for (place, step) in self.steps.iter().enumerate() {
            self.places[step.node as usize] = place as u32;
        }
    }
}

/// One of the trees that are renewed together.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    /// The distance to the root, in ns; [`FAR`] without a route.
    pub distance: Vec<i32>,
    /// Nodes whose parent has changed, some of them several times.
    pub changed: Vec<u32>,
    longest: i32,
    in_order: bool,
}

/// Renews up to [`LANES`] trees after changes of the graph.
///
/// The ways of the old tree, with what they cost now, are an upper bound. A node with an arc over which it would be
/// nearer improves it, and so do those behind it in turn, the nearest first. Where nothing is nearer and nothing
/// equally near, the tree is still the shortest. Looking for such arcs is most of the work, so several trees look at
/// an arc at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Renewal {
    pub lanes: Vec<Lane>,
    /// For each node the distances of all lanes.
    distances: Vec<[i32; LANES]>,
    /// Nodes that may have a better arc than that to their parent, and in which lane.
    suspects: Vec<(u32, usize)>,
    heap: BinaryHeap<Reverse<(i32, u32)>>,
}

impl Renewal {
    /// Renews these trees; returns which of them must be searched anew, because a path is too long for this.
    pub fn run(&mut self, graph: &Graph, trees: &mut [&mut Tree]) -> [bool; LANES] {
        self.lanes.resize(LANES, Lane::default());
        self.distances.resize(graph.nodes(), [0; LANES]);
        for (n, (tree, lane)) in trees.iter_mut().zip(&mut self.lanes).enumerate() {
            lane.changed.clear();
            lane.in_order = true;
            lane.longest = tree.walk(graph, &mut lane.distance, &mut lane.changed);
            for (row, &distance) in self.distances.iter_mut().zip(&lane.distance) {
                row[n] = distance;
            }
        }
        self.find_suspects(graph, trees.len());
        for place in 0..self.suspects.len() {
            let (node, lane) = self.suspects[place];
            self.repair(graph, node, trees[lane], lane);
        }
        let mut too_long = [false; LANES];
        for (n, (tree, lane)) in trees.iter_mut().zip(&self.lanes).enumerate() {
            if !lane.in_order {
                tree.sort(graph, &lane.distance);
            }
            // Else a node could be beyond the reach of 32 bits.
            too_long[n] = lane.longest >= FAR - NARROW_COST;
        }
        too_long
    }

    /// Nodes with an arc besides that to their parent over which they are as near or nearer.
    fn find_suspects(&mut self, graph: &Graph, lanes: usize) {
        let Renewal { distances, suspects, .. } = self;
        suspects.clear();
        for (node, fan) in graph.fans() {
            let here = &distances[node];
            let ways = ways(distances, here, fan);
            // One way is that over the parent, if there is one.
            let better = |lane: usize| ways[lane] > i32::from(here[lane] < FAR);
            if (0..LANES).fold(false, |any, lane| any | better(lane)) {
                suspects.extend((0..lanes).filter(|&lane| better(lane)).map(|lane| (node as u32, lane)));
            }
        }
    }

    /// Gives a node the best of its arcs, and tells those behind it if it has come nearer.
    fn repair(&mut self, graph: &Graph, node: u32, tree: &mut Tree, lane: usize) {
        let heap = &mut self.heap;
        let Lane { distance, changed, longest, in_order } = &mut self.lanes[lane];
        let ways = graph.out(node as usize).map(|(place, arc)| (distance[arc.to as usize] + arc.cost as i32, place));
        let known = distance[node as usize];
        let Some((total, arc)) = ways.min().filter(|&(total, _)| total <= known && total < FAR) else { return };
        *in_order &= tree.lead(graph, node, arc);
        changed.push(node);
        if total == known {
            return;
        }
        distance[node as usize] = total;
        *longest = (*longest).max(total);
        heap.push(Reverse((total, node)));
        while let Some(Reverse((near, node))) = heap.pop() {
            if distance[node as usize] < near {
                continue;
            }
            for entry in graph.arcs_into(node as usize) {
                let (total, from) = (near + entry.cost as i32, entry.from as usize);
                let known = distance[from];
                if total >= FAR {
                    continue;
                }
                if total < known {
                    distance[from] = total;
                    *longest = (*longest).max(total);
                    heap.push(Reverse((total, entry.from)));
                }
                let tie = || tree.parent(graph, from).is_some_and(|parent| entry.arc < parent);
                if total < known || total == known && tie() {
                    *in_order &= tree.lead(graph, entry.from, entry.arc);
                    changed.push(entry.from);
                }
            }
        }
    }
}

/// For each lane the number of arcs over which a node is as near as it is or nearer. Bit operations instead of
/// comparisons and plain loops let the compiler take several lanes at once.
#[inline(never)]
fn ways(distances: &[[i32; LANES]], here: &[i32; LANES], fan: &[(u32, i32)]) -> [i32; LANES] {
    let mut ways = [0; LANES];
    for &(to, cost) in fan {
        let there = &distances[to as usize];
        for lane in 0..LANES {
            // The sign bit is set where this path is longer.
            ways[lane] += 1 + ((here[lane] - there[lane] - cost) >> 31);
        }
    }
    ways
}
