//! The rows of a network that changes: which ones stand together, and what of them is written anew.

use super::graph::{Graph, Leaf};
use super::group::{FAR, Group, LANES, Lanes, NO_ROOT};
use super::table::{BLOCK_ROWS, Block};
use super::{Forwarding, Hop, Router, WANTED, Worker, leaf_hop};
use crate::NodeId;
use crate::share::{share, worth_threads};
use skyhop_base::Index;
use std::ops::Range;

// A group has a block of its own.
const _: () = assert!(LANES == BLOCK_ROWS);

/// Antennas of stations that forward nothing, station by station, and how their hops are found.
struct Stations {
    /// The antennas of each among the leaves.
    all: Vec<Range<usize>>,
    /// Places among `all`: stations whose hop in a row may be another than before although nothing in the row has
    /// changed.
    open: Vec<usize>,
    /// Nodes that were such stations and no longer are.
    gone: Vec<NodeId>,
}

/// What all groups of a renewal read.
struct Renewal<'a> {
    graph: &'a Graph,
    leaves: &'a [Leaf],
    stations: Stations,
    /// The rows come from this shape of the graph, …
    same_shape: bool,
    /// … or from the one before it, and these nodes have other arcs since.
    next_shape: bool,
    moved: &'a [u32],
}

impl Router {
    /// Renews the rows of `out` for these roots and tells in `rows` where each root has its row. What `out` holds must
    /// come from this function.
    pub(super) fn renew(&mut self, wanted: &[NodeId], rows: &mut [u32], out: &mut Forwarding) {
        for (n, group) in out.groups.iter_mut().enumerate() {
            for (lane, root) in group.roots.iter_mut().enumerate().filter(|(_, root)| **root != NO_ROOT) {
                match &mut rows[*root as usize] {
                    row if *row == WANTED => *row = (n * LANES + lane) as u32,
                    _ => *root = NO_ROOT,
                }
            }
        }
        let new: Vec<u32> =
            wanted.iter().filter(|root| rows[root.index()] == WANTED).map(|root| root.as_u32()).collect();
        self.place(new, rows, &mut out.groups);
        out.table.reserve(out.groups.len() * LANES);
        let threads = self.threads_for(out.groups.len());
        self.most_threads = self.most_threads.max(threads);
        let Router { graph, leaves, worker, helpers, .. } = self;
        let stations = Stations::new(graph, leaves, &mut out.leaves);
        let next_shape = out.shape == graph.shape_before;
        let moved = if next_shape { &graph.moved[..] } else { &[] };
        let same_shape = out.shape == graph.shape;
        let renewal = Renewal { graph, leaves, stations, same_shape, next_shape, moved };
        out.shape = graph.shape;
        let groups = out.groups.iter_mut().zip(out.table.blocks());
        // Groups do not depend on each other.
        let helpers = &mut helpers[..threads - 1];
        share(groups, worker, helpers, || (), |worker, (group, mut block)| worker.renew(&renewal, group, &mut block));
    }

    /// How many threads a renewal of so many groups is worth.
    fn threads_for(&self, groups: usize) -> usize {
        worth_threads(groups * self.graph.nodes(), self.least_share, groups, 1 + self.helpers.len())
    }

    /// Gives new roots free lanes, those of groups near them first, and makes groups for the others.
    fn place(&mut self, new: Vec<u32>, rows: &mut [u32], groups: &mut Vec<Group>) {
        let search = &mut self.worker.search;
        let mut rest = Vec::new();
        for root in new {
            let free = groups.iter_mut().enumerate().filter(|(_, group)| group.roots.contains(&NO_ROOT));
            match free.min_by_key(|(_, group)| group.rank(root)) {
                Some((n, group)) => {
                    let lane = group.add(root);
                    rows[root as usize] = (n * LANES + lane) as u32;
                }
                None => rest.push(root),
            }
        }
        while let Some(&first) = rest.first() {
            search.run(&self.graph, first);
            rest.sort_by_key(|&root| search.distance[root as usize]);
            let mut group = Group::new(&self.graph);
            for root in rest.drain(..rest.len().min(LANES)) {
                rows[root as usize] = (groups.len() * LANES + group.add(root)) as u32;
            }
            groups.push(group);
        }
    }
}

