//! Links of a scheduler that works in slots, as Starlink's does: at every edge rate, delay and loss change.
//!
//! Nothing is kept: what a slot is like is a function of the seed, the link's name and the number of the slot.

use crate::meter::Meter;
use crate::trace::{Idle, Served, first_with_rate, send};
use skyhop_base::{Duration, Stream, Time};

/// How slots differ. A list holds evenly spaced quantiles of what is drawn, from the least value to the greatest, with
/// straight lines between them: two values are a uniform draw between both, one is a constant. No list is empty.
/// Large because each field is one property of a slot that has a source of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotConfig {
    /// Length of a slot; more than zero.
    pub every: Duration,
    /// From t = 0 to the first edge, less than a slot.
    pub phase: Duration,
    /// In bit/s; more than zero.
    pub rates: Vec<u64>,
    /// What each slot adds to the delay.
    pub step: Vec<Duration>,
    /// What each interval of `jitter_every` adds to the delay, …
    pub jitter: Vec<Duration>,
    /// … times what each slot draws from this.
    pub spread: Vec<f64>,
    /// More than zero.
    pub jitter_every: Duration,
    /// In place of `jitter` for packets whose service begins at most so long after the end of the one before; empty:
    /// `jitter` for all.
    pub busy_jitter: Vec<Duration>,
    pub busy_within: Duration,
    /// Factors of the rate of which each interval of `jitter_every` draws one; empty: the slot's rate throughout.
    pub ripple: Vec<f64>,
    /// Correlation of step and spread of neighbouring slots, of the normal numbers behind their draws.
    pub correlation: f64,
    /// The same of their rates.
    pub rate_correlation: f64,
    /// Factors of the rate for the hours of a day, 24 or none, and the time of day at t = 0.
    pub hours: Vec<f64>,
    pub time_of_day: Duration,
    /// Added to the delay from `before` until `after` each edge.
    pub spike: Vec<Duration>,
    pub before: Duration,
    pub after: Duration,
    /// Nothing is sent for so long after an edge; less than a slot.
    pub pause: Vec<Duration>,
    /// Probability of a loss from `before` until `after` each edge, and at other times.
    pub edge_loss: [f64; 2],
    pub loss: f64,
    /// How long each slot is obstructed, in both directions of the link at once: all packets are lost meanwhile.
    pub obstructed: Vec<Duration>,
    /// Up to each edge all packets are lost for so long, in both directions of the link at once.
    pub outage: Vec<Duration>,
    /// Probability that the path changes once within a slot, in both directions of the link at once; the slot draws its
    /// step anew then.
    pub reroute: f64,
    /// How long after the begin of its slot; not longer than a slot. Empty without `reroute`.
    pub reroute_at: Vec<Duration>,
    /// Probability that a slot begins with the path, and so the step, with which the one before ended; in both
    /// directions of the link at once.
    pub stay: f64,
    /// Probability that an edge, or a reroute, loses what arrives before a packet over the new path could: until the
    /// pause is over and the new step has passed. In both directions of the link at once.
    pub in_flight_loss: f64,
    /// `None`: packets may leave at any time.
    pub grants: Option<Grants>,
}

/// Nothing leaves but in grants, one in each period. The rate within them is higher by as much as they are short, so
/// that a period carries what it would carry evenly.
#[derive(Clone, Debug, PartialEq)]
pub struct Grants {
    /// Length of a period; more than zero.
    pub every: Duration,
    /// More than zero.
    pub length: Duration,
    /// How far after the begin of its period a grant begins, drawn for each by itself. The last one and `length` fit
    /// into a period.
    pub shift: Vec<Duration>,
}

/// The kinds of draws for a slot.
#[derive(Clone, Copy)]
enum Draw {
    Rate,
    Step,
    Spike,
    Loss,
    Jitter,
    Pause,
    Spread,
    Ripple,
    Obstruction,
    Obstructed,
    Grant,
    Outage,
    Reroute,
    RerouteAt,
    RerouteStep,
    Stay,
    InFlight,
    RerouteInFlight,
}

/// The second kind of draw of a pair of which a normal number is made.
const SECOND: u64 = 32;

/// Slots further apart than this many times the correlation share nothing that counts: ρⁿ < 0.001.
const FORGOTTEN: f64 = 1e-3;

/// No step is longer, in ns: most packets need not draw theirs.
const LONGEST_STEP: u64 = 1_000_000_000;

/// What the slot of the last service drew, where neighbouring slots are correlated and a draw is a long sum.
#[derive(Clone, Copy, Debug, Default)]
struct Drawn {
    slot: u64,
    rate: f64,
    step: f64,
    spread: f64,
    rerouted: f64,
}

/// The slots of one link.
#[derive(Clone, Debug)]
pub struct SlotScheduler {
    config: SlotConfig,
    draws: Stream,
    /// The draws that both directions of the link have in common.
    shared: Stream,
    drawn: Option<Drawn>,
    /// The end of the last service, and whether it followed the one before it within `busy_within`.
    last: Option<Time>,
    busy: bool,
    /// See [`send`].
    debt: u128,
}

impl SlotScheduler {
    pub fn new(config: &SlotConfig, seed: u64, link: &str) -> SlotScheduler {
        let mut ends: Vec<&str> = link.split("->").collect();
        ends.sort_unstable();
        SlotScheduler {
            config: config.clone(),
            draws: Stream::new(seed, link, "slots"),
            shared: Stream::new(seed, &ends.join("--"), "slots"),
            drawn: None,
            last: None,
            busy: false,
            debt: 0,
        }
    }

