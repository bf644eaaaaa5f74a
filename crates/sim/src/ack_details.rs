//! What an ACK carries besides numbers, while it travels: kept aside, so that a packet stays small.

use crate::packet::Packet;
use skyhop_transport::SackBlocks;

#[derive(Clone, Copy, Debug)]
pub(crate) struct AckDetail {
    pub blocks: SackBlocks,
    pub path_errors: Option<PathErrors>,
    /// Segments for which the receiver has room, where it says so.
    pub window: Option<u32>,
    /// Whether it answers a segment: else it only tells the window.
    pub news: bool,
    /// A node on the path says that the requested segment was corrupted.
    pub loss_marked: bool,
}

/// What an ACK says about the errors of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PathErrors {
    /// Their rate, written by a gateway.
    ErrorRate(f64),
    /// The probability that nothing corrupts data, echoed by the receiver to a sender that wants to know this.
    Survival(f64),
}

impl Default for AckDetail {
    fn default() -> AckDetail {
        AckDetail { blocks: SackBlocks::EMPTY, path_errors: None, window: None, news: true, loss_marked: false }
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

    /// Whether the ACK with these details answers a segment.
    pub fn is_news(&self, slot: u32) -> bool {
        slot == Packet::NO_DETAIL || self.slots.get(slot as usize).is_some_and(|detail| detail.news)
    }

    /// The details in that slot, if there are any.
    pub fn get(&self, slot: u32) -> Option<&AckDetail> {
        self.slots.get(slot as usize)
    }

    /// Marks an ACK in flight.
    #[cold]
    pub fn mark_loss(&mut self, packet: &mut Packet) {
        if packet.detail == Packet::NO_DETAIL {
            packet.detail = self.keep(AckDetail::default());
        }
        self.slots[packet.detail as usize].loss_marked = true;
    }

    /// A gateway writes the error rate on an ACK that passes it.
    pub fn write_error_rate(&mut self, packet: &mut Packet, error_rate: f64) {
        if packet.detail == Packet::NO_DETAIL {
            packet.detail = self.keep(AckDetail::default());
        }
        let path_errors = &mut self.slots[packet.detail as usize].path_errors;
        if !matches!(path_errors, Some(PathErrors::Survival(_))) {
            *path_errors = Some(PathErrors::ErrorRate(error_rate));
        }
    }

    /// The same details for another ACK.
    pub fn copy(&mut self, slot: u32) -> u32 {
        self.keep(self.slots[slot as usize])
    }

    pub fn take(&mut self, slot: u32) -> AckDetail {
        self.free.push(slot);
        self.slots[slot as usize]
    }
}
