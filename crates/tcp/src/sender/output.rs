//! The output engine: windows, bursts, Nagle's rule, deferral, restart after idle, window validation, pacing.

use super::{Ready, Sender, TimerKind, Validation};
use crate::control::{Burst, EcnUse, Event};
use crate::flow::CaState;
use crate::ledger::{Id, Record};
use crate::segment::{Ecn, Seq, Timestamps};

/// The largest packet that the host hands to its device less the room for headers, in bytes.
const LARGEST_BURST: u64 = 65_536 - 320 - 1;
/// Bursts are as long as the pacing rate fills in 2^-10 s.
const BURST_SHIFT: u32 = 10;
/// A burst waits for the rest of itself only while the last transmission is younger than this, in nanoseconds.
pub(super) const DEFERRAL_NS: u64 = 1_000_000;
/// The first packets are not paced.
const UNPACED: u64 = 10;

/// How strictly Nagle's rule is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nagle {
    On,
    /// A segment that is not full waits for nothing.
    Off,
    /// The head of the queue leaves because more follows it.
    Push,
}

/// How much a call may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    All,
    One,
    /// One segment, even where the congestion window is full.
    Probe,
}

impl Sender {
    fn nagle(&self) -> Nagle {
        if self.config.nagle { Nagle::On } else { Nagle::Off }
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.buffers.written > self.flow.nxt
    }

    /// The largest buffer: as many full segments as a burst holds, and no more than half the window.
    fn buffer_size(&self) -> u64 {
        let mss = u64::from(self.flow.mss);
        let half = if self.max_window > 536 { self.max_window >> 1 } else { self.max_window };
        let most = if half > 0 { LARGEST_BURST.min(half.max(68)) } else { LARGEST_BURST };
        (most / mss).max(1) * mss
    }

    /// One call of the application.
    pub(super) fn send_call(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.note_app_limited();
        let mut left = bytes;
        loop {
            let size = self.buffer_size();
            let start = self.buffers.open_start(self.flow.nxt);
            let mut room = size.saturating_sub(self.buffers.written - start);
            if self.buffers.written == start || room == 0 {
                self.buffers.begin(self.flow.nxt);
                self.restart_after_idle();
                room = size;
            }
            let part = room.min(left);
            self.buffers.written += part;
            left -= part;
            if left == 0 {
                break;
            }
            if part < room {
                continue;
            }
            if self.buffers.written > self.pushed + (self.max_window >> 1) {
                self.pushed = self.buffers.written;
                self.buffers.mark_push();
                self.push(Nagle::Push);
            } else if self.buffers.head_is_open() {
                self.write_out(self.nagle(), Amount::One);
            }
        }
        self.pushed = self.buffers.written;
        if self.has_unsent() {
            self.buffers.mark_push();
        }
        let nagle = self.nagle();
        self.push(nagle);
    }

    /// Sends what may be sent.
    pub(super) fn push_pending(&mut self) {
        if self.has_unsent() {
            self.push(self.nagle());
        }
    }

    pub(super) fn push(&mut self, nagle: Nagle) {
        if self.has_unsent() && self.write_out(nagle, Amount::All) {
            self.check_probe_timer();
        }
    }

    /// The pacing timer fired.
    pub(super) fn resume_paced(&mut self) {
        if self.flow.lost_out > self.flow.retrans_out && self.flow.cwnd > self.flow.in_flight() {
            self.retransmit_lost();
        }
        if self.has_unsent() {
            self.write_out(self.nagle(), Amount::All);
        }
    }

    /// Whether a packet has to wait for its time; sets the timer for it.
    pub(super) fn must_wait_for_pace(&mut self) -> bool {
        if !self.flow.paced || self.flow.pace_ns <= self.flow.now_ns {
            return false;
        }
        self.pacing_timer.get_or_insert(skyhop_base::Time::from_nanos(self.flow.pace_ns));
        true
    }

