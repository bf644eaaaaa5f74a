//! One end of a connection.

use crate::ffi;
use crate::streams::Streams;
use std::collections::VecDeque;
use std::ffi::{CString, c_int};
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What the endpoints of this process ask for and tell, on the thread that calls them.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// Random bytes.
    pub random: fn(&mut [u8]),
    /// Whether packets are left as they are, with a tag of zeros.
    pub is_plain: fn() -> bool,
    /// A packet is about to be encrypted: its number, its header, its frames, and bytes of its tag.
    pub sealing: fn(u64, &[u8], &[u8], usize),
    /// A packet was decrypted.
    pub opened: fn(u64, &[u8], &[u8], usize),
    /// A sample of the round-trip time in microseconds, less the delay that the peer says.
    pub rtt: fn(u64),
    /// What the congestion control was told, when in microseconds, and its window before and after in bytes.
    pub congestion: fn(Told, u64, [u64; 2]),
}

/// What a congestion control of picoquic's is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The packet of this number is lost.
    Loss { number: u64 },
    /// The same, by a timer.
    Timeout { number: u64 },
    /// The peer saw congestion marks.
    Mark,
    /// A packet that was declared lost has arrived.
    Spurious,
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Hooks that do nothing stand in until an endpoint is made, so that no callback finds none.
pub(crate) fn hooks() -> &'static Hooks {
    HOOKS.get_or_init(|| Hooks {
        random: |target| target.fill(0),
        is_plain: || false,
        sealing: |_, _, _, _| {},
        opened: |_, _, _, _| {},
        rtt: |_| {},
        congestion: |_, _, _| {},
    })
}

/// How an endpoint is set up; `None` leaves picoquic's default.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// picoquic's name of the congestion control.
    pub control: &'static str,
    /// Bytes that the receiver grants ahead on each stream. `None`: picoquic starts with 64 kB and widens.
    pub stream_window: Option<u64>,
    /// The same of all streams together. `None`: 1 MB, and wider as data come.
    pub connection_window: Option<u64>,
    /// Bytes in flight at most, whatever the congestion control lets out. `None`: no limit.
    pub send_window: Option<u64>,
    /// Bidirectional streams that the peer may open.
    pub streams: Option<u32>,
    pub idle_timeout_ms: u64,
    /// Round-trip time in microseconds and window in bytes that an earlier connection has measured.
    pub seed: Option<(u64, u64)>,
    /// Bytes of a full datagram without the headers of IP and UDP, 1200 to 1508.
    pub udp_payload: u16,
    /// Whether it takes DATAGRAM frames (RFC 9221).
    pub datagrams: bool,
}

/// What a server shows.
#[derive(Clone, Copy)]
pub struct Identity<'a> {
    /// X.509, DER.
    pub certificate: &'a [u8],
    /// The private key of P-256.
    pub key: &'a [u8; 32],
}

/// What picoquic says of its connection. Times in microseconds, sizes in bytes, rates in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measures {
    pub cwnd: u64,
    pub in_flight: u64,
    pub smoothed_rtt: u64,
    pub min_rtt: Option<u64>,
    pub bandwidth: Option<u64>,
    pub pacing_rate: Option<u64>,
    pub sent_packets: u64,
    pub lost_packets: u64,
    pub spurious: u64,
    /// Only NewReno tells it.
    pub ssthresh: Option<u64>,
    /// The two bits of the IP header that the control wants: 2 is ECT(0), 1 is ECT(1).
    pub ecn: u8,
}

/// What C calls back about.
pub(crate) struct State {
    pub streams: Streams,
    /// Data of DATAGRAM frames that nobody has read.
    pub datagrams: VecDeque<Vec<u8>>,
    /// One has come since [`Endpoint::take_changed`].
    pub has_new_datagrams: bool,
    pub is_ready: bool,
    pub closed: Option<String>,
}

