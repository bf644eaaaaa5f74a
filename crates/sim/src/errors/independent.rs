//! Errors that hit packets, bytes or bits independently of one another.

use super::{Arrival, ErrorModel, ErrorUnit, Losses, LossyLink};
use crate::code::CodedChannel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Stream;

macro_rules! per_unit {
    ($($(#[$doc:meta])+ $name:ident = $unit:ident;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[schemars(inline)]
        pub struct $name(#[schemars(range(min = 0.0, max = 1.0))] pub f64);

        impl ErrorModel for $name {
            fn build(&self, link: &LossyLink<'_>) -> Option<Box<dyn Losses>> {
                Some(built(ErrorUnit::$unit, self.0, link))
            }

            fn loses_all(&self) -> bool {
                self.0 >= 1.0
            }

            fn unit(&self) -> ErrorUnit {
                ErrorUnit::$unit
            }
        }
    )+};
}

per_unit! {
    /// The probability with which a packet is lost.
    PacketErrors = Packet;
    /// The probability with which a byte is lost, and with it its packet.
    ByteErrors = Byte;
    /// The probability with which a bit is lost, and with it its packet.
    BitErrors = Bit;
}

fn built(unit: ErrorUnit, probability: f64, link: &LossyLink<'_>) -> Box<dyn Losses> {
    let stream = link.stream("loss");
    match link.code {
        Some(code) => Box::new(Coded { channel: CodedChannel::new(code, unit, probability), stream }),
        None => Box::new(Independent { unit, log_success: libm::log1p(-probability), stream }),
    }
}

/// Lost with probability 1 - (1 - p)^units.
#[derive(Debug)]
struct Independent {
    unit: ErrorUnit,
    /// ln(1 - p)
    log_success: f64,
    stream: Stream,
}

impl Losses for Independent {
    fn loses(&mut self, arrival: &Arrival<'_>) -> bool {
        arrival.draw(&self.stream) < failure(self.log_success, units(self.unit, arrival.bytes()))
    }
}

/// The same behind a code.
#[derive(Debug)]
struct Coded {
    channel: CodedChannel,
    stream: Stream,
}

impl Losses for Coded {
    fn loses(&mut self, arrival: &Arrival<'_>) -> bool {
        arrival.draw(&self.stream) < self.channel.failure(arrival.bytes())
    }
}

/// Probability that any of `units` is lost, each surviving with probability exp(`log_success`).
fn failure(log_success: f64, units: u32) -> f64 {
    -libm::expm1(log_success * f64::from(units))
}

fn units(unit: ErrorUnit, bytes: u32) -> u32 {
    match unit {
        ErrorUnit::Packet => 1,
        ErrorUnit::Byte => bytes,
        ErrorUnit::Bit => 8 * bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{arrival, link, loses, packet, vector};
    use super::*;
    use crate::packet::Packet;

    #[test]
    fn the_loss_rate_is_the_one_asked_for_and_depends_on_the_number_alone() {
        let built = || PacketErrors(0.1).build(&link(3)).unwrap();
        let mut model = built();
        let n = 40_000;
        let losses: Vec<bool> = (0..n).map(|i| loses(&mut *model, &packet(i, i), 17)).collect();
        let lost = losses.iter().filter(|&&lost| lost).count() as f64;
        // Four standard deviations of a binomial count.
        assert!((lost - 4000.0).abs() < 4.0 * (f64::from(n) * 0.1 * 0.9).sqrt(), "{lost}");
        let mut again = built();
        assert!((0..n).rev().all(|i| loses(&mut *again, &packet(7, i), 17) == losses[i as usize]));
        let other = (0..n).filter(|&i| loses(&mut *again, &packet(7, i), 18) == losses[i as usize]).count();
        assert!(other < n as usize * 9 / 10, "another flow must have outcomes of its own");
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
                    let got = 1.0 - failure(log_success, units(unit, size.as_u64().unwrap() as u32));
                    // The published value goes through pow; ours through a logarithm of 12000 units.
                    assert!((got - want).abs() < 1e-12, "{key} {p} {size}: {got} {want}");
                }
            }
        }
    }

    #[test]
    fn small_packets_survive_where_large_ones_do_not() {
        let mut model = ByteErrors(1e-3).build(&link(3)).unwrap();
        let n = 20_000;
        for (size, chance) in [(80, 0.923_079), (1540, 0.214_216)] {
            let sized = |i| Packet { size, ..packet(i, i) };
            let survived = (0..n).filter(|&i| !model.loses(&arrival(&sized(i), u64::from(size)))).count() as f64;
            let sd = (f64::from(n) * chance * (1.0 - chance)).sqrt();
            assert!((survived - f64::from(n) * chance).abs() < 4.0 * sd, "{size} B: {survived}");
        }
    }
}
