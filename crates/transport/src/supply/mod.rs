//! The application's data, cut into segments.

mod cuts;

use cuts::Cuts;

/// What the application hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// As much as the connection can carry.
    Unlimited,
    /// So many user bytes more; the last segment may be short.
    Bytes(u64),
    /// So many full segments more.
    Segments(u32),
}

/// Segment numbers of the data and the payload of each.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    mss: u32,
    /// The first segment that carries data: 1 where segment 0 only opens the connection.
    first: u32,
    opened: bool,
    closed: bool,
    unlimited: bool,
    /// Segments `start..` carry `bytes` user bytes: all before `start` is fixed.
    start: u32,
    bytes: u64,
    /// One past the last segment with data.
    end: u32,
    /// One past the last segment that the receiver has room for, as far as it says so.
    edge: u32,
    /// Segments before `start` that were sent short, with their payload.
    short: Vec<(u32, u32)>,
    /// In place of all that where the size of segments changes.
    cuts: Option<Box<Cuts>>,
}

impl Data {
    pub(crate) fn new(mss: u32, opens_empty: bool) -> Data {
        let first = u32::from(opens_empty);
        Data {
            mss,
            first,
            opened: false,
            closed: false,
            unlimited: false,
            start: first,
            bytes: 0,
            end: first,
            edge: u32::MAX,
            short: Vec::new(),
            cuts: None,
        }
    }

    /// The size of segments will change; before anything is handed over.
    pub(crate) fn with_cuts(mut self) -> Data {
        self.cuts = Some(Box::new(Cuts::new(self.first, self.mss)));
        self
    }

    /// New segments carry so many user bytes from now on.
    pub(crate) fn set_size(&mut self, payload: u32) {
        if let Some(cuts) = &mut self.cuts {
            cuts.set_size(payload.min(self.mss));
            self.end = cuts.end();
        }
    }

    /// User bytes of the next new segment, if there is enough.
    pub(crate) fn size(&self) -> u32 {
        self.cuts.as_ref().map_or(self.mss, |cuts| cuts.size())
    }

    /// A copy of `seq` is known to be lost.
    pub(crate) fn lost(&mut self, seq: u32) {
        if let Some(cuts) = &mut self.cuts {
            cuts.lost(seq);
        }
    }

    /// All before `next` has arrived.
    pub(crate) fn acknowledged(&mut self, next: u32) {
        if let Some(cuts) = &mut self.cuts {
            cuts.acknowledged(next);
        }
    }

    pub(crate) fn open(&mut self) {
        self.opened = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed || !self.unlimited
    }

    /// One past the last segment that may be sent.
    #[inline]
    pub(crate) fn limit(&self) -> u32 {
        if self.opened { self.end.min(self.edge) } else { 0 }
    }

    /// One past the last segment, of those after `next`, that is known to carry a full payload; `next` where nothing
    /// is known.
    #[inline]
    pub(crate) fn full_before(&self, next: u32) -> u32 {
        if self.unlimited && self.cuts.is_none() && self.short.is_empty() {
            return if next < self.first { next } else { self.end };
        }
        self.full_before_short(next)
    }

    fn full_before_short(&self, next: u32) -> u32 {
        if self.cuts.is_some() || next < self.start {
            return next;
        }
        let full = (self.bytes / u64::from(self.mss)).min(u32::MAX.into()) as u32;
        if self.unlimited { self.end } else { self.start.saturating_add(full).clamp(next, self.end.max(next)) }
    }

    /// One past the last segment with data, whether there is room for it or not.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// The receiver has room for all before `edge`; what it said once it does not take back.
    pub(crate) fn set_edge(&mut self, edge: u32) {
        self.edge = if self.edge == u32::MAX { edge } else { self.edge.max(edge) };
    }

    /// Whether there is data, and no room for any of it.
    pub(crate) fn waits_for_room(&self, next: u32) -> bool {
        self.opened && next >= self.edge && next < self.end
    }

    /// User bytes that were handed over and are not acknowledged, `una` being the first segment that is not; of data
    /// without end none.
    pub(crate) fn backlog(&self, una: u32) -> u64 {
        if let Some(cuts) = &self.cuts {
            return cuts.backlog();
        }
        if self.unlimited {
            return 0;
        }
        let from = una.max(self.start);
        let gone = u64::from(from - self.start) * u64::from(self.mss);
        let before = u64::from(self.start - una.clamp(self.first, self.start)) * u64::from(self.mss);
        self.bytes.saturating_sub(gone) + before
    }

    /// `high` is one past the highest segment sent.
    pub(crate) fn supply(&mut self, supply: Supply, high: u32) {
        if self.closed {
            return;
        }
        if let Some(cuts) = &mut self.cuts {
            self.unlimited |= supply == Supply::Unlimited;
            cuts.supply(match supply {
                Supply::Unlimited => Cuts::ENDLESS,
                Supply::Bytes(bytes) => bytes,
                Supply::Segments(segments) => u64::from(segments) * u64::from(self.mss),
            });
            self.end = cuts.end();
            return;
        }
        let partial = self.bytes % u64::from(self.mss);
        if partial > 0 && (high == self.end || supply == Supply::Unlimited) {
            // The short last segment has left, or full ones follow for ever: it keeps its size.
            self.short.push((self.end - 1, partial as u32));
            (self.start, self.bytes) = (self.end, 0);
        }
        match supply {
            Supply::Unlimited => {
                self.unlimited = true;
                self.end = u32::MAX;
                return;
            }
            Supply::Bytes(bytes) => self.bytes = self.bytes.saturating_add(bytes),
            Supply::Segments(segments) => {
                self.bytes = self.bytes.saturating_add(u64::from(segments) * u64::from(self.mss));
            }
        }
        let segments = self.bytes.div_ceil(u64::from(self.mss)).min(u32::MAX.into()) as u32;
        self.end = self.start.saturating_add(segments);
    }

    pub(crate) fn close(&mut self, high: u32) {
        self.closed = true;
        if let Some(cuts) = &mut self.cuts {
            cuts.close();
        }
        self.end = self.end.min(high.max(self.first));
    }

    /// User bytes of a segment that is sent now.
    #[inline]
    pub(crate) fn payload(&mut self, seq: u32) -> u32 {
        if seq < self.first {
            return 0;
        }
        if self.unlimited && self.short.is_empty() && self.cuts.is_none() {
            return self.mss;
        }
        self.payload_of_part(seq)
    }

    fn payload_of_part(&mut self, seq: u32) -> u32 {
        if let Some(cuts) = &mut self.cuts {
            let payload = cuts.send(seq);
            if !self.closed {
                self.end = cuts.end();
            }
            return payload;
        }
        if seq < self.start {
            let short = self.short.iter().find(|entry| entry.0 == seq);
            return short.map_or(self.mss, |entry| entry.1);
        }
        if self.unlimited {
            return self.mss;
        }
        let before = u64::from(seq - self.start) * u64::from(self.mss);
        self.bytes.saturating_sub(before).min(self.mss.into()) as u32
    }
}
