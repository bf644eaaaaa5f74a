//! One run of a case in virtual time: hosts, the bottleneck between them, and a small event loop.

use super::cases::{Case, Flow, Run};
use super::path::{HEADERS, PacketOutcome};
use crate::host::{Datagram, Host};
use crate::runtime::Runtime;
use crate::{ConfigError, Measures, Progress};
use skyhop_base::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The senders' statistics are read on a grid of this width, as in the reference.
const SAMPLE: Duration = Duration::from_millis(50);
/// The reference keeps this many packets of the start.
const START_PACKETS: usize = 500;
/// After the last flow closed, its end may still tell the peer.
const AFTERMATH: Duration = Duration::from_secs(5);

/// How the hosts' runtimes behave in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habits {
    /// As in real time: offload as the case says, timers of tokio.
    Tokio,
    /// Timers of tokio, single datagrams.
    TokioSingle,
    /// Exact timers, offload as the case says.
    ExactTimers,
    /// Exact timers and single datagrams.
    Exact,
}

impl Habits {
    fn runtime(self, seed: u64, name: &str) -> Runtime {
        let tokio = Runtime::tokio(seed, name);
        match self {
            Habits::Tokio => tokio,
            Habits::TokioSingle => Runtime { segments: 1, ..tokio },
            Habits::ExactTimers => Runtime { segments: tokio.segments, ..Runtime::exact() },
            Habits::Exact => Runtime::exact(),
        }
    }
}

/// A packet as it enters the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    pub at: Time,
    pub flow: usize,
    pub data: bool,
    pub length: u64,
    /// A timer of the stack released it, not a datagram that came in.
    pub by_timer: bool,
}

/// What came out for one flow. Times are relative to its connect.
#[derive(Clone, Debug, Default)]
pub struct FlowOutcome {
    pub handshake_s: Option<f64>,
    pub first_byte_s: Option<f64>,
    pub completion_s: Option<f64>,
    pub goodput_bps: Option<f64>,
    pub sent_packets: f64,
    pub wire_data_packets: f64,
    pub tail_drops: f64,
    pub mean_rtt_ms: Option<f64>,
    pub peak_cwnd: f64,
    pub app_bytes: f64,
    /// Absolute time and ordinal among the data direction's packets.
    pub first_tail_drop: Option<(f64, f64)>,
    /// Runs of consecutive tail drops of this flow: holes in the receiver's buffer.
    pub holes: f64,
    /// Data packets per send call of the sender.
    pub packets_per_call: f64,
    /// Who saw the connection end that it had not asked for, when, and why.
    pub death: Option<(f64, String)>,
    pub measures: Measures,
    /// The sender's figures every 50 ms.
    pub series: Vec<(Time, Measures)>,
}

/// What came out of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub flows: Vec<FlowOutcome>,
    pub start: Vec<Packet>,
    /// Over times, flows, directions, lengths and congestion marks of all datagrams.
    pub shape_hash: u64,
    /// Over their bytes as well.
    pub bytes_hash: u64,
    pub datagrams: u64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrival(usize),
    Wake(u64),
    Sample,
}

/// A host of the run.
struct Seat {
    host: Host,
    /// Only the youngest wake of a host is valid.
    generation: u64,
}

#[derive(Default)]
struct Samples {
    rtt_ms: f64,
    count: u32,
    peak: u64,
    series: Vec<(Time, Measures)>,
}

struct Lab {
    seats: Vec<Seat>,
    /// (time, order of scheduling, host, what)
    events: BinaryHeap<Reverse<(Time, u64, usize, What)>>,
    order: u64,
    /// Datagrams between two hosts, by slot.
    flying: Vec<Option<Datagram>>,
    free: Vec<usize>,
    directions: [super::path::Direction; 2],
    data_direction: usize,
    entered: [u64; 2],
    outcome: Outcome,
    in_drop: Vec<bool>,
    only_start: bool,
}

/// FNV-1a, 64 bits.
fn mix(hash: &mut u64, bytes: &[u8]) {
    for byte in bytes {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
    }
}

