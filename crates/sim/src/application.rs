//! Where a flow's data comes from: when something is written, and when an exchange is complete.

use crate::spec::{ApplicationConfig, FlowConfig, Spacing};
use crate::video::Player;
use crate::visit::retry_gap;
use crate::workload::{self, Schedule, TransferStart};
use skyhop_base::{Duration, Serialiser, Stream, Time};
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

/// When an application that writes by the clock writes next.
enum WriteSchedule {
    /// It does not.
    Never,
    Constant(Serialiser),
    /// Equal gaps.
    Every(Duration),
    /// Each gap from half to one and a half of the constant one: `random_` of ns-2's constant-rate source.
    Scattered(Serialiser, Stream),
    /// Exponential gaps of this mean, in seconds.
    Poisson {
        mean_s: f64,
        stream: Stream,
    },
    TcplibTelnet(Stream),
    OnOff(OnOff),
}

/// Portions at a constant rate for a random time, then silence for a random time, both exponential.
struct OnOff {
    serialiser: Serialiser,
    on_s: f64,
    off_s: f64,
    /// Rest of the present on-period, seconds.
    left_s: f64,
    stream: Stream,
}

impl OnOff {
    fn next_gap(&mut self, payload_bytes: u32) -> Duration {
        let gap = self.serialiser.next(payload_bytes);
        self.left_s -= gap.as_secs_f64();
        if self.left_s > 0.0 {
            return gap;
        }
        // The silence begins when the time was up, not when the next portion would have been written.
        let silence_s = self.stream.exponential(self.off_s);
        let gap_s = gap.as_secs_f64() + self.left_s + silence_s;
        self.serialiser.reset();
        self.left_s = self.stream.exponential(self.on_s);
        Duration::from_secs_f64(gap_s)
    }
}

/// Gaps between the packets of a Telnet user as tcplib has them (P. Danzig and S. Jamin, "tcplib: a library of TCP
/// internetwork traffic characteristics", 1991), by the description of V. Paxson and S. Floyd, "Wide-area traffic: the
/// failure of Poisson modeling", ToN 3(3), 1995, §4: the body is Pareto of shape 0.9, more than 15 % of the gaps are
/// above 1 s, and the mean is 1.1 s.
///
/// Deviation: a formula in place of tcplib's table. P[X > 1 s] = 0.15 gives the least gap, the mean the largest one, at
/// which the distribution is cut. The table as ns-2 has it (tcplib-telnet.cc, 10,000 equally likely gaps from 0.6 ms to
/// 210 s) has 14 % of its gaps above 1 s; a quarter of them is below the least one here, 0.12 s.
fn tcplib_telnet_gap_s(u: f64) -> f64 {
    const SHAPE: f64 = 0.9;
    let least = libm::pow(0.15, 1.0 / SHAPE);
    let cut = 1.0 - libm::pow(least / TCPLIB_LARGEST_S, SHAPE);
    least * libm::pow(1.0 - u * cut, -1.0 / SHAPE)
}

/// The largest gap, s, for which the mean of the cut distribution is 1.1 s.
const TCPLIB_LARGEST_S: f64 = 126.972_162;

