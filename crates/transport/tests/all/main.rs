//! All tests of the crate in one binary, because each binary costs seconds of linking.

mod docs;
mod every_tcp;
mod formulas;
mod howto;
mod notification;
mod ns2_events;
mod ns2_summaries;
mod rfc;
mod support;
mod variants;
mod vectors;
