//! Instructions of the processor that safe Rust does not reach. They change how long something takes and never its
//! result.
//!
//! A load whose data are in no near cache holds up all instructions behind it, so reading early costs what it saves. A
//! prefetch starts the same transfer, and nothing waits for it. Rust's own safe function,
//! `core::hint::prefetch_read`, is not stable.
//!
//! A program that is compiled for every x86-64 processor compares four numbers at a time and has no instruction for the
//! lesser one of two. Nearly all processors since 2013 take eight at a time. Only at run time is it known which one
//! there is.

#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

/// Brings the cache line in which `place` begins into the first-level cache. Does nothing on processors other than
/// x86-64 and 64-bit ARM.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    prefetch_pointer(place);
}

/// The same for the value at a place of a slice. Beyond its end a line may be fetched that nobody needs: to compare the
/// index would cost more than the prefetch.
#[inline(always)]
pub fn prefetch_at<T>(slice: &[T], index: usize) {
    prefetch_pointer(slice.as_ptr().wrapping_add(index));
}

/// The pointer may lead anywhere: it is not read.
#[inline(always)]
fn prefetch_pointer<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and it neither faults nor writes.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the instruction neither faults nor writes.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = place;
}

/// Calls `work`, compiled for the 256-bit integers of AVX2 where this processor has them. `work` should be marked
/// `#[inline(always)]`, and so should what it calls in its loops: calls stay as they are.
#[inline]
pub fn with_wide_vectors<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { with_avx2(work) };
        }
    }
    work()
}

/// The signs of sixteen numbers, one bit for each, the first in the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signs {
    pub negative: u16,
    pub zero: u16,
}

/// The signs of `there[n] + step - here[n]` for each n. Neither the sum nor the difference may overflow.
#[inline(always)]
pub fn signs(there: &[i32; 16], step: i32, here: &[i32; 16]) -> Signs {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instructions.
    return unsafe { signs_of_bytes(there, step, here) };
    #[cfg(not(target_arch = "x86_64"))]
    signs_one_by_one(there, step, here)
}

/// The instructions narrow four vectors of four numbers to one of sixteen bytes, so that one instruction makes a mask.
/// A number keeps its sign, and only 0 becomes 0.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn signs_of_bytes(there: &[i32; 16], step: i32, here: &[i32; 16]) -> Signs {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32,
        _mm_set1_epi32, _mm_setzero_si128, _mm_sub_epi32,
    };
    let load = |numbers: &[i32; 16], n: usize| {
        let quarter: &[i32; 4] = numbers[4 * n..4 * n + 4].first_chunk().unwrap_or(&[0; 4]);
        // SAFETY: the four numbers are as long as the vector, and the load needs no alignment.
        unsafe { _mm_loadu_si128(std::ptr::from_ref(quarter).cast::<__m128i>()) }
    };
    let step = _mm_set1_epi32(step);
    let [a, b, c, d] = [0, 1, 2, 3].map(|n| _mm_sub_epi32(_mm_add_epi32(load(there, n), step), load(here, n)));
    let bytes = _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
    let mask = |bytes: __m128i| _mm_movemask_epi8(bytes) as u16;
    Signs { negative: mask(bytes), zero: mask(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())) }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn signs_one_by_one(there: &[i32; 16], step: i32, here: &[i32; 16]) -> Signs {
    let mask = |is: fn(i32) -> bool| (0..16).fold(0, |mask, n| mask | u16::from(is(there[n] + step - here[n])) << n);
    Signs { negative: mask(|sum| sum < 0), zero: mask(|sum| sum == 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At and beside every bound of the narrowing, in each place.
    #[test]
    fn signs_are_those_of_single_numbers() {
        let steps = [0, 1, 5, 127, 128, 32_767, 32_768, 1 << 28];
        let mut values = vec![0];
        for step in steps {
            values.extend([-1, 0, 1].iter().flat_map(|more| [step + more, -step + more]));
        }
        for step in steps {
            for start in 0..values.len() {
                let there: [i32; 16] = std::array::from_fn(|n| values[(start + n) % values.len()] + 40);
                let here: [i32; 16] = std::array::from_fn(|n| if n % 5 == 4 { 41 } else { 40 });
                assert_eq!(signs(&there, step, &here), signs_one_by_one(&there, step, &here));
            }
        }
    }
}
