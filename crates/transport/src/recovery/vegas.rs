//! Vegas' own retransmission checks: a fine-grained timeout that is compared with the age of the first outstanding
//! segment on duplicate ACKs (Brakmo and Peterson 1995 §3.1), as ns-2's Agent/TCP/Vegas does it.

use super::contract::LossRecovery;
use crate::config::{InitialWindowAt, Options, RecoveryExit, SendTimes};
use crate::core::{ControlSample, Core, LastCut};
use crate::ledger::Record;
use crate::ns2::Ring;
use crate::record::Phase;
use crate::segment::{Ack, Segment, Transmission};
use skyhop_base::{Duration, Time};
use skyhop_cc::{CongestionControl, Lost};

#[derive(Clone, Debug, Default)]
pub(crate) struct Vegas {
    /// ns-2's memory of send times, where the profile has it.
    ring: Option<Ring>,
    timeout: FineTimeout,
    /// The last cut.
    cut_at: Option<Time>,
    /// Window after the last cut, without inflation.
    cut_to: f64,
    /// ACKs of new data that are still checked after a retransmission.
    to_check: u32,
}

/// The fine-grained timeout.
#[derive(Clone, Copy, Debug, Default)]
struct FineTimeout {
    /// The first transmission of the connection.
    began: Option<Time>,
    /// SRTT in eighths and deviation in quarters, seconds; `None` before the first ACK.
    smoothed: Option<(f64, f64)>,
    /// Seconds.
    seconds: f64,
}

impl FineTimeout {
    /// The first ACK: 1.5 R, R from the first transmission on.
    fn start(&mut self, now: Time) {
        if self.smoothed.is_none()
            && let Some(began) = self.began
        {
            let r = now.since(began).as_secs_f64();
            self.smoothed = Some((8.0 * r, r));
            self.seconds = ((8.0 * r) / 4.0 + r) / 2.0;
        }
    }

    /// Gains 1/8 and 1/4, timeout (SRTT + 2 · deviation) · 17/16.
    fn sample(&mut self, rtt: Duration) {
        let Some((srtt, deviation)) = &mut self.smoothed else { return };
        let error = rtt.as_secs_f64() - *srtt / 8.0;
        *srtt += error;
        *deviation += error.abs() - *deviation / 4.0;
        self.seconds = (*srtt / 4.0 + *deviation) / 2.0;
        self.seconds += self.seconds / 16.0;
    }
}

impl Vegas {
    pub(crate) fn new(options: &Options) -> Vegas {
        let ring = if options.ns2.send_times == SendTimes::Ring { Ring::new(options.window) } else { None };
        Vegas { ring, ..Vegas::default() }
    }

    /// The first outstanding segment. For one that was never sent ns-2 finds the record that its place in the ring
    /// still holds.
    fn oldest(&self, core: &Core) -> Option<Record> {
        let sent = core.ledger.as_ref().and_then(|ledger| ledger.get(core.una));
        sent.or_else(|| self.ring.as_ref().and_then(|ring| ring.at(core.una)))
    }

    /// Whether the first outstanding segment is older than the fine-grained timeout.
    fn expired(&self, core: &Core, now: Time) -> bool {
        self.oldest(core).is_none_or(|sent| now.since(sent.sent).as_secs_f64() >= self.timeout.seconds)
    }

    /// The RTT of the last segment that an ACK of `next` covers, if that was sent once. The first ACK's is measured by
    /// [`FineTimeout::start`].
    fn rtt(&self, core: &Core, now: Time, next: u32) -> Option<Duration> {
        let last = core.ledger.as_ref()?.get(next - 1)?;
        (last.times == 1 && Some(last.sent) != self.timeout.began).then(|| now.since(last.sent))
    }

