//! A bottleneck that several flows share, for tests of congestion controls: a FIFO with drop tail whose rate may
//! change, which may mark above a threshold, lose at random, police or hold ACKs together.

use skyhop_base::{Duration, Rate, Time};
use skyhop_tcp::control::ControlKind;
use skyhop_tcp::path::{Endpoint, ip_bytes};
use skyhop_tcp::receiver::{self, Receiver};
use skyhop_tcp::segment::{Ecn, Segment};
use skyhop_tcp::sender::{Config, EcnMode, Host, Sender};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

pub const MSS: u32 = 1448;
/// IP bytes of a full segment with timestamps.
pub const PACKET: f64 = 1500.0;

pub fn rate(mbps: f64) -> Rate {
    Rate::from_bps((mbps * 1e6) as u64).unwrap()
}

pub fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}

pub fn at(seconds: f64) -> Time {
    Time::from_secs_f64(seconds)
}

/// The shared path. Rates in Mbit/s, delays in ms of both directions together.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    /// From which time in seconds on which rate.
    pub rates: Vec<(f64, f64)>,
    /// From which time in seconds on which RTT without a queue.
    pub rtts: Vec<(f64, f64)>,
    /// Packets that may wait.
    pub queue: usize,
    /// A packet that finds so many waiting is marked, if it is ECT.
    pub mark_at: Option<usize>,
    /// Share of ECT data packets marked at random.
    pub mark_share: f64,
    /// Share of data packets lost at random, from a time in seconds to another.
    pub loss: f64,
    pub loss_between: (f64, f64),
    /// ACKs leave together at multiples of this many ms.
    pub aggregation: Option<f64>,
    /// A policer: tokens per second in Mbit/s, and bucket in packets.
    pub policer: Option<(f64, f64)>,
    /// Every so many-th data packet is held back by so many ms and overtaken.
    pub reorder: Option<(u64, f64)>,
    /// Rate of the path back; `None`: no limit.
    pub back: Option<f64>,
}

impl Bottleneck {
    pub fn new(mbps: f64, rtt_ms: f64, queue: usize) -> Bottleneck {
        Bottleneck {
            rates: vec![(0.0, mbps)],
            rtts: vec![(0.0, rtt_ms)],
            queue,
            mark_at: None,
            mark_share: 0.0,
            loss: 0.0,
            loss_between: (0.0, f64::MAX),
            aggregation: None,
            policer: None,
            reorder: None,
            back: None,
        }
    }

    /// Full segments that fit into the path without a queue, at the start.
    pub fn bdp(&self) -> f64 {
        self.rates[0].1 * 1e6 / 8.0 * self.rtts[0].1 / 1e3 / PACKET
    }
}

fn step(list: &[(f64, f64)], now: Time) -> f64 {
    let seconds = now.as_secs_f64();
    list.iter().rev().find(|&&(from, _)| from <= seconds).unwrap_or(&list[0]).1
}

/// Bytes that no path of these tests carries. Written at once they take up a record for each 64 kB.
const ENDLESS: u64 = 1 << 32;

/// One flow: its sender, when it starts, and what it writes when.
pub struct Flow {
    pub config: Config,
    pub start: f64,
    pub writes: Vec<(f64, u64)>,
}

impl Flow {
    /// An endless transfer under the control of that name.
    pub fn bulk(control: &str) -> Flow {
        Flow::of(ControlKind::named(control).unwrap())
    }

    pub fn of(control: ControlKind) -> Flow {
        Flow {
            config: Config { control, seed: 1, mss: MSS, ..Config::default() },
            start: 0.0,
            writes: vec![(0.0, ENDLESS)],
        }
    }

    pub fn from(mut self, start: f64) -> Flow {
        self.start = start;
        self.writes[0].0 = start;
        self
    }

    pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Flow {
        change(&mut self.config);
        self
    }
}

/// The state of one sender after an ACK.
#[derive(Clone, Debug)]
pub struct Point {
    pub at: f64,
    pub flow: usize,
    pub acked: u64,
    pub cwnd: u32,
    pub in_flight: u32,
    pub phase: Option<&'static str>,
    pub figures: Vec<(&'static str, f64)>,
    pub pacing: u64,
}

impl Point {
    pub fn figure(&self, name: &str) -> f64 {
        self.figures.iter().find(|(n, _)| *n == name).map_or(f64::NAN, |f| f.1)
    }
}

#[derive(Debug)]
pub struct Run {
    pub points: Vec<Point>,
    /// Time in seconds and delay in ms of the queue that each data packet met.
    pub queue: Vec<(f64, f64)>,
    pub sent: Vec<u64>,
    pub dropped: Vec<(f64, usize)>,
    pub marked: Vec<(f64, usize)>,
    pub hosts: Vec<Host>,
}

impl Run {
    /// Goodput of a flow between two times in seconds, in Mbit/s.
    pub fn goodput(&self, flow: usize, from: f64, to: f64) -> f64 {
        let acked = |time: f64| {
            let mut points = self.points.iter().rev().filter(|p| p.flow == flow);
            points.find(|p| p.at <= time).map_or(0, |p| p.acked)
        };
        (acked(to) - acked(from)) as f64 * 8e-6 / (to - from)
    }

