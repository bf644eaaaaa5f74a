//! Counter-based random streams: the n-th number of a stream is a function of (seed, component, purpose, n)
//! and of nothing else, so that adding a component changes no other stream, and the n-th packet meets the
//! same outcome whatever was drawn in between.
//!
//! Generator: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
//! SC 2011). The tests hold it to the known answers published with that paper's library.

const MULTIPLIER_0: u32 = 0xD251_1F53;
const MULTIPLIER_1: u32 = 0xCD9E_8D57;
const WEYL_0: u32 = 0x9E37_79B9;
const WEYL_1: u32 = 0xBB67_AE85;
const ROUNDS: usize = 10;

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let p0 = u64::from(MULTIPLIER_0) * u64::from(counter[0]);
        let p1 = u64::from(MULTIPLIER_1) * u64::from(counter[2]);
        counter =
            [(p1 >> 32) as u32 ^ counter[1] ^ key[0], p1 as u32, (p0 >> 32) as u32 ^ counter[3] ^ key[1], p0 as u32];
        key = [key[0].wrapping_add(WEYL_0), key[1].wrapping_add(WEYL_1)];
    }
    counter
}

/// FNV-1a over 64 bits: stable across machines and versions, good enough to tell names apart before Philox mixes.
fn hash(seed: u64, parts: [&str; 2]) -> u64 {
    let mut state = 0xCBF2_9CE4_8422_2325_u64;
    let mut feed = |byte: u8| state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    seed.to_le_bytes().into_iter().for_each(&mut feed);
    for part in parts {
        part.bytes().for_each(&mut feed);
        feed(0xFF); // no byte of UTF-8 text: ("a", "bc") and ("ab", "c") differ
    }
    state
}

/// One stream of random numbers, with a position of its own for those who only want the next number.
#[derive(Clone, Debug)]
pub struct Stream {
    key: [u32; 2],
    position: u64,
}

impl Stream {
    /// The stream of `component` (a name from the scenario) for one `purpose` ("loss", "start", …).
    pub fn new(seed: u64, component: &str, purpose: &str) -> Stream {
        let key = hash(seed, [component, purpose]);
        Stream { key: [key as u32, (key >> 32) as u32], position: 0 }
    }

    /// The n-th 64 random bits.
    pub fn bits_at(&self, n: u64) -> u64 {
        let out = philox([n as u32, (n >> 32) as u32, 0, 0], self.key);
        u64::from(out[0]) | u64::from(out[1]) << 32
    }

    /// The n-th number, uniform in [0, 1), in steps of 2⁻⁵³.
    pub fn uniform_at(&self, n: u64) -> f64 {
        (self.bits_at(n) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// The number of a pair, uniform in [0, 1): for streams that many flows share, each at its own pace.
    pub fn uniform_of(&self, a: u64, b: u64) -> f64 {
        let out = philox([b as u32, (b >> 32) as u32, a as u32, (a >> 32) as u32], self.key);
        let bits = u64::from(out[0]) | u64::from(out[1]) << 32;
        (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let n = self.position;
        self.position += 1;
        self.bits_at(n)
    }

    /// The next number, uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        let n = self.position;
        self.position += 1;
        self.uniform_at(n)
    }

    /// The next exponentially distributed number of the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_published_known_answers() {
        // kat_vectors of the Random123 library, philox4x32 with 10 rounds.
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn streams_differ_by_seed_component_and_purpose() {
        let first = Stream::new(1, "a", "loss").bits_at(0);
        for other in [Stream::new(2, "a", "loss"), Stream::new(1, "b", "loss"), Stream::new(1, "a", "start")] {
            assert_ne!(first, other.bits_at(0));
        }
        assert_ne!(Stream::new(1, "a", "bc").bits_at(0), Stream::new(1, "ab", "c").bits_at(0));
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut stream = Stream::new(7, "test", "moments");
        let n = 100_000;
        let (mut sum, mut squares, mut exponential) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            let u = stream.uniform();
            assert!((0.0..1.0).contains(&u));
            sum += u;
            squares += u * u;
            exponential += stream.exponential(3.0);
        }
        let n = f64::from(n);
        // Four standard deviations: sqrt(1/12/n), sqrt(4/45/n) and 3/sqrt(n).
        assert!((sum / n - 0.5).abs() < 4.0 * (1.0 / 12.0 / n).sqrt());
        assert!((squares / n - 1.0 / 3.0).abs() < 4.0 * (4.0 / 45.0 / n).sqrt());
        assert!((exponential / n - 3.0).abs() < 4.0 * 3.0 / n.sqrt());
    }
}
