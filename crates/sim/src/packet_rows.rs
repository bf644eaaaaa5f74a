//! Rows of the table of packets. Headers are read from the endpoints' own values when a row is written, so that a run
//! that records no packets pays nothing.

use crate::byte_numbers::ByteNumbers;
use crate::headers::{Codepoint, Header, Protocol, TcpFlags};
use crate::host::Ends;
use crate::packet::{Flags, Packet};
use crate::records::{PacketEvent, PacketRow, Records, moved};
use crate::simulation::Simulation;
use skyhop_base::Time;
use skyhop_topology::LinkId;
use std::collections::BTreeMap;
use std::mem::take;

impl Simulation {
    /// Writes a row of the table of packets.
    #[cold]
    pub(crate) fn record_packet(&mut self, time: Time, link: u32, event: PacketEvent, packet: &Packet) {
        let seq = if packet.is_ack() { packet.seq.checked_sub(1) } else { Some(packet.seq) };
        let (header, payload_bytes) = self.header_of(packet);
        let has_payload = packet.payload().is_some();
        let flags = packet.flags;
        let ecn = match flags.codepoint() {
            // The bit says something else there.
            Codepoint::Ect1 if !has_payload => Codepoint::Ect0,
            codepoint => codepoint,
        };
        // An ACK that has arrived is at no link.
        let at_link = event != PacketEvent::Ack;
        let is_roaming = at_link && self.topology.links()[LinkId::new(link)].to.is_none();
        let records = &mut self.recorder.records;
        let blocks = records.sack_ranges.len();
        records.sack_ranges.extend(&header.blocks);
        let pieces = records.stream_pieces.len();
        records.stream_pieces.extend(&header.pieces);
        records.packets.push(PacketRow {
            time,
            link,
            to: is_roaming.then_some(packet.to),
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
            to: None,
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
    /// [`Simulation::take_packets`].
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

    /// The flows whose rows of packets count bytes where the flow counts segments.
    pub(crate) fn byte_numbers(&self) -> BTreeMap<u32, ByteNumbers> {
        if self.recorder.ack_link.is_none() {
            return BTreeMap::new();
        }
        let flows = (0..).zip(&self.flows).filter_map(|(id, flow)| {
            let sender = &flow.ends.tcp()?.sender;
            Some((id, ByteNumbers::new(sender.largest_segment().into(), sender.opens_empty())))
        });
        flows.collect()
    }

    /// Skyhop's own TCP sends a segment while packets are recorded.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_segment(&mut self, flow: u32, segment: u32, payload: u32) {
        if let Some(numbers) = self.recorder.numbers.get_mut(&flow) {
            numbers.sent(self.now, segment, payload);
        }
    }

    /// Before this instant no row of the table of packets will be written any more. A packet's departure is written
    /// when it arrives, with the instant at which its service began.
    pub(crate) fn packets_settled(&self) -> Time {
        let recorded = self.links.iter().filter(|state| state.recorded);
        let begun = recorded.flat_map(|state| {
            state.link.entries(&self.pool).map(|entry| entry.start).chain(state.link.first_unrepaired())
        });
        begun.fold(self.now, Time::min)
    }

    /// Rows of the table of packets before an instant, in the order of time and with bytes in place of segments, and
    /// what they refer to.
    pub(crate) fn take_packets(&mut self, before: Time) -> Records {
        let numbers = &self.recorder.numbers;
        self.recorder.records.take_packets(before, |flow| numbers.get(&flow))
    }
}

impl Records {
    /// [`Simulation::take_packets`], with the byte numbers of each flow.
    pub(crate) fn take_packets<'n>(
        &mut self,
        before: Time,
        numbers: impl Fn(u32) -> Option<&'n ByteNumbers>,
    ) -> Records {
        let (mut rows, rest): (Vec<PacketRow>, Vec<PacketRow>) =
            take(&mut self.packets).into_iter().partition(|row| row.time < before);
        let (ranges, pieces) = (take(&mut self.sack_ranges), take(&mut self.stream_pieces));
        // The rows that stay refer to lists of their own.
        self.packets = rest;
        for row in &mut self.packets {
            row.blocks = moved(&row.blocks, &ranges, &mut self.sack_ranges);
            row.pieces = moved(&row.pieces, &pieces, &mut self.stream_pieces);
        }
        rows.sort_by_key(|row| row.time);
        let mut taken = Records { packets: rows, sack_ranges: ranges, stream_pieces: pieces, ..Records::default() };
        number_bytes(&mut taken, numbers);
        taken
    }
}

/// Turns segments into bytes in the rows of Skyhop's own TCP: as the headers of a TCP on a wire say it. The window is
/// one of full segments.
fn number_bytes<'n>(records: &mut Records, numbers: impl Fn(u32) -> Option<&'n ByteNumbers>) {
    for row in &mut records.packets {
        let Some(bytes) = numbers(row.flow).filter(|_| row.protocol == Protocol::Tcp) else { continue };
        if row.is_ack {
            let next = row.tcp_ack.unwrap_or(0);
            // The receiver's first packet answers the SYN, and so does what it sends before any data leaves; later ones
            // repeat the number because of a hole.
            let answers_syn = row.packet == 0 || row.time <= bytes.data_begin;
            if bytes.opens_empty && next == 1 && answers_syn {
                row.flags = row.flags.and(TcpFlags::SYN, true);
                row.tcp_seq = Some(0);
            }
            row.window = row.window.map(|window| window * bytes.full);
            row.tcp_ack = Some(bytes.of(next));
            for block in &mut records.sack_ranges[row.blocks.start as usize..row.blocks.end as usize] {
                *block = (bytes.of(block.0), bytes.of(block.1));
            }
        } else {
            row.tcp_seq = row.tcp_seq.map(|seq| bytes.of(seq));
        }
    }
}
