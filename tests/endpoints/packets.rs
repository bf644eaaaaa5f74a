//! The table of packets says what a capture on a wire would: it agrees with the totals, byte by byte.

use serde_json::{Value, json};
use skyhop_scenario::Scenario;
use skyhop_sim::headers::Protocol;
use skyhop_sim::records::{PacketEvent, PacketRow, Records};
use skyhop_sim::{Simulation, SimulationSpec};
use std::collections::BTreeSet;

/// Both ends of a lossy link; data and ACKs are lost.
fn lossy(tcp: &Value) -> SimulationSpec {
    let scenario = json!({
        "duration": "20 s", "profile": "rfc",
        "links": [{ "between": ["left", "right"], "rate": "4 Mbit/s",
            "delay": "40 ms", "errors": [{ "packet": 0.01 }] }],
        "flows": [{ "name": "f", "from": "left", "to": "right", "tcp": tcp,
                    "application": { "ftp": { "bytes": "1000123 B" } } }],
        "records": { "packets": ["left->right", "right->left"] },
    });
    Scenario::from_json(&scenario, "test", &[]).unwrap_or_else(|problems| panic!("{problems}")).simulation_spec()
}

fn run(tcp: &Value) -> Records {
    Simulation::new(&lossy(tcp), 3).unwrap_or_else(|error| panic!("{error}")).run()
}

fn rows(records: &Records, event: PacketEvent, is_ack: bool) -> Vec<&PacketRow> {
    records.packets.iter().filter(|row| row.event == event && row.is_ack == is_ack).collect()
}

#[test]
fn headers_number_every_byte_and_agree_with_the_totals() {
    for tcp in [
        json!("sack"),
        json!({ "name": "newreno", "handshake": "syn" }),
        json!({ "profile": "linux", "name": "cubic" }),
    ] {
        let records = run(&tcp);
        let flow = &records.flows[0];
        assert!(flow.retransmissions > 0, "{tcp}: nothing to look at: {flow:?}");
        // Before the queue, which drops some.
        let sent = rows(&records, PacketEvent::Enqueue, false);
        assert_eq!(sent.len() as u64, flow.packets_sent, "{tcp}");
        assert!(records.packets.iter().all(|row| row.protocol == Protocol::Tcp), "{tcp}");
        // First transmissions follow one another without a gap from the byte 1 to the last one.
        let first = sent.iter().filter(|row| !row.repeats && row.payload_bytes > 0);
        let end = first.fold(1, |next, row| {
            assert_eq!(row.tcp_seq, Some(next), "{tcp}: {row:?}");
            next + u64::from(row.payload_bytes)
        });
        assert_eq!(end, 1 + 1_000_123, "{tcp}");
        assert_eq!(sent.iter().filter(|row| row.repeats).count() as u64, flow.retransmissions, "{tcp}");
        // Every acknowledged byte and every SACK block was sent, and begins and ends where segments do.
        let edges: BTreeSet<u64> =
            sent.iter().filter_map(|row| Some(row.tcp_seq? + u64::from(row.payload_bytes))).chain([1]).collect();
        let acks = rows(&records, PacketEvent::Receive, true);
        let blocks =
            acks.iter().flat_map(|row| &records.sack_ranges[row.blocks.start as usize..row.blocks.end as usize]);
        let (acked, blocks): (BTreeSet<u64>, Vec<_>) =
            (acks.iter().filter_map(|row| row.tcp_ack).collect(), blocks.collect());
        assert!(acked.is_subset(&edges), "{tcp}: {:?}", acked.difference(&edges).collect::<Vec<_>>());
        assert!(blocks.iter().all(|(start, end)| start < end && edges.contains(start) && edges.contains(end)), "{tcp}");
        assert_eq!(blocks.is_empty(), tcp["name"] == "newreno", "{tcp}: who reports blocks");
        // The last ACK comes twice where the sender asked twice, but it says that all has arrived.
        assert_eq!(acked.last(), Some(&end), "{tcp}");
        // A packet is one packet, with one header, at both ends of the link.
        for arrived in rows(&records, PacketEvent::Receive, false) {
            let same = sent.iter().find(|row| row.packet == arrived.packet);
            assert_eq!(
                same.map(|row| (row.tcp_seq, row.payload_bytes)),
                Some((arrived.tcp_seq, arrived.payload_bytes))
            );
        }
    }
}

#[test]
fn a_connection_opens_with_a_syn_and_its_answer() {
    for tcp in [json!({ "name": "newreno", "handshake": "syn" }), json!({ "profile": "linux", "name": "cubic" })] {
        let records = run(&tcp);
        let flags: Vec<String> = records
            .packets
            .iter()
            .filter(|row| row.event == PacketEvent::Dequeue && row.flags.words().contains("SYN"))
            .map(|row| row.flags.words())
            .collect();
        assert_eq!(flags, ["SYN", "SYN ACK"], "{tcp}");
    }
}
