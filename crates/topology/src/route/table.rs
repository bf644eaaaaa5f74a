//! The next hop of every node in every row, in 32 bits each.
//!
//! Sixteen rows of a node stand on one cache line. The packets of a thousand flows look up some twenty thousand places
//! in turn; row by row, in eight bytes each, these were more cache lines than a second-level cache holds. Sixteen rows
//! of all nodes are a block, and blocks can be written by several threads at once.

use super::Hop;
use crate::{LinkId, NodeId};
use skyhop_base::Index;
use skyhop_processor::{prefetch, prefetch_at};
use std::sync::Arc;

/// No hop.
const NONE: u32 = u32::MAX;
/// In a place: the rest is the number of a hop in the list of those whose link does not tell its far end.
const MOVING: u32 = 1 << 31;
/// Rows of a block: as many places as a cache line holds.
pub(super) const BLOCK_ROWS: usize = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    nodes: usize,
    /// Binary logarithm of the places of a node in a block: [`BLOCK_ROWS`], or fewer in a table of one block.
    shift: u32,
    /// Block by block and node by node: the link of the next hop, or what [`MOVING`] says, or [`NONE`].
    places: Vec<u32>,
    /// The far end of each link, [`Table::NONE`]'s where it changes.
    far: Arc<[NodeId]>,
    /// For each block the hops over links whose far end changes.
    moving: Vec<Moving>,
}

/// Hops that places name by number, …
#[derive(Clone, Debug, Default)]
struct Moving {
    hops: Vec<Hop>,
    /// … and which of them no place names.
    free: Vec<u32>,
}

/// A block, to be written.
#[derive(Debug)]
pub(super) struct Block<'a> {
    shift: u32,
    places: &'a mut [u32],
    far: &'a [NodeId],
    moving: &'a mut Moving,
}

impl Table {
    pub const NONE: Hop = Hop { link: LinkId::new(NONE), to: NodeId::new(NONE) };

    pub fn new(nodes: usize, far: &Arc<[NodeId]>) -> Table {
        Table { nodes, far: Arc::clone(far), ..Table::default() }
    }

    /// Where a row begins: the place of its first node.
    pub fn begin(&self, row: usize) -> usize {
        (row / BLOCK_ROWS) * (self.nodes << self.shift) + row % BLOCK_ROWS
    }

    /// The far end of a link, [`Table::NONE`]'s where it changes.
    #[inline]
    pub fn far_end(&self, link: LinkId) -> NodeId {
        self.far[link.index()]
    }

    /// The link of the hop of a node in a row that begins at `begin`, with its far end if that changes.
    #[inline(always)]
    pub fn get_link(&self, begin: usize, node: usize) -> Option<(LinkId, Option<NodeId>)> {
        let &place = self.places.get(begin + (node << self.shift))?;
        if place & MOVING == 0 {
            return Some((LinkId::new(place), None));
        }
        let hop = self.moving_hop(begin, place);
        (hop != Table::NONE).then_some((hop.link, Some(hop.to)))
    }

    fn moving_hop(&self, begin: usize, place: u32) -> Hop {
        let block = begin / (self.nodes << self.shift);
        self.moving.get(block).map_or(Table::NONE, |moving| moving.hop(place))
    }

    /// Fetches the place that [`Table::get_link`] reads.
    #[inline]
    pub fn fetch(&self, begin: usize, node: usize) {
        if let Some(place) = self.places.get(begin + (node << self.shift)) {
            prefetch(place);
        }
    }

