//! The next hop of every node in every row, in 32 bits each.
//!
//! All rows of a node stand side by side. The packets of a thousand flows look up some twenty thousand places in turn;
//! row by row, in eight bytes each, these were more cache lines than a second-level cache holds.

use super::Hop;
use crate::{LinkId, NodeId};
use skyhop_base::Index;
use skyhop_processor::prefetch;
use std::sync::Arc;

/// No hop.
const NONE: u32 = u32::MAX;
/// In a place: the rest is the number of a hop in the list of those whose link does not tell its far end.
const MOVING: u32 = 1 << 31;

#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    nodes: usize,
    /// Places of a node: some rows more than are in use.
    stride: usize,
    /// Node by node: the link of the next hop, or what [`MOVING`] says, or [`NONE`].
    places: Vec<u32>,
    /// The far end of each link, [`Table::NONE`]'s where it changes.
    far: Arc<[NodeId]>,
    /// Hops over links whose far end changes, …
    moving: Vec<Hop>,
    /// … and which of them no place names.
    free: Vec<u32>,
}

impl Table {
    pub const NONE: Hop = Hop { link: LinkId::new(NONE), to: NodeId::new(NONE) };

    pub fn new(nodes: usize, far: &Arc<[NodeId]>) -> Table {
        Table { nodes, far: Arc::clone(far), ..Table::default() }
    }

    /// The hop of a node in a row, [`Table::NONE`] without one.
    #[inline]
    pub fn get(&self, row: usize, node: usize) -> Hop {
        match self.get_link(row, node) {
            Some((link, end)) => Hop { link, to: end.unwrap_or_else(|| self.far_end(link)) },
            None => Table::NONE,
        }
    }

    /// The far end of a link, [`Table::NONE`]'s where it changes.
    #[inline]
    pub fn far_end(&self, link: LinkId) -> NodeId {
        self.far[link.index()]
    }

    /// The link of the hop of a node in a row, with its far end if that changes.
    #[inline(always)]
    pub fn get_link(&self, row: usize, node: usize) -> Option<(LinkId, Option<NodeId>)> {
        let &place = self.places.get(node * self.stride + row)?;
        if place & MOVING == 0 {
            return Some((LinkId::new(place), None));
        }
        // NONE is none of them.
        self.moving.get((place & !MOVING) as usize).map(|hop| (hop.link, Some(hop.to)))
    }

    /// Fetches the place that [`Table::get`] reads.
    #[inline]
    pub fn fetch(&self, row: usize, node: usize) {
        if let Some(place) = self.places.get(node * self.stride + row) {
            prefetch(place);
        }
    }

    pub fn set(&mut self, row: usize, node: usize, hop: Hop) {
        let place = &mut self.places[node * self.stride + row];
        let is_fixed = self.far.get(hop.link.index()).is_some_and(|&far| far == hop.to);
        if hop == Table::NONE || is_fixed {
            if *place != NONE && *place & MOVING != 0 {
                self.free.push(*place);
            }
            *place = hop.link.as_u32();
            return;
        }
        if *place == NONE || *place & MOVING == 0 {
            *place = self.free.pop().unwrap_or_else(|| {
                self.moving.push(hop);
                MOVING | (self.moving.len() - 1) as u32
            });
        }
        self.moving[(*place & !MOVING) as usize] = hop;
    }

    /// Makes room for so many rows. New ones are empty.
    pub fn reserve(&mut self, rows: usize) {
        if rows <= self.stride {
            return;
        }
        // Full cache lines, without much room for nothing where rows are few.
        let stride = if rows < 16 { rows.next_power_of_two() } else { rows.next_multiple_of(16) };
        let mut places = vec![NONE; self.nodes * stride];
        if self.stride > 0 {
            for (new, old) in places.chunks_exact_mut(stride).zip(self.places.chunks_exact(self.stride)) {
                new[..self.stride].copy_from_slice(old);
            }
        }
        (self.places, self.stride) = (places, stride);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Stream;

    /// Against the plainest table, with links whose far end never changes and links that lead to several nodes.
    #[test]
    fn a_table_gives_what_was_set() {
        let (nodes, links) = (30, 60_u32);
        let far: Arc<[NodeId]> =
            (0..links).map(|link| NodeId::new(if link % 3 == 0 { NONE } else { link % 30 })).collect();
        let mut table = Table::new(nodes, &far);
        let mut plain: Vec<Vec<Hop>> = Vec::new();
        let mut stream = Stream::new(3, "routes", "test");
        let mut below = |n: u32| (stream.uniform() * f64::from(n)) as u32;
        for step in 0..20_000 {
            if step % 1_000 == 0 {
                plain.push(vec![Table::NONE; nodes]);
                table.reserve(plain.len());
            }
            let (row, node) = (below(plain.len() as u32) as usize, below(nodes as u32) as usize);
            let link = below(links);
            let hop = match (below(5), far[link as usize]) {
                (0, _) => Table::NONE,
                (_, to) if to.as_u32() != NONE => Hop { link: LinkId::new(link), to },
                _ => Hop { link: LinkId::new(link), to: NodeId::new(below(30)) },
            };
            table.set(row, node, hop);
            plain[row][node] = hop;
            let (row, node) = (below(plain.len() as u32) as usize, below(nodes as u32) as usize);
            assert_eq!(table.get(row, node), plain[row][node]);
        }
        let moves = |hop: &&Hop| **hop != Table::NONE && far[hop.link.index()].as_u32() == NONE;
        assert_eq!(plain.iter().flatten().filter(moves).count(), table.moving.len() - table.free.len());
    }
}
