//! A sender without a network: what it sends, and ACKs made by hand.

use skyhop_base::Time;
use skyhop_transport::{Ack, Priority, SackBlocks, Segment, Sender, Transmission};

pub fn drain(sender: &mut Sender, now: Time) -> Vec<Segment> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

/// An ACK for everything before `next`.
pub fn ack(next: u32) -> Ack {
    ack_with(next, &[])
}

/// The same with SACK blocks, from the first segment of each until before the second.
pub fn ack_with(next: u32, blocks: &[(u32, u32)]) -> Ack {
    let mut reported = SackBlocks::EMPTY;
    blocks.iter().for_each(|&(start, end)| reported.push(start, end));
    Ack {
        next,
        size: 40,
        echo: Time::ZERO,
        trigger: Transmission::First,
        answers: Priority::Normal,
        ecn_echo: false,
        blocks: reported,
    }
}