impl WriteSchedule {
    fn new(config: &FlowConfig, seed: u64) -> WriteSchedule {
        let stream = || Stream::new(seed, &config.name, "arrivals");
        match &config.application {
            ApplicationConfig::ConstantRate { rate, spacing: Spacing::Regular, .. }
            | ApplicationConfig::Burst { rate, .. } => WriteSchedule::Constant(Serialiser::new(*rate)),
            ApplicationConfig::ConstantRate { rate, spacing: Spacing::Random, .. } => {
                WriteSchedule::Scattered(Serialiser::new(*rate), stream())
            }
            ApplicationConfig::Poisson { rate, payload_bytes } => {
                WriteSchedule::Poisson { mean_s: f64::from(*payload_bytes) * 8.0 / rate.bps_f64(), stream: stream() }
            }
            ApplicationConfig::Telnet { interval: Some(interval), .. } => {
                WriteSchedule::Poisson { mean_s: interval.as_secs_f64(), stream: stream() }
            }
            ApplicationConfig::Telnet { interval: None, .. } => WriteSchedule::TcplibTelnet(stream()),
            ApplicationConfig::OnOff { rate, on, off, .. } => {
                let mut stream = stream();
                let (on_s, off_s) = (on.as_secs_f64(), off.as_secs_f64());
                let left_s = stream.exponential(on_s);
                WriteSchedule::OnOff(OnOff { serialiser: Serialiser::new(*rate), on_s, off_s, left_s, stream })
            }
            ApplicationConfig::Call(call) => WriteSchedule::Every(call.frame),
            ApplicationConfig::Messages { every, .. } => WriteSchedule::Every(*every),
            ApplicationConfig::Ftp { .. }
            | ApplicationConfig::Files { .. }
            | ApplicationConfig::Relay { .. }
            | ApplicationConfig::Transfers(_)
            | ApplicationConfig::Pages { .. }
            | ApplicationConfig::Video(_)
            | ApplicationConfig::Requests { .. } => WriteSchedule::Never,
        }
    }

    fn next_gap(&mut self, payload_bytes: u32) -> Option<Duration> {
        match self {
            WriteSchedule::Never => None,
            WriteSchedule::Every(gap) => Some(*gap),
            WriteSchedule::Constant(serialiser) => Some(serialiser.next(payload_bytes)),
            WriteSchedule::Scattered(serialiser, stream) => {
                let share = 0.5 + stream.uniform();
                Some(Duration::from_secs_f64(serialiser.next(payload_bytes).as_secs_f64() * share))
            }
            WriteSchedule::Poisson { mean_s, stream } => Some(Duration::from_secs_f64(stream.exponential(*mean_s))),
            WriteSchedule::TcplibTelnet(stream) => Some(Duration::from_secs_f64(tcplib_telnet_gap_s(stream.uniform()))),
            WriteSchedule::OnOff(on_off) => Some(on_off.next_gap(payload_bytes)),
        }
    }
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
    /// Between a completion and the next transfer.
    stream: Stream,
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
    config: ApplicationConfig,
    pace: WriteSchedule,
    /// The transfers of a connection of a workload.
    schedule: Option<Box<Schedule>>,
    /// The player of an adaptive video.
    player: Option<Box<Player>>,
    /// User bytes of a burst: those that are left, and those of the present datagram.
    burst: (u64, u32),
}

impl Application {
    pub fn new(config: &FlowConfig, seed: u64) -> Application {
        let count = match &config.application {
            ApplicationConfig::Ftp { bytes: Some(_) } => Some(1),
            ApplicationConfig::Files { sizes, .. } => Some(sizes.len() as u32),
            ApplicationConfig::Requests { count, .. } => *count,
            ApplicationConfig::Video(video) => video.count,
            _ => Some(0),
        };
        let mut pace = WriteSchedule::new(config, seed);
        // A user who types does not begin at the stroke of the clock: the first portion comes after a first gap, as in
        // ns-2, and opens the connection.
        let first = match &config.application {
            ApplicationConfig::Telnet { payload_bytes, .. } => pace.next_gap(*payload_bytes),
            _ => None,
        };
        let begin = config.start + first.unwrap_or(Duration::ZERO);
        let next = match (config.stop, &config.application) {
            (_, ApplicationConfig::Pages { place: 0, .. }) => Some((begin, AppStep::Browse)),
            (_, ApplicationConfig::Pages { .. }) => None,
            (Some(stop), _) if stop <= begin => Some((stop, AppStep::Stop)),
            _ => Some((begin, AppStep::Start)),
        };
        Application {
            pace,
            config: config.application.clone(),
            exchange: Exchange {
                current: Transfer { number: 0, bytes: 0, begin: config.start },
                target: u64::MAX,
                before: 0,
                left: count,
                asked: 0,
                answered: false,
                unconfirmed: false,
                stream: Stream::new(seed, &config.name, "pauses"),
            },
            start: config.start,
            stop: config.stop,
            stop_due: config.stop,
            next,
            schedule: match &config.application {
                ApplicationConfig::Transfers(arrivals) => Some(Box::new(Schedule::new(arrivals.clone()))),
                ApplicationConfig::Burst { arrival, .. } => Some(Box::new(Schedule::new([*arrival].into()))),
                _ => None,
            },
            burst: match &config.application {
                ApplicationConfig::Burst { arrival, .. } => (arrival.bytes, 0),
                _ => (0, 0),
            },
            player: match &config.application {
                ApplicationConfig::Video(video) => Some(Box::new(Player::new(video, config.stop))),
                _ => None,
            },
        }
    }

