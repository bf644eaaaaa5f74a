//! picoquic, a QUIC stack in C, as an endpoint that knows no sockets, no clock and no randomness of its own.
//!
//! The C library is compiled from its own sources, which `python/tools/picoquic.py` fetches; without the feature
//! `native` this crate is empty. `Endpoint` is one end of at most one connection: datagrams and the time go in,
//! datagrams and the next time come out. What it draws, and what it does behind its encryption, goes through `Hooks`.
//!
//! This crate and `skyhop-plugin` are the only ones with unsafe code: calls of C functions. The C side is
//! `src/shim`, which hands no structure of picoquic's over. picoquic's own faults can still end the process: a
//! failed assertion ends the connection (the shim jumps out of it), a wild pointer does not.

#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

#[cfg(feature = "native")]
mod endpoint;
#[cfg(feature = "native")]
mod ffi;
#[cfg(feature = "native")]
mod streams;

#[cfg(feature = "native")]
pub use endpoint::{Endpoint, Hooks, Identity, Measures, Settings, Told};
