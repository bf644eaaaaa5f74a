//! quinn-proto behind the common interface.

crate::adapter::adapter!(quinn_proto);

/// Where quinn differs from its fork.
mod dialect {
    use super::{
        Arc, BytesMut, Control, Controller, ControllerFactory, DatagramEvent, EndpointConfig, Instant, Measures,
        SocketAddr, VarInt, duration, since, watch,
    };
    use crate::config::AckFrequency;
    use crate::ours::Ours;
    use quinn_proto::congestion::{BbrConfig, ControllerMetrics, CubicConfig, NewRenoConfig};
    use quinn_proto::crypto::HandshakeTokenKey;
    use quinn_proto::crypto::rustls::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig};
    use quinn_proto::{
        AckFrequencyConfig, Connection, ConnectionIdGenerator, EcnCodepoint, Endpoint, RttEstimator, ServerConfig,
        Transmit,
    };
    use std::any::Any;

    /// The stack's own congestion control of that name.
    pub(super) fn control(control: Control, initial_window: Option<u64>) -> Arc<dyn ControllerFactory + Send + Sync> {
        /// With the window at the start that is wanted, if any.
        macro_rules! made {
            ($config:ty) => {{
                let mut made = <$config>::default();
                if let Some(bytes) = initial_window {
                    made.initial_window(bytes);
                }
                Arc::new(made)
            }};
        }
        match control {
            Control::NewReno => made!(NewRenoConfig),
            Control::Bbr => made!(BbrConfig),
            // `Config::check` refuses the others.
            _ => made!(CubicConfig),
        }
    }

    pub(super) fn watched(inner: Arc<dyn ControllerFactory + Send + Sync>) -> Arc<dyn ControllerFactory + Send + Sync> {
        Arc::new(WatchedFactory(inner))
    }

    struct WatchedFactory(Arc<dyn ControllerFactory + Send + Sync>);

    impl ControllerFactory for WatchedFactory {
        fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
            Box::new(Watched(Arc::clone(&self.0).build(now, mtu)))
        }
    }

    /// The stack's own congestion control, which hears and says the same as without the watch.
    struct Watched(Box<dyn Controller>);

    impl Controller for Watched {
        fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
            self.0.on_sent(now, bytes, last_packet_number);
        }

        fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
            watch::acked(bytes, duration(now.saturating_duration_since(sent)));
            self.0.on_ack(now, sent, bytes, app_limited, rtt);
        }

        fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
            watch::end_of_acks(in_flight);
            self.0.on_end_acks(now, in_flight, app_limited, largest);
        }

        fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
            let before = self.0.window();
            self.0.on_congestion_event(now, sent, persistent, lost_bytes);
            // quinn says zero bytes for a mark.
            watch::congestion(lost_bytes, persistent, lost_bytes == 0, [before, self.0.window()]);
            watch::lost_bytes(lost_bytes);
        }

        fn on_mtu_update(&mut self, new_mtu: u16) {
            self.0.on_mtu_update(new_mtu);
        }

        fn window(&self) -> u64 {
            self.0.window()
        }

        fn metrics(&self) -> ControllerMetrics {
            self.0.metrics()
        }

        fn clone_box(&self) -> Box<dyn Controller> {
            Box::new(Watched(self.0.clone_box()))
        }

        fn initial_window(&self) -> u64 {
            self.0.initial_window()
        }

        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self.0.into_any()
        }
    }

    /// A control of ours in the place of the stack's.
    #[derive(Debug)]
    pub(super) struct Own {
        pub(super) ours: Ours,
        /// The instant of simulated time 0.
        pub(super) base: Instant,
    }

    impl Controller for Own {
        fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
            self.ours.sent(since(self.base, now), bytes);
        }

        fn on_ack(&mut self, _now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
            self.ours.acked(since(self.base, sent), bytes, app_limited, duration(rtt.get()));
        }

        fn on_end_acks(&mut self, now: Instant, in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
            self.ours.end_of_acks(since(self.base, now), in_flight);
        }

        fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
            let (now, sent) = (since(self.base, now), since(self.base, sent));
            // quinn says zero bytes for a mark.
            self.ours.congestion(now, sent, persistent, lost_bytes == 0, lost_bytes);
        }

        fn on_mtu_update(&mut self, new_mtu: u16) {
            self.ours.resized(new_mtu);
        }

        fn window(&self) -> u64 {
            self.ours.window()
        }

        fn metrics(&self) -> ControllerMetrics {
            let mut metrics = ControllerMetrics::default();
            metrics.congestion_window = self.ours.window();
            metrics.ssthresh = self.ours.threshold();
            // In bits per second. quinn reports it and does not pace by it.
            metrics.pacing_rate = self.ours.pacing().map(|rate| rate.bps());
            metrics
        }

        fn clone_box(&self) -> Box<dyn Controller> {
            Box::new(Own { ours: self.ours.afresh(), base: self.base })
        }

        fn initial_window(&self) -> u64 {
            self.ours.first_window()
        }

        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self
        }
    }

    /// The slow-start threshold in bytes. There is no rate: quinn reports that of bbr, and paces by the window all the
    /// same.
    pub(super) fn said(connection: &Connection) -> (Option<u64>, Option<u64>) {
        (connection.congestion_state().metrics().ssthresh, None)
    }

    pub(super) fn ack_frequency(wanted: AckFrequency) -> AckFrequencyConfig {
        let mut made = AckFrequencyConfig::default();
        made.ack_eliciting_threshold(VarInt::from_u32(wanted.packets.saturating_sub(1)));
        if let Some(delay) = wanted.max_delay {
            made.max_ack_delay(Some(std::time::Duration::from_nanos(delay.as_nanos())));
        }
        made
    }

    pub(super) fn connection_ids(config: &mut EndpointConfig, make: fn() -> Box<dyn ConnectionIdGenerator>) {
        config.cid_generator(make);
    }

    pub(super) fn client(config: rustls::ClientConfig) -> Result<QuicClientConfig, NoInitialCipherSuite> {
        QuicClientConfig::try_from(config)
    }

    pub(super) fn server(config: rustls::ServerConfig) -> Result<QuicServerConfig, NoInitialCipherSuite> {
        QuicServerConfig::try_from(config)
    }

    pub(super) fn token_key(master: &[u8]) -> Arc<dyn HandshakeTokenKey> {
        Arc::new(ring::hkdf::Salt::new(ring::hkdf::HKDF_SHA256, &[]).extract(master))
    }

    pub(super) fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
        Endpoint::new(config, server, true, None)
    }

    pub(super) fn handle(
        endpoint: &mut Endpoint,
        now: Instant,
        remote: SocketAddr,
        ecn: Option<EcnCodepoint>,
        data: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<DatagramEvent> {
        endpoint.handle(now, remote, None, ecn, data, answer)
    }

    pub(super) fn transmit(
        connection: &mut Connection,
        now: Instant,
        segments: usize,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        connection.poll_transmit(now, segments.max(1), buffer)
    }

    pub(super) fn measures(connection: &mut Connection) -> Measures {
        let stats = connection.stats();
        Measures {
            cwnd: stats.path.cwnd,
            smoothed_rtt: duration(stats.path.rtt),
            min_rtt: Some(duration(stats.path.min_rtt)),
            bandwidth_bps: None,
            sent_packets: stats.path.sent_packets,
            lost_packets: stats.path.lost_packets,
            congestion_events: stats.path.congestion_events,
            black_holes: stats.path.black_holes_detected,
            data_blocked: Some(stats.frame_tx.data_blocked + stats.frame_tx.stream_data_blocked),
            acks_received: stats.frame_rx.acks,
            datagrams_sent: stats.udp_tx.datagrams,
            ..Measures::default()
        }
    }
}
