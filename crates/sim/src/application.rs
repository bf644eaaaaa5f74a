//! The application of one flow while it runs: when something is written, and when an exchange is complete. Its source
//! (`applications/`, workloads, visits of web pages) decides how much is written and when.

use crate::applications::{FlowOfSource, Gaps, Source, Transfers};
use crate::records::Records;
use crate::spec::{FlowConfig, SourceConfig};
use crate::visit::retry_gap;
use crate::workload::{self, Schedule, TransferStart};
use skyhop_base::{Duration, Serialiser, Time};
use skyhop_transport::Supply;

/// What a flow's application does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppStep {
    Start,
    Produce,
    /// The receiver's side asks, with a packet of this size and number.
    Ask {
        size_bytes: u32,
        number: u32,
    },
    Stop,
    /// A connection of a visit of web pages has something to do.
    Browse,
}

/// A transfer with an end: a file, or the answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Counted from 0 within the flow.
    pub number: u32,
    pub bytes: u64,
    /// When it was written, or asked for.
    pub begin: Time,
}

/// Transfers one after another. The next file begins some time after the source knows that the one before has arrived,
/// the next request some time after the sink has the answer before.
#[repr(C)]
struct Exchange {
    /// Bytes delivered to the receiver at which the current one is complete; `u64::MAX` while there is none.
    target: u64,
    /// How often the current one was asked for.
    asked: u32,
    current: Transfer,
    /// Bytes delivered when it began: data beyond them answers the request.
    before: u64,
    /// Transfers that are left, the current one not.
    left: Option<u32>,
    /// Whether the sender's side has had the request.
    answered: bool,
    /// A file is complete at the sink, which the source does not know yet.
    unconfirmed: bool,
    /// From then on to the next transfer.
    pause: Duration,
}

/// Where the data of a flow comes from, with its state.
enum Work {
    /// There is always something to send.
    Endless,
    /// Portions by the clock.
    Clock {
        payload_bytes: u32,
        gaps: Box<dyn Gaps>,
    },
    /// Transfers one after another.
    InTurn(Box<dyn Transfers>),
    /// A leg of a split connection: the leg before it brings the data.
    Relayed,
    /// The transfers of a connection of a workload.
    Scheduled(Box<Schedule>),
    Burst(Box<Burst>),
    /// A connection of a visit of web pages.
    Pages {
        visit: u32,
        place: u32,
    },
}

/// A transfer of a workload over UDP.
struct Burst {
    schedule: Schedule,
    serialiser: Serialiser,
    payload_bytes: u32,
    /// User bytes that are left.
    left: u64,
    /// User bytes of the present datagram.
    portion: u32,
}

/// The fields read for each packet come first.
#[repr(C)]
pub struct Application {
    exchange: Exchange,
    next: Option<(Time, AppStep)>,
    pub start: Time,
    pub stop: Option<Time>,
    /// The stop, until it is taken.
    stop_due: Option<Time>,
    work: Work,
    deadline: Option<Duration>,
}

impl Application {
    pub fn new(config: &FlowConfig, seed: u64) -> Application {
        let (mut first_gap, mut deadline) = (Duration::ZERO, None);
        let work = match &config.application {
            SourceConfig::Application(application) => {
                deadline = application.deadline();
                match application.source(&FlowOfSource { seed, name: &config.name, stop: config.stop }) {
                    Source::Endless => Work::Endless,
                    Source::Clock { payload_bytes, first_gap: gap, gaps } => {
                        first_gap = gap;
                        Work::Clock { payload_bytes, gaps }
                    }
                    Source::InTurn(transfers) => Work::InTurn(transfers),
                }
            }
            SourceConfig::Relay { .. } => Work::Relayed,
            SourceConfig::Transfers(arrivals) => Work::Scheduled(Box::new(Schedule::new(arrivals.clone()))),
            SourceConfig::Burst { arrival, rate, payload_bytes } => Work::Burst(Box::new(Burst {
                schedule: Schedule::new([*arrival].into()),
                serialiser: Serialiser::new(*rate),
                payload_bytes: *payload_bytes,
                left: arrival.bytes,
                portion: 0,
            })),
            SourceConfig::Pages { visit, place, .. } => Work::Pages { visit: *visit, place: *place },
        };
        let begin = config.start + first_gap;
        let next = match (config.stop, &work) {
            (_, Work::Pages { place: 0, .. }) => Some((begin, AppStep::Browse)),
            (_, Work::Pages { .. }) => None,
            (Some(stop), _) if stop <= begin => Some((stop, AppStep::Stop)),
            _ => Some((begin, AppStep::Start)),
        };
        Application {
            exchange: Exchange {
                current: Transfer { number: 0, bytes: 0, begin: config.start },
                target: u64::MAX,
                before: 0,
                left: match &work {
                    Work::InTurn(transfers) => transfers.count(),
                    _ => Some(0),
                },
                asked: 0,
                answered: false,
                unconfirmed: false,
                pause: Duration::ZERO,
            },
            start: config.start,
            stop: config.stop,
            stop_due: config.stop,
            next,
            work,
            deadline,
        }
    }

