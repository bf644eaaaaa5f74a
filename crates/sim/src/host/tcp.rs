//! Drives Skyhop's own TCP: the path of a segment and of an ACK between its two machines and the network.

use super::endpoint::{Counters, Report};
use crate::ack_details::{AckDetail, PathErrors};
use crate::jitter::sends_at;
use crate::limits::BETWEEN_LOOKS;
use crate::ns2_clock::FlowTimer;
use crate::packet::{Flags, Packet};
use crate::records::PacketEvent;
use crate::ring::Ring;
use crate::simulation::Simulation;
use crate::wire;
use skyhop_base::{Duration, Rate, Time};
use skyhop_transport::{Phase, Priority, Receiver, Segment, Sender, SenderEvent, Snapshot, Transmission};

/// The receiver and its timer side by side: what a packet touches stands on few cache lines.
#[repr(C)]
pub(crate) struct TcpEnds {
    pub sender: Sender,
    pub receiver: Receiver,
    /// When the delayed ACK is due, [`Time::MAX`] when none waits, …
    pub ack_due: Time,
    /// … since when that is so, …
    pub ack_due_since: Time,
    /// … and for when its slot is armed.
    pub ack_armed: Time,
    /// For when the sender's slot is armed, [`Time::MAX`] when it is not.
    pub sender_armed: Time,
}

/// When each segment that is not yet acknowledged was sent, for the measure of RTT: the age of the segment that an
/// ACK acknowledges, if it was sent once.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnackedSendTimes {
    /// The number of the first segment in `sent`.
    first: u32,
    /// [`Time::MAX`] for segments that were sent more than once.
    sent: Ring<Time>,
}

impl UnackedSendTimes {
    #[inline]
    pub fn sent(&mut self, now: Time, seq: u32) {
        let Some(index) = seq.checked_sub(self.first) else { return };
        match self.sent.get_mut(index as usize) {
            Some(time) => *time = Time::MAX,
            None => self.sent.push_back(now),
        }
    }

    pub fn memory_bytes(&self) -> u64 {
        (self.sent.capacity() * size_of::<Time>()) as u64
    }

    /// The same for so many segments from `first` on, none of which was sent before.
    #[inline(always)]
    pub fn sent_first(&mut self, now: Time, first: u32, count: u32) {
        debug_assert!(first - self.first == self.sent.len() as u32, "segments that leave in order");
        for _ in 0..count {
            self.sent.push_back(now);
        }
    }

    /// All before `next` is acknowledged. The age of the last of them, if this ACK is new and it was sent once.
    #[inline(always)]
    pub fn acknowledged(&mut self, now: Time, next: u32) -> Option<Duration> {
        let last = self.sent.take_front(next.checked_sub(self.first)? as usize)?;
        self.first = next;
        (last != Time::MAX).then(|| now.since(last))
    }
}

/// What a sender keeps of a segment that is outstanding, bytes: when it was sent and how often.
const PER_SEGMENT: u64 = 24;

impl TcpEnds {
    pub fn new(sender: Sender, receiver: Receiver) -> TcpEnds {
        TcpEnds {
            sender,
            receiver,
            ack_due: Time::MAX,
            ack_due_since: Time::ZERO,
            ack_armed: Time::MAX,
            sender_armed: Time::MAX,
        }
    }

    /// The sender's state in the words of the records.
    #[cold]
    pub fn report(&self) -> Report {
        let snapshot = self.sender.snapshot();
        Report {
            cwnd: Some(snapshot.cwnd),
            inflation: Some(snapshot.inflation),
            ssthresh: Some(snapshot.ssthresh).filter(|ssthresh| ssthresh.is_finite()),
            pacing_bps: snapshot.pacing.map(Rate::bps_f64),
            in_flight: snapshot.in_flight,
            phase: phase_name(&snapshot),
            srtt: snapshot.srtt,
            rto: Some(snapshot.rto),
        }
    }

