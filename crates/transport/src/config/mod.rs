//! The three parts of a transport: loss recovery, congestion control, options.

mod choices;
mod names;
mod ns2;
mod options;
mod tcp;

pub use choices::{
    ControlRtt, DelayedAck, FackRules, GrowthWhen, Handshake, IdleRestart, InitialWindowAt, Ns2Agent, Pacing,
    PartialAckTimer, Recovery, RecoveryExit, RepeatedTimeout, Retransmit, RttTiming, SackAfterTimeout, SackRules,
    SendTimes, Switch, Threshold, ThresholdBase, TickPhase, TimerRestart, WindowGrowth, WindowLimit,
};
pub use names::TcpName;
pub use ns2::{Ns2Options, Ns2Table};
pub use options::{Options, TcpTable, initial_window_rfc3390, initial_window_rfc6928};
pub use tcp::{TcpConfig, TcpSpec};