    /// Segments in a burst.
    pub(super) fn burst(&self) -> u32 {
        let least = match self.control.burst(&self.flow) {
            Burst::Usual => self.config.min_burst,
            Burst::AtLeast(least) => least,
            Burst::Exactly(burst) => return burst.min((LARGEST_BURST / u64::from(self.flow.mss)) as u32).max(1),
        };
        let mut bytes = self.flow.pacing_rate >> BURST_SHIFT;
        // On short paths bursts are longer: by the largest one, halved for each unit of the smallest RTT.
        let halvings = self.flow.min_rtt_us >> self.config.burst_rtt_log;
        if self.config.burst_rtt_log > 0 && halvings < 32 {
            bytes = bytes.saturating_add(LARGEST_BURST >> halvings);
        }
        ((bytes.min(LARGEST_BURST) / u64::from(self.flow.mss)) as u32).max(least)
    }

    /// Sends new data as far as windows and rules allow. Returns whether data waits although nothing is in flight.
    pub(super) fn write_out(&mut self, nagle: Nagle, amount: Amount) -> bool {
        let burst = self.burst();
        self.write_bursts(nagle, amount, burst, 0)
    }

    /// Goes on after a first burst of `sent` segments.
    #[inline(never)]
    pub(super) fn write_more(&mut self, burst: u32, sent: u32) {
        self.write_bursts(self.nagle(), Amount::All, burst, sent);
    }

    /// [`Sender::write_out`] with so many segments in a burst. `sent`: segments sent before, as a part of the same.
    fn write_bursts(&mut self, nagle: Nagle, amount: Amount, burst: u32, mut sent: u32) -> bool {
        let mss = u64::from(self.flow.mss);
        // The timer of a probe that is set at the end takes the place of any that a transmission sets.
        let probes = amount != Amount::Probe && self.may_probe();
        let mut in_flight = self.flow.in_flight();
        let held = self.held_back();
        let mut cwnd_limited = false;
        while self.has_unsent() {
            if self.must_wait_for_pace() {
                break;
            }
            let quota = match self.window_quota(in_flight + held) {
                0 if amount == Amount::Probe => 1,
                0 => break,
                quota => quota.min(burst),
            };
            self.buffers.fill_head(self.flow.nxt + u64::from(quota) * mss);
            let len = self.buffers.head_end() - self.flow.nxt;
            if self.flow.nxt + len.min(mss) > self.window_end() {
                break;
            }
            let is_one = len <= mss;
            if is_one {
                let rule = if self.buffers.head_is_open() { nagle } else { Nagle::Push };
                if rule != Nagle::Push && self.holds_partial(len < mss, rule) {
                    break;
                }
            } else if amount == Amount::All && self.defers(len, burst, in_flight + held, &mut cwnd_limited) {
                break;
            }
            let limit = if is_one { mss } else { self.split_point(len, quota, nagle) };
            let bytes = len.min(limit);
            let segments = bytes.div_ceil(mss) as u32;
            self.send_new(bytes, segments, in_flight, !probes);
            sent += segments;
            in_flight += segments;
            if amount != Amount::All {
                break;
            }
        }
        debug_assert_eq!(in_flight, self.flow.in_flight());
        cwnd_limited |= in_flight + held >= self.flow.cwnd;
        if sent > 0 || cwnd_limited {
            self.validate_window(cwnd_limited);
        }
        if sent > 0 {
            if self.flow.in_reduction() {
                self.prr.out += sent;
            }
            if probes {
                self.set_loss_probe(false);
            }
            return false;
        }
        self.flow.packets_out == 0 && self.has_unsent()
    }

    /// Segments that the receiver holds and that count in flight all the same: without limited transmit (RFC 3042)
    /// nothing new leaves for them until a loss is proved.
    fn held_back(&self) -> u32 {
        let waits = self.flow.state == CaState::Disorder && !self.config.limited_transmit;
        if waits { self.flow.sacked_out } else { 0 }
    }

    /// Segments that the congestion window allows: at most half of it at once, so that two bursts are in flight.
    fn window_quota(&self, in_flight: u32) -> u32 {
        if in_flight >= self.flow.cwnd {
            return 0;
        }
        (self.flow.cwnd >> 1).max(1).min(self.flow.cwnd - in_flight)
    }

    fn holds_partial(&self, partial: bool, nagle: Nagle) -> bool {
        partial && nagle == Nagle::On && self.flow.packets_out > 0 && self.small_end > self.flow.una
    }

