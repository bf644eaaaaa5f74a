//! quinn-proto behind the common interface.

crate::adapter::adapter!(quinn_proto);

/// Where quinn differs from its fork.
mod dialect {
    use super::{Arc, BytesMut, Control, DatagramEvent, EndpointConfig, Instant, Measures, SocketAddr, duration};
    use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
    use quinn_proto::crypto::HandshakeTokenKey;
    use quinn_proto::crypto::rustls::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig};
    use quinn_proto::{Connection, ConnectionIdGenerator, EcnCodepoint, Endpoint, ServerConfig, Transmit};

    pub(super) fn control(control: Control) -> Arc<dyn ControllerFactory + Send + Sync> {
        match control {
            Control::NewReno => Arc::new(NewRenoConfig::default()),
            Control::Cubic | Control::Bbr3 => Arc::new(CubicConfig::default()), // `Config::check` refuses bbr3
            Control::Bbr => Arc::new(BbrConfig::default()),
        }
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
            spurious_congestion_events: None,
            black_holes: stats.path.black_holes_detected,
            blocked_frames: stats.frame_tx.data_blocked + stats.frame_tx.stream_data_blocked,
            acks_received: stats.frame_rx.acks,
            datagrams_sent: stats.udp_tx.datagrams,
        }
    }
}
