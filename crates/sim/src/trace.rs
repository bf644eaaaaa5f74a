//! Links that follow a recording: their service and their delay over time.
//!
//! A recording is a schedule for the departure computation of [`crate::link`]: a packet's departure is known when it is
//! accepted, so the link keeps its single event. Recordings begin anew after their period, as mahimahi's do (Netravali
//! et al., "Mahimahi: accurate record-and-replay for HTTP", USENIX ATC 2015).

use crate::meter::Meter;
use skyhop_base::{Duration, Time};
use std::sync::Arc;

/// Bytes that one opportunity delivers: mahimahi's `PACKET_SIZE`, an MTU of 1500 B and the 4 B of its tunnel. A packet
/// takes what it needs of an opportunity, and the rest from the next one; small packets share one.
pub const OPPORTUNITY_BYTES: u32 = 1504;

/// A recording of one direction of a link. Clones share the data.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceConfig {
    pub service: Service,
    /// Added to the link's own delay, by when a packet departs. Each holds until the next; the first also before it.
    pub delays: Arc<[(Duration, Duration)]>,
    /// The probability that a packet is lost, by when it arrives. Each holds until the next; before the first there are
    /// no losses.
    pub losses: Arc<[(Duration, f64)]>,
    /// After so long everything begins anew. Longer than zero, and not before the last entry.
    pub period: Duration,
}

/// What the transmitter does.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Sends at the rate of the link.
    Constant,
    /// Delivers up to [`OPPORTUNITY_BYTES`] at each of these instants, in order, at least one.
    Opportunities(Arc<[Duration]>),
    /// Sends at so many bit/s from each of these instants on, in order; the last one of the period holds at its
    /// beginning, too. At least one is more than zero.
    Rates(Arc<[(Duration, u64)]>),
}

/// When a packet is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    pub start: Time,
    pub departure: Time,
    /// Time of the transmitter used.
    pub busy: Duration,
}

/// A recording that is being followed.
#[derive(Clone, Debug)]
pub struct Trace {
    config: TraceConfig,
    /// Bytes that the last opportunity in use still has, and which it is: its round and its place in the list.
    opportunity: (u64, usize, u32),
    /// What the last packet needs beyond its departure, in bit · ns / s: less than one nanosecond's worth.
    debt: u128,
}

impl Trace {
    pub fn new(config: TraceConfig) -> Trace {
        Trace { config, opportunity: (0, 0, OPPORTUNITY_BYTES), debt: 0 }
    }

    /// Serves a packet not before `ready`; `None` where the link's own rate does. `idle`: nothing was served just
    /// before. `meter` is told what that uses.
    pub fn serve(&mut self, ready: Time, bytes: u32, idle: Idle, meter: &mut Meter) -> Option<Served> {
        match self.config.service.clone() {
            Service::Constant => None,
            Service::Opportunities(at) => Some(self.use_opportunities(&at, ready, bytes, meter)),
            Service::Rates(rates) => {
                if idle == Idle::Yes {
                    self.debt = 0;
                }
                Some(self.send_at(&rates, ready, bytes, meter))
            }
        }
    }

    /// The first instant from `ready` on at which something can be sent.
    pub fn next_start(&self, ready: Time) -> Time {
        match &self.config.service {
            Service::Constant => ready,
            Service::Opportunities(at) => {
                let (round, place, _) = self.next_opportunity(at, ready);
                Time::from_nanos(round * self.config.period.as_nanos() + at[place].as_nanos())
            }
            Service::Rates(rates) => first_with_rate(|t| self.piece(rates, t), ready),
        }
    }

    /// Delay added to the link's own for a packet that departs at `t`.
    pub fn delay(&self, t: Time) -> Duration {
        let into = Duration::from_nanos(t.as_nanos() % self.config.period.as_nanos());
        let next = self.config.delays.partition_point(|&(at, _)| at <= into);
        let entry = self.config.delays.get(next.saturating_sub(1));
        entry.map_or(Duration::ZERO, |&(_, delay)| delay)
    }

    /// Bytes of all opportunities up to `t`, that instant included; `None` where something else says what is served.
    pub fn offered(&self, t: Time) -> Option<u64> {
        let Service::Opportunities(at) = &self.config.service else { return None };
        let period = self.config.period.as_nanos();
        let (rounds, into) = (t.as_nanos() / period, t.as_nanos() % period);
        // The list may end with the period: what stands there in the round before is at the beginning of this one.
        let found = rounds * at.len() as u64 + at.partition_point(|at| at.as_nanos() <= into) as u64;
        Some(found * u64::from(OPPORTUNITY_BYTES))
    }

