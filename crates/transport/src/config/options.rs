//! The options of a connection, with their values in each profile.

use super::choices::*;
use super::names::TcpName;
use super::ns2::{Ns2Options, Ns2Table};
use crate::notification::NotificationSpec;
use crate::rtt::RttArithmetic;
use skyhop_base::{Bytes, Duration};
use skyhop_cc::{ConfigError, ControlSpec, Profile};

const HEADER: Bytes = Bytes(40);
const MSS_ETHERNET: Bytes = Bytes(1460);
/// Most segments that a sender may put on the wire before it has heard anything. They leave in one event, which nothing
/// interrupts, and wait in one queue. RFC 6928 has 10; a window that fills 1 Gbit/s over a geostationary satellite at
/// once would have 50,000.
const LARGEST_BURST: f64 = 100_000.0;
/// `initial_window` until the segment size is known: replaced by [`initial_window_rfc6928`].
pub(super) const BY_MSS: u32 = 0;

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
        /// Most SACK blocks in an ACK (RFC 2018 §3: 4, with timestamps 3).
        max_sack_blocks: u32 = 3,
        /// Blocks that the receiver remembers to report again; more than fit, so that merged ones leave enough.
        sack_memory: u32 = 8; ns2 = 3,
        /// Whether the receiver reports SACK blocks; absent: when recovery uses them.
        sack: Switch = Switch::On,
        /// Receiver window in segments.
        window: u32 = 65_535; ns2 = 20,
        /// Initial window in segments; 0 is min(10 MSS, max(2 MSS, 14600 B)) (RFC 6928 §2).
        initial_window: u32 = BY_MSS; ns2 = 2,
        /// Slow-start threshold at the start: segments, `unlimited` (RFC 5681 §3.1) or the receiver `window` (ns-2).
        initial_ssthresh: Threshold = Threshold::Unlimited; ns2 = Threshold::Window,
        /// Most segments per ACK by which slow start grows (RFC 3465 §2.2 L), 1 after a timeout.
        growth_limit: u32 = 2,
        /// Granularity of the clock that measures RTT (RFC 6298 G, ns-2 tcpTick_).
        tick: Duration = Duration::from_millis(1); ns2 = Duration::from_millis(10); linux = Duration::from_millis(1),
        /// In which numbers RTT is smoothed.
        rtt_arithmetic: RttArithmetic = RttArithmetic::Exact; ns2 = RttArithmetic::Ns2; linux = RttArithmetic::Ns2Linux,
        /// Which ACKs measure the RTT for the retransmission timeout.
        rtt_timing: RttTiming = RttTiming::OneSegment,
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
        /// How fast recovery ends.
        recovery_exit: RecoveryExit = RecoveryExit::Flight; ns2 = RecoveryExit::BaseWindow,
        /// How fast recovery with partial ACKs treats the retransmission timer.
        partial_ack_timer: PartialAckTimer = PartialAckTimer::First,
        /// How selective acknowledgements are used.
        sack_rules: SackRules = SackRules::Rfc6675; ns2 = SackRules::Ns2Sack1; linux = SackRules::Ns2Linux,
        /// Whether congestion is notified by marks (RFC 3168); both ends have it.
        ecn: Switch = Switch::Off,
        /// Whether segments leave evenly spaced.
        pacing: Pacing = Pacing::Control; ns2 = Pacing::Off,
        /// Peach: the receiver window, in segments, that sudden start fills with dummy segments (paper: 64); no more
        /// than `window`.
        sudden_start_window: u32 = 64,
        /// Whether FACK halves its rate over a round trip instead of its window at once (Mathis et al. 1999).
        rate_halving: Switch = Switch::Off,
        /// What a timeout does to the selective acknowledgements.
        sack_after_timeout: SackAfterTimeout = SackAfterTimeout::Keep;
            ns2 = SackAfterTimeout::Forget; linux = SackAfterTimeout::Keep,
        /// What a sender does after idle time.
        idle_restart: IdleRestart = IdleRestart::RestartWindow;
            ns2 = IdleRestart::TimerToOne; vegas = IdleRestart::AsTimeout; linux = IdleRestart::TimerToInitialWindow,
        /// Segments per ACK: 2 delays ACKs (RFC 5681 §4.2), 1 acknowledges every segment.
        ack_every: u32 = 2; ns2 = 1,
        /// How long an ACK waits for a second segment (RFC 1122 §4.2.3.2: at most 500 ms; ns-2 interval_).
        ack_delay: Duration = Duration::from_millis(200); ns2 = Duration::from_millis(100),
    }
    room {
        /// What only ns-2 has: its agents' habits where they differ from the RFCs.
        ns2: Ns2Options, Ns2Table
    }
    also {
        /// Whose values are the defaults of this TCP. Without it: the scenario's profile.
        profile: Profile,
        /// A name that stands for recovery, control and, under ns-2, an agent. A recovery or control beside it must be
        /// the name's own; the control may then have parameters.
        name: TcpName,
        /// How loss is found and repaired. Without it: that of the name, else that of the TCP called like the control.
        recovery: Recovery,
        /// How fast to send. Without it: that of the name, else "reno".
        control: ControlSpec,
        /// Whether the sender listens to error reports; needs an agent that makes some. Without it, it does not.
        notification: NotificationSpec,
    }
}

