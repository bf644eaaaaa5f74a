//! Where disciplines draw from.

use skyhop_base::Stream;

/// A source of random bits. The product's is a counter-based [`Stream`]; a comparison feeds numbers in order of use.
pub trait Random {
    /// The next 64 random bits.
    fn bits(&mut self) -> u64;

    /// 32 random bits: the upper half of the next 64.
    fn bits32(&mut self) -> u32 {
        (self.bits() >> 32) as u32
    }

    /// 16 random bits: the uppermost of the next 64.
    fn bits16(&mut self) -> u16 {
        (self.bits() >> 48) as u16
    }

    /// Uniform in [0, 1), in steps of 2⁻⁵³.
    fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

impl Random for Stream {
    fn bits(&mut self) -> u64 {
        Stream::bits(self)
    }
}
