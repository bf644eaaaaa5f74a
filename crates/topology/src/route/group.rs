//! Rows that are renewed together: their roots, the arcs that all nodes take, and a sequence of the nodes.

use super::graph::{Graph, NARROW_COST, NO_ARC};
use super::search::Search;
use skyhop_processor::Sixteen;

/// Rows of a group: as many distances as a cache line holds.
pub(super) const LANES: usize = 16;
/// Lanes of a group, one bit each.
pub(super) type Lanes = u16;
/// In place of a distance, in ns: no route. One more arc must not overflow.
pub(super) const FAR: i32 = i32::MAX - NARROW_COST;
/// In place of a root: nobody needs the row.
pub(super) const NO_ROOT: u32 = u32::MAX;
/// In place of a rank: the node had no arcs when the nodes were put in order.
const NO_RANK: u32 = u32::MAX;
/// A sequence of visits is used until it has caused more repairs than that. Making one takes about as long as a
/// hundred repairs.
const MOST_REPAIRS: usize = 100;
/// A chain of next hops is followed no further than that. Next hops of before a change can lead in a circle.
const MOST_HOPS: usize = 256;

/// A node's distance to each root of a group.
pub(super) type Distances = Sixteen;

/// For each of [`LANES`] roots the arcs that all nodes take towards it.
///
/// A sweep visits the nodes in one sequence for all lanes, those near the roots first. A node whose next hops come
/// after it in some lanes finds them known if they were visited before, too: the sequence has such nodes more than
/// once. It comes from earlier delays, and decides how long a renewal takes and never what it finds.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub roots: [u32; LANES],
    /// Lanes whose rows hold something else than `taken` says.
    pub stale: Lanes,
    /// For each arc the lanes in which its node takes it towards the root: one of the node's arcs at most in a lane,
    /// none without a route or at the root itself.
    pub taken: Vec<Lanes>,
    /// Nodes with arcs by their mean distance to the roots, as it was once.
    order: Vec<u32>,
    /// For each node its place in the order, [`NO_RANK`] where it has none.
    ranks: Vec<u32>,
    /// The nodes in the sequence in which a sweep visits them.
    pub visits: Vec<u32>,
    /// How many they were when the nodes were put in order.
    ordered: usize,
    /// Distances that had to be repaired since the sequence was made.
    repairs: usize,
}

impl Group {
    pub fn new(graph: &Graph) -> Group {
        let nodes = graph.nodes();
        Group {
            roots: [NO_ROOT; LANES],
            stale: 0,
            taken: vec![0; graph.arcs.len()],
            order: Vec::new(),
            ranks: vec![NO_RANK; nodes],
            visits: Vec::new(),
            ordered: 0,
            repairs: 0,
        }
    }

    /// Adds a root in a free lane, of which there must be one.
    pub fn add(&mut self, root: u32) -> usize {
        let lane = self.roots.iter().position(|&root| root == NO_ROOT).unwrap_or_default();
        self.roots[lane] = root;
        self.stale |= 1 << lane;
        lane
    }

    /// Lanes that have a root, with it.
    pub fn live(&self) -> impl Iterator<Item = (usize, u32)> + use<> {
        self.roots.into_iter().enumerate().filter(|&(_, root)| root != NO_ROOT)
    }

    /// How many nodes are nearer to the roots.
    pub fn rank(&self, node: u32) -> u32 {
        self.ranks[node as usize]
    }

    /// Takes over what a search from the root of a lane has found.
    pub fn take(&mut self, graph: &Graph, lane: usize, search: &Search) {
        for (node, &parent) in search.parent.iter().enumerate() {
            self.taken[graph.range(node)].iter_mut().for_each(|taken| *taken &= !(1 << lane));
            if parent != NO_ARC {
                self.taken[parent as usize] |= 1 << lane;
            }
        }
    }

    /// The place of the arc that a node takes.
    #[inline]
    pub fn arc(&self, graph: &Graph, node: usize, lane: usize) -> Option<usize> {
        arc_taken(graph, &self.taken, node, lane)
    }

