//! Losses other than congestion: a link loses packets after they have used it.

use crate::code::CodedChannel;
use crate::packet::{Flags, Packet};
use crate::slots::SlotScheduler;
use crate::spec::{ErrorConfig, ErrorUnit, GilbertElliott};
use skyhop_base::{Duration, Stream, Time};
use std::collections::BTreeSet;

#[derive(Debug)]
pub enum ErrorModel {
    /// Lost with probability 1 - (1 - p)^units; `log_success` is ln(1 - p).
    Independent {
        unit: ErrorUnit,
        log_success: f64,
        stream: Stream,
    },
    /// The same behind a code.
    Coded {
        channel: Box<CodedChannel>,
        stream: Stream,
    },
    Bursts(Bursts),
    Numbers {
        passed: u64,
        lost: BTreeSet<u64>,
    },
    Intervals(Vec<(Time, Time)>),
    Varying {
        steps: Vec<(Duration, f64)>,
        period: Duration,
        stream: Stream,
    },
    Slots {
        slots: Box<SlotScheduler>,
        stream: Stream,
    },
    Segments {
        flow: u32,
        left: BTreeSet<u32>,
    },
    OfData(Box<ErrorModel>),
    /// The link itself knows: [`crate::link::Link::take_reception`].
    Repaired,
}

/// The channel of Gilbert and Elliott. Its state belongs to the link, so a packet's outcome depends on the number of
/// packets before it, of whichever flow.
#[derive(Debug)]
pub struct Bursts {
    config: GilbertElliott,
    bad: bool,
    stream: Stream,
}

impl Bursts {
    /// Begins in the bad state with the share of time that the channel spends there.
    fn new(config: GilbertElliott, mut stream: Stream) -> Bursts {
        let bad = stream.uniform() < bad_share(&config);
        Bursts { config, bad, stream }
    }

    fn loses(&mut self) -> bool {
        let (loss, change) = match self.bad {
            false => (self.config.loss_good, self.config.to_bad),
            true => (self.config.loss_bad, self.config.to_good),
        };
        let lost = self.stream.uniform() < loss;
        self.bad ^= self.stream.uniform() < change;
        lost
    }
}

/// π_B = p_GB / (p_GB + p_BG), the share of packets that meet the bad state. A channel that never changes is good.
fn bad_share(config: &GilbertElliott) -> f64 {
    let steps = config.to_bad + config.to_good;
    if steps > 0.0 { config.to_bad / steps } else { 0.0 }
}

/// Probability that any of `units` is lost, each surviving with probability exp(`log_success`).
fn failure(log_success: f64, units: u32) -> f64 {
    -libm::expm1(log_success * f64::from(units))
}

/// Number of a packet within its flow, data and ACKs apart.
fn number_of(packet: &Packet) -> u64 {
    u64::from(packet.number) << 1 | u64::from(packet.is_ack())
}

fn units(unit: ErrorUnit, size_bytes: u16) -> u32 {
    match unit {
        ErrorUnit::Packet => 1,
        ErrorUnit::Byte => u32::from(size_bytes),
        ErrorUnit::Bit => 8 * u32::from(size_bytes),
    }
}

impl ErrorModel {
    pub fn new(config: &ErrorConfig, seed: u64, link: &str) -> ErrorModel {
        match config {
            ErrorConfig::Independent { unit, probability } => ErrorModel::Independent {
                unit: *unit,
                log_success: libm::log1p(-probability),
                stream: Stream::new(seed, link, "loss"),
            },
            ErrorConfig::Coded { unit, probability, code } => ErrorModel::Coded {
                channel: Box::new(CodedChannel::new(*code, *unit, *probability)),
                stream: Stream::new(seed, link, "loss"),
            },
            ErrorConfig::GilbertElliott(config) => {
                ErrorModel::Bursts(Bursts::new(*config, Stream::new(seed, link, "bursts")))
            }
            ErrorConfig::PacketNumbers(numbers) => {
                ErrorModel::Numbers { passed: 0, lost: numbers.iter().copied().collect() }
            }
            ErrorConfig::Intervals(intervals) => ErrorModel::Intervals(intervals.clone()),
            ErrorConfig::Varying { steps, period } => ErrorModel::Varying {
                steps: steps.clone(),
                period: *period,
                stream: Stream::new(seed, link, "varying loss"),
            },
            ErrorConfig::Slots(config) => ErrorModel::Slots {
                slots: Box::new(SlotScheduler::new(config, seed, link)),
                stream: Stream::new(seed, link, "loss of slots"),
            },
            ErrorConfig::OfData(config) => ErrorModel::OfData(Box::new(ErrorModel::new(config, seed, link))),
            ErrorConfig::Segments { flow, segments } => {
                ErrorModel::Segments { flow: *flow as u32, left: segments.iter().copied().collect() }
            }
        }
    }