    /// The number of the slot at an instant; 0 lies before the first edge.
    fn slot(&self, ns: u64) -> u64 {
        let into = ns.checked_sub(self.config.phase.as_nanos());
        into.map_or(0, |into| into / self.config.every.as_nanos() + 1)
    }

    /// Where a slot begins; slot 0 at t = 0.
    fn edge(&self, slot: u64) -> u64 {
        let begun = |slot: u64| self.config.phase.as_nanos() + slot * self.config.every.as_nanos();
        slot.checked_sub(1).map_or(0, begun)
    }

    /// The slot whose edge is near.
    fn near_edge(&self, t: Time) -> Option<u64> {
        let ns = t.as_nanos();
        let slot = self.slot(ns);
        let begins = slot > 0 && ns - self.edge(slot) < self.config.after.as_nanos();
        let ends = self.edge(slot + 1) - ns <= self.config.before.as_nanos();
        if begins { Some(slot) } else { ends.then_some(slot + 1) }
    }

    fn draw(&self, what: Draw, n: u64) -> f64 {
        self.draws.uniform_of(what as u64, n)
    }

    /// Correlation of the normal numbers behind a draw in neighbouring slots.
    fn correlation(&self, what: Draw) -> f64 {
        if matches!(what, Draw::Rate) { self.config.rate_correlation } else { self.config.correlation }
    }

    /// A draw of a slot that its neighbours may correlate with.
    fn correlated(&self, what: Draw, slot: u64) -> f64 {
        if self.correlation(what) <= 0.0 {
            return self.draw(what, slot);
        }
        match (self.drawn.filter(|drawn| drawn.slot == slot), what) {
            (Some(drawn), Draw::Rate) => drawn.rate,
            (Some(drawn), Draw::Spread) => drawn.spread,
            // The path after a reroute correlates with its slot as a neighbouring slot does.
            (_, Draw::RerouteStep) => {
                let correlation = self.config.correlation;
                let innovation = libm::sqrt(1.0 - correlation * correlation) * self.normal(what, slot);
                share_below(correlation * self.chain(Draw::Step, slot) + innovation)
            }
            _ => share_below(self.chain(what, slot)),
        }
    }

    /// The draw of the step of a slot, before or after its reroute: that of the slot in which its path began.
    fn step(&self, slot: u64, is_rerouted: bool) -> f64 {
        if let Some(drawn) = self.drawn.filter(|drawn| drawn.slot == slot) {
            return if is_rerouted { drawn.rerouted } else { drawn.step };
        }
        let (mut begun, mut what) = (slot, if is_rerouted { Draw::RerouteStep } else { Draw::Step });
        while matches!(what, Draw::Step) && begun > 0 && self.stays(begun) {
            begun -= 1;
            what = if self.reroute(begun).is_some() { Draw::RerouteStep } else { Draw::Step };
        }
        self.correlated(what, begun)
    }

    /// Whether a slot begins with the path with which the one before ended.
    fn stays(&self, slot: u64) -> bool {
        self.config.stay > 0.0 && self.shared.uniform_of(Draw::Stay as u64, slot) < self.config.stay
    }

    /// A standard normal number of the autoregressive process of the first order x(n) = ρ x(n - 1) + √(1 - ρ²) z(n),
    /// with z(n) independent and x(0) = z(0).
    fn chain(&self, what: Draw, slot: u64) -> f64 {
        let correlation = self.correlation(what);
        let innovation = libm::sqrt(1.0 - correlation * correlation);
        let (mut sum, mut weight, mut n) = (0.0, 1.0, slot);
        while n > 0 && weight > FORGOTTEN {
            sum += weight * innovation * self.normal(what, n);
            weight *= correlation;
            n -= 1;
        }
        // The first one stands for all before it, so that the variance is 1.
        sum + weight * self.normal(what, n)
    }

    /// A standard normal number (Box and Muller 1958).
    fn normal(&self, what: Draw, n: u64) -> f64 {
        let [a, b] = [0, SECOND].map(|offset| self.draws.uniform_of(SECOND + what as u64 + offset, n));
        libm::sqrt(-2.0 * libm::log(1.0 - a)) * libm::cos(std::f64::consts::TAU * b)
    }

    /// The rate at an instant, in bit/s, and until when it holds.
    fn piece(&self, ns: u64) -> (u64, u64) {
        let slot = self.slot(ns);
        let edge = self.edge(slot);
        let pause = length(&self.config.pause, self.draw(Draw::Pause, slot));
        let begin = edge + pause.as_nanos();
        if slot > 0 && ns < begin {
            return (0, begin);
        }
        let ([least, most], part) = between(&self.config.rates, self.correlated(Draw::Rate, slot));
        let mut rate = least as f64 + part * most.saturating_sub(least) as f64;
        let mut until = self.edge(slot + 1);
        if !self.config.hours.is_empty() {
            rate *= factor(&self.config.hours, edge + self.config.time_of_day.as_nanos());
        }
        if !self.config.ripple.is_empty() {
            let every = self.config.jitter_every.as_nanos();
            let interval = ns / every;
            let ([least, most], part) = between(&self.config.ripple, self.draw(Draw::Ripple, interval));
            rate *= least + part * (most - least);
            until = until.min((interval + 1) * every);
        }
        if let Some(grants) = &self.config.grants {
            let (is_open, changes) = self.grant(grants, ns);
            until = until.min(changes);
            if !is_open {
                return (0, until);
            }
            rate *= grants.every.as_nanos() as f64 / grants.length.as_nanos() as f64;
        }
        ((rate as u64).max(1), until)
    }

