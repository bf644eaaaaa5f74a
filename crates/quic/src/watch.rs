//! What a stack does behind its encryption: frames of its packets, and what its congestion control is told.
//!
//! Packets are read in the cipher (`tls`), the congestion control is wrapped (`adapter`). Neither
//! has state of its own host, so a host lends its `Watch` to the thread for the time of one call, as it lends its
//! random stream. Watching changes no byte.

// A build without one of the stacks has nobody who calls all of this.
#![cfg_attr(not(all(feature = "quinn", feature = "noq")), allow(dead_code))]

use skyhop_base::Duration;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A piece of a stream in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub stream: u64,
    /// Its place in the stream, in bytes.
    pub begin: u64,
    pub bytes: u64,
}

/// A packet before its encryption, or after its decryption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plain {
    /// The packet number.
    pub number: u64,
    /// Header, frames and authentication tag, in bytes.
    pub length: usize,
    pub pieces: Vec<Piece>,
    /// Types of the frames, in order, each once. RFC 9000, section 19.
    pub frames: Vec<u64>,
}

impl Plain {
    /// RFC 9002, section 2: anything but ACK, PADDING and CONNECTION_CLOSE.
    pub fn is_ack_eliciting(&self) -> bool {
        self.frames.iter().any(|kind| !matches!(kind, 0x00 | 0x02 | 0x03 | 0x1C | 0x1D))
    }
}

/// What a host has seen since it looked last, and what it keeps up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// Packets that were encrypted.
    pub sent: Vec<Plain>,
    /// Packets that were decrypted.
    pub received: Vec<Plain>,
    /// From sending a packet to its acknowledgement, the delay of the acknowledgement included: one sample for each
    /// acknowledgement that the congestion control heard of.
    pub rtts: Vec<Duration>,
    /// What happened to the congestion window, as events of the records.
    pub events: Vec<&'static str>,
    /// Sent, and neither acknowledged nor declared lost, in bytes of UDP payload.
    pub in_flight: u64,
    pub totals: Totals,
    newest: Option<Duration>,
}

/// What a congestion control was told so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Reductions of the congestion window.
    pub cuts: u64,
    /// Loss detections with at least one lost packet.
    pub losses: u64,
    /// Losses over a whole period of persistent congestion (RFC 9002, section 7.6), which QUIC has for TCP's timeout.
    pub collapses: u64,
}

thread_local! {
    static LENT: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Runs `call` with `watch` seeing what it does.
#[cfg(feature = "tls")]
pub(crate) fn lend<T>(watch: &mut Watch, call: impl FnOnce() -> T) -> T {
    LENT.set(Some(std::mem::take(watch)));
    let result = call();
    if let Some(used) = LENT.take() {
        *watch = used;
    }
    result
}

fn with(note: impl FnOnce(&mut Watch)) {
    LENT.with_borrow_mut(|lent| lent.as_mut().map(note));
}

/// A packet is about to be encrypted.
pub(crate) fn encrypting(number: u64, header: &[u8], payload: &[u8], tag: usize) {
    with(|watch| {
        let plain = read(number, header.len() + payload.len() + tag, payload);
        if plain.is_ack_eliciting() {
            watch.in_flight += plain.length as u64;
        }
        watch.sent.push(plain);
    });
}

/// A packet was decrypted.
pub(crate) fn decrypted(number: u64, header: &[u8], payload: &[u8], tag: usize) {
    with(|watch| watch.received.push(read(number, header.len() + payload.len() + tag, payload)));
}

/// The congestion control hears of an acknowledged packet.
pub(crate) fn acked(bytes: u64, rtt: Duration) {
    with(|watch| {
        watch.in_flight = watch.in_flight.saturating_sub(bytes);
        // The packet sent last is the one whose time says something of the path (RFC 9002, section 5.1).
        watch.newest = Some(watch.newest.map_or(rtt, |newest| newest.min(rtt)));
    });
}

/// The congestion control hears the end of an acknowledgement.
pub(crate) fn end_of_acks(in_flight: u64) {
    with(|watch| {
        watch.in_flight = in_flight;
        watch.rtts.extend(watch.newest.take());
    });
}

/// The congestion control hears of lost packets or of congestion marks, with the window before and after.
pub(crate) fn congestion(lost_bytes: u64, persistent: bool, is_ecn: bool, [before, after]: [u64; 2]) {
    with(|watch| {
        watch.in_flight = watch.in_flight.saturating_sub(lost_bytes);
        watch.totals.losses += u64::from(!is_ecn);
        watch.totals.collapses += u64::from(persistent);
        if persistent {
            watch.events.push("persistent congestion");
        } else if after < before {
            watch.events.push(if is_ecn { "mark" } else { "loss" });
        }
        watch.totals.cuts += u64::from(after < before);
    });
}

/// The congestion control hears that packets were wrongly declared lost.
pub(crate) fn spurious() {
    with(|watch| watch.events.push("undo"));
}

/// Reads the frames of a packet, up to one of an extension that it does not know.
fn read(number: u64, length: usize, payload: &[u8]) -> Plain {
    let mut plain = Plain { number, length, ..Plain::default() };
    let mut reader = Reader { rest: payload };
    while let Some(kind) = reader.number() {
        if kind == 0 {
            // Padding comes in runs.
            let end = reader.rest.iter().position(|byte| *byte != 0).unwrap_or(reader.rest.len());
            reader.rest = &reader.rest[end..];
        }
        if !plain.frames.contains(&kind) {
            plain.frames.push(kind);
        }
        if reader.frame(kind, &mut plain.pieces).is_none() {
            break;
        }
    }
    plain
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    /// A variable-length integer: RFC 9000, section 16.
    fn number(&mut self) -> Option<u64> {
        let first = *self.rest.first()?;
        let length = 1 << (first >> 6);
        let bytes = self.rest.get(..length)?;
        self.rest = &self.rest[length..];
        Some(bytes[1..].iter().fold(u64::from(first & 0x3F), |value, byte| value << 8 | u64::from(*byte)))
    }

    fn numbers(&mut self, count: u64) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(|_| ()))
    }

    fn skip(&mut self, bytes: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    /// Reads the rest of a frame of this type. `None`: the type is unknown, or the packet ends within the frame.
    fn frame(&mut self, kind: u64, pieces: &mut Vec<Piece>) -> Option<()> {
        match kind {
            // PADDING, PING, HANDSHAKE_DONE; IMMEDIATE_ACK of draft-ietf-quic-ack-frequency.
            0x00 | 0x01 | 0x1E | 0x1F => Some(()),
            0x02 | 0x03 => {
                self.numbers(2)?;
                let ranges = self.number()?;
                self.numbers(1 + 2 * ranges)?;
                self.numbers(if kind == 0x03 { 3 } else { 0 })
            }
            // RESET_STREAM; STOP_SENDING; MAX_STREAM_DATA and STREAM_DATA_BLOCKED.
            0x04 => self.numbers(3),
            0x05 | 0x11 | 0x15 => self.numbers(2),
            0x06 => {
                self.number()?;
                let bytes = self.number()?;
                self.skip(bytes)
            }
            0x07 => {
                let bytes = self.number()?;
                self.skip(bytes)
            }
            0x08..=0x0F => {
                let stream = self.number()?;
                let begin = if kind & 0x04 == 0 { 0 } else { self.number()? };
                let bytes = if kind & 0x02 == 0 { self.rest.len() as u64 } else { self.number()? };
                self.skip(bytes)?;
                pieces.push(Piece { stream, begin, bytes });
                Some(())
            }
            // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => self.numbers(1),
            0x18 => {
                self.numbers(2)?;
                let length = u64::from(*self.rest.first()?);
                self.skip(1 + length + 16)
            }
            0x1A | 0x1B => self.skip(8),
            0x1C | 0x1D => {
                self.numbers(if kind == 0x1C { 2 } else { 1 })?;
                let bytes = self.number()?;
                self.skip(bytes)
            }
            // DATAGRAM of RFC 9221, to the end or with its length.
            0x30 => self.skip(self.rest.len() as u64),
            0x31 => {
                let bytes = self.number()?;
                self.skip(bytes)
            }
            // ACK_FREQUENCY of draft-ietf-quic-ack-frequency.
            0xAF => self.numbers(4),
            _ => None,
        }
    }
}

