//! Random early detection. It decides when a packet arrives, so it fits a [`crate::link::Link`] that knows departures
//! at once.
//!
//! S. Floyd and V. Jacobson, "Random early detection gateways for congestion avoidance", ToN 1(4), 1993; the gentle
//! form: S. Floyd, "Recommendation on using the gentle_ variant of RED", 2000; the adaptive form: S. Floyd, R. Gummadi
//! and S. Shenker, "Adaptive RED", 2001; ns-2's rules: `algorithms.md` §4.2.

use crate::spec::{AdaptiveRed, RedConfig, RedCounting, RedSpacing, RedUnit};
use skyhop_base::{Duration, Rate, Stream, Time};

/// An arriving packet, and the queue that it finds.
#[derive(Clone, Copy, Debug)]
pub struct QueueOnArrival {
    pub now: Time,
    pub size_bytes: u32,
    pub ecn_capable: bool,
    /// Waiting packets, without the one in service.
    pub waiting_packets: u32,
    pub waiting_bytes: u64,
    /// For how long the transmitter has had nothing to send.
    pub idle: Duration,
}

/// Whether a packet with such an arrival gets into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Pass,
    /// It passes, marked (CE of RFC 3168).
    Mark,
    /// It is dropped, though there would be room.
    Drop,
}

#[derive(Debug)]
pub struct Red {
    config: RedConfig,
    stream: Stream,
    /// Mean packets that the link serves in a second.
    service_rate: f64,
    /// Moving average of the queue, in the unit of the thresholds.
    average: f64,
    max_p: f64,
    /// When `max_p` was adapted last.
    adapted: Time,
    /// Packets since the last drop; -1 below the lower threshold ([`RedCounting::Floyd`]).
    count: i64,
    /// Bytes since the last drop.
    count_bytes: u64,
    /// Whether the average was above the lower threshold at the arrival before.
    above: bool,
}

impl Red {
    pub fn new(config: &RedConfig, rate: Rate, stream: Stream) -> Red {
        Red {
            service_rate: rate.bps_f64() / (8.0 * f64::from(config.mean_packet_bytes)),
            average: 0.0,
            max_p: config.max_p,
            adapted: Time::ZERO,
            count: -1,
            count_bytes: 0,
            above: false,
            config: config.clone(),
            stream,
        }
    }

    /// What becomes of the arriving packet, as far as early detection goes.
    pub fn decides(&mut self, arrival: &QueueOnArrival) -> Admission {
        let queue = match self.config.unit {
            RedUnit::Packets => f64::from(arrival.waiting_packets),
            RedUnit::Bytes => arrival.waiting_bytes as f64,
        };
        let missed = (arrival.idle.as_secs_f64() * self.service_rate).floor();
        self.average =
            average_next(average_after_idle(self.average, self.config.weight, missed), self.config.weight, queue);
        if let Some(adaptive) = self.config.adaptive
            && arrival.now.since(self.adapted) > adaptive.interval
        {
            self.max_p = max_p_next(&self.config, &adaptive, self.max_p, self.average);
            self.adapted = arrival.now;
        }
        match self.config.counting {
            RedCounting::Floyd => self.decides_floyd(arrival),
            RedCounting::Ns2 => self.decides_ns2(arrival, queue),
        }
    }

    fn decides_floyd(&mut self, arrival: &QueueOnArrival) -> Admission {
        if self.average < self.config.min_threshold {
            self.count = -1;
            self.count_bytes = 0;
            return Admission::Pass;
        }
        self.count += 1;
        self.draws(arrival, probability(&self.config, self.max_p, self.average))
    }

    /// The count runs on every arrival, the first packet above the threshold passes, and so does one that finds at
    /// most one waiting.
    fn decides_ns2(&mut self, arrival: &QueueOnArrival, queue: f64) -> Admission {
        self.count += 1;
        self.count_bytes += u64::from(arrival.size_bytes);
        if self.average < self.config.min_threshold || queue <= 1.0 {
            self.above = false;
            return Admission::Pass;
        }
        let p_b = probability(&self.config, self.max_p, self.average);
        if p_b >= 1.0 {
            self.restart_count();
            return Admission::Drop;
        }
        if !self.above {
            self.above = true;
            self.count = 1;
            self.count_bytes = u64::from(arrival.size_bytes);
            return Admission::Pass;
        }
        self.draws(arrival, p_b)
    }

    fn draws(&mut self, arrival: &QueueOnArrival, p_b: f64) -> Admission {
        let mean = f64::from(self.config.mean_packet_bytes);
        let share = match self.config.unit {
            RedUnit::Packets => 1.0,
            RedUnit::Bytes => f64::from(arrival.size_bytes) / mean,
        };
        let p_a = match (self.config.counting, self.config.unit) {
            // Byte mode of ns-2: whole mean packets since the last drop; the share of the size comes last.
            (RedCounting::Ns2, RedUnit::Bytes) => {
                let count = (self.count_bytes as f64 / mean).floor();
                spaced(self.config.spacing, p_b, count) * share
            }
            // Floyd and Jacobson, §4: p_b · size / largest size, before the spacing.
            _ => spaced(self.config.spacing, p_b * share, self.count.max(0) as f64),
        };
        if self.stream.uniform() >= p_a {
            return Admission::Pass;
        }
        self.restart_count();
        // RFC 3168 §7: a mark replaces an early drop. Where nearly all packets would be dropped, the drop bounds the
        // queue and stays (ns-2's mark_p_, `algorithms.md` §4.2).
        let marks = arrival.ecn_capable && self.config.mark_up_to.is_some_and(|most| p_b < most);
        if marks { Admission::Mark } else { Admission::Drop }
    }

