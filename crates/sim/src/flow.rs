//! One flow: its application, its two endpoints and what is measured of them.

use crate::measure::{ArrivalMeter, Histogram, TimeAverage};
use crate::spec::{ApplicationConfig, FlowConfig, TransportConfig};
use skyhop_base::{Duration, Serialiser, Stream, Time};
use skyhop_transport::{Receiver, Sender, Supply};
use std::collections::VecDeque;

/// The two ends of a flow's transport.
pub enum Endpoints {
    Tcp(Box<TcpEnds>),
    Datagram { next_seq: u32, header_bytes: u32 },
}

pub struct TcpEnds {
    pub sender: Sender,
    pub receiver: Receiver,
}

/// What a flow's application does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppStep {
    Start,
    Produce,
    Stop,
}

/// When an application that writes by the clock writes next.
enum Pace {
    /// It does not: FTP.
    Never,
    Constant(Serialiser),
    /// Exponential gaps of this mean, in seconds.
    Poisson {
        mean_s: f64,
        stream: Stream,
    },
}

impl Pace {
    fn next_gap(&mut self, payload_bytes: u32) -> Option<Duration> {
        match self {
            Pace::Never => None,
            Pace::Constant(serialiser) => Some(serialiser.next(payload_bytes)),
            Pace::Poisson { mean_s, stream } => Some(Duration::from_secs_f64(stream.exponential(*mean_s))),
        }
    }
}

/// An application that always has data, or writes by the clock.
pub struct Application {
    config: ApplicationConfig,
    pace: Pace,
    pub start: Time,
    pub stop: Option<Time>,
    next: Option<(Time, AppStep)>,
}

impl Application {
    fn new(config: &FlowConfig, seed: u64) -> Application {
        let pace = match config.application {
            ApplicationConfig::ConstantRate { rate, .. } => Pace::Constant(Serialiser::new(rate)),
            ApplicationConfig::Poisson { rate, payload_bytes } => Pace::Poisson {
                mean_s: f64::from(payload_bytes) * 8.0 / rate.bps_f64(),
                stream: Stream::new(seed, &config.name, "arrivals"),
            },
            ApplicationConfig::Ftp { .. } => Pace::Never,
        };
        Application {
            config: config.application.clone(),
            pace,
            start: config.start,
            stop: config.stop,
            next: Some((config.start, AppStep::Start)),
        }
    }

    pub fn next_event(&self) -> Option<Time> {
        self.next.map(|(time, _)| time)
    }

    /// Takes the step that is due and plans the one after it. Who writes by the clock writes at the start already.
    pub fn step(&mut self) -> Option<AppStep> {
        let (now, step) = self.next?;
        let stop = self.stop.map(|at| (at, AppStep::Stop));
        let payload_bytes = self.datagram_bytes().unwrap_or(0);
        let produce = self.pace.next_gap(payload_bytes).map(|gap| (now + gap, AppStep::Produce));
        self.next = match (step, produce, stop) {
            (AppStep::Stop, _, _) => None,
            (_, Some(produce), Some(stop)) if stop.0 <= produce.0 => Some(stop),
            (_, Some(produce), _) => Some(produce),
            (_, None, stop) => stop,
        };
        Some(step)
    }

    /// What a TCP sender is given when the application starts, respectively produces.
    pub fn supply(&self) -> Supply {
        match self.config {
            ApplicationConfig::Ftp { bytes: None } => Supply::Unlimited,
            ApplicationConfig::Ftp { bytes: Some(bytes) } => Supply::Bytes(bytes),
            ApplicationConfig::ConstantRate { payload_bytes, .. }
            | ApplicationConfig::Poisson { payload_bytes, .. } => Supply::Bytes(u64::from(payload_bytes)),
        }
    }

    /// User bytes of one datagram.
    pub fn datagram_bytes(&self) -> Option<u32> {
        match self.config {
            ApplicationConfig::ConstantRate { payload_bytes, .. }
            | ApplicationConfig::Poisson { payload_bytes, .. } => Some(payload_bytes),
            ApplicationConfig::Ftp { .. } => None,
        }
    }

    /// Bytes after which the transfer is complete.
    pub fn transfer_bytes(&self) -> Option<u64> {
        match self.config {
            ApplicationConfig::Ftp { bytes } => bytes,
            ApplicationConfig::ConstantRate { .. } | ApplicationConfig::Poisson { .. } => None,
        }
    }
}

/// When each segment that is not yet acknowledged was sent, for the measure of RTT: the age of the segment that an
/// ACK acknowledges, if it was sent once.
#[derive(Clone, Debug, Default)]
pub struct SegmentAges {
    /// The number of the first segment in `sent`.
    first: u32,
    /// [`Time::MAX`] for segments that were sent more than once.
    sent: VecDeque<Time>,
}

impl SegmentAges {
    #[inline]
    pub fn sent(&mut self, now: Time, seq: u32) {
        let Some(index) = seq.checked_sub(self.first) else { return };
        match self.sent.get_mut(index as usize) {
            Some(time) => *time = Time::MAX,
            None => self.sent.push_back(now),
        }
    }

