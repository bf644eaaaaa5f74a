//! The graph of one instant: links that are up, with their delays.

use super::Hop;
use crate::{LinkId, NodeId};
use skyhop_base::Index;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Links without any delay count as 1 ns, so that of equal paths the one with fewer of them is taken and no path
    /// leads in a circle.
    pub delay_ns: u64,
}

/// What a sweep reads of an arc.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub to: u32,
    /// The cost in 31 bits, if that is enough.
    pub cost: i32,
}

/// An edge, seen from its near end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub to: u32,
    pub link: u32,
    pub cost: u64,
}

impl Arc {
    pub fn hop(self) -> Hop {
        Hop { link: LinkId::new(self.link), to: NodeId::new(self.to) }
    }
}

/// The same, seen from its far end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub from: u32,
    /// Its place among the arcs.
    pub arc: u32,
    pub cost: u64,
}

pub(super) const NO_ARC: u32 = u32::MAX;
/// Distances are renewed in 31 bits only while every arc costs less, in ns: 0.27 s, twice what a packet takes up to a
/// geostationary satellite.
pub(super) const NARROW_COST: i32 = 1 << 28;

/// Each shape of a graph has a number of its own, so that rows know whether they were found in this one. Numbers are
/// only compared for equality and reach no result.
static SHAPES: AtomicU64 = AtomicU64::new(1);

/// Arcs by near end and by far end.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    nodes: usize,
    /// Number of this shape, that is of which edges there are, whatever they cost; 0 before the first.
    pub shape: u64,
    /// Number of the shape before this one.
    pub shape_before: u64,
    /// Nodes of which an arc of the shape before is gone, or has another place among the node's arcs.
    pub moved: Vec<u32>,
    edges: Vec<(NodeId, Hop)>,
    /// For each edge its place in `arcs` and in `entries`.
    places: Vec<(u32, u32)>,
    /// The arcs out of node n are `arcs[starts[n]..starts[n + 1]]`, by far end and then by link.
    starts: Vec<u32>,
    /// `starts` of the shape before.
    starts_before: Vec<u32>,
    pub arcs: Vec<Arc>,
    /// What a sweep reads of `arcs`.
    ends: Vec<End>,
    narrow: bool,
    /// The arcs into node n are `entries[entry_starts[n]..entry_starts[n + 1]]`.
    entry_starts: Vec<u32>,
    entries: Vec<Entry>,
}

impl Graph {
    pub fn new(nodes: usize) -> Graph {
        Graph { nodes, ..Graph::default() }
    }

    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Takes these edges, whose costs are to follow.
    pub fn arrange(&mut self, edges: &[Edge]) {
        let shape = || edges.iter().map(|edge| (edge.from, edge.hop));
        if self.shape == 0 || !shape().eq(self.edges.iter().copied()) {
            self.edges.clear();
            self.edges.extend(shape());
            self.sort();
        }
    }

    /// Takes the delays of the edges, each of which costs `penalty` besides. Returns the least and the highest cost of
    /// an arc.
    pub fn renew_costs(&mut self, edges: &[Edge], penalty: u64) -> (u64, u64) {
        debug_assert!(edges.len() == self.places.len());
        let (mut least, mut most) = (u64::MAX, 1);
        for (edge, &(arc, entry)) in edges.iter().zip(&self.places) {
            let cost = edge.delay_ns.max(1) + penalty;
            (least, most) = (cost.min(least), cost.max(most));
            self.arcs[arc as usize].cost = cost;
            self.entries[entry as usize].cost = cost;
            self.ends[arc as usize].cost = cost as i32;
        }
        self.narrow = most < NARROW_COST as u64;
        (least.min(most), most)
    }