/// One end of at most one connection. Times are microseconds since the start of the simulation.
pub struct Endpoint {
    raw: NonNull<ffi::Raw>,
    /// From a box. Calls of C may change it, so no reference to it outlives a call.
    state: NonNull<State>,
    /// Streams whose end picoquic has, and which are not acknowledged.
    pending: Vec<u64>,
    has_told_ready: bool,
    has_told_closed: bool,
}

// SAFETY: picoquic keeps nothing for a thread but the generator that each call starts anew, and an endpoint is called
// through `&mut self` only.
unsafe impl Send for Endpoint {}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("pending", &self.pending).finish_non_exhaustive()
    }
}

/// picoquic's tables of controls and ciphers are made once.
static INITIALISED: Mutex<bool> = Mutex::new(false);

impl Endpoint {
    /// A client without `identity`, a server with it. All endpoints of a process share their `hooks`: the first call
    /// sets them.
    ///
    /// # Errors
    /// picoquic's words.
    pub fn new(settings: &Settings, identity: Option<Identity<'_>>, hooks: Hooks) -> Result<Endpoint, String> {
        HOOKS.get_or_init(|| hooks);
        {
            let mut done = INITIALISED.lock().unwrap_or_else(PoisonError::into_inner);
            if !*done {
                // SAFETY: nobody else is in C: every endpoint is made after this.
                unsafe { ffi::skyhop_initialize() };
                *done = true;
            }
        }
        let control = CString::new(settings.control).map_err(|error| error.to_string())?;
        let state = State {
            streams: Streams::new(identity.is_some()),
            datagrams: VecDeque::new(),
            has_new_datagrams: false,
            is_ready: false,
            closed: None,
        };
        let state = Box::into_raw(Box::new(state));
        let (seed_rtt, seed_window) = settings.seed.unwrap_or_default();
        let flat = ffi::Settings {
            control: control.as_ptr(),
            stream_window: settings.stream_window.unwrap_or(0),
            connection_window: settings.connection_window.unwrap_or(0),
            send_window: settings.send_window.unwrap_or(0),
            streams: settings.streams.map_or(0, u64::from),
            idle_timeout_ms: settings.idle_timeout_ms,
            seed_rtt,
            seed_window,
            udp_payload: u32::from(settings.udp_payload),
            is_server: c_int::from(identity.is_some()),
            datagrams: c_int::from(settings.datagrams),
        };
        let (certificate, key) = identity.map_or((&[][..], [0; 32]), |shown| (shown.certificate, *shown.key));
        let mut words = [0; 256];
        // SAFETY: all pointers lead to what lives during the call; C copies the certificate and the key, and keeps
        // `state`, which lives as long as the endpoint. The name of the control is used within the call only.
        let raw = unsafe {
            ffi::skyhop_new(
                &flat,
                certificate.as_ptr(),
                certificate.len(),
                key.as_ptr(),
                state.cast(),
                words.as_mut_ptr(),
                words.len(),
            )
        };
        match (NonNull::new(raw), NonNull::new(state)) {
            (Some(raw), Some(state)) => {
                Ok(Endpoint { raw, state, pending: Vec::new(), has_told_ready: false, has_told_closed: false })
            }
            _ => {
                // SAFETY: no endpoint was made, so C holds no copy of the pointer.
                drop(unsafe { Box::from_raw(state) });
                // SAFETY: the shim ends its words with a zero.
                Err(unsafe { ffi::text(words.as_ptr()) })
            }
        }
    }

    /// The state between two calls of C.
    fn state(&mut self) -> &mut State {
        // SAFETY: it lives as long as the endpoint, and no call of C runs while `self` is borrowed here.
        unsafe { self.state.as_mut() }
    }

    fn words(&self) -> String {
        // SAFETY: a living endpoint.
        let words = unsafe { ffi::skyhop_words(self.raw.as_ptr()) };
        // SAFETY: the endpoint's own buffer, which ends with a zero.
        unsafe { ffi::text(words) }
    }

    fn checked(&self, result: c_int) -> Result<(), String> {
        if result == 0 { Ok(()) } else { Err(self.words()) }
    }

