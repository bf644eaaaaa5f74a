//! The application's data, cut into segments.

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
pub(super) struct Data {
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
    /// Segments before `start` that were sent short, with their payload.
    short: Vec<(u32, u32)>,
}

impl Data {
    pub(super) fn new(mss: u32, opens_empty: bool) -> Data {
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
            short: Vec::new(),
        }
    }

    pub(super) fn open(&mut self) {
        self.opened = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed || !self.unlimited
    }

    /// One past the last segment that may be sent.
    #[inline]
    pub(super) fn limit(&self) -> u32 {
        if self.opened { self.end } else { 0 }
    }

    /// `high` is one past the highest segment sent.
    pub(super) fn supply(&mut self, supply: Supply, high: u32) {
        if self.closed {
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

    pub(super) fn close(&mut self, high: u32) {
        self.closed = true;
        self.end = self.end.min(high.max(self.first));
    }

    /// User bytes of a segment.
    #[inline]
    pub(super) fn payload(&self, seq: u32) -> u32 {
        if seq < self.first {
            return 0;
        }
        if self.unlimited && self.short.is_empty() {
            return self.mss;
        }
        self.payload_of_part(seq)
    }

    fn payload_of_part(&self, seq: u32) -> u32 {
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
