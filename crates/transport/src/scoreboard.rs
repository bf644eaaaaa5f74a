//! What the receiver has reported beyond the cumulative acknowledgement, as ranges: the cost is that of the
//! holes, not of the window.

use crate::SackBlocks;

/// Ranges `[start, end)`, ascending, with gaps between them.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    ranges: Vec<(u32, u32)>,
    /// Segments in `ranges`.
    sacked: u32,
    /// Holes below this one were retransmitted in this recovery episode (RFC 6675 HighRxt + 1).
    retransmitted: u32,
}

impl Scoreboard {
    /// Records the blocks of an ACK; returns how many segments they report for the first time.
    pub fn record(&mut self, una: u32, blocks: &SackBlocks) -> u32 {
        let before = self.sacked;
        for &(start, end) in blocks.as_slice() {
            let start = start.max(una);
            if start < end {
                self.insert(start, end);
            }
        }
        self.sacked - before
    }

    #[inline]
    fn insert(&mut self, start: u32, end: u32) {
        // Small windows have one range most of the time.
        if let [(low, high)] = &mut self.ranges[..]
            && start <= *high
            && *low <= end
        {
            self.sacked += low.saturating_sub(start) + end.saturating_sub(*high);
            (*low, *high) = (start.min(*low), end.max(*high));
            return;
        }
        self.insert_among(start, end);
    }

    fn insert_among(&mut self, start: u32, end: u32) {
        // Ranges first..last touch or overlap the new one.
        let first = self.ranges.partition_point(|range| range.1 < start);
        let mut last = first;
        let (mut low, mut high) = (start, end);
        while let Some(&(s, e)) = self.ranges.get(last).filter(|range| range.0 <= end) {
            (low, high) = (low.min(s), high.max(e));
            self.sacked -= e - s;
            last += 1;
        }
        self.sacked += high - low;
        if first == last {
            self.ranges.insert(first, (low, high));
        } else {
            self.ranges[first] = (low, high);
            self.ranges.drain(first + 1..last);
        }
    }

    /// Everything below `una` was acknowledged cumulatively.
    pub fn advance(&mut self, una: u32) {
        let gone = self.ranges.partition_point(|range| range.1 <= una);
        self.sacked -= self.ranges.drain(..gone).map(|(s, e)| e - s).sum::<u32>();
        if let Some(first) = self.ranges.first_mut()
            && first.0 < una
        {
            self.sacked -= una - first.0;
            first.0 = una;
        }
    }

    pub fn clear(&mut self) {
        self.ranges.clear();
        (self.sacked, self.retransmitted) = (0, 0);
    }

    /// No hole counts as retransmitted any more: a recovery episode starts.
    pub fn forget_retransmissions(&mut self) {
        self.retransmitted = 0;
    }

    /// Segments reported.
    #[inline]
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// One past the highest segment reported.
    #[inline]
    pub fn end(&self) -> Option<u32> {
        self.ranges.last().map(|range| range.1)
    }

    /// Segments reported at `from` and above.
    pub fn sacked_from(&self, from: u32) -> u32 {
        let reversed = self.ranges.iter().rev().take_while(|range| range.1 > from);
        reversed.map(|&(start, end)| end - start.max(from)).sum()
    }

    /// The lowest segment at `from` or above that was not reported.
    pub fn first_missing(&self, from: u32) -> u32 {
        let at = self.ranges.partition_point(|range| range.1 <= from);
        match self.ranges.get(at) {
            Some(&(start, end)) if start <= from => end,
            _ => from,
        }
    }

    /// The lowest hole below the highest report that was not retransmitted in this episode.
    pub fn next_hole(&self, una: u32) -> Option<u32> {
        let candidate = self.first_missing(self.retransmitted.max(una));
        self.end().filter(|&end| candidate < end).map(|_| candidate)
    }

    /// The lowest segment below `below` that was neither reported nor retransmitted in this episode.
    pub fn next_missing(&self, una: u32, below: u32) -> Option<u32> {
        let candidate = self.first_missing(self.retransmitted.max(una));
        (candidate < below).then_some(candidate)
    }

    /// `seq` and every hole below it count as retransmitted.
    pub fn mark_retransmitted(&mut self, seq: u32) {
        self.retransmitted = self.retransmitted.max(seq + 1);
    }

    /// Segments below this one are lost, where not reported: `threshold` segments above them were (RFC 6675 §4
    /// IsLost, in segments). 0 when fewer were reported.
    pub fn lost_below(&self, threshold: u32) -> u32 {
        let mut missing = threshold;
        for &(start, end) in self.ranges.iter().rev() {
            if end - start >= missing {
                return end - missing;
            }
            missing -= end - start;
        }
        0
    }

    /// Segments that RFC 6675 §4 SetPipe counts in flight, of those in `una..high`.
    pub fn pipe(&self, una: u32, high: u32, threshold: u32) -> u32 {
        let lost_below = self.lost_below(threshold).clamp(una, high);
        let not_lost = (high - lost_below) - self.sacked_from(lost_below);
        let sent_again = self.retransmitted.clamp(una, high);
        let below = (sent_again - una) - (self.sacked - self.sacked_from(sent_again));
        not_lost + below
    }
}
