//! What a sender does when it is told that corruption took a segment (ETEN, Krishnan et al. 2004; BEEN, Govindarajan
//! and Kousalya 2016, algorithm 2): the segment leaves again at once, and the duplicate ACKs that its hole makes do not
//! cut.
//!
//! - The third of them begins a recovery without a cut. The window is inflated, so that ACKs keep clocking out
//!   segments. With SACK even that is not needed: reported segments do not count in flight.
//! - A hole without a report is congestion: it cuts the window, also in the middle of such a recovery.
//! - The timer restarts when the first outstanding segment is reported. The paper says "seqno = highestack", which is
//!   acknowledged already in ns-2 (`algorithms.md` §3.4).
//!
//! Explicit loss notification (ELN; Balakrishnan and Katz 1998) marks the duplicate ACKs instead. The first marked one
//! of a hole sends the segment again, each hole once. No marked one cuts or inflates the window. Only the timer finds
//! that the retransmission was lost. Deviation: ns-2 does not repeat the segment that follows the one that it repeated
//! last.

use super::options::Notification;
use crate::ledger::{Retransmission, Retransmissions};

/// The state of a sender that listens to reports or marks; one that does not keeps nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repairs(Option<Box<Listener>>);

#[derive(Clone, Debug)]
struct Listener {
    notification: Notification,
    /// Reported corrupted, sent again and not acknowledged since.
    segments: Retransmissions,
    /// To be sent again, whatever the window says.
    due: Vec<u32>,
    /// The present recovery repairs corruption alone.
    uncut: bool,
    /// That recovery ends with the ACK of this segment.
    until: u32,
    /// The ACK that arrives now is marked.
    marked: bool,
    /// No mark repeats a segment below this one.
    repeated: u32,
}

impl Repairs {
    pub(crate) fn listening(notification: Notification) -> Repairs {
        Repairs(Some(Box::new(Listener {
            notification,
            segments: Retransmissions::default(),
            due: Vec::new(),
            uncut: false,
            until: 0,
            marked: false,
            repeated: 0,
        })))
    }

    #[inline]
    pub(crate) fn listens(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn notification(&self) -> Option<&Notification> {
        self.0.as_ref().map(|listener| &listener.notification)
    }

    fn find(&self, seq: u32) -> Option<&Retransmission> {
        self.0.as_ref()?.segments.get(seq)
    }

    pub(crate) fn has(&self, seq: u32) -> bool {
        self.find(seq).is_some()
    }

    /// Whether an ACK that ends the hole `una` is silent about whether `next` is missing, too.
    pub(crate) fn silent(&self, una: u32, next: u32) -> bool {
        self.find(una).is_some_and(|repair| next >= repair.edge)
    }

    /// Whether the present recovery is about corruption alone.
    pub(crate) fn is_uncut(&self) -> bool {
        self.0.as_ref().is_some_and(|listener| listener.uncut)
    }

    /// The end of a recovery without a cut in which all before `next` has arrived: another hole that was reported
    /// prolongs it.
    pub(crate) fn until(&self, next: u32) -> u32 {
        let until = self.0.as_ref().map_or(0, |listener| listener.until);
        self.find(next).map_or(until, |repair| until.max(repair.edge))
    }

    pub(crate) fn begin_uncut(&mut self, una: u32) {
        let until = self.until(una);
        if let Some(listener) = &mut self.0 {
            (listener.uncut, listener.until) = (true, until);
        }
    }

    pub(crate) fn end_uncut(&mut self) {
        if let Some(listener) = &mut self.0 {
            listener.uncut = false;
        }
    }

    pub(crate) fn add(&mut self, seq: u32, high: u32) {
        let Some(Listener { segments, due, .. }) = self.0.as_deref_mut() else { return };
        segments.record(seq, high);
        if !due.contains(&seq) {
            due.push(seq);
        }
    }

    /// Whether a segment is to be sent again.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.0.as_ref().is_some_and(|listener| !listener.due.is_empty())
    }

    pub(crate) fn next_due(&mut self) -> Option<u32> {
        let due = &mut self.0.as_mut()?.due;
        if due.is_empty() { None } else { Some(due.remove(0)) }
    }

    pub(crate) fn clear(&mut self) {
        if let Some(listener) = &mut self.0 {
            listener.segments.clear();
            listener.due.clear();
            listener.uncut = false;
        }
    }

    /// Whether the present ACK, which brings nothing new, is marked.
    #[inline]
    pub(crate) fn take_mark(&mut self) -> bool {
        self.0.as_mut().is_some_and(|listener| std::mem::take(&mut listener.marked))
    }

    /// Whether a mark may send `seq` again; not another time.
    pub(crate) fn repeats(&mut self, seq: u32) -> bool {
        let Some(listener) = self.0.as_deref_mut().filter(|listener| listener.repeated <= seq) else { return false };
        listener.repeated = seq + 1;
        true
    }

    pub(crate) fn acknowledged(&mut self, next: u32) {
        let Some(Listener { segments, due, marked, .. }) = self.0.as_deref_mut() else { return };
        *marked = false;
        segments.remove(0, next);
        due.retain(|&seq| seq >= next);
    }

    /// The ACK that arrives next is marked; only a sender with ELN listens to marks.
    pub(crate) fn mark(&mut self) {
        if let Some(listener) = self.0.as_deref_mut()
            && listener.notification == Notification::Eln
        {
            listener.marked = true;
        }
    }
}
