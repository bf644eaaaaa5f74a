//! Congestion control: how fast to send. One trait, one file per algorithm, one list that registers them.
//!
//! An algorithm sees measurements and nothing else: no packets, no sequence numbers, no queues, links, orbits
//! or other flows. The transport owns what every algorithm would repeat: bytes in flight, RTT and RTO,
//! recovery episodes, pacing, the floor of the window. Windows are real numbers of segments.

extern crate self as skyhop_cc; // the options! macro writes this name

mod bic;
mod control;
mod error;
mod options;
mod reno;
mod sample;
mod vegas;

pub use bic::{AckRatio, Bic, BicConfig, BicSpec, FastConvergence};
pub use control::{Control, ControlConfig, ControlSpec};
pub use error::ConfigError;
pub use options::{Bundle, OptionRow, Profile};
pub use reno::{Counting, Reno, RenoConfig, RenoSpec, Rounding, limited_slow_start};
pub use sample::{
    AckSample, CcPhase, CcState, CongestionEvent, CongestionKind, Growth, LossSample, Lost, PathHint, Round,
    SentSample, Start,
};
pub use skyhop_base::Segments;
pub use vegas::{Vegas, VegasConfig, VegasSpec, vegas_diff};

use skyhop_base::Rate;
use std::fmt;

#[doc(hidden)]
pub mod reexport {
    pub use schemars;
    pub use serde;
}

/// What a congestion control is told and what it answers.
///
/// The transport calls `on_ack` for every ACK that delivers new data and may grow the window, and
/// `on_congestion` once per recovery episode. `cwnd` is the window without anything that recovery adds to it
/// (RFC 5681 §3.2 inflation).
pub trait CongestionControl: fmt::Debug {
    /// A segment leaves.
    fn on_sent(&mut self, _sample: &SentSample) {}

    /// New data was acknowledged.
    fn on_ack(&mut self, sample: &AckSample);

    /// Segments were found lost; several calls may fall into one recovery episode.
    fn on_lost(&mut self, _sample: &LossSample) {}

    /// A recovery episode starts: loss, an ECN mark or a timeout. Cuts the window.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// The recovery episode ends with an ACK that took the inflation of the window back.
    fn on_recovered(&mut self) {}

    /// The last congestion event was none: what it took is given back.
    fn on_spurious(&mut self) {}

    /// What the network says about itself, where the scenario grants it.
    fn on_path_hint(&mut self, _hint: &PathHint) {}

    /// The transport sets the window: the initial window, a restart after idle time, recovery that ends below
    /// the slow-start threshold.
    fn set_cwnd(&mut self, cwnd: Segments);

    /// The congestion window, in segments: at least 1 and finite.
    fn cwnd(&self) -> Segments;

    /// The lowest window during recovery by rate halving (`min_cwnd` of Linux 2.6.22; its default is half of
    /// the slow-start threshold).
    fn recovery_floor(&self) -> Segments {
        self.state().ssthresh / 2.0
    }

    /// `None`: the window alone decides when to send.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// For records.
    fn state(&self) -> CcState;
}
