//! The event engine: queues, links, nodes, applications, records.

pub mod spec;
