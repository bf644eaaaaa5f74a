//! What may end a run before its time: a wish from outside, and more memory than it may take (`memory.rs`).
//!
//! A run looks at both after so many events, and after so many packets of one burst, so that no single event is beyond
//! them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Events, or packets of one burst, between two looks: some 20 ms.
pub(crate) const BETWEEN_LOOKS: u32 = 1 << 16;

/// When a run is to end early.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Set from another thread: the run ends soon.
    pub cancelled: Arc<AtomicBool>,
    /// The run ends when it takes more.
    pub memory_bytes: u64,
}

/// Why a run has ended early. What it has recorded is not the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    Cancelled,
    Memory { bytes: u64 },
}
