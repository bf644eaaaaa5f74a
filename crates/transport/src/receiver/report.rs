//! Which blocks a selective acknowledgement reports.

use super::arrivals::Arrivals;
use crate::segment::SackBlocks;

/// Most recently reported blocks that are remembered.
const MOST_REMEMBERED: usize = 8;

/// The blocks that were reported recently.
#[derive(Clone, Debug)]
pub(super) struct Report {
    /// Most blocks in an ACK.
    most: usize,
    /// Blocks that are remembered to be reported again.
    memory: usize,
    /// A segment of each block reported recently, the newest first (RFC 2018 §4).
    recent: [u32; MOST_REMEMBERED],
    count: usize,
}

impl Report {
    pub(super) fn new(most: u32, memory: u32) -> Report {
        Report {
            most: (most as usize).min(SackBlocks::CAPACITY),
            memory: (memory as usize).min(MOST_REMEMBERED),
            recent: [0; MOST_REMEMBERED],
            count: 0,
        }
    }

    /// Nothing was reported recently.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// RFC 2018 §4: first the block with the segment that triggered the ACK, then those reported most recently.
    pub(super) fn blocks(&mut self, arrivals: &Arrivals, trigger: u32) -> SackBlocks {
        let mut blocks = SackBlocks::EMPTY;
        let mut kept = [0; MOST_REMEMBERED];
        let mut kept_count = 0;
        for seq in std::iter::once(trigger).chain(self.recent[..self.count].iter().copied()) {
            let Some((start, end)) = arrivals.holding(seq) else { continue };
            let known = kept[..kept_count].iter().any(|&other| start <= other && other < end);
            if known || kept_count == self.memory {
                continue;
            }
            kept[kept_count] = seq;
            kept_count += 1;
            if blocks.len() < self.most {
                blocks.push(start, end);
            }
        }
        (self.recent, self.count) = (kept, kept_count);
        blocks
    }
}
