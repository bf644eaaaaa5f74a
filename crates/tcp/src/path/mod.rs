//! A bottleneck between two hosts that gives listed packets a listed fate.
//!
//! Per direction: a FIFO with drop tail whose limit counts the packets that wait, not the one in service; service takes
//! the time of the packet's IP bytes at the link's rate; then a one-way delay. [`Fates`] name single packets that are
//! lost, marked, delayed or doubled, [`Events`] name times at which the path changes, stands still or loses all.
//! [`Exchange`] runs two [`Endpoint`]s over such a path.

mod events;
mod exchange;
mod fates;
mod link;

pub use events::Events;
pub use exchange::{Crossing, Endpoint, Exchange, PathConfig, ip_bytes};
pub use fates::{Class, Fate, Fates};
pub use link::{Link, Passage, Verdict};

/// The direction in which a packet crosses the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the sender of the data to its receiver.
    Data,
    /// From the receiver back.
    Ack,
}

/// What is wrong with a list of fates or events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{entry}\" in the {list}: {problem}")]
pub struct ListError {
    /// "list of fates" or "list of events".
    list: &'static str,
    entry: String,
    problem: String,
}

impl ListError {
    fn new(list: &'static str, entry: &str, problem: impl Into<String>) -> ListError {
        ListError { list, entry: entry.to_owned(), problem: problem.into() }
    }
}
