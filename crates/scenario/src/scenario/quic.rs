//! A flow's QUIC stack.

use crate::format::{QuicControlName, QuicRuntimeName, QuicStackName, QuicTimersName};
use serde::Serialize;
use skyhop_base::{Bytes, Duration};
use skyhop_cc::ControlConfig;
use skyhop_hosts::quic::Quic as Hosts;
use skyhop_quic::{AckFrequency, Config, ConfigError, Control, Governor, Runtime, StackKind, StreamUse, Timers};

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
    /// Both hosts of a flow. Where a transfer is a stream of its own, the source learns when it has arrived.
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
            udp_payload: u16::try_from(self.payload.0).unwrap_or(u16::MAX),
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
        Hosts::new(config, Runtime { segments: self.batch as usize, timers, ..habits }, streams)
    }
}