    /// Mean delay of the queue between two times, in ms.
    pub fn mean_queue(&self, from: f64, to: f64) -> f64 {
        let delays: Vec<f64> = self.queue.iter().filter(|q| (from..to).contains(&q.0)).map(|q| q.1).collect();
        delays.iter().sum::<f64>() / delays.len() as f64
    }

    /// The delay of the queue that a share of the packets does not exceed, in ms.
    pub fn queue_quantile(&self, share: f64, from: f64, to: f64) -> f64 {
        let mut delays: Vec<f64> = self.queue.iter().filter(|q| (from..to).contains(&q.0)).map(|q| q.1).collect();
        delays.sort_unstable_by(f64::total_cmp);
        delays[((delays.len() - 1) as f64 * share) as usize]
    }

    /// Changes of the phase of a flow: time and name.
    pub fn phases(&self, flow: usize) -> Vec<(f64, &'static str)> {
        let mut phases: Vec<(f64, &'static str)> = Vec::new();
        for point in self.points.iter().filter(|p| p.flow == flow) {
            let phase = point.phase.unwrap_or("");
            if phases.last().is_none_or(|last| last.1 != phase) {
                phases.push((point.at, phase));
            }
        }
        phases
    }

    pub fn drops_between(&self, from: f64, to: f64) -> usize {
        self.dropped.iter().filter(|d| (from..to).contains(&d.0)).count()
    }

    pub fn mean_cwnd(&self, flow: usize, from: f64, to: f64) -> f64 {
        let points: Vec<&Point> = self.points.iter().filter(|p| p.flow == flow && (from..to).contains(&p.at)).collect();
        let area: f64 = points.windows(2).map(|w| f64::from(w[0].cwnd) * (w[1].at - w[0].at)).sum();
        area / (points[points.len() - 1].at - points[0].at)
    }
}

type Delivery = Reverse<(Time, u64, usize, bool)>;

/// Runs flows over a bottleneck for some seconds. `act` sees each sender after it took a segment and may give hints.
pub fn run_with(
    path: &Bottleneck,
    flows: Vec<Flow>,
    seconds: f64,
    mut act: impl FnMut(&mut Sender, usize, Time),
) -> Run {
    let end = at(seconds);
    let endless: Vec<usize> = (0..flows.len()).filter(|&flow| flows[flow].writes[0].1 == ENDLESS).collect();
    let mut hosts = Vec::new();
    let mut receivers = Vec::new();
    for flow in flows {
        let sender = Sender::new(flow.config.clone());
        let echo = sender.control().ecn();
        let writes: Vec<(Time, u64)> = flow.writes.iter().map(|&(when, bytes)| (at(when), bytes)).collect();
        hosts.push(Host::new(sender, at(flow.start), Duration::ZERO, writes));
        let config = receiver::Config {
            mss: 1460,
            // Room for the largest path of these tests.
            memory: [4096, 1 << 26, 1 << 28],
            echo: receiver::EcnEcho::for_control(echo, EcnMode::Off),
            ..receiver::Config::default()
        };
        receivers.push(receiver::Host::new(Receiver::new(config), None));
    }
    let count = hosts.len();
    let mut run = Run {
        points: Vec::new(),
        queue: Vec::new(),
        sent: vec![0; count],
        dropped: Vec::new(),
        marked: Vec::new(),
        hosts: Vec::new(),
    };
    let mut heap: BinaryHeap<Delivery> = BinaryHeap::new();
    let mut segments: std::collections::HashMap<u64, Segment> = std::collections::HashMap::new();
    let mut number = 0u64;
    let mut waiting: VecDeque<Time> = VecDeque::new();
    let (mut free_at, mut back_free) = (Time::ZERO, Time::ZERO);
    let (mut last_out, mut last_back) = (Time::ZERO, Time::ZERO);
    let mut random = 0x1234_5678_9abc_def0_u64;
    let mut tokens = path.policer.map_or(0.0, |p| p.1);
    let mut refilled = Time::ZERO;
    let mut data = 0u64;
    let mut now = Time::ZERO;
    loop {
        // Everything that leaves now.
        for flow in 0..count {
            while let Some(segment) = hosts[flow].transmit(now) {
                let bytes = if segment.syn { 60 } else { ip_bytes(&segment) };
                while waiting.front().is_some_and(|&begin| begin <= now) {
                    waiting.pop_front();
                }
                let mut segment = segment;
                run.sent[flow] += 1;
                if segment.len > 0 {
                    data += 1;
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let draw = (random >> 11) as f64 / (1u64 << 53) as f64;
                    let (from, to) = path.loss_between;
                    if draw < path.loss && (from..to).contains(&now.as_secs_f64()) {
                        run.dropped.push((now.as_secs_f64(), flow));
                        continue;
                    }
                    if draw < path.mark_share && segment.ecn != Ecn::NotEct {
                        segment.ecn = Ecn::Ce;
                        run.marked.push((now.as_secs_f64(), flow));
                    }
                    if let Some((mbps, bucket)) = path.policer {
                        let gained = now.since(refilled).as_secs_f64() * mbps * 1e6 / 8.0 / PACKET;
                        tokens = (tokens + gained).min(bucket);
                        refilled = now;
                        if tokens < 1.0 {
                            run.dropped.push((now.as_secs_f64(), flow));
                            continue;
                        }
                        tokens -= 1.0;
                    }
                }
                let begin = now.max(free_at);
                if begin > now {
                    if waiting.len() >= path.queue {
                        run.dropped.push((now.as_secs_f64(), flow));
                        continue;
                    }
                    if path.mark_at.is_some_and(|mark| waiting.len() >= mark) && segment.ecn != Ecn::NotEct {
                        segment.ecn = Ecn::Ce;
                        run.marked.push((now.as_secs_f64(), flow));
                    }
                    waiting.push_back(begin);
                }
                free_at = begin + rate(step(&path.rates, begin)).time_of(bytes);
                run.queue.push((now.as_secs_f64(), begin.since(now).as_secs_f64() * 1e3));
                let mut out = (free_at + ms(step(&path.rtts, free_at) / 2.0)).max(last_out);
                last_out = out;
                if let Some((every, by)) = path.reorder
                    && segment.len > 0
                    && data.is_multiple_of(every)
                {
                    out += ms(by);
                }
                number += 1;
                segments.insert(number, segment);
                heap.push(Reverse((out, number, flow, true)));
            }
            while let Some(segment) = receivers[flow].transmit(now) {
                let mut leaves = now;
                if let Some(mbps) = path.back {
                    back_free = now.max(back_free) + rate(mbps).time_of(ip_bytes(&segment));
                    leaves = back_free;
                }
                let mut out = leaves + ms(step(&path.rtts, leaves) / 2.0);
                if let Some(every) = path.aggregation {
                    out = at((out.as_secs_f64() * 1e3 / every).ceil() * every / 1e3);
                }
                out = out.max(last_back);
                last_back = out;
                number += 1;
                segments.insert(number, segment);
                heap.push(Reverse((out, number, flow, false)));
            }
        }
        let delivery = heap.peek().map_or(Time::MAX, |Reverse(next)| next.0);
        let mut due = (delivery, usize::MAX, true);
        for flow in 0..count {
            let times = [(hosts[flow].next_timeout(), true), (receivers[flow].next_timeout(), false)];
            for (time, sender) in times {
                if time.is_some_and(|time| time < due.0) {
                    due = (time.unwrap_or(Time::MAX), flow, sender);
                }
            }
        }
        if due.0 > end {
            break;
        }
        now = due.0;
        if due.1 != usize::MAX {
            if due.2 {
                hosts[due.1].on_timeout(now)
            } else {
                receivers[due.1].on_timeout(now)
            }
            continue;
        }
        let Some(Reverse((_, key, flow, forward))) = heap.pop() else { continue };
        let Some(segment) = segments.remove(&key) else { continue };
        if forward {
            receivers[flow].on_segment(now, &segment);
            continue;
        }
        hosts[flow].on_segment(now, &segment);
        act(&mut hosts[flow].sender, flow, now);
        let sender = &hosts[flow].sender;
        let state = sender.flow();
        run.points.push(Point {
            at: now.as_secs_f64(),
            flow,
            acked: state.una.saturating_sub(1),
            cwnd: state.cwnd,
            in_flight: state.in_flight(),
            phase: sender.control().phase(),
            figures: sender.control().figures(),
            pacing: state.pacing_rate,
        });
    }
    assert!(endless.iter().all(|&flow| hosts[flow].sender.backlog() > 0), "the path carried all that was written");
    run.hosts = hosts;
    run
}

pub fn run(path: &Bottleneck, flows: Vec<Flow>, seconds: f64) -> Run {
    run_with(path, flows, seconds, |_, _, _| {})
}

/// The control of that name with one option as a scenario writes it.
pub fn with_option(control: &str, option: &str, value: serde_json::Value) -> ControlKind {
    let options = serde_json::Map::from_iter([(option.to_owned(), value)]);
    serde_json::from_value(serde_json::json!({ control: options })).unwrap()
}

/// Jain's index of fairness: 1 for equal shares, 1/n for one that has all.
pub fn jain(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>().powi(2) / (shares.len() as f64 * shares.iter().map(|s| s * s).sum::<f64>())
}