    fn split_point(&self, len: u64, quota: u32, nagle: Nagle) -> u64 {
        let mss = u64::from(self.flow.mss);
        let window = self.window_end() - self.flow.nxt;
        let most = mss * u64::from(quota);
        if most <= window && !self.buffers.head_is_open() {
            return most;
        }
        let needed = len.min(window);
        if most <= needed {
            return most;
        }
        let partial = needed % mss;
        if self.holds_partial(partial != 0, nagle) { needed - partial } else { needed }
    }

    /// Whether a burst waits until it is whole, because an ACK is expected soon.
    #[inline(always)]
    pub(super) fn defers(&self, len: u64, burst: u32, in_flight: u32, cwnd_limited: &mut bool) -> bool {
        let flow = &self.flow;
        if self.config.burst_divisor == 0
            || flow.state >= CaState::Recovery
            || flow.now_ns.saturating_sub(flow.pace_ns) > DEFERRAL_NS
        {
            return false;
        }
        let mss = u64::from(flow.mss);
        let send_window = self.window_end() - flow.nxt;
        let cong_window = u64::from(flow.cwnd.saturating_sub(in_flight)) * mss;
        let limit = send_window.min(cong_window);
        if limit >= u64::from(burst) * mss || (!self.buffers.head_is_open() && limit >= len) {
            return false;
        }
        let chunk = self.window.min(u64::from(flow.cwnd) * mss) / u64::from(self.config.burst_divisor);
        if limit >= chunk {
            return false;
        }
        let Some(first) = self.ledger.front() else { return false };
        let head_ns = first.sent_us * 1000;
        let srtt_ns = (flow.srtt8_us >> 3) * 1000;
        // An ACK that is far away is not worth waiting for.
        if head_ns + srtt_ns > flow.now_ns + (srtt_ns / 2).min(DEFERRAL_NS) {
            return false;
        }
        *cwnd_limited |= cong_window < send_window && cong_window <= len;
        true
    }

    /// Sends `bytes` of new data in one burst of `segments`, and sets the timer where that is not done later.
    /// `in_flight`: the segments in flight before it.
    #[inline(always)]
    pub(super) fn send_new(&mut self, bytes: u64, segments: u32, in_flight: u32, set_timer: bool) {
        let mss = u64::from(self.flow.mss);
        let start = self.flow.nxt;
        let prior = self.flow.packets_out;
        let sent_us = self.begin_transmission(segments, bytes, in_flight);
        // With Accurate ECN the flag is a part of a count.
        let cwr = std::mem::take(&mut self.queue_cwr) && !self.flow.accurate_ecn;
        let end = start + bytes;
        // A burst ends with PSH in any case, so that the receiving host does not wait for more of it.
        let (head_end, head_pushed) = self.buffers.head();
        let push = end == head_end && head_pushed;
        // What all segments have. The flight counts as empty for the whole burst, which is one packet to the host.
        let mut record = Record::new(start, mss as u32, sent_us);
        self.sampler.sent(&mut self.flow, &mut record, in_flight, 0);
        for _ in 1..segments {
            self.ledger.push(record);
            record.follow();
        }
        record.set_len((end - record.start) as u32);
        record.set_push(push);
        self.ledger.push(record);
        let ready = Ready::new(start, bytes as u32, mss as u32, 0, self.timestamps(sent_us));
        self.ready.push_back(ready.with(self.codepoint(false), cwr, segments > 1 || push));
        self.flow.nxt = end;
        self.buffers.sent(end);
        self.flow.packets_out += segments;
        if set_timer && (prior == 0 || matches!(self.timer, Some((TimerKind::LossProbe, _)))) {
            self.rearm_rto();
        }
        if bytes < u64::from(segments) * mss {
            self.small_end = end;
        }
    }

    /// Takes note of a transmission of data; returns its time in microseconds.
    #[inline(always)]
    fn begin_transmission(&mut self, segments: u32, bytes: u64, in_flight: u32) -> u64 {
        let before = self.flow.pace_ns;
        let sent_ns = before.max(self.flow.now_ns);
        if in_flight == 0 {
            self.event(Event::TransmitStart);
        }
        self.flow.sent_jiffy = self.flow.jiffy;
        self.data_segments += u64::from(segments);
        self.flow.pace_ns = sent_ns;
        if self.spaces_out() {
            let len_ns = (u128::from(bytes) * 1_000_000_000 / u128::from(self.flow.pacing_rate)) as u64;
            // A host that was late may catch up by half the time of the packet.
            let credit = sent_ns - before;
            self.flow.pace_ns += len_ns - (len_ns / 2).min(credit);
        }
        sent_ns / 1000
    }