    /// Whether the two ends of the flow know of each other faster than light.
    pub fn couples_ends(&self) -> bool {
        matches!(self.work, Work::InTurn(_) | Work::Relayed | Work::Pages { .. })
    }

    /// Whether the sink may find that a transfer, or all of them, are complete.
    pub fn completes(&self) -> bool {
        !matches!(self.work, Work::Endless | Work::Clock { .. })
    }

    /// User bytes that it writes in all, of a connection of a workload.
    pub fn scheduled_bytes(&self) -> Option<u64> {
        match &self.work {
            Work::Scheduled(schedule) => Some(schedule.bytes()),
            Work::Burst(burst) => Some(burst.left),
            _ => None,
        }
    }

    pub fn next_event(&self) -> Option<Time> {
        self.next.map(|(time, _)| time)
    }

    /// Takes the step that is due and plans the one after it. Who writes by the clock writes at the start already.
    /// `delivered` counts the bytes that the receiver has had so far.
    pub fn step(&mut self, delivered: u64) -> Option<AppStep> {
        let (now, step) = self.next?;
        if step == AppStep::Browse {
            self.next = None;
            return Some(step);
        }
        if step == AppStep::Stop {
            self.next = None;
            self.stop_due = None;
            self.exchange.left = Some(0);
            self.exchange.unconfirmed = false;
            return Some(step);
        }
        match &mut self.work {
            Work::Burst(burst) => {
                if step == AppStep::Start {
                    burst.schedule.write();
                    self.exchange.target = burst.schedule.target();
                }
                let portion = u64::from(burst.payload_bytes).min(burst.left);
                (burst.left, burst.portion) = (burst.left - portion, portion as u32);
                let gap = burst.serialiser.next(burst.portion);
                self.next = (burst.left > 0).then(|| (now + gap, AppStep::Produce));
                return Some(step);
            }
            Work::Scheduled(schedule) => {
                self.next = schedule.write().map(|at| (at, AppStep::Produce));
                self.exchange.target = schedule.target();
                return Some(step);
            }
            _ => {}
        }
        if self.exchange.target == u64::MAX {
            self.begin_transfer(now, delivered);
        }
        let then = match (&mut self.work, step) {
            (_, AppStep::Ask { .. }) => {
                let gap = retry_gap(self.exchange.asked);
                self.exchange.asked += 1;
                Some((now + gap, step))
            }
            (Work::InTurn(transfers), AppStep::Start) => {
                transfers.request_bytes().map(|size_bytes| (now, AppStep::Ask { size_bytes, number: 0 }))
            }
            (Work::Clock { gaps, .. }, _) => Some((now + gaps.next_gap(), AppStep::Produce)),
            _ => None,
        };
        self.plan(then);
        Some(step)
    }

    /// `then` comes next, or the end if that is sooner.
    fn plan(&mut self, then: Option<(Time, AppStep)>) {
        let stop = self.stop_due.map(|at| (at, AppStep::Stop));
        self.next = match (then, stop) {
            (Some(then), Some(stop)) if stop.0 <= then.0 => Some(stop),
            (Some(then), _) => Some(then),
            (None, stop) => stop,
        };
    }