    /// The graph has the shape after that of before.
    pub fn reshape(&mut self, graph: &Graph) {
        let before = std::mem::replace(&mut self.taken, vec![0; graph.arcs.len()]);
        for (node, (old, new)) in (0..).zip(graph.renumbered()) {
            let arcs = old.len().min(new.len());
            self.taken[new.start..new.start + arcs].copy_from_slice(&before[old.start..old.start + arcs]);
            if !new.is_empty() && self.rank(node) == NO_RANK {
                self.ranks[node as usize] = self.order.len() as u32;
                self.order.push(node);
                self.visits.push(node);
            }
        }
    }

    /// The graph has a shape that the group has not seen before.
    pub fn forget(&mut self, graph: &Graph) {
        *self = Group { roots: self.roots, stale: Lanes::MAX, ..Group::new(graph) };
    }

    /// Whether the nodes have no order yet.
    pub fn is_new(&self) -> bool {
        self.order.is_empty()
    }

    /// Orders the nodes by their distance to the roots.
    pub fn arrange(&mut self, graph: &Graph, distance: impl Fn(usize) -> u64) {
        self.order.clear();
        self.order.extend((0..graph.nodes() as u32).filter(|&node| !graph.fan(node as usize).is_empty()));
        self.order.sort_by_cached_key(|&node| distance(node as usize));
        self.ranks.fill(NO_RANK);
        for (rank, &node) in (0..).zip(&self.order) {
            self.ranks[node as usize] = rank;
        }
        self.make_visits(graph);
        self.ordered = self.visits.len();
    }

    /// Makes the sequence from the arcs that are taken now.
    pub fn make_visits(&mut self, graph: &Graph) {
        // For each node the lanes in which its distance is known.
        let mut known: Vec<Lanes> = vec![0; graph.nodes()];
        self.live().for_each(|(lane, root)| known[root as usize] |= 1 << lane);
        let Group { taken, order, visits, .. } = self;
        visits.clear();
        let found = |known: &[Lanes], node: u32| {
            let arcs = graph.fan(node as usize).iter().zip(&taken[graph.range(node as usize)]);
            arcs.fold(0, |lanes, (end, &taken)| lanes | taken & known[end.to as usize])
        };
        let mut chain: Vec<u32> = Vec::new();
        for &node in &*order {
            let all = taken[graph.range(node as usize)].iter().fold(0, |lanes, taken| lanes | taken);
            let mut missing = all & !found(&known, node);
            while missing != 0 {
                let lane = missing.trailing_zeros() as usize;
                chain.clear();
                let unknown = |node: &u32| known[*node as usize] & 1 << lane == 0;
                chain.extend(next_hops(graph, taken, node, lane).take_while(unknown));
                for &node in chain.iter().rev() {
                    known[node as usize] |= found(&known, node);
                    visits.push(node);
                }
                missing &= !(1 << lane | found(&known, node));
            }
            known[node as usize] |= all;
            visits.push(node);
        }
        self.repairs = 0;
    }

    /// So many distances had to be repaired after a sweep. Makes a new sequence, or a new order, where that pays.
    pub fn note_repairs(&mut self, graph: &Graph, repairs: usize, distances: &[Distances]) {
        self.repairs += repairs;
        if self.repairs <= MOST_REPAIRS {
            return;
        }
        self.make_visits(graph);
        if self.visits.len() > self.ordered + self.ordered / 4 {
            let live: Vec<usize> = self.live().map(|(lane, _)| lane).collect();
            self.arrange(graph, |node| live.iter().map(|&lane| distances[node][lane] as u64).sum());
        }
    }
}

/// The nodes behind this one on its path to the root.
#[inline]
fn next_hops<'a>(graph: &'a Graph, taken: &'a [Lanes], node: u32, lane: usize) -> impl Iterator<Item = u32> + 'a {
    let next = move |node: &u32| Some(graph.end(arc_taken(graph, taken, *node as usize, lane)? as u32).to);
    std::iter::successors(next(&node), next).take(MOST_HOPS)
}

/// The place of the arc that a node takes.
#[inline]
fn arc_taken(graph: &Graph, taken: &[Lanes], node: usize, lane: usize) -> Option<usize> {
    graph.range(node).find(|&arc| taken[arc] & 1 << lane != 0)
}
