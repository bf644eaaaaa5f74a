//! What a stack does behind its encryption: frames of its packets, and what its congestion control is told.
//!
//! Packets are read in the cipher (`tls`), the congestion control is wrapped (`adapter`). Neither
//! has state of its own host, so a host lends its `Watch` to the thread for the time of one call, as it lends its
//! random stream. Watching changes no byte.

// A build without one of the stacks has nobody who calls all of this.
#![cfg_attr(not(all(feature = "quinn", feature = "noq", feature = "picoquic")), allow(dead_code))]

use crate::messages;
use skyhop_base::Duration;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Packet numbers that it acknowledges: ranges that include both ends, the highest first.
    pub acked: Vec<(u64, u64)>,
    pub kind: PacketKind,
    /// Frames `DATA_BLOCKED` and `STREAM_DATA_BLOCKED` in it.
    pub data_blocked: u64,
    /// Numbers of the messages in its DATAGRAM frames, and their bytes.
    pub messages: Vec<u32>,
    pub message_bytes: u64,
}

/// The type of a packet: RFC 9000, section 17.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketKind {
    #[default]
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
    /// With a short header: everything after the handshake.
    OneRtt,
}

impl PacketKind {
    fn of(first_byte: u8) -> PacketKind {
        match (first_byte & 0x80, (first_byte & 0x30) >> 4) {
            (0, _) => PacketKind::OneRtt,
            (_, 0) => PacketKind::Initial,
            (_, 1) => PacketKind::ZeroRtt,
            (_, 2) => PacketKind::Handshake,
            _ => PacketKind::Retry,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            PacketKind::Initial => "initial",
            PacketKind::ZeroRtt => "0rtt",
            PacketKind::Handshake => "handshake",
            PacketKind::Retry => "retry",
            PacketKind::OneRtt => "1rtt",
        }
    }
}

impl Plain {
    pub fn is_1rtt(&self) -> bool {
        self.kind == PacketKind::OneRtt
    }

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
    /// Packets are not encrypted: [`crate::Config::packet_protection`].
    pub is_plain: bool,
    /// Sent, and neither acknowledged nor declared lost, in bytes of UDP payload.
    pub in_flight: u64,
    pub totals: Totals,
    /// Numbers of packets with application data that the stack declared lost.
    pub lost: Vec<u64>,
    /// Lengths of such packets that are neither acknowledged nor declared lost, by number.
    outstanding: BTreeMap<u64, u64>,
    /// Such packets that were declared lost and that no acknowledgement has named.
    missing: BTreeSet<u64>,
    newest: Option<Duration>,
    /// When a stack that tells of each lost packet did so last, in its own unit.
    detected: Option<u64>,
}

impl Watch {
    /// `protects`: packets are encrypted.
    #[cfg(feature = "entropy")]
    pub fn new(protects: bool) -> Watch {
        let totals = Totals { spurious: Some(0), ..Totals::default() };
        Watch { is_plain: !protects, totals, ..Watch::default() }
    }

    /// The lowest number of a packet with application data that is neither acknowledged nor declared lost.
    pub fn oldest_outstanding(&self) -> Option<u64> {
        self.outstanding.first_key_value().map(|(&number, _)| number)
    }
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
    /// Packets that the stack declared lost and that its peer acknowledged afterwards. `None`: nobody watches.
    pub spurious: Option<u64>,
}

