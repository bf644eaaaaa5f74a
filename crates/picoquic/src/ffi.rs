//! The C functions of `shim/shim.h`, and those that they call back.

use crate::endpoint::{State, hooks};
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey, quic};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Bytes of the authentication tag of AES-GCM.
const TAG: usize = 16;
/// Bytes of its nonce.
const NONCE: usize = 12;
/// Bytes of a sealed packet from which the mask of its header is made (RFC 9001, section 5.4.2).
const SAMPLE: usize = 16;
/// Set in the first byte of every QUIC packet (RFC 9000, section 17). Tickets and tokens are sealed with other data.
const FIXED_BIT: u8 = 0x40;

/// An endpoint in C.
#[repr(C)]
pub struct Raw {
    _private: [u8; 0],
}

#[repr(C)]
pub struct Settings {
    pub control: *const c_char,
    pub stream_window: u64,
    pub connection_window: u64,
    pub send_window: u64,
    pub streams: u64,
    pub idle_timeout_ms: u64,
    pub seed_rtt: u64,
    pub seed_window: u64,
    pub udp_payload: u32,
    pub is_server: c_int,
    pub datagrams: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Measures {
    pub cwnd: u64,
    pub in_flight: u64,
    pub smoothed_rtt: u64,
    pub min_rtt: u64,
    pub bandwidth: u64,
    pub pacing_rate: u64,
    pub sent_packets: u64,
    pub lost_packets: u64,
    pub spurious: u64,
    pub ssthresh: u64,
    pub ecn: u8,
    pub is_connected: u8,
}

unsafe extern "C" {
    pub fn skyhop_initialize();
    pub fn skyhop_new(
        settings: *const Settings,
        certificate: *const u8,
        certificate_length: usize,
        key: *const u8,
        owner: *mut c_void,
        words: *mut c_char,
        words_length: usize,
    ) -> *mut Raw;
    pub fn skyhop_free(endpoint: *mut Raw);
    pub fn skyhop_connect(endpoint: *mut Raw, now: u64, server_name: *const c_char) -> c_int;
    pub fn skyhop_receive(endpoint: *mut Raw, now: u64, bytes: *mut u8, length: usize, ecn: u8) -> c_int;
    pub fn skyhop_transmit(
        endpoint: *mut Raw,
        now: u64,
        bytes: *mut u8,
        capacity: usize,
        length: *mut usize,
        segment: *mut usize,
    ) -> c_int;
    pub fn skyhop_wake(endpoint: *mut Raw) -> u64;
    pub fn skyhop_open(endpoint: *mut Raw, stream: *mut u64) -> c_int;
    pub fn skyhop_offer(endpoint: *mut Raw, now: u64, stream: u64) -> c_int;
    pub fn skyhop_is_delivered(endpoint: *mut Raw, stream: u64) -> c_int;
    pub fn skyhop_consumed(endpoint: *mut Raw, now: u64, stream: u64, moved: *mut c_int) -> c_int;
    pub fn skyhop_send_datagram(endpoint: *mut Raw, now: u64, bytes: *const u8, length: usize) -> c_int;
    pub fn skyhop_close(endpoint: *mut Raw, now: u64) -> c_int;
    pub fn skyhop_fail(endpoint: *mut Raw);
    pub fn skyhop_is_drained(endpoint: *const Raw) -> c_int;
    pub fn skyhop_measure(endpoint: *mut Raw, measures: *mut Measures);
    pub fn skyhop_words(endpoint: *const Raw) -> *const c_char;
}

/// The C string at `words`, as text.
///
/// # Safety
/// `words` is a C string, which nobody changes meanwhile.
pub unsafe fn text(words: *const c_char) -> String {
    // SAFETY: the caller says so.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

/// `length` bytes at `bytes`, which C may give as a null pointer where there are none.
///
/// # Safety
/// They are initialised, and nobody writes to them while the slice lives.
unsafe fn slice<'a>(bytes: *const u8, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(bytes, length) }
}

/// [`slice`] to write to.
///
/// # Safety
/// They are initialised, and nobody else looks at them while the slice lives.
unsafe fn slice_mut<'a>(bytes: *mut u8, length: usize) -> &'a mut [u8] {
    if length == 0 {
        return &mut [];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts_mut(bytes, length) }
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_random(bytes: *mut u8, length: usize) {
    // SAFETY: the shim and picotls give a buffer of their own for each call, of this length.
    let target = unsafe { slice_mut(bytes, length) };
    (hooks().random)(target);
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_key(key: *const u8, length: usize) -> *mut c_void {
    // SAFETY: picotls gives a key of the algorithm's size, which nobody writes to during the call.
    let bytes = unsafe { slice(key, length) };
    let algorithm = if length == 16 { &AES_128_GCM } else { &AES_256_GCM };
    match UnboundKey::new(algorithm, bytes) {
        Ok(key) => Box::into_raw(Box::new(LessSafeKey::new(key))).cast(),
        Err(_) => std::ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_key_free(key: *mut c_void) {
    if !key.is_null() {
        // SAFETY: it comes from `skyhop_rs_key`, and picotls disposes of a context once.
        drop(unsafe { Box::from_raw(key.cast::<LessSafeKey>()) });
    }
}

/// Seals in place the `length` bytes, behind which there is room for the tag.
#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_seal(
    key: *const c_void,
    nonce: *const u8,
    number: u64,
    header: *const u8,
    header_length: usize,
    bytes: *mut u8,
    length: usize,
) {
    // SAFETY: the key of a context that has not been disposed of.
    let key = unsafe { &*key.cast::<LessSafeKey>() };
    // SAFETY: the shim's own array.
    let nonce = unsafe { &*nonce.cast::<[u8; NONCE]>() };
    // SAFETY: the data that picoquic authenticates; they lie before those that are sealed.
    let header = unsafe { slice(header, header_length) };
    // SAFETY: the shim's output buffer, which holds the plain text.
    let payload = unsafe { slice_mut(bytes, length) };
    if header.first().is_some_and(|first| first & FIXED_BIT != 0) {
        (hooks().sealing)(number, header, payload, TAG);
    }
    let tag = if (hooks().is_plain)() {
        [0; TAG]
    } else {
        let sealed = key.seal_in_place_separate_tag(Nonce::assume_unique_for_key(*nonce), Aad::from(header), payload);
        // ring refuses only what is longer than 64 GB. Without a tag the peer drops the packet.
        sealed.map_or([0; TAG], |tag| std::array::from_fn(|i| tag.as_ref()[i]))
    };
    // SAFETY: picotls' interface has room for the tag behind the sealed bytes.
    let place = unsafe { bytes.add(length) };
    // SAFETY: the same; a local array does not overlap it.
    unsafe { place.copy_from_nonoverlapping(tag.as_ptr(), TAG) };
}

/// Opens in place `length` bytes, tag included.
#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_open(
    key: *const c_void,
    nonce: *const u8,
    number: u64,
    header: *const u8,
    header_length: usize,
    bytes: *mut u8,
    length: usize,
) -> c_int {
    // SAFETY: the key of a context that has not been disposed of.
    let key = unsafe { &*key.cast::<LessSafeKey>() };
    // SAFETY: the shim's own array.
    let nonce = unsafe { &*nonce.cast::<[u8; NONCE]>() };
    // SAFETY: the data that picoquic authenticates, which nobody writes to during the call.
    let header = unsafe { slice(header, header_length) };
    // SAFETY: the shim's own copy of the packet.
    let sealed = unsafe { slice_mut(bytes, length) };
    let payload = if (hooks().is_plain)() {
        let (payload, tag) = sealed.split_at(sealed.len().saturating_sub(TAG));
        if tag != [0; TAG] {
            return 0;
        }
        payload
    } else {
        match key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(header), sealed) {
            Ok(payload) => payload,
            Err(_) => return 0,
        }
    };
    if header.first().is_some_and(|first| first & FIXED_BIT != 0) {
        (hooks().opened)(number, header, payload, TAG);
    }
    1
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_mask_key(key: *const u8, length: usize) -> *mut c_void {
    // SAFETY: picotls gives a key of the algorithm's size, which nobody writes to during the call.
    let bytes = unsafe { slice(key, length) };
    let algorithm = if length == 16 { &quic::AES_128 } else { &quic::AES_256 };
    match quic::HeaderProtectionKey::new(algorithm, bytes) {
        Ok(key) => Box::into_raw(Box::new(key)).cast(),
        Err(_) => std::ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_mask_key_free(key: *mut c_void) {
    if !key.is_null() {
        // SAFETY: it comes from `skyhop_rs_mask_key`, and picotls disposes of a context once.
        drop(unsafe { Box::from_raw(key.cast::<quic::HeaderProtectionKey>()) });
    }
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_mask(key: *const c_void, sample: *const u8, mask: *mut u8) {
    // SAFETY: the key of a context that has not been disposed of.
    let key = unsafe { &*key.cast::<quic::HeaderProtectionKey>() };
    // SAFETY: the sample of the shim's context, which has this length.
    let sample = unsafe { slice(sample, SAMPLE) };
    // ring refuses samples of another length only.
    let found = key.new_mask(sample).unwrap_or_default();
    // SAFETY: an array of the shim's of five bytes; a local array does not overlap it.
    unsafe { mask.copy_from_nonoverlapping(found.as_ptr(), found.len()) };
}

/// The state behind `owner`.
///
/// # Safety
/// `owner` is the one that the endpoint was made with, and the endpoint is within a call: then nobody else has a
/// reference to the state.
unsafe fn state<'a>(owner: *mut c_void) -> &'a mut State {
    // SAFETY: the caller says so. The state lives as long as its endpoint.
    unsafe { &mut *owner.cast::<State>() }
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_data(owner: *mut c_void, stream: u64, bytes: *const u8, length: usize, is_end: c_int) {
    // SAFETY: picoquic's buffer, which it keeps unchanged during the callback.
    let bytes = unsafe { slice(bytes, length) };
    // SAFETY: the shim calls within a call of the endpoint.
    unsafe { state(owner) }.streams.arrived(stream, bytes, is_end != 0);
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_offered(
    owner: *mut c_void,
    stream: u64,
    most: usize,
    is_end: *mut c_int,
    is_more: *mut c_int,
) -> usize {
    // SAFETY: the shim calls within a call of the endpoint.
    let offer = unsafe { state(owner) }.streams.offered(stream, most);
    // SAFETY: a variable of the shim's.
    unsafe { *is_end = c_int::from(offer.is_end) };
    // SAFETY: another one.
    unsafe { *is_more = c_int::from(offer.is_more) };
    offer.bytes
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_fill(owner: *mut c_void, stream: u64, bytes: *mut u8, length: usize) {
    // SAFETY: the place in the packet that picoquic has given for these bytes.
    let target = unsafe { slice_mut(bytes, length) };
    // SAFETY: the shim calls within a call of the endpoint.
    unsafe { state(owner) }.streams.take(stream, target);
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_datagram(owner: *mut c_void, bytes: *const u8, length: usize) {
    // SAFETY: picoquic's buffer, which it keeps unchanged during the callback.
    let bytes = unsafe { slice(bytes, length) };
    // SAFETY: the shim calls within a call of the endpoint.
    let state = unsafe { state(owner) };
    state.datagrams.push_back(bytes.to_vec());
    state.has_new_datagrams = true;
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_ready(owner: *mut c_void) {
    // SAFETY: the shim calls within a call of the endpoint.
    unsafe { state(owner) }.is_ready = true;
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_closed(owner: *mut c_void, words: *const c_char) {
    // SAFETY: the shim's own buffer.
    let words = unsafe { text(words) };
    // SAFETY: the shim calls within a call of the endpoint.
    unsafe { state(owner) }.closed.get_or_insert(words);
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_rtt(_owner: *mut c_void, rtt: u64) {
    (hooks().rtt)(rtt);
}

#[unsafe(no_mangle)]
extern "C" fn skyhop_rs_congestion(_owner: *mut c_void, kind: c_int, number: u64, now: u64, before: u64, after: u64) {
    use crate::endpoint::Told;
    let told = match kind {
        0 => Told::Loss { number },
        1 => Told::Timeout { number },
        2 => Told::Mark,
        _ => Told::Spurious,
    };
    (hooks().congestion)(told, now, [before, after]);
}
