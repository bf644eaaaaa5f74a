//! noq-proto behind the common interface. One path: multipath stays off.

crate::adapter::adapter!(noq_proto);

/// Where noq differs from quinn.
mod dialect {
    use super::{Arc, BytesMut, Control, DatagramEvent, EndpointConfig, Instant, Measures, SocketAddr, duration};
    use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
    use noq_proto::crypto::rustls::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig};
    use noq_proto::crypto::{CryptoError, HandshakeTokenKey};
    use noq_proto::{
        Connection, ConnectionIdGenerator, EcnCodepoint, Endpoint, FourTuple, PathId, ServerConfig, Transmit,
    };
    use ring::{aead, hkdf};
    use std::num::NonZeroUsize;

    pub(super) fn control(control: Control) -> Arc<dyn ControllerFactory + Send + Sync> {
        match control {
            Control::NewReno => Arc::new(NewRenoConfig::default()),
            Control::Cubic | Control::Bbr => Arc::new(CubicConfig::default()), // `Config::check` refuses bbr
            Control::Bbr3 => Arc::new(Bbr3Config::default()),
        }
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
            blocked_frames: stats.frame_tx.data_blocked + stats.frame_tx.stream_data_blocked,
            acks_received: stats.frame_rx.acks,
            datagrams_sent: stats.udp_tx.datagrams,
        }
    }
}
