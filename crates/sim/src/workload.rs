//! Workloads: transfers that begin at random, each of its own size and between its own pair of nodes.
//!
//! All of them are drawn before the run, each workload from streams of its own: so the seed decides when they begin and
//! how large they are, whatever the network does with them, and two transports meet the same transfers.

use crate::error::SimulationError;
use crate::pages::PagesConfig;
use crate::records::WorkloadTransferRow;
use crate::spec::{FlowConfig, SimulationSpec, SourceConfig};
use crate::visit::Visit;
use skyhop_base::{Duration, Stream, Time};
use skyhop_topology::NodeId;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::spec::{ArrivalConfig, ConnectionUse, MOST_TRANSFERS, TransferStart, WorkloadConfig};

impl WorkloadConfig {
    /// When no transfer begins any more.
    fn end(&self, end_of_run: Time) -> Time {
        self.stop.unwrap_or(end_of_run).min(end_of_run)
    }

    /// So many transfers begin in a run of this length, on average; a connection of a visit of web pages counts as one.
    pub fn expected_transfers(&self, duration: Duration) -> f64 {
        let span = self.end(Time::ZERO + duration).since(self.start.min(Time::ZERO + duration));
        let arrivals = match &self.arrivals {
            ArrivalConfig::Renewal(gaps) => span.as_secs_f64() / gaps.mean(),
            ArrivalConfig::Given(list) => list.iter().filter(|(after, _)| *after < span).count() as f64,
        };
        self.count.map_or(arrivals, |count| arrivals.min(count as f64)) * f64::from(self.connections_of_visit())
    }

    fn connections_of_visit(&self) -> u32 {
        self.pages.as_ref().map_or(1, |pages| pages.connections)
    }

    /// The transfers of a run: instant, bytes, and the nodes at both ends.
    fn draw(&self, end_of_run: Time, seed: u64) -> Result<Vec<(Time, u64, NodeId, NodeId)>, SimulationError> {
        let stream = |purpose| Stream::new(seed, &self.name, purpose);
        let (mut gaps, mut sizes) = (stream("workload gaps"), stream("workload sizes"));
        let mut pairs = stream("workload pairs");
        let end = self.end(end_of_run);
        let most = self.count.unwrap_or(u64::MAX);
        let mut transfers = Vec::new();
        let mut given = match &self.arrivals {
            ArrivalConfig::Renewal(_) => [].iter(),
            ArrivalConfig::Given(list) => list.iter(),
        };
        let mut now = self.start;
        while (transfers.len() as u64) < most {
            let mut size = None;
            match &self.arrivals {
                ArrivalConfig::Renewal(distribution) => {
                    now = now.saturating_add(Duration::from_secs_f64(distribution.draw(&mut gaps)));
                }
                ArrivalConfig::Given(_) => {
                    let Some(&(after, bytes)) = given.next() else { break };
                    now = self.start.saturating_add(after);
                    size = bytes;
                }
            }
            if now >= end {
                break;
            }
            if transfers.len() as u64 * u64::from(self.connections_of_visit()) >= MOST_TRANSFERS {
                return Err(SimulationError::TooManyTransfers { workload: self.name.clone() });
            }
            let bytes = size.unwrap_or_else(|| libm::ceil(self.sizes.draw(&mut sizes)).max(1.0) as u64);
            let (from, to) = self.pair(&mut pairs);
            transfers.push((now, bytes, from, to));
        }
        Ok(transfers)
    }

    fn pair(&self, stream: &mut Stream) -> (NodeId, NodeId) {
        let mut one_of = |count: usize| ((stream.uniform() * count as f64) as usize).min(count.saturating_sub(1));
        let from = self.from[one_of(self.from.len())];
        let others = || self.to.iter().filter(|&&to| to != from);
        let to = others().nth(one_of(others().count())).copied().unwrap_or(from);
        (from, to)
    }

    fn flow(&self, name: String, from: NodeId, to: NodeId, arrivals: Vec<TransferStart>) -> FlowConfig {
        let start = arrivals.first().map_or(self.start, |first| first.at);
        let application = match (self.burst, arrivals.as_slice()) {
            (Some((rate, payload_bytes)), &[arrival]) => SourceConfig::Burst { arrival, rate, payload_bytes },
            (Some((rate, payload_bytes)), _) => {
                let arrival = TransferStart { at: start, bytes: 0, row: 0 };
                SourceConfig::Burst { arrival, rate, payload_bytes }
            }
            (None, _) => SourceConfig::Transfers(arrivals.into()),
        };
        self.connection(name, (from, to), start, application)
    }

