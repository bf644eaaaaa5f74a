//! noq-proto behind the common interface. One path: multipath stays off.

crate::adapter::adapter!(noq_proto);

/// Where noq differs from quinn.
mod dialect {
    use super::{
        Arc, BytesMut, Control, Controller, ControllerFactory, DatagramEvent, EndpointConfig, Instant, Measures,
        SocketAddr, VarInt, duration, since, watch,
    };
    use crate::config::AckFrequency;
    use crate::ours::Ours;
    use noq_proto::congestion::{Bbr3Config, ControllerMetrics, CubicConfig, NewRenoConfig};
    use noq_proto::crypto::rustls::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig};
    use noq_proto::crypto::{CryptoError, HandshakeTokenKey};
    use noq_proto::{
        AckFrequencyConfig, Connection, ConnectionIdGenerator, EcnCodepoint, Endpoint, FourTuple, PathId, RttEstimator,
        ServerConfig, Transmit,
    };
    use ring::{aead, hkdf};
    use std::any::Any;
    use std::num::NonZeroUsize;

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
            Control::Bbr3 => made!(Bbr3Config),
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
    #[derive(Debug)]
    struct Watched(Box<dyn Controller>);

    impl Controller for Watched {
        fn on_sent(&mut self, now: Instant, bytes: u64, largest: u64) {
            self.0.on_sent(now, bytes, largest);
        }

        fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
            self.0.on_packet_sent(now, bytes, number);
        }

        fn on_cwnd_limited(&mut self) {
            self.0.on_cwnd_limited();
        }

        fn on_ack(
            &mut self,
            now: Instant,
            sent: Instant,
            bytes: u64,
            number: u64,
            app_limited: bool,
            rtt: &RttEstimator,
        ) {
            watch::acked(bytes, duration(now.saturating_duration_since(sent)));
            self.0.on_ack(now, sent, bytes, number, app_limited, rtt);
        }

        fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
            watch::end_of_acks(in_flight);
            self.0.on_end_acks(now, in_flight, app_limited, largest);
        }

        fn on_congestion_event(
            &mut self,
            now: Instant,
            sent: Instant,
            persistent: bool,
            is_ecn: bool,
            lost_bytes: u64,
            largest_lost: u64,
        ) {
            let before = self.0.window();
            self.0.on_congestion_event(now, sent, persistent, is_ecn, lost_bytes, largest_lost);
            watch::congestion(lost_bytes, persistent, is_ecn, [before, self.0.window()]);
        }

        fn on_packet_lost(&mut self, lost_bytes: u16, number: u64, now: Instant) {
            watch::lost(number);
            self.0.on_packet_lost(lost_bytes, number, now);
        }

        fn on_spurious_congestion_event(&mut self) {
            watch::spurious();
            self.0.on_spurious_congestion_event();
        }

        fn on_mtu_update(&mut self, new_mtu: u16) {
            self.0.on_mtu_update(new_mtu);
        }

        fn on_ack_frequency_update(&mut self, threshold: u64, max_delay: std::time::Duration) {
            self.0.on_ack_frequency_update(threshold, max_delay);
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
        fn on_sent(&mut self, now: Instant, bytes: u64, _largest: u64) {
            self.ours.sent(since(self.base, now), bytes);
        }

        fn on_ack(
            &mut self,
            _now: Instant,
            sent: Instant,
            bytes: u64,
            _number: u64,
            app_limited: bool,
            rtt: &RttEstimator,
        ) {
            self.ours.acked(since(self.base, sent), bytes, app_limited, duration(rtt.get()));
        }

        fn on_end_acks(&mut self, now: Instant, in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
            self.ours.end_of_acks(since(self.base, now), in_flight);
        }

        fn on_congestion_event(
            &mut self,
            now: Instant,
            sent: Instant,
            persistent: bool,
            is_ecn: bool,
            lost_bytes: u64,
            _largest_lost: u64,
        ) {
            let (now, sent) = (since(self.base, now), since(self.base, sent));
            self.ours.congestion(now, sent, persistent, is_ecn, lost_bytes);
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
            // In bytes per second; without it noq paces by the window.
            metrics.pacing_rate = self.ours.pacing().map(|rate| rate.bps() / 8);
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

    /// The slow-start threshold in bytes, and the rate of the control in bytes per second.
    pub(super) fn said(connection: &Connection) -> (Option<u64>, Option<u64>) {
        let metrics = connection.congestion_state(PathId::ZERO).map(|control| control.metrics());
        metrics.map_or((None, None), |metrics| (metrics.ssthresh, metrics.pacing_rate))
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
        config.cid_generator(Arc::new(make));
    }

    pub(super) fn client(config: rustls::ClientConfig) -> Result<QuicClientConfig, NoInitialCipherSuite> {
        QuicClientConfig::try_from(config)
    }

    pub(super) fn server(config: rustls::ServerConfig) -> Result<QuicServerConfig, NoInitialCipherSuite> {
        QuicServerConfig::try_from(config)
    }

    /// Seals address tokens; noq's own key can only be made from the machine's randomness.
    struct TokenKey(hkdf::Prk);

    impl TokenKey {
        fn of(&self, nonce: u128) -> Result<aead::LessSafeKey, CryptoError> {
            let nonce = nonce.to_le_bytes();
            let mut bytes = [0; 32];
            let expanded = self.0.expand(&[], hkdf::HKDF_SHA256).map_err(|_| CryptoError)?;
            expanded.fill(&mut bytes).map_err(|_| CryptoError)?;
            for (byte, nonce) in bytes.iter_mut().zip(nonce) {
                *byte ^= nonce;
            }
            Ok(aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_256_GCM, &bytes).map_err(|_| CryptoError)?))
        }
    }

    /// Each token has a key of its own, so the nonce may stay.
    fn zero() -> aead::Nonce {
        aead::Nonce::assume_unique_for_key([0; 12])
    }

    impl HandshakeTokenKey for TokenKey {
        fn seal(&self, nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
            self.of(nonce)?.seal_in_place_append_tag(zero(), aead::Aad::empty(), data).map_err(|_| CryptoError)
        }

        fn open<'a>(&self, nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
            Ok(self.of(nonce)?.open_in_place(zero(), aead::Aad::empty(), data).map_err(|_| CryptoError)?)
        }
    }

    pub(super) fn token_key(master: &[u8]) -> Arc<dyn HandshakeTokenKey> {
        Arc::new(TokenKey(hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(master)))
    }

    pub(super) fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
        Endpoint::new(config, server, true)
    }

    pub(super) fn handle(
        endpoint: &mut Endpoint,
        now: Instant,
        remote: SocketAddr,
        ecn: Option<EcnCodepoint>,
        data: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<DatagramEvent> {
        endpoint.handle(now, FourTuple::new(remote, None), ecn, data, answer)
    }

    pub(super) fn transmit(
        connection: &mut Connection,
        now: Instant,
        segments: usize,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        connection.poll_transmit(now, NonZeroUsize::new(segments).unwrap_or(NonZeroUsize::MIN), buffer)
    }

    pub(super) fn measures(connection: &mut Connection) -> Measures {
        let stats = connection.stats();
        let path = connection.path_stats(PathId::ZERO).unwrap_or_default();
        Measures {
            cwnd: path.cwnd,
            smoothed_rtt: duration(path.rtt),
            min_rtt: None,
            bandwidth_bps: path.bandwidth_estimate,
            sent_packets: stats.sent_packets,
            lost_packets: stats.lost_packets,
            congestion_events: path.congestion_events,
            spurious_congestion_events: Some(path.spurious_congestion_events),
            black_holes: path.black_holes_detected,
            streams_blocked: Some(stats.frame_tx.streams_blocked_bidi + stats.frame_tx.streams_blocked_uni),
            acks_received: stats.frame_rx.acks,
            datagrams_sent: stats.udp_tx.datagrams,
            ..Measures::default()
        }
    }
}
