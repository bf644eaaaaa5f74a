//! Work that several threads share.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

/// How many of `threads` share some work that has so many parts, if each of them is to have `least` of it. Without a
/// least share, 0, as many as there are parts.
pub(crate) fn worth_threads(work: usize, least: usize, parts: usize, threads: usize) -> usize {
    work.checked_div(least).unwrap_or(parts).min(parts).clamp(1, threads)
}

/// Calls `work` once for each item, on this thread with `own` and on one more thread for each of `helpers`. Whoever is
/// ready takes the next item, so that `work` must give the same whoever does it. This thread does `first` before its
/// first item.
pub(crate) fn share<W: Send, T: Send>(
    items: impl Iterator<Item = T> + Send,
    own: &mut W,
    helpers: &mut [W],
    first: impl FnOnce(),
    work: impl Fn(&mut W, T) + Sync,
) {
    if helpers.is_empty() {
        first();
        return items.for_each(|item| work(own, item));
    }
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let all = |own: &mut W| {
        while let Some(item) = next() {
            work(own, item);
        }
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = helpers.iter_mut().map(|helper| scope.spawn(|| all(helper))).collect();
        first();
        all(own);
        helpers.into_iter().for_each(|helper| helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
    });
}