    pub fn config(&self) -> &ApplicationConfig {
        &self.config
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
        if let (Some(schedule), ApplicationConfig::Burst { payload_bytes, .. }) = (&mut self.schedule, &self.config) {
            if step == AppStep::Start {
                schedule.write();
                self.exchange.target = schedule.target();
            }
            let portion = u64::from(*payload_bytes).min(self.burst.0);
            self.burst = (self.burst.0 - portion, portion as u32);
            let gap = self.pace.next_gap(portion as u32).filter(|_| self.burst.0 > 0);
            self.next = gap.map(|gap| (now + gap, AppStep::Produce));
            return Some(step);
        }
        if let Some(schedule) = &mut self.schedule {
            self.next = schedule.write().map(|at| (at, AppStep::Produce));
            self.exchange.target = schedule.target();
            return Some(step);
        }
        if self.exchange.target == u64::MAX {
            self.begin_transfer(now, delivered);
        }
        let then = match (&self.config, step) {
            (ApplicationConfig::Requests { request_bytes, .. }, AppStep::Start) => {
                Some((now, AppStep::Ask { size_bytes: *request_bytes, number: 0 }))
            }
            (ApplicationConfig::Video(video), AppStep::Start) => {
                Some((now, AppStep::Ask { size_bytes: video.request_bytes, number: 0 }))
            }
            (_, AppStep::Ask { .. }) => {
                let gap = retry_gap(self.exchange.asked);
                self.exchange.asked += 1;
                Some((now + gap, step))
            }
            _ => {
                let payload_bytes = self.portion_bytes().unwrap_or(0);
                self.pace.next_gap(payload_bytes).map(|gap| (now + gap, AppStep::Produce))
            }
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

    fn begin_transfer(&mut self, now: Time, delivered: u64) {
        let exchange = &mut self.exchange;
        if exchange.left == Some(0) {
            return;
        }
        let number = exchange.current.number;
        let bytes = match &self.config {
            ApplicationConfig::Ftp { bytes } => bytes.unwrap_or(0),
            ApplicationConfig::Files { sizes, .. } => sizes.get(number as usize).copied().unwrap_or(0),
            ApplicationConfig::Requests { response_bytes, .. } => *response_bytes,
            ApplicationConfig::Video(_) => self.player.as_mut().map_or(0, |player| player.ask(now)),
            _ => 0,
        };
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
        let asks_at = self.player.as_mut().map_or(now, |player| player.arrived(now, done.bytes));
        let next = match &self.config {
            _ if is_last => None,
            ApplicationConfig::Video(video) => {
                let number = self.exchange.current.number;
                Some((asks_at, AppStep::Ask { size_bytes: video.request_bytes, number }))
            }
            ApplicationConfig::Files { .. } => {
                // The source plans it when it knows: `confirmed`.
                self.exchange.unconfirmed = true;
                return Some((done, false));
            }
            ApplicationConfig::Requests { request_bytes, think, .. } => {
                let pause = Duration::from_secs_f64(self.exchange.stream.exponential(think.as_secs_f64()));
                let number = self.exchange.current.number;
                Some((now + pause, AppStep::Ask { size_bytes: *request_bytes, number }))
            }
            _ => None,
        };
        // Nothing to plan anew for a single file: its stop stands.
        if !matches!(self.config, ApplicationConfig::Ftp { .. }) {
            self.plan(next);
        }
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
        if let (true, ApplicationConfig::Files { pause, .. }) =
            (std::mem::take(&mut self.exchange.unconfirmed), &self.config)
        {
            let next = now + *pause;
            self.plan(Some((next, AppStep::Produce)));
        }
    }

    /// The deadline of each message.
    pub fn deadline(&self) -> Option<Duration> {
        match self.config {
            ApplicationConfig::Messages { deadline, .. } => Some(deadline),
            _ => None,
        }
    }

    /// The transfer of a workload that begins with a step.
    pub fn begins(&self, step: Option<AppStep>) -> Option<TransferStart> {
        let goes_on = matches!(self.config, ApplicationConfig::Burst { .. }) && step != Some(AppStep::Start);
        self.schedule.as_deref().filter(|_| !goes_on).and_then(Schedule::newest)
    }

    /// The transfers of a connection of a workload.
    pub fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_deref()
    }

    /// The next step of a workload's transfer now that so many bytes have come in order; callers ask until there is
    /// none.
    pub fn scheduled(&mut self, bytes: u64) -> Option<workload::Step> {
        let schedule = self.schedule.as_deref_mut()?;
        let step = schedule.delivered(bytes);
        self.exchange.target = schedule.target();
        step
    }

    /// The player of an adaptive video.
    pub fn player(&self) -> Option<&Player> {
        self.player.as_deref()
    }

    /// The visit and the connection of it, of an application that loads web pages.
    #[inline]
    pub fn visit(&self) -> Option<(usize, usize)> {
        match self.config {
            ApplicationConfig::Pages { visit, place, .. } => Some((visit as usize, place as usize)),
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
        match self.config {
            ApplicationConfig::Ftp { bytes: None } => Supply::Unlimited,
            ApplicationConfig::Ftp { bytes: Some(bytes) } => Supply::Bytes(bytes),
            ApplicationConfig::Files { .. } => Supply::Bytes(self.exchange.current.bytes),
            ApplicationConfig::Requests { .. } | ApplicationConfig::Video(_) => Supply::Bytes(0),
            ApplicationConfig::Burst { .. } => Supply::Bytes(u64::from(self.burst.1)),
            ApplicationConfig::Transfers(_) => {
                let newest = self.schedule.as_deref().and_then(Schedule::newest);
                Supply::Bytes(newest.map_or(0, |transfer| transfer.bytes))
            }
            _ => Supply::Bytes(u64::from(self.portion_bytes().unwrap_or(0))),
        }
    }

    /// User bytes that are written at once: one datagram.
    pub fn portion_bytes(&self) -> Option<u32> {
        match self.config {
            ApplicationConfig::ConstantRate { payload_bytes, .. }
            | ApplicationConfig::Poisson { payload_bytes, .. }
            | ApplicationConfig::Telnet { payload_bytes, .. }
            | ApplicationConfig::Messages { payload_bytes, .. }
            | ApplicationConfig::OnOff { payload_bytes, .. } => Some(payload_bytes),
            ApplicationConfig::Call(ref call) => Some(call.payload_bytes),
            ApplicationConfig::Ftp { .. }
            | ApplicationConfig::Files { .. }
            | ApplicationConfig::Relay { .. }
            | ApplicationConfig::Transfers(_)
            | ApplicationConfig::Burst { .. }
            | ApplicationConfig::Pages { .. }
            | ApplicationConfig::Video(_)
            | ApplicationConfig::Requests { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::TransportConfig;
    use skyhop_base::Rate;
    use skyhop_topology::NodeId;

    fn app(application: ApplicationConfig, stop: Option<Time>) -> Application {
        let config = FlowConfig {
            name: "flow".into(),
            from: NodeId::new(0),
            to: NodeId::new(1),
            transport: TransportConfig::Udp { header_bytes: 28 },
            application,
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
        let application = ApplicationConfig::ConstantRate { rate, payload_bytes: 1000, spacing: Spacing::Regular };
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
        let mut app = app(ApplicationConfig::Ftp { bytes: None }, None);
        assert_eq!(app.step(0), Some(AppStep::Start));
        assert_eq!(app.next_event(), None);
    }

    #[test]
    fn a_typist_begins_after_a_first_gap() {
        let telnet = ApplicationConfig::Telnet { payload_bytes: 64, interval: None };
        let mut early = app(telnet.clone(), Some(Time::from_secs_f64(1.05)));
        assert_eq!(steps(&mut early), [(1.05, AppStep::Stop)], "the least gap is 0.12 s");
        let mut app = app(telnet, None);
        assert!(app.next_event().unwrap() >= Time::from_secs_f64(1.12));
        assert_eq!(app.step(0), Some(AppStep::Start));
    }

    /// Gaps of `n` portions, in seconds.
    fn gaps(application: ApplicationConfig, n: usize) -> Vec<f64> {
        let mut app = app(application, None);
        let mut last = app.next_event().unwrap();
        app.step(0);
        (0..n)
            .map(|_| {
                let now = app.next_event().unwrap();
                app.step(0);
                now.since(std::mem::replace(&mut last, now)).as_secs_f64()
            })
            .collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn random_spacing_keeps_the_rate_and_the_range() {
        let rate = Rate::from_bps(1_000_000).unwrap();
        let application = ApplicationConfig::ConstantRate { rate, payload_bytes: 125, spacing: Spacing::Random };
        let gaps = gaps(application, 40_000);
        assert!(gaps.iter().all(|gap| (0.5e-3..=1.5e-3).contains(gap)));
        // Uniform over 1 ms: four standard deviations of the mean.
        assert!((mean(&gaps) - 1e-3).abs() < 4.0 * 1e-3 / (12.0 * 40_000.0_f64).sqrt());
    }

    #[test]
    fn telnet_has_the_published_mean_and_tail() {
        let n = 400_000;
        let gaps = gaps(ApplicationConfig::Telnet { payload_bytes: 64, interval: None }, n);
        let (least, largest) = gaps.iter().fold((f64::MAX, 0.0_f64), |(a, b), &gap| (a.min(gap), b.max(gap)));
        assert!(least > 0.121 && largest <= TCPLIB_LARGEST_S + 1e-6, "{least} {largest}");
        // Paxson and Floyd 1995: mean 1.1 s, 15 % above 1 s. The standard deviation of the cut distribution is 4.7 s.
        assert!((mean(&gaps) - 1.1).abs() < 4.0 * 4.7 / (n as f64).sqrt(), "{}", mean(&gaps));
        let above = gaps.iter().filter(|&&gap| gap > 1.0).count() as f64 / n as f64;
        assert!((above - 0.15).abs() < 0.003, "{above}");
        let exponential = ApplicationConfig::Telnet { payload_bytes: 64, interval: Some(Duration::from_secs(1)) };
        let gaps = self::gaps(exponential, 40_000);
        assert!((mean(&gaps) - 1.0).abs() < 4.0 / 200.0);
    }

    #[test]
    fn on_and_off_share_the_time_as_their_means() {
        let application = ApplicationConfig::OnOff {
            rate: Rate::from_bps(1_000_000).unwrap(),
            payload_bytes: 125,
            on: Duration::from_millis(500),
            off: Duration::from_millis(1500),
        };
        let gaps = gaps(application, 400_000);
        // 1000 portions a second for a quarter of the time, and one more for each of the (500 ms) periods that begins.
        // 800 periods: the share has a standard deviation of some 3.7 %.
        let rate = 1.0 / mean(&gaps);
        assert!((rate / 250.5 - 1.0).abs() < 0.15, "{rate}");
        assert!(gaps.iter().filter(|&&gap| gap > 1.001e-3).count() > 500);
    }

    #[test]
    fn files_follow_one_another_after_a_pause() {
        let application = ApplicationConfig::Files { sizes: vec![1000, 500], pause: Duration::from_secs(2) };
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
        let application = ApplicationConfig::Files { sizes: vec![1000, 500], pause: Duration::from_secs(2) };
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
        let application = ApplicationConfig::Requests {
            request_bytes: 300,
            response_bytes: 10_000,
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
