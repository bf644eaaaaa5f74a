//! A congestion control of `skyhop-cc` inside a QUIC stack, in place of the stack's own.
//!
//! The stack keeps what is a stack's: it finds losses, paces, counts bytes in flight. This module turns its calls into
//! the measurements that a control of ours sees, and the control's window into bytes. It follows RFC 9002 where QUIC
//! differs from TCP:
//!
//! - one cut for each recovery period, which ends when a packet sent after its start is acknowledged (section 7.3.2);
//! - acknowledgements of packets sent before grow nothing (section 7.3.2), nor do those of a sender without data (7.8);
//! - the cut is taken from the window, not from the data in flight (section 7.3.2);
//! - persistent congestion stands for TCP's retransmission timeout (section 7.6.2);
//! - the window is at least two datagrams (section 7.2).
//!
//! Every sample of the RTT counts: QUIC never sends a packet number twice. A segment of the control is a full datagram.

use skyhop_base::{Duration, Rate, Time};
use skyhop_cc::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Control, ControlConfig, Growth, LossSample, Lost,
    Round, SentSample, Start,
};
use std::sync::{Arc, Mutex, PoisonError};

/// RFC 9002, section 7.2: ten datagrams, at most 14 720 bytes but at least two datagrams.
fn usual_window(datagram: u64) -> u64 {
    (10 * datagram).min(14_720.max(2 * datagram))
}

/// RFC 9002, section 7.2.
const LEAST_DATAGRAMS: f64 = 2.0;

/// What makes a control at the start of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Maker {
    pub config: Arc<ControlConfig>,
    /// Congestion window at the start, in bytes; `None`: the usual one.
    pub initial_window: Option<u64>,
}

/// What a stack asks the control, kept apart from the control so that asking needs no lock.
#[derive(Clone, Copy, Debug)]
struct Said {
    window: u64,
    threshold: Option<u64>,
    pacing: Option<Rate>,
}

/// The control of one connection.
#[derive(Debug)]
pub(crate) struct Ours {
    maker: Maker,
    /// The stacks ask for `Sync`, which a boxed control is not. Nobody but the connection locks it.
    control: Mutex<Control>,
    said: Said,
    /// Bytes of a full datagram.
    datagram: u64,
    sent: u64,
    acked: u64,
    in_flight: u64,
    /// The last cut. Packets sent until then belong to its recovery period.
    cut: Option<Time>,
    in_recovery: bool,
    collapsed: Option<Time>,
    batch: Batch,
    rtts: Rtts,
    round: Mark,
}

/// The packets that one acknowledgement acknowledges, as far as it was heard.
#[derive(Debug, Default)]
struct Batch {
    bytes: u64,
    /// Bytes of these that may grow the window.
    growing: u64,
    /// When the packet sent last was sent.
    sent: Option<Time>,
}

#[derive(Debug, Default)]
struct Rtts {
    least: Option<Duration>,
    smoothed: Option<Duration>,
}

/// Where the present round trip began.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    sent: u64,
}

impl Maker {
    pub(crate) fn first_window(&self, datagram: u64) -> u64 {
        self.initial_window.unwrap_or_else(|| usual_window(datagram))
    }

    pub(crate) fn start(&self, now: Time, datagram: u16) -> Ours {
        let datagram = u64::from(datagram);
        let cwnd = self.first_window(datagram) as f64 / datagram as f64;
        let start = Start { cwnd, ssthresh: f64::INFINITY, clamp: f64::INFINITY, mss: datagram as u32 };
        let control = self.config.start(start);
        let mut ours = Ours {
            maker: self.clone(),
            control: Mutex::new(control),
            said: Said { window: 0, threshold: None, pacing: None },
            datagram,
            sent: 0,
            acked: 0,
            in_flight: 0,
            cut: None,
            in_recovery: false,
            collapsed: None,
            batch: Batch::default(),
            rtts: Rtts::default(),
            round: Mark { at: now, sent: 0 },
        };
        ours.tell(|_| ());
        ours
    }
}