    fn connection(
        &self,
        name: String,
        (from, to): (NodeId, NodeId),
        start: Time,
        application: SourceConfig,
    ) -> FlowConfig {
        FlowConfig {
            name,
            from,
            to,
            transport: self.transport.clone(),
            start,
            application,
            stop: None,
            ttl: self.ttl,
            class: self.class,
            jitter: self.jitter,
        }
    }

    /// Flows between all nodes that it names, without a transfer: whether its connections can be built.
    fn samples(&self) -> impl Iterator<Item = FlowConfig> + '_ {
        let partner =
            |node: NodeId, others: &[NodeId]| others.iter().copied().find(|&other| other != node).unwrap_or(node);
        let senders = self.from.iter().map(move |&from| (from, partner(from, &self.to)));
        let receivers = self.to.iter().map(move |&to| (partner(to, &self.from), to));
        senders.chain(receivers).map(|(from, to)| match &self.pages {
            None => self.flow(self.name.clone(), from, to, Vec::new()),
            Some(pages) => self.connection(self.name.clone(), (from, to), self.start, page_application(pages, 0, 0)),
        })
    }
}

/// The same network with a flow for each pair of nodes that workloads join, for questions about what can be built.
pub(crate) fn with_samples(spec: &SimulationSpec) -> SimulationSpec {
    let mut with = spec.clone();
    let samples = spec.workloads.iter().flat_map(WorkloadConfig::samples);
    with.flows.extend(samples);
    with.workloads.clear();
    with
}

fn page_application(pages: &PagesConfig, visit: u32, place: u32) -> SourceConfig {
    SourceConfig::Pages { visit, place, request_bytes: pages.request_bytes }
}

/// What workloads bring to a run.
pub(crate) struct Drawn {
    /// The same network with the connections of its workloads as flows behind its own.
    pub with: SimulationSpec,
    /// A row for each transfer.
    pub transfers: Vec<WorkloadTransferRow>,
    /// Users who load web pages.
    pub visits: Vec<Visit>,
}

/// The transfers and the visits of a run.
pub(crate) fn with_connections(spec: &SimulationSpec, seed: u64) -> Result<Drawn, SimulationError> {
    let mut with = spec.clone();
    let mut rows: Vec<WorkloadTransferRow> = Vec::new();
    let mut visits: Vec<Visit> = Vec::new();
    for (workload, config) in spec.workloads.iter().enumerate() {
        let drawn = config.draw(Time::ZERO + spec.duration, seed)?;
        let connections = with.flows.len() - spec.flows.len();
        if (rows.len().max(connections) + drawn.len() * config.connections_of_visit() as usize) as u64 > MOST_TRANSFERS
        {
            return Err(SimulationError::TooManyTransfers { workload: config.name.clone() });
        }
        if let Some(pages) = &config.pages {
            let end = config.end(Time::ZERO + spec.duration);
            for (number, (at, _, from, to)) in drawn.into_iter().enumerate() {
                let (visit, first_flow) = (visits.len() as u32, with.flows.len() as u32);
                let name = connection_name(&config.name, number);
                with.flows.extend((0..pages.connections).map(|place| {
                    let application = page_application(pages, visit, place);
                    config.connection(format!("{name}.{place}"), (from, to), at, application)
                }));
                let whose = (workload as u32, number as u32);
                visits.push(Visit::new(pages.clone(), whose, (from, to), (first_flow, &name, seed), (at, end)));
            }
            continue;
        }
        // By pair and place among its connections; in the order in which they open.
        let mut places: BTreeMap<(NodeId, NodeId, u32), usize> = BTreeMap::new();
        let mut turns: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
        let mut connections: Vec<(NodeId, NodeId, Vec<TransferStart>)> = Vec::new();
        for (number, (at, bytes, from, to)) in drawn.into_iter().enumerate() {
            let arrival = TransferStart { at, bytes, row: rows.len() as u32 };
            rows.push(WorkloadTransferRow::begun(workload as u32, number as u32, (from, to), (at, bytes)));
            let place = match config.connections {
                ConnectionUse::New => connections.len(),
                ConnectionUse::Persistent(count) => {
                    let turn = turns.entry((from, to)).or_default();
                    let key = (from, to, *turn % count.max(1));
                    *turn += 1;
                    *places.entry(key).or_insert(connections.len())
                }
            };
            match connections.get_mut(place) {
                Some((_, _, arrivals)) => arrivals.push(arrival),
                None => connections.push((from, to, vec![arrival])),
            }
        }
        let flows = connections.into_iter().enumerate();
        with.flows.extend(flows.map(|(number, (from, to, arrivals))| {
            config.flow(connection_name(&config.name, number), from, to, arrivals)
        }));
    }
    with.workloads.clear();
    Ok(Drawn { with, transfers: rows, visits })
}

