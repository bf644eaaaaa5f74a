//! The measurements that a congestion control sees.

use skyhop_base::{Duration, Rate, Segments, Time};

/// What every control is started with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Window before the transport sets another one.
    pub cwnd: Segments,
    /// Slow-start threshold; infinite where nothing is known (RFC 5681 §3.1).
    pub ssthresh: Segments,
    /// The window does not grow above this one; infinite where there is no such limit.
    pub clamp: Segments,
    /// User bytes per segment.
    pub mss: u32,
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug)]
pub struct SentSample {
    pub now: Time,
    /// Segments outstanding, this one included.
    pub in_flight: Segments,
}

/// By how many segments' worth of acknowledgement an ACK may grow the window. Zero when the window was not used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// For slow start: RFC 3465 §2.2's min(N, L·SMSS), or 1 per ACK.
    pub slow_start: Segments,
    /// For congestion avoidance: the segments acknowledged (RFC 3465 §2.1), or 1 per ACK.
    pub avoidance: Segments,
}

/// A round trip, counted in packets, that has just ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// When it began; the first one begins with the first transmission.
    pub began: Time,
    /// New segments sent since it began.
    pub sent: u32,
}

/// An ACK of new data.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    pub now: Time,
    /// Segments that this ACK acknowledges cumulatively for the first time.
    pub newly_acked: Segments,
    /// Segments beyond these that it reports selectively for the first time.
    pub newly_reported: Segments,
    pub growth: Growth,
    /// RTT measured by this ACK; `None` when it acknowledges only what was sent more than once (Karn).
    pub latest_rtt: Option<Duration>,
    pub smoothed_rtt: Option<Duration>,
    /// Smallest sample of the connection.
    pub min_rtt: Option<Duration>,
    /// Segments outstanding after this ACK, before anything is sent in response.
    pub in_flight: Segments,
    /// The round that this ACK ends.
    pub round: Option<Round>,
    /// Segments acknowledged cumulatively since the start.
    pub acknowledged: u64,
    /// Segments delivered since the start, by cumulative and selective acknowledgement.
    pub delivered: u64,
    /// Segments of these that carried an ECN mark.
    pub ecn_marked: Segments,
    /// What a timeout found lost is still being repaired.
    pub repairing: bool,
    /// User bytes per segment.
    pub mss: u32,
}

/// Segments found lost.
#[derive(Clone, Copy, Debug)]
pub struct LossSample {
    pub now: Time,
    pub lost: Segments,
    pub in_flight: Segments,
}

/// Which transmission of the segment was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    First,
    Again,
}

/// Why the window is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionKind {
    Loss(Lost),
    /// An ECN congestion-experienced mark (RFC 3168).
    Ecn,
    Timeout(Lost),
}

/// The start of a recovery episode.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    pub now: Time,
    pub kind: CongestionKind,
    /// The amount that the cut is taken from, as the transport's option says: the smaller of window and data in
    /// flight (RFC 5681 eq. 4), so never above the window; or the window that limits the sender (ns-2).
    pub window: Segments,
    pub in_flight: Segments,
    pub smoothed_rtt: Option<Duration>,
    pub min_rtt: Option<Duration>,
    /// User bytes per segment.
    pub mss: u32,
}

/// Something that the network tells the sender about the path.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PathHint {
    /// A terminal at one end of the flow moves on to another satellite or beam.
    Handover { now: Time },
    /// The rate that a proxy grants.
    Assigned { rate: Rate },
}

/// In which part of its algorithm a control is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcPhase {
    SlowStart,
    Avoidance,
}

/// A control's state, for records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CcState {
    pub ssthresh: Segments,
    pub phase: CcPhase,
}

impl CcState {
    /// The state of an algorithm that is in slow start below its threshold.
    pub fn of(cwnd: Segments, ssthresh: Segments) -> CcState {
        let phase = if cwnd < ssthresh { CcPhase::SlowStart } else { CcPhase::Avoidance };
        CcState { ssthresh, phase }
    }
}
