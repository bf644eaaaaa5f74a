//! Detectors of lasting jumps of the RTT, as quiche's BBR2 has them since July 2026 (cloudflare/quiche, pull requests
//! 2555 and 2556; `quiche/src/recovery/gcongestion/bbr2/rtt_jump_detector/`). They count jumps and change nothing else.
//!
//! - `global-min`: an RTT above three times the smallest so far is elevated. Three elevated samples in a row, the last
//!   at least three times the smallest RTT after the first, are a jump; a sample that is not elevated ends it.
//! - `hmm`: a hidden Markov model of three states (normal, transient, persistent). It observes by how much the RTT
//!   exceeds the elevation at which the connection usually is. A jump has to last for five RTTs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parameters::{Value, Written};

/// Which detector looks for lasting jumps of the RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttJumps {
    /// None, as in quiche unless it is asked for.
    #[default]
    Off,
    /// Samples above three times the smallest RTT.
    GlobalMin,
    /// A hidden Markov model.
    Hmm,
}

impl Value for RttJumps {
    fn written(self) -> Written {
        Written::Name(match self {
            RttJumps::Off => "off",
            RttJumps::GlobalMin => "global-min",
            RttJumps::Hmm => "hmm",
        })
    }
}

/// The detector of a connection. Times in microseconds.
#[derive(Clone, Debug)]
pub enum Detector {
    Off,
    GlobalMin(GlobalMin),
    Hmm(Box<Hmm>),
}

impl Detector {
    pub fn new(kind: RttJumps) -> Detector {
        match kind {
            RttJumps::Off => Detector::Off,
            RttJumps::GlobalMin => Detector::GlobalMin(GlobalMin::default()),
            RttJumps::Hmm => Detector::Hmm(Box::default()),
        }
    }

    /// Takes a sample of the RTT; true when it confirms a jump. Until the control has found the path's full bandwidth,
    /// its own queue explains a longer RTT, and no jump is confirmed.
    pub fn on_sample(&mut self, rtt_us: u64, now_us: u64, full_bandwidth: bool) -> bool {
        match self {
            Detector::Off => false,
            Detector::GlobalMin(detector) => detector.on_sample(rtt_us, now_us, full_bandwidth),
            Detector::Hmm(detector) => detector.on_sample(rtt_us, now_us, full_bandwidth),
        }
    }
}

/// Samples above so many times the smallest are elevated.
const ELEVATED: u64 = 3;
/// A jump has so many elevated samples at least, and lasts for so many of the smallest RTTs.
const CONFIRMING_SAMPLES: u32 = 3;
const CONFIRMING_RTTS: u64 = 3;

/// A run of elevated samples.
#[derive(Clone, Copy, Debug)]
struct Run {
    since_us: u64,
    samples: u32,
    confirmed: bool,
}

/// Compares each sample with the smallest RTT of the connection.
#[derive(Clone, Debug, Default)]
pub struct GlobalMin {
    smallest_us: Option<u64>,
    run: Option<Run>,
}

impl GlobalMin {
    fn on_sample(&mut self, rtt_us: u64, now_us: u64, full_bandwidth: bool) -> bool {
        let before = self.smallest_us;
        self.smallest_us = Some(before.map_or(rtt_us, |smallest| smallest.min(rtt_us)));
        let Some(smallest_us) = before.filter(|_| full_bandwidth) else { return false };
        if rtt_us <= ELEVATED * smallest_us {
            self.run = None;
            return false;
        }
        let run = self.run.get_or_insert(Run { since_us: now_us, samples: 0, confirmed: false });
        run.samples += 1;
        let lasts = now_us.saturating_sub(run.since_us) >= CONFIRMING_RTTS * smallest_us;
        let confirms = !run.confirmed && run.samples >= CONFIRMING_SAMPLES && lasts;
        run.confirmed |= confirms;
        confirms
    }
}

/// States of the hidden Markov model, the calmest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum State {
    Normal,
    Transient,
    Persistent,
}

const STATES: [State; 3] = [State::Normal, State::Transient, State::Persistent];

/// Probabilities of quiche's model, which its authors fitted to constructed jumps: of the next state given the last,
/// and of a bin of elevation given the state.
const TRANSITION: [[f32; 3]; 3] = [[0.9939, 0.0055, 0.0006], [0.45, 0.35, 0.2], [0.0243, 0.1603, 0.8154]];
const EMISSION: [[f32; 5]; 3] =
    [[0.9996, 0.0001, 0.0001, 0.0001, 0.0001], [0.1, 0.35, 0.3, 0.15, 0.1], [0.0001, 0.5, 0.22, 0.16, 0.1199]];
