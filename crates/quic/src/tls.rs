//! Real TLS 1.3 of rustls, with every random byte from the simulation and a certificate that never changes.
//!
//! What rustls draws itself (the randoms of both hellos, session ids, ticket nonces and ages) comes through
//! `CryptoProvider::secure_random`. Two draws are hidden inside the cryptography, so two parts are replaced: the key
//! pair of X25519, and the nonce of the ECDSA signature. Both use ring's generators of fixed bytes, which ring offers
//! for tests of known answers. The packet protection is ring's, with a window for the records ([`cipher`]). The
//! certificate is self-signed, ECDSA P-256, for `localhost`, as the reference's are.

mod cipher;

use crate::entropy;
use crate::identity::{CERTIFICATE, KEY};
use ring::agreement::{self, EphemeralPrivateKey, UnparsedPublicKey};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup, ring as provider,
    verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::time_provider::TimeProvider;
use rustls::{DigitallySignedStruct, Error, NamedGroup, SignatureAlgorithm, SignatureScheme};
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

/// What TLS takes for the time of day, so that tickets and certificates do not depend on the machine's clock:
/// 2030-01-01 00:00:00 UTC.
pub(crate) const TIME_OF_DAY: Duration = Duration::from_secs(1_893_456_000);

/// Asks the simulation for random bytes.
#[derive(Debug)]
struct Simulated;

impl SecureRandom for Simulated {
    fn fill(&self, target: &mut [u8]) -> Result<(), GetRandomFailed> {
        if entropy::fill(target) { Ok(()) } else { Err(GetRandomFailed) }
    }
}

/// X25519 with a private key from the simulation.
#[derive(Debug)]
struct X25519;

struct Exchange {
    private: EphemeralPrivateKey,
    public: Vec<u8>,
}

impl SupportedKxGroup for X25519 {
    #[allow(deprecated)] // ring's fixed bytes: the module's head says why
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut key = [0; 32];
        Simulated.fill(&mut key)?;
        let fixed = ring::test::rand::FixedSliceRandom { bytes: &key };
        let private = EphemeralPrivateKey::generate(&agreement::X25519, &fixed).map_err(|_| GetRandomFailed)?;
        let public = private.compute_public_key().map_err(|_| GetRandomFailed)?.as_ref().to_vec();
        Ok(Box::new(Exchange { private, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = UnparsedPublicKey::new(&agreement::X25519, peer);
        agreement::agree_ephemeral(self.private, &peer, |secret| SharedSecret::from(secret))
            .map_err(|_| rustls::PeerMisbehaved::InvalidKeyShare.into())
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// The certificate's key, which signs with a nonce from the simulation.
struct CertificateKey(EcdsaKeyPair);

impl Debug for CertificateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CertificateKey")
    }
}

#[derive(Debug)]
struct CertificateSigner(Arc<CertificateKey>);

#[derive(Debug)]
struct SharedKey(Arc<CertificateKey>);

impl SigningKey for SharedKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let known = offered.contains(&SignatureScheme::ECDSA_NISTP256_SHA256);
        known.then(|| Box::new(CertificateSigner(self.0.clone())) as Box<dyn Signer>)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl Signer for CertificateSigner {
    #[allow(deprecated)] // ring's fixed bytes: the module's head says why
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        // ring hashes these bytes together with the key and the message into the nonce.
        let mut byte = [0];
        Simulated.fill(&mut byte)?;
        let fixed = ring::test::rand::FixedByteRandom { byte: byte[0] };
        let signature = self.0.0.sign(&fixed, message).map_err(|_| Error::General("signing failed".into()))?;
        Ok(signature.as_ref().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ECDSA_NISTP256_SHA256
    }
}

#[derive(Debug)]
struct Clock;

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(TIME_OF_DAY))
    }
}

/// Trusts the one certificate, and checks that the server holds its key.
#[derive(Debug)]
struct OneCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for OneCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if end_entity.as_ref() == CERTIFICATE {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::General("the server shows another certificate than the simulation's".into()))
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC knows TLS 1.3 only".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn crypto() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        // The other two are offered as ring offers them, so that the hellos keep their length; X25519 is taken.
        kx_groups: vec![&X25519, provider::kx_group::SECP256R1, provider::kx_group::SECP384R1],
        cipher_suites: cipher::suites(),
        secure_random: &Simulated,
        ..provider::default_provider()
    })
}

/// What quinn and noq build by themselves for a client, but without early data.
pub(crate) fn client() -> Result<rustls::ClientConfig, Error> {
    let crypto = crypto();
    let config = rustls::ClientConfig::builder_with_details(crypto.clone(), Arc::new(Clock))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(OneCertificate(crypto)))
        .with_no_client_auth();
    Ok(config)
}

/// What quinn and noq build by themselves for a server with one certificate, but without early data: each of its two
/// tickets is shorter by the eight bytes that would offer it.
#[allow(deprecated)] // ring's fixed bytes: the module's head says why
pub(crate) fn server() -> Result<rustls::ServerConfig, Error> {
    // ring mixes these bytes into a second key, from which it makes the nonces.
    let fixed = ring::test::rand::FixedByteRandom { byte: 0 };
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, KEY, &fixed)
        .map_err(|error| Error::General(format!("the simulation's key is unusable: {error}")))?;
    let key = SharedKey(Arc::new(CertificateKey(pair)));
    let certificate = CertifiedKey::new(vec![CertificateDer::from(CERTIFICATE)], Arc::new(key));
    let config = rustls::ServerConfig::builder_with_details(crypto(), Arc::new(Clock))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certificate)));
    Ok(config)
}