    /// An application that would start now waits for its connection: [`Application::connected`]. False: it does not
    /// start now.
    pub fn waits_for_connection(&mut self) -> bool {
        let starts = matches!(self.next, Some((_, AppStep::Start)));
        if starts {
            self.plan(None);
        }
        starts
    }

    /// The connection stands: the application starts, unless its stop was sooner.
    pub fn connected(&mut self, now: Time) {
        if self.stop_due.is_some() || self.stop.is_none() {
            self.plan(Some((now, AppStep::Start)));
        }
    }

    fn begin_transfer(&mut self, now: Time, delivered: u64) {
        let exchange = &mut self.exchange;
        let Work::InTurn(transfers) = &mut self.work else { return };
        if exchange.left == Some(0) {
            return;
        }
        let number = exchange.current.number;
        let bytes = transfers.begin(number, now);
        exchange.left = exchange.left.map(|left| left - 1);
        exchange.current = Transfer { number, bytes, begin: now };
        exchange.before = delivered;
        exchange.target = delivered + bytes;
        exchange.asked = 0;
        exchange.answered = false;
    }

    /// The sender's side has the request of this number; what it writes, the first time.
    pub fn asked(&mut self, number: u32) -> Option<Supply> {
        let exchange = &mut self.exchange;
        let fresh = exchange.current.number == number && !exchange.answered && exchange.target != u64::MAX;
        exchange.answered |= fresh;
        fresh.then_some(Supply::Bytes(exchange.current.bytes))
    }

    /// Whether it matters to the application that so many bytes have been delivered in all: [`Application::delivered`].
    #[inline]
    pub fn waits_for(&self, bytes: u64) -> bool {
        bytes >= self.exchange.target || self.exchange.asked > 0
    }

    /// So many bytes have been delivered in all. Gives the transfer that is complete with them, and whether it is the
    /// last; the next step may have changed then, and when the first data of an answer has come.
    pub fn delivered(&mut self, now: Time, bytes: u64) -> Option<(Transfer, bool)> {
        if bytes >= self.exchange.target {
            return self.complete(now, bytes);
        }
        // The answer is in flight: no more retries.
        if self.exchange.asked > 0 && bytes > self.exchange.before {
            self.exchange.asked = 0;
            self.plan(None);
        }
        None
    }

    #[cold]
    fn complete(&mut self, now: Time, bytes: u64) -> Option<(Transfer, bool)> {
        let done = self.exchange.current;
        let is_last = self.exchange.left == Some(0);
        self.exchange.target = u64::MAX;
        self.exchange.asked = 0;
        self.exchange.current.number += 1;
        self.exchange.before = bytes;
        let Work::InTurn(transfers) = &mut self.work else { return Some((done, is_last)) };
        let pause = transfers.pause(done.bytes, now);
        let next = match transfers.request_bytes() {
            _ if is_last => None,
            Some(size_bytes) => {
                let number = self.exchange.current.number;
                Some((now + pause, AppStep::Ask { size_bytes, number }))
            }
            None => {
                // The source plans it when it knows: `confirmed`.
                (self.exchange.unconfirmed, self.exchange.pause) = (true, pause);
                return Some((done, false));
            }
        };
        self.plan(next);
        Some((done, is_last))
    }

    /// Whether the source waits to know that what it has written has arrived: [`Application::confirmed`].
    #[inline]
    pub fn awaits_confirmation(&self) -> bool {
        self.exchange.unconfirmed
    }

    /// The source knows that all it has written has arrived.
    #[cold]
    pub fn confirmed(&mut self, now: Time) {
        if std::mem::take(&mut self.exchange.unconfirmed) {
            let next = now + self.exchange.pause;
            self.plan(Some((next, AppStep::Produce)));
        }
    }

    /// The deadline of each message.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// The transfer of a workload that begins with a step.
    pub fn begins(&self, step: Option<AppStep>) -> Option<TransferStart> {
        let goes_on = matches!(self.work, Work::Burst(_)) && step != Some(AppStep::Start);
        self.schedule().filter(|_| !goes_on).and_then(Schedule::newest)
    }

