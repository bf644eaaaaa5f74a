//! What holds for the sender and receiver of every name, whatever the network and the application do.

use crate::support::pipe::Pipe;
use serde_json::{Value, json};
use skyhop_base::{Duration, Stream, Time};
use skyhop_transport::*;
use std::collections::{BTreeSet, VecDeque};

fn tcp(profile: Profile, table: Value) -> TcpConfig {
    let spec: TcpSpec = serde_json::from_value(table).expect("a TCP");
    spec.resolve(profile).expect("a valid TCP")
}

fn below(dice: &mut Stream, n: u64) -> u64 {
    (dice.uniform() * n as f64) as u64
}

const RTT: Duration = Duration::from_millis(100);

/// A path that loses data and ACKs, marks, and whose RTT changes, under an application that comes and goes; all by
/// chance.
struct Chaos {
    sender: Sender,
    receiver: Receiver,
    /// On what is out.
    bound: u32,
    /// ns-2's Vegas may be without a window until its timer expires.
    least_window: f64,
    dice: Stream,
    loss: f64,
    now: Time,
    /// Segments under way and when they arrive. Nothing overtakes.
    data: VecDeque<(Time, Time, Segment)>,
    acks: VecDeque<(Time, Ack)>,
    sent: u32,
    /// The last timeout.
    given_up: Time,
    what: String,
    /// The first thing that went wrong.
    problem: Option<String>,
}

impl Chaos {
    fn new(name: &str, profile: Profile, seed: u64) -> Chaos {
        let mut dice = Stream::new(seed, name, "chaos");
        let window = [3, 20, 1000][below(&mut dice, 3) as usize];
        let (ack_every, initial) = (1 + below(&mut dice, 2), 1 + below(&mut dice, window.into()));
        let ecn = ["on", "off"][below(&mut dice, 2) as usize];
        let pacing = ["off", "always"][below(&mut dice, 2) as usize];
        let table = json!({
            "name": name, "window": window, "ack_every": ack_every, "initial_window": initial,
            "ecn": ecn, "pacing": pacing,
        });
        let config = tcp(profile, table);
        // ns-2's TCP/Linux takes its window_ for the control's clamp only (`algorithms.md` appendix A).
        let bound = if config.options.sack_rules == SackRules::Ns2Linux { u32::MAX } else { window };
        Chaos {
            sender: Sender::new(&config, Stream::new(seed, name, "sender")),
            receiver: Receiver::new(&config),
            bound,
            least_window: if name == "vegas" && profile == Profile::Ns2 { 0.0 } else { 1.0 },
            loss: [0.0, 0.002, 0.02, 0.2][below(&mut dice, 4) as usize],
            dice,
            now: Time::ZERO,
            data: VecDeque::new(),
            acks: VecDeque::new(),
            sent: 0,
            given_up: Time::ZERO,
            what: format!("{name} {profile:?} seed {seed}"),
            problem: None,
        }
    }

    fn run(&mut self, steps: u32) {
        self.sender.open(self.now);
        self.sender.supply(self.now, Supply::Segments(50));
        self.send();
        for _ in 0..steps {
            let next = self.next_event();
            if next == Time::MAX || self.dice.uniform() < 0.002 {
                // The application writes again, sometimes after a pause, sometimes without end.
                if next == Time::MAX || self.dice.uniform() < 0.2 {
                    self.now += RTT.saturating_mul(below(&mut self.dice, 30));
                }
                let supply = if self.dice.uniform() < 0.1 { Supply::Unlimited } else { Supply::Segments(40) };
                self.sender.supply(self.now, supply);
                self.send();
            }
            self.now = self.now.max(self.next_event().min(Time::MAX));
            if self.now == Time::MAX {
                return;
            }
            self.step();
        }
    }

    fn next_event(&self) -> Time {
        let data = self.data.front().map_or(Time::MAX, |entry| entry.0);
        let ack = self.acks.front().map_or(Time::MAX, |entry| entry.0);
        data.min(ack).min(self.sender.next_timeout()).min(self.receiver.next_timeout())
    }

    fn step(&mut self) {
        let now = self.now;
        if self.data.front().is_some_and(|entry| entry.0 <= now) {
            let Some((_, sent, mut segment)) = self.data.pop_front() else { return };
            if segment.ecn == Ecn::Capable && self.dice.uniform() < self.loss {
                segment.ecn = Ecn::Experienced;
            }
            if self.dice.uniform() >= self.loss {
                self.receiver.on_segment(now, &segment, sent);
                self.answer();
            }
        } else if self.receiver.next_timeout() <= now {
            self.receiver.on_timeout(now);
            self.answer();
        } else if self.acks.front().is_some_and(|entry| entry.0 <= now) {
            let Some((_, ack)) = self.acks.pop_front() else { return };
            if self.dice.uniform() >= self.loss {
                self.sender.on_ack(now, &ack);
                self.send();
            }
        } else if self.sender.next_timeout() <= now {
            self.sender.on_timeout(now);
            self.given_up = now;
            self.send();
        }
    }

