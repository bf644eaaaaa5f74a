//! HyStart: slow start ends before the queue overflows (Ha and Rhee 2011), by the length of a train of ACKs or by the
//! growth of the delay, each as the kernel measures it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow::Flow;
use crate::segment::Seq;
use crate::switch::Switch;

/// Which of the two detectors run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HystartOptions {
    /// A train of ACKs as long as half the smallest RTT ends slow start.
    #[serde(with = "crate::switch")]
    #[schemars(with = "Switch")]
    pub train: bool,
    /// An RTT that grows by an eighth, at least 4 and at most 16 ms, ends slow start.
    #[serde(with = "crate::switch")]
    #[schemars(with = "Switch")]
    pub delay: bool,
    /// The smallest window at which the detectors run, in segments.
    pub low_window: u32,
    /// ACKs further apart than this many microseconds do not belong to one train.
    pub ack_delta_us: u64,
}

/// HyStart in a file: "off", or a table.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HystartOrOff {
    Switch(Switch),
    Options(HystartOptions),
}

/// For `#[serde(with = "…")]`.
pub(super) mod or_off {
    use super::{HystartOptions, HystartOrOff, Switch};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(options: &Option<HystartOptions>, serializer: S) -> Result<S::Ok, S::Error> {
        let written = options.map_or(HystartOrOff::Switch(Switch::Off), HystartOrOff::Options);
        written.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<HystartOptions>, D::Error> {
        Ok(match HystartOrOff::deserialize(deserializer)? {
            HystartOrOff::Switch(Switch::Off) => None,
            HystartOrOff::Switch(Switch::On) => Some(HystartOptions::default()),
            HystartOrOff::Options(options) => Some(options),
        })
    }
}

impl Default for HystartOptions {
    fn default() -> HystartOptions {
        HystartOptions { train: true, delay: true, low_window: 16, ack_delta_us: 2_000 }
    }
}

/// Samples of a round before the delay detector judges.
const MIN_SAMPLES: u32 = 8;
/// Bounds of the growth of the delay that ends slow start, in microseconds.
const DELAY_BOUNDS_US: (u64, u64) = (4_000, 16_000);
/// Upper bound of the delay that the sender's own bursts add to an ACK train, in microseconds.
const MOST_ACK_DELAY_US: u64 = 1_000;
/// The largest burst that the host hands to its device, in bytes.
const LARGEST_BURST: u64 = 65_536;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hystart {
    pub found: bool,
    samples: u32,
    round_start_us: u64,
    last_ack_us: u64,
    round_end: Seq,
    round_rtt_us: u64,
}

impl Hystart {
    /// Begins a round with the next data to be sent.
    pub fn reset_round(&mut self, flow: &Flow) {
        self.round_start_us = flow.now_us;
        self.last_ack_us = flow.now_us;
        self.round_end = flow.nxt;
        self.round_rtt_us = u64::MAX;
        self.samples = 0;
    }

    /// Takes an RTT of `rtt_us`; sets the threshold to the window where slow start should end.
    pub fn update(&mut self, options: HystartOptions, flow: &mut Flow, rtt_us: u64, delay_min_us: u64) {
        if flow.una > self.round_end {
            self.reset_round(flow);
        }
        if flow.cwnd < options.low_window {
            return;
        }
        if options.train && flow.now_us - self.last_ack_us <= options.ack_delta_us {
            self.last_ack_us = flow.now_us;
            let mut threshold = delay_min_us + host_delay_us(flow);
            // Pacing alone stretches the train to half an RTT.
            if !flow.paced {
                threshold >>= 1;
            }
            if flow.now_us - self.round_start_us > threshold {
                self.found = true;
                flow.ssthresh = flow.cwnd;
            }
        }
        if options.delay {
            self.round_rtt_us = self.round_rtt_us.min(rtt_us);
            if self.samples < MIN_SAMPLES {
                self.samples += 1;
            } else if self.round_rtt_us > delay_min_us + (delay_min_us >> 3).clamp(DELAY_BOUNDS_US.0, DELAY_BOUNDS_US.1)
            {
                self.found = true;
                flow.ssthresh = flow.cwnd;
            }
        }
    }
}

fn host_delay_us(flow: &Flow) -> u64 {
    match flow.pacing_rate {
        0 => 0,
        rate => (LARGEST_BURST * 4 * 1_000_000 / rate).min(MOST_ACK_DELAY_US),
    }
}
