//! The send times of ns-2's Vegas: a ring as long as the receiver window, which an ACK over its end does not clear. The
//! next segment in a place left so counts as sent before.

use crate::ledger::{Ledger, Record};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub(crate) struct Ring {
    /// The receiver window, segments.
    length: u32,
    /// Records in places that were not cleared, by place.
    left_over: BTreeMap<u32, Record>,
}

impl Ring {
    /// `None` for a window of nothing, which has no places.
    pub(crate) fn new(length: u32) -> Option<Ring> {
        (length > 0).then(|| Ring { length, left_over: BTreeMap::new() })
    }

    /// A new segment takes its place: how often its predecessor there counts as sent.
    pub(crate) fn take(&mut self, seq: u32) -> u32 {
        self.left_over.remove(&(seq % self.length)).map_or(0, |record| record.times)
    }

    /// What a segment finds that was never sent itself.
    pub(crate) fn at(&self, seq: u32) -> Option<Record> {
        self.left_over.get(&(seq % self.length)).copied()
    }

    /// An ACK covers all segments before `una`: over the end of the ring it leaves them.
    pub(crate) fn acknowledge(&mut self, ledger: &Ledger, una: u32) {
        let mut covered = ledger.before(una).peekable();
        let Some(&(first, _)) = covered.peek() else { return };
        if first % self.length > (una - 1) % self.length {
            self.left_over.extend(covered.map(|(seq, record)| (seq % self.length, record)));
        }
    }
}
