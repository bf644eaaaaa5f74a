//! Real QUIC stacks in virtual time.
//!
//! The protocol crates of quinn and noq are written without sockets and clocks: a datagram in, datagrams out, the next
//! timeout; so is picoquic, in C, with the time as an argument. This crate puts each behind one interface
//! ([`stack::Stack`]), gives it the habits of the runtime that it has in real life ([`Host`]), an application, and
//! nothing random but the simulation's own streams. A host knows no network: it takes datagrams with their time and
//! gives datagrams; the engine, or the [`lab`], carries them.
//!
//! [`lab`] holds the stacks in virtual time against the same stacks in real time.

#![forbid(unsafe_code)]

#[cfg(feature = "tls")]
mod adapter;
pub mod application;
pub mod config;
#[cfg(feature = "entropy")]
mod entropy;
mod feed;
pub mod host;
#[cfg(feature = "entropy")]
mod identity;
pub mod lab;
pub mod messages;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "tls")]
mod ours;
#[cfg(feature = "picoquic")]
pub mod picoquic;
#[cfg(feature = "quinn")]
pub mod quinn;
pub mod runtime;
pub mod stack;
#[cfg(feature = "tls")]
mod tls;
pub mod watch;

pub use application::{Application, Progress};
pub use config::{AckFrequency, Config, ConfigError, Control, Governor, StackKind};
pub use feed::StreamUse;
pub use host::{Contents, Datagram, Host, Lost, Tally};
pub use messages::{Message, MessageTally};
pub use runtime::{Runtime, Timers};
pub use stack::{Ecn, Measures};
