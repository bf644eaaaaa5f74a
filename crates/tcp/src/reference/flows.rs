//! Long flows of Linux: senders and receivers over a steady or moving bottleneck.

use super::flow_case::FlowCase;
use crate::flow::CaState;
use crate::path::{Crossing, DeliveryOutcome, Endpoint, Exchange, Lateness, PathDirection};
use crate::receiver::{self, Receiver};
use crate::segment::{SackBlocks, Segment};
use crate::sender::{self, Config, Sender};
use crate::timer::Timers;
use skyhop_base::{Duration, Time};
use std::collections::BTreeMap;

/// What one run gave: figures under the names of the folder, and the window over time (seconds, segments).
#[derive(Clone, Debug, Default)]
pub struct FlowResult {
    pub figures: BTreeMap<&'static str, f64>,
    pub windows: Vec<(f64, u32)>,
    /// The same windows over the bytes that were acknowledged then.
    pub windows_by_bytes: Vec<(f64, u32)>,
    /// When slow start, or the control's own start-up, ended, and the window then.
    pub exit: Option<(f64, u32)>,
    /// When each recovery began, in s.
    pub recoveries: Vec<f64>,
    /// The first packet that the path lost, in s.
    pub first_loss: Option<f64>,
    /// One RTT for each ACK of new data that was sent once, in s, in order of time.
    pub rtts: Vec<f64>,
    /// Packets with data in order of entry, and ACKs in order of delivery; times count from the flow's start.
    pub data: Vec<FlowData>,
    pub acks: Vec<(f64, u64)>,
}

/// A packet with data: when it entered the path, in s from the flow's start, its first byte (0 is the first of the
/// flow), its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowData {
    pub at: f64,
    pub seq: u64,
    pub len: u32,
}

impl FlowResult {
    /// The window at a time in seconds, or 0 before the first ACK.
    pub fn window_at(&self, seconds: f64) -> u32 {
        window_at(&self.windows, seconds)
    }
}

/// The value of a step function at `seconds`.
pub fn window_at(windows: &[(f64, u32)], seconds: f64) -> u32 {
    let place = windows.partition_point(|&(at, _)| at <= seconds);
    place.checked_sub(1).map_or(0, |place| windows[place].1)
}

/// The sending host, and its window over time.
#[derive(Debug)]
struct Watched {
    host: sender::Host,
    windows: Vec<(f64, u32)>,
    windows_by_bytes: Vec<(f64, u32)>,
    exit: Option<(f64, u32)>,
}

impl Watched {
    /// A control that owns its window says when its start-up ends; the others set the threshold then.
    fn has_left_slow_start(&self) -> bool {
        let sender = &self.host.sender;
        if sender.control().owns_window() {
            sender.control().phase().is_some_and(|phase| !phase.eq_ignore_ascii_case("startup"))
        } else {
            sender.ssthresh().is_some()
        }
    }
}

impl Endpoint for Watched {
    fn on_segment(&mut self, now: Time, segment: &Segment) {
        let before = self.host.sender.cwnd();
        self.host.on_segment(now, segment);
        if self.exit.is_none() && self.has_left_slow_start() {
            // The loss or the signal that ends slow start found this window; a start-up of the control's own ends with
            // the window that the same ACK sets.
            let sender = &self.host.sender;
            let window = if sender.control().owns_window() { sender.cwnd() } else { before };
            self.exit = Some((now.as_secs_f64(), window));
        }
        let cwnd = self.host.sender.cwnd();
        if self.windows.last().is_none_or(|&(_, last)| last != cwnd) {
            self.windows.push((now.as_secs_f64(), cwnd));
            self.windows_by_bytes.push((self.host.sender.flow().una.saturating_sub(1) as f64, cwnd));
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.host.on_timeout(now);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.host.next_timeout()
    }

    fn transmit(&mut self, now: Time) -> Option<Segment> {
        self.host.transmit(now)
    }
}

/// Notes on one flow while it crosses the path.
#[derive(Debug, Default)]
struct Noted {
    highest: u64,
    again: u32,
    tail: u32,
    first_loss: Option<f64>,
    data: Vec<(Time, u64, u32)>,
    acks: Vec<(Time, u64, SackBlocks)>,
    /// Per end of a segment: when it was sent, unless it was sent again.
    sent: BTreeMap<u64, Option<Time>>,
}

impl Noted {
    fn take(&mut self, crossing: &Crossing) {
        let Crossing { direction, entered, segment, traversal, .. } = crossing;
        if *direction == PathDirection::Ack {
            self.acks.extend(traversal.out.zip(segment.ack).map(|(out, ack)| (out, ack, segment.sack)));
            return;
        }
        if segment.len == 0 {
            return;
        }
        self.again += u32::from(segment.seq < self.highest);
        self.tail += u32::from(traversal.verdict == DeliveryOutcome::TailDrop);
        if traversal.verdict != DeliveryOutcome::Delivered && self.first_loss.is_none() {
            self.first_loss = Some(entered.as_secs_f64());
        }
        self.highest = self.highest.max(segment.end());
        self.sent.entry(segment.end()).and_modify(|at| *at = None).or_insert(Some(*entered));
        self.data.push((*entered, segment.seq - 1, segment.len));
    }
}

/// From a delivery to the host's answer, median and 99th percentile. In the first packets of the recorded runs the
/// medians of single runs are 15 to 57 us and their 99th percentiles 49 to 191 us, at either host.
const LATE: (Duration, Duration) = (Duration::from_micros(30), Duration::from_micros(100));

/// What distinguishes one run of a case from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// Hosts answer at once, and controls draw with seed 1.
    Exact,
    /// Hosts answer as late as those of the recordings; the seed decides this and what controls draw.
    Drawn(u64),
}

