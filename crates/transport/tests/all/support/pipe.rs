//! A path without queues: everything sent arrives after half a round trip, unless it is chosen to be lost.

use skyhop_base::{Duration, Stream, Time};
use skyhop_cc::CongestionControl;
use skyhop_transport::{Ack, Receiver, Segment, Sender, SenderEvent, Supply, TcpConfig};
use std::collections::VecDeque;

pub struct Pipe<L> {
    pub sender: Sender,
    pub receiver: Receiver,
    half: Duration,
    lose: L,
    forward: VecDeque<(Time, Segment, Time)>,
    back: VecDeque<(Time, Ack)>,
    pub now: Time,
    entered: Time,
    /// Time spent in fast recovery.
    pub recovery_s: f64,
    /// Sum of the window over time, in segment-seconds.
    pub window_seconds: f64,
}

impl<L: FnMut(&Segment) -> bool> Pipe<L> {
    /// `lose` says which segments are lost.
    pub fn new(config: &TcpConfig, rtt_s: f64, supply: Supply, lose: L) -> Pipe<L> {
        Pipe::from_sender(Sender::new(config, Stream::new(1, "pipe", "tick")), config, rtt_s, supply, lose)
    }

    /// The same with a control from outside.
    pub fn with_control(
        config: &TcpConfig,
        control: Box<dyn CongestionControl + Send>,
        rtt_s: f64,
        supply: Supply,
        lose: L,
    ) -> Pipe<L> {
        let mut sender = Sender::new(config, Stream::new(1, "pipe", "tick"));
        sender.replace_control(control);
        Pipe::from_sender(sender, config, rtt_s, supply, lose)
    }

    fn from_sender(sender: Sender, config: &TcpConfig, rtt_s: f64, supply: Supply, lose: L) -> Pipe<L> {
        let mut pipe = Pipe {
            sender,
            receiver: Receiver::new(config),
            half: Duration::from_secs_f64(rtt_s / 2.0),
            lose,
            forward: VecDeque::new(),
            back: VecDeque::new(),
            now: Time::ZERO,
            entered: Time::ZERO,
            recovery_s: 0.0,
            window_seconds: 0.0,
        };
        pipe.sender.supply(pipe.now, supply);
        pipe.sender.open(pipe.now);
        pipe.send();
        pipe
    }

    /// Runs until all data is acknowledged, `until` has come or nothing can happen any more.
    pub fn run(&mut self, until_s: f64) {
        let until = Time::from_secs_f64(until_s);
        while !self.sender.is_finished() {
            let next = self.next_event();
            if next > until {
                break;
            }
            self.window_seconds += self.sender.snapshot().cwnd * next.since(self.now).as_secs_f64();
            self.now = next;
            self.step();
        }
    }

    fn next_event(&self) -> Time {
        let arrival = self.forward.front().map_or(Time::MAX, |entry| entry.0);
        let ack = self.back.front().map_or(Time::MAX, |entry| entry.0);
        arrival.min(ack).min(self.sender.next_timeout()).min(self.receiver.next_timeout())
    }

    fn step(&mut self) {
        let now = self.now;
        while let Some(&(_, segment, sent)) = self.forward.front().filter(|entry| entry.0 == now) {
            self.forward.pop_front();
            self.receiver.on_segment(now, &segment, sent);
            self.answer();
        }
        if self.receiver.next_timeout() == now {
            self.receiver.on_timeout(now);
            self.answer();
        }
        while let Some(&(_, ack)) = self.back.front().filter(|entry| entry.0 == now) {
            self.back.pop_front();
            self.sender.on_ack(now, &ack);
            while let Some(event) = self.sender.poll_event() {
                match event {
                    SenderEvent::RecoveryEntered { .. } => self.entered = now,
                    SenderEvent::RecoveryLeft => self.recovery_s += now.since(self.entered).as_secs_f64(),
                    SenderEvent::Timeout { .. } => {}
                }
            }
            self.send();
        }
        if self.sender.next_timeout() == now {
            self.sender.on_timeout(now);
            self.send();
        }
    }

    fn answer(&mut self) {
        while let Some(ack) = self.receiver.poll_ack(self.now) {
            self.back.push_back((self.now + self.half, ack));
        }
    }

    /// What the sender wants to send, after an input from outside.
    pub fn send(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            if !(self.lose)(&segment) {
                self.forward.push_back((self.now + self.half, segment, self.now));
            }
        }
    }
}