    /// The first opportunity from `ready` on that has bytes left: its round, its place in the list, and how many.
    fn next_opportunity(&self, at: &[Duration], ready: Time) -> (u64, usize, u32) {
        let period = self.config.period.as_nanos();
        let instant = |round: u64, place: usize| Time::from_nanos(round * period + at[place].as_nanos());
        let next = |round: u64, place: usize| if place + 1 < at.len() { (round, place + 1) } else { (round + 1, 0) };
        let (mut round, mut place, mut left) = self.opportunity;
        if instant(round, place) < ready {
            round = ready.as_nanos() / period;
            let into = ready.as_nanos() % period;
            place = at.partition_point(|at| at.as_nanos() < into);
            if into == 0 && round > 0 && at[at.len() - 1].as_nanos() == period {
                // The end of a round is the beginning of the next.
                (round, place) = (round - 1, at.partition_point(|at| at.as_nanos() < period));
            } else if place == at.len() {
                (round, place) = (round + 1, 0);
            }
            left = OPPORTUNITY_BYTES;
        }
        if left == 0 {
            (round, place) = next(round, place);
            left = OPPORTUNITY_BYTES;
        }
        (round, place, left)
    }

    fn use_opportunities(&mut self, at: &[Duration], ready: Time, bytes: u32, meter: &mut Meter) -> Served {
        let period = self.config.period.as_nanos();
        let instant = |round: u64, place: usize| Time::from_nanos(round * period + at[place].as_nanos());
        let next = |round: u64, place: usize| if place + 1 < at.len() { (round, place + 1) } else { (round + 1, 0) };
        let (mut round, mut place, mut left) = self.next_opportunity(at, ready);
        let start = instant(round, place);
        let mut need = bytes;
        let mut busy = 0;
        loop {
            let used = need.min(left);
            meter.takes(instant(round, place), u64::from(used));
            // An opportunity stands for the time since the one before it.
            let before = match place {
                0 => (round * period + at[0].as_nanos())
                    .saturating_sub((at[at.len() - 1].as_nanos() + round * period).saturating_sub(period)),
                place => at[place].as_nanos() - at[place - 1].as_nanos(),
            };
            busy += before * u64::from(used) / u64::from(OPPORTUNITY_BYTES);
            (need, left) = (need - used, left - used);
            if need == 0 {
                break;
            }
            (round, place) = next(round, place);
            left = OPPORTUNITY_BYTES;
        }
        self.opportunity = (round, place, left);
        Served { start, departure: instant(round, place), busy: Duration::from_nanos(busy) }
    }

    /// The rate at an instant, in bit/s, and until when it holds.
    fn piece(&self, rates: &[(Duration, u64)], t: u64) -> (u64, u64) {
        let period = self.config.period.as_nanos();
        let into = t % period;
        let next = rates.partition_point(|(at, _)| at.as_nanos() <= into);
        let rate = rates[next.checked_sub(1).unwrap_or(rates.len() - 1)].1;
        (rate, t - into + rates.get(next).map_or(period, |(at, _)| at.as_nanos()))
    }

    fn send_at(&mut self, rates: &[(Duration, u64)], ready: Time, bytes: u32, meter: &mut Meter) -> Served {
        let (served, debt) = send(|t| self.piece(rates, t), ready, bytes, self.debt, meter);
        self.debt = debt;
        served
    }
}

/// Sends a packet over a transmitter whose rate changes. `piece` gives the rate at an instant, in bit/s, and until when
/// it holds; it is more than zero again and again. `debt` is what the packet before needs beyond its departure, in
/// bit · ns / s, less than one nanosecond's worth; that of this packet comes back. `meter` is told when it sends.
pub(crate) fn send(
    piece: impl Fn(u64) -> (u64, u64),
    ready: Time,
    bytes: u32,
    debt: u128,
    meter: &mut Meter,
) -> (Served, u128) {
    let mut need = u128::from(bytes) * 8_000_000_000 + debt;
    let mut t = ready.as_nanos();
    let mut start = None;
    let mut busy = 0;
    loop {
        let (rate, until) = piece(t);
        if rate > 0 {
            let start = *start.get_or_insert(t);
            let needed = need / u128::from(rate);
            if needed < u128::from(until - t) {
                let departure = Time::from_nanos(t + needed as u64);
                meter.sends(Time::from_nanos(t), departure);
                let busy = Duration::from_nanos(busy + needed as u64);
                return (Served { start: Time::from_nanos(start), departure, busy }, need % u128::from(rate));
            }
            meter.sends(Time::from_nanos(t), Time::from_nanos(until));
            need -= u128::from(rate) * u128::from(until - t);
            busy += until - t;
        }
        t = until;
    }
}

