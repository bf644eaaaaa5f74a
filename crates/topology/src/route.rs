//! Shortest-delay routes: one search from each destination over the links that are up.

use crate::build::NODE_BITS;
use crate::{LinkId, NodeId};
use skyhop_base::Index;

/// One step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// The link to send on, …
    pub link: LinkId,
    /// … and the node at its far end.
    pub to: NodeId,
}

/// Next hops of all nodes towards the destinations asked for, in one flat table.
#[derive(Clone, Debug, Default)]
pub struct Forwarding {
    nodes: usize,
    /// Row by row, one per destination; [`Forwarding::NONE`] where there is no way.
    hops: Vec<Hop>,
}

impl Forwarding {
    pub(crate) const NONE: Hop = Hop { link: LinkId::new(u32::MAX), to: NodeId::new(u32::MAX) };

    /// Where `node` sends what is meant for the destination of this place in the list given to
    /// [`Topology::routes`](crate::Topology::routes). `None`: no way, or `node` is the destination.
    #[inline]
    pub fn next_hop(&self, destination_index: usize, node: NodeId) -> Option<Hop> {
        debug_assert!(node.index() < self.nodes);
        let hop = *self.hops.get(destination_index * self.nodes + node.index())?;
        (hop != Self::NONE).then_some(hop)
    }

    pub(crate) fn reset(&mut self, nodes: usize, destinations: usize) {
        self.nodes = nodes;
        self.hops.clear();
        self.hops.resize(nodes * destinations, Self::NONE);
    }

    pub(crate) fn row_mut(&mut self, destination_index: usize) -> &mut [Hop] {
        &mut self.hops[destination_index * self.nodes..][..self.nodes]
    }
}

/// A link that is up, seen from its far end.
#[derive(Clone, Copy, Debug)]
struct Arc {
    /// The link's near end: the node that would use it.
    from: u32,
    link: u32,
    delay_ns: u64,
}

/// A station that forwards nothing for others: it only looks at the satellite that serves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    pub node: NodeId,
    pub up: Hop,
    pub delay_ns: u64,
}

/// A link that is up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub from: NodeId,
    pub hop: Hop,
    pub delay_ns: u64,
}

/// The graph of one instant and the memory of the search, both reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Router {
    nodes: usize,
    pub edges: Vec<Edge>,
    pub leaves: Vec<Leaf>,
    /// Arcs by far end: those into node n are `arcs[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    arcs: Vec<Arc>,
    /// Delay from each node to the destination of the last search, in ns.
    distance: Vec<u64>,
    queue: Queue,
}

const UNREACHED: u64 = u64::MAX;
/// Delays that fit into a packed key; what is further away counts as out of reach.
const FURTHEST: u64 = 1 << (64 - NODE_BITS);

impl Router {
    pub fn new(nodes: usize) -> Router {
        Router { nodes, ..Router::default() }
    }

    /// Sorts `edges` by far end.
    pub fn arrange(&mut self) {
        self.starts.clear();
        self.starts.resize(self.nodes + 1, 0);
        for edge in &self.edges {
            self.starts[edge.hop.to.index() + 1] += 1;
        }
        for node in 0..self.nodes {
            self.starts[node + 1] += self.starts[node];
        }
        self.arcs.clear();
        self.arcs.resize(self.edges.len(), Arc { from: 0, link: 0, delay_ns: 0 });
        // Fills each node's arcs from the back, after which `starts` holds their beginnings again.
        for edge in &self.edges {
            let place = &mut self.starts[edge.hop.to.index() + 1];
            *place -= 1;
            self.arcs[*place as usize] =
                Arc { from: edge.from.as_u32(), link: edge.hop.link.as_u32(), delay_ns: edge.delay_ns };
        }
        self.starts.rotate_left(1);
        self.starts[self.nodes] = self.edges.len() as u32;
    }

    /// Dijkstra's search from `destination` against the direction of the links. Writes into `row`, which holds
    /// [`Forwarding::NONE`] everywhere, the first hop of every node. Of equal ways a node takes that over the neighbour of the lower
    /// [`NodeId`], and of parallel links that of the lower [`LinkId`]; ways through links without any delay only where
    /// they are shorter, since a tie over such a link could lead in a circle.
    pub fn search(&mut self, destination: NodeId, row: &mut [Hop]) {
        let Router { nodes, starts, arcs, distance, queue, leaves, .. } = self;
        distance.clear();
        distance.resize(*nodes, UNREACHED);
        distance[destination.index()] = 0;
        queue.clear();
        queue.push(u64::from(destination.as_u32()));
        while let Some(key) = queue.pop() {
            let (near, node) = (key >> NODE_BITS, (key & ((1 << NODE_BITS) - 1)) as usize);
            if near != distance[node] {
                continue;
            }
            for arc in &arcs[starts[node] as usize..starts[node + 1] as usize] {
                let (total, from) = (near + arc.delay_ns, arc.from as usize);
                let hop = Hop { link: LinkId::new(arc.link), to: NodeId::from_usize(node) };
                let known = distance[from];
                if total < known {
                    if total < FURTHEST {
                        distance[from] = total;
                        row[from] = hop;
                        queue.push(total << NODE_BITS | u64::from(arc.from));
                    }
                } else if total == known && arc.delay_ns > 0 && (hop.to, hop.link) < (row[from].to, row[from].link) {
                    row[from] = hop;
                }
            }
        }
        for leaf in leaves.iter().filter(|leaf| leaf.node != destination) {
            let beyond = distance[leaf.up.to.index()];
            if beyond != UNREACHED {
                distance[leaf.node.index()] = beyond + leaf.delay_ns;
                row[leaf.node.index()] = leaf.up;
            }
        }
    }
}