    fn restart_count(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }

    /// A packet was dropped because there was no room: the count begins anew as after any drop.
    pub fn overflowed(&mut self) {
        self.restart_count();
    }
}

/// avg ← (1 − w) avg + w q.
fn average_next(average: f64, weight: f64, queue: f64) -> f64 {
    (1.0 - weight) * average + weight * queue
}

/// The average after `missed` small packets could have left an idle link.
fn average_after_idle(average: f64, weight: f64, missed: f64) -> f64 {
    if missed > 0.0 { average * libm::pow(1.0 - weight, missed) } else { average }
}

/// p_b, the probability before the packets since the last drop count.
fn probability(config: &RedConfig, max_p: f64, average: f64) -> f64 {
    let (min, max) = (config.min_threshold, config.max_threshold);
    if average < min {
        0.0
    } else if average < max {
        max_p * (average - min) / (max - min)
    } else if config.gentle && average < 2.0 * max {
        max_p + (1.0 - max_p) * (average - max) / max
    } else {
        1.0
    }
}

/// p_a: `p_b` with drops spread over the packets.
fn spaced(spacing: RedSpacing, p_b: f64, count: f64) -> f64 {
    let expected = count * p_b;
    match spacing {
        RedSpacing::Uniform if expected < 1.0 => (p_b / (1.0 - expected)).min(1.0),
        RedSpacing::Wait if expected < 1.0 => 0.0,
        RedSpacing::Wait if expected < 2.0 => (p_b / (2.0 - expected)).min(1.0),
        _ => 1.0,
    }
}

