//! What a sender does when it is told that corruption took a segment (ETEN, Krishnan et al. 2004; BEEN, Govindarajan and
//! Kousalya 2016, algorithm 2): the segment leaves again at once, and the duplicate ACKs that its hole makes do not cut.
//!
//! - The third of them begins a recovery without a cut: the window is inflated as ever, so that the clock of ACKs goes
//!   on. With SACK even that is not needed: what was reported does not count in flight.
//! - A hole that nobody has reported is congestion: then the window is cut, also in the middle of such a recovery.
//! - The timer starts anew when the first outstanding segment is reported. The paper says "seqno = highestack", which is
//!   acknowledged already in ns-2 (`algorithms.md` §3.4).
//!
//! Explicit loss notification (ELN; Balakrishnan and Katz 1998) says it with a mark on the duplicate ACKs instead: the first one of
//! a hole sends the segment again, each hole once, and none of them cuts or inflates the window; only the timer finds that the
//! repetition was lost. Deviation: ns-2 does not repeat the segment that follows the one that it repeated last.

use super::{NO_LIMIT, Phase, Plan, Sender};
use crate::{ErrorReport, Notification, SenderEvent};
use skyhop_base::Time;
use skyhop_cc::Lost;

/// A segment that was reported corrupted and sent again.
#[derive(Clone, Copy, Debug)]
struct Repair {
    seq: u32,
    /// One past the highest segment that was sent before it left again: its ACK says nothing about those above.
    high: u32,
}

/// What a sender that listens to reports keeps; one that does not keeps nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Repairs(Option<Box<Listener>>);

#[derive(Clone, Debug)]
struct Listener {
    notification: Notification,
    /// Reported corrupted, sent again and not acknowledged since, ascending.
    segments: Vec<Repair>,
    /// To be sent again, whatever the window says.
    due: Vec<u32>,
    /// The present recovery is about corruption alone.
    uncut: bool,
    /// It ends with the ACK of this segment.
    until: u32,
    /// The ACK that arrives now is marked.
    marked: bool,
    /// Below this no mark sends anything again.
    repeated: u32,
}

impl Repairs {
    pub(super) fn listening(notification: Notification) -> Repairs {
        Repairs(Some(Box::new(Listener {
            notification,
            segments: Vec::new(),
            due: Vec::new(),
            uncut: false,
            until: 0,
            marked: false,
            repeated: 0,
        })))
    }

    #[inline]
    pub(super) fn listens(&self) -> bool {
        self.0.is_some()
    }

    fn notification(&self) -> Option<&Notification> {
        self.0.as_ref().map(|listener| &listener.notification)
    }

    fn find(&self, seq: u32) -> Option<&Repair> {
        let segments = &self.0.as_ref()?.segments;
        let at = segments.binary_search_by_key(&seq, |repair| repair.seq).ok()?;
        Some(&segments[at])
    }

    pub(super) fn has(&self, seq: u32) -> bool {
        self.find(seq).is_some()
    }

    /// Whether an ACK that ends the hole `una` is silent about whether `next` is missing, too.
    pub(super) fn silent(&self, una: u32, next: u32) -> bool {
        self.find(una).is_some_and(|repair| next >= repair.high)
    }

    /// Whether the present recovery is about corruption alone.
    pub(super) fn is_uncut(&self) -> bool {
        self.0.as_ref().is_some_and(|listener| listener.uncut)
    }

    /// The end of a recovery without a cut in which all before `next` has arrived: another hole that was reported
    /// prolongs it.
    pub(super) fn until(&self, next: u32) -> u32 {
        let until = self.0.as_ref().map_or(0, |listener| listener.until);
        self.find(next).map_or(until, |repair| until.max(repair.high))
    }

    fn begin_uncut(&mut self, una: u32) {
        let until = self.until(una);
        if let Some(listener) = &mut self.0 {
            (listener.uncut, listener.until) = (true, until);
        }
    }

    pub(super) fn end_uncut(&mut self) {
        if let Some(listener) = &mut self.0 {
            listener.uncut = false;
        }
    }

    fn add(&mut self, seq: u32, high: u32) {
        let Some(Listener { segments, due, .. }) = self.0.as_deref_mut() else { return };
        match segments.binary_search_by_key(&seq, |repair| repair.seq) {
            Ok(at) => segments[at].high = high,
            Err(at) => segments.insert(at, Repair { seq, high }),
        }
        if !due.contains(&seq) {
            due.push(seq);
        }
    }

