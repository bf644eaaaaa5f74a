//! The shortest ways to one node: found by a search, and renewed when delays or links have changed.
//!
//! Among equally short ways a node takes the arc of the lowest place, that is over the neighbour of the lower
//! [`NodeId`](crate::NodeId), and of parallel links that of the lower [`LinkId`](crate::LinkId). So the tree depends on
//! the graph alone, not on how it was found.

use super::buckets::Buckets;
use super::graph::{Graph, NO_ARC};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// More than any distance, with room for one more arc: a path has 2²⁰ arcs of 2⁴³ ns at most.
pub(super) const UNREACHED: u64 = 3 << 62;
const NO_PLACE: u32 = u32::MAX;

/// For each node the arc that it takes towards the root.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// The shape of the graph in which it was found.
    shape: u64,
    pub root: u32,
    /// [`NO_ARC`] for the root and where there is no way.
    pub parent: Vec<u32>,
    /// To the root; [`UNREACHED`] where there is no way.
    pub distance: Vec<u64>,
    /// All nodes with a parent, each behind its parent, …
    order: Vec<u32>,
    /// … and each node's place in this order.
    place: Vec<u32>,
}

/// Memory of the search and the renewal, reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Workspace {
    pub queue: Buckets,
    /// The distance with which a node was visited last.
    visited: Vec<u64>,
    /// Nodes with a shorter or an equally short way than that of their parent.
    suspects: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// Nodes whose parent has changed, some of them several times.
    pub changed: Vec<u32>,
}

impl Tree {
    /// Whether [`Tree::renew`] can start from what is known.
    pub fn fits(&self, graph: &Graph, root: u32) -> bool {
        self.root == root && self.shape != 0 && (self.shape == graph.shape || self.shape == graph.shape_before)
    }

    /// Dijkstra's search from `root` against the direction of the links.
    pub fn search(&mut self, graph: &Graph, root: u32, work: &mut Workspace) {
        (self.root, self.shape) = (root, graph.shape);
        let Workspace { queue, visited, .. } = work;
        let Tree { parent, distance, order, place, .. } = self;
        let nodes = graph.nodes();
        fn fill<T: Clone>(list: &mut Vec<T>, nodes: usize, value: T) {
            list.clear();
            list.resize(nodes, value);
        }
        fill(distance, nodes, UNREACHED);
        fill(visited, nodes, UNREACHED);
        fill(parent, nodes, NO_ARC);
        fill(place, nodes, NO_PLACE);
        order.clear();
        distance[root as usize] = 0;
        queue.start(root);
        while let Some(node) = queue.next(distance) {
            let near = distance[node as usize];
            // A node may wait twice in a bucket.
            if std::mem::replace(&mut visited[node as usize], near) == near {
                continue;
            }
            place[node as usize] = order.len() as u32;
            order.push(node);
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
        // Only the last visit of a node counts. The root, the first, has no parent.
        let mut at = 0;
        order.retain(|&node| {
            at += 1;
            place[node as usize] == at - 1 && node != root
        });
        place[root as usize] = NO_PLACE;
        number(order, place);
    }

    /// Renews the tree after changes of the graph. The ways of the old tree, with what they cost now, are an upper bound;
    /// a node with an arc over which it would be nearer improves it, and so do those behind it in turn, the nearest
    /// first. Where nothing is nearer and nothing equally near the tree is still the shortest.
    pub fn renew(&mut self, graph: &Graph, work: &mut Workspace) {
        work.changed.clear();
        let Tree { parent, distance, order, .. } = self;
        if self.shape != graph.shape {
            self.shape = graph.shape;
            for arc in parent.iter_mut().filter(|arc| **arc != NO_ARC) {
                *arc = graph.moved[*arc as usize];
            }
        }
        for &node in order.iter() {
            let way = graph.arcs.get(parent[node as usize] as usize);
            let total = way.map_or(UNREACHED, |arc| distance[arc.to as usize] + arc.cost);
            distance[node as usize] = total;
            if total >= UNREACHED {
                // Its link is gone, or one on its way.
                distance[node as usize] = UNREACHED;
                parent[node as usize] = NO_ARC;
                work.changed.push(node);
            }
        }
        self.find_suspects(graph, &mut work.suspects);
        if !work.suspects.is_empty() {
            self.repair(graph, work);
        }
    }

    /// Nodes with an arc besides that to their parent over which they are as near or nearer.
    fn find_suspects(&self, graph: &Graph, suspects: &mut Vec<u32>) {
        let Tree { distance, parent, .. } = self;
        // The length is a count without branches: few nodes are suspects, but nobody knows which.
        suspects.resize(graph.nodes() + 1, 0);
        let mut count = 0;
        for ((node, fan), (&far, &parent)) in (0..).zip(graph.fans()).zip(distance.iter().zip(parent)) {
            let near = |arc: &super::graph::Arc| u32::from(distance[arc.to as usize] + arc.cost <= far);
            let ways: u32 = fan.iter().map(near).sum();
            suspects[count] = node;
            count += usize::from(ways > u32::from(parent != NO_ARC));
        }
        suspects.truncate(count);
    }

    fn repair(&mut self, graph: &Graph, work: &mut Workspace) {
        let Workspace { suspects, heap, changed, .. } = work;
        let mut in_order = true;
        for &node in suspects.iter() {
            let known = self.distance[node as usize];
            let ways = graph.out(node as usize).map(|(place, arc)| (self.distance[arc.to as usize] + arc.cost, place));
            let Some((total, arc)) = ways.min().filter(|&(total, _)| total <= known) else { continue };
            if total < known {
                self.distance[node as usize] = total;
                heap.push(Reverse((total, node)));
            }
            in_order &= self.lead(graph, node, arc, changed);
        }
        while let Some(Reverse((near, node))) = heap.pop() {
            if self.distance[node as usize] < near {
                continue;
            }
            for entry in graph.arcs_into(node as usize) {
                let (total, known) = (near + entry.cost, self.distance[entry.from as usize]);
                if total < known {
                    self.distance[entry.from as usize] = total;
                    heap.push(Reverse((total, entry.from)));
                }
                if total < known || total == known && entry.arc < self.parent[entry.from as usize] {
                    in_order &= self.lead(graph, entry.from, entry.arc, changed);
                }
            }
        }
        if !in_order {
            self.sort();
        }
    }

    /// Gives a node a parent; says whether the order is still right.
    fn lead(&mut self, graph: &Graph, node: u32, arc: u32, changed: &mut Vec<u32>) -> bool {
        if std::mem::replace(&mut self.parent[node as usize], arc) == arc {
            return true;
        }
        changed.push(node);
        let to = graph.arcs[arc as usize].to;
        let place = self.place[node as usize];
        place != NO_PLACE && (to == self.root || self.place[to as usize] < place)
    }

    /// Orders the nodes by distance.
    fn sort(&mut self) {
        let Tree { order, place, parent, distance, .. } = self;
        order.clear();
        order.extend((0..parent.len() as u32).filter(|&node| parent[node as usize] != NO_ARC));
        order.sort_unstable_by_key(|&node| distance[node as usize]);
        place.fill(NO_PLACE);
        number(order, place);
    }
}

fn number(order: &[u32], place: &mut [u32]) {
    order.iter().enumerate().for_each(|(at, &node)| place[node as usize] = at as u32);
}
