//! What an error model is: parameters that check themselves, and the state of one link that comes from them.

use super::listed::ListedPackets;
use crate::code::{BlockCode, ErrorUnit};
use crate::packet::{Flags, Packet};
use skyhop_base::{Faults, Stream, Time};
use std::fmt::Debug;

/// The parameters of an error model, as a scenario writes them.
pub trait ErrorModel {
    /// Says what is wrong with the parameters beyond what their schema tells. A value that passes can be built.
    fn check(&self, _link: &LinkFacts, _faults: &mut Faults) {}

    /// Brings the parameters into one form, so that two texts that mean the same have the same hash.
    fn tidy(&mut self) {}

    /// The state of one link; `None` where the parameters name nothing.
    fn build(&self, link: &LossyLink<'_>) -> Option<Box<dyn Losses>>;

    /// Whether no packet that it concerns is spared. The user is warned.
    fn loses_all(&self) -> bool {
        false
    }

    /// What its errors are per. A block code corrects bytes and bits; it says nothing about losses of packets.
    fn unit(&self) -> ErrorUnit {
        ErrorUnit::Packet
    }

    /// Whether it names single packets. A link that repairs sends several copies of a packet, so the two exclude each
    /// other.
    fn names_packets(&self) -> bool {
        false
    }

    /// What happens to single packets besides losses.
    fn listed(&self) -> Vec<ListedPackets> {
        Vec::new()
    }
}

/// The errors of one link.
pub trait Losses: Debug + Send {
    /// Whether the packet is lost. Arrivals come in the order of time. A model that draws lots per packet takes
    /// [`Arrival::draw`]: the n-th packet of a flow then has the same outcome under two congestion controls.
    fn loses(&mut self, arrival: &Arrival<'_>) -> bool;
}

/// What else a link has, for checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkFacts {
    /// It follows a recording or a profile.
    pub is_paced: bool,
    /// It repairs its errors in some way.
    pub repairs: bool,
}

/// The link that a model is built for.
#[derive(Clone, Copy)]
pub struct LossyLink<'l> {
    /// The seed of the run.
    pub seed: u64,
    pub name: &'l str,
    /// The code with which it protects packets.
    pub code: Option<BlockCode>,
    /// The names of the flows; a packet's flow is an index.
    pub flows: &'l [&'l str],
}

impl LossyLink<'_> {
    /// A stream of random numbers for one purpose on this link.
    pub fn stream(&self, purpose: &str) -> Stream {
        Stream::new(self.seed, self.name, purpose)
    }
}

/// A packet at the far end of a link, which it has used.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'p> {
    pub at: Time,
    /// Tells flows, and tries of a repairing link, apart whatever their order.
    pub(crate) key: u64,
    pub(crate) packet: &'p Packet,
}

impl Arrival<'_> {
    /// A draw from [0, 1) that the packet's flow and its number within the flow decide alone.
    #[inline]
    pub fn draw(&self, stream: &Stream) -> f64 {
        // Data and ACKs count apart.
        let number = u64::from(self.packet.number) << 1 | u64::from(self.packet.is_ack());
        stream.uniform_of(self.key, number)
    }

    /// Bytes on the wire, headers included, framing not.
    pub fn bytes(&self) -> u32 {
        self.packet.size.into()
    }

    /// The index of its flow in [`LossyLink::flows`].
    pub fn flow(&self) -> usize {
        self.packet.flow as usize
    }

    pub fn is_ack(&self) -> bool {
        self.packet.is_ack()
    }

    /// Whether it is data that was sent before.
    pub fn is_retransmission(&self) -> bool {
        !self.is_ack() && self.packet.flags.has(Flags::RETRANSMISSION)
    }

    /// The number of its segment, of data; an ACK has none.
    pub fn segment(&self) -> Option<u32> {
        (!self.is_ack()).then_some(self.packet.seq)
    }
}