/// A heap of keys, the smallest on top. Four children per node: half as deep as a binary one, and the children share
/// a line of the cache.
#[derive(Clone, Debug, Default)]
struct Queue(Vec<u64>);

impl Queue {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn push(&mut self, key: u64) {
        let mut place = self.0.len();
        self.0.push(key);
        while place > 0 {
            let parent = (place - 1) / 4;
            if self.0[parent] <= key {
                break;
            }
            self.0[place] = self.0[parent];
            place = parent;
        }
        self.0[place] = key;
    }

    fn pop(&mut self) -> Option<u64> {
        let top = *self.0.first()?;
        let key = self.0.pop()?;
        let heap = &mut self.0[..];
        if heap.is_empty() {
            return Some(top);
        }
        let mut place = 0;
        loop {
            let first = 4 * place + 1;
            let Some(children) = heap.get(first..heap.len().min(first + 4)).filter(|c| !c.is_empty()) else { break };
            let mut least = 0;
            for child in 1..children.len() {
                if children[child] < children[least] {
                    least = child;
                }
            }
            if children[least] >= key {
                break;
            }
            heap[place] = children[least];
            place = first + least;
        }
        heap[place] = key;
        Some(top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Stream;

    #[test]
    fn the_queue_sorts() {
        let stream = Stream::new(3, "queue", "test");
        let mut keys: Vec<u64> = (0..1000).map(|n| stream.bits_at(n) % 500).collect();
        let mut queue = Queue::default();
        keys.iter().for_each(|&key| queue.push(key));
        keys.sort_unstable();
        let sorted: Vec<u64> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(sorted, keys);
    }

    /// Edges as (from, to, delay); a link's id is its place.
    fn router(nodes: usize, edges: &[(u32, u32, u64)]) -> Router {
        let mut router = Router::new(nodes);
        let edge = |(n, &(from, to, delay_ns)): (usize, &(u32, u32, u64))| Edge {
            from: NodeId::new(from),
            hop: Hop { link: LinkId::from_usize(n), to: NodeId::new(to) },
            delay_ns,
        };
        router.edges = edges.iter().enumerate().map(edge).collect();
        router.arrange();
        router
    }

    fn rows(router: &mut Router, destination: u32) -> Vec<Hop> {
        let mut row = vec![Forwarding::NONE; router.nodes];
        router.search(NodeId::new(destination), &mut row);
        row
    }

    #[test]
    fn searches_equal_floyd_and_warshall_on_random_graphs() {
        let mut stream = Stream::new(5, "route", "test");
        for _ in 0..200 {
            let nodes = 2 + (stream.uniform() * 30.0) as usize;
            let count = (stream.uniform() * 4.0 * nodes as f64) as usize;
            // Few different delays, so that there are many ties, and some of zero.
            let edges: Vec<(u32, u32, u64)> = (0..count)
                .map(|_| {
                    let mut node = || (stream.uniform() * nodes as f64) as u32;
                    (node(), node(), (stream.uniform() * 6.0) as u64)
                })
                .filter(|(from, to, _)| from != to)
                .collect();
            let mut all = vec![vec![UNREACHED; nodes]; nodes];
            (0..nodes).for_each(|n| all[n][n] = 0);
            for &(from, to, delay) in &edges {
                let entry = &mut all[from as usize][to as usize];
                *entry = delay.min(*entry);
            }
            for via in 0..nodes {
                for from in 0..nodes {
                    for to in 0..nodes {
                        all[from][to] = all[from][to].min(all[from][via].saturating_add(all[via][to]));
                    }
                }
            }
            let mut router = router(nodes, &edges);
            for to in 0..nodes {
                let row = rows(&mut router, to as u32);
                for from in 0..nodes {
                    assert_eq!(router.distance[from], all[from][to]);
                    // Following the hops takes exactly that long and ends.
                    let (mut at, mut sum, mut hops) = (from, 0, 0);
                    while at != to && row[at] != Forwarding::NONE {
                        let (near, far, delay) = edges[row[at].link.index()];
                        assert_eq!((near as usize, far), (at, row[at].to.as_u32()));
                        (at, sum, hops) = (far as usize, sum + delay, hops + 1);
                        assert!(hops < nodes, "no circles");
                    }
                    assert_eq!(at == to, all[from][to] != UNREACHED);
                    assert!(at != to || sum == all[from][to]);
                }
            }
        }
    }

    #[test]
    fn ties_go_to_the_lower_node_whatever_the_order_of_links() {
        //      1
        //   5 / \ 5
        //    0   3      both ways take 10; parallel links 0→1
        //   5 \ / 5
        //      2
        let edges = [(0, 2, 5), (2, 3, 5), (0, 1, 5), (0, 1, 5), (1, 3, 5)];
        let row = rows(&mut router(4, &edges), 3);
        assert_eq!(row[0], Hop { link: LinkId::new(2), to: NodeId::new(1) });
        let mut other = edges;
        other.reverse();
        assert_eq!(rows(&mut router(4, &other), 3)[0].to, NodeId::new(1));
    }

    #[test]
    fn directions_count_and_what_is_cut_off_has_no_route() {
        let mut router = router(4, &[(0, 1, 7), (1, 2, 1), (2, 0, 1)]);
        assert_eq!(rows(&mut router, 1)[2], Hop { link: LinkId::new(2), to: NodeId::new(0) });
        assert_eq!(rows(&mut router, 1)[1], Forwarding::NONE);
        assert_eq!(rows(&mut router, 1)[3], Forwarding::NONE);
    }
}