thread_local! {
    static LENT: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Runs `call` with `watch` seeing what it does.
#[cfg(feature = "entropy")]
pub(crate) fn lend<T>(watch: &mut Watch, call: impl FnOnce() -> T) -> T {
    LENT.set(Some(std::mem::take(watch)));
    let result = call();
    if let Some(used) = LENT.take() {
        *watch = used;
    }
    result
}

/// Whether the endpoint that is being called leaves its packets as they are.
#[cfg(feature = "entropy")]
pub(crate) fn is_plain() -> bool {
    LENT.with_borrow(|lent| lent.as_ref().is_some_and(|watch| watch.is_plain))
}

fn with(note: impl FnOnce(&mut Watch)) {
    LENT.with_borrow_mut(|lent| lent.as_mut().map(note));
}

/// A packet is about to be encrypted.
pub(crate) fn encrypting(number: u64, header: &[u8], payload: &[u8], tag: usize) {
    with(|watch| {
        let plain = read(number, header, payload, tag);
        if plain.is_ack_eliciting() {
            watch.in_flight += plain.length as u64;
            if plain.is_1rtt() {
                watch.outstanding.insert(number, plain.length as u64);
            }
        }
        watch.sent.push(plain);
    });
}

/// A packet was decrypted.
pub(crate) fn decrypted(number: u64, header: &[u8], payload: &[u8], tag: usize) {
    with(|watch| {
        let plain = read(number, header, payload, tag);
        for &(first, last) in plain.acked.iter().filter(|_| plain.is_1rtt()) {
            while let Some((&number, _)) = watch.outstanding.range(first..=last).next() {
                watch.outstanding.remove(&number);
            }
            while let Some(&number) = watch.missing.range(first..=last).next() {
                watch.missing.remove(&number);
                *watch.totals.spurious.get_or_insert(0) += 1;
            }
        }
        watch.received.push(plain);
    });
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

/// A stack that names the packets it declares lost has named one.
pub(crate) fn lost(number: u64) {
    with(|watch| {
        // Numbers of the handshake count for themselves.
        if watch.outstanding.remove(&number).is_some() {
            watch.missing.insert(number);
            watch.lost.push(number);
        }
    });
}

/// A stack that tells its control of each lost packet, one by one, has told of one: at `now` in its own unit, with the
/// window before and after. Packets of one instant are one detection.
pub(crate) fn lost_packet(number: u64, now: u64, by_timer: bool, windows: [u64; 2]) {
    let mut is_new = false;
    with(|watch| is_new = watch.detected.replace(now) != Some(now));
    let is_cut = windows[1] < windows[0];
    if is_new || is_cut {
        congestion(0, by_timer && is_cut, false, windows);
    }
    if !is_new && is_cut {
        with(|watch| watch.totals.losses -= 1);
    }
    lost(number);
}

/// A stack has measured the round-trip time.
pub(crate) fn rtt(rtt: Duration) {
    with(|watch| watch.rtts.push(rtt));
}

/// A stack that names no packets has declared so many bytes lost. Both rules of RFC 9002, section 6.1, take the oldest
/// packets first, so they are the first ones that add up to as many bytes. Where none do, it was a packet of the
/// handshake.
pub(crate) fn lost_bytes(bytes: u64) {
    with(|watch| {
        let mut sum = 0;
        let oldest = watch.outstanding.iter().take_while(|(_, length)| {
            let belongs = sum < bytes;
            sum += if belongs { **length } else { 0 };
            belongs
        });
        let numbers: Vec<u64> = oldest.map(|(&number, _)| number).collect();
        if sum == bytes {
            numbers.iter().for_each(|number| {
                watch.outstanding.remove(number);
            });
            watch.missing.extend(&numbers);
            watch.lost.extend(numbers);
        }
    });
}

/// The congestion control hears that packets were wrongly declared lost.
pub(crate) fn spurious() {
    with(|watch| watch.events.push("undo"));
}

/// Reads the frames of a packet, up to one of an extension that it does not know.
fn read(number: u64, header: &[u8], payload: &[u8], tag: usize) -> Plain {
    let kind = header.first().map_or(PacketKind::default(), |&first| PacketKind::of(first));
    let length = header.len() + payload.len() + tag;
    let mut plain = Plain { number, length, kind, ..Plain::default() };
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
        if reader.frame(kind, &mut plain).is_none() {
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
    fn frame(&mut self, kind: u64, plain: &mut Plain) -> Option<()> {
        match kind {
            // PADDING, PING, HANDSHAKE_DONE; IMMEDIATE_ACK of draft-ietf-quic-ack-frequency.
            0x00 | 0x01 | 0x1E | 0x1F => Some(()),
            0x02 | 0x03 => {
                let mut last = self.number()?;
                // The delay.
                self.number()?;
                let more = self.number()?;
                // RFC 9000, section 19.3.1: lengths and gaps, each less one, from the largest number down.
                let mut first = last.checked_sub(self.number()?)?;
                plain.acked.push((first, last));
                for _ in 0..more {
                    last = first.checked_sub(self.number()?.checked_add(2)?)?;
                    first = last.checked_sub(self.number()?)?;
                    plain.acked.push((first, last));
                }
                self.numbers(if kind == 0x03 { 3 } else { 0 })
            }
            // RESET_STREAM; STOP_SENDING and MAX_STREAM_DATA.
            0x04 => self.numbers(3),
            0x05 | 0x11 => self.numbers(2),
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
                plain.pieces.push(Piece { stream, begin, bytes });
                Some(())
            }
            // MAX_DATA, MAX_STREAMS, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
            0x10 | 0x12 | 0x13 | 0x16 | 0x17 | 0x19 => self.numbers(1),
            // DATA_BLOCKED, STREAM_DATA_BLOCKED.
            0x14 | 0x15 => {
                plain.data_blocked += 1;
                self.numbers(kind - 0x13)
            }
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
            0x30 | 0x31 => {
                let bytes = if kind == 0x30 { self.rest.len() as u64 } else { self.number()? };
                let data = self.rest;
                self.skip(bytes)?;
                plain.messages.extend(messages::number_of(&data[..data.len() - self.rest.len()]));
                plain.message_bytes += bytes;
                Some(())
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
        let mut payload = vec![0x02, 0x09, 0x00, 0x01, 0x01, 0x00, 0x02];
        payload.extend([0x10, 0x44, 0x00]);
        payload.extend([0x0E, 0x04, 0x43, 0xE8, 0x03, 1, 2, 3]);
        payload.extend([0x00, 0x00, 0x00]);
        payload.extend([0x08, 0x08, 9, 9, 9, 9]);
        let plain = read(7, &[0x40, 0x07], &payload, 16);
        assert_eq!((plain.length, plain.kind), (2 + payload.len() + 16, PacketKind::OneRtt));
        assert_eq!(plain.acked, [(8, 9), (4, 6)], "RFC 9000, section 19.3.1");
        assert_eq!(plain.frames, [0x02, 0x10, 0x0E, 0x00, 0x08]);
        let pieces = [Piece { stream: 4, begin: 1000, bytes: 3 }, Piece { stream: 8, begin: 0, bytes: 4 }];
        assert_eq!(plain.pieces, pieces);
        assert!(plain.is_ack_eliciting());
        let long = read(8, &[0xE0], &[0x02, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00], 16);
        assert_eq!((long.is_ack_eliciting(), long.kind), (false, PacketKind::Handshake));
        // DATA_BLOCKED at 9, STREAM_DATA_BLOCKED of streams 4 and 8, STREAMS_BLOCKED.
        let blocked = read(8, &[0x40], &[0x14, 0x09, 0x15, 0x04, 0x05, 0x15, 0x08, 0x05, 0x16, 0x01, 0x1E], 16);
        assert_eq!((blocked.data_blocked, blocked.frames.as_slice()), (3, &[0x14, 0x15, 0x16, 0x1E][..]));
        // A packet that ends within a frame, and an unknown frame, end the reading and nothing else.
        assert_eq!(read(9, &[0x40], &[0x0E, 0x04], 16).frames, [0x0E]);
        assert_eq!(read(9, &[0x40], &[0x40, 0x99, 0x08, 0x00], 16).pieces, []);
        // More numbers than there are below the largest one.
        assert_eq!(read(9, &[0x40], &[0x02, 0x05, 0x00, 0x01, 0x01, 0x04, 0x00], 16).acked, [(4, 5)]);
    }

    #[test]
    #[cfg(feature = "entropy")]
    fn lost_bytes_are_those_of_the_oldest_packets() {
        let mut watch = Watch::default();
        lend(&mut watch, || {
            for number in 0..6 {
                encrypting(number, &[0x40], &[0x01; 100], 16);
            }
            // 1 is acknowledged; 0 and 2 are lost; 1000 bytes of the handshake are; nobody knows of 3 to 5.
            decrypted(0, &[0x40], &[0x02, 0x01, 0x00, 0x00, 0x00], 16);
            lost_bytes(2 * 117);
            lost_bytes(1000);
        });
        assert_eq!((watch.lost.as_slice(), watch.oldest_outstanding()), (&[0, 2][..], Some(3)));
        lend(&mut watch, || (lost(4), lost(1)));
        assert_eq!(watch.lost, [0, 2, 4], "the stack names one, and one that is acknowledged");
        // 0 to 4 have arrived after all: three were declared lost. A second acknowledgement says nothing new.
        lend(&mut watch, || {
            for number in [1, 2] {
                decrypted(number, &[0x40], &[0x02, 0x04, 0x00, 0x00, 0x04], 16);
            }
        });
        assert_eq!((watch.totals.spurious, watch.oldest_outstanding()), (Some(3), Some(5)));
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
