//! Bounds that no run may pass: what links can carry, and how fast signals are. They come from the scenario alone, with
//! nothing of the engine's.

use super::finding::Findings;
use skyhop::records::{LinkSummary, PacketEvent, Records};
use skyhop_base::Rate;
use skyhop_queue::QueueSpec;
use skyhop_queue::fifo::FifoConfig;
use skyhop_scenario::Scenario;
use skyhop_scenario::scenario::{Queue, Room, Transmitter};
use skyhop_sim::errors::ErrorConfig;
use skyhop_sim::spec::{OPPORTUNITY_BYTES, Service};
use std::collections::BTreeMap;

/// m/s.
const LIGHT: f64 = 299_792_458.0;

/// Below the polar radius: chords on this sphere are no longer than those on any model of the Earth, in m.
const SMALLEST_EARTH: f64 = 6_350_000.0;

/// Times are whole nanoseconds: what rounding may make of a bound, per event.
const TICK_S: f64 = 4e-9;

const ROUNDING: f64 = 1e-9;

/// One direction between two nodes.
#[derive(Clone, Copy)]
struct Way {
    /// Least propagation, s.
    delay_s: f64,
    /// Infinite where it changes.
    rate_bps: f64,
    /// Bytes that a packet has besides its own.
    framing: u64,
    /// Whether every packet takes exactly bits / rate, then the delay, once.
    is_plain: bool,
    /// Whether arrivals are as far apart as departures: a list of packets to delay, to double or to hold brings some
    /// close behind others.
    keeps_spacing: bool,
}

/// The scenario as bounds see it: nodes by name, the best path between each two.
struct Network {
    nodes: BTreeMap<String, usize>,
    ways: Vec<(usize, usize, Way)>,
    /// Wires by the names of their links.
    wires: BTreeMap<String, Wire>,
}

/// What one direction of a wire can carry.
struct Wire {
    way: Way,
    /// Bits within the run; infinite where a profile decides.
    capacity_bits: f64,
    /// Packets that may wait; `None` without such a limit.
    room: Option<u32>,
}

/// One name for all satellites where only rates count.
const SKY: &str = "sky";

pub fn check(scenario: &Scenario, records: &Records, findings: &mut Findings) {
    let run_s = records.end.as_secs_f64();
    let network = Network::new(scenario, run_s);
    for row in &records.links {
        check_capacity(row, &records.link_names[row.link as usize], &network, run_s, findings);
    }
    check_flows(&network, records, findings);
    check_packets(&network, records, findings);
}

/// What a link has begun to send fits into the run, but for the last packet; what waits fits into the queue.
fn check_capacity(row: &LinkSummary, name: &str, network: &Network, run_s: f64, findings: &mut Findings) {
    let Some(wire) = network.wires.get(name) else { return };
    let say = || format!("{name} in {run_s} s: {row:?}");
    let bits = (row.bytes + row.packets * wire.way.framing) as f64 * 8.0;
    let last = 2.0 * 65_535.0 * 8.0;
    findings.expect(bits <= wire.capacity_bits + last, "a link carries more than its capacity", say);
    let fits = wire.room.is_none_or(|room| row.queue_max_packets <= room);
    findings.expect(fits, "more packets wait than the queue has room for", say);
}

fn check_flows(network: &Network, records: &Records, findings: &mut Findings) {
    for row in &records.flows {
        let [from, to] = [row.from, row.to].map(|node| records.node_names[node as usize].as_str());
        let say = || format!("{from} to {to}: {row:?}");
        if let Some(widest) = network.widest(from, to) {
            let limit = widest * (1.0 + ROUNDING);
            findings.expect(row.goodput_bps <= limit, "goodput above the capacity of the path", || {
                format!("at most {widest}; {}", say())
            });
        }
        let there = network.least_delay(from, to);
        if let Some(there) = there.filter(|_| row.delay.count > 0) {
            findings.expect(row.delay.min_s >= there - 20.0 * TICK_S, "a delay below that of signals", || {
                format!("at least {there}; {}", say())
            });
        }
        let back = network.least_delay(to, from);
        if let (Some(there), Some(back), true) = (there, back, row.rtt.count > 0) {
            findings.expect(row.rtt.min_s >= there + back - 40.0 * TICK_S, "an RTT below that of signals", || {
                format!("at least {}; {}", there + back, say())
            });
        }
    }
}