impl Ours {
    /// Tells the control something, and notes what it says afterwards.
    fn tell(&mut self, what: impl FnOnce(&mut Control)) {
        let control = self.control.get_mut().unwrap_or_else(PoisonError::into_inner);
        what(control);
        if control.cwnd() < LEAST_DATAGRAMS {
            control.set_cwnd(LEAST_DATAGRAMS);
        }
        let bytes = |segments: f64| (segments * self.datagram as f64) as u64;
        let threshold = control.state().ssthresh;
        self.said = Said {
            window: bytes(control.cwnd()),
            threshold: (threshold < 1e9).then(|| bytes(threshold)),
            pacing: control.pacing_rate(),
        };
    }

    fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 / self.datagram as f64
    }

    pub(crate) fn window(&self) -> u64 {
        self.said.window
    }

    pub(crate) fn first_window(&self) -> u64 {
        self.maker.first_window(self.datagram)
    }

    /// In bytes, once there is one.
    pub(crate) fn threshold(&self) -> Option<u64> {
        self.said.threshold
    }

    pub(crate) fn pacing(&self) -> Option<Rate> {
        self.said.pacing
    }

    /// RFC 9000, section 9.4: a connection on a new path begins as a new one.
    pub(crate) fn afresh(&self) -> Ours {
        self.maker.start(self.round.at, self.datagram as u16)
    }

    /// `bytes` in datagrams that leave together.
    pub(crate) fn sent(&mut self, now: Time, bytes: u64) {
        let mut left = bytes;
        while left > 0 {
            let size = left.min(self.datagram);
            left -= size;
            self.sent += size;
            self.in_flight += size;
            let in_flight = self.segments(self.in_flight);
            self.tell(|control| control.on_sent(&SentSample { now, in_flight }));
        }
    }

    /// A packet is acknowledged; more of the same acknowledgement may follow.
    pub(crate) fn acked(&mut self, sent: Time, bytes: u64, idle: bool, smoothed: Duration) {
        let before_cut = self.cut.is_some_and(|cut| sent <= cut);
        self.batch.bytes += bytes;
        if !before_cut && !idle {
            self.batch.growing += bytes;
        }
        self.batch.sent = Some(self.batch.sent.map_or(sent, |last| last.max(sent)));
        // Before its first sample the stack says a value that nobody has measured.
        self.rtts.smoothed = self.rtts.least.map(|_| smoothed);
    }

    /// The acknowledgement is complete; `in_flight` bytes are left.
    pub(crate) fn end_of_acks(&mut self, now: Time, in_flight: u64) {
        self.in_flight = in_flight;
        let Batch { bytes, growing, sent } = std::mem::take(&mut self.batch);
        let Some(sent) = sent else { return };
        self.acked += bytes;
        let rtt = now.since(sent);
        self.rtts.least = Some(self.rtts.least.map_or(rtt, |least| least.min(rtt)));
        let is_after_cut = self.cut.is_none_or(|cut| sent > cut);
        if self.in_recovery && is_after_cut {
            self.in_recovery = false;
            self.tell(|control| control.on_recovered());
        }
        let round = (sent >= self.round.at).then(|| {
            let ended = self.round;
            self.round = Mark { at: now, sent: self.sent };
            Round { began: ended.at, sent: self.segments(self.sent - ended.sent) as u32 }
        });
        let grows = self.segments(growing);
        let sample = AckSample {
            now,
            newly_acked: self.segments(bytes),
            newly_reported: 0.0,
            growth: Growth { slow_start: grows, avoidance: grows },
            latest_rtt: Some(rtt),
            smoothed_rtt: self.rtts.smoothed.or(Some(rtt)),
            min_rtt: self.rtts.least,
            in_flight: self.segments(in_flight),
            round,
            // What left the network, so that rounds end where packets were lost: QUIC never acknowledges a lost number.
            acknowledged: self.sent.saturating_sub(in_flight) / self.datagram,
            delivered: self.acked / self.datagram,
            // The stacks tell of marks after the acknowledgement.
            ecn_marked: 0.0,
            repairing: false,
            mss: self.datagram as u32,
        };
        let may_grow = !self.in_recovery;
        self.tell(|control| if may_grow { control.on_ack(&sample) } else { control.on_measured(&sample) });
    }

    /// Packets were lost, the last of which left at `sent`, or marked (`lost` is 0 bytes).
    pub(crate) fn congestion(&mut self, now: Time, sent: Time, collapse: bool, mark: bool, lost: u64) {
        let in_flight = self.segments(self.in_flight);
        self.in_flight = self.in_flight.saturating_sub(lost);
        if lost > 0 {
            let sample = LossSample { now, lost: self.segments(lost), in_flight: self.segments(self.in_flight) };
            self.tell(|control| control.on_lost(&sample));
        }
        let is_new = |since: Option<Time>| since.is_none_or(|since| sent > since);
        let kind = match (collapse && is_new(self.collapsed), is_new(self.cut), mark) {
            (true, _, _) => CongestionKind::Timeout(Lost::First),
            (false, false, _) => return,
            (false, true, true) => CongestionKind::Ecn,
            (false, true, false) => CongestionKind::Loss(Lost::First),
        };
        if matches!(kind, CongestionKind::Timeout(_)) {
            self.collapsed = Some(now);
        }
        (self.cut, self.in_recovery) = (Some(now), true);
        let event = CongestionEvent {
            now,
            kind,
            window: self.segments(self.said.window),
            in_flight,
            smoothed_rtt: self.rtts.smoothed.or(self.rtts.least),
            min_rtt: self.rtts.least,
            mss: self.datagram as u32,
        };
        self.tell(|control| control.on_congestion(&event));
    }

    /// Full datagrams have another size; the window stays the same in bytes.
    pub(crate) fn resized(&mut self, datagram: u16) {
        let before = self.said.window;
        self.datagram = u64::from(datagram.max(1));
        let segments = self.segments(before);
        self.tell(|control| control.set_cwnd(segments));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_cc::{Bundle, ControlSpec};

    const DATAGRAM: u16 = 1000;

    fn millis(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn reno() -> Ours {
        let config = ControlSpec::named("reno").and_then(|spec| spec.resolve(Bundle::Rfc)).expect("there is one");
        Maker { config: Arc::new(config), initial_window: None }.start(Time::ZERO, DATAGRAM)
    }

    /// All that left at `sent` is acknowledged 100 ms later.
    fn acknowledge(ours: &mut Ours, sent: u64, bytes: u64) {
        ours.acked(millis(sent), bytes, false, Duration::from_millis(100));
        let left = ours.in_flight - bytes;
        ours.end_of_acks(millis(sent + 100), left);
    }

    #[test]
    fn a_window_doubles_a_round_and_is_cut_once_for_each_recovery_period() {
        let mut ours = reno();
        assert_eq!(ours.window(), 10_000, "RFC 9002, section 7.2");
        ours.sent(millis(0), 10_000);
        acknowledge(&mut ours, 0, 10_000);
        assert_eq!((ours.window(), ours.threshold()), (20_000, None), "slow start adds what was acknowledged");
        ours.sent(millis(100), 20_000);
        ours.congestion(millis(200), millis(100), false, false, 5_000);
        assert_eq!((ours.window(), ours.threshold()), (10_000, Some(10_000)), "half");
        // What left before the cut is lost, and acknowledged, within the same period.
        ours.congestion(millis(201), millis(100), false, false, 1_000);
        acknowledge(&mut ours, 102, 4_000);
        assert_eq!(ours.window(), 10_000);
        // A window of what left afterwards adds a datagram (RFC 9002, section 7.3.3), and a loss among it cuts again.
        ours.sent(millis(210), 10_000);
        acknowledge(&mut ours, 210, 10_000);
        assert_eq!(ours.window(), 11_000);
        ours.congestion(millis(320), millis(215), false, true, 0);
        assert_eq!(ours.window(), 5_500, "a mark");
        ours.congestion(millis(400), millis(330), true, false, 1_000);
        assert_eq!(ours.window(), 2_000, "persistent congestion leaves two datagrams (RFC 9002, section 7.6.2)");
    }

    #[test]
    fn a_sender_without_data_does_not_grow_its_window() {
        let mut ours = reno();
        ours.sent(millis(0), 3_000);
        ours.acked(millis(0), 3_000, true, Duration::from_millis(100));
        ours.end_of_acks(millis(100), 0);
        assert_eq!(ours.window(), 10_000, "RFC 9002, section 7.8");
    }
}
