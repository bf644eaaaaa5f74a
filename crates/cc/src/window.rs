//! What the algorithms share: a window with its threshold, the counting of Linux 2.6.22, RTTs of a round.

use crate::{AckSample, CcState, CongestionEvent, CongestionKind, Growth, Segments, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Duration, Time};

/// Whose description of an algorithm is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Form {
    /// The paper's or the standard's text, in real numbers.
    #[serde(rename = "paper")]
    Paper,
    /// The module that ns-2's TCP/Linux runs, in whole numbers; ns-2 took it from Linux 2.6.22.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// No window grows above this one, in segments, so that a window without clamp stays finite.
pub(crate) const LARGEST_WINDOW: Segments = 1_073_741_824.0;

/// Where the connection is between two losses (the `ca_state` that modules of Linux look at).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Episode {
    Open,
    /// After a loss, until the first ACK that may grow the window.
    Recovery,
    /// After a timeout, until everything outstanding then was acknowledged.
    Loss,
}

/// A congestion window with its slow-start threshold, in segments.
///
/// The methods named `whole_…` keep the window a whole number and count as Linux 2.6.22 does.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) cwnd: Segments,
    pub(crate) ssthresh: Segments,
    /// The window does not grow above this one.
    pub(crate) clamp: Segments,
    /// Count since the last step (`snd_cwnd_cnt`).
    pub(crate) count: f64,
    /// Segments acknowledged since the last step (`bytes_acked`).
    acked: Segments,
    episode: Episode,
    form: Form,
}

impl Window {
    pub(crate) fn new(start: Start, form: Form) -> Window {
        Window {
            cwnd: start.cwnd.clamp(1.0, LARGEST_WINDOW),
            ssthresh: start.ssthresh,
            clamp: start.clamp.clamp(1.0, LARGEST_WINDOW),
            count: 0.0,
            acked: 0.0,
            episode: Episode::Open,
            form,
        }
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Adds to the window, up to the clamp; never takes away.
    pub(crate) fn grow(&mut self, segments: Segments) {
        self.cwnd = (self.cwnd + segments).min(self.clamp.max(self.cwnd));
    }

    /// Slow start or congestion avoidance of RFC 5681 for one ACK.
    pub(crate) fn reno(&mut self, growth: Growth) {
        self.additive(growth, 1.0);
    }

    /// Slow start, or `increase` segments per window of acknowledged segments.
    pub(crate) fn additive(&mut self, growth: Growth, increase: Segments) {
        if self.in_slow_start() {
            self.grow(growth.slow_start);
        } else {
            self.grow(increase * growth.avoidance / self.cwnd);
        }
    }

    /// A decrease by delay, to `cwnd` if that is less. The threshold follows: a window that gives way stays out of slow
    /// start, which would double it again.
    pub(crate) fn decrease_to(&mut self, cwnd: Segments) {
        self.cwnd = self.cwnd.min(cwnd).max(1.0);
        self.ssthresh = self.ssthresh.min(self.cwnd);
    }

    /// A loss: threshold and window become `ssthresh`, at least 2.
    pub(crate) fn cut(&mut self, ssthresh: Segments) {
        self.ssthresh = ssthresh.clamp(2.0, LARGEST_WINDOW);
        self.cwnd = self.ssthresh;
        (self.count, self.acked) = (0.0, 0.0);
        self.episode = Episode::Recovery;
    }

    /// A timeout: the threshold becomes `ssthresh`, at least 2, the window 1.
    pub(crate) fn timeout(&mut self, ssthresh: Segments) {
        self.cut(ssthresh);
        self.cwnd = 1.0;
        self.episode = Episode::Loss;
    }

    /// A cut to `ssthresh`, or a timeout with it.
    pub(crate) fn congestion(&mut self, kind: CongestionKind, ssthresh: Segments) {
        match kind {
            CongestionKind::Timeout(_) => self.timeout(ssthresh),
            CongestionKind::Loss(_) | CongestionKind::Ecn => self.cut(ssthresh),
        }
    }

    /// The recovery episode is over.
    pub(crate) fn recovered(&mut self) {
        self.episode = Episode::Open;
    }

    /// Counts acknowledged segments towards the next step.
    pub(crate) fn credit(&mut self, acked: Segments) {
        self.acked += acked;
    }

    pub(crate) fn set(&mut self, cwnd: Segments) {
        let cwnd = cwnd.clamp(1.0, LARGEST_WINDOW);
        self.cwnd = match self.form {
            Form::Paper => cwnd,
            Form::Ns2 => cwnd.trunc(),
        };
    }

    pub(crate) fn state(&self) -> CcState {
        CcState::of(self.cwnd, self.ssthresh)
    }

    /// Whether no loss is being repaired (`TCP_CA_Open`).
    pub(crate) fn is_open(&self) -> bool {
        self.episode == Episode::Open
    }

    /// Takes note of an ACK that may grow the window; whether the window was used (`tcp_is_cwnd_limited`).
    pub(crate) fn acknowledge(&mut self, sample: &AckSample) -> bool {
        self.episode = if sample.repairing { Episode::Loss } else { Episode::Open };
        self.acked += sample.newly_acked;
        sample.growth.slow_start > 0.0
    }

    /// 2.6.22 is in slow start also at the threshold.
    pub(crate) fn whole_in_slow_start(&self) -> bool {
        self.cwnd <= self.ssthresh
    }

    /// One segment per ACK, whatever it acknowledges (`tcp_slow_start` with byte counting 1).
    pub(crate) fn whole_slow_start(&mut self) {
        if self.acked < 1.0 {
            return;
        }
        self.acked = 0.0;
        self.count += self.cwnd;
        while self.count >= self.cwnd {
            self.count -= self.cwnd;
            self.step();
        }
    }

    /// One segment more, below the clamp.
    pub(crate) fn step(&mut self) {
        if self.cwnd < self.clamp {
            self.cwnd += 1.0;
        }
    }

    /// One segment per window of acknowledged segments (`tcp_reno_cong_avoid` with byte counting).
    pub(crate) fn whole_reno(&mut self) {
        if self.whole_in_slow_start() {
            self.whole_slow_start();
        } else if self.acked >= self.cwnd {
            self.acked -= self.cwnd;
            self.step();
        }
    }

    /// One segment with every ACK that finds `count` ACKs counted, so with the (count + 1)-th.
    pub(crate) fn step_after(&mut self, count: f64) {
        if self.count >= count {
            self.step();
            self.count = 0.0;
        } else {
            self.count += 1.0;
        }
    }

    /// Half of the window as a whole number (`tcp_reno_ssthresh` before its floor).
    pub(crate) fn whole_half(&self) -> Segments {
        (self.cwnd / 2.0).trunc()
    }

    /// Half of the threshold as a whole number (`tcp_reno_min_cwnd`).
    pub(crate) fn half_threshold(&self) -> Segments {
        (self.ssthresh / 2.0).trunc()
    }
}

/// The methods of [`crate::CongestionControl`] that a control with a field `window` passes on.
///
/// `pass_to_window!(but on_recovered)` leaves that one to the control.
macro_rules! pass_to_window {
    () => {
        fn on_recovered(&mut self) {
            self.window.recovered();
        }

        pass_to_window!(but on_recovered);
    };
    (but on_recovered) => {
        fn set_cwnd(&mut self, cwnd: $crate::Segments) {
            self.window.set(cwnd);
        }

        #[inline]
        fn cwnd(&self) -> $crate::Segments {
            self.window.cwnd
        }

        fn state(&self) -> $crate::CcState {
            self.window.state()
        }
    };
}
pub(crate) use pass_to_window;

/// The filter of segments per ACK in `tcp_bic` and `tcp_cubic` of Linux 2.6.22, in 16ths.
///
/// It starts at 2 and, because its division truncates, stops at 31/16 when every segment is acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentsPerAck(i64);

impl SegmentsPerAck {
    const SHIFT: u32 = 4;

