//! What only ns-2 has: habits of its agents that no RFC describes, under `ns2` in the table of a TCP. Under `rfc` each
//! has the value that follows the RFCs, so that one habit can be studied by itself.

use super::choices::*;
use skyhop_base::Bytes;

skyhop_cc::options! {
    /// What only ns-2 has: its agents' habits where they differ from the RFCs.
    pub struct Ns2Options, Ns2Table {
        /// What SACK blocks add to an ACK, besides the blocks.
        sack_option_size: Bytes = Bytes(2); ns2 = Bytes(0),
        /// What each SACK block adds to an ACK.
        sack_block_size: Bytes = Bytes(8),
        /// What the receiver window limits.
        window_limit: WindowLimit = WindowLimit::Sending; linux = WindowLimit::Growth,
        /// Initial window when segment 0 had to be sent again (RFC 5681 §3.1).
        opening_loss_window: u32 = 1; vegas = 2,
        /// When the initial window opens.
        initial_window_at: InitialWindowAt = InitialWindowAt::FirstAck;
            vegas = InitialWindowAt::SecondAck; linux = InitialWindowAt::Open,
        /// From what a cut is taken.
        threshold_base: ThresholdBase = ThresholdBase::Flight; ns2 = ThresholdBase::Window,
        /// How much an ACK may grow the window.
        growth: WindowGrowth = WindowGrowth::Bytes; ns2 = WindowGrowth::PerAck,
        /// When the window may grow.
        growth_when: GrowthWhen = GrowthWhen::WindowUsed; ns2 = GrowthWhen::Always; linux = GrowthWhen::WindowUsed,
        /// Where in a tick the clock starts: 0 to 1, `random` for each connection, or `ns-2`, what its generator deals
        /// out to a dumbbell.
        tick_phase: TickPhase = TickPhase::Random; ns2 = TickPhase::Ns2,
        /// Where the RTT that a control sees comes from.
        control_rtt: ControlRtt = ControlRtt::Echo; linux = ControlRtt::LastSegment,
        /// Whether a fast retransmit ends the measurement of the segment that is timed (RFC 6298 §3).
        fast_retransmit_ends_timing: Switch = Switch::On; linux = Switch::Off,
        /// When duplicate ACKs may start a fast retransmit.
        retransmit: Retransmit = Retransmit::PastRecover; ns2 = Retransmit::PastRecoverOrFirst,
        /// Whether a fast retransmit restarts the retransmission timer (RFC 6298 §5 knows no such rule).
        fast_retransmit_restarts_timer: Switch = Switch::Off; ns2 = Switch::On,
        /// Which ACKs restart the retransmission timer.
        timer_restart: TimerRestart = TimerRestart::NewData; linux = TimerRestart::EveryAck,
        /// Most segments sent per ACK during NewReno's fast recovery, besides the retransmission; 0: no limit.
        recovery_burst: u32 = 0; ns2 = 2,
        /// How forward acknowledgement acts.
        fack_rules: FackRules = FackRules::Paper; ns2 = FackRules::Ns2,
        /// How Vegas' fine-grained timer remembers when segments were sent, and how often.
        send_times: SendTimes = SendTimes::Exact; vegas = SendTimes::Ring,
        /// Whether duplicate ACKs counted before a timeout still count after it (ns-2's Tahoe).
        duplicates_survive_timeout: Switch = Switch::Off,
        /// Whether a second timeout of the same segment lowers the threshold again.
        repeated_timeout: RepeatedTimeout = RepeatedTimeout::KeepThreshold; ns2 = RepeatedTimeout::CutAgain,
        /// Which ACKs may be delayed.
        delayed_ack: DelayedAck = DelayedAck::InOrder; ns2 = DelayedAck::AlsoRepeatedLast,
    }
    also {
        /// The agent of ns-2 whose values are the defaults; needs profile "ns-2". Without it: that of the name, else
        /// that of the TCP called like the control.
        agent: Ns2Agent,
    }
}