    pub fn counters(&self) -> Counters {
        let sender = self.sender.counters();
        Counters {
            retransmissions: sender.retransmissions,
            probes: sender.probes,
            timeouts: sender.timeouts,
            fast_retransmits: sender.fast_retransmits,
            cwnd_cuts: sender.window_cuts,
            duplicates: self.receiver.counters().duplicates,
            ..Counters::default()
        }
    }

    /// User bytes that the receiver's application has been able to read so far. Deviation: segments beyond a gap count
    /// as full ones.
    pub fn in_order_bytes(&self) -> u64 {
        let beyond = u64::from(self.receiver.held_segments()) * u64::from(self.sender.largest_segment());
        self.receiver.counters().payload_bytes.saturating_sub(beyond)
    }

    pub fn memory_bytes(&self) -> u64 {
        u64::from(self.sender.snapshot().in_flight) * PER_SEGMENT + size_of::<TcpEnds>() as u64
    }
}

/// RFC 5681's names; "loss" is the time after a timeout.
fn phase_name(snapshot: &Snapshot) -> &'static str {
    match snapshot.phase {
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
        Phase::Open if snapshot.cwnd < snapshot.ssthresh => "slow-start",
        Phase::Open => "congestion-avoidance",
    }
}

fn event_name(event: SenderEvent) -> &'static str {
    match event {
        SenderEvent::RecoveryEntered { .. } => "recovery",
        SenderEvent::RecoveryLeft => "recovered",
        SenderEvent::Timeout { .. } => "timeout",
    }
}

impl Simulation {
    /// The receiver has had a segment.
    #[inline(always)]
    pub(super) fn after_segment(&mut self, flow_id: u32) {
        let now = self.now;
        let flow = &mut self.flows[flow_id as usize];
        let Some(tcp) = flow.ends.tcp() else { return };
        let (next, rows) = (tcp.receiver.next_expected(), &mut self.recorder.records.transfers);
        flow.updates.received_before(now, next, flow_id, rows);
        let counters = tcp.receiver.counters();
        flow.totals.duplicate = counters.duplicates;
        flow.totals.bytes_delivered = counters.payload_bytes;
        if flow.leg.is_some() {
            self.deliver_to_leg(flow_id);
            return self.send_acks(flow_id);
        }
        if flow.application.waits_for(flow.totals.bytes_delivered) {
            self.deliver_to_application(flow_id);
        }
        self.send_acks(flow_id);
    }

    /// An ACK is at its sender.
    pub(super) fn deliver_tcp_ack(&mut self, packet: &Packet) {
        let now = self.now;
        if let Some(link) = self.recorder.ack_link
            && self.ack_details.is_news(packet.detail)
        {
            self.record_packet(now, link, PacketEvent::Ack, packet);
        }
        let details = match packet.detail {
            Packet::NO_DETAIL => AckDetail::default(),
            slot => self.ack_details.take(slot),
        };
        if !details.news {
            return self.deliver_window(packet, details.window);
        }
        let ack = wire::ack(packet, details.blocks);
        let flow = &mut self.flows[packet.flow as usize];
        flow.totals.acks_received += 1;
        let Some(tcp) = flow.ends.tcp_mut() else { return };
        // Measured here for the records, whatever the sender itself takes as a sample.
        if let Some(rtt) = flow.ages.acknowledged(now, ack.next) {
            flow.rtt.add(rtt);
        }
        // Over time, the round trip of the moment: a segment that waited behind a hole is older than that.
        if ack.trigger == Transmission::First {
            self.recorder.rtt(packet.flow, now.since(ack.echo));
        }
        if details.loss_marked {
            tcp.sender.on_loss_mark();
        }
        tcp.sender.on_ack(now, &ack);
        if let Some(window) = details.window {
            tcp.sender.on_window(now, ack.next.saturating_add(window));
        }
        if let Some(path_errors) = details.path_errors {
            on_path_errors(&mut tcp.sender, path_errors);
        }
        let is_leg = flow.leg.is_some();
        if flow.application.awaits_confirmation() {
            self.confirm(packet.flow);
        }
        self.after_sender_input(packet.flow);
        if is_leg {
            self.leg_acknowledged(packet.flow);
        }
    }