    /// Whether data that leave now make the next ones wait.
    pub(super) fn spaces_out(&self) -> bool {
        let rate = self.flow.pacing_rate;
        self.flow.paced && rate != u64::MAX && rate > 0 && self.data_segments >= UNPACED
    }

    /// The ECN field of data. A repetition is without ECT (RFC 3168 §6.1.5), unless marks are echoed one by one or
    /// counted (RFC 9768 §3.1.5 leaves it to the sender, and the kernel sets it).
    fn codepoint(&self, repeated: bool) -> Ecn {
        match self.ecn_use {
            _ if !self.ecn => Ecn::NotEct,
            EcnUse::Precise => Ecn::Ect0,
            EcnUse::Scalable if self.flow.accurate_ecn => Ecn::Ect1,
            _ if repeated && !self.flow.accurate_ecn => Ecn::NotEct,
            _ => Ecn::Ect0,
        }
    }

    fn emit_data(&mut self, seq: Seq, len: u32, sent_us: u64, psh: bool, ecn: Ecn, cwr: bool) {
        let timestamps = self.timestamps(sent_us);
        self.ready.push_back(Ready::new(seq, len, len, 0, timestamps).with(ecn, cwr, psh));
    }

    pub(super) fn timestamps(&self, us: u64) -> Option<Timestamps> {
        self.has_timestamps.then(|| Timestamps { value: self.stamp(us), echo: self.recent })
    }

    /// Retransmits a segment, and those that were sent in one burst with it and are lost like it: at most `most`.
    /// Returns how many left.
    pub(super) fn repeat(&mut self, id: Id, most: u32) -> u32 {
        let head = *self.ledger.get(id);
        if head.start == 0 {
            return self.repeat_syn(id);
        }
        let window_end = self.window_end();
        let room = window_end.saturating_sub(head.start);
        if room == 0 && head.start != self.flow.una {
            return 0;
        }
        let mss = u64::from(self.flow.mss);
        self.join_small(id, if room == 0 { mss } else { room.min(mss) });
        self.ledger.get_mut(id).follows = false;
        let (mut count, mut bytes) = (1, u64::from(self.ledger.get(id).len()));
        let mut next = self.ledger.next(id);
        while let Some(record) = next.map(|next| *self.ledger.get(next)) {
            let alike = record.is_lost() && !record.is_sacked() && !record.is_repeated();
            if !record.follows || !alike || count == most || record.end() > window_end {
                break;
            }
            count += 1;
            bytes += u64::from(record.len());
            next = next.and_then(|next| self.ledger.next(next));
        }
        // A burst that is cut here stays so.
        if let Some(next) = next {
            self.ledger.get_mut(next).follows = false;
        }
        self.total_retrans += u64::from(count);
        let sent_us = self.begin_transmission(count, bytes, self.flow.in_flight());
        let mut next = Some(id);
        for number in 1..=count {
            let Some(id) = next else { break };
            let mut record = *self.ledger.get(id);
            record.sent_us = sent_us;
            record.set_ever_repeated();
            let in_flight = self.flow.in_flight();
            self.sampler.sent(&mut self.flow, &mut record, in_flight, number - 1);
            *self.ledger.get_mut(id) = record;
            self.ledger.link_last(id);
            let push = record.is_push() || (count > 1 && number == count);
            self.emit_data(record.start, record.len(), sent_us, push, self.codepoint(true), false);
            next = self.ledger.next(id);
        }
        count
    }

    fn repeat_syn(&mut self, id: Id) -> u32 {
        self.total_retrans += 1;
        let record = self.ledger.get_mut(id);
        record.sent_us = self.flow.now_us;
        record.set_ever_repeated();
        self.ledger.link_last(id);
        self.emit_syn();
        1
    }