    pub(crate) fn new() -> SegmentsPerAck {
        SegmentsPerAck(2 << Self::SHIFT)
    }

    pub(crate) fn update(&mut self, newly_acked: Segments) {
        self.0 += newly_acked as i64 - (self.0 >> Self::SHIFT);
    }

    /// The count of ACKs that stands for `count` segments, at least 1.
    pub(crate) fn acks_for(self, count: u64) -> u64 {
        ((count << Self::SHIFT) / self.0.max(1) as u64).max(1)
    }
}

/// The clock of Linux in ns-2: 1 ms.
pub(crate) const JIFFIES_PER_SECOND: u64 = 1000;
const NANOS_PER_JIFFY: u64 = 1_000_000;

pub(crate) fn jiffies(time: Time) -> u64 {
    time.as_nanos() / NANOS_PER_JIFFY
}

pub(crate) fn jiffies_in(span: Duration) -> u64 {
    span.as_nanos() / NANOS_PER_JIFFY
}

/// The RTT that an ACK brings to a module of Linux, in whole microseconds.
///
/// ns-2's TCP/Linux takes a departure at time 0 for none, so a flow that starts then has no sample of its first two
/// segments; the first, without data, would lower the base RTT.
pub(crate) fn ns2_rtt(sample: &AckSample) -> Option<u64> {
    let sent_at_zero = |rtt: Duration| sample.now.since(Time::ZERO) <= rtt;
    sample.latest_rtt.filter(|&rtt| !sent_at_zero(rtt)).map(|rtt| rtt.as_nanos() / 1_000)
}

/// RTTs in seconds: of the connection and of the present round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rtts {
    /// Smallest of the connection.
    pub(crate) base: Option<f64>,
    /// Largest of the connection.
    pub(crate) max: f64,
    min_of_round: Option<f64>,
    sum: f64,
    pub(crate) count: u32,
}

