//! Shortest-delay routes: one search from each destination over the links that are up.

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

/// Next hops of all nodes towards the destinations asked for.
///
/// A destination that only one link leads to is reached over that link's near end, its gateway, and all others reach
/// it as they reach the gateway. So the ends of a thousand flows behind one router share one row.
#[derive(Clone, Debug, Default)]
pub struct Forwarding {
    nodes: usize,
    destinations: Vec<Target>,
    /// Row by row; [`Forwarding::NONE`] where there is no way.
    hops: Vec<Hop>,
}

/// How a destination is reached.
#[derive(Clone, Copy, Debug)]
struct Target {
    node: NodeId,
    /// Where its row begins.
    row: u32,
    /// The node that does not follow the row, …
    gateway: NodeId,
    /// … but takes this link; both are [`Forwarding::NONE`]'s if every node follows it.
    last: Hop,
}

impl Forwarding {
    pub(crate) const NONE: Hop = Hop { link: LinkId::new(u32::MAX), to: NodeId::new(u32::MAX) };

    /// Where `node` sends what is meant for the destination of this place in the list given to
    /// [`Topology::routes`](crate::Topology::routes). `None`: no way, or `node` is the destination.
    #[inline]
    pub fn next_hop(&self, destination_index: usize, node: NodeId) -> Option<Hop> {
        debug_assert!(node.index() < self.nodes);
        let target = self.destinations.get(destination_index)?;
        let hop = if node == target.gateway {
            target.last
        } else if node == target.node {
            return None;
        } else {
            *self.hops.get(target.row as usize + node.index())?
        };
        (hop != Self::NONE).then_some(hop)
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
    /// Links without any delay count as 1 ns, so that of equal ways the one with fewer of them is taken and no way
    /// leads in a circle.
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
    /// What each link costs besides its delay: 0, or [`HOP_PENALTY`].
    pub penalty: u64,
    /// Delay from each node to the destination of the last search, in ns.
    distance: Vec<u64>,
    queue: Buckets,
    /// Where the row of each node begins that has been searched from since the graph was drawn.
    rows: Vec<u32>,
}

const UNREACHED: u64 = u64::MAX;
/// A link more must weigh more than any sum of delays, and the longest way (2²⁰ nodes) must fit into 64 bits. So fewest
/// hops win while a path takes less than 2⁴³ ns, 2.4 h.
pub(crate) const HOP_PENALTY: u64 = 1 << 43;

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
            self.arcs[*place as usize] = Arc {
                from: edge.from.as_u32(),
                link: edge.hop.link.as_u32(),
                delay_ns: edge.delay_ns.max(1) + self.penalty,
            };
        }
        self.starts.rotate_left(1);
        self.starts[self.nodes] = self.edges.len() as u32;
        let delays = || self.arcs.iter().map(|arc| arc.delay_ns);
        self.queue.fit(delays().min().unwrap_or(1), delays().max().unwrap_or(1));
    }

    /// Renews `out` for these destinations.
    pub fn fill(&mut self, destinations: &[NodeId], out: &mut Forwarding) {
        const UNSEARCHED: u32 = u32::MAX;
        out.nodes = self.nodes;
        out.hops.clear();
        out.destinations.clear();
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        rows.resize(self.nodes, UNSEARCHED);
        let mut serves_leaves = vec![false; self.nodes];
        self.leaves.iter().for_each(|leaf| serves_leaves[leaf.up.to.index()] = true);
        for &node in destinations {
            let (root, gateway, last) = match self.only_arc_into(node) {
                Some(arc) if !serves_leaves[node.index()] => {
                    let gateway = NodeId::new(arc.from);
                    (gateway, gateway, Hop { link: LinkId::new(arc.link), to: node })
                }
                _ => (node, Forwarding::NONE.to, Forwarding::NONE),
            };
            let row = &mut rows[root.index()];
            if *row == UNSEARCHED {
                let begin = out.hops.len();
                *row = begin as u32;
                out.hops.resize(begin + self.nodes, Forwarding::NONE);
                self.search(root, &mut out.hops[begin..]);
            }
            out.destinations.push(Target { node, row: *row, gateway, last });
        }
        self.rows = rows;
    }

    /// The arc that everything to `node` must take, leaves apart.
    fn only_arc_into(&self, node: NodeId) -> Option<Arc> {
        match self.arcs[self.starts[node.index()] as usize..self.starts[node.index() + 1] as usize] {
            [arc] => Some(arc),
            _ => None,
        }
    }

    /// Dijkstra's search from `destination` against the direction of the links. Writes into `row`, which holds
    /// [`Forwarding::NONE`] everywhere, the first hop of every node. Of equal ways a node takes that over the
    /// neighbour of the lower [`NodeId`], and of parallel links that of the lower [`LinkId`], whatever the order of
    /// the links.
    pub fn search(&mut self, destination: NodeId, row: &mut [Hop]) {
        let Router { nodes, starts, arcs, distance, queue, leaves, .. } = self;
        distance.clear();
        distance.resize(*nodes, UNREACHED);
        distance[destination.index()] = 0;
        queue.start(destination.as_u32());
        while let Some(node) = queue.next(distance) {
            let near = distance[node as usize];
            for arc in &arcs[starts[node as usize] as usize..starts[node as usize + 1] as usize] {
                let (total, from) = (near + arc.delay_ns, arc.from as usize);
                let hop = Hop { link: LinkId::new(arc.link), to: NodeId::new(node) };
                let known = distance[from];
                if total < known {
                    distance[from] = total;
                    row[from] = hop;
                    queue.improve(arc.from, known, total);
                } else if total == known && (hop.to, hop.link) < (row[from].to, row[from].link) {
                    row[from] = hop;
                }
            }
        }
        for leaf in leaves.iter().filter(|leaf| leaf.node != destination) {
            let beyond = distance[leaf.up.to.index()];
            if beyond == UNREACHED {
                continue;
            }
            // The antenna with the shortest path.
            let (total, node) = (beyond + leaf.delay_ns, leaf.node.index());
            let better = (leaf.up.to, leaf.up.link) < (row[node].to, row[node].link);
            if total < distance[node] || total == distance[node] && better {
                (distance[node], row[node]) = (total, leaf.up);
            }
        }
    }
}

