//! Block codes (forward error correction) of links: how much longer a packet gets, and how often it is lost all the
//! same.
//!
//! A packet is cut into blocks of k bytes, each of which gets n − k bytes of parity; up to t wrong bytes of a block are
//! corrected, else the packet is lost: Σ_{i>t} C(n,i) pⁱ (1−p)ⁿ⁻ⁱ (`algorithms.md` §3.5, bounded-distance decoder). The
//! last block of a packet may be shorter, with all of its parity, as a shortened Reed-Solomon code has it. A packet is
//! decoded when it is there as a whole, so that the delay of a code is the time that its parity takes.

/// A block of `n` bytes carries `k` of data; up to `t` wrong ones are corrected. `n` >= `k` >= 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCode {
    pub n: u32,
    pub k: u32,
    pub t: u32,
}

/// What an error probability is per; sizes are those on the wire, headers included, framing not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorUnit {
    Packet,
    Byte,
    Bit,
}

impl BlockCode {
    /// Bytes on the wire of a packet of so many.
    pub fn wire_bytes(&self, bytes: u32) -> u32 {
        bytes + bytes.div_ceil(self.k) * (self.n - self.k)
    }
}

/// The probability that more than `t` of `n` symbols are wrong.
fn block_failure(n: u32, t: u32, symbol_error: f64) -> f64 {
    if symbol_error <= 0.0 || t >= n {
        return 0.0;
    }
    if symbol_error >= 1.0 {
        return 1.0;
    }
    let (hit, miss) = (libm::log(symbol_error), libm::log1p(-symbol_error));
    let mut log_choose: f64 = (0..=t).map(|i| libm::log(f64::from(n - i)) - libm::log(f64::from(i + 1))).sum();
    let mut sum = 0.0;
    for i in t + 1..=n {
        sum += libm::exp(log_choose + f64::from(i) * hit + f64::from(n - i) * miss);
        log_choose += libm::log(f64::from(n - i)) - libm::log(f64::from(i + 1));
    }
    sum.min(1.0)
}

/// A code on a channel: the chances of packets.
#[derive(Clone, Debug)]
pub struct CodedChannel {
    code: BlockCode,
    symbol_error: f64,
    /// ln of a block's success by its bytes of data; NaN where it was not needed yet.
    log_success: Vec<f64>,
}

impl CodedChannel {
    /// `probability` is that of an error per `unit`, byte or bit; a packet is then one symbol, which no code repairs.
    pub fn new(code: BlockCode, unit: ErrorUnit, probability: f64) -> CodedChannel {
        let symbol_error = match unit {
            ErrorUnit::Bit => -libm::expm1(8.0 * libm::log1p(-probability)),
            ErrorUnit::Byte | ErrorUnit::Packet => probability,
        };
        CodedChannel { code, symbol_error, log_success: vec![f64::NAN; code.k as usize + 1] }
    }

    fn log_success(&mut self, data_bytes: u32) -> f64 {
        let BlockCode { n, k, t } = self.code;
        let known = &mut self.log_success[data_bytes as usize];
        if known.is_nan() {
            *known = libm::log1p(-block_failure(data_bytes + n - k, t, self.symbol_error));
        }
        *known
    }

    /// The probability that a packet is lost.
    pub fn failure(&mut self, bytes: u32) -> f64 {
        let (full, rest) = (bytes / self.code.k, bytes % self.code.k);
        let mut log_success = if rest > 0 { self.log_success(rest) } else { 0.0 };
        if full > 0 {
            log_success += f64::from(full) * self.log_success(self.code.k);
        }
        -libm::expm1(log_success)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REED_SOLOMON: BlockCode = BlockCode { n: 255, k: 223, t: 16 };

    #[test]
    fn a_block_fails_as_in_the_worked_example() {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/vectors/algorithms_vectors.json")).unwrap();
        let v = all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == "fec_block").unwrap();
        let wanted = v["expected"]["block_failure"].as_array().unwrap();
        for (p, want) in v["inputs"]["symbol_error"].as_array().unwrap().iter().zip(wanted) {
            let (p, want) = (p.as_f64().unwrap(), want.as_f64().unwrap());
            let mut channel = CodedChannel::new(REED_SOLOMON, ErrorUnit::Byte, p);
            // The example takes the smallest one from 1: it has 15 digits after the point.
            assert!((channel.failure(223) - want).abs() < 1e-14 + 1e-9 * want, "{p}: {} {want}", channel.failure(223));
            let three = 1.0 - (1.0 - want).powi(3);
            assert!((channel.failure(669) - three).abs() < 1e-14 + 1e-9 * three, "{p}");
        }
        let rate = v["expected"]["code_rate_223_255"].as_f64().unwrap();
        assert!((223.0 / f64::from(REED_SOLOMON.wire_bytes(223)) - rate).abs() < 1e-12);
    }

    #[test]
    fn a_packet_is_its_blocks_the_last_of_which_is_short() {
        assert_eq!(REED_SOLOMON.wire_bytes(500), 500 + 3 * 32);
        let mut channel = CodedChannel::new(REED_SOLOMON, ErrorUnit::Byte, 0.05);
        // 54 B of data and 32 of parity: Σ_{i>16} C(86,i) 0.05^i 0.95^(86-i) = 1.10e-6, next to nothing beside the
        // others.
        let two = 1.0 - (1.0f64 - 0.141_386_037_999_794_2).powi(2);
        let failure = channel.failure(500);
        assert!(failure > two && failure < two + 1e-5, "{failure} {two}");
    }

    #[test]
    fn without_errors_nothing_fails_and_with_nothing_else_all_does() {
        let failure = |p| CodedChannel::new(REED_SOLOMON, ErrorUnit::Bit, p).failure(1500);
        assert_eq!((failure(0.0), failure(1.0)), (0.0, 1.0));
        // 1e-3 per bit is 7.97e-3 per byte: a code that corrects nothing leaves 1 - (1 - p)^n.
        let none = BlockCode { n: 1500, k: 1500, t: 0 };
        let plain = -libm::expm1(12_000.0 * libm::log1p(-1e-3));
        assert!((CodedChannel::new(none, ErrorUnit::Bit, 1e-3).failure(1500) - plain).abs() < 1e-9);
    }
}