/// Bytes of streams that were seen before, stream by stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// Disjoint ranges, end by begin, of each stream.
    streams: BTreeMap<u64, BTreeMap<u64, u64>>,
    /// Bytes in them.
    total: u64,
}

impl Ranges {
    /// Takes a piece, and says how many of its bytes are new.
    pub fn add(&mut self, piece: &Piece) -> u64 {
        let ranges = self.streams.entry(piece.stream).or_default();
        let (mut begin, mut end) = (piece.begin, piece.begin.saturating_add(piece.bytes));
        let mut known = 0;
        // Ranges that touch the piece become one with it.
        while let Some((&from, &to)) = ranges.range(..=end).next_back().filter(|(_, to)| **to >= begin) {
            known += to.min(piece.begin + piece.bytes).saturating_sub(from.max(piece.begin));
            ranges.remove(&from);
            (begin, end) = (begin.min(from), end.max(to));
        }
        if end > begin {
            ranges.insert(begin, end);
        }
        let fresh = piece.bytes - known.min(piece.bytes);
        self.total += fresh;
        fresh
    }

    /// Bytes of all streams that were seen.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The memory that the ranges take, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.streams.values().map(|ranges| 32 + 32 * ranges.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_by_their_rfc() {
        // ACK of two ranges, MAX_DATA, STREAM 4 from 1000 with its length, PADDING, STREAM 8 to the end.
        let mut payload = vec![0x02, 0x05, 0x00, 0x01, 0x01, 0x00, 0x02];
        payload.extend([0x10, 0x44, 0x00]);
        payload.extend([0x0E, 0x04, 0x43, 0xE8, 0x03, 1, 2, 3]);
        payload.extend([0x00, 0x00, 0x00]);
        payload.extend([0x08, 0x08, 9, 9, 9, 9]);
        let plain = read(7, 60, &payload);
        assert_eq!(plain.frames, [0x02, 0x10, 0x0E, 0x00, 0x08]);
        let pieces = [Piece { stream: 4, begin: 1000, bytes: 3 }, Piece { stream: 8, begin: 0, bytes: 4 }];
        assert_eq!(plain.pieces, pieces);
        assert!(plain.is_ack_eliciting());
        assert!(!read(8, 30, &[0x02, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00]).is_ack_eliciting());
        // A packet that ends within a frame, and an unknown frame, end the reading and nothing else.
        assert_eq!(read(9, 30, &[0x0E, 0x04]).frames, [0x0E]);
        assert_eq!(read(9, 30, &[0x40, 0x99, 0x08, 0x00]).pieces, []);
    }

    #[test]
    fn bytes_are_new_once() {
        let mut seen = Ranges::default();
        let mut add = |begin, bytes| seen.add(&Piece { stream: 0, begin, bytes });
        assert_eq!(add(0, 100), 100);
        assert_eq!(add(200, 100), 100);
        assert_eq!(add(50, 200), 100, "100 to 200 is new");
        assert_eq!(add(0, 300), 0);
        assert_eq!(add(300, 10), 10);
        assert_eq!(add(400, 0), 0);
        assert_eq!(seen.streams[&0], BTreeMap::from([(0, 310)]));
    }
}