/// Initial window of RFC 3390 §1 in bytes.
pub fn initial_window_rfc3390(mss: u32) -> u32 {
    (4 * mss).min((2 * mss).max(4380))
}

/// Initial window of RFC 6928 §2 in bytes.
pub fn initial_window_rfc6928(mss: u32) -> u32 {
    (10 * mss).min((2 * mss).max(14_600))
}

impl Options {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        const PACKET: f64 = 65_535.0;
        ConfigError::within("mss", self.mss.0 as f64, 1.0..=PACKET, "1 to 65535 bytes")?;
        for (name, size) in [
            ("header", self.header),
            ("syn_size", self.syn_size),
            ("ack_size", self.ack_size),
            ("sack_option_size", self.ns2.sack_option_size),
            ("sack_block_size", self.ns2.sack_block_size),
        ] {
            ConfigError::within(name, size.0 as f64, 0.0..=PACKET, "0 to 65535 bytes")?;
        }
        ConfigError::within("syn_size", self.syn_size.0 as f64, 1.0..=PACKET, "a packet has at least one byte")?;
        ConfigError::within("ack_size", self.ack_size.0 as f64, 1.0..=PACKET, "a packet has at least one byte")?;
        ConfigError::within("max_sack_blocks", self.max_sack_blocks.into(), 0.0..=4.0, "0 to 4 blocks")?;
        ConfigError::within("sack_memory", self.sack_memory.into(), 1.0..=8.0, "1 to 8 blocks")?;
        ConfigError::within("window", self.window.into(), 1.0..=1e9, "1 to 1e9 segments")?;
        let (window, must) = (self.ns2.opening_loss_window.into(), "1 to 100000 segments, for they leave at once");
        ConfigError::within("opening_loss_window", window, 1.0..=LARGEST_BURST, must)?;
        let must = "0 to 100000 segments, for they leave at once";
        ConfigError::within("initial_window", self.initial_window.into(), 0.0..=LARGEST_BURST, must)?;
        if let Threshold::Segments(segments) = self.initial_ssthresh {
            ConfigError::within("initial_ssthresh", segments, 1.0..=1e9, "1 to 1e9 segments")?;
        }
        if let TickPhase::Share(share) = self.ns2.tick_phase {
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
        match self.ns2.window_limit {
            WindowLimit::Sending => f64::INFINITY,
            WindowLimit::Growth => self.window.into(),
        }
    }

    /// Most segments outstanding.
    pub(crate) fn send_window(&self) -> u32 {
        match self.ns2.window_limit {
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
