//! The three parts of a transport, as a scenario writes them and with every value filled.

use crate::{Notification, NotificationSpec, RttArithmetic};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skyhop_base::{Bytes, Duration};
use skyhop_cc::{Bundle, ConfigError, ControlConfig, ControlSpec, Profile};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Declares an enum that stands in files as kebab-case text.
macro_rules! choice {
    ($(#[doc = $about:expr])+ pub enum $name:ident { $( $(#[$meta:meta])+ $variant:ident, )+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name { $( $(#[$meta])+ $variant, )+ }
    };
}

choice! {
    /// How loss is found and repaired.
    pub enum Recovery {
        /// Fast retransmit, then slow start from the loss on (Jacobson 1988).
        Tahoe,
        /// Fast recovery that ends with the first new ACK (RFC 2581).
        Reno,
        /// Fast recovery that repairs a hole per partial ACK (RFC 6582).
        #[serde(rename = "newreno")]
        NewReno,
        /// Selective acknowledgements (RFC 6675, or as `sack_rules` says).
        Sack,
        /// Forward acknowledgement (Mathis and Mahdavi 1996, or as `fack_rules` says).
        Fack,
        /// Reno with the fine-grained timeout of Vegas (Brakmo and Peterson 1995 §3.1).
        Vegas,
        /// Only missing segments are sent until all have arrived; further losses count (TCP Yam).
        Yam,
        /// NewReno with sudden start and rapid recovery by dummy segments (TCP Peach, Akyildiz et al. 2001).
        Peach,
        /// SACK with jump start and quick recovery by NIL segments (TCP Peach+, Akyildiz et al. 2002).
        #[serde(rename = "peach+")]
        PeachPlus,
    }
}

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
    fn bundle(self) -> Bundle {
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
        /// The window without inflation stays, and the ACK that ends recovery grows it (ns-2). Vegas' is the one at the last
        /// cut, 0 after a timeout: then another timeout has to come.
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
        /// What is below anything reported leaves again at once and cuts nothing: for ways that keep the order and lose to errors.
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

const HEADER: Bytes = Bytes(40);
const MSS_ETHERNET: Bytes = Bytes(1460);
/// Most segments that a sender may put on the wire before it has heard anything. They leave in one event, which nothing
/// interrupts, and wait in one queue. RFC 6928 has 10; a window that fills 1 Gbit/s over a geostationary satellite at once
/// would have 50,000.
const LARGEST_BURST: f64 = 100_000.0;
/// `initial_window` until the segment size is known: replaced by [`initial_window_rfc6928`].
const BY_MSS: u32 = 0;

skyhop_cc::options! {
    /// Options of a TCP connection.
    pub struct Options, TcpTable {
        /// User bytes in a full segment.
        mss: Bytes = MSS_ETHERNET; ns2 = Bytes(1000),
        /// Bytes that headers add to a segment on the wire.
        header: Bytes = HEADER; vegas = Bytes(0),
        /// How a connection opens.
        handshake: Handshake = Handshake::Syn; vegas = Handshake::None; linux = Handshake::WithData,
        /// Size on the wire of a segment 0 that carries no data.
        syn_size: Bytes = HEADER,
        /// Size on the wire of an ACK without SACK blocks.
        ack_size: Bytes = HEADER,
        /// What SACK blocks add to an ACK, besides the blocks.
        sack_option_size: Bytes = Bytes(2); ns2 = Bytes(0),
        /// What each SACK block adds to an ACK.
        sack_block_size: Bytes = Bytes(8),
        /// Most SACK blocks in an ACK (RFC 2018 §3: 4, with timestamps 3).
        max_sack_blocks: u32 = 3,
        /// Blocks that the receiver remembers to report again; more than fit, so that merged ones leave enough.
        sack_memory: u32 = 8; ns2 = 3,
        /// Whether the receiver reports SACK blocks; absent: when recovery uses them.
        sack: Switch = Switch::On,
        /// Receiver window in segments.
        window: u32 = 65_535; ns2 = 20,
        /// What the receiver window limits.
        window_limit: WindowLimit = WindowLimit::Sending; linux = WindowLimit::Growth,
        /// Initial window in segments; 0 is min(10 MSS, max(2 MSS, 14600 B)) (RFC 6928 §2).
        initial_window: u32 = BY_MSS; ns2 = 2,
        /// Initial window when segment 0 had to be sent again (RFC 5681 §3.1).
        opening_loss_window: u32 = 1; vegas = 2,
        /// When the initial window opens.
        initial_window_at: InitialWindowAt = InitialWindowAt::FirstAck; vegas = InitialWindowAt::SecondAck; linux = InitialWindowAt::Open,
        /// Slow-start threshold at the start: segments, `unlimited` (RFC 5681 §3.1) or the receiver `window` (ns-2).
        initial_ssthresh: Threshold = Threshold::Unlimited; ns2 = Threshold::Window,
        /// From what a cut is taken.
        threshold_base: ThresholdBase = ThresholdBase::Flight; ns2 = ThresholdBase::Window,
        /// How much an ACK may grow the window.
        growth: WindowGrowth = WindowGrowth::Bytes; ns2 = WindowGrowth::PerAck,
        /// Most segments per ACK by which slow start grows (RFC 3465 §2.2 L), 1 after a timeout.
        growth_limit: u32 = 2,
        /// When the window may grow.
        growth_when: GrowthWhen = GrowthWhen::WindowUsed; ns2 = GrowthWhen::Always; linux = GrowthWhen::WindowUsed,
        /// Granularity of the clock that measures RTT (RFC 6298 G, ns-2 tcpTick_).
        tick: Duration = Duration::from_millis(1); ns2 = Duration::from_millis(10); linux = Duration::from_millis(1),
        /// Where in a tick the clock starts: 0 to 1, `random` for each connection, or `ns-2`, what its generator deals out to a dumbbell.
        tick_phase: TickPhase = TickPhase::Random; ns2 = TickPhase::Ns2,
        /// In which numbers RTT is smoothed.
        rtt_arithmetic: RttArithmetic = RttArithmetic::Exact; ns2 = RttArithmetic::Ticks; linux = RttArithmetic::LinuxTicks,
        /// Which ACKs measure the RTT for the retransmission timeout.
        rtt_timing: RttTiming = RttTiming::OneSegment,
        /// Where the RTT that a control sees comes from.
        control_rtt: ControlRtt = ControlRtt::Echo; linux = ControlRtt::LastSegment,
        /// Whether a fast retransmit ends the measurement of the segment that is timed (RFC 6298 §3).
        fast_retransmit_ends_timing: Switch = Switch::On; linux = Switch::Off,
        /// Retransmission timeout before the first sample (RFC 6298 §2.1, ns-2 rtxcur_init_).
        initial_rto: Duration = Duration::from_secs(1); ns2 = Duration::from_secs(3),
        /// Smallest retransmission timeout (RFC 6298 §2.4, ns-2 minrto_).
        min_rto: Duration = Duration::from_secs(1); ns2 = Duration::from_millis(200),
        /// Largest retransmission timeout (RFC 6298 §2.5, ns-2 maxrto_).
        max_rto: Duration = Duration::from_secs(60); linux = Duration::from_secs(120),
        /// Smallest timeout for data after segment 0 had to be sent again (RFC 6298 §5.7); 0 s: no such rule.
        rto_after_syn_timeout: Duration = Duration::from_secs(3); ns2 = Duration::ZERO,
        /// Duplicate ACKs that stand for a loss (RFC 5681 §3.2).
        duplicate_threshold: u32 = 3,
        /// Whether the first two duplicate ACKs send new data (RFC 3042, ns-2 singledup_).
        limited_transmit: Switch = Switch::On; vegas = Switch::Off; linux = Switch::Off,
        /// When duplicate ACKs may start a fast retransmit.
        retransmit: Retransmit = Retransmit::PastRecover; ns2 = Retransmit::PastRecoverOrFirst,
        /// How fast recovery ends.
        recovery_exit: RecoveryExit = RecoveryExit::Flight; ns2 = RecoveryExit::BaseWindow,
        /// Whether a fast retransmit restarts the retransmission timer (RFC 6298 §5 knows no such rule).
        fast_retransmit_restarts_timer: Switch = Switch::Off; ns2 = Switch::On,
        /// Which ACKs restart the retransmission timer.
        timer_restart: TimerRestart = TimerRestart::NewData; linux = TimerRestart::EveryAck,
        /// How fast recovery with partial ACKs treats the retransmission timer.
        partial_ack_timer: PartialAckTimer = PartialAckTimer::First,
        /// Most segments sent per ACK during NewReno's fast recovery, besides the retransmission; 0: no limit.
        recovery_burst: u32 = 0; ns2 = 2,
        /// How selective acknowledgements are used.
        sack_rules: SackRules = SackRules::Rfc6675; ns2 = SackRules::Ns2Sack1; linux = SackRules::Ns2Linux,
        /// Whether congestion is notified by marks (RFC 3168); both ends have it.
        ecn: Switch = Switch::Off,
        /// Whether segments leave evenly spaced.
        pacing: Pacing = Pacing::Control; ns2 = Pacing::Off,
        /// Peach: the receiver window, in segments, that sudden start fills with dummy segments (paper: 64); no more than
        /// `window`.
        sudden_start_window: u32 = 64,
        /// How forward acknowledgement acts.
        fack_rules: FackRules = FackRules::Paper; ns2 = FackRules::Ns2,
        /// Whether FACK halves its rate over a round trip instead of its window at once (Mathis et al. 1999).
        rate_halving: Switch = Switch::Off,
        /// How Vegas' fine-grained timer remembers when segments were sent, and how often.
        send_times: SendTimes = SendTimes::Exact; vegas = SendTimes::Ring,
        /// Whether duplicate ACKs counted before a timeout still count after it (ns-2's Tahoe).
        duplicates_survive_timeout: Switch = Switch::Off,
        /// What a timeout does to the selective acknowledgements.
        sack_after_timeout: SackAfterTimeout = SackAfterTimeout::Keep; ns2 = SackAfterTimeout::Forget; linux = SackAfterTimeout::Keep,
        /// Whether a second timeout of the same segment lowers the threshold again.
        repeated_timeout: RepeatedTimeout = RepeatedTimeout::KeepThreshold; ns2 = RepeatedTimeout::CutAgain,
        /// What a sender does after idle time.
        idle_restart: IdleRestart = IdleRestart::RestartWindow; ns2 = IdleRestart::TimerToOne; vegas = IdleRestart::AsTimeout; linux = IdleRestart::TimerToInitialWindow,
        /// Segments per ACK: 2 delays ACKs (RFC 5681 §4.2), 1 acknowledges every segment.
        ack_every: u32 = 2; ns2 = 1,
        /// Which ACKs may be delayed.
        delayed_ack: DelayedAck = DelayedAck::InOrder; ns2 = DelayedAck::AlsoRepeatedLast,
        /// How long an ACK waits for a second segment (RFC 1122 §4.2.3.2: at most 500 ms; ns-2 interval_).
        ack_delay: Duration = Duration::from_millis(200); ns2 = Duration::from_millis(100),
    }
    also {
        /// Whose values are the defaults of this TCP. Without it: the scenario's profile.
        profile: Profile,
        /// A name that stands for recovery, control and, under ns-2, an agent. A recovery or control beside it must be the
        /// name's own; the control may then have parameters.
        name: TcpName,
        /// How loss is found and repaired. Without it: that of the name, else that of the TCP called like the control.
        recovery: Recovery,
        /// How fast to send. Without it: that of the name, else "reno".
        control: ControlSpec,
        /// The agent of ns-2 whose values are the defaults; needs profile "ns-2". Without it: that of the name, else that of
        /// the TCP called like the control.
        agent: Ns2Agent,
        /// Whether the sender listens to error reports; needs an agent that makes some. Without it, it does not.
        notification: NotificationSpec,
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

/// Initial window of RFC 3390 §1 in bytes.
pub fn initial_window_rfc3390(mss: u32) -> u32 {
    (4 * mss).min((2 * mss).max(4380))
}

/// Initial window of RFC 6928 §2 in bytes.
pub fn initial_window_rfc6928(mss: u32) -> u32 {
    (10 * mss).min((2 * mss).max(14_600))
}

macro_rules! names {
    ($($variant:ident $name:literal: $recovery:ident, $control:literal, $agent:ident;)+) => {
        /// A name that expands to the parts of a transport.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum TcpName {
            $(#[serde(rename = $name)] $variant,)+
        }

        impl TcpName {
            /// All names.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            fn find(name: &str) -> Option<TcpName> {
                match name {
                    $($name => Some(TcpName::$variant),)+
                    _ => None,
                }
            }

            fn parts(self) -> (Recovery, &'static str, Bundle) {
                match self {
                    $(TcpName::$variant => (Recovery::$recovery, $control, Bundle::$agent),)+
                }
            }

            fn text(self) -> &'static str {
                match self {
                    $(TcpName::$variant => $name,)+
                }
            }
        }
    };
}

// Name, recovery, control, and the agent of ns-2 that is meant by it.
names! {
    Tahoe "tahoe": Tahoe, "reno", Ns2;
    Reno "reno": Reno, "reno", Ns2;
    NewReno "newreno": NewReno, "reno", Ns2;
    Sack "sack": Sack, "reno", Ns2;
    Fack "fack": Fack, "reno", Ns2;
    Vegas "vegas": Vegas, "vegas", Ns2Vegas;
    Yam "yam": Yam, "yam", Ns2;
    Peach "peach": Peach, "peach", Ns2;
    PeachPlus "peach+": PeachPlus, "peach", Ns2;
    Bic "bic": Sack, "bic", Ns2Linux;
    Cubic "cubic": Sack, "cubic", Ns2Linux;
    Westwood "westwood": Sack, "westwood", Ns2Linux;
    WestwoodPlus "westwood+": Sack, "westwood+", Ns2Linux;
    Hybla "hybla": Sack, "hybla", Ns2Linux;
    Veno "veno": Sack, "veno", Ns2Linux;
    Htcp "htcp": Sack, "htcp", Ns2Linux;
    Highspeed "highspeed": Sack, "highspeed", Ns2Linux;
    Scalable "scalable": Sack, "scalable", Ns2Linux;
    Illinois "illinois": Sack, "illinois", Ns2Linux;
    Yeah "yeah": Sack, "yeah", Ns2Linux;
    Compound "compound": Sack, "compound", Ns2Linux;
    Lp "lp": Sack, "lp", Ns2Linux;
    NaiveReno "naive_reno": Sack, "naive_reno", Ns2Linux;
    Tibet "tibet": NewReno, "tibet", Ns2;
    Fast "fast": NewReno, "fast", Ns2;
}

/// A TCP as a scenario writes it: `"vegas"`, or a table like `{ recovery = "sack", control = "bic", window = 300 }`,
/// in which a name is allowed too, unless the parts contradict it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpSpec(pub TcpTable);

/// A TCP with every value filled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TcpConfig {
    pub recovery: Recovery,
    pub control: ControlConfig,
    /// One copy for all flows that are cloned from one another, and for their senders.
    #[serde(flatten, serialize_with = "shared")]
    pub options: Arc<Options>,
    /// What the sender does about error reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notification: Option<Notification>,
}

fn shared<S: Serializer>(options: &Arc<Options>, serializer: S) -> Result<S::Ok, S::Error> {
    options.as_ref().serialize(serializer)
}

impl TcpSpec {
    /// The names that expand to a transport.
    pub fn names() -> &'static [&'static str] {
        TcpName::NAMES
    }

    /// A transport by name with nothing else said.
    pub fn named(name: &str) -> Result<TcpSpec, ConfigError> {
        let found = TcpName::find(name).ok_or_else(|| ConfigError::UnknownName {
            what: "TCP",
            name: name.to_owned(),
            valid: TcpName::NAMES.to_vec(),
        })?;
        Ok(TcpSpec(TcpTable { name: Some(found), ..TcpTable::default() }))
    }

    /// Fills what was left out from the profile and checks every value.
    ///
    /// What the table does not say is that of its name. Without a name a control brings the recovery and the agent of ns-2
    /// that the TCP of its name has, so that a parameter of the control changes nothing else; with neither, recovery is
    /// `newreno` and control `reno`.
    pub fn resolve(&self, profile: Profile) -> Result<TcpConfig, ConfigError> {
        let table = &self.0;
        let profile = table.profile.unwrap_or(profile);
        self.check_name()?;
        let (recovery, control, agent) = self.parts();
        let recovery = table.recovery.unwrap_or(recovery);
        let bundle = match (profile, table.agent) {
            (Profile::Rfc, None) => Bundle::Rfc,
            (Profile::Rfc, Some(agent)) => {
                let agent = format!("{agent:?}").to_lowercase();
                return Err(ConfigError::out_of_range("agent", agent, "only profile \"ns-2\" has agents"));
            }
            (Profile::Ns2, Some(agent)) => agent.bundle(),
            (Profile::Ns2, None) => agent,
        };
        let control = match &table.control {
            Some(control) => control.resolve(bundle)?,
            None => ControlSpec::named(control)?.resolve(bundle)?,
        };
        let mut options = table.resolve(bundle);
        if table.initial_window_at.is_none() && bundle == Bundle::Rfc && options.handshake != Handshake::Syn {
            options.initial_window_at = InitialWindowAt::Open;
        }
        if table.sack.is_none() {
            let selective = matches!(recovery, Recovery::Sack | Recovery::Fack | Recovery::Yam | Recovery::PeachPlus);
            options.sack = if selective { Switch::On } else { Switch::Off };
        }
        if table.duplicates_survive_timeout.is_none() && bundle == Bundle::Ns2 && recovery == Recovery::Tahoe {
            options.duplicates_survive_timeout = Switch::On;
        }
        if bundle == Bundle::Ns2 && recovery == Recovery::Fack {
            if table.initial_window_at.is_none() {
                options.initial_window_at = InitialWindowAt::Never;
            }
            if table.idle_restart.is_none() {
                options.idle_restart = IdleRestart::TimerToInitialWindow;
            }
            if table.timer_restart.is_none() {
                options.timer_restart = TimerRestart::EveryAck;
            }
        }
        if matches!(recovery, Recovery::Yam | Recovery::PeachPlus) {
            // Their papers know nothing of ns-2's counter.
            let must = "recovery \"yam\" and \"peach+\" work with sack_rules \"rfc-6675\" and sack_after_timeout \"keep\" only";
            if table.sack_rules.is_some_and(|rules| rules != SackRules::Rfc6675) {
                return Err(ConfigError::out_of_range("sack_rules", "another set of rules", must));
            }
            if table.sack_after_timeout.is_some_and(|after| after != SackAfterTimeout::Keep) {
                return Err(ConfigError::out_of_range("sack_after_timeout", "forget", must));
            }
            options.sack_rules = SackRules::Rfc6675;
            options.sack_after_timeout = SackAfterTimeout::Keep;
        }
        options.check()?;
        if options.initial_window == BY_MSS {
            let mss = options.mss.0 as u32;
            options.initial_window = initial_window_rfc6928(mss) / mss;
        }
        let full = Bytes(options.mss.0 + options.header.0);
        let notification = table.notification.as_ref().map(|spec| spec.resolve(full)).transpose()?;
        match notification {
            Some(Notification::Ceten(_)) => check_weighs(recovery, &control)?,
            Some(Notification::Eln) => check_hears_marks(recovery)?,
            Some(_) => check_listens(recovery, &options)?,
            None => {}
        }
        Ok(TcpConfig { recovery, control, options: Arc::new(options), notification })
    }

    /// Recovery, control and agent of ns-2 where the table does not state them.
    fn parts(&self) -> (Recovery, &'static str, Bundle) {
        let table = &self.0;
        let of_control = || TcpName::find(table.control.as_ref()?.name()).filter(|name| *name != TcpName::Reno);
        match table.name.or_else(of_control) {
            Some(name) => name.parts(),
            None if table.recovery == Some(Recovery::Vegas) => (Recovery::Vegas, "reno", Bundle::Ns2Vegas),
            None => TcpName::NewReno.parts(),
        }
    }

    /// A part beside a name must be the name's own: else one of the two would have no effect.
    fn check_name(&self) -> Result<(), ConfigError> {
        let TcpTable { name: Some(name), recovery, control, .. } = &self.0 else { return Ok(()) };
        let (own_recovery, own_control, _) = name.parts();
        let contradiction = |option, wanted: String, found: String| {
            Err(ConfigError::Contradiction { name: name.text(), option, wanted, found })
        };
        if let Some(recovery) = recovery.filter(|&recovery| recovery != own_recovery) {
            return contradiction("recovery", text_of(own_recovery), text_of(recovery));
        }
        match control {
            Some(control) if control.name() != own_control => {
                contradiction("control", own_control.to_owned(), control.name().to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// A recovery as a file has it.
fn text_of(recovery: Recovery) -> String {
    match recovery {
        Recovery::PeachPlus => "peach+".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// What is weighed is the half that Reno takes.
fn check_weighs(recovery: Recovery, control: &ControlConfig) -> Result<(), ConfigError> {
    let must = "\"ceten\" weighs the cuts of control \"reno\", with recovery \"reno\", \"newreno\" or \"sack\"";
    let known = matches!(recovery, Recovery::Reno | Recovery::NewReno | Recovery::Sack);
    if known && control.name() == "reno" {
        return Ok(());
    }
    let found = format!("{} with {}", text_of(recovery), control.name());
    Err(ConfigError::out_of_range("notification", found, must))
}

/// Error reports need a recovery that knows which segment is meant, and repairs without cutting.
fn check_listens(recovery: Recovery, options: &Options) -> Result<(), ConfigError> {
    let must = "error reports need recovery \"reno\" or \"newreno\", or \"sack\" with sack_rules \"rfc-6675\"";
    match recovery {
        Recovery::Reno | Recovery::NewReno => Ok(()),
        Recovery::Sack if options.sack_rules == SackRules::Rfc6675 => Ok(()),
        _ => Err(ConfigError::out_of_range("notification", text_of(recovery), must)),
    }
}

/// Marks on duplicate ACKs stand in for their third one, and SACK counts otherwise.
fn check_hears_marks(recovery: Recovery) -> Result<(), ConfigError> {
    let must = "\"eln\" needs recovery \"reno\" or \"newreno\"";
    match recovery {
        Recovery::Reno | Recovery::NewReno => Ok(()),
        _ => Err(ConfigError::out_of_range("notification", text_of(recovery), must)),
    }
}

impl Options {
    fn check(&self) -> Result<(), ConfigError> {
        const PACKET: f64 = 65_535.0;
        ConfigError::within("mss", self.mss.0 as f64, 1.0..=PACKET, "1 to 65535 bytes")?;
        for (name, size) in [
            ("header", self.header),
            ("syn_size", self.syn_size),
            ("ack_size", self.ack_size),
            ("sack_option_size", self.sack_option_size),
            ("sack_block_size", self.sack_block_size),
        ] {
            ConfigError::within(name, size.0 as f64, 0.0..=PACKET, "0 to 65535 bytes")?;
        }
        ConfigError::within("syn_size", self.syn_size.0 as f64, 1.0..=PACKET, "a packet has at least one byte")?;
        ConfigError::within("ack_size", self.ack_size.0 as f64, 1.0..=PACKET, "a packet has at least one byte")?;
        ConfigError::within("max_sack_blocks", self.max_sack_blocks.into(), 0.0..=4.0, "0 to 4 blocks")?;
        ConfigError::within("sack_memory", self.sack_memory.into(), 1.0..=8.0, "1 to 8 blocks")?;
        ConfigError::within("window", self.window.into(), 1.0..=1e9, "1 to 1e9 segments")?;
        let (window, must) = (self.opening_loss_window.into(), "1 to 100000 segments, for they leave at once");
        ConfigError::within("opening_loss_window", window, 1.0..=LARGEST_BURST, must)?;
        let must = "0 to 100000 segments, for they leave at once";
        ConfigError::within("initial_window", self.initial_window.into(), 0.0..=LARGEST_BURST, must)?;
        if let Threshold::Segments(segments) = self.initial_ssthresh {
            ConfigError::within("initial_ssthresh", segments, 1.0..=1e9, "1 to 1e9 segments")?;
        }
        if let TickPhase::Share(share) = self.tick_phase {
            ConfigError::within("tick_phase", share, 0.0..=1.0, "a share of a tick from 0 to 1")?;
        }
        ConfigError::within("growth_limit", self.growth_limit.into(), 1.0..=1e9, "at least 1 segment")?;
        ConfigError::within("duplicate_threshold", self.duplicate_threshold.into(), 1.0..=1000.0, "1 to 1000 ACKs")?;
        ConfigError::within("ack_every", self.ack_every.into(), 1.0..=1000.0, "1 to 1000 segments")?;
        if self.rtt_arithmetic != RttArithmetic::Exact && self.tick.is_zero() {
            return Err(ConfigError::out_of_range("tick", self.tick, "RTT in ticks needs a tick above 0 s"));
        }
        if self.initial_rto.is_zero() {
            return Err(ConfigError::out_of_range("initial_rto", self.initial_rto, "it must be above 0 s"));
        }
        if self.min_rto.is_zero() {
            return Err(ConfigError::out_of_range("min_rto", self.min_rto, "it must be above 0 s"));
        }
        if self.min_rto > self.max_rto {
            return Err(ConfigError::out_of_range("min_rto", self.min_rto, "it must not be above max_rto"));
        }
        Ok(())
    }

    /// The window does not grow above this one, in segments.
    pub(crate) fn window_clamp(&self) -> f64 {
        match self.window_limit {
            WindowLimit::Sending => f64::INFINITY,
            WindowLimit::Growth => self.window.into(),
        }
    }

    /// Most segments outstanding.
    pub(crate) fn send_window(&self) -> u32 {
        match self.window_limit {
            WindowLimit::Sending => self.window,
            WindowLimit::Growth => u32::MAX,
        }
    }

    /// Slow-start threshold at the start, in segments.
    pub(crate) fn starting_threshold(&self) -> f64 {
        match self.initial_ssthresh {
            Threshold::Unlimited => f64::INFINITY,
            Threshold::Window => self.window.into(),
            Threshold::Segments(segments) => segments,
        }
    }
}

impl<'de> Deserialize<'de> for TcpSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TcpSpec, D::Error> {
        struct NameOrTable;

        impl<'de> Visitor<'de> for NameOrTable {
            type Value = TcpSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a TCP, or a table with its parts and options")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<TcpSpec, E> {
                TcpSpec::named(name).map_err(|_| E::unknown_variant(name, TcpName::NAMES))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TcpSpec, A::Error> {
                TcpTable::deserialize(MapAccessDeserializer::new(map)).map(TcpSpec)
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}

impl JsonSchema for TcpSpec {
    fn schema_name() -> Cow<'static, str> {
        "Tcp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A TCP: its name, or a table with its parts and options",
            "anyOf": [generator.subschema_for::<TcpName>(), generator.subschema_for::<TcpTable>()],
        })
    }
}
