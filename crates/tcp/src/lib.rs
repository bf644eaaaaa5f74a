//! TCP as the Linux kernel (6.18) runs it: sender and receiver as sans-IO state machines.
//!
//! Segments and the present time go in; segments and the next timeout come out. Nothing here knows the network, the
//! event queue or the other host. Each mechanism stands in a file of its own and can be switched alone.

#![forbid(unsafe_code)]

pub mod control;
pub mod flow;
mod ledger;
pub mod path;
pub mod rate;
pub mod receiver;
pub mod reference;
mod rtt;
pub mod segment;
pub mod sender;
pub mod switch;
pub mod timer;
mod waiting;
