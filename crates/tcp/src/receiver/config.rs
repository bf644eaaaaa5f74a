//! What a receiver is told: its buffer, its options and its host.

use super::memory::SegmentMemory;
use crate::control::EcnUse;
use crate::sender::EcnMode;
use crate::timer::Timers;
use skyhop_base::Duration;

/// How SACK ACKs are compressed (`tcp_comp_sack_*`): from the fourth duplicate on, an ACK may wait for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// An ACK waits at most so long, and at most a twentieth of the round-trip time.
    pub delay: Duration,
    /// The timer may be late by so much; it is as late as it may be.
    pub slack: Duration,
    /// The most ACKs that one replaces. Zero switches compression off.
    pub most: u32,
}

impl Compression {
    /// The kernel's defaults: 1 ms, 100 us, 44.
    pub const STOCK: Compression =
        Compression { delay: Duration::from_millis(1), slack: Duration::from_micros(100), most: 44 };
    pub const OFF: Compression = Compression { delay: Duration::ZERO, slack: Duration::ZERO, most: 0 };
}

/// How a receiver tells the sender about marks, once both agreed on ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnEcho {
    /// From a mark until the sender answers (RFC 3168 §6.1.3).
    #[default]
    Standard,
    /// For each segment as it came, for a sender with DCTCP (RFC 8257 §3.2).
    Precise,
    /// As a count (RFC 9768), if the SYN asks for it; else `Standard`. The ACE field alone, without the option.
    Accurate,
}

impl EcnEcho {
    /// The echo that a control needs, or the sender asks for whatever the control.
    pub fn for_control(ecn: EcnUse, mode: EcnMode) -> EcnEcho {
        match ecn {
            EcnUse::Classic if mode == EcnMode::Accurate => EcnEcho::Accurate,
            EcnUse::Classic => EcnEcho::Standard,
            EcnUse::Precise => EcnEcho::Precise,
            EcnUse::Scalable => EcnEcho::Accurate,
        }
    }
}

/// The settings of a receiving host. The default is a stock Linux 6.18.
///
/// Large because each setting can be changed alone: one field for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The largest segment that the host announces, without options: 1460 over Ethernet.
    pub mss: u32,
    /// SO_RCVBUF as the application asks for it; `None` lets the kernel size the buffer (autotuning).
    pub buffer: Option<u64>,
    /// The largest value that SO_RCVBUF takes (`net.core.rmem_max`).
    pub buffer_limit: u64,
    /// Least, first and largest size of a buffer that the kernel sizes (`tcp_rmem`), in bytes.
    pub memory: [u64; 3],
    /// Whether the buffer grows with the rate (`tcp_moderate_rcvbuf`).
    pub autotuning: bool,
    /// Whether the window may shrink (`tcp_shrink_window`).
    pub shrink_window: bool,
    /// Window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Timestamps (RFC 7323 §3), if the SYN carries them.
    pub timestamps: bool,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Reports of duplicates (RFC 2883).
    pub dsack: bool,
    /// ECN (RFC 3168), if the SYN asks for it.
    pub ecn: bool,
    /// How the sender learns of marks; its control decides.
    pub echo: EcnEcho,
    /// Whether ACKs may wait for a second segment. If not, every segment is acknowledged at once.
    pub delayed_acks: bool,
    /// Whether ACKs wait for nothing at the beginning, after a pause of the sender, after a mark and while the window
    /// grows (`tcp_enter_quickack_mode`).
    pub quick_acks: bool,
    pub compression: Compression,
    /// The least retransmission timeout (`tcp_rto_min_us`); the receiver's own timeout limits its delayed ACKs.
    pub rto_min: Duration,
    /// The least time between two answers to segments outside the window without data (`tcp_invalid_ratelimit`).
    pub invalid_rate_limit: Duration,
    /// How often a SYN-ACK is sent again (`tcp_synack_retries`).
    pub synack_retries: u32,
    pub timers: Timers,
    /// The host's millisecond clock is ahead of the run's by so much; only the part below a millisecond matters.
    pub clock_phase: Duration,
    /// From the arrival of data to the application's read. Data that comes meanwhile is read with it.
    pub read_latency: Duration,
    /// How long a read takes. Segments that come meanwhile wait for its end, and one ACK answers them.
    pub read_time: Duration,
    /// The memory that a segment occupies until the application has read it.
    pub segment_memory: SegmentMemory,
}

impl Config {
    /// Whether the application reads at the moment at which data come.
    pub(super) fn reads_at_once(&self) -> bool {
        self.read_latency == Duration::ZERO && self.read_time == Duration::ZERO
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mss: 1460,
            buffer: None,
            buffer_limit: 4_194_304,
            memory: [4096, 131_072, 33_554_432],
            autotuning: true,
            shrink_window: false,
            window_scaling: true,
            timestamps: true,
            sack: true,
            dsack: true,
            ecn: true,
            echo: EcnEcho::Standard,
            delayed_acks: true,
            quick_acks: true,
            compression: Compression::STOCK,
            rto_min: Duration::from_millis(200),
            invalid_rate_limit: Duration::from_millis(500),
            synack_retries: 5,
            timers: Timers::Exact,
            clock_phase: Duration::ZERO,
            read_latency: Duration::ZERO,
            read_time: Duration::ZERO,
            segment_memory: SegmentMemory::default(),
        }
    }
}