    /// The transfers of a connection of a workload.
    pub fn schedule(&self) -> Option<&Schedule> {
        match &self.work {
            Work::Scheduled(schedule) => Some(schedule),
            Work::Burst(burst) => Some(&burst.schedule),
            _ => None,
        }
    }

    /// The next step of a workload's transfer now that so many bytes have come in order; callers ask until there is
    /// none.
    pub fn scheduled(&mut self, bytes: u64) -> Option<workload::Step> {
        let schedule = match &mut self.work {
            Work::Scheduled(schedule) => &mut **schedule,
            Work::Burst(burst) => &mut burst.schedule,
            _ => return None,
        };
        let step = schedule.delivered(bytes);
        self.exchange.target = schedule.target();
        step
    }

    /// Adds what the application measured to the records of the run, which ends at `end`.
    pub fn record(&self, flow: u32, end: Time, records: &mut Records) {
        if let Work::InTurn(transfers) = &self.work {
            transfers.record(flow, end, records);
        }
    }

    /// The visit and the connection of it, of an application that loads web pages.
    #[inline]
    pub fn visit(&self) -> Option<(usize, usize)> {
        match self.work {
            Work::Pages { visit, place } => Some((visit as usize, place as usize)),
            _ => None,
        }
    }

    /// What a connection of a visit waits for: an instant, and bytes in order.
    pub fn wait_for(&mut self, next: Option<Time>, bytes: u64) {
        self.next = next.map(|at| (at, AppStep::Browse));
        self.exchange.target = bytes;
    }

    /// What a TCP sender is given when the application starts, respectively produces.
    pub fn supply(&self) -> Supply {
        Supply::Bytes(match &self.work {
            Work::Endless => return Supply::Unlimited,
            Work::Clock { payload_bytes, .. } => u64::from(*payload_bytes),
            // An answer is written when its request has come.
            Work::InTurn(transfers) if transfers.request_bytes().is_some() => 0,
            Work::InTurn(_) => self.exchange.current.bytes,
            Work::Burst(burst) => u64::from(burst.portion),
            Work::Scheduled(schedule) => schedule.newest().map_or(0, |transfer| transfer.bytes),
            Work::Relayed | Work::Pages { .. } => 0,
        })
    }

