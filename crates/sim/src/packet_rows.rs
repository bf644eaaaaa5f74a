//! Rows of the table of packets. Headers are read from the endpoints' own values when a row is written, so that a run
//! that records no packets pays nothing.

use crate::flow::Flow;
use crate::headers::{Codepoint, Header, Protocol, TcpFlags};
use crate::host::Ends;
use crate::packet::{Flags, Packet};
use crate::records::{PacketEvent, PacketRow};
use crate::simulation::Simulation;
use skyhop_base::Time;
use std::collections::BTreeMap;

/// Byte numbers of the segments of Skyhop's own TCP, which counts segments.
struct Bytes {
    /// The number of each segment's first byte, by segment.
    begins: Vec<u64>,
    /// User bytes of a segment of which no copy was recorded.
    full: u64,
}

impl Bytes {
    /// `payloads`: user bytes by segment. Where segment 0 `opens_empty`, it is the SYN, which takes one number;
    /// otherwise the first byte has the number 1 as well.
    fn new(payloads: &BTreeMap<u32, u32>, full: u64, opens_empty: bool) -> Bytes {
        let count = payloads.last_key_value().map_or(0, |(&last, _)| u64::from(last) + 1);
        let mut begins = Vec::with_capacity(count as usize + 1);
        let mut next = u64::from(!opens_empty);
        for segment in 0..count as u32 {
            begins.push(next);
            let is_syn = opens_empty && segment == 0;
            next += if is_syn { 1 } else { payloads.get(&segment).map_or(full, |&payload| payload.into()) };
        }
        begins.push(next);
        Bytes { begins, full }
    }

    fn of(&self, segment: u64) -> u64 {
        match self.begins.get(segment as usize) {
            Some(&begin) => begin,
            None => {
                let known = self.begins.len() as u64 - 1;
                self.begins[known as usize] + (segment - known) * self.full
            }
        }
    }
}

impl Simulation {
    /// Writes a row of the table of packets.
    #[cold]
    pub(crate) fn record_packet(&mut self, time: Time, link: u32, event: PacketEvent, packet: &Packet) {
        let seq = if packet.is_ack() { packet.seq.checked_sub(1) } else { Some(packet.seq) };
        let (header, payload_bytes) = self.header_of(packet);
        let has_payload = packet.payload().is_some();
        let flags = packet.flags;
        let ecn = match (flags.has(Flags::CE), flags.has(Flags::ECT)) {
            (true, _) => Codepoint::Ce,
            (false, true) if has_payload && flags.has(Flags::ECT1) => Codepoint::Ect1,
            (false, true) => Codepoint::Ect0,
            (false, false) => Codepoint::NotEct,
        };
        let records = &mut self.recorder.records;
        let blocks = records.sack_ranges.len();
        records.sack_ranges.extend(&header.blocks);
        let pieces = records.stream_pieces.len();
        records.stream_pieces.extend(&header.pieces);
        records.packets.push(PacketRow {
            time,
            link,
            event,
            flow: packet.flow,
            seq,
            size_bytes: packet.size.into(),
            packet: packet.number,
            is_ack: packet.is_ack(),
            // The flag of an ACK of Skyhop's own TCP says what it answers.
            repeats: flags.has(Flags::RETRANSMISSION) && (has_payload || !packet.is_ack()),
            ecn,
            payload_bytes,
            protocol: header.protocol,
            flags: header.flags,
            tcp_seq: header.seq,
            tcp_ack: header.ack,
            window: header.window,
            timestamps: header.timestamps,
            quic: header.quic,
            blocks: blocks as u32..records.sack_ranges.len() as u32,
            pieces: pieces as u32..records.stream_pieces.len() as u32,
        });
    }

    /// Writes a row for a packet that its source takes for lost, under the first of the recorded links.
    #[cold]
    pub(crate) fn record_lost_packet(&mut self, flow: u32, seq: u32, packet: u32, size: u16) {
        let Some(link) = self.recorder.ack_link else { return };
        let records = &mut self.recorder.records;
        let (blocks, pieces) = (records.sack_ranges.len() as u32, records.stream_pieces.len() as u32);
        records.packets.push(PacketRow {
            time: self.now,
            link,
            event: PacketEvent::TakenForLost,
            flow,
            seq: Some(seq),
            size_bytes: size.into(),
            packet,
            is_ack: false,
            repeats: false,
            ecn: Codepoint::NotEct,
            payload_bytes: 0,
            protocol: Protocol::Udp,
            flags: TcpFlags::default(),
            tcp_seq: None,
            tcp_ack: None,
            window: None,
            timestamps: None,
            quic: "1rtt",
            blocks: blocks..blocks,
            pieces: pieces..pieces,
        });
    }

