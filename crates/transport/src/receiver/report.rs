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
        if let Some((start, end)) = arrivals.only_range()
            && self.memory.min(self.most) > 0
            && start <= trigger
            && trigger < end
        {
            // All that was reported recently is in the same block, or is not held any more.
            (self.recent[0], self.count) = (trigger, 1);
            blocks.push(start, end);
            return blocks;
        }
        let (mut seq, mut kept) = (trigger, 0);
        for place in 0..=self.count {
            // Read before it may be written: no more are kept than have been looked at.
            let next = self.recent.get(place).copied().unwrap_or_default();
            if let Some((start, end)) = arrivals.holding(seq) {
                let is_known = self.recent[..kept].iter().any(|&other| start <= other && other < end);
                if !is_known && kept < self.memory {
                    self.recent[kept] = seq;
                    kept += 1;
                    if blocks.len() < self.most {
                        blocks.push(start, end);
                    }
                }
            }
            seq = next;
        }
        self.count = kept;
        blocks
    }
}