    /// All blocks. Row r is row r % [`BLOCK_ROWS`] of block r / [`BLOCK_ROWS`].
    pub fn blocks(&mut self) -> impl Iterator<Item = Block<'_>> {
        let Table { nodes, shift, places, far, moving } = self;
        let (shift, far) = (*shift, &**far);
        // A table without nodes has no places.
        let places = places.chunks_exact_mut((*nodes << shift).max(1));
        places.zip(moving).map(move |(places, moving)| Block { shift, places, far, moving })
    }

    /// Makes room for so many rows. New ones are empty.
    pub fn reserve(&mut self, rows: usize) {
        if rows <= self.moving.len() << self.shift {
            return;
        }
        // Full cache lines, without much room for nothing where rows are few.
        let shift = rows.next_power_of_two().min(BLOCK_ROWS).ilog2();
        let (blocks, before) = (rows.div_ceil(BLOCK_ROWS), self.nodes << self.shift);
        let length = blocks * (self.nodes << shift);
        self.places.reserve_exact(length.saturating_sub(self.places.len()));
        self.places.resize(length, NONE);
        if shift > self.shift {
            // There was one block at most. Its nodes move up, the last one first.
            for place in (0..before).rev() {
                let (node, row) = (place >> self.shift, place & ((1 << self.shift) - 1));
                let hop = std::mem::replace(&mut self.places[place], NONE);
                self.places[(node << shift) + row] = hop;
            }
        }
        self.shift = shift;
        self.moving.resize_with(blocks, Moving::default);
    }
}

impl Moving {
    /// The hop that a place names; [`NONE`] names none.
    #[inline]
    fn hop(&self, place: u32) -> Hop {
        self.hops.get((place & !MOVING) as usize).copied().unwrap_or(Table::NONE)
    }
}

impl Block<'_> {
    /// The hop of a node in a row of the block, [`Table::NONE`] without one.
    #[inline]
    pub fn get(&self, row: usize, node: usize) -> Hop {
        let place = self.places[(node << self.shift) + row];
        if place & MOVING == 0 {
            return Hop { link: LinkId::new(place), to: self.far[place as usize] };
        }
        self.moving.hop(place)
    }

    /// Whether a node has a hop in a row of the block.
    #[inline]
    pub fn has(&self, row: usize, node: usize) -> bool {
        self.places[(node << self.shift) + row] != NONE
    }

    /// Fetches the places of a node.
    #[inline]
    pub fn fetch(&self, node: usize) {
        prefetch_at(self.places, node << self.shift);
    }

    #[inline]
    pub fn set(&mut self, row: usize, node: usize, hop: Hop) {
        let Moving { hops, free } = &mut *self.moving;
        let place = &mut self.places[(node << self.shift) + row];
        let is_fixed = self.far.get(hop.link.index()).is_some_and(|&far| far == hop.to);
        if hop == Table::NONE || is_fixed {
            if *place != NONE && *place & MOVING != 0 {
                free.push(*place);
            }
            *place = hop.link.as_u32();
            return;
        }
        if *place == NONE || *place & MOVING == 0 {
            *place = free.pop().unwrap_or_else(|| {
                hops.push(hop);
                MOVING | (hops.len() - 1) as u32
            });
        }
        hops[(*place & !MOVING) as usize] = hop;
    }
}

#[cfg(test)]
impl Table {
    /// The hop of a node in a row that begins at `begin`, [`Table::NONE`] without one.
    pub fn get(&self, begin: usize, node: usize) -> Hop {
        let found = self.get_link(begin, node);
        found.map_or(Table::NONE, |(link, end)| Hop { link, to: end.unwrap_or_else(|| self.far_end(link)) })
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
            table.blocks().nth(row / BLOCK_ROWS).unwrap().set(row % BLOCK_ROWS, node, hop);
            plain[row][node] = hop;
            let (row, node) = (below(plain.len() as u32) as usize, below(nodes as u32) as usize);
            assert_eq!(table.get(table.begin(row), node), plain[row][node]);
        }
        let moves = |hop: &&Hop| **hop != Table::NONE && far[hop.link.index()].as_u32() == NONE;
        let used: usize = table.moving.iter().map(|moving| moving.hops.len() - moving.free.len()).sum();
        assert_eq!(plain.iter().flatten().filter(moves).count(), used);
    }
}