    fn arrival(&mut self, last: Option<Time>) -> Time {
        // A queue comes and goes: up to half a round trip more.
        let extra = Duration::from_secs_f64(RTT.as_secs_f64() / 2.0 * self.dice.uniform());
        (self.now + Duration::from_nanos(RTT.as_nanos() / 2) + extra).max(last.unwrap_or(Time::ZERO))
    }

    fn answer(&mut self) {
        while let Some(ack) = self.receiver.poll_ack(self.now) {
            let arrival = self.arrival(self.acks.back().map(|entry| entry.0));
            self.acks.push_back((arrival, ack));
        }
    }

    fn send(&mut self) {
        let mut burst = 0;
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            burst += 1;
            if burst > 5_000 {
                return self.broken("never ends");
            }
            let arrival = self.arrival(self.data.back().map(|entry| entry.0));
            self.data.push_back((arrival, self.now, segment));
            if segment.priority == Priority::Normal && segment.transmission == Transmission::First {
                if segment.seq != self.sent {
                    self.broken("new data out of order");
                }
                self.sent += 1;
                self.check_window();
            }
        }
        let snapshot = self.sender.snapshot();
        let window = snapshot.cwnd.is_finite() && snapshot.cwnd >= self.least_window;
        if !window || snapshot.ssthresh.is_nan() || snapshot.ssthresh < 1.0 {
            self.broken("window or threshold");
        }
        if self.sent > self.sender.unacknowledged() && self.sender.next_timeout() == Time::MAX {
            self.broken("data out and no timer");
        }
    }

    /// After something new has left: no more is out than both windows allow.
    fn check_window(&mut self) {
        let snapshot = self.sender.snapshot();
        if self.sent - self.sender.unacknowledged() > self.bound {
            self.broken("beyond the receiver's window");
        }
        if snapshot.phase == Phase::Loss {
            // A timeout takes what is out for lost; where the network was only slow it still is under way.
            return;
        }
        // Duplicate ACKs allow their number (RFC 5681 §3.2), the first two a segment each (RFC 3042).
        let allowed = snapshot.cwnd + f64::from(snapshot.inflation) + 2.0;
        let una = self.sender.unacknowledged();
        // The timeout marked all segments sent before it as lost, whatever the phase is now.
        let needed = |entry: &&(Time, Time, Segment)| {
            entry.2.priority == Priority::Normal && entry.2.seq >= una && entry.1 > self.given_up
        };
        let under_way: BTreeSet<u32> = self.data.iter().filter(needed).map(|entry| entry.2.seq).collect();
        if under_way.len() as f64 > allowed {
            self.broken(&format!("{} under way", under_way.len()));
        }
    }

    fn broken(&mut self, what: &str) {
        let at = format!("{}: {what} at {:?} with {:?}", self.what, self.now, self.sender.snapshot());
        self.problem.get_or_insert(at);
    }
}

#[test]
fn no_operation_breaks_a_sender() {
    let mut problems = Vec::new();
    for name in TcpSpec::names() {
        for profile in [Profile::Rfc, Profile::Ns2] {
            for seed in 0..40 {
                let mut chaos = Chaos::new(name, profile, seed);
                chaos.run(4000);
                problems.extend(chaos.problem);
            }
        }
    }
    assert!(problems.is_empty(), "{} of 2000:\n{}", problems.len(), problems[..problems.len().min(30)].join("\n"));
}

/// Mean rate in segments per round trip when every `period`-th segment is lost.
fn rate(table: Value, rtt_s: f64, period: u32) -> f64 {
    let lose = move |segment: &Segment| {
        segment.transmission == Transmission::First && segment.seq > 0 && segment.seq.is_multiple_of(period)
    };
    let mut pipe = Pipe::new(&tcp(Profile::Rfc, table), rtt_s, Supply::Unlimited, lose);
    let seconds = 60.0 * (1.5 * f64::from(period)).sqrt() * rtt_s;
    pipe.run(seconds);
    f64::from(pipe.receiver.next_expected()) * rtt_s / seconds
}

/// RFC 9438 §4.3: where Reno is faster, CUBIC does not do worse than Reno, and its α keeps it from doing better; §5.2,
/// table 2: beyond, it is faster.
#[test]
fn cubic_is_not_slower_than_reno_where_reno_is_fast() {
    let table = |control: &str| {
        json!({ "recovery": "sack", "control": control,
        "ack_every": 1, "initial_ssthresh": 20.0, "window": 100_000 })
    };
    for (rtt_s, period) in [(0.01, 100), (0.01, 1_000), (0.02, 100), (0.02, 1_000), (0.1, 100)] {
        let share = rate(table("cubic"), rtt_s, period) / rate(table("reno"), rtt_s, period);
        assert!((0.95..=1.25).contains(&share), "{rtt_s} s, 1 in {period}: {share}");
    }
    // Eq. 6 with C = 0.4, β = 0.7 over sqrt(3/2p): 2.8 at RTT 0.5 s and 1e-4.
    let share = rate(table("cubic"), 0.5, 10_000) / rate(table("reno"), 0.5, 10_000);
    let expected = (0.4 * 3.7 / 1.2_f64).powf(0.25) * (0.5 * 1e4_f64).powf(0.75) / 1.5e4_f64.sqrt();
    assert!((share / expected - 1.0).abs() < 0.15, "{share}, by the formulas {expected}");
}