impl Lab {
    fn schedule(&mut self, at: Time, host: usize, what: What) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, host, what)));
    }

    /// Takes what the host sent and arms its next wake.
    fn after(&mut self, now: Time, index: usize) {
        let datagrams: Vec<Datagram> = self.seats[index].host.take_output().collect();
        for datagram in datagrams {
            self.send(now, index, datagram);
        }
        let seat = &mut self.seats[index];
        seat.generation += 1;
        let generation = seat.generation;
        if let Some(at) = seat.host.next_wake() {
            self.schedule(at.max(now), index, What::Wake(generation));
        }
    }

    fn send(&mut self, now: Time, index: usize, datagram: Datagram) {
        let (flow, from_client) = (index / 2, index.is_multiple_of(2));
        let direction = usize::from(from_client);
        let data = direction == self.data_direction;
        let length = datagram.bytes.len() as u64 + HEADERS;
        let (end, _) = self.directions[direction].enter(now, datagram.bytes.len());
        self.entered[direction] += 1;
        let outcome = &mut self.outcome;
        outcome.datagrams += 1;
        if outcome.start.len() < START_PACKETS {
            outcome.start.push(Packet { at: now, flow, data, length, by_timer: datagram.by_timer });
        }
        let mut shape = [0; 26];
        shape[..8].copy_from_slice(&now.as_nanos().to_le_bytes());
        shape[8..16].copy_from_slice(&length.to_le_bytes());
        shape[16..24].copy_from_slice(&(flow as u64).to_le_bytes());
        (shape[24], shape[25]) = (u8::from(data), datagram.ecn as u8);
        mix(&mut outcome.shape_hash, &shape);
        mix(&mut outcome.bytes_hash, &shape);
        mix(&mut outcome.bytes_hash, &datagram.bytes);
        if data {
            let result = &mut outcome.flows[flow];
            result.wire_data_packets += 1.0;
            if end == PacketOutcome::TailDrop {
                result.tail_drops += 1.0;
                result.holes += f64::from(u8::from(!self.in_drop[flow]));
                result.first_tail_drop.get_or_insert((now.as_secs_f64(), self.entered[direction] as f64));
            }
            self.in_drop[flow] = end == PacketOutcome::TailDrop;
        }
        if let PacketOutcome::Arrives(at) = end {
            let slot = self.free.pop().unwrap_or_else(|| {
                self.flying.push(None);
                self.flying.len() - 1
            });
            self.flying[slot] = Some(datagram);
            self.schedule(at, index ^ 1, What::Arrival(slot));
        }
    }
}

/// Only the packets until the first one that a timer of a stack released, that one included.
pub fn run_start(case: &Case, run: &Run, seed: u64) -> Option<Result<Vec<Packet>, ConfigError>> {
    let lab = lab(case, run, Habits::Tokio, seed)?;
    Some(lab.map(|lab| drive(Lab { only_start: true, ..lab }, &run.flows).start))
}

/// Runs `run` of `case`; `None` if a flow's stack is unknown here or not built. `seed`: of the stacks and the phases of
/// the timers; the path's losses follow the seed of the run.
pub fn run(case: &Case, run: &Run, habits: Habits, seed: u64) -> Option<Result<Outcome, ConfigError>> {
    Some(lab(case, run, habits, seed)?.map(|lab| drive(lab, &run.flows)))
}

fn lab(case: &Case, run: &Run, habits: Habits, seed: u64) -> Option<Result<Lab, ConfigError>> {
    let mut seats = Vec::new();
    for (index, flow) in run.flows.iter().enumerate() {
        let config = match flow.config()? {
            Ok(config) if !config.stack.is_built() => return None,
            Ok(config) => config,
            Err(error) => return Some(Err(error)),
        };
        let names = [format!("client {index}"), format!("server {index}")];
        let runtime = |name: &str| habits.runtime(seed, name);
        let start = start(flow);
        let stop = start.saturating_add(flow.cap);
        let client = Host::client(&config, runtime(&names[0]), flow.application, start, Some(stop), (seed, &names[0]));
        let server = Host::server(&config, runtime(&names[1]), (seed, &names[1]));
        for host in [client, server] {
            match host {
                Ok(host) => seats.push(Seat { host, generation: 0 }),
                Err(error) => return Some(Err(error)),
            }
        }
    }
    let flows = run.flows.len();
    Some(Ok(Lab {
        seats,
        events: BinaryHeap::new(),
        order: 0,
        flying: Vec::new(),
        free: Vec::new(),
        directions: case.directions(run.seed),
        data_direction: usize::from(case.is_upload()),
        entered: [0; 2],
        outcome: Outcome {
            flows: vec![FlowOutcome::default(); flows],
            start: Vec::new(),
            shape_hash: 0xCBF2_9CE4_8422_2325,
            bytes_hash: 0xCBF2_9CE4_8422_2325,
            datagrams: 0,
        },
        in_drop: vec![false; flows],
        only_start: false,
    }))
}