    /// All before `next` is acknowledged. The age of the last of them, if this ACK is new and it was sent once.
    #[inline]
    pub fn acknowledged(&mut self, now: Time, next: u32) -> Option<Duration> {
        let count = (next.checked_sub(self.first)? as usize).min(self.sent.len());
        let last = self.sent.drain(..count).next_back()?;
        self.first = next;
        (last != Time::MAX).then(|| now.since(last))
    }
}

/// Running totals of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowTotals {
    pub sent: u64,
    pub received: u64,
    pub duplicate: u64,
    pub wire_bytes: u64,
    pub bytes_delivered: u64,
    pub acks_sent: u64,
    pub acks_received: u64,
    pub drops: [u64; 5],
    pub ack_drops: [u64; 5],
}

pub struct Flow {
    /// Tells flows apart in random streams, whatever their order.
    pub key: u64,
    pub ends: Endpoints,
    pub application: Application,
    pub ttl: u8,
    /// Packets that each end has put on the network.
    pub numbers: [u32; 2],
    pub totals: FlowTotals,
    /// Totals at the moment when the application stopped: rates count what arrived until then.
    pub at_stop: Option<FlowTotals>,
    pub completed: Option<Time>,
    pub meter: ArrivalMeter,
    pub ages: SegmentAges,
    pub rtt: Histogram,
    pub cwnd: Option<TimeAverage>,
    /// Totals at the last grid point.
    pub at_grid: FlowTotals,
    /// Node by node, as last recorded.
    pub path: Vec<u32>,
}

impl Flow {
    pub fn new(config: &FlowConfig, seed: u64) -> Flow {
        let ends = match &config.transport {
            TransportConfig::Tcp(tcp) => Endpoints::Tcp(Box::new(TcpEnds {
                sender: Sender::new(tcp, Stream::new(seed, &config.name, "sender")),
                receiver: Receiver::new(tcp),
            })),
            TransportConfig::Udp { header_bytes } => Endpoints::Datagram { next_seq: 0, header_bytes: *header_bytes },
        };
        let cwnd = match &ends {
            Endpoints::Tcp(tcp) => Some(TimeAverage::new(config.start, tcp.sender.snapshot().cwnd)),
            Endpoints::Datagram { .. } => None,
        };
        Flow {
            key: Stream::new(0, &config.name, "flow").bits_at(0),
            ends,
            application: Application::new(config, seed),
            ttl: config.ttl,
            numbers: [0; 2],
            totals: FlowTotals::default(),
            at_stop: None,
            completed: None,
            meter: ArrivalMeter::default(),
            ages: SegmentAges::default(),
            rtt: Histogram::default(),
            cwnd,
            at_grid: FlowTotals::default(),
            path: Vec::new(),
        }
    }

    /// The end of the flow's own time.
    pub fn end(&self, end_of_run: Time) -> Time {
        let stop = self.application.stop.unwrap_or(end_of_run).min(end_of_run);
        self.completed.map_or(stop, |completed| completed.min(stop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Rate;
    use skyhop_topology::NodeId;

    fn config(application: ApplicationConfig, stop: Option<Time>) -> FlowConfig {
        FlowConfig {
            name: "flow".into(),
            from: NodeId::new(0),
            to: NodeId::new(1),
            transport: TransportConfig::Udp { header_bytes: 28 },
            application,
            start: Time::from_secs_f64(1.0),
            stop,
            ttl: 64,
        }
    }

    #[test]
    fn a_constant_rate_keeps_its_pace_from_start_to_stop() {
        let rate = Rate::from_bps(3_000).unwrap();
        let application = ApplicationConfig::ConstantRate { rate, payload_bytes: 1000 };
        let start = Time::from_secs_f64(1.0);
        let mut app = Application::new(&config(application, Some(start + Duration::from_secs(8))), 1);
        let mut steps = Vec::new();
        while let Some(time) = app.next_event() {
            steps.push((time.since(start).as_nanos(), app.step().unwrap()));
        }
        // 8000 bits at 3000 bit/s: every 8/3 s, the third at 8 s exactly, when the application stops.
        assert_eq!(
            steps,
            [
                (0, AppStep::Start),
                (2_666_666_666, AppStep::Produce),
                (5_333_333_333, AppStep::Produce),
                (8_000_000_000, AppStep::Stop)
            ]
        );
    }

    #[test]
    fn the_age_of_the_acknowledged_segment_counts_unless_it_was_sent_again() {
        let at = Time::from_nanos;
        let mut ages = SegmentAges::default();
        (0..5).for_each(|seq| ages.sent(at(u64::from(seq)), seq));
        ages.sent(at(10), 2);
        assert_eq!(ages.acknowledged(at(20), 2), Some(Duration::from_nanos(19)));
        assert_eq!(ages.acknowledged(at(21), 2), None, "no new ACK");
        assert_eq!(ages.acknowledged(at(22), 3), None, "sent again");
        assert_eq!(ages.acknowledged(at(23), 5), Some(Duration::from_nanos(19)));
    }

    #[test]
    fn an_ftp_starts_and_stops_once() {
        let mut app = Application::new(&config(ApplicationConfig::Ftp { bytes: None }, None), 1);
        assert_eq!(app.step(), Some(AppStep::Start));
        assert_eq!(app.next_event(), None);
    }
}
