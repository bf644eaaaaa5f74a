//! Shortest-delay routes: one search from each destination over the links that are up. When delays or links have changed,
//! the trees found before are renewed instead.

mod buckets;
mod graph;
#[cfg(test)]
mod tests;
mod tree;

use crate::{LinkId, NodeId};
pub(crate) use graph::{Edge, Leaf};
use graph::{Graph, NO_ARC};
use skyhop_base::Index;
use tree::{Tree, UNREACHED, Workspace};

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
    /// The tree of each row, to be renewed instead of searched again; none if nothing will change.
    trees: Vec<Tree>,
    /// The leaves of the instant of the rows.
    leaves: Vec<NodeId>,
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

impl Target {
    /// The node to which its row leads.
    fn root(&self) -> NodeId {
        if self.last == Forwarding::NONE { self.node } else { self.gateway }
    }
}

/// The graph of one instant and the memory of the search, both reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Router {
    graph: Graph,
    pub edges: Vec<Edge>,
    pub leaves: Vec<Leaf>,
    /// What each link costs besides its delay: 0, or [`HOP_PENALTY`].
    pub penalty: u64,
    work: Workspace,
    /// The tree of a row that is not kept.
    tree: Tree,
    /// For each node the row of which it is the root, and whether that row is ready.
    rows: Vec<(u32, bool)>,
    /// Satellites that serve leaves.
    serves_leaves: Vec<bool>,
}

/// A link more must weigh more than any sum of delays, and the longest way (2²⁰ nodes) must fit into 64 bits. So fewest
/// hops win while a path takes less than 2⁴³ ns, 2.4 h.
pub(crate) const HOP_PENALTY: u64 = 1 << 43;

/// The root of a row that no destination needs.
const UNUSED: u32 = u32::MAX;

impl Router {
    pub fn new(nodes: usize) -> Router {
        Router { graph: Graph::new(nodes), ..Router::default() }
    }

    /// Takes over `edges` and `leaves`.
    pub fn arrange(&mut self) {
        self.graph.draw(&self.edges, self.penalty);
        // Stations with several antennas have several leaves.
        self.leaves.sort_by_key(|leaf| leaf.node);
        let costs = || self.graph.arcs.iter().map(|arc| arc.cost);
        self.work.queue.fit(costs().min().unwrap_or(1), costs().max().unwrap_or(1));
    }

    /// Renews `out` for these destinations. What it holds from before only saves time. With `keep` it can be renewed the
    /// next time.
    pub fn fill(&mut self, destinations: &[NodeId], keep: bool, out: &mut Forwarding) {
        const NO_ROW: u32 = u32::MAX;
        let nodes = self.graph.nodes();
        if out.nodes != nodes || !keep {
            *out = Forwarding { nodes, ..Forwarding::default() };
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
        rows.resize(nodes, (NO_ROW, false));
        for target in &out.destinations {
            rows[target.root().index()] = (NO_ROW, true);
        }
        let mut unused = Vec::new();
        for (row, tree) in out.trees.iter_mut().enumerate().rev() {
            match rows.get_mut(tree.root as usize) {
                Some((found, true)) => *found = row as u32,
                _ => {
                    tree.root = UNUSED;
                    unused.push(row as u32);
                }
            }
        }
        rows.iter_mut().for_each(|(_, ready)| *ready = false);
        let mut count = if keep { out.trees.len() } else { 0 };
        for target in &mut out.destinations {
            let root = target.root();
            let (row, ready) = &mut rows[root.index()];
            if *row == NO_ROW {
                *row = unused.pop().unwrap_or(count as u32);
                count = count.max(*row as usize + 1);
                out.hops.resize(count * nodes, Forwarding::NONE);
                if keep {
                    out.trees.resize(count, Tree::default());
                }
            }
            target.row = *row * nodes as u32;
            if !*ready {
                let hops = &mut out.hops[target.row as usize..][..nodes];
                let mut scratch = std::mem::take(&mut self.tree);
                scratch.root = UNUSED;
                let tree = if keep { &mut out.trees[*row as usize] } else { &mut scratch };
                self.write_row(root, &out.leaves, tree, hops);
                self.tree = scratch;
                *ready = true;
            }
        }
        self.rows = rows;
        out.leaves.clear();
        if keep {
            out.leaves.extend(self.leaves.iter().map(|leaf| leaf.node));
        }
    }

    /// How a node is reached; its row is still open.
    fn target(&self, node: NodeId) -> Target {
        match self.graph.arcs_into(node.index()) {
            // Everything takes this arc, leaves apart.
            [entry] if !self.serves_leaves[node.index()] => {
                let last = self.graph.arcs[entry.arc as usize].hop();
                Target { node, row: 0, gateway: NodeId::new(entry.from), last }
            }
            _ => Target { node, row: 0, gateway: Forwarding::NONE.to, last: Forwarding::NONE },
        }
    }

    /// Writes the first hop of every node towards `root`, [`Forwarding::NONE`] where there is no way. Of equal ways a node
    /// takes that over the neighbour of the lower [`NodeId`], and of parallel links that of the lower [`LinkId`], whatever
    /// the order of the links. `row` holds what `tree` knows from before, with `were_leaves`.
    fn write_row(&mut self, root: NodeId, were_leaves: &[NodeId], tree: &mut Tree, row: &mut [Hop]) {
        let Router { graph, work, leaves, .. } = self;
        let hop = |arc: u32| graph.arcs.get(arc as usize).map_or(Forwarding::NONE, |arc| arc.hop());
        if tree.fits(graph, root.as_u32()) {
            tree.renew(graph, work);
            let changed = work.changed.iter().map(|&node| node as usize);
            for node in changed.chain(were_leaves.iter().map(|node| node.index())) {
                row[node] = hop(tree.parent[node]);
            }
        } else {
            tree.search(graph, root.as_u32(), work);
            row.iter_mut().zip(&tree.parent).for_each(|(to, &arc)| *to = hop(arc));
        }
        for antennas in leaves.chunk_by(|a, b| a.node == b.node) {
            let node = antennas[0].node;
            if node == root {
                continue;
            }
            // The antenna with the shortest path, unless the network on the ground is shorter.
            let way = |leaf: &Leaf| {
                let beyond = tree.distance[leaf.up.to.index()];
                (beyond < UNREACHED).then(|| (beyond + leaf.delay_ns, leaf.up.to, leaf.up.link))
            };
            let arc = tree.parent[node.index()];
            let ground = (arc != NO_ARC).then(|| (tree.distance[node.index()], hop(arc).to, hop(arc).link));
            let best = antennas.iter().filter_map(way).chain(ground).min();
            row[node.index()] = best.map_or(Forwarding::NONE, |(_, to, link)| Hop { link, to });
        }
    }
}
