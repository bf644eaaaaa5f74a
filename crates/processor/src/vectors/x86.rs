//! The vectors of x86-64: those of AVX-512 and AVX2 where a processor has them. SSE2 is in all of them.

use super::{Common, Signs, Sixteen, Vectors, Work};
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi32, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16,
    _mm_packs_epi32, _mm_set1_epi32, _mm_setzero_si128, _mm_sub_epi32, _mm256_add_epi32, _mm256_castsi256_ps,
    _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_loadu_si256, _mm256_max_epi32, _mm256_min_epi32, _mm256_movemask_ps,
    _mm256_set1_epi32, _mm256_storeu_si256, _mm512_add_epi32, _mm512_cmpeq_epi32_mask, _mm512_cmplt_epi32_mask,
    _mm512_loadu_si512, _mm512_max_epi32, _mm512_min_epi32, _mm512_set1_epi32, _mm512_storeu_si512,
};

pub(super) fn with_widest(work: impl Work) {
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the instructions.
        unsafe { with_avx512(work) }
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        unsafe { with_avx2(work) }
    } else {
        work.run(Common);
    }
}

/// Does it with each of these vectors that this processor has.
#[cfg(test)]
pub(super) fn with_each(work: impl Work + Copy) {
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the instructions.
        unsafe { with_avx512(work) }
    }
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        unsafe { with_avx2(work) }
    }
    work.run(Common);
}

#[target_feature(enable = "avx512f")]
fn with_avx512(work: impl Work) {
    work.run(Avx512(()));
}

#[target_feature(enable = "avx2")]
fn with_avx2(work: impl Work) {
    work.run(Avx2(()));
}

/// Sixteen numbers at a time. Made only where the processor has AVX-512.
#[derive(Clone, Copy, Debug)]
struct Avx512(());

impl Vectors for Avx512 {
    type Numbers = __m512i;

    #[inline(always)]
    fn load(self, numbers: &Sixteen) -> __m512i {
        // SAFETY: there are 64 bytes, and the processor has the instruction.
        unsafe { _mm512_loadu_si512(std::ptr::from_ref(numbers).cast()) }
    }

    #[inline(always)]
    fn store(self, numbers: __m512i, to: &mut Sixteen) {
        // SAFETY: there are 64 bytes, and the processor has the instruction.
        unsafe { _mm512_storeu_si512(std::ptr::from_mut(to).cast(), numbers) }
    }

    #[inline(always)]
    fn lesser(self, best: __m512i, there: &Sixteen, step: i32) -> __m512i {
        let there = self.load(there);
        // SAFETY: the processor has the instructions.
        unsafe { lesser_512(best, there, step) }
    }

    #[inline(always)]
    fn greater(self, most: __m512i, other: __m512i, step: i32) -> __m512i {
        // SAFETY: the processor has the instructions.
        unsafe { greater_512(most, other, step) }
    }

