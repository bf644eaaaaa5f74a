//! A discipline before one transmitter with given arrivals: what comparisons, benches and tests run.
//!
//! Open loop: nothing reacts to drops or marks, so the outcome depends on the discipline alone. Conventions are those
//! of the kernel reference (`tests/reference/linux-queues/README.md`), among them the order at one instant: timers and
//! watchdog of the discipline, change of the link, end of a transmission, arrival.

use crate::{Cause, Context, Discipline, Dropped, LinkChange, Packet, Random, Wake};
use skyhop_base::{Rate, Time};

/// A packet and when it comes. The packet's handle is its place in the list.
#[derive(Clone, Copy, Debug)]
pub struct OfferedPacket {
    pub at: Time,
    pub packet: Packet,
}

/// From `at` on the link has this rate; `None` is an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkStep {
    pub at: Time,
    pub rate: Option<Rate>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOutcome {
    pub end: End,
    /// When it left: taken by the transmitter, or dropped. For a packet that still waits, the end of the replay.
    pub at: Time,
    /// Whether the discipline set CE.
    pub marked: bool,
}

/// How a packet left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Delivered,
    /// On its own arrival.
    DroppedAtEnqueue(Cause),
    /// While the link asked for a packet.
    DroppedAtDequeue(Cause),
    /// On the arrival of another packet, or by a timer.
    DroppedElsewhere(Cause),
    Waiting,
}

struct Replay<'a> {
    discipline: &'a mut dyn Discipline,
    random: &'a mut dyn Random,
    dropped: Vec<Dropped>,
    outcomes: Vec<Option<ReplayOutcome>>,
    rate: Option<Rate>,
    /// End of the transmission that runs.
    busy_until: Option<Time>,
}

/// Feeds `arrivals` to a discipline before a transmitter that follows `schedule`, up to and including `end`.
///
/// Both lists are in order of time; before the first step of the schedule the link is down. Panics when an arrival's
/// handle is not its place, or when the discipline loses or doubles a packet.
pub fn replay(
    discipline: &mut dyn Discipline,
    arrivals: &[OfferedPacket],
    schedule: &[LinkStep],
    end: Time,
    random: &mut dyn Random,
) -> Vec<ReplayOutcome> {
    let outcomes = vec![None; arrivals.len()];
    let mut replay = Replay { discipline, random, dropped: Vec::new(), outcomes, rate: None, busy_until: None };
    let (mut arrived, mut stepped) = (0, 0);
    loop {
        let timer = replay.discipline.next_event().unwrap_or(Time::MAX);
        let step = schedule.get(stepped).map_or(Time::MAX, |step| step.at);
        let sent = replay.busy_until.unwrap_or(Time::MAX);
        let arrival = arrivals.get(arrived).map_or(Time::MAX, |arrival| arrival.at);
        let now = timer.min(step).min(sent).min(arrival);
        if now > end || now == Time::MAX {
            break;
        }
        if now == timer {
            let wake = replay.call(now, |discipline, context| discipline.on_event(context));
            replay.settle(now, End::DroppedElsewhere);
            if wake == Wake::Dequeue {
                replay.ask(now);
            }
        } else if now == step {
            replay.change(now, schedule[stepped].rate);
            stepped += 1;
        } else if now == sent {
            replay.busy_until = None;
            replay.ask(now);
        } else {
            let packet = arrivals[arrived].packet;
            assert_eq!(packet.handle as usize, arrived, "a packet's handle is its place");
            arrived += 1;
            replay.arrive(now, packet);
        }
    }
    replay.finish(end, arrived)
}

impl Replay<'_> {
    fn call<T>(&mut self, now: Time, call: impl FnOnce(&mut dyn Discipline, &mut Context<'_>) -> T) -> T {
        let mut context = Context { now, random: &mut *self.random, dropped: &mut self.dropped };
        call(&mut *self.discipline, &mut context)
    }

    /// Notes the drops of the last call.
    fn settle(&mut self, now: Time, end: fn(Cause) -> End) {
        for index in 0..self.dropped.len() {
            let Dropped { packet, cause } = self.dropped[index];
            self.note(packet, ReplayOutcome { end: end(cause), at: now, marked: packet.marked });
        }
        self.dropped.clear();
    }

    fn note(&mut self, packet: Packet, outcome: ReplayOutcome) {
        let place = &mut self.outcomes[packet.handle as usize];
        assert!(place.is_none(), "packet {} left twice: {place:?}, then {outcome:?}", packet.handle);
        *place = Some(outcome);
    }

    fn arrive(&mut self, now: Time, packet: Packet) {
        self.call(now, |discipline, context| discipline.enqueue(packet, context));
        if let Some(own) = self.dropped.iter().position(|dropped| dropped.packet.handle == packet.handle) {
            let Dropped { packet, cause } = self.dropped.remove(own);
            self.note(packet, ReplayOutcome { end: End::DroppedAtEnqueue(cause), at: now, marked: packet.marked });
        }
        self.settle(now, End::DroppedElsewhere);
        self.ask(now);
    }

    fn change(&mut self, now: Time, rate: Option<Rate>) {
        let was_down = self.rate.is_none();
        self.rate = rate;
        let change = rate.map_or(LinkChange::Down, |rate| LinkChange::Rate(rate.bps()));
        self.call(now, |discipline, context| {
            if was_down && rate.is_some() {
                discipline.on_link(LinkChange::Up, context);
            }
            discipline.on_link(change, context);
        });
        self.settle(now, End::DroppedElsewhere);
        if was_down {
            self.ask(now);
        }
    }

    /// Asks for a packet if the transmitter can take one.
    fn ask(&mut self, now: Time) {
        let Some(rate) = self.rate else { return };
        if self.busy_until.is_some() {
            return;
        }
        let packet = self.call(now, |discipline, context| discipline.dequeue(context));
        self.settle(now, End::DroppedAtDequeue);
        if let Some(packet) = packet {
            self.note(packet, ReplayOutcome { end: End::Delivered, at: now, marked: packet.marked });
            self.busy_until = Some(now + rate.time_of(packet.bytes));
        }
    }

    fn finish(mut self, end: Time, arrived: usize) -> Vec<ReplayOutcome> {
        let backlog = self.discipline.backlog();
        let mut waiting = Vec::new();
        self.discipline.drain(&mut waiting);
        assert_eq!(backlog.packets, waiting.len() as u64, "the backlog counts what waits");
        for packet in waiting {
            self.note(packet, ReplayOutcome { end: End::Waiting, at: end, marked: packet.marked });
        }
        let lost = self.outcomes[..arrived].iter().position(Option::is_none);
        assert_eq!(lost, None, "every packet that came is delivered, dropped or waits");
        // The discipline has not seen arrivals after the end.
        let unseen = ReplayOutcome { end: End::Waiting, at: end, marked: false };
        self.outcomes.into_iter().map(|outcome| outcome.unwrap_or(unseen)).collect()
    }
}
