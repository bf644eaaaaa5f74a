//! TCP endpoints without input or output: facts and the time go in, segments, ACKs and the next timeout come out.
//!
//! A transport is three explicit parts: loss [`Recovery`] (how loss is found and repaired), congestion control
//! (`skyhop-cc`: how fast to send) and [`Options`]. A [`Profile`] is a named bundle of option values; a name like
//! `newreno` expands to the three parts.
//!
//! Segments are counted, not bytes: segment 0 opens the connection, the last one of a transfer may be short.

#![forbid(unsafe_code)]

// First, because its list of recoveries is a macro, which `config` uses.
#[macro_use]
mod recovery;

mod config;
mod core;
mod ledger;
mod notification;
mod ns2;
mod receiver;
mod record;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod supply;
mod window;

pub use config::{
    ControlRtt, DelayedAck, FackRules, GrowthWhen, Handshake, IdleRestart, InitialWindowAt, Ns2Agent, Ns2Options,
    Ns2Table, Options, Pacing, PartialAckTimer, Recovery, RecoveryExit, RepeatedTimeout, Retransmit, RttTiming,
    SackAfterTimeout, SackRules, SendTimes, Switch, TcpConfig, TcpName, TcpSpec, TcpTable, Threshold, ThresholdBase,
    TickPhase, TimerRestart, WindowGrowth, WindowLimit, initial_window_rfc3390, initial_window_rfc6928,
};
pub use notification::{
    BestSize, CetenCut, CetenSpec, ErrorReport, Notification, NotificationName, NotificationOptions, NotificationSpec,
    PacketSizing, SizeCounts, SizingTable, Weighing, WeighingTable,
};
pub use ns2::{Ns2Losses, ns2_numbers_drawn, ns2_random_losses, ns2_tick_phases};
pub use receiver::{Receiver, ReceiverCounters};
pub use record::{Phase, SenderCounters, SenderEvent, Snapshot};
pub use recovery::sudden_start_interval;
pub use rtt::{RttArithmetic, RttEstimator, RttSettings, TickRounding};
pub use scoreboard::Scoreboard;
pub use segment::{Ack, Burst, Ecn, PlainAck, Priority, SackBlocks, Segment, Transmission, Undisturbed};
pub use sender::Sender;
pub use skyhop_cc::{Bundle, ConfigError, OptionRow, Profile};
pub use supply::Supply;
pub use window::{EarlySlowStart, window_pacing_rate};