    #[inline(always)]
    fn signs(self, there: &Sixteen, step: i32, here: __m512i) -> Signs {
        let there = self.load(there);
        // SAFETY: the processor has the instructions.
        unsafe { signs_512(there, step, here) }
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn lesser_512(best: __m512i, there: __m512i, step: i32) -> __m512i {
    _mm512_min_epi32(best, _mm512_add_epi32(there, _mm512_set1_epi32(step)))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn greater_512(most: __m512i, other: __m512i, step: i32) -> __m512i {
    _mm512_max_epi32(most, _mm512_add_epi32(other, _mm512_set1_epi32(step)))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn signs_512(there: __m512i, step: i32, here: __m512i) -> Signs {
    let there = _mm512_add_epi32(there, _mm512_set1_epi32(step));
    Signs { negative: _mm512_cmplt_epi32_mask(there, here), zero: _mm512_cmpeq_epi32_mask(there, here) }
}

/// Eight numbers at a time. Made only where the processor has AVX2.
#[derive(Clone, Copy, Debug)]
struct Avx2(());

impl Vectors for Avx2 {
    type Numbers = [__m256i; 2];

    #[inline(always)]
    fn load(self, numbers: &Sixteen) -> [__m256i; 2] {
        let half = |n: usize| {
            let half: &[i32; 8] = numbers[8 * n..8 * n + 8].first_chunk().unwrap_or(&[0; 8]);
            // SAFETY: there are 32 bytes, and the processor has the instruction.
            unsafe { _mm256_loadu_si256(std::ptr::from_ref(half).cast()) }
        };
        [half(0), half(1)]
    }

    #[inline(always)]
    fn store(self, numbers: [__m256i; 2], to: &mut Sixteen) {
        for (half, numbers) in to.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
            // SAFETY: there are 32 bytes, and the processor has the instruction.
            unsafe { _mm256_storeu_si256(std::ptr::from_mut(half).cast(), numbers) }
        }
    }

    #[inline(always)]
    fn lesser(self, best: [__m256i; 2], there: &Sixteen, step: i32) -> [__m256i; 2] {
        let there = self.load(there);
        // SAFETY: the processor has the instructions.
        unsafe { lesser_256(best, there, step) }
    }

    #[inline(always)]
    fn greater(self, most: [__m256i; 2], other: [__m256i; 2], step: i32) -> [__m256i; 2] {
        // SAFETY: the processor has the instructions.
        unsafe { greater_256(most, other, step) }
    }

    #[inline(always)]
    fn signs(self, there: &Sixteen, step: i32, here: [__m256i; 2]) -> Signs {
        let there = self.load(there);
        // SAFETY: the processor has the instructions.
        unsafe { signs_256(there, step, here) }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn lesser_256(best: [__m256i; 2], there: [__m256i; 2], step: i32) -> [__m256i; 2] {
    let step = _mm256_set1_epi32(step);
    let [a, b] = there;
    [_mm256_min_epi32(best[0], _mm256_add_epi32(a, step)), _mm256_min_epi32(best[1], _mm256_add_epi32(b, step))]
}

#[target_feature(enable = "avx2")]
#[inline]
fn greater_256(most: [__m256i; 2], other: [__m256i; 2], step: i32) -> [__m256i; 2] {
    let step = _mm256_set1_epi32(step);
    let [a, b] = other;
    [_mm256_max_epi32(most[0], _mm256_add_epi32(a, step)), _mm256_max_epi32(most[1], _mm256_add_epi32(b, step))]
}

#[target_feature(enable = "avx2")]
#[inline]
fn signs_256(there: [__m256i; 2], step: i32, here: [__m256i; 2]) -> Signs {
    let step = _mm256_set1_epi32(step);
    let [a, b] = [_mm256_add_epi32(there[0], step), _mm256_add_epi32(there[1], step)];
    let negative = bits(_mm256_cmpgt_epi32(here[0], a)) | bits(_mm256_cmpgt_epi32(here[1], b)) << 8;
    let zero = bits(_mm256_cmpeq_epi32(here[0], a)) | bits(_mm256_cmpeq_epi32(here[1], b)) << 8;
    Signs { negative, zero }
}

/// One bit for each of eight numbers: its sign.
#[target_feature(enable = "avx2")]
#[inline]
fn bits(numbers: __m256i) -> u16 {
    _mm256_movemask_ps(_mm256_castsi256_ps(numbers)) as u16
}

/// [`Vectors::signs`] with SSE2.
#[inline(always)]
pub(super) fn signs(there: &Sixteen, step: i32, here: &Sixteen) -> Signs {
    // SAFETY: every x86-64 processor has the instructions.
    unsafe { signs_128(quarters(there), step, quarters(here)) }
}

#[inline(always)]
fn quarters(numbers: &Sixteen) -> [__m128i; 4] {
    let quarter = |n: usize| {
        let quarter: &[i32; 4] = numbers[4 * n..4 * n + 4].first_chunk().unwrap_or(&[0; 4]);
        // SAFETY: there are 16 bytes, and every x86-64 processor has the instruction.
        unsafe { _mm_loadu_si128(std::ptr::from_ref(quarter).cast()) }
    };
    [quarter(0), quarter(1), quarter(2), quarter(3)]
}

/// Narrows four vectors of four numbers to one of sixteen bytes, so that one instruction makes a mask. A number keeps
/// its sign, and only 0 becomes 0.
#[target_feature(enable = "sse2")]
#[inline]
fn signs_128(there: [__m128i; 4], step: i32, here: [__m128i; 4]) -> Signs {
    let step = _mm_set1_epi32(step);
    let more = |n: usize| _mm_sub_epi32(_mm_add_epi32(there[n], step), here[n]);
    let bytes = _mm_packs_epi16(_mm_packs_epi32(more(0), more(1)), _mm_packs_epi32(more(2), more(3)));
    let mask = |bytes: __m128i| _mm_movemask_epi8(bytes) as u16;
    Signs { negative: mask(bytes), zero: mask(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())) }
}