/// No flow has such a name: "#" is not part of one.
fn connection_name(workload: &str, number: usize) -> String {
    format!("{workload}#{number}")
}

/// The transfers of a connection: what is written when, and what has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    arrivals: Arc<[TransferStart]>,
    written: usize,
    done: usize,
    /// Bytes of all that is done.
    before: u64,
    /// Whether a byte of the one after them has come.
    has_begun: bool,
}

/// A step of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    FirstByte { row: u32 },
    Done { row: u32, is_last: bool },
}

impl Schedule {
    pub fn new(arrivals: Arc<[TransferStart]>) -> Schedule {
        Schedule { arrivals, written: 0, done: 0, before: 0, has_begun: false }
    }

    /// The next transfer is written; when the one after it is.
    pub fn write(&mut self) -> Option<Time> {
        self.written = (self.written + 1).min(self.arrivals.len());
        self.arrivals.get(self.written).map(|next| next.at)
    }

    /// User bytes of all transfers.
    pub fn bytes(&self) -> u64 {
        self.arrivals.iter().map(|transfer| transfer.bytes).sum()
    }

    /// The transfer that was written last.
    pub fn newest(&self) -> Option<TransferStart> {
        self.written.checked_sub(1).and_then(|last| self.arrivals.get(last)).copied()
    }

    /// Bytes in order at which something becomes of a transfer; `u64::MAX` while none waits.
    pub fn target(&self) -> u64 {
        match self.arrivals.get(self.done) {
            Some(next) if self.done < self.written => self.before + if self.has_begun { next.bytes } else { 1 },
            _ => u64::MAX,
        }
    }

