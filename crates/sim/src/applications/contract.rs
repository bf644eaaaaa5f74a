//! What an application is: parameters that check themselves, and the source of data that comes from them.

use crate::call::CallConfig;
use crate::records::Records;
use skyhop_base::{Bytes, Duration, FaultPlace, Faults, Stream, Time};

/// The parameters of an application, as a scenario writes them.
pub trait ApplicationModel {
    /// The transports that it goes over.
    const CARRIER: Carrier = Carrier::Any;

    /// Says what is wrong with the parameters beyond what their schema tells. A value that passes can run.
    fn check(&self, _faults: &mut Faults) {}

    /// Brings the parameters into one form, so that two texts that mean the same have the same hash.
    fn tidy(&mut self) {}

    /// The application of one flow.
    fn source(&self, flow: &FlowOfSource<'_>) -> Source;

    /// User bytes of the largest datagram; `None` where it sends transfers.
    fn payload_bytes(&self) -> Option<u32> {
        None
    }

    /// Size on the wire of the packets by which the receiver's side asks; `None` where it does not ask.
    fn request_bytes(&self) -> Option<u32> {
        None
    }

    /// Whether its transfers have an end. Over QUIC each is then a stream of its own, whose end tells the source when
    /// it has arrived.
    fn has_end(&self) -> bool {
        false
    }

    /// By when the receiver should be able to read each portion. Portions are then followed in the table of transfers
    /// and judged in the table of messages.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// The call to rate, if the portions are frames of one.
    fn call(&self) -> Option<CallConfig> {
        None
    }
}

/// The transports that an application goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    Any,
    /// TCP or QUIC: it goes by what has arrived.
    Reliable,
    /// UDP alone: what the user is told otherwise.
    Datagrams(&'static str),
}

/// The flow that an application is for.
#[derive(Clone, Copy)]
pub struct FlowOfSource<'f> {
    /// The seed of the run.
    pub seed: u64,
    pub name: &'f str,
    /// When the application stops; `None` means at the end of the run.
    pub stop: Option<Time>,
}

impl FlowOfSource<'_> {
    /// A stream of random numbers for one purpose of this flow.
    pub fn stream(&self, purpose: &str) -> Stream {
        Stream::new(self.seed, self.name, purpose)
    }
}

/// Where the data of a flow comes from.
pub enum Source {
    /// There is always something to send.
    Endless,
    /// A portion at the start of the flow, and one after each gap. `first_gap` delays the start.
    Clock { payload_bytes: u32, first_gap: Duration, gaps: Box<dyn Gaps> },
    /// Transfers one after another, each with its row in the table of transfers.
    InTurn(Box<dyn Transfers>),
}

/// The times between portions.
pub trait Gaps: Send {
    /// From a portion to the next one.
    fn next_gap(&mut self) -> Duration;
}

/// Transfers one after another. The next one begins some time after the source knows that the one before has arrived,
/// or, where the receiver's side asks, some time after that has it.
pub trait Transfers: Send {
    /// So many; `None` for no end.
    fn count(&self) -> Option<u32>;

    /// As of [`ApplicationModel::request_bytes`].
    fn request_bytes(&self) -> Option<u32> {
        None
    }

    /// User bytes of the transfer of this number, counted from 0, which begins at `now`.
    fn begin(&mut self, number: u32, now: Time) -> u64;

    /// A transfer of so many bytes has arrived at `now`; the pause before the next one.
    fn pause(&mut self, bytes: u64, now: Time) -> Duration;

    /// Adds what it measured to the records of the run, which ends at `end`. `flow` is the flow's index.
    fn record(&self, _flow: u32, _end: Time, _records: &mut Records) {}
}

/// Most bytes of a packet on the wire.
const LARGEST_PACKET: u64 = u16::MAX as u64;

/// A size that belongs to one packet. The checks of sizes have seen that it fits.
pub fn packet_bytes(size: Bytes) -> u32 {
    u32::try_from(size.0).unwrap_or(u32::MAX)
}

/// Says so if `size` is not one of a packet.
pub fn check_packet_size(size: Bytes, place: FaultPlace<'_>) {
    if size.0 < 1 || size.0 > LARGEST_PACKET {
        place.add(format_args!("{size} is not a size of a packet: use 1 B to {LARGEST_PACKET} B"));
    }
}

/// Says so if `duration` is zero.
pub fn check_positive(duration: Duration, place: FaultPlace<'_>) {
    if duration.is_zero() {
        place.add("must be more than 0 s");
    }
}

/// The message for a transfer without bytes.
pub(super) const NOTHING: &str = "there must be something to send";