/// Packets of a wire whose events are recorded: one is served at a time, each as long as its bits take.
fn check_packets(network: &Network, records: &Records, findings: &mut Findings) {
    let mut served: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    let mut arrived: BTreeMap<u32, f64> = BTreeMap::new();
    for row in &records.packets {
        let name = &records.link_names[row.link as usize];
        let Some(way) = network.wires.get(name).map(|wire| wire.way).filter(|way| way.is_plain) else { continue };
        let service = (u64::from(row.size_bytes) + way.framing) as f64 * 8.0 / way.rate_bps;
        let at = row.time.as_secs_f64();
        match row.event {
            PacketEvent::Dequeue => {
                let free = served.insert(row.link, (at, service)).map_or(0.0, |(begin, service)| begin + service);
                findings.expect(at >= free - TICK_S, "a service begins before the one before it ends", || {
                    format!("{name}: free at {free}, {row:?}")
                });
            }
            PacketEvent::Receive | PacketEvent::Loss => {
                let least = way.delay_s + service;
                let before = arrived.insert(row.link, at).filter(|_| way.keeps_spacing);
                let after = before.map_or(least, |last| (last + service).max(least));
                findings.expect(at >= after - TICK_S, "a packet arrives before its bits can", || {
                    format!("{name}: not before {after}, {row:?}")
                });
            }
            _ => {}
        }
    }
}

impl Network {
    fn new(scenario: &Scenario, run_s: f64) -> Network {
        let mut network = Network { nodes: BTreeMap::new(), ways: Vec::new(), wires: BTreeMap::new() };
        for link in &scenario.links {
            let [a, b] = &link.between;
            for (from, to, direction) in [(a, b, &link.forward), (b, a, &link.backward)] {
                let way = way(&direction.transmitter, direction.delay.as_secs_f64());
                network.join(from, to, way);
                // An idle link takes a packet whatever the room, and it may wait for an opportunity of a recording.
                let least = u32::from(direction.transmitter.trace.is_some());
                let room = room(&direction.transmitter.queue).map(|room| room.max(least));
                let capacity_bits = capacity_bits(&direction.transmitter, run_s);
                let wire = Wire { way, capacity_bits, room };
                network.wires.insert(format!("{from}->{to}"), wire);
            }
        }
        for flow in scenario.flows.iter().filter(|flow| flow.access.is_some()) {
            let Some(access) = &flow.access else { continue };
            let way = Way {
                delay_s: access.delay.as_secs_f64(),
                rate_bps: access.rate.bps_f64(),
                framing: 0,
                is_plain: true,
                keeps_spacing: true,
            };
            for name in flow.names() {
                for (outer, inner) in [(format!("{name}.source"), &flow.from), (format!("{name}.sink"), &flow.to)] {
                    network.join(&outer, inner, way);
                    network.join(inner, &outer, way);
                }
            }
        }
        network.add_sky(scenario);
        network
    }

    fn add_sky(&mut self, scenario: &Scenario) {
        let Some(gsl) = scenario.constellation.as_ref().and_then(|sky| sky.gsl.as_ref()) else { return };
        let unit = |latitude: f64, longitude: f64| {
            let (latitude, longitude) = (latitude.to_radians(), longitude.to_radians());
            [latitude.cos() * longitude.cos(), latitude.cos() * longitude.sin(), latitude.sin()]
        };
        let points: Vec<(&String, [f64; 3], bool)> = scenario
            .stations
            .iter()
            .map(|(name, s)| (name, unit(s.latitude.degrees(), s.longitude.degrees()), s.track.is_some()))
            .collect();
        for (name, place, moves) in &points {
            // Rates: all satellites are one node. Delays: signals between stations take no more than the straight path.
            let far = f64::INFINITY;
            self.join(name, SKY, Way { delay_s: far, ..way(&gsl.uplink, 0.0) });
            self.join(SKY, name, Way { delay_s: far, ..way(&gsl.downlink, 0.0) });
            for (other, there, other_moves) in points.iter().filter(|(other, ..)| other != name) {
                let chord: f64 = place.iter().zip(there).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                let fixed = f64::from(u8::from(!moves && !other_moves));
                let delay_s = fixed * chord * SMALLEST_EARTH / LIGHT;
                let way = Way { delay_s, rate_bps: 0.0, framing: 0, is_plain: false, keeps_spacing: false };
                self.join(name, other, way);
            }
        }
    }

    fn node(&mut self, name: &str) -> usize {
        let next = self.nodes.len();
        *self.nodes.entry(name.to_owned()).or_insert(next)
    }

    fn join(&mut self, from: &str, to: &str, way: Way) {
        let (from, to) = (self.node(from), self.node(to));
        self.ways.push((from, to, way));
    }

