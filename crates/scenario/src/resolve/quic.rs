//! Flows and workloads over a QUIC stack.

use super::Resolver;
use crate::format::{
    ClockName, QuicControlFile, QuicControlName, QuicFile, QuicOptions, QuicRuntimeName, QuicStackName, QuicTimersName,
};
use crate::scenario::{Quic, QuicControl, Transport};
use crate::tree::Path;
use skyhop_base::{Bytes, Duration};
use skyhop_cc::{Bundle, ControlSpec};
use skyhop_quic::runtime::SEGMENTS;

/// UDP payload of a full datagram: the least that QUIC allows (RFC 9000, section 14), with which quinn and noq begin.
const PAYLOAD: Bytes = Bytes(1200);

/// The largest UDP payload over IPv4 (RFC 791, section 3.1; RFC 768), in bytes.
const LARGEST_PAYLOAD: u64 = 65_507;

/// Time without a packet after which a connection ends. The stacks' own 30 s would end connections in the pauses of an
/// application; the comparison with real time has this value.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

impl Resolver<'_, '_, '_> {
    /// The QUIC of the flow or workload at `path`, and whether nodes that split the connection or random times are
    /// asked of it.
    pub(super) fn quic(&mut self, quic: &QuicFile, via: bool, jitter: bool, path: &Path) -> Option<Transport> {
        let place = path.key("quic");
        let options = match quic {
            QuicFile::Named(stack) => named(*stack),
            QuicFile::Options(options) => (**options).clone(),
        };
        if options.ack_delay.is_some() && options.ack_every.is_none() {
            self.add(&place.key("ack_delay"), "needs \"ack_every\"", Some("add ack_every = 2".to_owned()));
        }
        for (key, what) in [("jitter", jitter), ("via", via)] {
            if what {
                self.add(&path.key(key), "needs Skyhop's own TCP, and this is QUIC", None);
            }
        }
        if self.take::<ClockName>(&Path::root().key("clock")) == Some(ClockName::Ns2) {
            let help = "leave \"clock\" out".to_owned();
            self.add(&place, "does not go with the clock of ns-2", Some(help));
        }
        let usual = match options.stack {
            QuicStackName::Quinn | QuicStackName::Noq => QuicRuntimeName::Tokio,
            QuicStackName::Picoquic => QuicRuntimeName::Select,
        };
        let runtime = options.runtime.unwrap_or(usual);
        let (batch, timers) = match runtime {
            QuicRuntimeName::Tokio => (SEGMENTS as u32, QuicTimersName::Milliseconds),
            QuicRuntimeName::Select => (SEGMENTS as u32, QuicTimersName::Exact),
            QuicRuntimeName::Exact => (1, QuicTimersName::Exact),
        };
        let control = match &options.control {
            None => QuicControl::Named(QuicControlName::Cubic),
            Some(QuicControlFile::Named(name)) => QuicControl::Named(*name),
            Some(QuicControlFile::Ours(file))
                if matches!(file.ours, ControlSpec::Python(_) | ControlSpec::Plugin(_)) =>
            {
                let name = file.ours.name();
                let what = if name == "python" { "a control in Python" } else { "a plug-in" };
                let help = format!("use tcp = {{ control = {{ {name} = … }} }}");
                let place = place.key("control").key("ours").key(name);
                self.add(&place, format!("{what} runs inside Skyhop's own TCP only"), Some(help));
                return None;
            }
            Some(QuicControlFile::Ours(file)) => match file.ours.resolve(Bundle::Rfc) {
                Ok(ours) => QuicControl::Ours { ours },
                Err(error) => {
                    self.add(&place.key("control").key("ours").key(file.ours.name()), error.to_string(), None);
                    return None;
                }
            },
        };
        let quic = Quic {
            stack: options.stack,
            control,
            stream_window: options.stream_window,
            connection_window: options.connection_window,
            send_window: options.send_window,
            initial_window: options.initial_window,
            initial_rtt: options.initial_rtt,
            payload: options.payload.unwrap_or(PAYLOAD),
            packet_protection: options.packet_protection.unwrap_or(true),
            max_streams: options.max_streams,
            datagrams: options.datagrams.unwrap_or(false),
            idle_timeout: options.idle_timeout.unwrap_or(IDLE_TIMEOUT),
            ack_every: options.ack_every,
            ack_delay: options.ack_delay,
            runtime,
            batch: options.batch.unwrap_or(batch),
            timers: options.timers.unwrap_or(timers),
        };
        if let (true, Some(streams)) = (quic.datagrams, quic.max_streams) {
            let message = format!("{streams} streams are never opened: the application sends messages (datagrams)");
            self.add(&place.key("max_streams"), message, Some("leave it out".to_owned()));
        }
        if !(PAYLOAD.0..=LARGEST_PAYLOAD).contains(&quic.payload.0) {
            let message = format!("{} is no UDP payload of QUIC: 1200 to {LARGEST_PAYLOAD} B", quic.payload);
            self.add(&place.key("payload"), message, None);
            return None;
        }
        match quic.hosts(skyhop_quic::StreamUse::Shared) {
            Ok(_) => Some(Transport::Quic(Box::new(quic))),
            Err(error) => {
                self.add(&place, error.to_string(), None);
                None
            }
        }
    }
}

/// A stack with nothing but its name.
fn named(stack: QuicStackName) -> QuicOptions {
    QuicOptions {
        stack,
        control: None,
        stream_window: None,
        connection_window: None,
        send_window: None,
        initial_window: None,
        initial_rtt: None,
        payload: None,
        packet_protection: None,
        max_streams: None,
        datagrams: None,
        idle_timeout: None,
        ack_every: None,
        ack_delay: None,
        runtime: None,
        batch: None,
        timers: None,
    }
}