impl Worker {
    /// Renews the rows of a group, which are those of a block.
    fn renew(&mut self, renewal: &Renewal, group: &mut Group, block: &mut Block) {
        let &Renewal { graph, leaves, ref stations, moved, .. } = renewal;
        if !renewal.same_shape {
            match renewal.next_shape && !group.is_new() {
                true => group.reshape(graph),
                false => group.forget(graph),
            }
        }
        let live: Vec<usize> = group.live().map(|(lane, _)| lane).collect();
        if live.is_empty() {
            return;
        }
        // Nothing would write the rows of the others, so that they stayed stale.
        group.stale &= live.iter().fold(0, |lanes, lane| lanes | 1 << lane);
        let (is_narrow, stale) = (graph.is_narrow(), group.stale);
        if is_narrow {
            if stale != 0 {
                self.search_lanes(graph, group, stale);
            }
            self.sweep.run(graph, group);
        }
        let mut written = Vec::new();
        for lane in live {
            if !is_narrow || self.sweep.is_too_long(lane) {
                self.search(graph, leaves, NodeId::new(group.roots[lane]), block, lane);
                group.stale |= 1 << lane;
            } else {
                written.push(lane);
            }
        }
        let sweep = &self.sweep;
        let hop = |group: &Group, node: usize, lane: usize| {
            group.arc(graph, node, lane).map_or(Forwarding::NONE, |arc| graph.arcs[arc].hop())
        };
        // Rows in which a node has lost its route or found one.
        let mut cut: Lanes = group.stale;
        // These places are in no near cache.
        sweep.changed.iter().for_each(|&(node, _)| block.fetch(node as usize));
        let moved = moved.iter().map(|&node| (node, Lanes::MAX));
        for (node, lanes) in moved.chain(sweep.changed.iter().copied()) {
            for &lane in written.iter().filter(|&&lane| lanes & 1 << lane != 0) {
                let (node, hop) = (node as usize, hop(group, node as usize, lane));
                cut |= Lanes::from(block.has(lane, node) != (hop != Forwarding::NONE)) << lane;
                block.set(lane, node, hop);
            }
        }
        for &lane in &written {
            let root = NodeId::new(group.roots[lane]);
            let bit: Lanes = 1 << lane;
            if group.stale & bit != 0 {
                for node in 0..graph.nodes() {
                    block.set(lane, node, hop(group, node, lane));
                }
            }
            for node in &stations.gone {
                block.set(lane, node.index(), hop(group, node.index(), lane));
            }
            let distance =
                |node: NodeId| Some(sweep.distances[node.index()][lane]).filter(|&ns| ns < FAR).map(|ns| ns as u64);
            let mut write = |antennas: &Range<usize>| {
                let antennas = &leaves[antennas.clone()];
                let node = antennas[0].node.index();
                block.set(lane, node, leaf_hop(antennas, root, distance, hop(group, node, lane)));
            };
            match cut & bit {
                0 => stations.open.iter().for_each(|&place| write(&stations.all[place])),
                _ => stations.all.iter().for_each(write),
            }
            group.stale &= !bit;
        }
    }

    /// Searches from the roots of these lanes, and makes the group's sequence from what is found.
    fn search_lanes(&mut self, graph: &Graph, group: &mut Group, lanes: Lanes) {
        let mut sums: Vec<u64> = vec![0; graph.nodes()];
        for lane in (0..LANES).filter(|lane| lanes & 1 << lane != 0) {
            self.search.run(graph, group.roots[lane]);
            group.take(graph, lane, &self.search);
            // Nodes without a route come last. No sum of sixteen overflows.
            sums.iter_mut().zip(&self.search.distance).for_each(|(sum, &ns)| *sum += ns.min(FAR as u64));
        }
        // A new group has searched from all of its roots.
        match group.is_new() {
            true => group.arrange(graph, |node| sums[node]),
            false => group.make_visits(graph),
        }
    }
}

impl Stations {
    /// Compares the leaves, sorted by station, with those of the renewal before, and takes their place.
    fn new(graph: &Graph, leaves: &[Leaf], before: &mut Vec<(NodeId, Option<Hop>)>) -> Stations {
        // One antenna and no other link: the hop is the same in all rows with a route.
        let same = |antennas: &[Leaf]| match antennas {
            [leaf] if graph.out(leaf.node.index()).is_empty() => Some(leaf.up),
            _ => None,
        };
        let (mut all, mut now) = (Vec::new(), Vec::new());
        for antennas in leaves.chunk_by(|a, b| a.node == b.node) {
            let start = all.last().map_or(0, |last: &Range<usize>| last.end);
            all.push(start..start + antennas.len());
            now.push((antennas[0].node, same(antennas)));
        }
        let find = |node: NodeId, list: &[(NodeId, Option<Hop>)]| list.binary_search_by_key(&node, |&(node, _)| node);
        let unchanged = |&(node, hop): &(NodeId, Option<Hop>)| {
            hop.is_some() && find(node, before).is_ok_and(|place| before[place].1 == hop)
        };
        let open = now.iter().enumerate().filter(|(_, entry)| !unchanged(entry)).map(|(n, _)| n).collect();
        let gone = before.iter().map(|&(node, _)| node).filter(|&node| find(node, &now).is_err()).collect();
        *before = now;
        Stations { all, open, gone }
    }
}
