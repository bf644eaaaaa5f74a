//! The event engine: queues, links, nodes, applications, records.

pub mod records;
pub mod spec;