    /// Whether a grant is there at an instant, and until when that holds.
    fn grant(&self, grants: &Grants, ns: u64) -> (bool, u64) {
        let every = grants.every.as_nanos();
        let period = ns / every;
        let begin = period * every + length(&grants.shift, self.draw(Draw::Grant, period)).as_nanos();
        let end = begin + grants.length.as_nanos();
        match ns {
            _ if ns < begin => (false, begin),
            _ if ns < end => (true, end),
            _ => (false, (period + 1) * every),
        }
    }

    /// The first instant from `ready` on at which something can be sent.
    pub fn next_start(&self, ready: Time) -> Time {
        first_with_rate(|ns| self.piece(ns), ready)
    }

    pub fn serve(&mut self, ready: Time, bytes: u32, idle: Idle, meter: &mut Meter) -> Served {
        if idle == Idle::Yes {
            self.debt = 0;
        }
        if self.config.correlation > 0.0 || self.config.rate_correlation > 0.0 {
            let slot = self.slot(ready.as_nanos());
            if self.drawn.is_none_or(|drawn| drawn.slot != slot) {
                let [rate, spread] = [Draw::Rate, Draw::Spread].map(|what| self.correlated(what, slot));
                let step = self.step(slot, false);
                let rerouted = self.reroute(slot).map_or(0.0, |_| self.step(slot, true));
                self.drawn = Some(Drawn { slot, rate, step, spread, rerouted });
            }
        }
        let (served, debt) = send(|ns| self.piece(ns), ready, bytes, self.debt, meter);
        self.debt = debt;
        self.busy = self.last.is_some_and(|last| served.start.since(last) <= self.config.busy_within);
        self.last = Some(served.departure);
        served
    }

    /// Delay added to the link's own for the packet that was served last and departs at `t`.
    pub fn delay(&self, t: Time) -> Duration {
        let ns = t.as_nanos();
        let slot = self.slot(ns);
        let is_rerouted = self.reroute(slot).is_some_and(|change| self.since_begin(ns, slot) >= change);
        let step = length(&self.config.step, self.step(slot, is_rerouted));
        let interval = ns / self.config.jitter_every.as_nanos();
        let ([least, most], part) = between(&self.config.spread, self.correlated(Draw::Spread, slot));
        let of_busy = self.busy && !self.config.busy_jitter.is_empty();
        let jitter = if of_busy { &self.config.busy_jitter } else { &self.config.jitter };
        let jitter = share(length(jitter, self.draw(Draw::Jitter, interval)), least + part * (most - least));
        let spike = self.near_edge(t).map(|slot| length(&self.config.spike, self.draw(Draw::Spike, slot)));
        step + jitter + spike.unwrap_or(Duration::ZERO)
    }

    /// The probability that a packet is lost that arrives at `t`.
    pub fn loss(&self, t: Time) -> f64 {
        if self.is_obstructed(t.as_nanos()) || self.is_out(t.as_nanos()) || self.is_cut(t.as_nanos()) {
            return 1.0;
        }
        let [least, most] = self.config.edge_loss;
        let near = self.near_edge(t).map(|slot| least + self.draw(Draw::Loss, slot) * (most - least));
        near.unwrap_or(self.config.loss)
    }
}

impl SlotScheduler {
    /// Something stands before the satellite: for a part of the slot that begins anywhere in it and lies within it.
    fn is_obstructed(&self, ns: u64) -> bool {
        if self.config.obstructed.is_empty() {
            return false;
        }
        let slot = self.slot(ns);
        let drawn = |what: Draw| self.shared.uniform_of(what as u64, slot);
        let obstructed = length(&self.config.obstructed, drawn(Draw::Obstructed)).as_nanos();
        let free = self.config.every.as_nanos().saturating_sub(obstructed);
        let begin = (drawn(Draw::Obstruction) * free as f64) as u64;
        (begin..begin + obstructed).contains(&self.since_begin(ns, slot))
    }

    /// How far after the begin of its slot an instant lies. Slot 0 begins before t = 0.
    fn since_begin(&self, ns: u64, slot: u64) -> u64 {
        let every = self.config.every.as_nanos();
        ns + every - (self.config.phase.as_nanos() + slot * every)
    }

    /// How far after the begin of a slot its path changes.
    fn reroute(&self, slot: u64) -> Option<u64> {
        if self.config.reroute <= 0.0 || self.shared.uniform_of(Draw::Reroute as u64, slot) >= self.config.reroute {
            return None;
        }
        Some(length(&self.config.reroute_at, self.shared.uniform_of(Draw::RerouteAt as u64, slot)).as_nanos())
    }

    /// The next edge is near: what the old satellite was to carry does not arrive.
    fn is_out(&self, ns: u64) -> bool {
        if self.config.outage.is_empty() {
            return false;
        }
        let next = self.slot(ns) + 1;
        let outage = length(&self.config.outage, self.shared.uniform_of(Draw::Outage as u64, next));
        self.edge(next) - ns <= outage.as_nanos()
    }

    /// The packet was under way over a path that has ended, and is lost with it.
    fn is_cut(&self, ns: u64) -> bool {
        let share = self.config.in_flight_loss;
        if share <= 0.0 {
            return false;
        }
        let slot = self.slot(ns);
        let into = self.since_begin(ns, slot);
        let step = |is_rerouted| length(&self.config.step, self.step(slot, is_rerouted)).as_nanos();
        let is_cut = |what: Draw| self.shared.uniform_of(what as u64, slot) < share;
        let of_reroute = self
            .reroute(slot)
            .and_then(|change| into.checked_sub(change))
            .is_some_and(|since| since < LONGEST_STEP && is_cut(Draw::RerouteInFlight) && since < step(true));
        of_reroute || {
            // No edge lies before slot 0.
            let pause = || length(&self.config.pause, self.draw(Draw::Pause, slot)).as_nanos();
            slot > 0 && is_cut(Draw::InFlight) && into < LONGEST_STEP + pause() && into < pause() + step(false)
        }
    }
}

