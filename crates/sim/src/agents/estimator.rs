//! How a gateway estimates the error rate of a link from the outcomes of packets alone (Govindarajan and Kousalya 2016,
//! equations 2 to 5, after Anderson 2011).

use super::config::CountUnit;

/// The estimate of one link.
#[derive(Clone, Debug)]
pub(crate) struct Estimator {
    window: u32,
    weight: f64,
    units_per_byte: u32,
    packets: u32,
    units: u64,
    lost_packets: u32,
    lost_units: u64,
    rate: f64,
}

impl Estimator {
    /// `window` packets make a sample, which has this weight in the smoothed rate per `unit`.
    pub(crate) fn new(window: u32, weight: f64, unit: CountUnit) -> Estimator {
        Estimator {
            window: window.max(1),
            weight,
            units_per_byte: unit.per_byte(),
            packets: 0,
            units: 0,
            lost_packets: 0,
            lost_units: 0,
            rate: 0.0,
        }
    }

    /// The smoothed estimate, zero before the first window is full.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// The probability that a packet of so many bytes is not corrupted.
    pub(crate) fn survival(&self, bytes: u16) -> f64 {
        libm::pow(1.0 - self.rate, f64::from(bytes) * f64::from(self.units_per_byte))
    }

    /// A packet was checked.
    pub(crate) fn add(&mut self, bytes: u16, integrity: Integrity) {
        let units = u64::from(bytes) * u64::from(self.units_per_byte);
        self.packets += 1;
        self.units += units;
        if integrity == Integrity::Corrupted {
            self.lost_packets += 1;
            self.lost_units += units;
        }
        if self.packets == self.window {
            let sample = error_rate(self.units, self.lost_packets, self.lost_units);
            self.rate = (1.0 - self.weight) * self.rate + self.weight * sample;
            (self.packets, self.units, self.lost_packets, self.lost_units) = (0, 0, 0, 0);
        }
    }
}

/// What a check finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integrity {
    Sound,
    Corrupted,
}

/// Equation 3: 1 - (1 - M / N)^(m / M), with N units in all, of which M in m packets were lost.
fn error_rate(units: u64, lost_packets: u32, lost_units: u64) -> f64 {
    if lost_units == 0 {
        return 0.0;
    }
    let survived = 1.0 - lost_units as f64 / units as f64;
    1.0 - libm::pow(survived, f64::from(lost_packets) / lost_units as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(name: &str) -> serde_json::Value {
        let text = include_str!("../../../../tests/vectors/algorithms_vectors.json");
        let all: serde_json::Value = serde_json::from_str(text).unwrap();
        all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == name).unwrap().clone()
    }

    fn estimator(unit: CountUnit, weight: f64) -> Estimator {
        Estimator::new(10, weight, unit)
    }

    fn numbers(value: &serde_json::Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }

    #[test]
    fn a_window_gives_the_rate_of_the_worked_example() {
        let example = example("been_ber_mle");
        for (lost, want) in
            numbers(&example["inputs"]["lost"]).into_iter().zip(numbers(&example["expected"]["ber_sample"]))
        {
            let mut estimator = estimator(CountUnit::Bit, 1.0);
            (0..10).for_each(|i| {
                estimator.add(1540, if f64::from(i) < lost { Integrity::Corrupted } else { Integrity::Sound })
            });
            assert!((estimator.rate() - want).abs() < 1e-12, "{lost} lost: {} {want}", estimator.rate());
        }
    }

    #[test]
    fn windows_are_smoothed_as_in_the_worked_example() {
        let example = example("been_ewma");
        let mut smoothed = Estimator { window: 1000, rate: 1e-4, ..estimator(CountUnit::Byte, 0.2) };
        let (samples, wanted) = (&example["inputs"]["samples"], &example["expected"]["estimates"]);
        for (sample, want) in numbers(samples).into_iter().zip(numbers(wanted)) {
            // 1000 packets of one byte each; `lost` of them are lost.
            let lost = (sample * 1000.0) as u32;
            (0..1000).for_each(|i| smoothed.add(1, if i < lost { Integrity::Corrupted } else { Integrity::Sound }));
            assert!((smoothed.rate() - want).abs() < 1e-12, "{} {want}", smoothed.rate());
        }
    }

    /// Counted in its own unit the estimate of a channel is its rate; counted in bits it is that of eight times as
    /// many.
    #[test]
    fn the_unit_of_the_counts_is_that_of_the_rate() {
        let example = example("been_unit_consistency");
        let per_byte = example["inputs"]["per_byte_error"].as_f64().unwrap();
        let per_bit = example["expected"]["equivalent_ber_per_bit"].as_f64().unwrap();
        let loss = -libm::expm1(140.0 * libm::log1p(-per_byte));
        for (unit, want) in [(CountUnit::Byte, per_byte), (CountUnit::Bit, per_bit)] {
            let mut estimator = Estimator { window: 1_000_000, ..estimator(unit, 1.0) };
            let lost = (loss * 1e6) as u32;
            (0..1_000_000)
                .for_each(|i| estimator.add(140, if i < lost { Integrity::Corrupted } else { Integrity::Sound }));
            assert!((estimator.rate() / want - 1.0).abs() < 1e-4, "{unit:?}: {} {want}", estimator.rate());
        }
    }
}