/// Nodes by distance, in buckets as wide as the shortest link or less (R. B. Dial, "Shortest-path forest with
/// topological ordering", Communications of the ACM 12, 1969). Then no node of a bucket improves another one of it, so
/// they need no order, and what a heap spends on order is saved. Where links differ by more than [`MOST_BUCKETS`] the
/// buckets are wider; a node that is improved within its bucket is then visited again, and the result is the same.
#[derive(Clone, Debug, Default)]
struct Buckets {
    /// A ring: the distance d belongs into `ring[(d >> shift) % ring.len()]`. Its length is a power of two.
    ring: Vec<Vec<u32>>,
    shift: u32,
    /// The bucket that is emptied now: d >> shift of its nodes.
    current: u64,
    /// Entries in all buckets, outdated ones included.
    entries: usize,
}

const MOST_BUCKETS: u64 = 4096;

impl Buckets {
    /// Makes place for links of these delays in ns.
    fn fit(&mut self, shortest: u64, longest: u64) {
        self.shift = shortest.max(longest / MOST_BUCKETS).max(1).ilog2();
        // What a node of the current bucket reaches lies up to this many buckets ahead.
        let span = (longest >> self.shift) as usize + 2;
        self.ring.resize(span.next_power_of_two().max(self.ring.len()), Vec::new());
    }

    fn start(&mut self, node: u32) {
        debug_assert_eq!(self.entries, 0);
        self.current = 0;
        self.put(node, 0);
    }

    #[inline]
    fn put(&mut self, node: u32, bucket: u64) {
        let place = bucket as usize & (self.ring.len() - 1);
        self.ring[place].push(node);
        self.entries += 1;
    }

    /// The distance of `node` fell from `old` to `new`.
    #[inline]
    fn improve(&mut self, node: u32, old: u64, new: u64) {
        let bucket = new >> self.shift;
        // It waits there already, unless it has been visited in the bucket that is emptied now.
        if old >> self.shift != bucket || bucket == self.current {
            self.put(node, bucket);
        }
    }

