//! Shortest-delay routes to each destination over the links that are up: by one search from each in a network that
//! stays as it is, by sweeps for sixteen at a time in one that changes.

mod buckets;
mod graph;
mod group;
mod renewal;
mod search;
mod sweep;
mod table;
#[cfg(test)]
mod tests;

use crate::{LinkId, NodeId};
use graph::Graph;
pub(crate) use graph::{Edge, Leaf};
use group::Group;
use search::{Search, UNREACHED};
use skyhop_base::Index;
use std::sync::Arc;
use sweep::Sweep;
use table::{BLOCK_ROWS, Block, Table};

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
    table: Table,
    /// What the rows were found with, sixteen at a time; none if nothing will change.
    groups: Vec<Group>,
    /// Number of the shape of the graph of the rows.
    shape: u64,
    /// The leaves of the instant of the rows, and the hop of those that have the same one in all rows.
    leaves: Vec<(NodeId, Option<Hop>)>,
}

/// How a destination is reached.
#[derive(Clone, Copy, Debug)]
struct Target {
    node: NodeId,
    /// Where its row begins: [`Table::begin`].
    begin: usize,
    /// The node that does not follow the row, …
    gateway: NodeId,
    /// … but takes this link; both are [`Forwarding::NONE`]'s if every node follows it.
    last: Hop,
}

impl Forwarding {
    pub(crate) const NONE: Hop = Table::NONE;

    /// Fetches what [`Forwarding::next_hop`] will read.
    #[inline]
    pub fn fetch(&self, destination_index: usize, node: NodeId) {
        if let Some(target) = self.destinations.get(destination_index) {
            self.table.fetch(target.begin, node.index());
        }
    }

    /// Where `node` sends what is meant for the destination of this place in the list given to
    /// [`Topology::routes`](crate::Topology::routes). `None`: no route, or `node` is the destination.
    #[inline]
    pub fn next_hop(&self, destination_index: usize, node: NodeId) -> Option<Hop> {
        let (link, end) = self.next_link(destination_index, node)?;
        Some(Hop { link, to: end.unwrap_or_else(|| self.table.far_end(link)) })
    }

    /// [`Forwarding::next_hop`] for a caller that keeps the far ends of links with the links: an end comes with the
    /// link only where it changes. The table of ends would be one more cache line for each hop.
    #[inline(always)]
    pub fn next_link(&self, destination_index: usize, node: NodeId) -> Option<(LinkId, Option<NodeId>)> {
        debug_assert!(node.index() < self.nodes);
        let target = self.destinations.get(destination_index)?;
        if node == target.gateway {
            (target.last != Self::NONE).then_some((target.last.link, Some(target.last.to)))
        } else if node == target.node {
            None
        } else {
            self.table.get_link(target.begin, node.index())
        }
    }
}

impl Target {
    /// The node to which its row leads.
    fn root(&self) -> NodeId {
        if self.last == Forwarding::NONE { self.node } else { self.gateway }
    }
}

/// No destination needs the row of a node, …
const NO_ROW: u32 = u32::MAX;
/// … or one does, and it is still open.
const WANTED: u32 = u32::MAX - 1;

/// The graph of one instant and the memory of the search, both reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Router {
    graph: Graph,
    pub edges: Vec<Edge>,
    pub leaves: Vec<Leaf>,
    /// What each link costs besides its delay: 0, or [`HOP_PENALTY`].
    pub penalty: u64,
    worker: Worker,
    /// For each thread that helps in a renewal.
    helpers: Vec<Worker>,
    /// A thread more must have so many nodes times groups to renew.
    pub least_share: usize,
    /// The most threads that a renewal has used.
    pub most_threads: usize,
    /// For each node the row of which it is the root.
    rows: Vec<u32>,
    /// Satellites that serve leaves.
    serves_leaves: Vec<bool>,
    /// The far end of each link that has one for good.
    far: Arc<[NodeId]>,
}

/// What a thread needs to find routes.
#[derive(Clone, Debug, Default)]
struct Worker {
    search: Search,
    sweep: Sweep,
}

/// [`Router::least_share`], about 0.5 ms. To start a thread and to wait for it takes 0.1 ms of CPU.
const LEAST_SHARE: usize = 16_000;

/// A link more must weigh more than any sum of delays, and the longest path (2²⁰ nodes) must fit into 64 bits. So
/// the fewest hops win while a path takes less than 2⁴³ ns, 2.4 h.
pub(crate) const HOP_PENALTY: u64 = 1 << 43;

impl Router {
    /// `far` has the far end of each link, `None` where it changes.
    pub fn new(nodes: usize, far: impl Iterator<Item = Option<NodeId>>) -> Router {
        let far = far.map(|end| end.unwrap_or(Forwarding::NONE.to)).collect();
        let graph = Graph::new(nodes);
        Router { graph, far, least_share: LEAST_SHARE, most_threads: 1, ..Router::default() }
    }

    /// Gives the memory of the graph back, which a network without changes needs once.
    pub fn forget(&mut self) {
        let (graph, far) = (Graph::new(self.graph.nodes()), Arc::clone(&self.far));
        let (least_share, most_threads) = (self.least_share, self.most_threads);
        *self = Router { graph, penalty: self.penalty, far, least_share, most_threads, ..Router::default() };
    }