    /// The best value at `to` when it is `start` at `from` and grows along paths.
    fn best(
        &self,
        from: &str,
        to: &str,
        start: f64,
        along: impl Fn(f64, &Way) -> f64,
        better: impl Fn(f64, f64) -> bool,
    ) -> Option<f64> {
        let (&from, &to) = (self.nodes.get(from)?, self.nodes.get(to)?);
        let mut best: Vec<Option<f64>> = vec![None; self.nodes.len()];
        best[from] = Some(start);
        for _ in 0..self.nodes.len() {
            for (a, b, way) in &self.ways {
                let Some(reached) = best[*a].map(|value| along(value, way)) else { continue };
                if best[*b].is_none_or(|known| better(reached, known)) {
                    best[*b] = Some(reached);
                }
            }
        }
        best[to]
    }

    /// Bit/s of the widest path; `None` where an end is unknown here.
    fn widest(&self, from: &str, to: &str) -> Option<f64> {
        let rate = self.best(from, to, f64::INFINITY, |rate, way| rate.min(way.rate_bps), |a, b| a > b)?;
        (rate > 0.0).then_some(rate)
    }

    /// Seconds from end to end at least.
    fn least_delay(&self, from: &str, to: &str) -> Option<f64> {
        // The smallest packet has one byte.
        let over =
            |way: &Way| way.delay_s + if way.is_plain { (1 + way.framing) as f64 * 8.0 / way.rate_bps } else { 0.0 };
        let delay = self.best(from, to, 0.0, |delay, way| delay + over(way), |a, b| a < b)?;
        delay.is_finite().then_some(delay)
    }
}

fn way(transmitter: &Transmitter, delay_s: f64) -> Way {
    let Transmitter { rate, framing, errors, repair, trace, profile, .. } = transmitter;
    let is_steady = trace.is_none() && profile.is_none();
    let recorded = trace.as_ref().map_or(&[][..], |trace| &trace.config.delays);
    let delays = recorded.iter().map(|(_, delay)| delay.as_secs_f64());
    Way {
        delay_s: if recorded.is_empty() { delay_s } else { delays.fold(delay_s, f64::min) },
        rate_bps: if is_steady { Rate::bps_f64(*rate) } else { f64::INFINITY },
        framing: framing.0,
        is_plain: is_steady && repair.is_none(),
        keeps_spacing: !errors.iter().any(|model| matches!(model, ErrorConfig::List(_))),
    }
}

/// Bits that a transmitter can have sent when the run ends.
fn capacity_bits(transmitter: &Transmitter, run_s: f64) -> f64 {
    let config = match (&transmitter.trace, &transmitter.profile) {
        (_, Some(_)) => return f64::INFINITY,
        (None, None) => return Rate::bps_f64(transmitter.rate) * run_s,
        (Some(trace), None) => &trace.config,
    };
    let period_s = config.period.as_secs_f64();
    let (rounds, rest_s) = ((run_s / period_s).floor(), run_s % period_s);
    let recorded = |until_s: f64| match &config.service {
        Service::Constant => Rate::bps_f64(transmitter.rate) * until_s,
        Service::Opportunities(times) => {
            let count = times.iter().filter(|at| at.as_secs_f64() <= until_s).count();
            count as f64 * f64::from(OPPORTUNITY_BYTES) * 8.0
        }
        Service::Rates(rates) => {
            let ends = rates.iter().skip(1).map(|(at, _)| at.as_secs_f64()).chain([period_s]);
            let parts = rates.iter().zip(ends);
            let later = parts.map(|((from, bps), end)| *bps as f64 * (end.min(until_s) - from.as_secs_f64()).max(0.0));
            // Before the first instant of a period the last rate of the period before holds.
            let first_s = rates.first().map_or(0.0, |(at, _)| at.as_secs_f64());
            let before = rates.last().map_or(0.0, |(_, bps)| *bps as f64) * first_s.min(until_s);
            before + later.sum::<f64>()
        }
    };
    rounds * recorded(period_s) + recorded(rest_s)
}

/// Packets for which a queue has room; `None` without such a limit.
fn room(queue: &Queue) -> Option<u32> {
    match queue {
        Queue::DropTail(fifo) | Queue::DropFront(fifo) => match fifo.room {
            Room::Packets { packets, .. } => Some(packets),
            Room::Bytes { .. } => None,
        },
        Queue::Discipline(spec) => match spec.as_ref() {
            QueueSpec::DropTail(FifoConfig::Packets(packets)) => Some(*packets),
            QueueSpec::Codel(config) => Some(config.limit),
            QueueSpec::FqCodel(config) => Some(config.limit),
            QueueSpec::Pie(config) => Some(config.limit),
            QueueSpec::FqPie(config) => Some(config.limit),
            QueueSpec::DualPi2(config) => Some(config.limit),
            QueueSpec::Sfq(config) => Some(config.limit),
            _ => None,
        },
        _ => None,
    }
}
