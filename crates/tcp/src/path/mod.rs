//! A bottleneck between two hosts, with listed outcomes for single packets.
//!
//! Per direction: a FIFO with drop tail whose limit counts the packets that wait, not the one in service; service takes
//! the time of the packet's IP bytes at the link's rate; then a one-way delay. [`Outcomes`] name single packets that
//! are lost, marked, delayed or doubled, [`Events`] name times at which the path changes, stands still or loses all.
//! [`Losses`] and [`Lateness`] are random. [`Exchange`] runs pairs of [`Endpoint`]s over such a path.

mod events;
mod exchange;
mod lateness;
mod link;
mod losses;
mod outcomes;

pub use events::Events;
pub use exchange::{Crossing, Endpoint, Exchange, Pair, PathConfig, ip_bytes, wake_time};
pub use lateness::Lateness;
pub use link::{DeliveryOutcome, PathLink, PathTraversal};
pub use losses::{Drawn, Listed, Losses};
pub use outcomes::{Class, Outcome, Outcomes};

/// The direction in which a packet crosses the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathDirection {
    /// From the sender of the data to its receiver.
    Data,
    /// From the receiver back.
    Ack,
}

/// An entry in a list of outcomes or events that cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{entry}\" in the {list}: {problem}")]
pub struct ListError {
    /// "list of outcomes" or "list of events".
    list: &'static str,
    entry: String,
    problem: String,
}

impl ListError {
    fn new(list: &'static str, entry: &str, problem: impl Into<String>) -> ListError {
        ListError { list, entry: entry.to_owned(), problem: problem.into() }
    }
}
