//! Congestion control: how fast to send. One trait, one file per algorithm, one list that registers them.
//!
//! An algorithm sees measurements and nothing else: no packets, no sequence numbers, no queues, links, orbits
//! or other flows. The transport owns what every algorithm would repeat: bytes in flight, RTT and RTO,
//! recovery episodes, pacing, the floor of the window. Windows are real numbers of segments.

#![forbid(unsafe_code)]

extern crate self as skyhop_cc; // the options! macro writes this name

/// The list of controls: the name in scenario files, the algorithm with its parameters, and what the TCP of that name
/// is in `skyhop-transport`: its loss recovery, and the agent of ns-2 that is meant by it.
#[macro_export]
macro_rules! for_each_control {
    ($declare:ident) => {
        $declare! {
            "reno": Reno, RenoConfig, RenoSpec, Reno, Ns2;
            "vegas": Vegas, VegasConfig, VegasSpec, Vegas, Ns2Vegas;
            "bic": Bic, BicConfig, BicSpec, Sack, Ns2Linux;
            "cubic": Cubic, CubicConfig, CubicSpec, Sack, Ns2Linux;
            "westwood": Westwood, WestwoodConfig, WestwoodSpec, Sack, Ns2Linux;
            "westwood+": WestwoodPlus, WestwoodPlusConfig, WestwoodPlusSpec, Sack, Ns2Linux;
            "tibet": Tibet, TibetConfig, TibetSpec, NewReno, Ns2;
            "fast": Fast, FastConfig, FastSpec, NewReno, Ns2;
            "hybla": Hybla, HyblaConfig, HyblaSpec, Sack, Ns2Linux;
            "veno": Veno, VenoConfig, VenoSpec, Sack, Ns2Linux;
            "htcp": Htcp, HtcpConfig, HtcpSpec, Sack, Ns2Linux;
            "highspeed": Highspeed, HighspeedConfig, HighspeedSpec, Sack, Ns2Linux;
            "scalable": Scalable, ScalableConfig, ScalableSpec, Sack, Ns2Linux;
            "illinois": Illinois, IllinoisConfig, IllinoisSpec, Sack, Ns2Linux;
            "yam": Yam, YamConfig, YamSpec, Yam, Ns2;
            "peach": Peach, PeachConfig, PeachSpec, Peach, Ns2;
            "yeah": Yeah, YeahConfig, YeahSpec, Sack, Ns2Linux;
            "compound": Compound, CompoundConfig, CompoundSpec, Sack, Ns2Linux;
            "lp": Lp, LpConfig, LpSpec, Sack, Ns2Linux;
            "naive_reno": NaiveReno, NaiveRenoConfig, NaiveRenoSpec, Sack, Ns2Linux;
        }
    };
}

mod assigned;
mod bandwidth;
mod bic;
mod compound;
mod control;
mod cubic;
mod error;
mod fast;
mod highspeed;
mod htcp;
mod hybla;
mod hystart;
mod illinois;
mod lp;
mod naive_reno;
mod options;
pub mod outside;
mod peach;
pub mod plugin;
mod reads;
mod reno;
mod sample;
mod scalable;
mod tibet;
mod vegas;
mod veno;
mod westwood;
mod westwood_plus;
mod window;
mod yam;
mod yeah;

pub use assigned::Assigned;
pub use bandwidth::bandwidth_window;
pub use bic::{AckRatio, Bic, BicConfig, BicSpec, FastConvergence, bic_with_ack_ratio};
pub use compound::{Compound, CompoundConfig, CompoundSpec};
pub use control::{Control, ControlConfig, ControlSpec};
pub use cubic::{Cubic, CubicConfig, CubicSpec, RenoFriendly, SlowStartExit};
pub use error::ConfigError;
pub use fast::{Fast, FastConfig, FastSpec, FastUpdate};
pub use highspeed::{Highspeed, HighspeedConfig, HighspeedSpec, Response};
pub use htcp::{BandwidthSwitch, Htcp, HtcpConfig, HtcpSpec, RttScaling};
pub use hybla::{
    FirstThreshold, Hybla, HyblaConfig, HyblaSpec, Spacing, hybla_avoidance, hybla_slow_start, hybla_slow_start_128,
};
pub use hystart::{css_growth, hystart_delay_threshold, hystart_train_threshold};
pub use illinois::{Illinois, IllinoisConfig, IllinoisCut, IllinoisSpec};
pub use lp::{Lp, LpConfig, LpSpec};
pub use naive_reno::{NaiveReno, NaiveRenoConfig, NaiveRenoSpec};
pub use options::{Bundle, OptionRow, Profile};
pub use outside::{PythonConfig, PythonSpec};
pub use peach::{Peach, PeachConfig, PeachSpec};
pub use plugin::{PluginConfig, PluginSpec};
pub use reads::Input;
pub use reno::{Counting, Reno, RenoConfig, RenoSpec, Rounding, limited_slow_start};
pub use sample::{
    AckSample, CcPhase, CcState, CongestionEvent, CongestionKind, Growth, LossSample, Lost, PathHint, Round,
    SentSample, Start,
};
pub use scalable::{Scalable, ScalableConfig, ScalableSpec};
pub use skyhop_base::Segments;
pub use tibet::{Stream, Tibet, TibetConfig, TibetEstimate, TibetSpec};
pub use vegas::{DiffRounding, Vegas, VegasConfig, VegasSpec, vegas_diff};
pub use veno::{Veno, VenoConfig, VenoSpec, veno_backlog};
pub use westwood::{
    BandwidthFilter, Westwood, WestwoodConfig, WestwoodSpec, tustin, tustin_alpha, westwood_ns2_filter,
};
pub use westwood_plus::{RoundFilter, WestwoodPlus, WestwoodPlusConfig, WestwoodPlusSpec};
pub use window::Form;
pub use yam::{Yam, YamConfig, YamSpec, YamUpdate, yam_avoidance};
pub use yeah::{Yeah, YeahConfig, YeahSpec, yeah_queue};

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

    /// An ACK that may not grow the window: a duplicate with news, or any during recovery. Its growth is zero;
    /// `on_ack` does not see it.
    fn on_measured(&mut self, _sample: &AckSample) {}

    /// Segments were found lost, before `on_congestion` where it follows; several calls may fall into one episode.
    fn on_lost(&mut self, _sample: &LossSample) {}

    /// A recovery episode starts: loss, an ECN mark or a timeout. Cuts the window.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// The recovery episode ends with an ACK that took the inflation of the window back.
    fn on_recovered(&mut self) {}

    /// A low-priority probe (a dummy segment of Peach) was acknowledged.
    fn on_probe_acked(&mut self) {}

    /// What the network says about itself, where the scenario grants it.
    fn on_path_hint(&mut self, _hint: &PathHint) {}

    /// Whether [`PathHint::Handover`] means something to it. It is told of none otherwise.
    fn hears_of_handovers(&self) -> bool {
        false
    }

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