    /// The next step of a transfer now that so many bytes have come in order; callers ask until there is none.
    pub fn delivered(&mut self, bytes: u64) -> Option<Step> {
        if bytes < self.target() {
            return None;
        }
        let TransferStart { row, bytes, .. } = *self.arrivals.get(self.done)?;
        if !std::mem::replace(&mut self.has_begun, true) {
            return Some(Step::FirstByte { row });
        }
        self.before += bytes;
        self.done += 1;
        self.has_begun = false;
        Some(Step::Done { row, is_last: self.done == self.arrivals.len() })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::distribution::Distribution;
    use crate::spec::TransportConfig;

    pub(crate) fn workload(arrivals: ArrivalConfig, sizes: Distribution) -> WorkloadConfig {
        WorkloadConfig {
            name: "web".into(),
            from: vec![NodeId::new(0), NodeId::new(1)],
            to: vec![NodeId::new(1), NodeId::new(2), NodeId::new(3)],
            transport: TransportConfig::Udp { header_bytes: 28 },
            arrivals,
            sizes,
            connections: ConnectionUse::New,
            burst: None,
            pages: None,
            start: Time::ZERO,
            stop: None,
            count: None,
            ttl: 64,
            class: 0,
            jitter: Duration::ZERO,
        }
    }

    fn poisson(per_s: f64) -> ArrivalConfig {
        ArrivalConfig::Renewal(Distribution::Exponential { mean: 1.0 / per_s })
    }

    /// The counts of a Poisson process in equal times have a variance that is their mean: the index of dispersion of n
    /// counts is 1 with a standard deviation of sqrt(2 / (n - 1)) (D. Cox and P. Lewis 1966, §6.3).
    #[test]
    fn poisson_arrivals_have_the_dispersion_of_one() {
        let (seconds, per_s) = (4000, 10.0);
        let config = workload(poisson(per_s), Distribution::Constant(1.0));
        let drawn = config.draw(Time::from_secs_f64(f64::from(seconds)), 1).unwrap();
        let mut counts = vec![0.0; seconds as usize];
        drawn.iter().for_each(|(at, ..)| counts[at.as_secs_f64() as usize] += 1.0);
        let n = f64::from(seconds);
        let mean = counts.iter().sum::<f64>() / n;
        let variance = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / (n - 1.0);
        assert!((mean - per_s).abs() < 4.0 * (per_s / n).sqrt(), "{mean}");
        assert!((variance / mean - 1.0).abs() < 4.0 * (2.0 / (n - 1.0)).sqrt(), "{variance} {mean}");
        // Constant gaps have none.
        let regular = workload(ArrivalConfig::Renewal(Distribution::Constant(0.1)), Distribution::Constant(1.0));
        let drawn = regular.draw(Time::from_secs_f64(10.05), 1).unwrap();
        assert_eq!(drawn.len(), 100);
        assert_eq!(drawn[0].0, Time::from_secs_f64(0.1), "the first one comes after a gap");
    }

    #[test]
    fn the_offered_load_is_the_rate_times_the_mean_size() {
        let sizes = Distribution::Exponential { mean: 10_000.0 };
        let config = workload(poisson(50.0), sizes);
        let drawn = config.draw(Time::from_secs_f64(400.0), 5).unwrap();
        let bytes: u64 = drawn.iter().map(|&(_, bytes, ..)| bytes).sum();
        // 20,000 transfers: a compound Poisson sum has the standard deviation sqrt(2 n) times the mean size.
        let expected = 20_000.0 * 10_000.5;
        assert!((bytes as f64 / expected - 1.0).abs() < 4.0 * (2.0_f64 / 20_000.0).sqrt(), "{bytes}");
        assert_eq!(config.expected_transfers(Duration::from_secs(400)), 20_000.0);
    }

    #[test]
    fn every_pair_of_two_nodes_is_drawn_as_often() {
        let config = workload(poisson(100.0), Distribution::Constant(1.0));
        let drawn = config.draw(Time::from_secs_f64(100.0), 1).unwrap();
        let share = |pair: (u32, u32)| {
            let of_pair = |&&(_, _, from, to): &&(Time, u64, NodeId, NodeId)| (from.as_u32(), to.as_u32()) == pair;
            drawn.iter().filter(of_pair).count() as f64 / drawn.len() as f64
        };
        for (pair, expected) in
            [((0, 1), 1.0 / 6.0), ((0, 2), 1.0 / 6.0), ((1, 2), 0.25), ((1, 3), 0.25), ((1, 1), 0.0)]
        {
            let n = drawn.len() as f64;
            assert!((share(pair) - expected).abs() <= 4.0 * (expected / n).sqrt(), "{pair:?}: {}", share(pair));
        }
    }

    #[test]
    fn a_count_a_stop_and_given_times_end_the_transfers() {
        let at = Time::from_secs_f64;
        let given: Arc<[_]> =
            [(0.5, None), (1.0, Some(77)), (3.0, None)].map(|(s, bytes)| (Duration::from_secs_f64(s), bytes)).into();
        let mut config = workload(ArrivalConfig::Given(given), Distribution::Constant(9.5));
        config.start = at(1.0);
        let drawn = |config: &WorkloadConfig| -> Vec<(f64, u64)> {
            config.draw(at(10.0), 1).unwrap().iter().map(|(at, bytes, ..)| (at.as_secs_f64(), *bytes)).collect()
        };
        assert_eq!(drawn(&config), [(1.5, 10), (2.0, 77), (4.0, 10)]);
        config.stop = Some(at(4.0));
        assert_eq!(drawn(&config), [(1.5, 10), (2.0, 77)]);
        assert_eq!(config.expected_transfers(Duration::from_secs(10)), 2.0);
        config.count = Some(1);
        assert_eq!(drawn(&config), [(1.5, 10)]);
        let endless = workload(ArrivalConfig::Renewal(Distribution::Constant(1e-7)), Distribution::Constant(1.0));
        assert!(matches!(endless.draw(at(10.0), 1), Err(SimulationError::TooManyTransfers { .. })));
    }

    #[test]
    fn a_schedule_tells_first_and_last_bytes_in_order() {
        let at = Time::from_secs_f64;
        let arrivals = [(1.0, 100, 4), (2.0, 50, 7)].map(|(s, bytes, row)| TransferStart { at: at(s), bytes, row });
        let mut schedule = Schedule::new(arrivals.into());
        assert_eq!((schedule.target(), schedule.newest()), (u64::MAX, None));
        assert_eq!(schedule.write(), Some(at(2.0)));
        assert_eq!((schedule.target(), schedule.newest().map(|newest| newest.bytes)), (1, Some(100)));
        assert_eq!(schedule.delivered(60), Some(Step::FirstByte { row: 4 }));
        assert_eq!((schedule.delivered(60), schedule.target()), (None, 100));
        assert_eq!(schedule.write(), None);
        let mut steps = Vec::new();
        steps.extend(std::iter::from_fn(|| schedule.delivered(150)));
        assert_eq!(
            steps,
            [Step::Done { row: 4, is_last: false }, Step::FirstByte { row: 7 }, Step::Done { row: 7, is_last: true }]
        );
        assert_eq!(schedule.target(), u64::MAX);
    }
}