impl Rtts {
    pub(crate) fn sample(&mut self, rtt: Option<Duration>) {
        if let Some(rtt) = rtt.map(Duration::as_secs_f64).filter(|&rtt| rtt > 0.0) {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.max = self.max.max(rtt);
            self.min_of_round = Some(self.min_of_round.map_or(rtt, |min| min.min(rtt)));
            self.sum += rtt;
            self.count += 1;
        }
    }

    /// Smallest RTT of the connection and of the round.
    pub(crate) fn base_and_min(&self) -> Option<(f64, f64)> {
        self.base.zip(self.min_of_round)
    }

    /// Smallest RTT of the connection and mean of the round.
    pub(crate) fn base_and_mean(&self) -> Option<(f64, f64)> {
        let base = self.base?;
        (self.count > 0).then(|| (base, self.sum / f64::from(self.count)))
    }

    pub(crate) fn next_round(&mut self) {
        (self.min_of_round, self.sum, self.count) = (None, 0.0, 0);
    }
}

/// RTTs in whole microseconds, as the modules of Linux 2.6.22 keep them.
#[derive(Clone, Debug)]
pub(crate) struct WholeRtts {
    /// Smallest of the connection.
    pub(crate) base: u64,
    /// Largest of the connection.
    pub(crate) max: u64,
    /// Smallest since the last reset.
    pub(crate) min: u64,
    pub(crate) sum: u64,
    pub(crate) count: u64,
}

impl WholeRtts {
    /// Stands for "no sample" (0x7fffffff).
    pub(crate) const NONE: u64 = 0x7fff_ffff;

    pub(crate) fn new() -> WholeRtts {
        WholeRtts { base: Self::NONE, max: 0, min: Self::NONE, sum: 0, count: 0 }
    }

    pub(crate) fn sample(&mut self, rtt: u64) {
        self.base = self.base.min(rtt);
        self.max = self.max.max(rtt);
        self.min = self.min.min(rtt);
        self.sum += rtt;
        self.count += 1;
    }

    pub(crate) fn next_round(&mut self) {
        (self.min, self.sum, self.count) = (Self::NONE, 0, 0);
    }
}

/// A round that an algorithm starts itself: it ends with the ACK of a segment sent after its start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnRound {
    /// Segments that will have been acknowledged when it ends.
    end: Option<u64>,
    /// The next segment to send when the last ACK came.
    next: u64,
    /// Segments acknowledged then.
    acknowledged: u64,
}

impl OwnRound {
    /// Takes note of any ACK; the first one, a duplicate too, starts the first round.
    pub(crate) fn observe(&mut self, sample: &AckSample) {
        self.acknowledged = sample.acknowledged;
        self.next = sample.acknowledged.saturating_add(sample.in_flight as u64);
        if self.end.is_none() {
            self.restart();
        }
    }

    /// A round starts now.
    pub(crate) fn restart(&mut self) {
        self.end = Some(self.next);
    }

    /// A round starts with a timeout, after all that was sent since the last ACK.
    pub(crate) fn restart_after(&mut self, event: &CongestionEvent) {
        self.next = self.acknowledged.saturating_add(event.in_flight as u64);
        self.restart();
    }

    /// Whether the round is over.
    pub(crate) fn ended(&self, sample: &AckSample) -> bool {
        self.end.is_some_and(|end| sample.acknowledged > end)
    }

    /// The last segment of the round, one past it; 0 before the first one.
    pub(crate) fn end(&self) -> u64 {
        self.end.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_per_ack_stops_at_31_sixteenths() {
        let mut filter = SegmentsPerAck::new();
        for _ in 0..100 {
            filter.update(1.0);
        }
        assert_eq!(filter.0, 31);
        // bic_linux_cnt: 49 counts as 25, 196 as 101.
        assert_eq!((filter.acks_for(49), filter.acks_for(196)), (25, 101));
        for _ in 0..100 {
            filter.update(2.0);
        }
        assert_eq!(filter.0, 32);
    }

    #[test]
    fn whole_slow_start_adds_one_per_ack_up_to_the_clamp() {
        let mut window = Window::new(Start { cwnd: 2.0, ssthresh: 10.0, clamp: 5.0, mss: 1000 }, Form::Ns2);
        for expected in [3.0, 4.0, 5.0, 5.0] {
            window.acked = 3.0;
            window.whole_slow_start();
            assert_eq!(window.cwnd, expected);
        }
    }
}