/// The first instant from `ready` on at which the rate is more than zero. `piece` as in [`send`].
pub(crate) fn first_with_rate(piece: impl Fn(u64) -> (u64, u64), ready: Time) -> Time {
    let mut t = ready.as_nanos();
    loop {
        match piece(t) {
            (0, until) => t = until,
            _ => return Time::from_nanos(t),
        }
    }
}

/// Whether a packet follows another one without a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    Yes,
    No,
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

    fn trace(service: Service, period: Duration) -> Trace {
        Trace::new(TraceConfig { service, delays: Arc::from([]), losses: Arc::from([]), period })
    }

    /// The rules of mahimahi's link_queue.cc, followed by hand.
    #[test]
    fn opportunities_are_used_as_mahimahi_does() {
        let mut trace = trace(Service::Opportunities(Arc::from([ms(2), ms(2), ms(5)])), ms(5));
        let mut serve = |ready, bytes| {
            let served = trace.serve(at(ready), bytes, Idle::Yes, &mut Meter::default()).unwrap();
            (served.start, served.departure)
        };
        // Two small packets share one opportunity with the beginning of a third, which ends with the second.
        assert_eq!(serve(0, 500), (at(2), at(2)));
        assert_eq!(serve(0, 500), (at(2), at(2)));
        assert_eq!(serve(0, 1504), (at(2), at(2)));
        // 504 B are left of the second; the rest waits for the third.
        assert_eq!(serve(1, 1504), (at(2), at(5)));
        // An opportunity that nobody used is lost: 5 is over, the next round begins.
        assert_eq!(serve(6, 3008), (at(7), at(7)));
        assert_eq!(serve(6, 100), (at(10), at(10)));
        // Long after the end of the list.
        assert_eq!(serve(5_000_000, 1504), (at(5_000_000), at(5_000_000)));
        assert_eq!(serve(5_000_001, 1504), (at(5_000_002), at(5_000_002)));
    }

    #[test]
    fn a_busy_trace_delivers_all_that_it_has() {
        let list: Vec<Duration> = (1..=100).map(|n| ms(n * 7 % 101)).collect();
        let mut list = list;
        list.sort();
        let mut trace = trace(Service::Opportunities(list.into()), ms(101));
        let mut last = Time::ZERO;
        let mut busy = Duration::ZERO;
        for _ in 0..1000 {
            let served = trace.serve(last, 1504, Idle::No, &mut Meter::default()).unwrap();
            assert!(served.start >= last && served.departure >= served.start);
            last = served.departure;
            busy += served.busy;
        }
        // Ten rounds of 100, and all of the time in use.
        assert!(last > at(101 * 10 - 3) && last <= at(101 * 10), "{last:?}");
        assert_eq!(busy, last.since(Time::ZERO));
    }

    #[test]
    fn rates_hold_until_the_next_and_begin_anew() {
        // 1 Mbit/s: 125 B take 1 ms; then nothing for 10 ms; then 2 Mbit/s.
        let rates: Arc<[(Duration, u64)]> = Arc::from([(ms(0), 1_000_000), (ms(10), 0), (ms(20), 2_000_000)]);
        let mut trace = trace(Service::Rates(rates), ms(30));
        let mut serve = |ready, bytes| {
            let served = trace.serve(at(ready), bytes, Idle::No, &mut Meter::default()).unwrap();
            (served.start, served.departure, served.busy)
        };
        assert_eq!(serve(0, 1000), (at(0), at(8), ms(8)));
        // 2 ms at 1 Mbit/s, a pause, and the other half in 1 ms.
        assert_eq!(serve(8, 500), (at(8), at(21), ms(3)));
        assert_eq!(serve(12, 250), (at(20), at(21), ms(1)));
        // Over the end of the period: 1 ms at 2 Mbit/s, then 1 Mbit/s.
        assert_eq!(serve(29, 375), (at(29), at(31), ms(2)));
    }

    #[test]
    fn a_rate_is_exact_in_the_long_run() {
        let mut trace = trace(Service::Rates(Arc::from([(ms(0), 3_000_000)])), ms(1000));
        let mut now = Time::ZERO;
        for _ in 0..3000 {
            now = trace.serve(now, 1000, Idle::No, &mut Meter::default()).unwrap().departure;
        }
        // 24 Mbit at 3 Mbit/s.
        assert_eq!(now, at(8000));
    }

    #[test]
    fn delays_hold_until_the_next() {
        let delays = Arc::from([(ms(10), ms(7)), (ms(20), ms(9))]);
        let trace =
            Trace::new(TraceConfig { service: Service::Constant, delays, losses: Arc::from([]), period: ms(100) });
        let found: Vec<Duration> = [0, 10, 19, 20, 99, 110, 121].into_iter().map(|n| trace.delay(at(n))).collect();
        assert_eq!(found, [7, 7, 7, 9, 9, 7, 9].map(ms));
    }
}