    /// Renewals of graphs that are arranged from now on use so many threads where they are long enough.
    pub fn use_threads(&mut self, threads: usize) {
        self.helpers.resize_with(threads.saturating_sub(1), Worker::default);
        self.most_threads = 1;
    }

    /// Takes over `edges` and `leaves`, whose delays may follow.
    pub fn arrange(&mut self) {
        self.graph.arrange(&self.edges);
        // Stations with several antennas have several leaves.
        self.leaves.sort_by_key(|leaf| leaf.node);
    }

    /// Takes over the delays of the edges. [`Router::arrange`] has been called for these edges.
    pub fn renew_costs(&mut self) {
        let (least, most) = self.graph.renew_costs(&self.edges, self.penalty);
        let workers = std::iter::once(&mut self.worker).chain(&mut self.helpers);
        workers.for_each(|worker| worker.search.queue.fit(least, most));
    }

    /// Renews `out` for these destinations. What it holds from before only saves time. With `keep` it can be renewed
    /// the next time.
    pub fn fill(&mut self, destinations: &[NodeId], keep: bool, out: &mut Forwarding) {
        let nodes = self.graph.nodes();
        if out.nodes != nodes || !keep {
            *out = Forwarding { nodes, table: Table::new(nodes, &self.far), ..Forwarding::default() };
        }
        self.serves_leaves.clear();
        self.serves_leaves.resize(nodes, false);
        for leaf in &self.leaves {
            self.serves_leaves[leaf.up.to.index()] = true;
        }
        out.destinations.clear();
        out.destinations.extend(destinations.iter().map(|&node| self.target(node)));
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        rows.resize(nodes, NO_ROW);
        let mut wanted: Vec<NodeId> = Vec::new();
        for target in &out.destinations {
            let row = &mut rows[target.root().index()];
            if *row == NO_ROW {
                *row = WANTED;
                wanted.push(target.root());
            }
        }
        if keep {
            self.renew(&wanted, &mut rows, out);
        } else {
            out.table.reserve(wanted.len());
            for ((n, roots), mut block) in wanted.chunks(BLOCK_ROWS).enumerate().zip(out.table.blocks()) {
                for (lane, &root) in roots.iter().enumerate() {
                    rows[root.index()] = (n * BLOCK_ROWS + lane) as u32;
                    self.worker.search(&self.graph, &self.leaves, root, &mut block, lane);
                }
            }
        }
        for target in &mut out.destinations {
            target.begin = out.table.begin(rows[target.root().index()] as usize);
        }
        self.rows = rows;
    }

    /// How a node is reached; its row is still open.
    fn target(&self, node: NodeId) -> Target {
        match self.graph.arcs_into(node.index()) {
            // Everything takes this arc, leaves apart.
            [entry] if !self.serves_leaves[node.index()] => {
                let last = self.graph.arcs[entry.arc as usize].hop();
                Target { node, begin: 0, gateway: NodeId::new(entry.from), last }
            }
            _ => Target { node, begin: 0, gateway: Forwarding::NONE.to, last: Forwarding::NONE },
        }
    }
}

impl Worker {
    /// Writes the first hop of every node towards `root`, [`Forwarding::NONE`] without a route. Among equal routes a
    /// node takes the one over the neighbour with the lower [`NodeId`], and among parallel links the one with the lower
    /// [`LinkId`], whatever the order of the links.
    fn search(&mut self, graph: &Graph, leaves: &[Leaf], root: NodeId, block: &mut Block, row: usize) {
        let search = &mut self.search;
        search.run(graph, root.as_u32());
        for (node, &arc) in search.parent.iter().enumerate() {
            block.set(row, node, graph.arcs.get(arc as usize).map_or(Forwarding::NONE, |arc| arc.hop()));
        }
        let far = |node: NodeId| Some(search.distance[node.index()]).filter(|&distance| distance < UNREACHED);
        // The hops of stations that forward nothing.
        for antennas in leaves.chunk_by(|a, b| a.node == b.node) {
            let node = antennas[0].node.index();
            block.set(row, node, leaf_hop(antennas, root, far, block.get(row, node)));
        }
    }
}

/// The hop of a station that forwards nothing: over the antenna with the shortest path, unless the network on the
/// ground, whose hop is given, is shorter.
fn leaf_hop(antennas: &[Leaf], root: NodeId, distance: impl Fn(NodeId) -> Option<u64>, ground: Hop) -> Hop {
    let node = antennas[0].node;
    if node == root {
        return ground;
    }
    if let ([leaf], Forwarding::NONE) = (antennas, ground) {
        return distance(leaf.up.to).map_or(ground, |_| leaf.up);
    }
    let up = antennas.iter().filter_map(|leaf| Some((distance(leaf.up.to)? + leaf.delay_ns, leaf.up.to, leaf.up.link)));
    let down = (ground != Forwarding::NONE).then_some(ground);
    let down = down.and_then(|hop| Some((distance(node)?, hop.to, hop.link)));
    up.chain(down).min().map_or(ground, |(_, to, link)| Hop { link, to })
}
