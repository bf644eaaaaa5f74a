//! The records of a sender: snapshots, totals, events.

use skyhop_base::{Duration, Rate, Segments};

/// In which part of loss recovery a sender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is being repaired.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout, until all segments outstanding then are acknowledged.
    Loss,
}

/// A sender's state at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Snapshot {
    /// Congestion window without inflation.
    pub cwnd: Segments,
    /// Segments that duplicate ACKs add to it.
    pub inflation: u32,
    pub ssthresh: Segments,
    /// What the pacer spaces whole packets by, headers included; `None` where it holds nothing back.
    pub pacing: Option<Rate>,
    pub srtt: Option<Duration>,
    /// With backoff.
    pub rto: Duration,
    /// Segments sent and not acknowledged cumulatively.
    pub in_flight: u32,
    pub phase: Phase,
}

/// Running totals of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Segments sent, retransmissions included.
    pub segments: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    pub retransmissions: u64,
    /// Dummy segments of low priority; not counted among the segments, but among the bytes.
    pub probes: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    /// Times the control was told of congestion.
    pub window_cuts: u64,
    pub acks: u64,
    pub duplicate_acks: u64,
}

/// An event for the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// Fast retransmit of `seq`.
    RecoveryEntered {
        seq: u32,
    },
    RecoveryLeft,
    /// The retransmission timer expired; `seq` is the first segment outstanding.
    Timeout {
        seq: u32,
    },
}

/// The events of one input: a handful, without allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventLog {
    events: [Option<SenderEvent>; 4],
    written: u8,
    read: u8,
}

impl EventLog {
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.written, self.read) = (0, 0);
    }

    pub(crate) fn push(&mut self, event: SenderEvent) {
        debug_assert!(usize::from(self.written) < self.events.len());
        if let Some(slot) = self.events.get_mut(usize::from(self.written)) {
            *slot = Some(event);
            self.written += 1;
        }
    }

    pub(crate) fn pop(&mut self) -> Option<SenderEvent> {
        if self.read == self.written {
            return None;
        }
        self.read += 1;
        self.events[usize::from(self.read - 1)]
    }
}
