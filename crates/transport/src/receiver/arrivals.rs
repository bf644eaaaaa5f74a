//! Which segments have arrived.

/// An arrival in relation to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrivalOrder {
    InOrder,
    FillsGap,
    OutOfOrder,
    Duplicate,
}

/// The segments that have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    /// The next segment expected.
    pub(super) next: u32,
    /// Ranges `[start, end)` that arrived beyond `next`, ascending, with gaps between them.
    held: Vec<(u32, u32)>,
}

impl Arrivals {
    #[inline]
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Nothing has arrived beyond a gap.
    #[inline]
    pub(super) fn is_gapless(&self) -> bool {
        self.held.is_empty()
    }

    /// Segments that arrived beyond a gap.
    pub(super) fn held(&self) -> u32 {
        self.held.iter().map(|range| range.1 - range.0).sum()
    }

    /// The range beyond a gap, if there is one alone.
    #[inline]
    pub(super) fn only_range(&self) -> Option<(u32, u32)> {
        if let [only] = self.held[..] { Some(only) } else { None }
    }

    /// The range beyond a gap that holds `seq`.
    pub(super) fn holding(&self, seq: u32) -> Option<(u32, u32)> {
        let at = self.held.partition_point(|range| range.1 <= seq);
        self.held.get(at).copied().filter(|range| range.0 <= seq)
    }

    #[inline]
    pub(super) fn accept(&mut self, seq: u32) -> ArrivalOrder {
        if seq == self.next && self.held.is_empty() {
            self.next += 1;
            return ArrivalOrder::InOrder;
        }
        self.accept_with_gaps(seq)
    }

    fn accept_with_gaps(&mut self, seq: u32) -> ArrivalOrder {
        if seq < self.next {
            return ArrivalOrder::Duplicate;
        }
        if seq == self.next {
            self.next += 1;
            if self.held.first().is_some_and(|range| range.0 == self.next) {
                self.next = self.held.remove(0).1;
            }
            return ArrivalOrder::FillsGap;
        }
        let at = self.held.partition_point(|range| range.1 < seq);
        match self.held.get(at).copied() {
            Some((start, end)) if start <= seq && seq < end => return ArrivalOrder::Duplicate,
            Some((start, end)) if end == seq => {
                self.held[at] = (start, seq + 1);
                if self.held.get(at + 1).is_some_and(|range| range.0 == seq + 1) {
                    self.held[at].1 = self.held.remove(at + 1).1;
                }
            }
            Some((start, end)) if start == seq + 1 => self.held[at] = (seq, end),
            _ => self.held.insert(at, (seq, seq + 1)),
        }
        ArrivalOrder::OutOfOrder
    }
}
