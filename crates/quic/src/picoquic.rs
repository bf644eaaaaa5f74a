//! picoquic behind the common interface.
//!
//! picoquic is not a state machine with events and an endpoint of its own: a call takes a datagram, another prepares
//! the next ones, and data go in and come out through callbacks. `skyhop-picoquic` turns that into calls; this file
//! turns them into a [`Stack`]. Its clock counts whole microseconds.

use crate::config::{Config, ConfigError, Control, Governor};
use crate::stack::{Batch, Ecn, Event, Incoming, Measures, Read, Seen, Stack, StreamId};
use crate::watch::{self, Watch};
use crate::{entropy, identity};
use skyhop_base::{Duration, Stream, Time};
use skyhop_picoquic::{Hooks, Identity, Settings, Told};
use std::mem::take;

/// Types of frames with acknowledgements: RFC 9000, section 19.3.
const ACKS: [u64; 2] = [0x02, 0x03];

/// One endpoint of picoquic, with at most one connection.
#[derive(Debug)]
pub struct Endpoint {
    endpoint: skyhop_picoquic::Endpoint,
    is_server: bool,
    random: Stream,
    watch: Watch,
    /// Bytes of a full datagram.
    full: usize,
    offload: bool,
    is_connected: bool,
    /// The time of the last call, in microseconds.
    now: u64,
    /// picoquic had nothing to send at this time, in microseconds. It may say all the same that it wants to be called
    /// at once: it counts on a clock that goes on.
    idle: Option<u64>,
    failure: Option<String>,
    sealed: Counts,
}

/// What only the packets say.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    data_blocked: u64,
    acks: u64,
    datagrams: u64,
}

const HOOKS: Hooks = Hooks {
    random: |target| {
        // Every call of C is made within `lend`.
        entropy::fill(target);
    },
    is_plain: watch::is_plain,
    sealing: watch::encrypting,
    opened: watch::decrypted,
    rtt: |rtt| watch::rtt(Duration::from_micros(rtt)),
    congestion: |told, now, windows| match told {
        Told::Loss { number } => watch::lost_packet(number, now, false, windows),
        Told::Timeout { number } => watch::lost_packet(number, now, true, windows),
        Told::Mark => watch::congestion(0, false, true, windows),
        Told::Spurious => watch::spurious(),
    },
};

fn micros(time: Time) -> u64 {
    time.as_nanos() / 1000
}

fn time(micros: u64) -> Time {
    Time::from_nanos(micros.saturating_mul(1000))
}

/// picoquic's name of a control.
fn name(control: Control) -> &'static str {
    match control {
        Control::NewReno => "newreno",
        Control::Cubic => "cubic",
        Control::DCubic => "dcubic",
        Control::Fast => "fast",
        Control::Bbr1 => "bbr1",
        Control::Prague => "prague",
        Control::C4 => "c4",
        // `Config::check` refuses noq's name for the same version.
        Control::Bbr | Control::Bbr3 => "bbr",
    }
}

impl Endpoint {
    /// `name` and `seed` decide every random number of this endpoint.
    pub fn new(config: &Config, server: bool, seed: u64, own_name: &str) -> Result<Endpoint, ConfigError> {
        let Governor::Stack(control) = config.control else { return Err(ConfigError::NoOurs) };
        let seeded = config.initial_rtt.zip(config.initial_window);
        let settings = Settings {
            control: name(control),
            stream_window: config.stream_window,
            connection_window: config.connection_window,
            send_window: config.send_window,
            streams: config.streams,
            idle_timeout_ms: config.idle_timeout.as_nanos() / 1_000_000,
            seed: seeded.map(|(rtt, window)| (rtt.as_nanos() / 1000, window)),
            udp_payload: config.udp_payload,
            datagrams: config.datagrams,
        };
        let key = identity::private_scalar();
        let shown = server.then_some(Identity { certificate: identity::CERTIFICATE, key: &key });
        let mut random = Stream::new(seed, own_name, "quic");
        let made = entropy::lend(&mut random, || skyhop_picoquic::Endpoint::new(&settings, shown, HOOKS));
        Ok(Endpoint {
            endpoint: made.map_err(ConfigError::Refused)?,
            is_server: server,
            random,
            watch: Watch::new(config.packet_protection),
            full: usize::from(config.udp_payload),
            offload: config.offload,
            is_connected: false,
            now: 0,
            idle: None,
            failure: None,
            sealed: Counts::default(),
        })
    }

    /// A call of picoquic's, with what it draws and what is seen of it.
    fn lend<T>(&mut self, call: impl FnOnce(&mut skyhop_picoquic::Endpoint) -> T) -> T {
        let Endpoint { endpoint, random, watch, .. } = self;
        entropy::lend(random, || watch::lend(watch, || call(endpoint)))
    }

    /// Keeps the words of the first failure, which ends the connection.
    fn keep(&mut self, result: Result<(), String>) {
        if let Err(words) = result {
            self.failure.get_or_insert(words);
        }
    }
}