    /// Everything that the sender wants after an input: packets, records, its timer.
    pub(crate) fn after_sender_input(&mut self, flow_id: u32) {
        let now = self.now;
        if self.flows[flow_id as usize].jitter.is_none() || self.jitter_lets_send(flow_id) {
            self.send_segments(flow_id);
        }
        let flow = &mut self.flows[flow_id as usize];
        let Some(tcp) = flow.ends.tcp_mut() else { return };
        if let Some(average) = &mut flow.cwnd {
            average.set(now, tcp.sender.cwnd());
        }
        while let Some(event) = tcp.sender.poll_event() {
            self.recorder.flow_event(now, flow_id, event_name(event), Some(tcp.report()));
        }
        if let Some(part) = &mut self.part
            && part.remembers(flow_id)
        {
            part.remember(now, flow_id, tcp.report());
        }
        // Most inputs only move the deadline away. Then the slot stays where it is, fires early and moves itself.
        let deadline = tcp.sender.next_timeout().min(sends_at(flow.jitter.as_deref()));
        if self.ns2_clock.is_some() {
            return self.arm_by_ns2_clock(flow_id, FlowTimer::Sender, deadline);
        }
        if deadline < tcp.sender_armed {
            tcp.sender_armed = deadline;
            self.events.arm(self.slots.senders + flow_id, deadline, now);
        }
    }

    pub(super) fn on_sender_timeout(&mut self, flow_id: u32) {
        let now = self.now;
        let slot = self.slots.senders + flow_id;
        self.events.disarm(slot);
        let flow = &mut self.flows[flow_id as usize];
        let Some(tcp) = flow.ends.tcp_mut() else { return };
        tcp.sender_armed = Time::MAX;
        let (timeout, sends_at) = (tcp.sender.next_timeout(), sends_at(flow.jitter.as_deref()));
        let deadline = timeout.min(sends_at);
        if deadline > now {
            if deadline != Time::MAX {
                tcp.sender_armed = deadline;
                self.events.arm(slot, deadline, now);
            }
            return;
        }
        if timeout <= now {
            tcp.sender.on_timeout(now);
        }
        self.after_sender_input(flow_id);
    }

    #[inline]
    fn send_segments(&mut self, flow_id: u32) {
        // A window can release a burst that takes longer than anybody waits: see `limits.rs`.
        while self.send_some(flow_id) && !self.is_to_end() {}
    }

    /// Sends so many segments that it is time to look at the limits; false when there are no more.
    #[inline(always)]
    fn send_some(&mut self, flow_id: u32) -> bool {
        for _ in 0..BETWEEN_LOOKS {
            let Some(tcp) = self.flows[flow_id as usize].ends.tcp_mut() else { return false };
            let Some(segment) = tcp.sender.poll_transmit(self.now) else { return false };
            self.send_segment(flow_id, &segment);
        }
        true
    }

    pub(crate) fn send_segment(&mut self, flow_id: u32, segment: &Segment) {
        let flow = &mut self.flows[flow_id as usize];
        // A probe repeats a segment, but is neither its repair nor its age.
        if segment.priority == Priority::Normal {
            flow.ages.sent(self.now, segment.seq);
            if segment.transmission == Transmission::Again {
                flow.totals.resent_bytes += u64::from(segment.size);
            }
        }
        flow.totals.sent_payload_bytes += u64::from(segment.payload);
        if self.recorder.ack_link.is_some() {
            self.note_segment(flow_id, segment.seq, segment.payload);
        }
        let flags = wire::segment_flags(segment);
        self.send(flow_id, false, segment.seq, segment.size, segment.payload, self.now, flags);
    }