/// Adaptive RED: keeps the average in the middle fifth between the thresholds.
fn max_p_next(config: &RedConfig, adaptive: &AdaptiveRed, max_p: f64, average: f64) -> f64 {
    let range = config.max_threshold - config.min_threshold;
    if average > config.min_threshold + 0.6 * range && max_p < adaptive.top {
        max_p + adaptive.increase.min(max_p / 4.0)
    } else if average < config.min_threshold + 0.4 * range && max_p > adaptive.bottom {
        max_p * adaptive.decrease
    } else {
        max_p
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn vector(name: &str) -> Value {
        let all: Value = serde_json::from_str(include_str!("../../../tests/vectors/algorithms_vectors.json")).unwrap();
        all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == name).cloned().unwrap()
    }

    fn number(value: &Value) -> f64 {
        value.as_f64().unwrap()
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(number).collect()
    }

    fn config() -> RedConfig {
        RedConfig {
            unit: RedUnit::Packets,
            min_threshold: 5.0,
            max_threshold: 15.0,
            weight: 0.002,
            max_p: 0.1,
            gentle: false,
            spacing: RedSpacing::Uniform,
            counting: RedCounting::Floyd,
            mean_packet_bytes: 1000,
            adaptive: None,
            mark_up_to: None,
        }
    }

    fn red(config: &RedConfig) -> Red {
        Red::new(config, Rate::from_bps(8_000_000).unwrap(), Stream::new(1, "link", "red"))
    }

    fn arrival(waiting: u32, now: Time) -> QueueOnArrival {
        let waiting_bytes = 1000 * u64::from(waiting);
        let (size_bytes, ecn_capable, idle) = (1000, false, Duration::ZERO);
        QueueOnArrival { now, size_bytes, ecn_capable, waiting_packets: waiting, waiting_bytes, idle }
    }

    fn drops(red: &mut Red, arrival: &QueueOnArrival) -> bool {
        red.decides(arrival) == Admission::Drop
    }

    #[test]
    fn the_average_is_that_of_the_worked_example() {
        let v = vector("red_average");
        let (i, e) = (&v["inputs"], &v["expected"]);
        let (avg, w) = (number(&i["avg"]), number(&i["w_q"]));
        assert!((average_next(avg, w, number(&i["q"])) - number(&e["avg_next"])).abs() < 1e-9);
        let idle = average_after_idle(avg, w, number(&i["idle_packets"]));
        assert!((idle - number(&e["avg_after_idle"])).abs() < 1e-9);
    }

    #[test]
    fn probabilities_are_those_of_the_worked_example() {
        let v = vector("red_probability");
        for (gentle, key) in [(true, "p_b_gentle"), (false, "p_b_classic")] {
            let config = RedConfig { gentle, ..config() };
            for (avg, want) in numbers(&v["inputs"]["avg"]).into_iter().zip(numbers(&v["expected"][key])) {
                assert!((probability(&config, 0.1, avg) - want).abs() < 1e-9, "{key} {avg}");
            }
        }
    }

    #[test]
    fn spacing_is_that_of_the_worked_example() {
        let v = vector("red_count");
        let p_b = number(&v["inputs"]["p_b"]);
        for (spacing, key) in [(RedSpacing::Uniform, "p_a_no_wait"), (RedSpacing::Wait, "p_a_wait")] {
            for (count, want) in numbers(&v["inputs"]["count"]).into_iter().zip(numbers(&v["expected"][key])) {
                assert!((spaced(spacing, p_b, count) - want).abs() < 1e-9, "{key} {count}");
            }
        }
    }

    #[test]
    fn adaptation_is_that_of_the_worked_example() {
        let v = vector("adaptive_red_maxp");
        let i = &v["inputs"];
        let adaptive = AdaptiveRed::default();
        let constants = [adaptive.increase, adaptive.decrease, adaptive.top, adaptive.bottom];
        assert_eq!(constants, ["alpha", "beta", "top", "bottom"].map(|key| number(&i[key])));
        for (avg, want) in numbers(&i["avg"]).into_iter().zip(numbers(&v["expected"]["max_p_next"])) {
            assert!((max_p_next(&config(), &adaptive, number(&i["max_p"]), avg) - want).abs() < 1e-9);
        }
    }

    /// Gaps between drops are uniform (Floyd and Jacobson, §7): over 1 to 1/p_b − 1 packets, since the first packet
    /// after a drop finds a count of 1 (their Figure 2). So their mean is 1 / 2p_b.
    #[test]
    fn drops_at_a_constant_average_are_spread_uniformly() {
        let config = RedConfig { weight: 1.0, ..config() };
        let mut red = red(&config);
        let n = 200_000;
        let drops = (0..n).filter(|_| drops(&mut red, &arrival(10, Time::ZERO))).count();
        // p_b = 0.05: gaps 1..19, variance (19² − 1)/12; four standard deviations of the mean gap.
        let gap = f64::from(n) / drops as f64;
        assert!((gap - 10.0).abs() < 4.0 * (360.0_f64 / 12.0 / drops as f64).sqrt(), "{gap}");
    }

    #[test]
    fn above_the_upper_threshold_everything_is_dropped_unless_gentle() {
        let mut hard = red(&RedConfig { weight: 1.0, ..config() });
        assert!((0..100).all(|_| drops(&mut hard, &arrival(15, Time::ZERO))));
        let mut gentle = red(&RedConfig { weight: 1.0, gentle: true, ..config() });
        let passed = (0..1000).filter(|_| !drops(&mut gentle, &arrival(15, Time::ZERO))).count();
        assert!((700..=900).contains(&passed), "{passed}: gaps of 1 to 10");
    }

    #[test]
    fn ns2_lets_the_first_packet_above_the_threshold_and_short_queues_pass() {
        let mut red = red(&RedConfig { weight: 1.0, min_threshold: 0.5, counting: RedCounting::Ns2, ..config() });
        assert!((0..1000).all(|_| !drops(&mut red, &arrival(1, Time::ZERO))));
        assert!(!drops(&mut red, &arrival(14, Time::ZERO)));
        assert!((0..1000).any(|_| drops(&mut red, &arrival(14, Time::ZERO))));
    }

    /// The same arrivals with and without ECN: packets dropped without it are marked with it, up to the bound.
    #[test]
    fn marks_stand_for_drops_up_to_the_bound() {
        let verdicts = |config: RedConfig, capable: bool, waiting: u32| {
            let mut red = red(&RedConfig { weight: 1.0, gentle: true, ..config });
            let arrival = QueueOnArrival { ecn_capable: capable, ..arrival(waiting, Time::ZERO) };
            (0..1000).map(|_| red.decides(&arrival)).collect::<Vec<_>>()
        };
        let marking = RedConfig { mark_up_to: Some(0.1), ..config() };
        let swapped = |list: &[Admission]| {
            list.iter().map(|v| if *v == Admission::Drop { Admission::Mark } else { *v }).collect::<Vec<_>>()
        };
        let dropped = verdicts(marking.clone(), false, 10);
        assert!(dropped.contains(&Admission::Drop) && !dropped.contains(&Admission::Mark));
        assert_eq!(verdicts(marking.clone(), true, 10), swapped(&dropped));
        // Above `max` p_b is more than 0.1; without the option nothing is marked.
        assert!(!verdicts(marking, true, 16).contains(&Admission::Mark));
        assert_eq!(verdicts(config(), true, 10), dropped);
    }

    #[test]
    fn max_p_moves_once_in_an_interval_towards_the_middle() {
        let mut red = red(&RedConfig { weight: 1.0, adaptive: Some(AdaptiveRed::default()), ..config() });
        for ms in [600, 700, 1200] {
            drops(&mut red, &arrival(14, Time::ZERO + Duration::from_millis(ms)));
        }
        assert!((red.max_p - 0.12).abs() < 1e-12, "{}", red.max_p);
    }
}