    /// # Errors
    /// picoquic's words.
    pub fn connect(&mut self, now: u64, server_name: &str) -> Result<(), String> {
        let name = CString::new(server_name).map_err(|error| error.to_string())?;
        // SAFETY: a living endpoint; picoquic copies the name.
        let result = unsafe { ffi::skyhop_connect(self.raw.as_ptr(), now, name.as_ptr()) };
        self.checked(result)
    }

    /// `ecn`: the two bits of the IP header. picoquic decrypts in place.
    ///
    /// # Errors
    /// The words of an assertion that failed.
    pub fn receive(&mut self, now: u64, datagram: &mut [u8], ecn: u8) -> Result<(), String> {
        // SAFETY: a living endpoint, and a buffer of this length that nobody else looks at.
        let result = unsafe { ffi::skyhop_receive(self.raw.as_ptr(), now, datagram.as_mut_ptr(), datagram.len(), ecn) };
        self.checked(result)
    }

    /// The next datagrams into `buffer`, at least one full datagram long: bytes in all, and of each but the last.
    ///
    /// # Errors
    /// picoquic's words.
    pub fn transmit(&mut self, now: u64, buffer: &mut [u8]) -> Result<Option<(usize, usize)>, String> {
        let (mut length, mut segment) = (0, 0);
        // SAFETY: a living endpoint, and a buffer of this length that nobody else looks at.
        let result = unsafe {
            ffi::skyhop_transmit(self.raw.as_ptr(), now, buffer.as_mut_ptr(), buffer.len(), &mut length, &mut segment)
        };
        self.checked(result)?;
        Ok((length > 0).then_some((length, segment)))
    }

    /// When the endpoint wants [`Endpoint::transmit`] to be called, even if it has been.
    pub fn wake(&self) -> Option<u64> {
        // SAFETY: a living endpoint.
        let wake = unsafe { ffi::skyhop_wake(self.raw.as_ptr()) };
        (wake < u64::MAX).then_some(wake)
    }

    /// Whether the handshake has completed; true once.
    pub fn take_connected(&mut self) -> bool {
        let is_new = self.state().is_ready && !self.has_told_ready;
        self.has_told_ready |= is_new;
        is_new
    }

    /// Whether a stream can be read, or written again after it was full, or a DATAGRAM frame has come.
    pub fn take_changed(&mut self) -> bool {
        let has_datagrams = std::mem::take(&mut self.state().has_new_datagrams);
        self.state().streams.take_changed() || has_datagrams
    }

    /// A stream all of whose data the peer has acknowledged.
    pub fn take_delivered(&mut self) -> Option<u64> {
        let raw = self.raw.as_ptr();
        // SAFETY: a living endpoint; C only looks.
        let is_delivered = |stream: u64| unsafe { ffi::skyhop_is_delivered(raw, stream) } != 0;
        // SAFETY: as in `state`; `self.pending` is another field.
        let streams = unsafe { &self.state.as_ref().streams };
        let place = self.pending.iter().position(|stream| streams.is_ended(*stream) && is_delivered(*stream))?;
        let stream = self.pending.remove(place);
        self.state().streams.forget(stream);
        Some(stream)
    }

    /// Why the connection ended; told once.
    pub fn take_closed(&mut self) -> Option<String> {
        if self.has_told_closed {
            return None;
        }
        let words = self.state().closed.clone()?;
        self.has_told_closed = true;
        Some(words)
    }

    /// A new bidirectional stream; `None` while the peer allows no more.
    pub fn open(&mut self) -> Option<u64> {
        let mut stream = 0;
        // SAFETY: a living endpoint.
        let result = unsafe { ffi::skyhop_open(self.raw.as_ptr(), &mut stream) };
        (result == 0).then_some(stream)
    }

    /// The next stream that the peer opened.
    pub fn accept(&mut self) -> Option<u64> {
        self.state().streams.accept()
    }

    /// Takes what there is room for, and says how many bytes that were.
    ///
    /// # Errors
    /// picoquic's words.
    pub fn write(&mut self, now: u64, stream: u64, bytes: &[u8]) -> Result<usize, String> {
        let count = self.state().streams.write(stream, bytes);
        if count > 0 {
            self.offer(now, stream)?;
        }
        Ok(count)
    }

