//! What an ACK carries besides numbers, while it travels: kept aside, so that a packet stays small.

use crate::packet::Packet;
use crate::simulation::Simulation;
use skyhop_transport::SackBlocks;

#[derive(Clone, Copy, Debug)]
pub(crate) struct AckDetail {
    pub blocks: SackBlocks,
    /// The error rate of the way, written by a gateway.
    pub error_rate: Option<f64>,
    /// Segments for which the receiver has room, where it says so.
    pub window: Option<u32>,
    /// Whether it answers a segment: else it only tells the window.
    pub news: bool,
}

impl Default for AckDetail {
    fn default() -> AckDetail {
        AckDetail { blocks: SackBlocks::EMPTY, error_rate: None, window: None, news: true }
    }
}

/// The details of ACKs that have some.
#[derive(Default)]
pub(crate) struct AckDetails {
    slots: Vec<AckDetail>,
    free: Vec<u32>,
}

impl AckDetails {
    pub fn keep(&mut self, detail: AckDetail) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = detail;
                slot
            }
            None => {
                self.slots.push(detail);
                self.slots.len() as u32 - 1
            }
        }
    }

    pub fn take(&mut self, slot: u32) -> AckDetail {
        self.free.push(slot);
        self.slots[slot as usize]
    }
}

impl Simulation {
    /// A gateway writes the error rate on an ACK that passes it. Deviation: the option takes no bytes.
    pub(crate) fn write_on_ack(&mut self, packet: &mut Packet, error_rate: f64) {
        if packet.detail == Packet::NO_DETAIL {
            packet.detail = self.ack_details.keep(AckDetail::default());
        }
        self.ack_details.slots[packet.detail as usize].error_rate = Some(error_rate);
    }
}
