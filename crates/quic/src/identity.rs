//! What every simulated server shows: one certificate, self-signed, ECDSA P-256, for `localhost`.

/// Valid until 2126; made with OpenSSL for this project and used for nothing else.
pub(crate) const CERTIFICATE: &[u8] = include_bytes!("tls/certificate.der");
/// The private key to it, PKCS #8. It protects nothing: both ends run in one process.
pub(crate) const KEY: &[u8] = include_bytes!("tls/key.der");
/// The name that the client asks for.
pub(crate) const SERVER_NAME: &str = "localhost";

/// The key's number alone: in its DER, version 1 and 32 bytes of an octet string (RFC 5915, section 3).
#[cfg(feature = "picoquic")]
pub(crate) fn private_scalar() -> [u8; 32] {
    const BEFORE: [u8; 5] = [0x02, 0x01, 0x01, 0x04, 0x20];
    let place = KEY.windows(BEFORE.len()).position(|bytes| bytes == BEFORE).map(|place| place + BEFORE.len());
    std::array::from_fn(|i| place.and_then(|place| KEY.get(place + i)).copied().unwrap_or(0))
}

#[cfg(all(test, feature = "picoquic"))]
mod tests {
    #[test]
    fn the_keys_number_is_found() {
        let scalar = super::private_scalar();
        assert!(super::KEY.windows(32).any(|bytes| bytes == scalar));
        assert!(scalar.iter().filter(|byte| **byte == 0).count() < 4, "{scalar:?}");
    }
}