    /// The header, and user bytes in the packet. Numbers of Skyhop's own TCP count segments until
    /// [`Simulation::number_bytes`].
    fn header_of(&self, packet: &Packet) -> (Header, u32) {
        let Some(flow) = self.flows.get(packet.flow as usize) else { return Default::default() };
        if let Some(handle) = packet.payload() {
            return self.payloads.header(handle);
        }
        match &flow.ends {
            Ends::Datagrams(_) if !packet.is_ack() => {
                (Header { protocol: Protocol::Udp, ..Header::default() }, packet.detail)
            }
            Ends::Tcp(_) if packet.flags.has(Flags::REQUEST) => Default::default(),
            Ends::Tcp(tcp) if !packet.is_ack() => {
                let is_syn = packet.seq == 0 && tcp.sender.opens_empty();
                let flags = TcpFlags::default()
                    .and(TcpFlags::SYN, is_syn)
                    .and(TcpFlags::ACK, !is_syn)
                    .and(TcpFlags::CWR, packet.flags.has(Flags::CWR));
                let ack = (!is_syn).then_some(1);
                let seq = Some(packet.seq.into());
                (Header { protocol: Protocol::Tcp, flags, seq, ack, ..Header::default() }, packet.detail)
            }
            Ends::Tcp(_) => {
                let details = self.ack_details.get(packet.detail);
                let flags = TcpFlags::ACK.and(TcpFlags::ECE, packet.flags.has(Flags::ECE));
                let blocks = details.map_or(&[][..], |detail| detail.blocks.as_slice());
                let header = Header {
                    protocol: Protocol::Tcp,
                    flags,
                    seq: Some(1),
                    ack: Some(packet.seq.into()),
                    window: details.and_then(|detail| detail.window).map(u64::from),
                    timestamps: None,
                    blocks: blocks.iter().map(|&(start, end)| (start.into(), end.into())).collect(),
                    ..Header::default()
                };
                (header, 0)
            }
            Ends::Datagrams(_) | Ends::Hosts(_) => Default::default(),
        }
    }

    /// Turns segments into bytes in the rows of Skyhop's own TCP: as the headers of a TCP on a wire say it.
    pub(crate) fn number_bytes(&mut self) {
        let mut segments: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
        let mut data_begin: BTreeMap<u32, Time> = BTreeMap::new();
        let own = |row: &PacketRow, flows: &[Flow]| {
            row.protocol == Protocol::Tcp && flows.get(row.flow as usize).is_some_and(|flow| flow.ends.tcp().is_some())
        };
        let records = &mut self.recorder.records;
        for row in records.packets.iter().filter(|row| own(row, &self.flows)) {
            let segments = segments.entry(row.flow).or_default();
            if let (false, Some(seq)) = (row.is_ack, row.seq) {
                segments.entry(seq).or_insert(row.payload_bytes);
                if seq > 0 {
                    let begin = data_begin.entry(row.flow).or_insert(row.time);
                    *begin = row.time.min(*begin);
                }
            }
        }
        let bytes: BTreeMap<u32, Bytes> = segments
            .iter()
            .filter_map(|(&flow, payloads)| {
                let tcp = self.flows.get(flow as usize)?.ends.tcp()?;
                let full = u64::from(tcp.sender.largest_segment());
                Some((flow, Bytes::new(payloads, full, tcp.sender.opens_empty())))
            })
            .collect();
        for row in &mut records.packets {
            let (Some(bytes), true) = (bytes.get(&row.flow), own(row, &self.flows)) else { continue };
            let opens_empty = bytes.begins.first() == Some(&0);
            if row.is_ack {
                let next = row.tcp_ack.unwrap_or(0);
                // The answers to the SYN come before any data; later ones repeat its number because of a hole.
                let before_data = data_begin.get(&row.flow).is_none_or(|&begin| row.time <= begin);
                if opens_empty && next == 1 && before_data {
                    row.flags = row.flags.and(TcpFlags::SYN, true);
                    row.tcp_seq = Some(0);
                }
                row.window = row.window.map(|window| bytes.of(next + window) - bytes.of(next));
                row.tcp_ack = Some(bytes.of(next));
                for block in &mut records.sack_ranges[row.blocks.start as usize..row.blocks.end as usize] {
                    *block = (bytes.of(block.0), bytes.of(block.1));
                }
            } else {
                row.tcp_seq = row.tcp_seq.map(|seq| bytes.of(seq));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_any_size_have_the_numbers_that_tcp_would_give_them() {
        // Segment 2 was never recorded, and counts as a full one.
        let payloads = BTreeMap::from([(0, 0), (1, 1000), (3, 300), (4, 1000)]);
        let numbers = Bytes::new(&payloads, 1000, true);
        let of: Vec<u64> = (0..8).map(|segment| numbers.of(segment)).collect();
        assert_eq!(of, [0, 1, 1001, 2001, 2301, 3301, 4301, 5301]);
        let without_handshake = Bytes::new(&BTreeMap::from([(0, 500), (1, 1000)]), 1000, false);
        assert_eq!((0..4).map(|segment| without_handshake.of(segment)).collect::<Vec<_>>(), [1, 501, 1501, 2501]);
    }
}
