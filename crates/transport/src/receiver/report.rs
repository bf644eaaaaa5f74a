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

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Stream;

    /// The segments to remember, the newest first, each with its block. A block with several of them has the newest.
    fn by_the_rule(arrivals: &Arrivals, recent: &[u32], trigger: u32, memory: usize) -> Vec<(u32, (u32, u32))> {
        let mut found: Vec<(u32, (u32, u32))> = Vec::new();
        for seq in std::iter::once(trigger).chain(recent.iter().copied()) {
            if let Some(block) = arrivals.holding(seq)
                && found.iter().all(|&(_, other)| other != block)
            {
                found.push((seq, block));
            }
        }
        found.truncate(memory);
        found
    }

    #[test]
    fn one_range_is_reported_and_remembered_by_the_rule_for_many() {
        let mut dice = Stream::new(1, "report", "test");
        let mut draw = |below: u32| (dice.uniform() * f64::from(below)) as u32;
        let (mut of_one, mut of_many) = (0, 0);
        for round in 0..2_000 {
            let (most, memory) = (draw(5), draw(9));
            let mut report = Report::new(most, memory);
            let mut arrivals = Arrivals::default();
            let mut recent = Vec::new();
            for step in 0..40 {
                // Most are near the edge, so that ranges merge and vanish; some are duplicates.
                let seq = (arrivals.next + draw(7)).saturating_sub(1);
                arrivals.accept(seq);
                // With delayed ACKs some arrivals trigger no report.
                if draw(4) == 0 {
                    continue;
                }
                match (arrivals.only_range(), arrivals.is_gapless()) {
                    (_, true) => {
                        report.clear();
                        recent.clear();
                        continue;
                    }
                    (Some(_), _) => of_one += 1,
                    (None, _) => of_many += 1,
                }
                // Any segment may be the trigger, whether it has arrived or not.
                let trigger = if draw(4) == 0 { arrivals.next + draw(9) } else { seq };
                let expected = by_the_rule(&arrivals, &recent, trigger, memory as usize);
                let blocks: Vec<_> = expected.iter().map(|&(_, block)| block).take(most as usize).collect();
                recent = expected.iter().map(|&(seq, _)| seq).collect();
                let label = format!("round {round}, step {step}: {arrivals:?}, trigger {trigger}, {most} of {memory}");
                assert_eq!(report.blocks(&arrivals, trigger).as_slice(), blocks, "{label}");
                assert_eq!(report.recent[..report.count], recent, "{label}");
            }
        }
        assert!(of_one > 10_000 && of_many > 10_000, "{of_one} reports of one range, {of_many} of several");
    }
}
