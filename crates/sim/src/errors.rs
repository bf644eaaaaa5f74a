//! Losses that are no congestion: what a link does to packets after they have used it.

use crate::packet::{Flags, Packet};
use crate::spec::ErrorConfig;
use skyhop_base::Stream;
use std::collections::BTreeSet;

#[derive(Debug)]
pub enum ErrorModel {
    Packet { probability: f64, stream: Stream },
    Segments { flow: u32, left: BTreeSet<u32> },
}

impl ErrorModel {
    pub fn new(config: &ErrorConfig, seed: u64, link: &str) -> ErrorModel {
        match config {
            ErrorConfig::Packet { probability } => {
                ErrorModel::Packet { probability: *probability, stream: Stream::new(seed, link, "loss") }
            }
            ErrorConfig::Segments { flow, segments } => {
                ErrorModel::Segments { flow: *flow as u32, left: segments.iter().copied().collect() }
            }
        }
    }

    /// Whether the packet is lost. `flow_key` tells flows apart whatever their order; together with the packet's
    /// number it decides alone, so that the n-th packet of a flow meets the same fate under two congestion controls.
    pub fn loses(&mut self, packet: &Packet, flow_key: u64) -> bool {
        match self {
            ErrorModel::Packet { probability, stream } => {
                let number = u64::from(packet.number) << 1 | u64::from(packet.is_ack());
                stream.uniform_of(flow_key, number) < *probability
            }
            ErrorModel::Segments { flow, left } => {
                packet.flow == *flow
                    && !packet.is_ack()
                    && !packet.flags.has(Flags::RETRANSMISSION)
                    && left.remove(&packet.seq)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Time;

    fn packet(seq: u32, number: u32, flags: Flags) -> Packet {
        Packet { stamp: Time::ZERO, flow: 0, seq, number, detail: 0, to: 0, size: 1000, ttl: 9, flags }
    }

    #[test]
    fn named_segments_are_lost_once_at_their_first_transmission() {
        let mut model = ErrorModel::new(&ErrorConfig::Segments { flow: 0, segments: vec![5] }, 1, "link");
        assert!(!model.loses(&packet(4, 4, Flags::NONE), 0));
        assert!(!model.loses(&packet(5, 5, Flags::ACK), 0));
        assert!(model.loses(&packet(5, 5, Flags::NONE), 0));
        assert!(!model.loses(&packet(5, 9, Flags::RETRANSMISSION), 0));
        assert!(!model.loses(&packet(5, 10, Flags::NONE), 0));
    }

    #[test]
    fn the_loss_rate_is_the_one_asked_for_and_the_fate_hangs_on_the_number_alone() {
        let config = ErrorConfig::Packet { probability: 0.1 };
        let mut model = ErrorModel::new(&config, 3, "link");
        let n = 40_000;
        let fates: Vec<bool> = (0..n).map(|i| model.loses(&packet(i, i, Flags::NONE), 17)).collect();
        let lost = fates.iter().filter(|&&lost| lost).count() as f64;
        // Four standard deviations of a binomial count.
        assert!((lost - 4000.0).abs() < 4.0 * (f64::from(n) * 0.1 * 0.9).sqrt(), "{lost}");
        let mut again = ErrorModel::new(&config, 3, "link");
        assert!((0..n).rev().all(|i| again.loses(&packet(7, i, Flags::NONE), 17) == fates[i as usize]));
        let other = (0..n).filter(|&i| again.loses(&packet(7, i, Flags::NONE), 18) == fates[i as usize]).count();
        assert!(other < n as usize * 9 / 10, "another flow must meet fates of its own");
    }
}
