//! The state of a user who loads web pages: connections, requests and answers. `browser.rs` moves it.

use crate::pages::{Page, PagesConfig};
use skyhop_base::{Duration, Stream, Time};
use skyhop_topology::NodeId;
use std::collections::VecDeque;
use std::sync::Arc;

/// RFC 6298 §2: a first RTO of 1 s, doubled each time (§5.5), for requests that nothing answers.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Doublings after which the time between two retries stays: RFC 6298 §2.5 allows a maximum of 60 s or more.
const MOST_DOUBLINGS: u32 = 6;

/// From a try of a request to the next one.
pub(crate) fn retry_gap(tries_before: u32) -> Duration {
    FIRST_RETRY * (1 << tries_before.min(MOST_DOUBLINGS))
}

/// A request of a connection that is not yet answered as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub number: u32,
    pub object: u32,
    /// Whether it has reached the server.
    pub is_known: bool,
}

/// An answer in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub object: u32,
    /// Number of the write among those of its connection.
    pub write: u64,
    pub bytes: u64,
    /// Bytes of all answers of its connection before it.
    pub before: u64,
}

/// One connection of a visit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    pub requests: Vec<Request>,
    /// Answers in flight, in the order of their writing.
    pub answers: VecDeque<Answer>,
    /// Bytes of all answers so far.
    pub written: u64,
    /// Answers so far.
    pub writes: u64,
    pub is_open: bool,
    pub next_number: u32,
    pub retries: u32,
    pub retry_at: Option<Time>,
}

/// A user who loads one page after another from a server.
pub(crate) struct Visit {
    pub config: Arc<PagesConfig>,
    pub workload: u32,
    pub number: u32,
    pub ends: (NodeId, NodeId),
    pub first_flow: u32,
    /// No page begins from here on.
    pub end: Time,
    pub pages: Stream,
    pub pauses: Stream,
    pub connections: Vec<Connection>,
    pub views: u32,
    pub next_view: Option<Time>,
    /// The page that is being loaded, and the number of its row.
    pub page: Option<(Page, usize)>,
    /// Whether the first byte of its document has come.
    pub has_begun: bool,
    /// Objects that are found and not yet asked for.
    pub waiting: VecDeque<u32>,
}

impl Visit {
    /// A visit whose first page begins at `at`, over the flows from `first_flow` on. `name` keys its streams.
    pub fn new(
        config: Arc<PagesConfig>,
        (workload, number): (u32, u32),
        ends: (NodeId, NodeId),
        (first_flow, name, seed): (u32, &str, u64),
        (at, end): (Time, Time),
    ) -> Visit {
        Visit {
            connections: vec![Connection::default(); config.connections as usize],
            config,
            workload,
            number,
            ends,
            first_flow,
            end,
            pages: Stream::new(seed, name, "pages"),
            pauses: Stream::new(seed, name, "pauses"),
            views: 0,
            next_view: Some(at),
            page: None,
            has_begun: false,
            waiting: VecDeque::new(),
        }
    }

    pub fn memory_bytes(&self) -> u64 {
        let page = self.page.as_ref().map_or(0, |(page, _)| page.memory_bytes());
        page + (self.connections.capacity() * size_of::<Connection>() + size_of::<Visit>()) as u64
    }

    /// When the application of a connection has something to do.
    pub fn next_event(&self, place: usize) -> Option<Time> {
        let view = self.next_view.filter(|_| place == 0);
        [view, self.connections[place].retry_at].into_iter().flatten().min()
    }

    /// Bytes in order at which something becomes of the answers of a connection; `u64::MAX` while none is in flight.
    pub fn target(&self, place: usize) -> u64 {
        let Some(Answer { object, bytes, before, .. }) = self.connections[place].answers.front() else {
            return u64::MAX;
        };
        match &self.page {
            Some(_) if *object == 0 && !self.has_begun => before + 1,
            Some((page, _)) if *object == 0 => before + page.next_place().map_or(*bytes, |at| at.min(*bytes)),
            _ => before + bytes,
        }
    }

    /// The connection that takes the next request: the one with the fewest, if it may have more.
    pub fn free(&self) -> Option<usize> {
        let least = (0..self.connections.len()).min_by_key(|&place| self.connections[place].requests.len())?;
        (self.config.multiplexed || self.connections[least].requests.is_empty()).then_some(least)
    }
}
