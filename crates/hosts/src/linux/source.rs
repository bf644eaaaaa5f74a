//! The sending host: the application's writes through a limited buffer, the sender, and what the records learn of it.

use super::{brief_packet, segment};
use skyhop_base::{Duration, Time};
use skyhop_sim::endpoint::{Codepoint, Counters, Endpoint, Fact, Incoming, Outgoing, Payload, Report, Words};
use skyhop_tcp::control::PathHint;
use skyhop_tcp::flow::CaState;
use skyhop_tcp::segment::Seq;
use skyhop_tcp::sender::{Counts, Sender};
use std::collections::VecDeque;

/// An application that waits for room in the buffer writes again when this part of it is free
/// (`sk_stream_is_writeable`).
const WRITABLE_SHARE: u64 = 3;

#[derive(Debug)]
pub(super) struct Source {
    sender: Sender,
    opened: bool,
    /// What the application has written and the buffer has not taken; `None`: without end.
    waiting: Option<u64>,
    /// User bytes that the buffer holds.
    buffer: u64,
    syn_bytes: u32,
    /// The end of the data sent so far.
    highest: Seq,
    repeats: u64,
    facts: VecDeque<Fact>,
    /// State and counts at the last look.
    seen: (CaState, Counts),
}

impl Source {
    pub fn new(sender: Sender, buffer: u64, syn_bytes: u32) -> Source {
        let seen = (sender.ca_state(), sender.counts());
        Source {
            sender,
            opened: false,
            waiting: Some(0),
            buffer,
            syn_bytes,
            highest: 0,
            repeats: 0,
            facts: VecDeque::new(),
            seen,
        }
    }

    /// Hands over what the buffer has room for.
    #[inline(always)]
    fn fill(&mut self, now: Time) {
        let room = self.buffer.saturating_sub(self.sender.backlog());
        let bytes = match self.waiting {
            Some(0) => return,
            Some(bytes) if bytes <= room => bytes,
            _ if room < self.buffer / WRITABLE_SHARE => return,
            // Whole segments: the rest follows with what comes next.
            _ => {
                let mss = u64::from(self.sender.flow().mss);
                if room < mss { room } else { room / mss * mss }
            }
        };
        if bytes > 0 {
            self.waiting = self.waiting.map(|waiting| waiting - bytes);
            self.sender.write(now, bytes);
        }
    }

    /// Notes what an input has changed.
    fn observe(&mut self) {
        let (state, counts) = (self.sender.ca_state(), self.sender.counts());
        if (state, counts) != self.seen {
            self.tell(state, counts);
        }
    }

    /// Notes the events since the last look.
    #[cold]
    fn tell(&mut self, state: CaState, counts: Counts) {
        let (before, counted) = std::mem::replace(&mut self.seen, (state, counts));
        let repaired = |state| matches!(state, CaState::Recovery | CaState::Loss);
        let events = [
            ("timeout", counts.timeouts > counted.timeouts),
            ("probe", counts.loss_probes > counted.loss_probes),
            ("recovery", counts.recoveries > counted.recoveries),
            ("cwr", state == CaState::Cwr && before != CaState::Cwr),
            ("undo", counts.undos > counted.undos),
            ("rtt-jump", counts.rtt_jumps > counted.rtt_jumps),
            ("recovered", repaired(before) && !repaired(state)),
        ];
        let happened = events.into_iter().filter(|&(_, happened)| happened);
        self.facts.extend(happened.map(|(name, _)| Fact::Event(name)));
    }
}

impl Endpoint for Source {
    fn write(&mut self, now: Time, bytes: Option<u64>) {
        if !std::mem::replace(&mut self.opened, true) {
            self.sender.open(now);
        }
        self.waiting = self.waiting.zip(bytes).map(|(waiting, bytes)| waiting.saturating_add(bytes));
        self.fill(now);
        self.observe();
    }

    fn close(&mut self, _now: Time) {
        // Written data stay written; a source without end has written what its buffer took.
        self.waiting = self.waiting.or(Some(0));
    }

    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        let Some(segment) = segment(packet) else { return };
        self.sender.on_segment(now, segment);
        self.fill(now);
        self.observe();
    }

    #[inline(always)]
    fn on_words(&mut self, now: Time, words: &Words, _ecn: Codepoint) {
        // A sender does not look at the ECN field of ACKs.
        let was_plain = self.sender.on_words(now, words);
        self.fill(now);
        // A plain ACK can change no more than this of what is observed.
        if !was_plain || self.sender.flow().rtt_jumps != self.seen.1.rtt_jumps {
            self.observe();
        }
    }

    fn on_handover(&mut self, now: Time) {
        self.sender.on_path_hint(now, PathHint::HandoverBegins);
        self.observe();
    }

    fn handover_lead(&self) -> Option<Duration> {
        self.sender.handover_lead()
    }

    fn next_timeout(&self) -> Time {
        self.sender.next_timeout().unwrap_or(Time::MAX)
    }

    fn on_timeout(&mut self, now: Time) {
        self.sender.on_timeout(now);
        self.observe();
    }

    #[inline]
    fn may_transmit(&self) -> bool {
        self.sender.is_ready()
    }

    #[inline(always)]
    fn poll_transmit(&mut self, _now: Time, payload: &mut Payload) -> Option<Outgoing> {
        let brief = self.sender.transmit_brief()?;
        let end = brief.end();
        let repeats = brief.len > 0 && end <= self.highest;
        self.repeats += u64::from(repeats);
        self.highest = self.highest.max(end);
        Some(brief_packet(&brief, self.syn_bytes, repeats, payload))
    }

    #[inline]
    fn take_rtt(&mut self) -> Option<Duration> {
        self.sender.take_rtt().map(Duration::from_micros)
    }

    #[inline]
    fn poll_fact(&mut self) -> Option<Fact> {
        self.facts.pop_front()
    }

    fn backlog_bytes(&self) -> u64 {
        match self.waiting {
            Some(waiting) => waiting + self.sender.backlog(),
            None => self.sender.backlog() - self.sender.unsent(),
        }
    }

    fn report(&self) -> Report {
        let flow = self.sender.flow();
        Report {
            cwnd: Some(flow.cwnd.into()),
            inflation: None,
            ssthresh: self.sender.ssthresh().map(f64::from),
            pacing_bps: self.sender.pacing_rate().map(|bytes| bytes as f64 * 8.0),
            in_flight: flow.packets_out,
            phase: match flow.state {
                CaState::Loss => "loss",
                CaState::Recovery => "recovery",
                CaState::Cwr => "cwr",
                CaState::Open | CaState::Disorder => match self.sender.control().phase() {
                    Some(phase) => phase,
                    None if flow.in_slow_start() => "slow-start",
                    None => "congestion-avoidance",
                },
            },
            srtt: self.sender.srtt(),
            rto: Some(self.sender.rto()),
        }
    }

    fn cwnd(&self) -> Option<f64> {
        Some(self.sender.cwnd().into())
    }

    fn counters(&self) -> Counters {
        let counts = self.sender.counts();
        Counters {
            retransmissions: self.repeats,
            probes: counts.loss_probes.into(),
            timeouts: counts.timeouts.into(),
            fast_retransmits: counts.recoveries.into(),
            cwnd_cuts: counts.reductions.into(),
            ..Counters::default()
        }
    }

    fn memory_bytes(&self) -> u64 {
        let facts = self.facts.capacity() * size_of::<Fact>();
        (size_of::<Source>() + facts) as u64 + self.sender.memory_bytes()
    }
}