    /// Sorts the edges by either end.
    fn sort(&mut self) {
        self.shape_before = std::mem::replace(&mut self.shape, SHAPES.fetch_add(1, Ordering::Relaxed));
        let edges = std::mem::take(&mut self.edges);
        self.starts_before = std::mem::take(&mut self.starts);
        let arcs_before = std::mem::take(&mut self.arcs);
        let mut order: Vec<u32> = Vec::new();
        self.starts = grouped(self.nodes, edges.iter().map(|(from, _)| from.index()), &mut order);
        for bounds in self.starts.windows(2) {
            order[bounds[0] as usize..bounds[1] as usize].sort_unstable_by_key(|&edge| {
                let Hop { link, to } = edges[edge as usize].1;
                (to, link, edge)
            });
        }
        self.places.clear();
        self.places.resize(edges.len(), (NO_ARC, NO_ARC));
        for (arc, &edge) in order.iter().enumerate() {
            let Hop { link, to } = edges[edge as usize].1;
            self.places[edge as usize].0 = arc as u32;
            self.arcs.push(Arc { to: to.as_u32(), link: link.as_u32(), cost: 0 });
        }
        self.ends = self.arcs.iter().map(|arc| End { to: arc.to, cost: 0 }).collect();
        self.entry_starts = grouped(self.nodes, edges.iter().map(|(_, hop)| hop.to.index()), &mut order);
        self.entries.clear();
        for (entry, &edge) in order.iter().enumerate() {
            let place = &mut self.places[edge as usize];
            place.1 = entry as u32;
            self.entries.push(Entry { from: edges[edge as usize].0.as_u32(), arc: place.0, cost: 0 });
        }
        self.edges = edges;
        self.compare(&arcs_before);
    }

    /// Finds the nodes whose arcs are not where they were in the shape before.
    fn compare(&mut self, before: &[Arc]) {
        let has_moved = |(old, new): (Range<usize>, Range<usize>)| {
            let same = |(a, b): (&Arc, &Arc)| (a.to, a.link) == (b.to, b.link);
            new.len() < old.len() || !before[old].iter().zip(&self.arcs[new]).all(same)
        };
        let nodes = (0..).zip(self.renumbered()).filter(|(_, arcs)| has_moved(arcs.clone()));
        self.moved = nodes.map(|(node, _)| node).collect();
    }

    /// The places of the arcs out of a node.
    #[inline]
    pub fn range(&self, node: usize) -> Range<usize> {
        self.starts[node] as usize..self.starts[node + 1] as usize
    }

    /// The arcs out of a node.
    #[inline]
    pub fn out(&self, node: usize) -> &[Arc] {
        &self.arcs[self.range(node)]
    }

    /// For each node the places of its arcs in the shape before and now.
    pub fn renumbered(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        fn ranges(starts: &[u32]) -> impl Iterator<Item = Range<usize>> {
            starts.windows(2).map(|bounds| bounds[0] as usize..bounds[1] as usize)
        }
        ranges(&self.starts_before).zip(ranges(&self.starts))
    }

    /// Whether distances fit into 31 bits.
    pub fn is_narrow(&self) -> bool {
        self.narrow
    }

    /// The far end and the cost of an arc.
    #[inline]
    pub fn end(&self, arc: u32) -> End {
        self.ends[arc as usize]
    }

    /// The far ends and costs of a node's arcs.
    #[inline]
    pub fn fan(&self, node: usize) -> &[End] {
        &self.ends[self.range(node)]
    }

    /// The arcs into a node.
    #[inline]
    pub fn arcs_into(&self, node: usize) -> &[Entry] {
        &self.entries[self.entry_starts[node] as usize..self.entry_starts[node + 1] as usize]
    }
}

/// Places of `keys`, grouped by key and within a group as given; returns where each group begins, and the end.
fn grouped(groups: usize, keys: impl Iterator<Item = usize> + Clone, order: &mut Vec<u32>) -> Vec<u32> {
    let mut starts = vec![0; groups + 1];
    keys.clone().for_each(|key| starts[key + 1] += 1);
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    order.clear();
    order.resize(starts[groups] as usize, 0);
    let mut next = starts.clone();
    for (place, key) in keys.enumerate() {
        order[next[key] as usize] = place as u32;
        next[key] += 1;
    }
    starts
}
