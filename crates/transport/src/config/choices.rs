//! Choices that stand in scenario files as words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_cc::Bundle;

/// Declares an enum that stands in files as kebab-case text.
macro_rules! choice {
    ($(#[doc = $about:expr])+ pub enum $name:ident { $( $(#[$meta:meta])+ $variant:ident, )+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name { $( $(#[$meta])+ $variant, )+ }
    };
}

macro_rules! declare_recovery {
    ($($(#[doc = $doc:expr])+ $variant:ident $name:literal, $blocks:ident, |$options:ident| $machine:expr;)+) => {
        /// How loss is found and repaired.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum Recovery {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl Recovery {
            /// The name in scenario files.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Recovery::$variant => $name,)+
                }
            }

            /// Whether the receiver reports blocks unless a scenario says otherwise.
            pub(crate) fn sack(self) -> Switch {
                match self {
                    $(Recovery::$variant => Switch::$blocks,)+
                }
            }
        }
    };
}

for_each_recovery!(declare_recovery);

choice! {
    /// An agent of ns-2, whose values are defaults under the profile "ns-2".
    pub enum Ns2Agent {
        /// Agent/TCP and its Reno, Newreno, Sack1 and Fack.
        Tcp,
        /// Agent/TCP/Vegas.
        Vegas,
        /// Agent/TCP/Linux.
        Linux,
    }
}

impl Ns2Agent {
    pub(super) fn bundle(self) -> Bundle {
        match self {
            Ns2Agent::Tcp => Bundle::Ns2,
            Ns2Agent::Vegas => Bundle::Ns2Vegas,
            Ns2Agent::Linux => Bundle::Ns2Linux,
        }
    }
}

choice! {
    /// How a connection opens.
    pub enum Handshake {
        /// Segment 0 carries no data and costs a round trip.
        Syn,
        /// Segment 0 carries no data; segment 1 leaves with it.
        WithData,
        /// There is none: segment 0 is a segment of data.
        None,
    }
}

choice! {
    /// A behaviour that is there or not.
    pub enum Switch {
        /// It is there.
        On,
        /// It is not.
        Off,
    }
}

choice! {
    /// How Vegas' fine-grained timer remembers when segments were sent, and how often.
    pub enum SendTimes {
        /// By segment.
        Exact,
        /// In a ring as long as the receiver window, which an ACK over its end does not clear: the next segment in a
        /// place left so counts as sent before (ns-2's Vegas).
        Ring,
    }
}

choice! {
    /// Where the RTT that a control sees comes from.
    pub enum ControlRtt {
        /// From the time stamp that the ACK echoes, unless that of a retransmission: with delayed ACKs the first
        /// segment's (RFC 7323 §4.3).
        Echo,
        /// From the last segment that the ACK acknowledges, when it acknowledges nothing that was sent again (ns-2's
        /// TCP/Linux).
        LastSegment,
    }
}

choice! {
    /// When the initial window opens.
    pub enum InitialWindowAt {
        /// With the first segment.
        Open,
        /// With the ACK of segment 0.
        FirstAck,
        /// With the ACK of segment 1 (ns-2's Vegas).
        SecondAck,
        /// Slow start begins with one segment; the initial window counts after idle time only (ns-2's Fack).
        Never,
    }
}

choice! {
    /// What the receiver window limits.
    pub enum WindowLimit {
        /// What may be outstanding.
        Sending,
        /// How far the congestion window grows (ns-2's TCP/Linux: snd_cwnd_clamp).
        Growth,
    }
}

choice! {
    /// From what a cut is taken.
    pub enum ThresholdBase {
        /// From the data in flight, without limited-transmit segments (RFC 5681 eq. 4), but no more than the window.
        Flight,
        /// From min(window with inflation, receiver window) (ns-2).
        Window,
    }
}

choice! {
    /// How much an ACK may grow the window.
    pub enum WindowGrowth {
        /// By the segments that it acknowledges (RFC 3465).
        Bytes,
        /// By one, whatever it acknowledges (ns-2).
        PerAck,
    }
}

choice! {
    /// When the window may grow.
    pub enum GrowthWhen {
        /// Only when the window was used (RFC 7661 §4.1, RFC 2861).
        WindowUsed,
        /// Always (ns-2).
        Always,
    }
}

choice! {
    /// Which ACKs measure the RTT for the retransmission timeout.
    pub enum RttTiming {
        /// The ACK of one timed segment per round trip (RFC 6298 §3 without timestamps).
        OneSegment,
        /// Every ACK of new data (RFC 7323 timestamps).
        EveryAck,
    }
}

choice! {
    /// Whether a second timeout of the same segment lowers the threshold again.
    pub enum RepeatedTimeout {
        /// The threshold is kept (RFC 5681 §3.1).
        KeepThreshold,
        /// It is cut again (ns-2).
        CutAgain,
    }
}

