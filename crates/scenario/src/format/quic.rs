//! Flows over a real QUIC stack.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration};
use skyhop_cc::ControlSpec;

/// A QUIC stack by its name alone, or with its options.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum QuicFile {
    Named(QuicStackName),
    Options(Box<QuicOptions>),
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
    /// 1508 B at most. Without it: 1200 B.
    pub payload: Option<Bytes>,
    /// Whether packets are encrypted. Off, they have the same lengths and the same frames in the clear; TLS shakes
    /// hands all the same. Without it: true.
    pub packet_protection: Option<bool>,
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