/// The share of standard normal numbers below one, less than 1.
fn share_below(x: f64) -> f64 {
    (0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)).min(1.0 - f64::EPSILON)
}

/// The factor of an hour; `ns` since a midnight.
fn factor(hours: &[f64], ns: u64) -> f64 {
    let hour = ns / Duration::from_secs(3600).as_nanos();
    hours.get((hour % 24) as usize).copied().unwrap_or(1.0)
}

/// The two quantiles between which a draw from [0, 1) falls, and how far it is between them.
fn between<T: Copy + Default>(quantiles: &[T], draw: f64) -> ([T; 2], f64) {
    let gaps = quantiles.len().saturating_sub(1);
    let place = draw * gaps as f64;
    let gap = (place as usize).min(gaps.saturating_sub(1));
    let at = |n: usize| quantiles.get(n).or(quantiles.last()).copied().unwrap_or_default();
    ([at(gap), at(gap + 1)], place - gap as f64)
}

fn length(quantiles: &[Duration], draw: f64) -> Duration {
    let ([least, most], part) = between(quantiles, draw);
    least + share(most.saturating_sub(least), part)
}

fn share(of: Duration, part: f64) -> Duration {
    Duration::from_nanos((of.as_nanos() as f64 * part) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at(n: u64) -> Time {
        Time::ZERO + ms(n)
    }

    /// Edges at 12, 27, 42 s; nothing but slots.
    fn bare() -> SlotConfig {
        SlotConfig {
            every: ms(15_000),
            phase: ms(12_000),
            rates: vec![1_000_000],
            step: vec![Duration::ZERO],
            jitter: vec![Duration::ZERO],
            spread: vec![1.0],
            jitter_every: ms(10),
            spike: vec![Duration::ZERO],
            before: ms(75),
            after: ms(140),
            pause: vec![Duration::ZERO],
            edge_loss: [0.0; 2],
            loss: 0.0,
            busy_jitter: Vec::new(),
            busy_within: Duration::ZERO,
            ripple: Vec::new(),
            correlation: 0.0,
            rate_correlation: 0.0,
            hours: Vec::new(),
            time_of_day: Duration::ZERO,
            obstructed: Vec::new(),
            outage: Vec::new(),
            reroute: 0.0,
            reroute_at: Vec::new(),
            stay: 0.0,
            in_flight_loss: 0.0,
            grants: None,
        }
    }

    fn slots(config: &SlotConfig) -> SlotScheduler {
        SlotScheduler::new(config, 1, "link")
    }

    #[test]
    fn a_bare_one_is_a_link_of_constant_rate() {
        let mut slots = slots(&bare());
        // 125 B at 1 Mbit/s take 1 ms, also over an edge.
        for n in [0, 11_999, 12_000, 26_999] {
            let served = slots.serve(at(n), 125, Idle::No, &mut Meter::default());
            assert_eq!((served.start, served.departure, served.busy), (at(n), at(n + 1), ms(1)), "{n}");
            assert_eq!((slots.delay(at(n)), slots.loss(at(n))), (Duration::ZERO, 0.0));
        }
    }

    #[test]
    fn rate_and_step_hold_for_a_slot_and_fill_their_ranges() {
        let config = SlotConfig { rates: vec![10_000_000, 70_000_000], step: vec![ms(0), ms(4)], ..bare() };
        let mut slots = slots(&config);
        let mut seen = Vec::new();
        for n in 0..400_u64 {
            let edge = 12_000 + 15_000 * n;
            let mut of = |t| (slots.serve(at(t), 12_500, Idle::Yes, &mut Meter::default()).busy, slots.delay(at(t)));
            let first = of(edge + 200);
            assert_eq!((first, first), (of(edge + 7000), of(edge + 14_900)), "slot {n}");
            seen.push((100_000.0 / first.0.as_secs_f64(), first.1.as_secs_f64()));
        }
        // Means of 400 uniform numbers: four standard deviations are 4 · 60 / √(12 · 400) = 3.5 and 0.23.
        let rate = seen.iter().map(|(bps, _)| bps / 1e6).sum::<f64>() / 400.0;
        let step = seen.iter().map(|(_, s)| s * 1e3).sum::<f64>() / 400.0;
        assert!((rate - 40.0).abs() < 3.5 && (step - 2.0).abs() < 0.23, "{rate} {step}");
        assert!(seen.iter().all(|(bps, s)| (9.9e6..70.1e6).contains(bps) && (0.0..=4e-3).contains(s)));
    }

    #[test]
    fn edges_delay_lose_and_pause() {
        let config = SlotConfig {
            spike: vec![ms(15), ms(25)],
            edge_loss: [0.1, 0.2],
            loss: 0.01,
            pause: vec![ms(60)],
            ..bare()
        };
        let mut slots = slots(&config);
        for n in [11_926, 12_000, 12_139, 26_926, 27_139] {
            let (delay, loss) = (slots.delay(at(n)), slots.loss(at(n)));
            assert!((ms(15)..=ms(25)).contains(&delay) && (0.1..=0.2).contains(&loss), "{n}: {delay} {loss}");
        }
        for n in [0, 100, 11_924, 12_140, 26_924] {
            assert_eq!((slots.delay(at(n)), slots.loss(at(n))), (Duration::ZERO, 0.01), "{n}");
        }
        // 2 ms of work: the first before the edge, the other after the pause.
        let served = slots.serve(at(11_999), 250, Idle::No, &mut Meter::default());
        assert_eq!((served.start, served.departure, served.busy), (at(11_999), at(12_061), ms(2)));
        assert_eq!(slots.serve(at(12_010), 125, Idle::No, &mut Meter::default()).start, at(12_060));
        assert_eq!(slots.serve(at(0), 125, Idle::No, &mut Meter::default()).departure, at(1), "no edge at the start");
    }

    #[test]
    fn every_edge_draws_its_pause() {
        let mut slots = slots(&SlotConfig { pause: vec![ms(59), ms(135)], ..bare() });
        let mut seen = Vec::new();
        for n in 0..400_u64 {
            let edge = 12_000 + 15_000 * n;
            let begun = |slots: &mut SlotScheduler, t| slots.serve(at(t), 125, Idle::Yes, &mut Meter::default()).start;
            let first = begun(&mut slots, edge);
            assert_eq!(begun(&mut slots, edge + 58), first, "slot {n}");
            seen.push(first.since(at(edge)).as_secs_f64() * 1e3);
        }
        // Four standard deviations of the mean of 400 are 4 · 76 / √(12 · 400) = 4.4.
        let mean = seen.iter().sum::<f64>() / 400.0;
        assert!((mean - 97.0).abs() < 4.4 && seen.iter().all(|ms| (59.0..=135.0).contains(ms)), "{mean}");
    }

    #[test]
    fn quantiles_give_the_distribution_that_they_describe() {
        // A quarter of the values in each gap, and twice the jitter in half of the slots.
        let config = SlotConfig { step: vec![ms(0), ms(1), ms(2), ms(10), ms(50)], ..bare() };
        let drawn: Vec<f64> =
            (0..4000).map(|n| slots(&config).delay(at(20_000 + 15_000 * n)).as_secs_f64() * 1e3).collect();
        for (from, to) in [(0.0, 1.0), (1.0, 2.0), (2.0, 10.0), (10.0, 50.0)] {
            let inside = drawn.iter().filter(|&&ms| (from..to).contains(&ms)).count();
            // Five standard deviations of a count of 4000 with probability 1/4: 5 · √750 = 137.
            assert!(inside.abs_diff(1000) < 137, "{inside} from {from} to {to} ms");
        }
        let config = SlotConfig { jitter: vec![ms(0), ms(10)], spread: vec![1.0, 1.0, 3.0, 3.0], ..bare() };
        let slots = slots(&config);
        let widest =
            |slot: u64| (0..500).map(|n| slots.delay(at(12_000 + 15_000 * slot + 20 * n)).as_nanos()).max().unwrap();
        let wide = (0..300).filter(|&slot| widest(slot) > 25_000_000).count();
        let narrow = (0..300).filter(|&slot| widest(slot) <= 10_000_000).count();
        // A third of the slots each; five standard deviations of 300 are 41.
        assert!(wide.abs_diff(100 + 25) < 41 && narrow.abs_diff(100) < 41, "{wide} {narrow}");
    }

    #[test]
    fn jitter_is_drawn_anew_in_every_interval_and_by_link() {
        let config = SlotConfig { jitter: vec![ms(0), ms(12)], ..bare() };
        let (one, other) = (SlotScheduler::new(&config, 1, "up"), SlotScheduler::new(&config, 1, "down"));
        let drawn =
            |slots: &SlotScheduler| (0..1000).map(|n| slots.delay(at(10 * n + 5)).as_secs_f64()).collect::<Vec<_>>();
        let (a, b) = (drawn(&one), drawn(&other));
        assert_ne!(a, b);
        assert_eq!(one.delay(at(51)), one.delay(at(59)));
        // Mean distance of two uniform numbers: a third of the range, 4 ms; of sums of two: 7/15, 5.6 ms (the mean
        // over 999 pairs is within 10 % of it).
        let change = |v: &[f64]| v.windows(2).map(|w| (w[1] - w[0]).abs()).sum::<f64>() / 999.0 * 1e3;
        assert!((change(&a) - 4.0).abs() < 0.4, "{}", change(&a));
        let both: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert!((change(&both) - 5.6).abs() < 0.56, "{}", change(&both));
    }

    #[test]
    fn neighbouring_slots_correlate_as_they_are_told_and_keep_their_distribution() {
        let config = SlotConfig { step: vec![ms(0), ms(100)], correlation: 0.8, ..bare() };
        let slots = slots(&config);
        let drawn: Vec<f64> = (0..4000).map(|n| slots.delay(at(12_001 + 15_000 * n)).as_secs_f64() * 10.0).collect();
        let mean = drawn.iter().sum::<f64>() / 4000.0;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4000.0;
        let lag = |n: usize| {
            let products: f64 = drawn.iter().zip(&drawn[n..]).map(|(a, b)| (a - mean) * (b - mean)).sum();
            products / (4000 - n) as f64 / variance
        };
        // Uniform in [0, 1): mean 1/2, variance 1/12. Of uniform numbers behind normal ones of correlation ρ it is
        // 6/π asin(ρ/2): 0.786, and 0.622 for ρ². Four standard errors of 4000 numbers of which one in nine counts.
        assert!((mean - 0.5).abs() < 0.055 && (variance - 1.0 / 12.0).abs() < 0.015, "{mean} {variance}");
        assert!((lag(1) - 0.786).abs() < 0.06 && (lag(2) - 0.622).abs() < 0.08, "{} {}", lag(1), lag(2));
        assert!(lag(40).abs() < 0.2, "{}", lag(40));
        // A cached draw is the same draw.
        let mut served = slots.clone();
        for n in [0_u64, 7, 7, 8, 3] {
            let t = at(12_001 + 15_000 * n);
            served.serve(t, 125, Idle::Yes, &mut Meter::default());
            assert_eq!(served.delay(t), slots.delay(t));
        }
    }

    #[test]
    fn rates_and_steps_have_correlations_of_their_own() {
        let config = SlotConfig { rates: vec![10_000_000, 70_000_000], step: vec![ms(0), ms(100)], ..bare() };
        let rates = SlotConfig { rate_correlation: 0.9, ..config.clone() };
        let steps = SlotConfig { correlation: 0.9, ..config };
        let drawn = |config: &SlotConfig| -> [Vec<f64>; 2] {
            let mut slots = slots(config);
            let times = || (0..2000).map(|n| at(12_001 + 15_000 * n));
            let rate =
                times().map(|t| 10_000.0 / slots.serve(t, 1250, Idle::Yes, &mut Meter::default()).busy.as_secs_f64());
            let rate = rate.collect();
            [rate, times().map(|t| slots.delay(t).as_secs_f64()).collect()]
        };
        let lag = |drawn: &[f64]| {
            let mean = drawn.iter().sum::<f64>() / 2000.0;
            let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2000.0;
            drawn.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum::<f64>() / 1999.0 / variance
        };
        // Uniform numbers behind normal ones of correlation 0.9: 6/π asin(0.45) = 0.891.
        for (config, [of_rates, of_steps]) in [(&rates, [0.891, 0.0]), (&steps, [0.0, 0.891])] {
            let [rate, step] = drawn(config).map(|drawn| lag(&drawn));
            assert!((rate - of_rates).abs() < 0.09 && (step - of_steps).abs() < 0.09, "{rate} {step}");
        }
        assert_eq!(drawn(&rates)[1], drawn(&SlotConfig { rate_correlation: 0.0, ..rates.clone() })[1]);
    }

    #[test]
    fn the_rate_ripples_within_a_slot_around_its_mean() {
        let config = SlotConfig { rates: vec![10_000_000], ripple: vec![0.5, 1.5], jitter_every: ms(20), ..bare() };
        let mut slots = slots(&config);
        let mut took = |n: u64| slots.serve(at(20 * n), 1250, Idle::Yes, &mut Meter::default()).busy.as_secs_f64();
        let rates: Vec<f64> = (0..2000).map(|n| 10_000.0 / took(n) / 10e6).collect();
        let mean = rates.iter().sum::<f64>() / 2000.0;
        // Uniform in [0.5, 1.5): standard deviation 0.289; five standard errors are 0.032.
        assert!((mean - 1.0).abs() < 0.032 && rates.iter().all(|rate| (0.499..=1.501).contains(rate)), "{mean}");
        // A packet that takes longer than an interval meets the next rate: 100 ms at 1 Mbit/s on average.
        let long = slots.serve(at(60_000), 125_000, Idle::Yes, &mut Meter::default()).busy;
        assert!((ms(70)..ms(150)).contains(&long), "{long}");
    }

    #[test]
    fn grants_carry_what_even_spacing_does() {
        let shift = vec![ms(0), ms(3)];
        let grants = Some(Grants { every: ms(4), length: Duration::from_micros(500), shift });
        let config = SlotConfig { rates: vec![12_000_000], ..bare() };
        let even = SlotScheduler::new(&config, 1, "a->b");
        let mut granted = SlotScheduler::new(&SlotConfig { grants, ..config }, 1, "a->b");
        // 12 Mbit/s: 6 kB in each period of 4 ms, within 0.5 ms.
        let (mut now, mut meter, mut departures) = (Time::ZERO, Meter::default(), Vec::new());
        while now < at(1000) {
            now = granted.serve(now, 1500, Idle::No, &mut meter).departure;
            departures.push(now.as_nanos());
        }
        assert!((997..=1000).contains(&departures.len()), "{}", departures.len());
        assert_eq!(even.piece(0), (12_000_000, ms(12_000).as_nanos()));
        // Each grant carries four packets; the last may end with its grant.
        let mut of_period = vec![0; 251];
        departures.iter().for_each(|ns| of_period[((ns - 1) / ms(4).as_nanos()) as usize] += 1);
        assert!(of_period[..249].iter().all(|&count| (3..=5).contains(&count)), "{of_period:?}");
        let begins: Vec<f64> =
            departures.windows(2).filter(|two| two[1] - two[0] > 600_000).map(|two| two[1] as f64).collect();
        let apart: Vec<f64> = begins.windows(2).map(|two| (two[1] - two[0]) / 1e6).collect();
        assert!(apart.iter().all(|ms| (0.9..7.1).contains(ms)), "{apart:?}");
        assert!(apart.iter().any(|ms| *ms < 2.5) && apart.iter().any(|ms| *ms > 5.5));
    }

    #[test]
    fn hours_and_time_of_day_scale_the_rate_of_a_slot() {
        let mut hours = vec![1.0; 24];
        hours[23] = 0.25;
        let time_of_day = Duration::from_secs(23 * 3600 + 3599);
        let config = SlotConfig { rates: vec![1_000_000], hours, time_of_day, ..bare() };
        let mut slots = slots(&config);
        let mut took = |t| slots.serve(at(t), 125, Idle::Yes, &mut Meter::default()).busy;
        // Slot 0 began before midnight, slot 1 after it; a day later the same.
        assert_eq!((took(500), took(11_000), took(12_500)), (ms(4), ms(4), ms(1)));
        assert_eq!((took(86_400_500 - 15_000), took(86_412_500)), (ms(4), ms(1)));
    }

    #[test]
    fn packets_that_follow_one_another_have_their_own_jitter() {
        let config = SlotConfig { jitter: vec![ms(50)], busy_jitter: vec![ms(2)], busy_within: ms(5), ..bare() };
        let mut slots = slots(&config);
        let mut delay = |t| {
            let served = slots.serve(at(t), 125, Idle::Yes, &mut Meter::default());
            slots.delay(served.departure)
        };
        // Each takes 1 ms: the first comes alone, the next 4 ms after its end, then 6 ms after.
        assert_eq!([delay(0), delay(5), delay(12), delay(13)], [ms(50), ms(2), ms(50), ms(2)]);
    }

    #[test]
    fn an_obstruction_lies_within_its_slot_in_both_directions_at_once() {
        let config = SlotConfig { obstructed: vec![ms(0), ms(0), ms(3000)], loss: 0.01, ..bare() };
        let [up, down] = ["a->b", "b->a"].map(|name| SlotScheduler::new(&config, 1, name));
        let hidden = |slots: &SlotScheduler, slot: u64| {
            (0..1500).filter(|n| slots.loss(at(12_000 + 15_000 * slot + 10 * n)) == 1.0).count()
        };
        let of: Vec<usize> = (0..400).map(|slot| hidden(&up, slot)).collect();
        assert_eq!(of, (0..400).map(|slot| hidden(&down, slot)).collect::<Vec<_>>());
        // Half of the slots are clear, the others hidden for 1.5 s on average; five standard errors.
        let clear = of.iter().filter(|&&n| n == 0).count();
        let mean = of.iter().sum::<usize>() as f64 / 400.0 / 100.0;
        assert!(clear.abs_diff(200) < 50 && (mean - 0.75).abs() < 0.25, "{clear} {mean}");
        assert!(of.iter().all(|&n| n <= 300), "within the slot");
        let other = SlotScheduler::new(&config, 2, "a->b");
        assert_ne!(of, (0..400).map(|slot| hidden(&other, slot)).collect::<Vec<_>>());
    }

    #[test]
    fn an_outage_ends_with_its_edge_in_both_directions_at_once() {
        let config = SlotConfig { outage: vec![ms(0), ms(0), ms(60)], loss: 0.01, ..bare() };
        let [up, down] = ["a->b", "b->a"].map(|name| SlotScheduler::new(&config, 1, name));
        // Milliseconds lost in the last 100 ms before the edge; they are in a row and end with it.
        let lost = |slots: &SlotScheduler, n: u64| {
            let edge = 12_000 + 15_000 * n;
            let is_lost: Vec<bool> = (edge - 100..edge).map(|t| slots.loss(at(t)) == 1.0).collect();
            let last = is_lost.iter().rev().take_while(|&&lost| lost).count();
            assert_eq!(is_lost.iter().filter(|&&lost| lost).count(), last, "edge {n}");
            assert!([0, 1, 5000].iter().all(|after| slots.loss(at(edge + after)) < 1.0), "edge {n}");
            last
        };
        let of: Vec<usize> = (0..400).map(|n| lost(&up, n)).collect();
        assert_eq!(of, (0..400).map(|n| lost(&down, n)).collect::<Vec<_>>());
        // None at half of the edges, else 0 to 60 ms: a mean of 15 ms; five standard errors are 5 · 20 / √400.
        let none = of.iter().filter(|&&n| n == 0).count();
        let mean = of.iter().sum::<usize>() as f64 / 400.0;
        assert!(none.abs_diff(200) < 50 && (mean - 15.0).abs() < 5.0, "{none} {mean}");
    }
    #[test]
    fn a_reroute_changes_the_step_once_within_its_slot_in_both_directions_at_once() {
        let config =
            SlotConfig { step: vec![ms(0), ms(100)], reroute: 0.5, reroute_at: vec![ms(5000), ms(10_000)], ..bare() };
        let steps = |config: &SlotConfig, link: &str| -> Vec<Vec<(u64, Duration)>> {
            let slots = SlotScheduler::new(config, 1, link);
            let of = |n: u64| (0..15_000).step_by(10).map(move |into| (into, 12_000 + 15_000 * n + into));
            let in_one = |n| {
                let mut seen: Vec<(u64, Duration)> = of(n).map(|(into, t)| (into, slots.delay(at(t)))).collect();
                seen.dedup_by_key(|(_, step)| *step);
                seen
            };
            (0..400).map(in_one).collect()
        };
        let up = steps(&config, "a->b");
        assert!(up.iter().all(|of| of.len() <= 2));
        let when = |of: &[Vec<(u64, Duration)>]| -> Vec<Option<u64>> {
            of.iter().map(|of| of.get(1).map(|(into, _)| *into)).collect()
        };
        let changes = when(&up);
        assert_eq!(changes, when(&steps(&config, "b->a")));
        // Half of the slots, at 7.5 s in the mean; five standard errors of 200 are 50, of a mean over 200 0.5 s.
        let times: Vec<u64> = changes.iter().flatten().copied().collect();
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        assert!(times.len().abs_diff(200) < 50 && (mean - 7500.0).abs() < 515.0, "{} {mean}", times.len());
        assert!(times.iter().all(|into| (5000..=10_010).contains(into)));
        // The second step is a draw of its own: mean 50 ms, and as far from the one before as two uniform numbers.
        let pairs: Vec<(f64, f64)> =
            up.iter().filter_map(|of| Some((of.first()?.1.as_secs_f64(), of.get(1)?.1.as_secs_f64()))).collect();
        let mean = pairs.iter().map(|(_, after)| after).sum::<f64>() / pairs.len() as f64;
        let apart = pairs.iter().map(|(before, after)| (before - after).abs()).sum::<f64>() / pairs.len() as f64;
        assert!((mean - 0.05).abs() < 0.0102 && (apart - 0.1 / 3.0).abs() < 0.0085, "{mean} {apart}");
        // With a correlation it follows what was before it, also from the cache.
        let mut correlated = SlotScheduler::new(&SlotConfig { correlation: 0.9, ..config.clone() }, 1, "a->b");
        let mut apart = 0.0;
        for (n, change) in changes.iter().enumerate().filter_map(|(n, change)| Some((n, (*change)?))) {
            let edge = 12_000 + 15_000 * n as u64;
            let [before, after] = [edge + 1, edge + change + 1].map(|t| correlated.delay(at(t)));
            correlated.serve(at(edge + 1), 125, Idle::Yes, &mut Meter::default());
            assert_eq!([before, after], [edge + 1, edge + change + 1].map(|t| correlated.delay(at(t))), "{n}");
            apart += before.as_secs_f64().max(after.as_secs_f64()) - before.as_secs_f64().min(after.as_secs_f64());
        }
        assert!(apart / times.len() as f64 <= 0.017, "{}", apart / times.len() as f64);
        // Without it the same slots have the same steps, with one draw each.
        let without = steps(&SlotConfig { reroute: 0.0, reroute_at: Vec::new(), ..config }, "a->b");
        assert!(without.iter().zip(&up).all(|(a, b)| a.len() == 1 && a[0] == b[0]));
    }

    #[test]
    fn a_slot_may_stay_on_the_path_with_which_the_one_before_ended() {
        let config = SlotConfig { step: vec![ms(0), ms(100)], stay: 0.4, ..bare() };
        let reroute = SlotConfig { reroute: 0.5, reroute_at: vec![ms(5000)], ..config.clone() };
        for (config, correlation) in [(&config, 0.0), (&reroute, 0.0), (&reroute, 0.5)] {
            let config = SlotConfig { correlation, ..config.clone() };
            let [up, down] = ["a->b", "b->a"].map(|name| SlotScheduler::new(&config, 1, name));
            let of =
                |slots: &SlotScheduler, n: u64| [0, 14_999].map(|into| slots.delay(at(12_000 + 15_000 * n + into)));
            let stays = |slots: &SlotScheduler| -> Vec<bool> {
                (1..2000).map(|n| of(slots, n - 1)[1] == of(slots, n)[0]).collect()
            };
            let same = stays(&up);
            assert_eq!(same, stays(&down), "in both directions at once");
            // Five standard deviations of 1999 draws.
            let count = same.iter().filter(|&&same| same).count();
            assert!(count.abs_diff(800) < 110, "{count} of 1999 with correlation {correlation}");
            // Steps keep their distribution: mean 50 ms; five standard errors where one in ten counts.
            let mean = (0..2000).map(|n| of(&up, n)[1].as_secs_f64()).sum::<f64>() / 2000.0;
            assert!((mean - 0.05).abs() < 0.0103, "{mean}");
            // A cached draw is the same draw.
            let mut served = up.clone();
            for n in [0_u64, 7, 7, 8, 9, 10, 3] {
                served.serve(at(12_000 + 15_000 * n), 125, Idle::Yes, &mut Meter::default());
                assert!((0..12).all(|n| of(&served, n) == of(&up, n)), "{n}");
            }
        }
    }

    #[test]
    fn an_edge_or_a_reroute_loses_what_arrives_before_the_new_path_could_carry_it() {
        let config = SlotConfig {
            step: vec![ms(40)],
            pause: vec![ms(60)],
            reroute: 1.0,
            reroute_at: vec![ms(5000)],
            in_flight_loss: 0.25,
            loss: 0.01,
            ..bare()
        };
        let [up, down] = ["a->b", "b->a"].map(|name| SlotScheduler::new(&config, 1, name));
        let lost = |slots: &SlotScheduler, from: u64| {
            let is_lost: Vec<bool> = (0..200).map(|n| slots.loss(at(from + n)) == 1.0).collect();
            let first = is_lost.iter().take_while(|&&lost| lost).count();
            assert_eq!(is_lost.iter().filter(|&&lost| lost).count(), first, "at {from}");
            first
        };
        let (edges, changes): (Vec<usize>, Vec<usize>) =
            (0..400).map(|n| 12_000 + 15_000 * n).map(|edge| (lost(&up, edge), lost(&up, edge + 5000))).unzip();
        for (found, whole) in [(&edges, 100), (&changes, 40)] {
            assert!(found.iter().all(|&ms| ms == 0 || ms == whole), "{found:?}");
            let count = found.iter().filter(|&&ms| ms > 0).count();
            // Five standard deviations of 400 draws of 1/4 are 43.
            assert!(count.abs_diff(100) < 43, "{count} of {whole} ms");
        }
        let back: Vec<usize> = (0..400).map(|n| lost(&down, 12_000 + 15_000 * n)).collect();
        assert_eq!(edges, back, "both directions at once");
        // A packet that leaves over the new path arrives: not before its step has passed.
        let mut slots = up.clone();
        let served = slots.serve(at(12_000), 125, Idle::Yes, &mut Meter::default());
        assert!(slots.loss(served.departure + slots.delay(served.departure)) < 1.0);
        assert!([0, 50, 11_999].iter().all(|&t| up.loss(at(t)) < 1.0), "no edge before the first one");
    }
}