    /// A small segment that is repeated takes the following ones along as far as they fit (`tcp_retrans_collapse`).
    fn join_small(&mut self, id: Id, room: u64) {
        let mut room = room;
        let len = u64::from(self.ledger.get(id).len());
        if len >= room || !self.config.join_small {
            return;
        }
        room -= len;
        while let Some(next) = self.ledger.next(id) {
            let record = *self.ledger.get(next);
            let len = u64::from(record.len());
            if record.is_sacked() || len > room || record.end() > self.window_end() {
                return;
            }
            room -= len;
            self.flow.packets_out -= 1;
            self.flow.lost_out -= u32::from(record.is_lost());
            self.flow.retrans_out -= u32::from(record.is_repeated());
            if self.retransmit_hint == Some(next) {
                self.retransmit_hint = Some(id);
            }
            self.ledger.merge(id, next);
        }
    }

    /// The application has nothing to send: samples of the rate will be too low.
    fn note_app_limited(&mut self) {
        if !self.config.app_limited_marks {
            return;
        }
        let flow = &mut self.flow;
        if self.buffers.written - flow.nxt.max(1) < u64::from(flow.mss)
            && flow.in_flight() < flow.cwnd
            && flow.lost_out <= flow.retrans_out
        {
            flow.app_limited = (flow.delivered + u64::from(flow.in_flight())).max(1);
        }
    }

    /// The window shrinks by half per timeout of idle time, down to the initial window.
    pub(super) fn restart_after_idle(&mut self) {
        if self.flow.packets_out > 0 || self.owns_window {
            return;
        }
        // RFC 7661 takes the place of a restart.
        if self.pipe_ack.is_some() {
            self.is_validated();
            return;
        }
        if !self.config.idle_restart {
            return;
        }
        let jiffy_ns = 1_000_000_000 / crate::timer::HZ;
        let rto = self.rto.as_nanos().div_ceil(jiffy_ns) as i64;
        let mut idle = (self.flow.jiffy - self.flow.sent_jiffy) as i64;
        if idle <= rto {
            return;
        }
        self.event(Event::WindowRestart);
        let flow = &mut self.flow;
        flow.ssthresh = flow.present_ssthresh();
        let least = self.config.initial_window.min(flow.cwnd);
        idle -= rto;
        while idle > 0 && flow.cwnd > least {
            flow.cwnd >>= 1;
            idle -= rto;
        }
        flow.cwnd = flow.cwnd.max(least);
        self.used_jiffy = flow.jiffy;
        self.cwnd_used = 0;
    }

    /// Notes how far the window is used (RFC 7661 in the kernel's form).
    pub(super) fn validate_window(&mut self, cwnd_limited: bool) {
        let cwnd_limited = cwnd_limited || (self.config.window_validation != Validation::Linux && !self.owns_window);
        let flow = &mut self.flow;
        if flow.una >= self.usage_seq || cwnd_limited || (!flow.cwnd_limited && flow.packets_out > flow.max_packets_out)
        {
            flow.cwnd_limited = cwnd_limited;
            flow.max_packets_out = flow.packets_out;
            self.usage_seq = flow.nxt;
        }
        if flow.is_cwnd_limited() {
            self.cwnd_used = 0;
            self.used_jiffy = flow.jiffy;
            return;
        }
        self.cwnd_used = self.cwnd_used.max(flow.packets_out);
        let rto = self.rto.as_nanos() / (1_000_000_000 / crate::timer::HZ);
        if self.config.idle_restart && flow.jiffy - self.used_jiffy >= rto && !self.owns_window {
            if flow.state == CaState::Open {
                let used = self.cwnd_used.max(self.config.initial_window);
                if used < flow.cwnd {
                    flow.ssthresh = flow.present_ssthresh();
                    flow.cwnd = (flow.cwnd + used) >> 1;
                }
                self.cwnd_used = 0;
            }
            self.used_jiffy = flow.jiffy;
        }
    }

    /// A window probe: the part of the next segment that fits, or a number already acknowledged without data.
    /// Returns whether data left.
    pub(super) fn probe_window(&mut self) -> bool {
        if self.has_unsent() && self.flow.nxt < self.window_end() {
            let mss = u64::from(self.flow.mss);
            let room = self.window_end() - self.flow.nxt;
            let len = (self.buffers.head_end() - self.flow.nxt).min(room).min(mss);
            self.pushed = self.pushed.max(self.buffers.head_end());
            self.buffers.mark_head_push(self.flow.nxt + len);
            self.send_new(len, 1, self.flow.in_flight(), true);
            return true;
        }
        self.emit_ack(self.flow.una - 1);
        false
    }
}
