//! Options of a sender. The defaults are those of Linux 6.18 as it is delivered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Duration;

use super::validation::Validation;
use crate::control::ControlKind;
use crate::control::cubic::CubicOptions;
use crate::rtt::Estimator;
use crate::timer::Timers;

/// Explicit congestion notification of the TCP of Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "LinuxEcn")]
pub enum EcnMode {
    #[default]
    Off,
    /// RFC 3168: one answer per round trip.
    On,
    /// RFC 9768: the receiver counts the marks, in the ACE field. The option with counts of bytes is not modelled.
    Accurate,
}

/// Options of a sender.
///
/// Large because each can be set alone: one field for each option.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes of data per full segment.
    pub mss: u32,
    /// The timestamps option (RFC 7323), and with it undo by timestamps (Eifel, RFC 3522).
    pub timestamps: bool,
    /// Selective acknowledgements (RFC 2018). Without them NewReno (RFC 6582) repairs.
    pub sack: bool,
    /// Whether the sender heeds DSACK (RFC 2883): undo, and a wider reordering window.
    pub dsack: bool,
    /// Tail loss probes (RFC 8985 §7; `tcp_early_retrans` 3 or 0).
    pub tlp: bool,
    /// Detection of spurious timeouts (RFC 5682; `tcp_frto`).
    pub frto: bool,
    /// Whether reductions that prove wrong are taken back, by timestamps and by DSACK.
    pub undo: bool,
    /// Explicit congestion notification, which some controls ask for by themselves (`tcp_ecn` 0, 1 and 3).
    pub ecn: EcnMode,
    /// The window shrinks after an idle time (RFC 2861 §3.1, RFC 5681 §4.1; `tcp_slow_start_after_idle`).
    pub idle_restart: bool,
    /// How a window is judged that the application does not fill.
    pub window_validation: Validation,
    /// The window grows by segments acknowledged (RFC 3465). If not, each ACK counts for one (RFC 5681 §3.1).
    pub byte_counting: bool,
    /// Samples of the delivery rate are marked where the application had nothing to send.
    pub app_limited_marks: bool,
    /// Nagle's rule with Minshall's change (RFC 896); off: `TCP_NODELAY`.
    pub nagle: bool,
    /// Packets leave at the pacing rate whatever the control, as with the `fq` queue.
    pub pacing: bool,
    /// The pacing rate over cwnd / srtt, in percent, in slow start and later.
    pub pacing_ratios: (u64, u64),
    /// The least number of segments in a burst (`tcp_min_tso_segs`).
    pub min_burst: u32,
    /// Bursts grow on paths with a smallest RTT of less than 32 times 2 to this power, in microseconds
    /// (`tcp_tso_rtt_log`); 0: never.
    pub burst_rtt_log: u32,
    /// A small segment that is retransmitted takes the following ones along (`tcp_retrans_collapse`).
    pub join_small: bool,
    /// Segments that a duplicate ACK reports let new ones leave before a loss is proved (RFC 3042); the kernel always
    /// counts so.
    pub limited_transmit: bool,
    /// The window falls in proportion to deliveries (RFC 9937). If not, it falls to the threshold at once (RFC 6675 §5
    /// step 4.2).
    pub prr: bool,
    /// Losses are found by time (RFC 8985). If not, with SACK, by `reordering` SACKed segments above (RFC 6675 §4,
    /// IsLost).
    pub rack: bool,
    /// RACK's reordering window grows with DSACKs, and is left out once the duplicate threshold is reached
    /// (`tcp_recovery`, bits 2 and 4 unset).
    pub rack_adapts: bool,
    pub rack_duplicate_threshold: bool,
    /// A burst waits until it is whole while less than this part of the window is free (`tcp_tso_win_divisor`); 0:
    /// never.
    pub burst_divisor: u32,
    pub control: ControlKind,
    /// Decides what the control draws by chance, such as the phases in which bbr's cycles begin.
    pub seed: u64,
    pub timers: Timers,
    pub estimator: Estimator,
    pub min_rto: Duration,
    pub max_rto: Duration,
    /// The value of the timestamps at time zero. A value of 0 in a segment reads as none.
    pub timestamp_base: u32,
    /// The timeout of the SYN.
    pub initial_rto: Duration,
    /// SYNs after the first that follow without back-off (`tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// Segments (RFC 6928).
    pub initial_window: u32,
    /// Duplicates that prove a loss before any reordering was seen (`tcp_reordering`), and the most
    /// (`tcp_max_reordering`).
    pub reordering: u32,
    pub max_reordering: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mss: 1448,
            timestamps: true,
            sack: true,
            dsack: true,
            tlp: true,
            frto: true,
            undo: true,
            limited_transmit: true,
            prr: true,
            rack: true,
            ecn: EcnMode::Off,
            idle_restart: true,
            window_validation: Validation::Linux,
            byte_counting: true,
            app_limited_marks: true,
            nagle: true,
            pacing: false,
            pacing_ratios: (200, 120),
            min_burst: 2,
            burst_rtt_log: 9,
            join_small: true,
            rack_adapts: true,
            rack_duplicate_threshold: true,
            burst_divisor: 3,
            control: ControlKind::Cubic(CubicOptions::default()),
            seed: 1,
            timers: Timers::Exact,
            estimator: Estimator::Linux,
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            timestamp_base: 1,
            initial_rto: Duration::from_secs(1),
            syn_linear_timeouts: 4,
            initial_window: 10,
            reordering: 3,
            max_reordering: 300,
        }
    }
}