impl Stack for Endpoint {
    fn connect(&mut self, now: Time) -> Result<(), String> {
        if self.is_server {
            return Err("a server does not connect".into());
        }
        self.now = micros(now);
        let now = self.now;
        self.lend(|endpoint| endpoint.connect(now, identity::SERVER_NAME))
    }

    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn, _answers: &mut Vec<Vec<u8>>) -> Incoming {
        self.now = micros(now);
        self.idle = None;
        let mut bytes = datagram.to_vec();
        let bits = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        let now = self.now;
        let result = self.lend(|endpoint| endpoint.receive(now, &mut bytes, bits));
        self.keep(result);
        // picoquic's own answers (version negotiation, resets) come out of `transmit`, too.
        Incoming::ForConnection
    }

    fn transmit(&mut self, now: Time, segments: usize, buffer: &mut Vec<u8>) -> Option<Batch> {
        self.now = micros(now);
        // Datagrams of the handshake hold several packets and are padded behind them: one at a time, so that the
        // packets that were seen belong to this one.
        let segments = if self.offload && self.is_connected { segments.max(1) } else { 1 };
        buffer.clear();
        buffer.resize(segments * self.full, 0);
        let now = self.now;
        let sent = match self.lend(|endpoint| endpoint.transmit(now, buffer)) {
            Ok(sent) => sent,
            Err(words) => {
                self.keep(Err(words));
                None
            }
        };
        let Some((size, segment)) = sent else {
            self.idle = Some(now);
            return None;
        };
        self.idle = None;
        self.sealed.datagrams += size.div_ceil(segment.max(1)) as u64;
        let ecn = match self.endpoint.measures().ecn {
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::NotEct,
        };
        Some(Batch { size, segment, ecn })
    }

    fn timeout(&mut self) -> Option<Time> {
        let wake = self.endpoint.wake()?;
        Some(time(self.idle.map_or(wake, |idle| wake.max(idle + 1))))
    }

    /// [`Stack::transmit`] looks at the clock.
    fn on_timeout(&mut self, now: Time) {
        self.now = micros(now);
        self.idle = None;
    }

    fn event(&mut self) -> Option<Event> {
        if let Some(words) = self.failure.take() {
            return Some(Event::Lost(format!("picoquic: {words}")));
        }
        if self.endpoint.take_connected() {
            self.is_connected = true;
            return Some(Event::Connected);
        }
        if self.endpoint.take_changed() {
            return Some(Event::Stream);
        }
        if let Some(stream) = self.endpoint.take_delivered() {
            return Some(Event::Delivered(stream));
        }
        self.endpoint.take_closed().map(Event::Lost)
    }

    fn is_drained(&self) -> bool {
        self.endpoint.is_drained()
    }

    fn open(&mut self) -> Option<StreamId> {
        self.lend(skyhop_picoquic::Endpoint::open)
    }

    fn accept_stream(&mut self) -> Option<StreamId> {
        self.endpoint.accept()
    }

    fn write(&mut self, stream: StreamId, data: &[u8]) -> Result<usize, String> {
        let now = self.now;
        self.lend(|endpoint| endpoint.write(now, stream, data))
    }

    fn finish(&mut self, stream: StreamId) -> Result<(), String> {
        let now = self.now;
        self.lend(|endpoint| endpoint.finish(now, stream))
    }

    fn read(&mut self, stream: StreamId, limit: usize, keep: Option<&mut Vec<u8>>) -> Result<Read, String> {
        let now = self.now;
        let (bytes, finished, transmit) = self.lend(|endpoint| endpoint.read(now, stream, limit, keep))?;
        Ok(Read { bytes, finished, transmit })
    }

    fn send_datagram(&mut self, data: &[u8]) -> Result<(), String> {
        let now = self.now;
        self.lend(|endpoint| endpoint.send_datagram(now, data))
    }

    fn receive_datagram(&mut self) -> Option<Vec<u8>> {
        self.endpoint.receive_datagram()
    }

    fn close(&mut self, now: Time, _reason: &str) {
        self.now = micros(now);
        let now = self.now;
        let result = self.lend(|endpoint| endpoint.close(now));
        self.keep(result);
    }

    fn measures(&mut self) -> Measures {
        let said = self.endpoint.measures();
        Measures {
            cwnd: said.cwnd,
            smoothed_rtt: Duration::from_micros(said.smoothed_rtt),
            min_rtt: said.min_rtt.map(Duration::from_micros),
            bandwidth_bps: said.bandwidth.map(|bytes| bytes.saturating_mul(8)),
            control_rate: said.pacing_rate,
            sent_packets: said.sent_packets,
            lost_packets: said.lost_packets,
            congestion_events: self.watch.totals.losses,
            spurious_congestion_events: None,
            spurious_packets: Some(said.spurious),
            black_holes: 0,
            data_blocked: Some(self.sealed.data_blocked),
            // The shim asks for no stream that the peer does not allow.
            streams_blocked: None,
            acks_received: self.sealed.acks,
            datagrams_sent: self.sealed.datagrams,
            in_flight: Some(said.in_flight),
            ssthresh: said.ssthresh,
            totals: self.watch.totals,
        }
    }

    fn fail_check(&mut self) -> bool {
        self.endpoint.fail();
        true
    }

    fn seen(&mut self) -> Seen {
        let oldest_outstanding = self.watch.oldest_outstanding();
        let Watch { sent, received, rtts, events, lost, .. } = &mut self.watch;
        let (sent, received) = (take(sent), take(received));
        let acks = |packet: &watch::Plain| packet.frames.iter().filter(|kind| ACKS.contains(kind)).count() as u64;
        self.sealed.data_blocked += sent.iter().map(|packet| packet.data_blocked).sum::<u64>();
        self.sealed.acks += received.iter().map(acks).sum::<u64>();
        Seen { sent, received, rtts: take(rtts), events: take(events), lost: take(lost), oldest_outstanding }
    }
}