    /// User bytes that are written at once, by the clock: one datagram.
    pub fn portion_bytes(&self) -> Option<u32> {
        match self.work {
            Work::Clock { payload_bytes, .. } => Some(payload_bytes),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applications::{
        ApplicationConfig, ConstantRateOptions, FilesOptions, FtpOptions, RequestsOptions, TelnetOptions,
    };
    use crate::spec::TransportConfig;
    use skyhop_base::{Bytes, Rate};
    use skyhop_topology::NodeId;

    fn app(application: impl Into<ApplicationConfig>, stop: Option<Time>) -> Application {
        let config = FlowConfig {
            name: "flow".into(),
            from: NodeId::new(0),
            to: NodeId::new(1),
            transport: TransportConfig::Udp { header_bytes: 28 },
            application: SourceConfig::Application(application.into()),
            start: Time::from_secs_f64(1.0),
            stop,
            ttl: 64,
            class: 0,
            jitter: Duration::ZERO,
        };
        Application::new(&config, 1)
    }

    fn steps(app: &mut Application) -> Vec<(f64, AppStep)> {
        let mut steps = Vec::new();
        while let Some(time) = app.next_event() {
            steps.push((time.as_secs_f64(), app.step(0).unwrap()));
        }
        steps
    }

    #[test]
    fn a_constant_rate_keeps_its_pace_from_start_to_stop() {
        let rate = Rate::from_bps(3_000).unwrap();
        let application = ConstantRateOptions { rate, payload: Bytes(1000), spacing: None };
        let start = Time::from_secs_f64(1.0);
        let mut app = app(application, Some(start + Duration::from_secs(8)));
        let mut steps = Vec::new();
        while let Some(time) = app.next_event() {
            steps.push((time.since(start).as_nanos(), app.step(0).unwrap()));
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
    fn an_ftp_starts_and_stops_once() {
        let mut app = app(FtpOptions { bytes: None }, None);
        assert_eq!(app.step(0), Some(AppStep::Start));
        assert_eq!(app.next_event(), None);
    }

    #[test]
    fn a_typist_begins_after_a_first_gap() {
        let telnet = TelnetOptions { payload: Bytes(64), interval: None };
        let mut early = app(telnet.clone(), Some(Time::from_secs_f64(1.05)));
        assert_eq!(steps(&mut early), [(1.05, AppStep::Stop)], "the least gap is 0.12 s");
        let mut app = app(telnet, None);
        assert!(app.next_event().unwrap() >= Time::from_secs_f64(1.12));
        assert_eq!(app.step(0), Some(AppStep::Start));
    }

    #[test]
    fn files_follow_one_another_after_a_pause() {
        let application = FilesOptions { sizes: vec![Bytes(1000), Bytes(500)], pause: Some(Duration::from_secs(2)) };
        let mut app = app(application, Some(Time::from_secs_f64(60.0)));
        assert_eq!(app.step(0), Some(AppStep::Start));
        assert_eq!(app.supply(), Supply::Bytes(1000));
        let at = Time::from_secs_f64;
        assert_eq!(app.delivered(at(3.0), 999), None);
        let first = Transfer { number: 0, bytes: 1000, begin: at(1.0) };
        assert_eq!(app.delivered(at(4.0), 1000), Some((first, false)));
        assert!(app.awaits_confirmation());
        assert_eq!(app.next_event(), Some(at(60.0)), "the source does not know yet");
        app.confirmed(at(4.1));
        assert!(!app.awaits_confirmation());
        assert_eq!((app.next_event(), app.step(1000)), (Some(at(6.1)), Some(AppStep::Produce)));
        assert_eq!(app.supply(), Supply::Bytes(500));
        let second = Transfer { number: 1, bytes: 500, begin: at(6.1) };
        assert_eq!(app.delivered(at(7.0), 1500), Some((second, true)));
        assert_eq!(steps(&mut app), [(60.0, AppStep::Stop)]);
    }

    #[test]
    fn a_stop_before_the_source_knows_ends_the_files() {
        let application = FilesOptions { sizes: vec![Bytes(1000), Bytes(500)], pause: Some(Duration::from_secs(2)) };
        let at = Time::from_secs_f64;
        let mut app = app(application, Some(at(4.05)));
        assert_eq!(app.step(0), Some(AppStep::Start));
        assert!(app.delivered(at(4.0), 1000).is_some());
        assert_eq!(app.step(1000), Some(AppStep::Stop));
        app.confirmed(at(4.1));
        assert_eq!(app.next_event(), None);
    }

    #[test]
    fn a_request_is_repeated_until_its_answer_comes() {
        let application = RequestsOptions {
            request: Bytes(300),
            response: Bytes(10_000),
            think: Duration::from_secs(1),
            count: Some(2),
        };
        let mut app = app(application, None);
        let ask = |number| AppStep::Ask { size_bytes: 300, number };
        let mut taken = Vec::new();
        for _ in 0..4 {
            taken.push((app.next_event().unwrap().as_secs_f64(), app.step(0).unwrap()));
        }
        assert_eq!(taken, [(1.0, AppStep::Start), (1.0, ask(0)), (2.0, ask(0)), (4.0, ask(0))]);
        assert_eq!(app.asked(0), Some(Supply::Bytes(10_000)));
        assert_eq!(app.asked(0), None, "a repeated request is answered once");
        assert_eq!(app.delivered(Time::from_secs_f64(5.0), 1448), None);
        assert_eq!(app.next_event(), None, "no more retries");
        let (done, is_last) = app.delivered(Time::from_secs_f64(6.0), 10_000).unwrap();
        assert_eq!((done.begin.as_secs_f64(), is_last), (1.0, false));
        assert!(app.next_event().unwrap() > Time::from_secs_f64(6.0));
        assert_eq!(app.step(10_000), Some(ask(1)));
        assert_eq!(app.asked(1), Some(Supply::Bytes(10_000)));
        assert!(app.delivered(Time::from_secs_f64(9.0), 20_000).unwrap().1);
    }
}
