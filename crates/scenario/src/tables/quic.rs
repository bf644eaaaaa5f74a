//! Flows over a real QUIC stack.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration};
use skyhop_cc::{ControlConfig, ControlSpec};
use skyhop_hosts::quic::Quic as Hosts;
use skyhop_quic::messages::{STAMP_BYTES, largest_message};
use skyhop_quic::{AckFrequency, Config, ConfigError, Control, Governor, Runtime, StackKind, StreamUse, Timers};

/// A QUIC stack by its name alone, or with its options.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum QuicFile {
    Named(QuicStackName),
    Options(Box<QuicOptions>),
}

impl QuicFile {
    /// Whether messages take the place of streams.
    pub fn sends_messages(&self) -> bool {
        matches!(self, QuicFile::Options(options) if options.datagrams == Some(true))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuicStackName {
    /// quinn-proto 0.11.19.
    Quinn,
    /// noq-proto 1.4.0.
    Noq,
    /// picoquic 1.1.53.0 of 2026-10-08, in C.
    Picoquic,
}

/// A QUIC stack and how both its ends are set up. The source is the client: it connects with its first data.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuicOptions {
    pub stack: QuicStackName,
    /// The stack's own congestion control, or one of Skyhop's in its place, as in { ours = "vegas" }. Without it: the
    /// stack's "cubic".
    pub control: Option<QuicControlFile>,
    /// Bytes of a stream that the receiver grants ahead. Without it: 1.25 MB of quinn and noq; picoquic begins with 64
    /// kB and widens by what was read.
    pub stream_window: Option<Bytes>,
    /// Bytes of all streams together that the receiver grants ahead. Without it: no limit of quinn and noq; picoquic
    /// begins with 1 MB and widens by what has come.
    pub connection_window: Option<Bytes>,
    /// Bytes that the sender keeps until they are acknowledged. Without it: 10 MB of quinn and noq, no limit of
    /// picoquic.
    pub send_window: Option<Bytes>,
    /// Congestion window at the start. Without it: the stack's. picoquic takes it together with `initial_rtt`, as what
    /// an earlier connection has measured, and uses it once its first measurement confirms the RTT.
    pub initial_window: Option<Bytes>,
    /// Round-trip time that the stack assumes before it has measured one. Without it: 333 ms of quinn and noq, 250 ms
    /// of picoquic, which takes it together with `initial_window` only.
    pub initial_rtt: Option<Duration>,
    /// UDP payload of a full datagram, to which 28 bytes of headers come; no larger one is looked for. picoquic takes
    /// 1508 B at most, and after some runs of lost full datagrams it sends 1252 B, also where this is less. Without it:
    /// 1200 B.
    pub payload: Option<Bytes>,
    /// Whether packets are encrypted. Off, they have the same lengths and the same frames in the clear; TLS shakes
    /// hands all the same. Without it: true.
    pub packet_protection: Option<bool>,
    /// Bidirectional streams that the receiver allows at a time: a page or a workload with more waits. Without it: the
    /// stack's own, 100 of quinn and noq and 512 of picoquic.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_streams: Option<u32>,
    /// Whether each write of the application is a message in a DATAGRAM frame (RFC 9221), which arrives alone or is
    /// lost for good. Messages have 12 B at least, for their number and time, and 38 B less than `payload` at most.
    /// Without it: false, and the application writes to streams.
    pub datagrams: Option<bool>,
    /// The connection ends after this time without a packet. Without it: 300 s.
    pub idle_timeout: Option<Duration>,
    /// The receiver is asked to acknowledge at least every so many packets (draft-ietf-quic-ack-frequency). Without
    /// it: the extension is off, and the receiver acknowledges every second packet; picoquic asks by a rule of its own.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub ack_every: Option<u32>,
    /// Longest delay of an acknowledgement that the receiver is asked for. quinn and noq keep it below 25 ms, or below
    /// the RTT where that is longer. Needs `ack_every`. Without it: the receiver's own, 25 ms.
    pub ack_delay: Option<Duration>,
    /// Habits of the program around the stack; `batch` and `timers` change single ones. Without it: "tokio" of quinn
    /// and noq, "select" of picoquic, as each has it by default.
    pub runtime: Option<QuicRuntimeName>,
    /// Most datagrams of one send call, which leave together. Without it: 10, with `runtime = "exact"` 1.
    #[schemars(range(min = 1, max = 10))]
    pub batch: Option<u32>,
    /// When timers fire. Without it: "milliseconds" of `runtime = "tokio"`, "exact" of the others.
    pub timers: Option<QuicTimersName>,
}

/// The stack's own congestion control by its name, or Skyhop's in its place.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum QuicControlFile {
    Named(QuicControlName),
    Ours(Box<QuicOursFile>),
}