    /// A node to visit: none that is left is nearer, but for those of its bucket.
    #[inline]
    fn next(&mut self, distance: &[u64]) -> Option<u32> {
        while self.entries > 0 {
            let place = self.current as usize & (self.ring.len() - 1);
            match self.ring[place].pop() {
                None => self.current += 1,
                Some(node) => {
                    self.entries -= 1;
                    // Else it has been improved since and was visited in a nearer bucket.
                    if distance[node as usize] >> self.shift == self.current {
                        return Some(node);
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Stream;

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

    fn triples(n: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..n * n * n).map(move |k| (k / (n * n), k / n % n, k % n))
    }

    #[test]
    fn searches_equal_floyd_and_warshall_on_random_graphs() {
        let mut stream = Stream::new(5, "route", "test");
        for round in 0..300 {
            let nodes = 2 + (stream.uniform() * 30.0) as usize;
            let count = (stream.uniform() * 4.0 * nodes as f64) as usize;
            // Few different delays, so that there are many ties; alike, or from a nanosecond to an hour.
            let delay = |u: f64| if round % 2 == 0 { 7 + (u * 6.0) as u64 } else { 1 << (u * 42.0) as u32 };
            let edges: Vec<(u32, u32, u64)> = (0..count)
                .map(|_| {
                    let mut node = || (stream.uniform() * nodes as f64) as u32;
                    (node(), node(), delay(stream.uniform()))
                })
                .filter(|(from, to, _)| from != to)
                .collect();
            let mut all = vec![vec![UNREACHED; nodes]; nodes];
            (0..nodes).for_each(|n| all[n][n] = 0);
            for &(from, to, delay) in &edges {
                let entry = &mut all[from as usize][to as usize];
                *entry = delay.min(*entry);
            }
            for (via, from, to) in triples(nodes) {
                all[from][to] = all[from][to].min(all[from][via].saturating_add(all[via][to]));
            }
            let mut router = router(nodes, &edges);
            for to in 0..nodes {
                let row = rows(&mut router, to as u32);
                for (from, known) in all.iter().map(|row| row[to]).enumerate() {
                    assert_eq!(router.distance[from], known);
                    // Following the hops takes exactly that long and ends.
                    let (mut at, mut sum, mut hops) = (from, 0, 0);
                    while at != to && row[at] != Forwarding::NONE {
                        let (near, far, delay) = edges[row[at].link.index()];
                        assert_eq!((near as usize, far), (at, row[at].to.as_u32()));
                        (at, sum, hops) = (far as usize, sum + delay, hops + 1);
                        assert!(hops < nodes, "no circles");
                    }
                    assert_eq!(at == to, known != UNREACHED);
                    assert!(at != to || sum == known);
                }
            }
        }
    }

    /// Rows shared over gateways say the same as a search from each destination.
    #[test]
    fn shared_rows_equal_searches() {
        let mut stream = Stream::new(6, "route", "shared");
        let mut shared = 0;
        for _ in 0..300 {
            let nodes = 3 + (stream.uniform() * 20.0) as usize;
            let count = (stream.uniform() * 3.0 * nodes as f64) as usize;
            let mut node = || (stream.uniform() * nodes as f64) as u32;
            let mut edges: Vec<(u32, u32, u64)> = (0..count).map(|n| (node(), node(), 5 + n as u64 % 3)).collect();
            edges.retain(|(from, to, _)| from != to);
            // One station that forwards nothing, with two antennas.
            let station = nodes as u32;
            let mut router = router(nodes + 1, &edges);
            router.leaves = [node(), node()]
                .iter()
                .enumerate()
                .map(|(n, &satellite)| Leaf {
                    node: NodeId::new(station),
                    up: Hop { link: LinkId::from_usize(edges.len() + n), to: NodeId::new(satellite) },
                    delay_ns: 4 + n as u64,
                })
                .collect();
            let destinations: Vec<NodeId> = (0..=station).map(NodeId::new).collect();
            let mut forwarding = Forwarding::default();
            router.fill(&destinations, &mut forwarding);
            for (index, &to) in destinations.iter().enumerate() {
                let row = rows(&mut router, to.as_u32());
                for &from in &destinations {
                    let searched = Some(row[from.index()]).filter(|&hop| from != to && hop != Forwarding::NONE);
                    assert_eq!(forwarding.next_hop(index, from), searched);
                }
            }
            shared += destinations.len() - forwarding.hops.len() / router.nodes;
        }
        assert!(shared > 300, "{shared}");
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
    fn links_without_delay_lead_in_no_circle() {
        //    0 ══ 1 ── 2        both directions of 0 ══ 1 take no time
        let mut router = router(3, &[(0, 1, 0), (1, 0, 0), (1, 2, 5), (2, 1, 5)]);
        let row = rows(&mut router, 2);
        assert_eq!((row[0].to, row[1].to), (NodeId::new(1), NodeId::new(2)));
        assert_eq!(rows(&mut router, 0)[2].to, NodeId::new(1));
    }

    #[test]
    fn directions_count_and_what_is_cut_off_has_no_route() {
        let mut router = router(4, &[(0, 1, 7), (1, 2, 1), (2, 0, 1)]);
        assert_eq!(rows(&mut router, 1)[2], Hop { link: LinkId::new(2), to: NodeId::new(0) });
        assert_eq!(rows(&mut router, 1)[1], Forwarding::NONE);
        assert_eq!(rows(&mut router, 1)[3], Forwarding::NONE);
    }
}