/// Where the bins of elevation begin, but the first; in multiples of the usual elevation.
const BINS: [f32; 4] = [1.0, 2.0, 4.0, 8.0];
/// Samples before the model is used.
const WARM_UP: u32 = 8;
/// The usual elevation follows samples with this weight, and counts as this at the least.
const WEIGHT: f32 = 0.0625;
const LEAST_ELEVATION: f32 = 0.2;
/// How long a state must last before it counts, in RTTs, and in any case.
const PERSISTENT_RTTS: f32 = 5.0;
const OTHER_RTTS: f32 = 1.0;
const LEAST_US: u64 = 80_000;

/// A state that the model takes for the likeliest but that does not count yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    state: State,
    since_us: u64,
    samples: u32,
}

/// The hidden Markov model with forward filtering.
#[derive(Clone, Debug)]
pub struct Hmm {
    /// How likely each state is.
    likely: [f32; 3],
    state: State,
    pending: Option<Pending>,
    /// The present departure from normal is counted.
    counted: bool,
    samples: u32,
    elevated_in_warm_up: u32,
    smallest_us: Option<u64>,
    /// The elevation of the RTT above the smallest at which the connection usually is, as a share of the smallest.
    usual: f32,
}

impl Default for Hmm {
    fn default() -> Hmm {
        Hmm {
            likely: [1.0, 0.0, 0.0],
            state: State::Normal,
            pending: None,
            counted: false,
            samples: 0,
            elevated_in_warm_up: 0,
            smallest_us: None,
            usual: 0.0,
        }
    }
}

impl Hmm {
    fn on_sample(&mut self, rtt_us: u64, now_us: u64, full_bandwidth: bool) -> bool {
        self.samples = self.samples.saturating_add(1);
        let elevation = self.elevation(rtt_us);
        if self.samples <= WARM_UP {
            if elevation > 0.0 {
                self.elevated_in_warm_up += 1;
                self.usual += (elevation - self.usual) / self.elevated_in_warm_up as f32;
            }
            self.note_smallest(rtt_us);
            return false;
        }
        let excess = (elevation - self.usual).max(0.0) / self.usual.max(LEAST_ELEVATION);
        self.filter(BINS.iter().take_while(|&&begin| excess >= begin).count());
        let mut confirms = false;
        let mut calmed = false;
        if !full_bandwidth {
            self.pending = None;
        } else if self.settles(rtt_us, now_us) {
            confirms = self.state == State::Persistent && !self.counted;
            calmed = self.state == State::Normal;
            self.counted = (self.counted || confirms) && !calmed;
        }
        // After a jump the present RTT is the new normal.
        if calmed {
            self.smallest_us = Some(rtt_us);
        } else {
            self.note_smallest(rtt_us);
        }
        if self.state == State::Normal && self.pending.is_none() {
            self.usual += WEIGHT * (self.elevation(rtt_us) - self.usual);
        }
        confirms
    }

    /// One step of the forward filter with the bin of a sample.
    fn filter(&mut self, bin: usize) {
        let mut next = [0.0_f32; 3];
        for (to, chance) in next.iter_mut().enumerate() {
            let comes: f32 = self.likely.iter().zip(&TRANSITION).map(|(likely, row)| likely * row[to]).sum();
            *chance = comes * EMISSION[to][bin];
        }
        let sum: f32 = next.iter().sum();
        self.likely = if sum > 0.0 { next.map(|chance| chance / sum) } else { [1.0, 0.0, 0.0] };
    }

    /// The likeliest state; the calmer one of two that are as likely.
    fn likeliest(&self) -> State {
        let best = (1..3).fold(0, |best, i| if self.likely[i] > self.likely[best] { i } else { best });
        STATES[best]
    }

    /// Whether the likeliest state has lasted long enough to count from now on.
    fn settles(&mut self, rtt_us: u64, now_us: u64) -> bool {
        let state = self.likeliest();
        if state == self.state {
            self.pending = None;
            return false;
        }
        let new = Pending { state, since_us: now_us, samples: 0 };
        let pending = self.pending.get_or_insert(new);
        if pending.state != state {
            *pending = new;
        }
        pending.samples = pending.samples.saturating_add(1);
        let persists = state == State::Persistent;
        let rtts = if persists { PERSISTENT_RTTS } else { OTHER_RTTS };
        let lasting_us = LEAST_US.max((rtt_us as f64 * f64::from(rtts)) as u64);
        let settles = (!persists || pending.samples >= CONFIRMING_SAMPLES)
            && now_us.saturating_sub(pending.since_us) >= lasting_us;
        if settles {
            self.state = state;
            self.pending = None;
        }
        settles
    }

    fn elevation(&self, rtt_us: u64) -> f32 {
        match self.smallest_us {
            Some(smallest) if smallest > 0 => (rtt_us as f32 / smallest as f32 - 1.0).max(0.0),
            _ => 0.0,
        }
    }

    fn note_smallest(&mut self, rtt_us: u64) {
        self.smallest_us = Some(self.smallest_us.map_or(rtt_us, |smallest| smallest.min(rtt_us)));
    }
}