    /// Whether a segment is to be sent again.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.0.as_ref().is_some_and(|listener| !listener.due.is_empty())
    }

    fn next_due(&mut self) -> Option<u32> {
        let due = &mut self.0.as_mut()?.due;
        if due.is_empty() { None } else { Some(due.remove(0)) }
    }

    pub(super) fn clear(&mut self) {
        if let Some(listener) = &mut self.0 {
            listener.segments.clear();
            listener.due.clear();
            listener.uncut = false;
        }
    }

    /// Whether the present ACK, which brings nothing new, is marked.
    #[inline]
    pub(super) fn take_mark(&mut self) -> bool {
        self.0.as_mut().is_some_and(|listener| std::mem::take(&mut listener.marked))
    }

    /// Whether a mark may send `seq` again; not another time.
    fn repeats(&mut self, seq: u32) -> bool {
        let Some(listener) = self.0.as_deref_mut().filter(|listener| listener.repeated <= seq) else { return false };
        listener.repeated = seq + 1;
        true
    }

    fn acknowledged(&mut self, next: u32) {
        let Some(Listener { segments, due, marked, .. }) = self.0.as_deref_mut() else { return };
        *marked = false;
        let gone = segments.partition_point(|repair| repair.seq < next);
        segments.drain(..gone);
        due.retain(|&seq| seq >= next);
    }
}

impl Sender {
    /// A report arrives. A sender that does not listen to reports ignores it.
    pub fn on_error_report(&mut self, now: Time, report: &ErrorReport) {
        if self.repairs.notification().is_none_or(|notification| *notification == Notification::Eln) {
            return;
        }
        self.events.clear();
        self.plan = Plan::default();
        if let Some(rate) = report.error_rate {
            self.on_error_rate(rate);
        }
        let seq = report.seq;
        self.data.lost(seq);
        let arrived = seq < self.una || self.scoreboard.first_missing(seq) != seq;
        if arrived || seq >= self.high {
            return;
        }
        // Karn: what is sent twice measures nothing.
        if self.timed.is_some_and(|timed| timed.seq == seq) {
            self.timed = None;
        }
        self.repairs.add(seq, self.high);
        if seq == self.una {
            self.restart_timer(now);
        }
    }

    /// The network says, in a report or with an ACK, how many errors it makes.
    pub fn on_error_rate(&mut self, error_rate: f64) {
        let Some(Notification::Been(sizing)) = self.repairs.notification() else { return };
        let header = self.options.header.0 as u32;
        let largest = header + self.options.mss.0 as u32;
        let packet = sizing.packet_bytes(error_rate, header, largest);
        self.data.set_size(packet - header);
    }

    /// The ACK that arrives next says that what it asks for was corrupted. A sender that does not listen to marks ignores it.
    pub fn hear_loss_mark(&mut self) {
        if let Some(listener) = self.repairs.0.as_deref_mut()
            && listener.notification == Notification::Eln
        {
            listener.marked = true;
        }
    }

    /// A duplicate ACK that is marked: corruption made its hole.
    pub(super) fn marked_duplicate(&mut self) {
        self.counters.duplicate_acks += 1;
        self.duplicates += 1;
        if self.repairs.repeats(self.una) {
            // Karn: what is sent twice measures nothing.
            if self.timed.is_some_and(|timed| timed.seq == self.una) {
                self.timed = None;
            }
            self.plan.forced = Some(self.una);
        }
        self.plan.burst = NO_LIMIT;
    }

    /// User bytes of the next new segment, if there is enough data.
    pub fn segment_size(&self) -> u32 {
        self.data.size()
    }

    /// All before `una` is acknowledged.
    pub(super) fn notified_up_to_una(&mut self) {
        self.data.acknowledged(self.una);
        self.repairs.acknowledged(self.una);
    }

    /// Duplicate ACKs of a hole that was reported: fast recovery without a cut, and nothing to send again.
    pub(super) fn recover_uncut(&mut self) {
        self.repairs.begin_uncut(self.una);
        self.phase = Phase::Recovery;
        self.inflation = self.options.duplicate_threshold;
        self.events.push(SenderEvent::RecoveryEntered { seq: self.una });
    }

    /// A hole that was not reported shows in a recovery without a cut: it was congestion after all.
    pub(super) fn cut_after_all(&mut self, now: Time) {
        self.repairs.end_uncut();
        self.enter_recovery(now, Lost::First);
    }

    /// Segments leave that were reported, whatever the window says.
    #[cold]
    pub(super) fn poll_repair(&mut self, now: Time) -> Option<crate::Segment> {
        let seq = self.repairs.next_due()?;
        Some(self.transmit(now, seq))
    }
}