/// When the flow's client is told to connect.
fn start(flow: &Flow) -> Time {
    Time::ZERO.saturating_add(flow.start)
}

fn drive(mut lab: Lab, flows: &[Flow]) -> Outcome {
    for index in 0..lab.seats.len() {
        lab.after(Time::ZERO, index);
    }
    lab.schedule(Time::ZERO.saturating_add(SAMPLE), 0, What::Sample);
    let last = flows.iter().map(|flow| start(flow).saturating_add(flow.cap)).max().unwrap_or(Time::ZERO);
    let end = last.saturating_add(AFTERMATH);
    let mut samples: Vec<Samples> = flows.iter().map(|_| Samples::default()).collect();
    while let Some(Reverse((now, _, index, what))) = lab.events.pop() {
        let timer = lab.only_start && lab.outcome.start.last().is_some_and(|packet| packet.by_timer);
        if now > end || timer {
            break;
        }
        match what {
            What::Arrival(slot) => {
                lab.free.push(slot);
                if let Some(datagram) = lab.flying[slot].take() {
                    lab.seats[index].host.receive(now, datagram);
                    lab.after(now, index);
                }
            }
            What::Wake(generation) => {
                if lab.seats[index].generation == generation {
                    lab.seats[index].host.wake(now);
                    lab.after(now, index);
                }
            }
            What::Sample => {
                let mut open = false;
                for (flow, samples) in samples.iter_mut().enumerate() {
                    let host = &mut lab.seats[flow * 2 + usize::from(lab.data_direction == 0)].host;
                    open |= !host.is_closed();
                    sample(now, host, samples);
                }
                if open {
                    lab.schedule(now.saturating_add(SAMPLE), 0, What::Sample);
                }
            }
        }
    }
    for (index, (flow, samples)) in flows.iter().zip(samples).enumerate() {
        let (client, server) = lab.seats.split_at_mut(index * 2 + 1);
        let pair = (&mut client[index * 2].host, &mut server[0].host);
        finish(&mut lab.outcome.flows[index], flow, pair, lab.data_direction == 0, samples);
    }
    lab.outcome
}

fn sample(now: Time, host: &mut Host, samples: &mut Samples) {
    if host.progress().connected.is_none() || host.is_closed() {
        return;
    }
    let measures = host.measures();
    samples.rtt_ms += measures.smoothed_rtt.as_secs_f64() * 1000.0;
    samples.count += 1;
    samples.peak = samples.peak.max(measures.cwnd);
    samples.series.push((now, measures));
}

fn finish(result: &mut FlowOutcome, flow: &Flow, pair: (&mut Host, &mut Host), down: bool, samples: Samples) {
    let (client, server) = pair;
    let since = |time: Time| time.since(start(flow)).as_secs_f64();
    let (sender, receiver): (&mut Host, &mut Host) = if down { (server, client) } else { (client, server) };
    let measures = sender.measures();
    let (calls, sent) = sender.send_calls();
    let from_sender = sender.progress().clone();
    let got: &Progress = receiver.progress();
    // A download's client sees both; an upload's receiver is the server.
    let at_client = if down { got } else { &from_sender };
    result.handshake_s = at_client.connected.map(since);
    result.first_byte_s = at_client.first_byte.map(since);
    result.completion_s = got.complete.map(since);
    result.app_bytes = got.received as f64;
    let own = [&got.ended, &from_sender.ended].into_iter().flatten();
    // The close that the application asked for ends the other side's connection, too.
    result.death = own
        .filter(|(_, text)| !text.contains("ApplicationClosed"))
        .min_by_key(|(at, _)| *at)
        .map(|(at, text)| (since(*at), text.clone()));
    let span = result.completion_s.or(result.death.as_ref().map(|(at, _)| *at)).unwrap_or(flow.cap.as_secs_f64());
    result.goodput_bps = (span > 0.0).then(|| result.app_bytes * 8.0 / span);
    result.sent_packets = measures.sent_packets as f64;
    result.mean_rtt_ms = (samples.count > 0).then(|| samples.rtt_ms / f64::from(samples.count));
    result.peak_cwnd = samples.peak as f64;
    result.packets_per_call = if calls > 0 { sent as f64 / calls as f64 } else { 0.0 };
    result.measures = measures;
    result.series = samples.series;
}
