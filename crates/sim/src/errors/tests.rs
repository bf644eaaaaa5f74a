//! What the tests of the models share; `docs/howto/add-an-error-model.md` is true.

use super::{Arrival, Losses, LossyLink};
use crate::packet::{Flags, Packet};
use skyhop_base::Time;

pub fn link(seed: u64) -> LossyLink<'static> {
    LossyLink { seed, name: "link", code: None, flows: &[] }
}

/// A segment of the first flow, and its number among the packets of the flow.
pub fn packet(seq: u32, number: u32) -> Packet {
    let flags = Flags::NONE;
    Packet { stamp: Time::ZERO, flow: 0, seq, number, detail: 0, to: 0, size: 1000, ttl: 9, flags }
}

pub fn ack(seq: u32, number: u32) -> Packet {
    Packet { flags: Flags::ACK, ..packet(seq, number) }
}

pub fn again(seq: u32, number: u32) -> Packet {
    Packet { flags: Flags::RETRANSMISSION, ..packet(seq, number) }
}

pub fn arrival(packet: &Packet, key: u64) -> Arrival<'_> {
    Arrival { at: Time::ZERO, key, packet }
}

pub fn loses(model: &mut dyn Losses, packet: &Packet, key: u64) -> bool {
    model.loses(&arrival(packet, key))
}

pub fn vector(name: &str) -> serde_json::Value {
    let all: serde_json::Value =
        serde_json::from_str(include_str!("../../../../tests/vectors/algorithms_vectors.json")).unwrap();
    all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == name).cloned().unwrap()
}

#[test]
fn the_page_quotes_the_example() {
    let page = include_str!("../../../../docs/howto/add-an-error-model.md");
    let example = include_str!("shadowing.rs").split("\n#[cfg(test)]").next().unwrap();
    assert!(page.contains(&format!("```rust\n{example}```\n")), "the page and shadowing.rs differ");
}
