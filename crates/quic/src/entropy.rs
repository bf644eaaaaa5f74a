//! The only randomness that a stack gets: a stream of the simulation.
//!
//! TLS, connection ids and the generators inside the stacks ask for random bytes through interfaces without state of
//! their own (`&'static`, or a thread's generator). A host therefore lends its stream to the thread for the time of one
//! call.

use skyhop_base::Stream;
use std::cell::RefCell;

thread_local! {
    static LENT: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

/// Runs `call` with `stream` as the thread's only source of random bytes.
pub(crate) fn lend<T>(stream: &mut Stream, call: impl FnOnce() -> T) -> T {
    rand_pcg::seed_from(seed);
    LENT.set(Some(stream.clone()));
    let result = call();
    if let Some(used) = LENT.take() {
        *stream = used;
    }
    result
}

/// Fills `target`; false where no simulation runs on this thread, so that nobody takes zeros for random bytes.
pub(crate) fn fill(target: &mut [u8]) -> bool {
    LENT.with_borrow_mut(|lent| {
        let Some(stream) = lent else { return false };
        for piece in target.chunks_mut(8) {
            piece.copy_from_slice(&stream.bits().to_le_bytes()[..piece.len()]);
        }
        true
    })
}

/// `N` random bytes for a configuration, outside of any call into a stack.
pub(crate) fn bytes<const N: usize>(stream: &mut Stream) -> [u8; N] {
    let mut target = [0; N];
    lend(stream, || fill(&mut target));
    target
}

fn seed() -> Option<[u8; 16]> {
    let mut target = [0; 16];
    fill(&mut target).then_some(target)
}
