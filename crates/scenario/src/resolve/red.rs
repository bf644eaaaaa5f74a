//! Random early detection: limits, thresholds and weight worked out.

use super::Resolver;
use super::wires::QUEUE_PACKETS;
use crate::format::{RedCountingName, RedFile, RedSpacingName};
use crate::scenario::{Queue, Red, RedRoom};
use crate::tree::Path;
use skyhop_base::{Bytes, Duration, Rate};

/// What a queue stands before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub rate: Rate,
    /// Zero where it changes.
    pub delay: Duration,
}

/// Mean packet: that of Floyd and Jacobson's simulations, and ns-2's `mean_pktsize_` (`algorithms.md` §4.2).
const MEAN_PACKET: (Bytes, Bytes) = (Bytes(1000), Bytes(500));

/// Lower threshold, packets (`algorithms.md` §4.2, original defaults; the least of ns-2's automatic one).
const MIN_THRESHOLD: f64 = 5.0;

/// Upper over lower threshold (Floyd 1997, "RED: discussions of setting parameters").
const MAX_OVER_MIN: f64 = 3.0;

/// Floyd and Jacobson 1993, §6.
const WEIGHT: f64 = 0.002;

/// `algorithms.md` §4.2; `linterm_` 10 of ns-2 is the same.
const MAX_P: f64 = 0.1;

/// `mark_p_` of ns-2 (`algorithms.md` §4.2).
const MARK_P: f64 = 0.1;

/// Floyd, Gummadi and Shenker 2001; `targetdelay_` of ns-2.
const TARGET_DELAY: Duration = Duration::from_millis(5);

impl Resolver<'_, '_, '_> {
    pub(super) fn red(&mut self, file: &RedFile, line: Option<Line>, path: &Path) -> Queue {
        let ns2 = self.by_profile(false, true);
        let adaptive = file.adaptive.unwrap_or(false);
        let mean_packet = file.mean_packet.unwrap_or(self.by_profile(MEAN_PACKET.0, MEAN_PACKET.1));
        self.check_packet_size(mean_packet, 1, &path.key("mean_packet"));
        let room = match (file.packets, file.bytes) {
            (Some(_), Some(_)) => {
                self.add(&path.key("packets"), "excludes \"bytes\"", Some("keep one of them".to_owned()));
                RedRoom::Packets(QUEUE_PACKETS)
            }
            (Some(packets), None) => RedRoom::Packets(packets),
            (None, Some(bytes)) => RedRoom::Bytes(bytes),
            // `queue_in_bytes_` true: the limit is in mean packets.
            (None, None) if ns2 => RedRoom::Bytes(Bytes(u64::from(QUEUE_PACKETS) * mean_packet.0)),
            (None, None) => RedRoom::Packets(QUEUE_PACKETS),
        };
        if matches!(room, RedRoom::Packets(0) | RedRoom::Bytes(Bytes(0))) {
            let key = if file.bytes.is_some() { "bytes" } else { "packets" };
            self.add(&path.key(key), "leaves no room", None);
        }
        let ecn = file.ecn.unwrap_or(false);
        if file.mark_p.is_some() && !ecn {
            self.add(&path.key("mark_p"), "needs ecn = true", None);
        }
        let auto = line.filter(|_| ns2 || adaptive).map(|line| auto(line, mean_packet, file.target_delay));
        let min = file.min.unwrap_or(auto.map_or(MIN_THRESHOLD, |auto| auto.min));
        let red = Red {
            room,
            min,
            max: file.max.unwrap_or(MAX_OVER_MIN * min),
            max_p: file.max_p.unwrap_or(MAX_P),
            weight: file.weight.unwrap_or(auto.map_or(WEIGHT, |auto| auto.weight)),
            gentle: file.gentle.unwrap_or(ns2),
            adaptive,
            mean_packet,
            spacing: file.spacing.unwrap_or(self.by_profile(RedSpacingName::Uniform, RedSpacingName::Wait)),
            counting: file.counting.unwrap_or(self.by_profile(RedCountingName::Floyd, RedCountingName::Ns2)),
            ecn,
            mark_p: ecn.then_some(file.mark_p.unwrap_or(MARK_P)),
            priority: Some(file.priority.unwrap_or_default()),
        };
        self.check_red(&red, path);
        Queue::Red(red)
    }

    fn check_red(&mut self, red: &Red, path: &Path) {
        for (key, value) in [("max_p", red.max_p), ("weight", red.weight), ("mark_p", red.mark_p.unwrap_or(MARK_P))] {
            if !(value > 0.0 && value <= 1.0) {
                self.add(&path.key(key), format!("{value} is out of range: use more than 0, up to 1"), None);
            }
        }
        if red.min.is_nan() || red.min <= 0.0 {
            self.add(&path.key("min"), format!("{} is out of range: use more than 0", red.min), None);
        } else if red.max.is_nan() || red.max <= red.min {
            self.add(&path.key("max"), format!("{} is not above \"min\", {}", red.max, red.min), None);
        }
    }
}

/// What ns-2 and adaptive RED make of the link (`algorithms.md` §4.2).
#[derive(Clone, Copy, Debug)]
struct Auto {
    /// Packets.
    min: f64,
    weight: f64,
}

fn auto(line: Line, mean_packet: Bytes, target_delay: Option<Duration>) -> Auto {
    let packets_per_s = line.rate.bps_f64() / (8.0 * mean_packet.0.max(1) as f64);
    let rtt_s = (3.0 * (line.delay.as_secs_f64() + 1.0 / packets_per_s)).max(0.1);
    let target_s = target_delay.unwrap_or(TARGET_DELAY).as_secs_f64();
    Auto {
        min: (target_s * packets_per_s / 2.0).max(MIN_THRESHOLD),
        weight: -libm::expm1(-1.0 / (10.0 * rtt_s * packets_per_s)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_automatic_values_are_those_of_the_worked_example() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/vectors/algorithms_vectors.json")).unwrap();
        let example = vectors["vectors"].as_array().unwrap().iter().find(|v| v["name"] == "adaptive_red_auto").unwrap();
        let line = Line { rate: Rate::from_bps(1_500_000).unwrap(), delay: Duration::from_millis(10) };
        let auto = auto(line, Bytes(1000), None);
        let want = |key: &str| example["expected"][key].as_f64().unwrap();
        assert!((auto.weight - want("q_w")).abs() < 1e-9);
        assert!((auto.min - want("min_th")).abs() < 1e-9);
        assert!((MAX_OVER_MIN * auto.min - want("max_th")).abs() < 1e-9);
    }
}
