//! The receiver's side of the set-up: the SYN-ACK, its repetitions, and what the round trip tells.

use super::config::EcnEcho;
use super::{Options, Receiver, TIMESTAMP_BYTES, Window};
use crate::segment::{FIRST_COUNT, Segment};
use skyhop_base::{Duration, Time};

/// The timeout before a round-trip time is known (RFC 6298 §2.1).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// The header's field takes no more without a scale.
const UNSCALED: u64 = 65_535;

#[derive(Clone, Copy, Debug)]
pub(super) enum Handshake {
    Listening,
    /// The SYN-ACK is out.
    Answered {
        first_sent: Time,
        /// Whether it was sent again: then only an echo tells which one is answered.
        again: bool,
        /// How often the timer has sent it again, and when it fires next.
        repeats: u32,
        fires: Option<Time>,
    },
    /// With the round-trip time of the SYN-ACK, if it is known.
    Established {
        rtt: Option<Duration>,
    },
}

impl Handshake {
    pub(super) fn timer(&self) -> Option<Time> {
        match self {
            Handshake::Answered { fires, .. } => *fires,
            _ => None,
        }
    }

    pub(super) fn rtt(&self) -> Option<Duration> {
        match self {
            Handshake::Established { rtt } => *rtt,
            _ => None,
        }
    }

    /// The retransmission timeout (RFC 6298 §2.2): the receiver sends no data, so the first sample stays.
    pub(super) fn timeout(&self, least: Duration) -> Duration {
        self.rtt().map_or(FIRST_TIMEOUT, |rtt| rtt + least.max(rtt * 2))
    }
}

impl Receiver {
    pub(super) fn on_syn(&mut self, now: Time, segment: &Segment) {
        match self.handshake {
            Handshake::Listening => {}
            Handshake::Answered { repeats, .. } => {
                let late = self.options.timestamps
                    && segment
                        .timestamps
                        .is_some_and(|timestamps| (timestamps.value.wrapping_sub(self.echo) as i32) < 0);
                if self.limited(now) {
                    return;
                }
                if late {
                    // An earlier SYN was overtaken (RFC 7323 §5): an ACK tells the peer what is expected.
                    let unit = 1 << self.window.scale;
                    self.outbox.push_back(Segment {
                        ack: Some(self.next),
                        seq: 1,
                        window: self.window.offered.min(UNSCALED) / unit * unit,
                        timestamps: self.timestamps(now),
                        ..Segment::default()
                    });
                } else {
                    // The peer did not see the SYN-ACK: it gets it again, and the timer starts anew.
                    self.send_syn_ack_again(now);
                    self.set_syn_ack_timer(now, repeats);
                }
                return;
            }
            Handshake::Established { .. } => return,
        }
        self.options =
            Options { timestamps: self.config.timestamps && segment.timestamps.is_some(), sack: self.config.sack };
        self.ecn.agreed = self.config.ecn && segment.ece && segment.cwr;
        self.ecn.accurate = self.ecn.agreed && segment.ae && self.config.echo == EcnEcho::Accurate;
        (self.ecn.count, self.ecn.told) = (FIRST_COUNT, FIRST_COUNT);
        self.echo = segment.timestamps.map_or(0, |timestamps| timestamps.value);
        let options = if self.options.timestamps { TIMESTAMP_BYTES } else { 0 };
        let mss = u64::from(self.config.mss).saturating_sub(options);
        self.window = Window::new(&self.config, mss, self.config.window_scaling);
        self.next = segment.end();
        self.acknowledged = self.next;
        self.read = self.next;
        self.handshake = Handshake::Answered { first_sent: now, again: false, repeats: 0, fires: None };
        self.send_syn_ack(now);
        self.set_syn_ack_timer(now, 0);
    }

    fn send_syn_ack(&mut self, now: Time) {
        self.outbox.push_back(Segment {
            syn: true,
            ack: Some(self.next),
            // Accurate ECN answers with the ECN field of the SYN, here without ECT: CWR alone (RFC 9768 §3.1.2).
            ece: self.ecn.agreed && !self.ecn.accurate,
            cwr: self.ecn.accurate,
            window: self.window.offered.min(UNSCALED),
            timestamps: self.timestamps(now),
            ..Segment::default()
        });
    }

    fn send_syn_ack_again(&mut self, now: Time) {
        if let Handshake::Answered { again, .. } = &mut self.handshake {
            *again = true;
        }
        self.send_syn_ack(now);
    }

    fn set_syn_ack_timer(&mut self, now: Time, count: u32) {
        if let Handshake::Answered { repeats, fires, .. } = &mut self.handshake {
            *repeats = count;
            *fires = Some(self.ticks.due(now, FIRST_TIMEOUT * (1 << count.min(16))));
        }
    }

    pub(super) fn repeat_syn_ack(&mut self, now: Time) {
        if let Handshake::Answered { repeats, fires, .. } = &mut self.handshake {
            if *repeats >= self.config.synack_retries {
                *fires = None;
                return;
            }
            let count = *repeats + 1;
            self.send_syn_ack_again(now);
            self.set_syn_ack_timer(now, count);
        }
    }

    /// The ACK of the SYN-ACK has come.
    pub(super) fn establish(&mut self, now: Time, segment: &Segment) {
        let Handshake::Answered { first_sent, again, .. } = self.handshake else { return };
        let echoed = segment.timestamps.filter(|_| self.options.timestamps);
        let rtt = match (again, echoed) {
            (false, _) => Some(now.since(first_sent)),
            (true, Some(timestamps)) => {
                let age = super::milliseconds(now, self.config.clock_phase).wrapping_sub(timestamps.echo);
                Some(Duration::from_millis(u64::from(age.max(1))))
            }
            (true, None) => None,
        };
        if let Some(timestamps) = echoed
            && segment.seq <= self.next
        {
            self.echo = timestamps.value;
        }
        self.handshake = Handshake::Established { rtt };
        self.last_invalid = None;
        self.window.establish(now, self.next);
        let mss = self.window.advertised_mss;
        self.acks.receive_mss =
            mss.min(self.window.offered / 2).clamp(super::acks::LEAST_MSS, super::acks::DEFAULT_MSS);
    }
}
