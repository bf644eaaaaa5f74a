//! Instructions of the processor that safe Rust does not reach. They change how long something takes and never its
//! result.
//!
//! A load whose data are in no near cache holds up all instructions behind it, so reading early costs what it saves. A
//! prefetch starts the same transfer, and nothing waits for it. Rust's own safe function,
//! `core::hint::prefetch_read`, is not stable.
//!
//! A program that is compiled for every x86-64 processor compares four numbers at a time and has no instruction for the
//! lesser one of two. Nearly all processors since 2013 take eight at a time (AVX2), and many take sixteen (AVX-512).
//! Only at run time is it known which one there is.

#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

mod vectors;

pub use vectors::{Signs, Sixteen, Vectors, Work, with_wide_vectors};

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
