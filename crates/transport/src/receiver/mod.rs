//! The receiver: cumulative and selective acknowledgements, every one or delayed.

mod arrivals;
mod plain;
mod report;

use crate::config::{DelayedAck, Recovery, Switch, TcpConfig};
use crate::segment::{Ack, Ecn, Priority, SackBlocks, Segment, Transmission};
use arrivals::{ArrivalOrder, Arrivals};
use report::Report;
use skyhop_base::{Duration, Time};

/// Running totals of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Segments that arrived.
    pub received: u64,
    /// Of these, segments that had arrived before.
    pub duplicates: u64,
    /// User bytes of segments that arrived for the first time.
    pub payload_bytes: u64,
    /// ACKs sent.
    pub acks: u64,
}

/// An ACK that is due, or that waits for a second segment.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// The segment that triggered it.
    seq: u32,
    answers: Priority,
    /// The time stamp to echo.
    stamp: Stamp,
}

/// When a segment was sent, and which transmission it was.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    sent: Time,
    transmission: Transmission,
}

/// Whether what probes carry is data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probes {
    /// They carry nothing new and are only answered (TCP Peach).
    Empty,
    /// They fill holes (TCP Peach+).
    Data,
}

/// One receiving endpoint.
#[derive(Clone, Debug)]
pub struct Receiver {
    ack_size: u32,
    sack: Switch,
    sack_option_size: u32,
    sack_block_size: u32,
    ack_every: u32,
    ack_delay: Duration,
    delayed_ack: DelayedAck,
    probes: Probes,

    arrivals: Arrivals,
    report: Report,
    /// The next segment expected, as in the last ACK.
    acked: u32,
    /// TS.Recent (RFC 7323 §4.3).
    recent_stamp: Option<Stamp>,
    /// A mark arrived and no CWR since.
    ecn_echo: bool,
    /// Segments that wait for an ACK.
    unacked: u32,
    waiting: Option<Pending>,
    due: Option<Pending>,
    deadline: Time,
    counters: ReceiverCounters,
}

impl Receiver {
    pub fn new(config: &TcpConfig) -> Receiver {
        let options = &config.options;
        Receiver {
            ack_size: options.ack_size.0 as u32,
            sack: options.sack,
            sack_option_size: options.ns2.sack_option_size.0 as u32,
            sack_block_size: options.ns2.sack_block_size.0 as u32,
            ack_every: options.ack_every.max(1),
            ack_delay: options.ack_delay,
            delayed_ack: options.ns2.delayed_ack,
            probes: if config.recovery == Recovery::PeachPlus { Probes::Data } else { Probes::Empty },
            arrivals: Arrivals::default(),
            report: Report::new(options.max_sack_blocks, options.sack_memory),
            acked: 0,
            recent_stamp: None,
            ecn_echo: false,
            unacked: 0,
            waiting: None,
            due: None,
            deadline: Time::MAX,
            counters: ReceiverCounters::default(),
        }
    }

    /// A segment arrives that was sent at `sent_at`.
    pub fn on_segment(&mut self, now: Time, segment: &Segment, sent_at: Time) {
        self.counters.received += 1;
        let stamp = Stamp { sent: sent_at, transmission: segment.transmission };
        if segment.priority == Priority::Low {
            self.on_probe(segment, stamp);
            return;
        }
        self.ecn_echo = (self.ecn_echo && !segment.window_reduced) || segment.ecn == Ecn::Experienced;
        if segment.seq <= self.acked && self.recent_stamp.is_none_or(|recent| sent_at >= recent.sent) {
            self.recent_stamp = Some(stamp);
        }
        let arrival = self.accept_counting(segment);
        let pending = Pending { seq: segment.seq, answers: Priority::Normal, stamp };
        self.unacked += 1;
        let last_again =
            arrival == ArrivalOrder::Duplicate && segment.seq + 1 == self.arrivals.next() && self.arrivals.is_gapless();
        let waits =
            arrival == ArrivalOrder::InOrder || (last_again && self.delayed_ack == DelayedAck::AlsoRepeatedLast);
        // RFC 5681 §4.2: at once when out of order, a gap is filled or `ack_every` segments wait. The opening
        // segment is answered at once.
        let at_once = !waits || segment.seq == 0 || self.unacked >= self.ack_every;
        if at_once {
            self.waiting = None;
            self.due = Some(pending);
            self.unacked = 0;
            self.deadline = Time::MAX;
        } else if self.waiting.is_none() {
            self.waiting = Some(pending);
            self.deadline = now.saturating_add(self.ack_delay);
        }
    }

    /// A probe is answered at once and leaves delayed ACKs alone.
    fn on_probe(&mut self, segment: &Segment, stamp: Stamp) {
        if self.probes == Probes::Data {
            self.accept_counting(segment);
        }
        self.due = Some(Pending { seq: segment.seq, answers: Priority::Low, stamp });
    }

    fn accept_counting(&mut self, segment: &Segment) -> ArrivalOrder {
        let arrival = self.arrivals.accept(segment.seq);
        if arrival == ArrivalOrder::Duplicate {
            self.counters.duplicates += 1;
        } else {
            self.counters.payload_bytes += u64::from(segment.payload);
        }
        arrival
    }

    /// The ACK that is to be sent now.
    #[inline]
    pub fn poll_ack(&mut self, _now: Time) -> Option<Ack> {
        let due = self.due.take()?;
        self.counters.acks += 1;
        let blocks = if self.arrivals.is_gapless() || self.sack == Switch::Off {
            self.report.clear();
            SackBlocks::EMPTY
        } else {
            self.report.blocks(&self.arrivals, due.seq)
        };
        let mut size = self.ack_size;
        if !blocks.is_empty() {
            size += self.sack_option_size + self.sack_block_size * blocks.len() as u32;
        }
        self.acked = self.arrivals.next();
        let echoed = match due.answers {
            Priority::Normal => self.recent_stamp.unwrap_or(due.stamp),
            Priority::Low => due.stamp,
        };
        Some(Ack {
            next: self.acked,
            size,
            echo: echoed.sent,
            trigger: echoed.transmission,
            answers: due.answers,
            ecn_echo: self.ecn_echo,
            blocks,
        })
    }

    /// When the delayed ACK is due; [`Time::MAX`] when none waits.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.deadline
    }

    pub fn on_timeout(&mut self, now: Time) {
        if now >= self.deadline {
            self.due = self.waiting.take();
            self.unacked = 0;
            self.deadline = Time::MAX;
        }
    }

    pub fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }

    /// Segments that arrived beyond a gap.
    pub fn held_segments(&self) -> u32 {
        self.arrivals.held()
    }

    /// Size of an ACK without options.
    pub fn ack_size(&self) -> u32 {
        self.ack_size
    }

    /// The next segment expected.
    pub fn next_expected(&self) -> u32 {
        self.arrivals.next()
    }
}
