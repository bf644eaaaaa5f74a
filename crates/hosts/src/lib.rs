//! Stacks of hosts behind the contract of `skyhop_sim::endpoint`: one file per stack.
//!
//! A stack is sans-IO and knows neither the engine nor the scenario. An adapter translates: packets of the engine to
//! segments or datagrams of the stack, calls of the application to its writes, its state to the words of the records.

#![forbid(unsafe_code)]

pub mod linux;
pub mod quic;

pub use linux::LinuxTcp;
pub use quic::Quic;