choice! {
    /// What a sender does after idle time.
    pub enum IdleRestart {
        /// Nothing.
        Keep,
        /// It restarts with min(initial window, window) when nothing was sent for an RTO (RFC 5681 §4.1).
        RestartWindow,
        /// The timer keeps running; when it expires with nothing outstanding the window becomes 1 (ns-2).
        TimerToOne,
        /// The same, and the window becomes the initial window (ns-2's TCP/Linux).
        TimerToInitialWindow,
        /// The timer keeps running and expires as if data were lost (ns-2's Vegas).
        AsTimeout,
    }
}

choice! {
    /// How fast recovery with partial ACKs treats the retransmission timer.
    pub enum PartialAckTimer {
        /// The first partial ACK restarts it (RFC 6582 §4, "impatient").
        First,
        /// Every partial ACK restarts it ("slow but steady").
        Every,
    }
}

choice! {
    /// How fast recovery ends.
    pub enum RecoveryExit {
        /// The window is the threshold, for NewReno min(threshold, flight + 1) (RFC 5681 §3.2 step 6, RFC 6582 §3.2
        /// step 3 option 1).
        Flight,
        /// The window is the threshold (RFC 6582 §3.2 step 3 option 2).
        Threshold,
        /// The window without inflation stays, and the ACK that ends recovery grows it (ns-2). Vegas' is the one at the
        /// last cut, 0 after a timeout: then another timeout has to come.
        BaseWindow,
    }
}

choice! {
    /// When duplicate ACKs may start a fast retransmit.
    pub enum Retransmit {
        /// When the ACK covers more than what was sent at the last cut (RFC 6582 §3.2 step 2).
        PastRecover,
        /// Also when nothing beyond segment 0 was acknowledged yet (ns-2 bugfix_ss_).
        PastRecoverOrFirst,
    }
}

choice! {
    /// How selective acknowledgements are used.
    pub enum SackRules {
        /// RFC 6675.
        #[serde(rename = "rfc-6675")]
        Rfc6675,
        /// ns-2's Sack1: a counter for the pipe, every hole below the highest report once, no loss test.
        #[serde(rename = "ns-2-sack1")]
        Ns2Sack1,
        /// ns-2's TCP/Linux: loss marked four below the highest report, rate halving.
        #[serde(rename = "ns-2-linux")]
        Ns2Linux,
        /// Segments below a reported one leave again at once, without a cut: for paths that keep the order and lose to
        /// errors.
        #[serde(rename = "nak")]
        Nak,
    }
}

choice! {
    /// Which ACKs may be delayed.
    pub enum DelayedAck {
        /// Those of data in order (RFC 5681 §4.2).
        InOrder,
        /// Also that of the highest segment that has arrived, when it arrives again (ns-2).
        AlsoRepeatedLast,
    }
}

choice! {
    /// Whether segments leave evenly spaced.
    pub enum Pacing {
        /// They leave as the window allows.
        Off,
        /// At the rate that the control asks for, when it asks for one.
        Control,
        /// At that rate, else at 2 windows per SRTT in early slow start and 1.2 windows later (Linux
        /// tcp_update_pacing_rate).
        Always,
    }
}

choice! {
    /// How forward acknowledgement acts.
    pub enum FackRules {
        /// Mathis and Mahdavi 1996: the window is cut at once, or by rate halving.
        Paper,
        /// ns-2's Fack: after a loss slow start from 1 to the threshold, fed by every ACK; no sending once a
        /// retransmission was lost.
        #[serde(rename = "ns-2")]
        Ns2,
    }
}

choice! {
    /// Which ACKs restart the retransmission timer.
    pub enum TimerRestart {
        /// Those of new data (RFC 6298 §5.3).
        NewData,
        /// All (ns-2's Fack and TCP/Linux).
        EveryAck,
    }
}

choice! {
    /// What a timeout does to the selective acknowledgements.
    pub enum SackAfterTimeout {
        /// They stay: what the receiver holds is not sent again (RFC 6675 §5.1).
        Keep,
        /// They are forgotten (RFC 2018 §5, ns-2).
        Forget,
    }
}

/// A slow-start threshold at the start: a number of segments, `"unlimited"` or `"window"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// Arbitrarily high (RFC 5681 §3.1).
    Unlimited,
    /// The receiver window (ns-2).
    Window,
    /// A number of segments.
    #[serde(untagged)]
    Segments(f64),
}

/// The phase of the clock that measures RTT: a share of a tick, `"random"` or `"ns-2"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TickPhase {
    /// Drawn for each connection.
    Random,
    /// As ns-2's default generator deals it out (boot_time_): [`crate::ns2_tick_phases`]. A sender that is not told
    /// its number takes that of a single flow.
    #[serde(rename = "ns-2")]
    Ns2,
    /// A share of a tick, 0 to 1.
    #[serde(untagged)]
    Share(f64),
}
