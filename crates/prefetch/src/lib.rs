//! Tells the processor what will be read soon.
//!
//! A load whose data are in no near cache holds up all instructions behind it, so reading early costs what it saves. A
//! prefetch starts the same transfer, and nothing waits for it. It changes no value. Rust's own safe function,
//! `core::hint::prefetch_read`, is not stable, so this crate has the unsafe code.

#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

/// Brings the cache line in which `place` begins into the first-level cache. Does nothing on processors other than
/// x86-64 and 64-bit ARM.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and it neither faults nor writes.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the instruction neither faults nor writes.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = place;
}
