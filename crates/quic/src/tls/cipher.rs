//! The cipher suites of TLS 1.3 with a window in them: packets are seen before their encryption and after their
//! decryption.
//!
//! quinn and noq take their packet protection from the suites of rustls, so one replacement serves both. It calls
//! ring's own protection, and changes nothing, unless an endpoint asks for packets without protection: they keep their
//! length, with a tag of zeros.

use crate::watch;
use rustls::crypto::CipherSuiteCommon;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::ring::DEFAULT_CIPHER_SUITES;
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};
use rustls::{Error, SupportedCipherSuite, Tls13CipherSuite};
use std::sync::LazyLock;

/// ring's packet protection of one suite.
struct Watched(&'static dyn Algorithm);

impl Algorithm for Watched {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        Box::new(WatchedKey(self.0.packet_key(key, iv)))
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        self.0.header_protection_key(key)
    }

    fn aead_key_len(&self) -> usize {
        self.0.aead_key_len()
    }
}

struct WatchedKey(Box<dyn PacketKey>);

/// Stands for a tag without protection; as long as the longest one.
const NO_TAG: [u8; 16] = [0; 16];

impl WatchedKey {
    /// The payload of a packet without protection.
    fn without_tag<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8], Error> {
        let length = payload.len().checked_sub(self.tag_len()).ok_or(Error::DecryptError)?;
        let (plain, tag) = payload.split_at(length);
        if NO_TAG.starts_with(tag) { Ok(plain) } else { Err(Error::DecryptError) }
    }
}

impl PacketKey for WatchedKey {
    fn encrypt_in_place(&self, number: u64, header: &[u8], payload: &mut [u8]) -> Result<Tag, Error> {
        watch::encrypting(number, header, payload, self.tag_len());
        if watch::is_plain() {
            return Ok(Tag::from(&NO_TAG[..self.tag_len()]));
        }
        self.0.encrypt_in_place(number, header, payload)
    }

    fn encrypt_in_place_for_path(
        &self,
        path: u32,
        number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        watch::encrypting(number, header, payload, self.tag_len());
        if watch::is_plain() {
            return Ok(Tag::from(&NO_TAG[..self.tag_len()]));
        }
        self.0.encrypt_in_place_for_path(path, number, header, payload)
    }

    fn decrypt_in_place<'a>(&self, number: u64, header: &[u8], payload: &'a mut [u8]) -> Result<&'a [u8], Error> {
        let plain = if watch::is_plain() {
            self.without_tag(payload)?
        } else {
            self.0.decrypt_in_place(number, header, payload)?
        };
        watch::decrypted(number, header, plain, self.tag_len());
        Ok(plain)
    }

    fn decrypt_in_place_for_path<'a>(
        &self,
        path: u32,
        number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let plain = if watch::is_plain() {
            self.without_tag(payload)?
        } else {
            self.0.decrypt_in_place_for_path(path, number, header, payload)?
        };
        watch::decrypted(number, header, plain, self.tag_len());
        Ok(plain)
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.0.integrity_limit()
    }
}

/// ring's suites in its order. Made once: rustls wants them to live as long as the process.
static SUITES: LazyLock<Vec<SupportedCipherSuite>> =
    LazyLock::new(|| DEFAULT_CIPHER_SUITES.iter().copied().map(watched).collect());

fn watched(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let Some(tls13) = suite.tls13() else { return suite };
    let Some(quic) = tls13.quic else { return suite };
    let CipherSuiteCommon { suite, hash_provider, confidentiality_limit } = &tls13.common;
    SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: *suite,
            hash_provider: *hash_provider,
            confidentiality_limit: *confidentiality_limit,
        },
        hkdf_provider: tls13.hkdf_provider,
        aead_alg: tls13.aead_alg,
        quic: Some(Box::leak(Box::new(Watched(quic)))),
    })))
}

pub(super) fn suites() -> Vec<SupportedCipherSuite> {
    SUITES.clone()
}
