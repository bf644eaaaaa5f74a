//! A search for the shortest paths to one node.
//!
//! Among equally short paths a node takes the arc of the lowest place, that is over the neighbour of the lower
//! [`NodeId`](crate::NodeId), and of parallel links that of the lower [`LinkId`](crate::LinkId). So the routes depend
//! on the graph alone, not on how they were found.

use super::buckets::Buckets;
use super::graph::{Graph, NO_ARC};

/// More than any distance: a path has 2²⁰ arcs of 2⁴³ ns at most.
pub(super) const UNREACHED: u64 = u64::MAX;

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
}

impl Search {
    /// Goes from `root` against the direction of the links.
    pub fn run(&mut self, graph: &Graph, root: u32) {
        let Search { queue, parent, distance, visited } = self;
        let nodes = graph.nodes();
        for list in [&mut *distance, visited] {
            list.clear();
            list.resize(nodes, UNREACHED);
        }
        parent.clear();
        parent.resize(nodes, NO_ARC);
        distance[root as usize] = 0;
        queue.start(root);
        while let Some(node) = queue.next(distance) {
            let near = distance[node as usize];
            // A node may wait twice in a bucket.
            if std::mem::replace(&mut visited[node as usize], near) == near {
                continue;
            }
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
