//! Links of a scheduler that works in slots, as Starlink's does: at every edge rate, delay and loss change.
//!
//! What a slot is like is a function of the seed, the link's name and the number of the slot. Nothing else is kept but
//! the tokens of an [`Allowance`].

mod allowance;
mod draws;
mod fades;
#[cfg(test)]
mod tests;

pub use allowance::Allowance;
pub use fades::Fades;

pub(crate) use fades::FadeTimes;

use crate::meter::Meter;
use crate::slots::allowance::Bucket;
use crate::slots::draws::{Draw, between, length, number, share};
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
    /// Probability of a loss from `before` until `after` each edge, …
    pub edge_loss: [f64; 2],
    /// … and at other times; each slot draws its own, in each direction of the link by itself.
    pub loss: Vec<f64>,
    /// How long each slot is obstructed, in both directions of the link at once: all packets are lost meanwhile.
    pub obstructed: Vec<Duration>,
    pub obstructed_at: ObstructedAt,
    /// Up to each edge all packets are lost for so long, in both directions of the link at once.
    pub outage: Vec<Duration>,
    /// Probability that the path changes once within a slot, in both directions of the link at once; the slot draws its
    /// step anew then.
    pub reroute: f64,
    /// How long after the start of its slot; not longer than a slot. Empty without `reroute`.
    pub reroute_at: Vec<Duration>,
    /// Probability that a slot begins with the path, and so the step, with which the one before ended; in both
    /// directions of the link at once.
    pub stay: f64,
    /// Probability that an edge, or a reroute, loses what arrives before a packet over the new path could: until the
    /// pause is over and the new step has passed. In both directions of the link at once.
    pub in_flight_loss: f64,
    /// `None`: no fades beside the losses above.
    pub fades: Option<Fades>,
    /// `None`: packets may leave at any time.
    pub grants: Option<Grants>,
    /// `None`: the rate of the slot is all that limits what is carried.
    pub allowance: Option<Allowance>,
}

/// Nothing leaves but in grants, one in each period. The rate within them is higher by as much as they are short, so
/// that a period carries what it would carry evenly.
#[derive(Clone, Debug, PartialEq)]
pub struct Grants {
    /// Length of a period; more than zero.
    pub every: Duration,
    /// More than zero.
    pub length: Duration,
    /// How far after the start of its period a grant begins, drawn for each by itself. The last one and `length` fit
    /// into a period.
    pub shift: Vec<Duration>,
}

/// Where in its slot an obstructed time lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObstructedAt {
    /// Its begin is drawn evenly from the times at which all of it fits into the slot.
    #[default]
    Anywhere,
    /// It begins with the slot.
    Edge,
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
    bucket: Option<Bucket>,
}

impl SlotScheduler {
    pub fn new(config: &SlotConfig, seed: u64, link: &str) -> SlotScheduler {
        let mut ends: Vec<&str> = link.split("->").collect();
        ends.sort_unstable();
        let draws = Stream::new(seed, link, "slots");
        SlotScheduler {
            config: config.clone(),
            bucket: config.allowance.as_ref().map(|allowance| Bucket::new(allowance, &draws)),
            draws,
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
            rate *= number(&self.config.ripple, self.draw(Draw::Ripple, interval));
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
        first_with_rate(|ns| self.piece(ns), self.allowed(ready))
    }

    /// The first instant from `ready` on at which the allowance lets something pass.
    fn allowed(&self, ready: Time) -> Time {
        self.bucket.as_ref().map_or(ready, |bucket| bucket.clear(ready))
    }

    pub fn serve(&mut self, ready: Time, bytes: u32, mut idle: Idle, meter: &mut Meter) -> Served {
        let allowed = self.allowed(ready);
        if allowed > ready {
            // The transmitter rests until then, so what the packet before left of a nanosecond is over.
            idle = Idle::Yes;
        }
        let ready = allowed;
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
        if let Some(bucket) = &mut self.bucket {
            bucket.take(served.start, bytes);
        }
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
        let spread = number(&self.config.spread, self.correlated(Draw::Spread, slot));
        let of_busy = self.busy && !self.config.busy_jitter.is_empty();
        let jitter = if of_busy { &self.config.busy_jitter } else { &self.config.jitter };
        let jitter = share(length(jitter, self.draw(Draw::Jitter, interval)), spread);
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
        near.unwrap_or_else(|| match self.config.loss[..] {
            // Most links have one, and need no draw for each packet.
            [loss] => loss,
            ref losses => number(losses, self.draw(Draw::SlotLoss, self.slot(t.as_nanos()))),
        })
    }
}

impl SlotScheduler {
    /// Something stands before the satellite: for a part of the slot that lies within it.
    fn is_obstructed(&self, ns: u64) -> bool {
        if self.config.obstructed.is_empty() {
            return false;
        }
        let slot = self.slot(ns);
        let drawn = |what: Draw| self.shared.uniform_of(what as u64, slot);
        let obstructed = length(&self.config.obstructed, drawn(Draw::Obstructed)).as_nanos();
        let free = self.config.every.as_nanos().saturating_sub(obstructed);
        let begin = match self.config.obstructed_at {
            ObstructedAt::Anywhere => (drawn(Draw::Obstruction) * free as f64) as u64,
            ObstructedAt::Edge => 0,
        };
        (begin..begin + obstructed).contains(&self.since_begin(ns, slot))
    }

    /// How far after the start of its slot an instant lies. Slot 0 begins before t = 0.
    fn since_begin(&self, ns: u64, slot: u64) -> u64 {
        let every = self.config.every.as_nanos();
        ns + every - (self.config.phase.as_nanos() + slot * every)
    }

    /// How far after the start of a slot its path changes.
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
