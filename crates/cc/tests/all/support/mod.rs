//! A sender without a network: one ACK per segment, W of them per round trip, losses where the test wants them.

use skyhop_base::{Duration, Time};
use skyhop_cc::*;

pub struct Loop {
    pub control: Control,
    pub now: Time,
    /// RTT without a queue, seconds.
    rtt: f64,
    /// Segments acknowledged so far.
    pub delivered: u64,
    round_end: u64,
    round_began: Time,
}

/// What a run of the loop shows.
#[derive(Debug)]
pub struct Outcome {
    /// Mean over time of the window, segments.
    pub mean_window: f64,
}

impl Loop {
    pub fn new(name: &str, bundle: Bundle, rtt: f64, ssthresh: Segments) -> Loop {
        let config = ControlSpec::named(name).and_then(|spec| spec.resolve(bundle)).expect("a control");
        let control = config.start(Start { cwnd: 10.0, ssthresh, clamp: 1e6, mss: 1000 });
        let began = Time::from_secs_f64(1.0);
        Loop { control, now: began, rtt, delivered: 0, round_end: 10, round_began: began }
    }

    /// One ACK at the rate W per RTT.
    pub fn ack(&mut self) {
        let cwnd = self.control.cwnd();
        self.now += Duration::from_secs_f64(self.rtt / cwnd);
        self.delivered += 1;
        let round = (self.delivered >= self.round_end).then(|| {
            let round = Round { began: self.round_began, sent: cwnd as u32 };
            (self.round_end, self.round_began) = (self.delivered + cwnd.ceil() as u64, self.now);
            round
        });
        let rtt = Some(Duration::from_secs_f64(self.rtt));
        self.control.on_ack(&AckSample {
            now: self.now,
            newly_acked: 1.0,
            newly_reported: 0.0,
            growth: Growth { slow_start: 1.0, avoidance: 1.0 },
            latest_rtt: rtt,
            smoothed_rtt: rtt,
            min_rtt: rtt,
            in_flight: cwnd.trunc() - 1.0,
            round,
            acknowledged: self.delivered,
            delivered: self.delivered,
            ecn_marked: 0.0,
            repairing: false,
            mss: 1000,
        });
    }

    pub fn congestion(&mut self, kind: CongestionKind) {
        let rtt = Some(Duration::from_secs_f64(self.rtt));
        let window = self.control.cwnd();
        self.control.on_congestion(&CongestionEvent {
            now: self.now,
            kind,
            window,
            in_flight: window,
            smoothed_rtt: rtt,
            min_rtt: rtt,
            mss: 1000,
        });
        self.control.on_recovered();
    }

    /// Every `period`-th segment is lost, at no cost but the cut; the first `skipped` losses are not counted.
    pub fn lose_every(mut self, period: u64, skipped: u32, counted: u32) -> Outcome {
        let mut start = (self.now, self.delivered);
        for loss in 0..skipped + counted {
            if loss == skipped {
                start = (self.now, self.delivered);
            }
            for _ in 0..period {
                self.ack();
            }
            self.congestion(CongestionKind::Loss(Lost::First));
        }
        let span = self.now.since(start.0).as_secs_f64();
        Outcome { mean_window: (self.delivered - start.1) as f64 * self.rtt / span }
    }
}
