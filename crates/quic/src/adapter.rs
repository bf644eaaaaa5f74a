//! The adapter of the quinn family. noq began as a fork of quinn: the two interfaces differ in a few names and
//! arguments, which each stack's `dialect` hides, and the rest is written once.

/// Defines `Endpoint`, a [`crate::stack::Stack`] over the crate `$proto`, with the help of the module `dialect` beside
/// it.
macro_rules! adapter {
    ($proto:ident) => {
        use crate::config::{Config, ConfigError, Control, Governor};
        use crate::stack::{Batch, Ecn, Event, Incoming, Measures, Read, Seen, Stack, StreamId};
        use crate::watch::{self, Watch};
        use crate::{entropy, identity, ours, tls};
        use bytes::{Bytes, BytesMut};
        use skyhop_base::{Duration, Stream, Time};
        use std::collections::VecDeque;
        use std::net::{Ipv4Addr, SocketAddr};
        use std::sync::Arc;
        use std::time::Instant;
        use $proto::congestion::{Controller, ControllerFactory};
        use $proto::{ConnectionHandle, DatagramEvent, Dir, EndpointConfig, TransportConfig, VarInt};

        /// One endpoint of the stack, with at most one connection.
        pub struct Endpoint {
            endpoint: $proto::Endpoint,
            /// What a client connects with.
            client: Option<$proto::ClientConfig>,
            connection: Option<(ConnectionHandle, $proto::Connection)>,
            incoming: VecDeque<$proto::Incoming>,
            /// Came in for the connection and waits to be processed.
            events: VecDeque<$proto::ConnectionEvent>,
            /// The connection's wishes to the endpoint.
            wishes: VecDeque<$proto::EndpointEvent>,
            guest: Guest,
            /// The congestion window before the connection begins, in bytes.
            first_window: u64,
            /// The stack reckons in instants of the machine; only differences between them matter.
            base: Instant,
            remote: SocketAddr,
        }

        /// What the stack is lent for each call.
        struct Guest {
            random: Stream,
            watch: Watch,
        }

        impl Guest {
            fn lend<T>(&mut self, call: impl FnOnce() -> T) -> T {
                let Guest { random, watch } = self;
                entropy::lend(random, || watch::lend(watch, call))
            }
        }

        impl std::fmt::Debug for Endpoint {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct("Endpoint").field("connection", &self.connection.is_some()).finish_non_exhaustive()
            }
        }

        /// Connection ids of eight random bytes: as long as the ids that the stack makes by default.
        struct ConnectionIds;

        impl $proto::ConnectionIdGenerator for ConnectionIds {
            fn generate_cid(&mut self) -> $proto::ConnectionId {
                let mut id = [0; 8];
                entropy::fill(&mut id);
                $proto::ConnectionId::new(&id)
            }

            fn cid_len(&self) -> usize {
                8
            }

            fn cid_lifetime(&self) -> Option<std::time::Duration> {
                None
            }
        }

        /// The time of day for address tokens, which last two weeks: standing still keeps them valid.
        struct TimeOfDay;

        impl $proto::TimeSource for TimeOfDay {
            fn now(&self) -> std::time::SystemTime {
                std::time::SystemTime::UNIX_EPOCH + tls::TIME_OF_DAY
            }
        }

        fn transport(config: &Config, base: Instant) -> Result<TransportConfig, ConfigError> {
            let window = |name, value: u64| VarInt::from_u64(value).map_err(|_| ConfigError::Window { name, value });
            let mut transport = TransportConfig::default();
            if let Some(bytes) = config.stream_window {
                transport.stream_receive_window(window("stream_window", bytes)?);
            }
            if let Some(bytes) = config.connection_window {
                transport.receive_window(window("connection_window", bytes)?);
            }
            if let Some(bytes) = config.send_window {
                transport.send_window(bytes);
            }
            if let Some(streams) = config.streams {
                transport.max_concurrent_bidi_streams(VarInt::from_u32(streams));
            }
            if let Some(frequency) = config.ack_frequency {
                transport.ack_frequency_config(Some(dialect::ack_frequency(frequency)));
            }
            if let Some(rtt) = config.initial_rtt {
                transport.initial_rtt(std::time::Duration::from_nanos(rtt.as_nanos()));
            }
            let idle =
                VarInt::from_u64(config.idle_timeout.as_nanos() / 1_000_000).map_err(|_| ConfigError::IdleTimeout)?;
            transport
                .max_idle_timeout(Some($proto::IdleTimeout::from(idle)))
                .initial_mtu(config.udp_payload)
                .mtu_discovery_config(None)
                .enable_segmentation_offload(config.offload)
                .congestion_controller_factory(control(config, base));
            Ok(transport)
        }

        /// The congestion control that the configuration names, watched. `base`: the instant of simulated time 0.
        fn control(config: &Config, base: Instant) -> Arc<dyn ControllerFactory + Send + Sync> {
            dialect::watched(match &config.control {
                Governor::Stack(control) => dialect::control(*control, config.initial_window),
                Governor::Ours(control) => {
                    let maker =
                        ours::Maker { config: Arc::new(control.clone()), initial_window: config.initial_window };
                    Arc::new(OursFactory { maker, base })
                }
            })
        }

        struct OursFactory {
            maker: ours::Maker,
            base: Instant,
        }

        impl ControllerFactory for OursFactory {
            fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
                let ours = self.maker.start(since(self.base, now), mtu);
                Box::new(dialect::Own { ours, base: self.base })
            }
        }

        /// Simulated time at an instant of the machine.
        fn since(base: Instant, at: Instant) -> Time {
            Time::from_nanos(duration(at.saturating_duration_since(base)).as_nanos())
        }

        fn refused(error: impl std::fmt::Display) -> ConfigError {
            ConfigError::Refused(error.to_string())
        }

        impl Endpoint {
            /// `name` and `seed` decide every random number of this endpoint.
            pub fn new(config: &Config, server: bool, seed: u64, name: &str) -> Result<Endpoint, ConfigError> {
                let mut random = Stream::new(seed, name, "quic");
                let base = Instant::now();
                let transport = Arc::new(transport(config, base)?);
                // A copy of the stream: asking draws nothing from the one that the connection has.
                let first_window = entropy::lend(&mut random.clone(), || {
                    control(config, base).build(base, config.udp_payload).window()
                });
                let reset_key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &entropy::bytes::<32>(&mut random));
                let mut endpoint = EndpointConfig::new(Arc::new(reset_key));
                endpoint.rng_seed(Some(entropy::bytes(&mut random)));
                dialect::connection_ids(&mut endpoint, || Box::new(ConnectionIds));
                let (mut client, mut acceptor) = (None, None);
                if server {
                    let crypto = dialect::server(tls::server().map_err(refused)?).map_err(refused)?;
                    let key = dialect::token_key(&entropy::bytes::<64>(&mut random));
                    let mut config = $proto::ServerConfig::new(Arc::new(crypto), key);
                    let mut tokens = $proto::ValidationTokenConfig::default();
                    // Nobody comes back with one.
                    tokens.sent(0);
                    config.transport_config(transport).time_source(Arc::new(TimeOfDay)).validation_token_config(tokens);
                    acceptor = Some(Arc::new(config));
                } else {
                    let crypto = dialect::client(tls::client().map_err(refused)?).map_err(refused)?;
                    let mut config = $proto::ClientConfig::new(Arc::new(crypto));
                    config.transport_config(transport);
                    // 20 bytes, as the stack's default.
                    config.initial_dst_cid_provider(Arc::new(|| {
                        let mut id = [0; 20];
                        entropy::fill(&mut id);
                        $proto::ConnectionId::new(&id)
                    }));
                    client = Some(config);
                }
                let endpoint = entropy::lend(&mut random, || dialect::endpoint(Arc::new(endpoint), acceptor));
                Ok(Endpoint {
                    endpoint,
                    client,
                    connection: None,
                    incoming: VecDeque::new(),
                    events: VecDeque::new(),
                    wishes: VecDeque::new(),
                    guest: Guest { random, watch: Watch::new(config.packet_protection) },
                    first_window,
                    base,
                    // The address carries no meaning: the network around decides where a datagram goes.
                    remote: SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 4433)),
                })
            }

            fn at(&self, now: Time) -> Instant {
                self.base + std::time::Duration::from_nanos(now.as_nanos())
            }

            fn connection(&mut self) -> Result<&mut $proto::Connection, String> {
                self.connection.as_mut().map(|(_, connection)| connection).ok_or_else(|| "not connected".into())
            }
        }

        fn duration(duration: std::time::Duration) -> Duration {
            Duration::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
        }

        #[allow(clippy::result_large_err)] // the stack's own error, once per connection
        impl Stack for Endpoint {
            fn connect(&mut self, now: Time) -> Result<(), String> {
                let Some(config) = self.client.clone() else { return Err("a server does not connect".into()) };
                let (now, remote) = (self.at(now), self.remote);
                let Endpoint { endpoint, guest, .. } = self;
                let made = guest.lend(|| endpoint.connect(now, config, remote, identity::SERVER_NAME));
                self.connection = Some(made.map_err(|error| error.to_string())?);
                Ok(())
            }

            fn accept(&mut self, now: Time, answers: &mut Vec<Vec<u8>>) -> Result<(), String> {
                let Some(incoming) = self.incoming.pop_front() else { return Ok(()) };
                let now = self.at(now);
                let mut answer = Vec::new();
                let Endpoint { endpoint, guest, .. } = self;
                if self.connection.is_some() {
                    let sent = guest.lend(|| endpoint.refuse(incoming, &mut answer));
                    answers.push(answer[..sent.size].to_vec());
                    return Ok(());
                }
                match guest.lend(|| endpoint.accept(incoming, now, &mut answer, None)) {
                    Ok(made) => self.connection = Some(made),
                    Err(error) => {
                        if let Some(sent) = error.response {
                            answers.push(answer[..sent.size].to_vec());
                        }
                        return Err(format!("{:?}", error.cause));
                    }
                }
                Ok(())
            }

            fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn, answers: &mut Vec<Vec<u8>>) -> Incoming {
                let (now, remote) = (self.at(now), self.remote);
                let ecn = match ecn {
                    Ecn::NotEct => None,
                    Ecn::Ect0 => Some($proto::EcnCodepoint::Ect0),
                    Ecn::Ect1 => Some($proto::EcnCodepoint::Ect1),
                    Ecn::Ce => Some($proto::EcnCodepoint::Ce),
                };
                let mut answer = Vec::new();
                let Endpoint { endpoint, guest, .. } = self;
                let event =
                    guest.lend(|| dialect::handle(endpoint, now, remote, ecn, BytesMut::from(datagram), &mut answer));
                match event {
                    Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                        if self.connection.as_ref().is_some_and(|(own, _)| *own == handle) {
                            self.events.push_back(event);
                            return Incoming::ForConnection;
                        }
                        Incoming::Done
                    }
                    Some(DatagramEvent::NewConnection(incoming)) => {
                        self.incoming.push_back(incoming);
                        Incoming::NewConnection
                    }
                    Some(DatagramEvent::Response(sent)) => {
                        answers.push(answer[..sent.size].to_vec());
                        Incoming::Done
                    }
                    None => Incoming::Done,
                }
            }

            fn process(&mut self) {
                let Endpoint { connection: Some((_, connection)), events, guest, .. } = self else { return };
                while let Some(event) = events.pop_front() {
                    guest.lend(|| connection.handle_event(event));
                }
            }

            fn forward(&mut self) -> bool {
                let Some((_, connection)) = &mut self.connection else { return false };
                while let Some(wish) = connection.poll_endpoint_events() {
                    self.wishes.push_back(wish);
                }
                !self.wishes.is_empty()
            }

            fn endpoint(&mut self) -> bool {
                let Endpoint { endpoint, connection: Some((handle, _)), events, wishes, guest, .. } = self else {
                    return false;
                };
                let before = events.len();
                while let Some(wish) = wishes.pop_front() {
                    events.extend(guest.lend(|| endpoint.handle_event(*handle, wish)));
                }
                events.len() > before
            }

            fn transmit(&mut self, now: Time, segments: usize, buffer: &mut Vec<u8>) -> Option<Batch> {
                let now = self.at(now);
                let Endpoint { connection: Some((_, connection)), guest, .. } = self else { return None };
                buffer.clear();
                let sent = guest.lend(|| dialect::transmit(connection, now, segments, buffer))?;
                let ecn = match sent.ecn {
                    None => Ecn::NotEct,
                    Some($proto::EcnCodepoint::Ect0) => Ecn::Ect0,
                    Some($proto::EcnCodepoint::Ect1) => Ecn::Ect1,
                    Some($proto::EcnCodepoint::Ce) => Ecn::Ce,
                };
                Some(Batch { size: sent.size, segment: sent.segment_size.unwrap_or(sent.size), ecn })
            }

            fn timeout(&mut self) -> Option<Time> {
                let base = self.base;
                let at = self.connection.as_mut()?.1.poll_timeout()?;
                Some(since(base, at))
            }

            fn on_timeout(&mut self, now: Time) {
                let now = self.at(now);
                let Endpoint { connection: Some((_, connection)), guest, .. } = self else { return };
                guest.lend(|| connection.handle_timeout(now));
            }

            fn event(&mut self) -> Option<Event> {
                let (_, connection) = self.connection.as_mut()?;
                loop {
                    match connection.poll()? {
                        $proto::Event::Connected => return Some(Event::Connected),
                        $proto::Event::ConnectionLost { reason } => return Some(Event::Lost(format!("{reason:?}"))),
                        $proto::Event::Stream($proto::StreamEvent::Finished { id }) => {
                            return Some(Event::Delivered(id.into()));
                        }
                        $proto::Event::Stream(_) | $proto::Event::DatagramReceived => return Some(Event::Stream),
                        _ => {}
                    }
                }
            }

            fn is_drained(&self) -> bool {
                self.connection.as_ref().is_some_and(|(_, connection)| connection.is_drained())
            }

            fn open(&mut self) -> Option<StreamId> {
                Some(self.connection.as_mut()?.1.streams().open(Dir::Bi)?.into())
            }

            fn accept_stream(&mut self) -> Option<StreamId> {
                Some(self.connection.as_mut()?.1.streams().accept(Dir::Bi)?.into())
            }

            fn write(&mut self, stream: StreamId, data: &[u8]) -> Result<usize, String> {
                match self.connection()?.send_stream(id(stream)?).write(data) {
                    Ok(bytes) => Ok(bytes),
                    Err($proto::WriteError::Blocked) => Ok(0),
                    Err(error) => Err(error.to_string()),
                }
            }

            fn finish(&mut self, stream: StreamId) -> Result<(), String> {
                self.connection()?.send_stream(id(stream)?).finish().map_err(|error| error.to_string())
            }

            fn read(&mut self, stream: StreamId, limit: usize, mut keep: Option<&mut Vec<u8>>) -> Result<Read, String> {
                let connection = self.connection()?;
                let mut stream = connection.recv_stream(id(stream)?);
                let mut chunks = stream.read(true).map_err(|error| error.to_string())?;
                let mut read = Read { bytes: 0, finished: false, transmit: false };
                let mut failure = None;
                while read.bytes < limit {
                    match chunks.next(limit - read.bytes) {
                        Ok(Some(chunk)) => {
                            read.bytes += chunk.bytes.len();
                            if let Some(keep) = &mut keep {
                                keep.extend_from_slice(&chunk.bytes);
                            }
                        }
                        Ok(None) => {
                            read.finished = true;
                            break;
                        }
                        Err($proto::ReadError::Blocked) => break,
                        Err(error) => {
                            failure = Some(error.to_string());
                            break;
                        }
                    }
                }
                read.transmit = chunks.finalize().should_transmit();
                failure.map_or(Ok(read), Err)
            }

            fn send_datagram(&mut self, data: &[u8]) -> Result<(), String> {
                let data = Bytes::copy_from_slice(data);
                // As `Connection::send_datagram` of the stack's own interface does.
                let drop = true;
                self.connection()?.datagrams().send(data, drop).map_err(|error| error.to_string())
            }

            fn receive_datagram(&mut self) -> Option<Vec<u8>> {
                Some(self.connection.as_mut()?.1.datagrams().recv()?.to_vec())
            }

            fn close(&mut self, now: Time, reason: &str) {
                let now = self.at(now);
                let Endpoint { connection: Some((_, connection)), guest, .. } = self else { return };
                let reason = Bytes::copy_from_slice(reason.as_bytes());
                guest.lend(|| connection.close(now, VarInt::from_u32(0), reason));
            }

            fn measures(&mut self) -> Measures {
                let watch = &self.guest.watch;
                let Some((_, connection)) = &mut self.connection else {
                    return Measures { cwnd: self.first_window, ..Measures::default() };
                };
                let in_flight = Some(watch.in_flight);
                let (threshold, control_rate) = dialect::said(connection);
                // Controls hold the largest number until there is a threshold.
                let ssthresh = threshold.filter(|bytes| *bytes < u64::MAX);
                let totals = watch.totals;
                Measures { in_flight, ssthresh, control_rate, totals, ..dialect::measures(connection) }
            }

            fn seen(&mut self) -> Seen {
                use std::mem::take;
                let oldest_outstanding = self.guest.watch.oldest_outstanding();
                let Watch { sent, received, rtts, events, lost, .. } = &mut self.guest.watch;
                let (sent, received, lost) = (take(sent), take(received), take(lost));
                Seen { sent, received, rtts: take(rtts), events: take(events), lost, oldest_outstanding }
            }
        }

        fn id(stream: StreamId) -> Result<$proto::StreamId, String> {
            VarInt::from_u64(stream).map(Into::into).map_err(|error| error.to_string())
        }
    };
}

pub(crate) use adapter;
