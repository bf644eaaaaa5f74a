//! Sixteen numbers at a time, with what the processor has for it.

#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::{Deref, DerefMut};

/// Sixteen numbers, on a cache line of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct Sixteen(pub [i32; 16]);

impl Deref for Sixteen {
    type Target = [i32; 16];

    #[inline(always)]
    fn deref(&self) -> &[i32; 16] {
        &self.0
    }
}

impl DerefMut for Sixteen {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [i32; 16] {
        &mut self.0
    }
}

/// The signs of sixteen numbers, one bit for each, the first in the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signs {
    pub negative: u16,
    pub zero: u16,
}

/// What can be done with sixteen numbers at a time. Only [`Vectors::greater`] allows for a sum that overflows.
pub trait Vectors: Copy {
    /// The numbers in registers.
    type Numbers: Copy;

    fn load(self, numbers: &Sixteen) -> Self::Numbers;

    fn store(self, numbers: Self::Numbers, to: &mut Sixteen);

    /// For each n the lesser one of `best[n]` and `there[n] + step`.
    fn lesser(self, best: Self::Numbers, there: &Sixteen, step: i32) -> Self::Numbers;

    /// For each n the greater one of `most[n]` and `other[n] + step`, where a sum may wrap around.
    fn greater(self, most: Self::Numbers, other: Self::Numbers, step: i32) -> Self::Numbers;

    /// The signs of `there[n] + step - here[n]` for each n.
    fn signs(self, there: &Sixteen, step: i32, here: Self::Numbers) -> Signs;
}

/// Something to do with the vectors of the processor. [`Work::run`] and what it calls in its loops should be marked
/// `#[inline(always)]`: calls stay as they are, without these vectors.
pub trait Work {
    fn run(self, vectors: impl Vectors);
}

/// Does the work with the widest vectors that this processor has. They change how long it takes and never its result.
#[inline]
pub fn with_wide_vectors(work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    x86::with_widest(work);
    #[cfg(not(target_arch = "x86_64"))]
    work.run(Common);
}

/// With instructions that every processor of the architecture has.
#[derive(Clone, Copy, Debug)]
struct Common;

impl Vectors for Common {
    type Numbers = Sixteen;

    #[inline(always)]
    fn load(self, numbers: &Sixteen) -> Sixteen {
        *numbers
    }

    #[inline(always)]
    fn store(self, numbers: Sixteen, to: &mut Sixteen) {
        *to = numbers;
    }

    #[inline(always)]
    fn lesser(self, best: Sixteen, there: &Sixteen, step: i32) -> Sixteen {
        Sixteen(std::array::from_fn(|n| best[n].min(there[n] + step)))
    }

    #[inline(always)]
    fn greater(self, most: Sixteen, other: Sixteen, step: i32) -> Sixteen {
        Sixteen(std::array::from_fn(|n| most[n].max(other[n].wrapping_add(step))))
    }

    #[inline(always)]
    fn signs(self, there: &Sixteen, step: i32, here: Sixteen) -> Signs {
        #[cfg(target_arch = "x86_64")]
        return x86::signs(there, step, &here);
        #[cfg(not(target_arch = "x86_64"))]
        signs_one_by_one(there, step, &here)
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn signs_one_by_one(there: &Sixteen, step: i32, here: &Sixteen) -> Signs {
    let mask = |is: fn(i32) -> bool| (0..16).fold(0, |mask, n| mask | u16::from(is(there[n] + step - here[n])) << n);
    Signs { negative: mask(|sum| sum < 0), zero: mask(|sum| sum == 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Compared(Sixteen, Sixteen, i32);

    impl Work for &Compared {
        #[inline(always)]
        fn run(self, vectors: impl Vectors) {
            let Compared(a, b, step) = self;
            let (mut lesser, mut greater) = (Sixteen([0; 16]), Sixteen([0; 16]));
            let here = vectors.load(b);
            vectors.store(vectors.lesser(here, a, *step), &mut lesser);
            vectors.store(vectors.greater(here, vectors.load(a), *step), &mut greater);
            assert_eq!(lesser.0, std::array::from_fn(|n| b[n].min(a[n] + step)));
            assert_eq!(greater.0, std::array::from_fn(|n| b[n].max(a[n] + step)));
            assert_eq!(vectors.signs(a, *step, here), signs_one_by_one(a, *step, b));
        }
    }

    /// At and beside every bound of the narrowing of SSE2, in each place, with all vectors that this processor has.
    #[test]
    fn vectors_do_what_is_done_one_by_one() {
        let steps = [0, 1, 5, 127, 128, 32_767, 32_768, 1 << 28];
        let mut values = vec![0];
        for step in steps {
            values.extend([-1, 0, 1].iter().flat_map(|more| [step + more, -step + more]));
        }
        for step in steps {
            for start in 0..values.len() {
                let there = Sixteen(std::array::from_fn(|n| values[(start + n) % values.len()] + 40));
                let here = Sixteen(std::array::from_fn(|n| if n % 5 == 4 { 41 } else { 40 }));
                let compared = Compared(there, here, step);
                with_wide_vectors(&compared);
                #[cfg(target_arch = "x86_64")]
                x86::with_each(&compared);
            }
        }
    }

    /// [`Vectors::greater`] may overflow.
    #[test]
    fn a_sum_may_wrap_around() {
        struct Wrapped;
        impl Work for Wrapped {
            #[inline(always)]
            fn run(self, vectors: impl Vectors) {
                let mut most = Sixteen([0; 16]);
                let far = vectors.load(&Sixteen([i32::MAX; 16]));
                vectors.store(vectors.greater(vectors.load(&Sixteen([-5; 16])), far, 1), &mut most);
                assert_eq!(most, Sixteen([-5; 16]));
            }
        }
        with_wide_vectors(Wrapped);
        Wrapped.run(Common);
    }
}