    fn new_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        if core.una == 1 && core.options.ns2.initial_window_at == InitialWindowAt::SecondAck {
            core.control.set_cwnd(core.window.initial.into());
        }
        self.settle_inflation(core);
        if core.phase() == Phase::Recovery {
            core.leave_recovery();
        }
        let rtt = self.rtt(core, now, ack.next);
        if let (Some(ring), Some(ledger)) = (&mut self.ring, &core.ledger) {
            ring.acknowledge(ledger, ack.next);
        }
        let advance = core.advance_sampling(now, ack, ControlSample::Own);
        core.leave_loss();
        if let Some(rtt) = rtt {
            core.note_rtt(rtt);
        }
        core.grow(now, advance);
        core.open_initial_window(advance);
        if let Some(rtt) = rtt {
            self.timeout.sample(rtt);
        }
        if self.to_check > 0 {
            self.to_check -= 1;
            if self.expired(core, now) {
                core.episode.duplicates = core.options.duplicate_threshold;
                core.force(core.una);
            } else {
                self.to_check = 0;
            }
        }
    }

    /// The inflation of the window goes when there were more duplicate ACKs than the threshold, and stays else.
    fn settle_inflation(&mut self, core: &mut Core) {
        let inflated = core.control.cwnd() + f64::from(core.window.inflation);
        core.window.inflation = 0;
        if core.episode.duplicates > core.options.duplicate_threshold && inflated > self.cut_to {
            // ns-2 has noted no window since a timeout, and so has none until the next one.
            let least = if core.options.recovery_exit == RecoveryExit::BaseWindow { 0.0 } else { 1.0 };
            core.control.set_cwnd(self.cut_to.max(least));
            core.control.on_recovered();
        } else if inflated > core.control.cwnd() {
            core.set_cwnd(inflated);
        }
    }

    fn duplicate(&mut self, core: &mut Core, now: Time) {
        core.counters.duplicate_acks += 1;
        core.episode.duplicates += 1;
        let threshold = core.options.duplicate_threshold;
        if self.expired(core, now) || core.episode.duplicates == threshold {
            if core.una > core.episode.recover || core.episode.last_cut != LastCut::Timeout {
                self.retransmit(core, now);
            }
        } else if core.episode.duplicates > threshold {
            core.window.inflation += 1;
        }
        core.tell(now, 0);
    }

    fn retransmit(&mut self, core: &mut Core, now: Time) {
        let Some(oldest) = self.oldest(core) else { return };
        let lost = if oldest.times > 1 { Lost::Again } else { Lost::First };
        let outstanding = core.next + 1 - core.una;
        self.to_check = outstanding.min(2);
        self.timeout.seconds *= if lost == Lost::Again { 2.0 } else { 9.0 / 8.0 };
        // Cut only for a segment that was sent after the last cut.
        if self.cut_at.is_none_or(|at| at < oldest.sent) {
            self.cut_at = Some(now);
            core.enter_recovery(now, lost);
            core.episode.phase = Phase::Recovery;
            self.cut_to = core.control.cwnd();
            core.window.inflation = core.episode.duplicates;
        } else {
            core.episode.recover = core.high;
            core.episode.last_cut = LastCut::FastRetransmit;
            core.measured.timed = None;
        }
        core.rtt.back_off();
        core.restart_timer(now);
        core.force(core.una);
        if lost == Lost::First {
            core.episode.duplicates = core.options.duplicate_threshold;
        }
    }
}

impl LossRecovery for Vegas {
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        self.timeout.start(now);
        if ack.next > core.una {
            self.new_ack(core, now, ack);
        } else if ack.next == core.una {
            self.duplicate(core, now);
        }
        if core.episode.duplicates == 0 || core.episode.duplicates >= core.options.duplicate_threshold {
            core.release();
        }
    }

    fn on_timeout(&mut self, core: &mut Core, now: Time) {
        self.cut_at = Some(now);
        self.cut_to = 0.0;
        core.go_back();
    }

    fn on_sent(&mut self, core: &mut Core, segment: &Segment) {
        let Some(record) = core.ledger.as_mut().and_then(|ledger| ledger.get_mut(segment.seq)) else { return };
        if segment.transmission == Transmission::First {
            record.times += self.ring.as_mut().map_or(0, |ring| ring.take(segment.seq));
        }
        if segment.seq == 0 {
            // The opening segment counts as sent once, and its round trip starts with the last transmission.
            record.times = 1;
            self.timeout.began = Some(record.sent);
        }
    }

    fn needs_ledger(&self) -> bool {
        true
    }
}