    fn send_acks(&mut self, flow_id: u32) {
        let now = self.now;
        loop {
            let Some(tcp) = self.flows[flow_id as usize].ends.tcp_mut() else { return };
            let Some(ack) = tcp.receiver.poll_ack(now) else {
                return self.arm_receiver(flow_id);
            };
            let blocks = ack.blocks;
            let detail = if self.flows[flow_id as usize].acks_say_more {
                self.detail_of_more(flow_id, blocks)
            } else if blocks.is_empty() {
                Packet::NO_DETAIL
            } else {
                self.ack_details.keep(AckDetail { blocks, ..AckDetail::default() })
            };
            let flags = wire::ack_flags(&ack);
            self.send(flow_id, true, ack.next, ack.size, detail, ack.echo, flags);
        }
    }

    /// An ACK that only tells how much room there is.
    #[cold]
    fn deliver_window(&mut self, packet: &Packet, window: Option<u32>) {
        let now = self.now;
        let flow = &mut self.flows[packet.flow as usize];
        flow.totals.acks_received += 1;
        let Some(tcp) = flow.ends.tcp_mut() else { return };
        if let Some(window) = window {
            tcp.sender.on_window(now, packet.seq.saturating_add(window));
        }
        self.after_sender_input(packet.flow);
    }

    pub(crate) fn send_ack_packet(&mut self, flow_id: u32, next: u32, size: u32, detail: u32) {
        self.send(flow_id, true, next, size, detail, self.now, Flags::ACK);
    }

    /// The delayed ACK is set and called off with every other segment. So its slot, once armed, stays where it is,
    /// fires early and moves itself, as that of the sender.
    #[inline(always)]
    pub(super) fn arm_receiver(&mut self, flow_id: u32) {
        let Some(tcp) = self.flows[flow_id as usize].ends.tcp() else { return };
        if tcp.receiver.next_timeout() != tcp.ack_due {
            self.move_receiver(flow_id);
        }
    }

    /// Another time than before.
    #[inline(never)]
    fn move_receiver(&mut self, flow_id: u32) {
        let Some(tcp) = self.flows[flow_id as usize].ends.tcp_mut() else { return };
        let deadline = tcp.receiver.next_timeout();
        (tcp.ack_due, tcp.ack_due_since) = (deadline, self.now);
        if self.ns2_clock.is_some() {
            return self.arm_by_ns2_clock(flow_id, FlowTimer::Receiver, deadline);
        }
        let slot = self.slots.receivers + flow_id;
        if deadline < tcp.ack_armed {
            tcp.ack_armed = deadline;
            self.events.arm(slot, deadline, self.now);
        }
    }

    pub(super) fn on_receiver_timeout(&mut self, flow_id: u32) {
        let slot = self.slots.receivers + flow_id;
        self.events.disarm(slot);
        let Some(tcp) = self.flows[flow_id as usize].ends.tcp_mut() else { return };
        tcp.ack_armed = Time::MAX;
        if tcp.ack_due > self.now {
            if tcp.ack_due != Time::MAX {
                tcp.ack_armed = tcp.ack_due;
                // In the order of events it stands where it would if it had been armed then.
                self.events.arm(slot, tcp.ack_due, tcp.ack_due_since);
            }
            return;
        }
        tcp.receiver.on_timeout(self.now);
        self.send_acks(flow_id);
    }
}

#[cold]
fn on_path_errors(sender: &mut Sender, path_errors: PathErrors) {
    match path_errors {
        PathErrors::ErrorRate(rate) => sender.on_error_rate(rate),
        PathErrors::Survival(survival) => sender.on_survival(survival),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_the_acknowledged_segment_counts_unless_it_was_sent_again() {
        let at = Time::from_nanos;
        let mut ages = UnackedSendTimes::default();
        (0..5).for_each(|seq| ages.sent(at(u64::from(seq)), seq));
        ages.sent(at(10), 2);
        assert_eq!(ages.acknowledged(at(20), 2), Some(Duration::from_nanos(19)));
        assert_eq!(ages.acknowledged(at(21), 2), None, "no new ACK");
        assert_eq!(ages.acknowledged(at(22), 3), None, "sent again");
        assert_eq!(ages.acknowledged(at(23), 5), Some(Duration::from_nanos(19)));
    }
}