impl Sample {
    fn seed(self) -> u64 {
        match self {
            Sample::Exact => 1,
            Sample::Drawn(seed) => seed,
        }
    }
}

/// Runs the flows of a case over their path, in the order of the case.
pub fn run_flow(case: &FlowCase, sample: Sample) -> Vec<FlowResult> {
    let seed = sample.seed();
    let lateness = (sample != Sample::Exact).then(|| Lateness::new(LATE.0, LATE.1, seed));
    let timers = Timers::Wheel { first: 0, phase: Duration::from_millis(2) };
    let length = case.length.as_secs_f64();
    // More than the path can carry.
    let bytes = (case.path.rate.bps_f64() * length / 8.0 * 1.1) as u64;
    let pairs = case.flows.iter().zip(0..).map(|(flow, number)| {
        let control = flow.control.clone();
        let config = Config { control, timers, seed: seed + number, pacing: case.paced, ..Config::default() };
        let mut sender = Sender::new(config);
        sender.record_states();
        let start = Time::ZERO + flow.start;
        let host = sender::Host::new(sender, start, Duration::ZERO, [(Time::ZERO + flow.writes, bytes)]);
        let config = receiver::Config { timers, ..case.receiver.clone() };
        let watched = Watched { host, windows: Vec::new(), windows_by_bytes: Vec::new(), exit: None };
        (watched, receiver::Host::new(Receiver::new(config), None))
    });
    let mut exchange =
        Exchange::shared(pairs, case.path.clone()).with_losses(case.losses(seed)).with_lateness(lateness);
    let mut noted: Vec<Noted> = case.flows.iter().map(|_| Noted { highest: 1, ..Noted::default() }).collect();
    exchange.run(Time::ZERO + case.length, |crossing| noted[crossing.flow].take(crossing));
    let pairs = exchange.pairs.into_iter().zip(noted).zip(&case.flows);
    pairs.map(|((pair, noted), flow)| result(pair.sender, noted, flow.start.as_secs_f64(), length)).collect()
}

/// The figures of one flow that began at `start`, in s. Goodput is over its own time.
fn result(watched: Watched, mut noted: Noted, start: f64, length: f64) -> FlowResult {
    let Watched { host, windows, windows_by_bytes, exit } = watched;
    noted.acks.sort_by_key(|&(out, ack, _)| (out, ack));
    let rtts: Vec<f64> = round_trips(&noted.acks, noted.sent);
    let ends = windows.iter().skip(1).map(|&(at, _)| at).chain([length]);
    let area: f64 = windows.iter().zip(ends).map(|(&(from, cwnd), to)| f64::from(cwnd) * (to - from)).sum();
    let begin = windows.first().map_or(0.0, |&(at, _)| at);
    let most = windows.iter().map(|&(_, cwnd)| cwnd).max().unwrap_or(0);
    let changes = host.sender.states();
    let recoveries: Vec<f64> =
        changes.iter().filter(|(_, state)| *state == CaState::Recovery).map(|(at, _)| at.as_secs_f64()).collect();
    let figures = BTreeMap::from([
        ("goodput_Mbps", host.sender.flow().una.saturating_sub(1) as f64 * 8e-6 / (length - start)),
        ("retrans", f64::from(noted.again)),
        ("segs_sent", noted.data.len() as f64),
        ("drop_tail", f64::from(noted.tail)),
        ("rto_events", f64::from(host.sender.timeouts())),
        ("cwnd_mean", area / (length - begin)),
        ("cwnd_max", f64::from(most)),
    ]);
    let since = |at: Time| at.as_secs_f64() - start;
    let acks = noted.acks.into_iter().map(|(at, ack, _)| (since(at), ack - 1)).collect();
    let data = noted.data.into_iter().map(|(at, seq, len)| FlowData { at: since(at), seq, len }).collect();
    FlowResult { figures, windows, windows_by_bytes, exit, recoveries, first_loss: noted.first_loss, rtts, data, acks }
}

/// One RTT for each ACK of new data: of the last segment that it covers and no SACK block named before, if that was
/// sent once.
fn round_trips(acks: &[(Time, u64, SackBlocks)], mut sent: BTreeMap<u64, Option<Time>>) -> Vec<f64> {
    let mut una = 1;
    let mut rtts = Vec::new();
    for &(at, ack, sack) in acks {
        if ack > una {
            let last = sent.range(una + 1..=ack).next_back();
            rtts.extend(last.and_then(|(_, &sent)| sent).map(|sent| at.since(sent).as_secs_f64()));
            una = ack;
        }
        for block in sack.iter() {
            let named: Vec<u64> = sent.range(block.start + 1..=block.end).map(|(&end, _)| end).collect();
            for end in named {
                sent.remove(&end);
            }
        }
    }
    rtts
}
