//! State shared by the parts of a sender; a congestion control reads and sets it.

use crate::segment::Seq;

/// The value of a slow-start threshold that was never set.
pub const SSTHRESH_UNSET: u32 = 0x7fff_ffff;

/// The congestion states of the kernel, in its order: later ones restrict the window more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaState {
    #[default]
    Open,
    /// Something arrived out of order; no loss is proven.
    Disorder,
    /// The window falls after an ECN echo.
    Cwr,
    /// The window falls after a loss; holes are repaired.
    Recovery,
    /// The retransmission timer fired.
    Loss,
}

/// The state of one sender, in the kernel's units: windows and counts in segments, times in microseconds.
///
/// Large because a control reads and writes what the kernel's controls have in `struct tcp_sock`, each under its name.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The present time in nanoseconds and in microseconds, and the number of the jiffy.
    pub now_ns: u64,
    pub now_us: u64,
    pub jiffy: u64,

    /// The oldest number not acknowledged, and the next to be sent.
    pub una: Seq,
    pub nxt: Seq,
    pub mss: u32,

    /// Segments sent and not acknowledged; of these: held by the receiver, taken for lost, retransmitted and in flight.
    pub packets_out: u32,
    pub sacked_out: u32,
    pub lost_out: u32,
    pub retrans_out: u32,

    pub cwnd: u32,
    pub cwnd_clamp: u32,
    pub ssthresh: u32,
    /// Acknowledged segments that have not yet made up one of growth.
    pub cwnd_count: u32,
    /// The window at the last reduction.
    pub prior_cwnd: u32,
    pub state: CaState,
    /// A mark and not a loss causes the reduction that begins.
    pub reducing_for_mark: bool,
    /// The window was the limit in the last window's worth of data, and the largest flight of it otherwise.
    pub cwnd_limited: bool,
    pub max_packets_out: u32,

    /// Eight times the smoothed RTT; zero before the first sample.
    pub srtt8_us: u64,
    /// The smallest RTT of the last 300 s; `u64::MAX` before the first sample.
    pub min_rtt_us: u64,

    /// Segments delivered and segments lost since the beginning; when the last delivery was known.
    pub delivered: u64,
    pub delivered_ce: u64,
    pub lost: u64,
    /// Both ends count marks (RFC 9768).
    pub accurate_ecn: bool,
    pub delivered_us: u64,
    /// The count of deliveries up to which samples of the rate are limited by the application; zero: none.
    pub app_limited: u64,

    /// Bytes per second; `u64::MAX` before the first estimate.
    pub pacing_rate: u64,
    /// Whether packets wait for their time, and the earliest time of the next in nanoseconds.
    pub paced: bool,
    pub pace_ns: u64,
    /// The jiffy of the last transmission of data.
    pub sent_jiffy: u64,
    /// Lasting jumps of the RTT that the control's detector has found.
    pub rtt_jumps: u32,
}

impl Flow {
    pub(crate) fn new(mss: u32) -> Flow {
        Flow {
            now_ns: 0,
            now_us: 0,
            jiffy: 0,
            una: 0,
            nxt: 0,
            mss,
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            cwnd: 10,
            cwnd_clamp: u32::MAX,
            ssthresh: SSTHRESH_UNSET,
            cwnd_count: 0,
            prior_cwnd: 0,
            state: CaState::Open,
            reducing_for_mark: false,
            cwnd_limited: false,
            max_packets_out: 0,
            srtt8_us: 0,
            min_rtt_us: u64::MAX,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            accurate_ecn: false,
            delivered_us: 0,
            app_limited: 0,
            pacing_rate: u64::MAX,
            paced: false,
            pace_ns: 0,
            sent_jiffy: 0,
            rtt_jumps: 0,
        }
    }

    /// Segments that have left the network without being acknowledged.
    pub fn left_out(&self) -> u32 {
        self.sacked_out + self.lost_out
    }

    /// Segments in the network, as far as the sender can tell.
    pub fn in_flight(&self) -> u32 {
        (self.packets_out + self.retrans_out).saturating_sub(self.left_out())
    }

    /// Samples of the rate are not limited by the application any more once what it had written then is delivered.
    #[inline(always)]
    pub(crate) fn end_limit(&mut self) {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The window falls by [`crate::sender`]'s rule and not by the control's.
    pub fn in_reduction(&self) -> bool {
        matches!(self.state, CaState::Cwr | CaState::Recovery)
    }

    /// The threshold to be restored later: the present one, or three quarters of the window if that is higher.
    pub fn present_ssthresh(&self) -> u32 {
        if self.in_reduction() { self.ssthresh } else { self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2)) }
    }

    /// Whether the window was filled, so that it may grow (RFC 7661 in the kernel's form): in slow start it may grow to
    /// twice the largest flight.
    pub fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited || (self.in_slow_start() && self.cwnd < 2 * self.max_packets_out)
    }

    /// Grows by slow start where the window was filled. Returns the acknowledged segments that are left for congestion
    /// avoidance; `None` where the window does not grow further.
    pub fn left_for_avoidance(&mut self, acked: u32) -> Option<u32> {
        if !self.is_cwnd_limited() {
            return None;
        }
        if !self.in_slow_start() {
            return Some(acked);
        }
        Some(self.slow_start(acked)).filter(|&left| left > 0)
    }

    /// Slow start with byte counting: one more per segment acknowledged, up to the threshold. Returns what is left.
    fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.cwnd_clamp);
        left
    }

    /// Slow start, then one more segment per round trip (RFC 5681 §3.1).
    pub fn grow_as_reno(&mut self, acked: u32) {
        if let Some(acked) = self.left_for_avoidance(acked) {
            self.grow_additively(self.cwnd, acked);
        }
    }

    /// One more segment for every `per` acknowledged.
    pub fn grow_additively(&mut self, per: u32, acked: u32) {
        // A credit from a time when more was asked for is worth one segment, no more.
        if self.cwnd_count >= per {
            self.cwnd_count = 0;
            self.cwnd += 1;
        }
        self.cwnd_count += acked;
        if self.cwnd_count >= per {
            let more = self.cwnd_count / per;
            self.cwnd_count -= more * per;
            self.cwnd += more;
        }
        self.cwnd = self.cwnd.min(self.cwnd_clamp);
    }
}