    /// No more data for this stream.
    ///
    /// # Errors
    /// picoquic's words.
    pub fn finish(&mut self, now: u64, stream: u64) -> Result<(), String> {
        if self.state().streams.finish(stream) {
            self.pending.push(stream);
            self.offer(now, stream)?;
        }
        Ok(())
    }

    fn offer(&mut self, now: u64, stream: u64) -> Result<(), String> {
        // SAFETY: a living endpoint.
        let result = unsafe { ffi::skyhop_offer(self.raw.as_ptr(), now, stream) };
        self.checked(result)
    }

    /// Reads at most `limit` bytes in order: how many, whether the stream is at its end, and whether there is credit
    /// to send because of it.
    ///
    /// # Errors
    /// The words of an assertion that failed.
    pub fn read(
        &mut self,
        now: u64,
        stream: u64,
        limit: usize,
        keep: Option<&mut Vec<u8>>,
    ) -> Result<(usize, bool, bool), String> {
        let (bytes, is_end) = self.state().streams.read(stream, limit, keep);
        let mut moved = 0;
        if bytes > 0 {
            // SAFETY: a living endpoint.
            let result = unsafe { ffi::skyhop_consumed(self.raw.as_ptr(), now, stream, &mut moved) };
            self.checked(result)?;
        }
        Ok((bytes, is_end, moved != 0))
    }

    /// Queues a DATAGRAM frame with these bytes.
    ///
    /// # Errors
    /// picoquic's words.
    pub fn send_datagram(&mut self, now: u64, bytes: &[u8]) -> Result<(), String> {
        // SAFETY: a living endpoint; picoquic copies the bytes.
        let result = unsafe { ffi::skyhop_send_datagram(self.raw.as_ptr(), now, bytes.as_ptr(), bytes.len()) };
        self.checked(result)
    }

    /// The data of the next DATAGRAM frame that has come.
    pub fn receive_datagram(&mut self) -> Option<Vec<u8>> {
        self.state().datagrams.pop_front()
    }

    /// # Errors
    /// The words of an assertion that failed.
    pub fn close(&mut self, now: u64) -> Result<(), String> {
        // SAFETY: a living endpoint.
        let result = unsafe { ffi::skyhop_close(self.raw.as_ptr(), now) };
        self.checked(result)
    }

    /// For tests: an assertion of the C code fails at the next data of a stream that picoquic takes.
    #[doc(hidden)]
    pub fn fail(&mut self) {
        // SAFETY: a living endpoint.
        unsafe { ffi::skyhop_fail(self.raw.as_ptr()) };
    }

    /// Whether all is over, the answer to the peer's last packet included.
    pub fn is_drained(&self) -> bool {
        // SAFETY: a living endpoint.
        unsafe { ffi::skyhop_is_drained(self.raw.as_ptr()) != 0 }
    }

    pub fn measures(&self) -> Measures {
        let mut said = ffi::Measures::default();
        // SAFETY: a living endpoint.
        unsafe { ffi::skyhop_measure(self.raw.as_ptr(), &mut said) };
        let known = |value: u64| (value > 0).then_some(value);
        Measures {
            cwnd: said.cwnd,
            in_flight: said.in_flight,
            smoothed_rtt: said.smoothed_rtt,
            min_rtt: (said.min_rtt < u64::MAX).then_some(said.min_rtt),
            bandwidth: known(said.bandwidth),
            pacing_rate: known(said.pacing_rate),
            sent_packets: said.sent_packets,
            lost_packets: said.lost_packets,
            spurious: said.spurious,
            ssthresh: known(said.ssthresh),
            ecn: said.ecn,
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // SAFETY: nobody calls it any more.
        unsafe { ffi::skyhop_free(self.raw.as_ptr()) };
        // SAFETY: from a box, and C, which had the only other pointer, is gone.
        drop(unsafe { Box::from_raw(self.state.as_ptr()) });
    }
}