/// A congestion control of Skyhop's own TCP inside a QUIC stack, which still finds the losses and paces.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuicOursFile {
    /// Its name, or a table with its name and parameters.
    pub ours: ControlSpec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum QuicControlName {
    /// RFC 9002.
    #[serde(rename = "newreno")]
    NewReno,
    /// RFC 9438.
    #[serde(rename = "cubic")]
    Cubic,
    /// quinn's BBR, after version 1; picoquic's, after version 3.
    #[serde(rename = "bbr")]
    Bbr,
    /// noq's BBR, version 3.
    #[serde(rename = "bbr3")]
    Bbr3,
    /// picoquic's BBR, after version 1.
    #[serde(rename = "bbr1")]
    Bbr1,
    /// picoquic's CUBIC that reacts to delay.
    #[serde(rename = "dcubic")]
    DCubic,
    /// picoquic's FastCC, which reacts to delay.
    #[serde(rename = "fast")]
    Fast,
    /// picoquic's Prague, for L4S.
    #[serde(rename = "prague")]
    Prague,
    /// picoquic's C4 (draft-huitema-ccwg-c4-design).
    #[serde(rename = "c4")]
    C4,
}

/// The program that drives a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuicRuntimeName {
    /// As the stacks run by default on Linux: send calls of up to 10 datagrams, timers by the millisecond, and 50
    /// µs and more (90 µs on average) until the process acts.
    Tokio,
    /// As picoquic's packet loop: send calls of up to 10 datagrams, timers by the microsecond, and the same time to
    /// act as "tokio".
    Select,
    /// Single datagrams, timers at their instant, and no time to act.
    Exact,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuicTimersName {
    /// At the next whole millisecond of the process, as tokio's: up to 2 ms late.
    Milliseconds,
    /// At the instant that the stack asks for.
    Exact,
}

/// Who decides over the congestion window, with every parameter filled.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum QuicControl {
    /// The stack's own control.
    Named(QuicControlName),
    /// A control of Skyhop's TCP in its place.
    Ours { ours: ControlConfig },
}

/// A QUIC stack with every option that has a default of ours. What stays empty is the stack's own default.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quic {
    pub stack: QuicStackName,
    pub control: QuicControl,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_window: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_window: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_window: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rtt: Option<Duration>,
    pub payload: Bytes,
    /// Written where it is off, so that scenarios keep their hash.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub packet_protection: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_streams: Option<u32>,
    /// Written where it is on, so that scenarios keep their hash.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub datagrams: bool,
    pub idle_timeout: Duration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_every: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_delay: Option<Duration>,
    pub runtime: QuicRuntimeName,
    pub batch: u32,
    pub timers: QuicTimersName,
}

impl Quic {
    /// Both hosts of a flow. Where a transfer is a stream of its own, the source learns when it has arrived. `streams`
    /// does not matter where messages take their place.
    ///
    /// # Errors
    /// What the stack does not take; a stack that this build has not.
    pub fn hosts(&self, streams: StreamUse) -> Result<Hosts, ConfigError> {
        let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0);
        let stack = match self.stack {
            QuicStackName::Quinn => StackKind::Quinn,
            QuicStackName::Noq => StackKind::Noq,
            QuicStackName::Picoquic => StackKind::Picoquic,
        };
        let control = match &self.control {
            QuicControl::Named(QuicControlName::NewReno) => Control::NewReno.into(),
            QuicControl::Named(QuicControlName::Cubic) => Control::Cubic.into(),
            QuicControl::Named(QuicControlName::Bbr) => Control::Bbr.into(),
            QuicControl::Named(QuicControlName::Bbr3) => Control::Bbr3.into(),
            QuicControl::Named(QuicControlName::Bbr1) => Control::Bbr1.into(),
            QuicControl::Named(QuicControlName::DCubic) => Control::DCubic.into(),
            QuicControl::Named(QuicControlName::Fast) => Control::Fast.into(),
            QuicControl::Named(QuicControlName::Prague) => Control::Prague.into(),
            QuicControl::Named(QuicControlName::C4) => Control::C4.into(),
            QuicControl::Ours { ours } => Governor::Ours(ours.clone()),
        };
        let config = Config {
            stream_window: bytes(self.stream_window),
            connection_window: bytes(self.connection_window),
            send_window: bytes(self.send_window),
            initial_window: bytes(self.initial_window),
            initial_rtt: self.initial_rtt,
            udp_payload: self.udp_payload(),
            streams: self.max_streams,
            packet_protection: self.packet_protection,
            idle_timeout: self.idle_timeout,
            ack_frequency: self.ack_every.map(|packets| AckFrequency { packets, max_delay: self.ack_delay }),
            offload: self.batch > 1,
            ..Config::new(stack, control)
        };
        let habits = match self.runtime {
            QuicRuntimeName::Tokio => {
                Runtime { latency: Runtime::LATENCY, jitter: Runtime::JITTER, ..Runtime::exact() }
            }
            QuicRuntimeName::Select => Runtime::select(),
            QuicRuntimeName::Exact => Runtime::exact(),
        };
        let timers = match self.timers {
            // Each host draws the phase of its ticks.
            QuicTimersName::Milliseconds => Timers::Milliseconds { phase: Duration::ZERO },
            QuicTimersName::Exact => Timers::Exact,
        };
        let streams = if self.datagrams { StreamUse::Datagrams } else { streams };
        Hosts::new(config, Runtime { segments: self.batch as usize, timers, ..habits }, streams)
    }

    fn udp_payload(&self) -> u16 {
        u16::try_from(self.payload.0).unwrap_or(u16::MAX)
    }

    /// The least and the most bytes of a message; `None` where the application writes to streams.
    pub fn message_bytes(&self) -> Option<[u32; 2]> {
        self.datagrams.then(|| [STAMP_BYTES, largest_message(self.udp_payload())])
    }
}