    /// Whether the packet is lost that arrives at `now`. Where losses are independent, `flow_key`, which tells flows
    /// apart whatever their order, and the packet's number decide alone, so that the n-th packet of a flow has the
    /// same outcome under two congestion controls.
    pub fn loses(&mut self, now: Time, packet: &Packet, flow_key: u64) -> bool {
        match self {
            ErrorModel::Independent { unit, log_success, stream } => {
                stream.uniform_of(flow_key, number_of(packet)) < failure(*log_success, units(*unit, packet.size))
            }
            ErrorModel::Coded { channel, stream } => {
                stream.uniform_of(flow_key, number_of(packet)) < channel.failure(packet.size.into())
            }
            ErrorModel::Varying { steps, period, stream } => {
                let into = Duration::from_nanos(now.as_nanos() % period.as_nanos().max(1));
                let next = steps.partition_point(|&(at, _)| at <= into);
                let probability = next.checked_sub(1).map_or(0.0, |last| steps[last].1);
                stream.uniform_of(flow_key, number_of(packet)) < probability
            }
            ErrorModel::Slots { slots, stream } => stream.uniform_of(flow_key, number_of(packet)) < slots.loss(now),
            ErrorModel::Bursts(bursts) => bursts.loses(),
            ErrorModel::OfData(model) => !packet.is_ack() && model.loses(now, packet, flow_key),
            ErrorModel::Numbers { passed, lost } => {
                *passed += 1;
                lost.remove(&(*passed - 1))
            }
            ErrorModel::Repaired => false,
            ErrorModel::Intervals(intervals) => intervals.iter().any(|&(from, until)| from <= now && now < until),
            ErrorModel::Segments { flow, left } => {
                packet.flow == *flow
                    && !packet.is_ack()
                    && !packet.flags.has(Flags::RETRANSMISSION)
                    && left.remove(&packet.seq)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Time;

    fn packet(seq: u32, number: u32, flags: Flags) -> Packet {
        Packet { stamp: Time::ZERO, flow: 0, seq, number, detail: 0, to: 0, size: 1000, ttl: 9, flags }
    }

    #[test]
    fn named_segments_are_lost_once_at_their_first_transmission() {
        let mut model = ErrorModel::new(&ErrorConfig::Segments { flow: 0, segments: vec![5] }, 1, "link");
        assert!(!model.loses(Time::ZERO, &packet(4, 4, Flags::NONE), 0));
        assert!(!model.loses(Time::ZERO, &packet(5, 5, Flags::ACK), 0));
        assert!(model.loses(Time::ZERO, &packet(5, 5, Flags::NONE), 0));
        assert!(!model.loses(Time::ZERO, &packet(5, 9, Flags::RETRANSMISSION), 0));
        assert!(!model.loses(Time::ZERO, &packet(5, 10, Flags::NONE), 0));
    }

    #[test]
    fn the_loss_rate_is_the_one_asked_for_and_depends_on_the_number_alone() {
        let config = ErrorConfig::Independent { unit: ErrorUnit::Packet, probability: 0.1 };
        let mut model = ErrorModel::new(&config, 3, "link");
        let n = 40_000;
        let losses: Vec<bool> = (0..n).map(|i| model.loses(Time::ZERO, &packet(i, i, Flags::NONE), 17)).collect();
        let lost = losses.iter().filter(|&&lost| lost).count() as f64;
        // Four standard deviations of a binomial count.
        assert!((lost - 4000.0).abs() < 4.0 * (f64::from(n) * 0.1 * 0.9).sqrt(), "{lost}");
        let mut again = ErrorModel::new(&config, 3, "link");
        assert!((0..n).rev().all(|i| again.loses(Time::ZERO, &packet(7, i, Flags::NONE), 17) == losses[i as usize]));
        let other =
            (0..n).filter(|&i| again.loses(Time::ZERO, &packet(7, i, Flags::NONE), 18) == losses[i as usize]).count();
        assert!(other < n as usize * 9 / 10, "another flow must have outcomes of its own");
    }

    fn vector(name: &str) -> serde_json::Value {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/vectors/algorithms_vectors.json")).unwrap();
        all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == name).cloned().unwrap()
    }

    #[test]
    fn the_chance_of_a_packet_is_that_of_the_worked_example() {
        let v = vector("packet_success");
        let sizes = v["inputs"]["bytes"].as_array().unwrap();
        for (i, p) in v["inputs"]["p"].as_array().unwrap().iter().enumerate() {
            let log_success = libm::log1p(-p.as_f64().unwrap());
            for (unit, key) in [(ErrorUnit::Byte, "per_byte"), (ErrorUnit::Bit, "per_bit")] {
                for (j, size) in sizes.iter().enumerate() {
                    let want = v["expected"][key][i][j].as_f64().unwrap();
                    let got = 1.0 - failure(log_success, units(unit, size.as_u64().unwrap() as u16));
                    // The published value goes through pow; ours through a logarithm of 12000 units.
                    assert!((got - want).abs() < 1e-12, "{key} {p} {size}: {got} {want}");
                }
            }
        }
    }

    #[test]
    fn small_packets_survive_where_large_ones_do_not() {
        let config = ErrorConfig::Independent { unit: ErrorUnit::Byte, probability: 1e-3 };
        let mut model = ErrorModel::new(&config, 3, "link");
        let n = 20_000;
        for (size, chance) in [(80, 0.923_079), (1540, 0.214_216)] {
            let survived = (0..n)
                .filter(|&i| !model.loses(Time::ZERO, &Packet { size, ..packet(i, i, Flags::NONE) }, u64::from(size)))
                .count() as f64;
            let sd = (f64::from(n) * chance * (1.0 - chance)).sqrt();
            assert!((survived - f64::from(n) * chance).abs() < 4.0 * sd, "{size} B: {survived}");
        }
    }

    #[test]
    fn bursts_have_the_length_and_the_losses_of_the_worked_example() {
        let v = vector("gilbert_elliott");
        let number = |part: &str, key: &str| v[part][key].as_f64().unwrap();
        let config = GilbertElliott {
            to_bad: number("inputs", "p_gb"),
            to_good: number("inputs", "p_bg"),
            loss_good: number("inputs", "loss_good"),
            loss_bad: number("inputs", "loss_bad"),
        };
        assert!((bad_share(&config) - number("expected", "pi_bad")).abs() < 1e-12);
        let mut bursts = Bursts::new(config, Stream::new(5, "link", "bursts"));
        let n = 1_000_000;
        let (mut lost, mut bad, mut changes) = (0, 0, 0);
        for _ in 0..n {
            let before = bursts.bad;
            bad += u32::from(before);
            lost += u32::from(bursts.loses());
            changes += u32::from(before && !bursts.bad);
        }
        // Some 9000 bursts, each as long as its standard deviation: means within 1.1 %, four times that is allowed.
        let burst = f64::from(bad) / f64::from(changes);
        assert!((burst / number("expected", "mean_bad_burst") - 1.0).abs() < 0.045, "{burst}");
        let loss = f64::from(lost) / f64::from(n);
        assert!((loss / number("expected", "mean_loss") - 1.0).abs() < 0.08, "{loss}");
    }

    #[test]
    fn errors_of_data_leave_acks_alone() {
        let config =
            ErrorConfig::OfData(Box::new(ErrorConfig::Independent { unit: ErrorUnit::Packet, probability: 1.0 }));
        let mut model = ErrorModel::new(&config, 1, "link");
        assert!(model.loses(Time::ZERO, &packet(1, 1, Flags::NONE), 0));
        assert!(!model.loses(Time::ZERO, &packet(1, 1, Flags::ACK), 0));
    }

    #[test]
    fn a_trace_names_packets_or_times() {
        let mut numbers = ErrorModel::new(&ErrorConfig::PacketNumbers(vec![1, 3]), 1, "link");
        let losses: Vec<bool> = (0..5).map(|i| numbers.loses(Time::ZERO, &packet(i, i, Flags::NONE), 0)).collect();
        assert_eq!(losses, [false, true, false, true, false]);
        let at = Time::from_nanos;
        let mut intervals = ErrorModel::new(&ErrorConfig::Intervals(vec![(at(10), at(20))]), 1, "link");
        let losses = [9, 10, 19, 20].map(|ns| intervals.loses(at(ns), &packet(0, 0, Flags::NONE), 0));
        assert_eq!(losses, [false, true, true, false]);
    }
}
