//! The rows of a network that changes: which ones stand together, and what of them is written anew.

use super::graph::{Graph, Leaf};
use super::group::{FAR, Group, LANES, Lanes, NO_ROOT, NO_SLOT};
use super::table::Table;
use super::{Forwarding, Hop, Router, WANTED, leaf_hop};
use crate::NodeId;
use skyhop_base::Index;
use std::ops::Range;

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
        let stations = Stations::new(&self.graph, &self.leaves, &mut out.leaves);
        let same_shape = out.shape == self.graph.shape;
        let next_shape = out.shape == self.graph.shape_before;
        out.shape = self.graph.shape;
        let moved = std::mem::take(&mut self.graph.moved);
        for (n, group) in out.groups.iter_mut().enumerate() {
            let moved = if next_shape { &moved[..] } else { &[] };
            if !same_shape {
                group.reshape(&self.graph, moved);
            }
            if !same_shape && !next_shape {
                group.stale = Lanes::MAX;
            }
            if !group.is_empty() {
                self.renew_group(n * LANES, group, moved, &stations, &mut out.table);
            }
        }
        self.graph.moved = moved;
    }

    /// Gives new roots free lanes, those of groups near them first, and makes groups for the others.
    fn place(&mut self, new: Vec<u32>, rows: &mut [u32], groups: &mut Vec<Group>) {
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
            self.search.run(&self.graph, first);
            rest.sort_by_key(|&root| self.search.distance[root as usize]);
            let mut group = Group::new(self.graph.nodes());
            for root in rest.drain(..rest.len().min(LANES)) {
                rows[root as usize] = (groups.len() * LANES + group.add(root)) as u32;
            }
            groups.push(group);
        }
    }

    /// Renews the rows from `first_row` on.
    fn renew_group(
        &mut self,
        first_row: usize,
        group: &mut Group,
        moved: &[u32],
        stations: &Stations,
        table: &mut Table,
    ) {
        let live: Vec<usize> = (0..LANES).filter(|&lane| group.roots[lane] != NO_ROOT).collect();
        // Nothing would write the rows of the others, so that they stayed stale.
        group.stale &= live.iter().fold(0, |lanes, lane| lanes | 1 << lane);
        let (is_narrow, stale) = (self.graph.is_narrow(), group.stale);
        if is_narrow {
            for &lane in live.iter().filter(|&&lane| stale & 1 << lane != 0) {
                self.search.run(&self.graph, group.roots[lane]);
                group.take(&self.graph, lane, &self.search);
            }
            group.note_lanes(&self.graph, stale);
            self.sweep.run(&self.graph, group);
        }
        let mut written = Vec::new();
        for lane in live {
            let (root, row) = (NodeId::new(group.roots[lane]), first_row + lane);
            if !is_narrow || self.sweep.is_too_long(lane) {
                self.search(root, table, row);
                group.stale |= 1 << lane;
            } else {
                written.push(lane);
            }
        }
        let Router { graph, sweep, leaves, .. } = self;
        let hop = |group: &Group, node: usize, lane: usize| match group.slots[node][lane] {
            NO_SLOT => Forwarding::NONE,
            slot => graph.out(node)[usize::from(slot)].hop(),
        };
        // Rows in which a node has lost its route or found one.
        let mut cut: Lanes = group.stale;
        let moved = moved.iter().map(|&node| (node, Lanes::MAX));
        for (node, lanes) in moved.chain(sweep.changed.iter().copied()) {
            for &lane in written.iter().filter(|&&lane| lanes & 1 << lane != 0) {
                let (row, node, hop) = (first_row + lane, node as usize, hop(group, node as usize, lane));
                let old = table.get(row, node);
                if old != hop {
                    cut |= Lanes::from((old == Forwarding::NONE) != (hop == Forwarding::NONE)) << lane;
                    table.set(row, node, hop);
                }
            }
        }
        for &lane in &written {
            let (root, row) = (NodeId::new(group.roots[lane]), first_row + lane);
            let bit: Lanes = 1 << lane;
            if group.stale & bit != 0 {
                for node in 0..graph.nodes() {
                    table.set(row, node, hop(group, node, lane));
                }
            }
            for node in &stations.gone {
                table.set(row, node.index(), hop(group, node.index(), lane));
            }
            let distance =
                |node: NodeId| Some(sweep.distances[node.index()][lane]).filter(|&ns| ns < FAR).map(|ns| ns as u64);
            let mut write = |antennas: &Range<usize>| {
                let antennas = &leaves[antennas.clone()];
                let node = antennas[0].node.index();
                table.set(row, node, leaf_hop(antennas, root, distance, hop(group, node, lane)));
            };
            match cut & bit {
                0 => stations.open.iter().for_each(|&place| write(&stations.all[place])),
                _ => stations.all.iter().for_each(write),
            }
            group.stale &= !bit;
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
