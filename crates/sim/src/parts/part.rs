//! A simulation of one part of a network: it hands packets that leave the part to the part that they go to, and notes
//! the order of its rows.
//!
//! Every part is a whole simulation, built from the same specification and seed. It handles the events of the nodes
//! that it owns: a link's queue and transmitter belong to the near node, its arrivals to the far one, a sender to the
//! flow's source, a receiver to its sink. The sky, routes and handovers follow from time alone, so each part has its
//! own.

use super::Bound;
use super::merge::Merged;
use crate::ack_details::{AckDetail, AckDetails};
use crate::application::AppStep;
use crate::errors::Arrival;
use crate::events::Key;
use crate::host::endpoint::Report;
use crate::host::{Load, Payloads};
use crate::limits::BETWEEN_LOOKS;
use crate::link::{Entry, Link};
use crate::packet::{Flags, Packet};
use crate::pool::Pool;
use crate::records::Records;
use crate::simulation::Simulation;
use skyhop_base::{Duration, Index, Time};
use skyhop_topology::{LinkId, LinkKind, NetworkLink, NodeId, NodeKind};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A packet on its way to another part. The other part's core fetches it from this one's cache, so it has one line.
#[derive(Debug)]
pub(crate) struct Crossing {
    packet: Packet,
    /// When its service begins.
    start: Time,
    /// When it arrives at the other end.
    arrival: Time,
    link: u32,
    /// Whether the errors of the link take it, where its near end judges.
    lost: Option<bool>,
    /// Whether the next one of [`Mail::cargo`] belongs to it.
    has_cargo: bool,
}

const _: () = assert!(size_of::<Crossing>() <= 64);

/// What a packet carries beside itself.
#[derive(Debug)]
enum Cargo {
    Details(AckDetail),
    Load(Load),
}

/// An event of a source that its sink tells: the row waits for the state in which the source was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    flow: u32,
    event: &'static str,
    time: Time,
    order: u128,
    place: u64,
}

/// What one part sends another when it has gone on.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    crossings: Vec<Crossing>,
    cargo: Vec<Cargo>,
    asked: Vec<Asked>,
}

impl Mail {
    pub fn is_empty(&self) -> bool {
        self.crossings.is_empty() && self.asked.is_empty()
    }

    /// Takes what another one contains, and puts it behind its own.
    pub fn append(&mut self, other: &mut Mail) {
        self.crossings.append(&mut other.crossings);
        self.cargo.append(&mut other.cargo);
        self.asked.append(&mut other.asked);
    }
}

/// Where a part's rows stand in the order of the whole run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logged {
    /// The order of the event, or of the last one before it if the event came late.
    pub order: u128,
    /// The place within the event.
    pub place: u64,
    /// Rows of each table from then on.
    pub lengths: Lengths,
}

/// Rows of the tables that are written event by event, and are not merged by now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lengths {
    pub drops: u32,
    pub flow_events: u32,
    pub transfers: u32,
    pub packets: u32,
    pub pages: u32,
}

impl Lengths {
    #[inline]
    fn of(records: &Records) -> Lengths {
        Lengths {
            drops: records.drops.len() as u32,
            flow_events: records.flow_events.len() as u32,
            transfers: records.transfers.len() as u32,
            packets: records.packets.len() as u32,
            pages: records.pages.len() as u32,
        }
    }

    /// All of them together: rows only become more while the log goes on, so it tells whether there are new ones.
    #[inline]
    fn sum(records: &Records) -> usize {
        let Records { drops, flow_events, transfers, packets, pages, .. } = records;
        drops.len() + flow_events.len() + transfers.len() + packets.len() + pages.len()
    }
}

/// The window and the threshold of a source, after an event.
#[derive(Clone, Copy, Debug)]
struct Remembered {
    flow: u32,
    time: Time,
    order: u128,
    cwnd: Option<f64>,
    ssthresh: Option<f64>,
}

/// A row of an event of a source that another part's sink has told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LateRow {
    pub order: u128,
    pub place: u64,
    pub row: crate::records::FlowEventRow,
}

/// What other parts know of the packets on a link without events.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    /// How many packets; the oldest ones on the link.
    packets: usize,
    /// Place of the newest of them.
    last: u32,
}

/// See the head of the file.
///
/// Large because it stands beside every structure of a simulation.
pub(crate) struct Part {
    pub me: u32,
    /// The part of each node.
    pub owners: Arc<[u32]>,
    /// Links between satellites that start in the part.
    pub own_isls: Vec<u32>,
    /// Links that leave the part and have packets whose begin was not yet told, …
    outgoing: Vec<u32>,
    /// … and whether a link is among them.
    is_outgoing: Vec<bool>,
    /// Links whose near end judges the errors, because packets of one link go to several parts.
    judged: Vec<bool>,
    /// Links that lead to one other part only, and whose packets keep their times of arrival: an arrival over such a
    /// link is an event of that part alone.
    silent: Vec<bool>,
    /// Which of the packets on each of them have been told.
    told: Vec<Told>,
    /// Until then no packet that is accepted is taken off a link again.
    safe_until: Time,
    /// Verdicts about the packets to come, by link.
    verdicts: Vec<VecDeque<bool>>,
    /// Services that begin before it have been told.
    pub told_before: Time,
    /// The first known begin of a service that is not told.
    pub next_begin: Time,
    /// The end of the window, …
    pub window_end: Time,
    /// … and the first arrival elsewhere from then on that has been told in it.
    pub next_elsewhere: Time,
    /// By part.
    pub mail: Vec<Mail>,
    /// Takes what a mailbox holds, and keeps its memory.
    pub inbox: Mail,
    /// Memory that each part takes, as of its last look, bytes.
    memory: Arc<[AtomicU64]>,
    order: u128,
    place: u64,
    /// Rows that are noted, of all tables.
    rows: usize,
    /// A sink has asked for the report of a source during this event.
    asks: bool,
    pub log: Vec<Logged>,
    /// Order and place of each row in the table of pages, which stays there until its page is loaded.
    pub pages: Vec<(u128, u64)>,
    /// The rows of all parts up to where they stood last; in the first part only.
    pub merged: Merged,
    /// Events until the next look at the limits: a window alone may have few.
    until_look: u32,
    /// Events that the whole run does not have, or that another part counts.
    pub uncounted: u64,
    /// How long renewals of the sky and the routes have taken.
    renewed: std::time::Duration,
    /// Flows of whose source a sink elsewhere may tell events.
    remembers: Vec<bool>,
    remembered: VecDeque<Remembered>,
    /// What sinks have told and the part has not reached yet.
    asked: Vec<Asked>,
    last_remembered: Vec<(Option<f64>, Option<f64>)>,
    pub late_rows: Vec<LateRow>,
    /// The topology has made a check since the last look.
    pub sky_changed: bool,
    /// A packet came too late: the lookahead was wrong.
    pub overtaken: bool,
    pub bound: Bound,
}

impl Part {
    #[inline]
    pub fn is_elsewhere(&self, node: u32) -> bool {
        self.owners[node as usize] != self.me
    }

    /// A packet of a link that leaves the part has arrived: whether it did so in another one.
    pub fn leaves(&mut self, entry: &Entry) -> bool {
        let leaves = self.is_elsewhere(entry.packet.to);
        self.uncounted += u64::from(leaves);
        // It was to be told first.
        self.overtaken |= leaves && entry.start >= self.told_before;
        leaves
    }

    /// What the near end of a link has found about the packet that has arrived.
    pub fn verdict(&mut self, link: u32) -> Option<bool> {
        self.verdicts[link as usize].pop_front()
    }

    /// Memory beside that of the simulation, bytes.
    pub fn memory_bytes(&self) -> u64 {
        let log = self.log.capacity() * size_of::<Logged>() + self.pages.capacity() * size_of::<(u128, u64)>();
        let late = self.late_rows.capacity() * size_of::<LateRow>();
        (log + late) as u64 + self.merged.rows.memory_bytes()
    }

    /// The rows of the tables that are written event by event have been taken away, those of pages perhaps not.
    pub fn restart_log(&mut self, records: &Records) {
        self.log.clear();
        self.rows = Lengths::sum(records);
    }

    /// Whether a packet that is offered to a link, for the node `to`, concerns another part. Links between ground and
    /// satellites lead into several parts, and most of their packets stay in this one.
    #[inline]
    pub fn crosses(&self, link: u32, to: u32) -> bool {
        self.is_elsewhere(to) || self.judged[link as usize]
    }

    /// A packet that crosses is offered to a link.
    pub fn note_offer(&mut self, link: u32) {
        if !std::mem::replace(&mut self.is_outgoing[link as usize], true) {
            self.outgoing.push(link);
        }
    }

    /// Whether arrivals over a link have no events here.
    #[inline]
    pub fn is_silent(&self, link: u32) -> bool {
        self.silent[link as usize]
    }

    /// Whether a packet whose service begins at `start` may be told at once: nothing takes it off the link before, and
    /// no packet before it remains to be told.
    #[inline]
    pub fn tells_at_once(&self, link: u32, start: Time) -> bool {
        start < self.safe_until && !self.is_outgoing[link as usize]
    }

    /// The packet at a place, the newest one of a silent link's line, has been told.
    #[inline]
    pub fn note_told(&mut self, link: u32, at: u32) {
        let told = &mut self.told[link as usize];
        (told.packets, told.last) = (told.packets + 1, at);
    }

    /// Takes packets that have been told and whose service has begun off a link that hands packets over.
    #[inline]
    pub fn forget_begun(&mut self, link: u32, of: &mut Link, pool: &mut Pool) {
        let told = &mut self.told[link as usize];
        told.packets -= of.forget_begun(pool, told.packets);
    }

    /// Puts a packet, which begins its service and arrives at these times, and what it carries into the mail of the
    /// part that it goes to.
    #[inline(always)]
    pub fn send(
        &mut self,
        (link, packet): (u32, &Packet),
        [start, arrival]: [Time; 2],
        lost: Option<bool>,
        ack_details: &mut AckDetails,
        payloads: &mut Payloads,
    ) {
        let cargo = match packet.payload() {
            Some(handle) => payloads.take(handle).map(Cargo::Load),
            None if packet.is_ack() && packet.detail != Packet::NO_DETAIL => {
                Some(Cargo::Details(ack_details.take(packet.detail)))
            }
            None => None,
        };
        if arrival >= self.window_end {
            self.next_elsewhere = self.next_elsewhere.min(arrival);
        }
        let mail = &mut self.mail[self.owners[packet.to as usize] as usize];
        mail.crossings.push(Crossing { packet: *packet, start, arrival, link, lost, has_cargo: cargo.is_some() });
        mail.cargo.extend(cargo);
    }

    /// Memory of all parts, of which this one takes so much now.
    pub fn memory_of_all(&self, own: u64) -> u64 {
        self.memory[self.me as usize].store(own, Ordering::Relaxed);
        self.memory.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum()
    }

    /// Sky and routes have been renewed, since `begin`.
    pub fn sky_has_changed(&mut self, begin: Instant) {
        self.sky_changed = true;
        self.renewed += begin.elapsed();
    }

    pub fn renewed(&self) -> std::time::Duration {
        self.renewed
    }

    #[inline]
    pub fn remembers(&self, flow: u32) -> bool {
        self.remembers[flow as usize]
    }

    /// Keeps the state of a source at `time` until all parts have told of events up to then.
    pub fn remember(&mut self, time: Time, flow: u32, report: Report) {
        let Report { cwnd, ssthresh, .. } = report;
        self.remembered.push_back(Remembered { flow, time, order: self.order, cwnd, ssthresh });
    }

    /// The sink of a flow tells an event of the source. It does so only during an event.
    pub fn ask_for_report(&mut self, flow: u32, event: &'static str) {
        self.asks = true;
        self.waiting_asks().push(Asked { flow, event, time: Time::ZERO, order: 0, place: 0 });
    }

    fn waiting_asks(&mut self) -> &mut Vec<Asked> {
        let me = self.me as usize;
        &mut self.mail[me].asked
    }
}

impl Simulation {
    /// Whether a node belongs to another part.
    #[inline]
    pub(crate) fn is_elsewhere(&self, node: u32) -> bool {
        self.part.as_ref().is_some_and(|part| part.is_elsewhere(node))
    }

    /// Whether the state of a flow's source is kept for other parts at each of its events.
    #[inline(always)]
    pub(crate) fn is_remembered(&self, flow: u32) -> bool {
        self.part.as_ref().is_some_and(|part| part.remembers(flow))
    }

    /// The same simulation of the nodes that `me` owns, before its first event.
    pub(crate) fn into_part(mut self, me: u32, owners: &Arc<[u32]>, memory: &Arc<[AtomicU64]>) -> Simulation {
        // The other parts have threads of their own.
        self.topology.use_threads(1);
        let topology = &self.topology;
        let is_foreign = |node: NodeId| owners[node.index()] != me;
        let any = |wanted: fn(&NodeKind) -> bool| {
            topology.nodes().enumerated().any(|(id, node)| wanted(&node.kind) && is_foreign(id))
        };
        let foreign_satellites = any(|kind| matches!(kind, NodeKind::Satellite { .. }));
        let foreign_stations = any(|kind| matches!(kind, NodeKind::Station(_)));
        let own_isls = |(id, link): (LinkId, &NetworkLink)| {
            (link.kind == LinkKind::Isl && !is_foreign(link.from)).then_some(id.as_u32())
        };
        let own_isls = topology.links().enumerated().filter_map(own_isls).collect();
        let mut judged = vec![false; self.links.len()];
        let mut silent = vec![false; self.links.len()];
        for (id, link) in topology.links().enumerated() {
            let state = &mut self.links[id.index()];
            let leaves = !is_foreign(link.from)
                && match (link.to, link.kind) {
                    (Some(to), _) => is_foreign(to),
                    (None, LinkKind::Downlink) => foreign_stations,
                    (None, _) => foreign_satellites,
                };
            if leaves {
                judged[id.index()] = link.to.is_none() && !state.errors.is_empty();
                silent[id.index()] = link.to.is_some() && state.link.settled;
                state.link.watch_leaving(silent[id.index()]);
            }
        }
        let mut remembers = vec![false; self.flows.len()];
        for (id, remembers) in remembers.iter_mut().enumerate() {
            let [to, from] = self.to[id].map(|end| owners[end.node as usize]);
            if from == to {
                if from != me {
                    self.events.disarm(self.slots.applications + id as u32);
                }
                continue;
            }
            let flow = &self.flows[id];
            let may_be_told = flow.ends.carries_payloads() || flow.application.completes();
            *remembers = from == me && id < self.own_flows && may_be_told && flow.ends.report().is_some();
            if from != me && to != me {
                self.events.disarm(self.slots.applications + id as u32);
            }
        }
        if me != 0 {
            self.events.disarm(self.slots.positions);
        }
        self.part = Some(Box::new(Part {
            me,
            owners: Arc::clone(owners),
            own_isls,
            outgoing: Vec::new(),
            is_outgoing: vec![false; self.links.len()],
            verdicts: vec![VecDeque::new(); self.links.len()],
            judged,
            told: vec![Told::default(); silent.len()],
            silent,
            safe_until: Time::ZERO,
            told_before: Time::ZERO,
            next_begin: Time::MAX,
            window_end: Time::ZERO,
            next_elsewhere: Time::MAX,
            mail: memory.iter().map(|_| Mail::default()).collect(),
            inbox: Mail::default(),
            memory: Arc::clone(memory),
            order: 0,
            place: 0,
            rows: Lengths::sum(&self.recorder.records),
            asks: false,
            log: Vec::new(),
            pages: Vec::new(),
            merged: Merged::default(),
            until_look: BETWEEN_LOOKS,
            uncounted: 0,
            renewed: std::time::Duration::ZERO,
            last_remembered: vec![(None, None); if remembers.contains(&true) { self.flows.len() } else { 0 }],
            remembers,
            remembered: VecDeque::new(),
            asked: Vec::new(),
            late_rows: Vec::new(),
            sky_changed: false,
            overtaken: false,
            bound: Bound::NONE,
        }));
        self
    }

    /// Rows from here on have this place within the event.
    #[cold]
    pub(crate) fn at_place(&mut self, place: u64) {
        if self.part.is_some() {
            self.note_rows();
        }
        if let Some(part) = &mut self.part {
            part.place = place;
        }
    }

    /// Notes where the rows of an event stand, if there are any.
    #[inline]
    fn note_rows(&mut self) {
        let rows = Lengths::sum(&self.recorder.records);
        if self.part.as_ref().is_some_and(|part| part.rows != rows || part.asks) {
            self.note_new_rows(rows);
        }
    }

    #[inline(never)]
    fn note_new_rows(&mut self, rows: usize) {
        let Some(part) = &mut self.part else { return };
        if part.rows != rows {
            part.rows = rows;
            let lengths = Lengths::of(&self.recorder.records);
            let (order, place) = (part.order, part.place);
            part.pages.resize(lengths.pages as usize, (order, place));
            match part.log.last_mut() {
                Some(last) if (last.order, last.place) == (order, place) => last.lengths = lengths,
                _ => part.log.push(Logged { order, place, lengths }),
            }
        }
        let me = part.me as usize;
        if std::mem::take(&mut part.asks) {
            for asked in std::mem::take(&mut part.mail[me].asked) {
                let source = part.owners[self.to[asked.flow as usize][1].node as usize];
                let asked = Asked { time: self.now, order: part.order, place: part.place, ..asked };
                part.mail[source as usize].asked.push(asked);
            }
        }
    }

    /// Rows from here on come after all events.
    pub(crate) fn after_last_event(&mut self) {
        self.at_place(0);
        if let Some(part) = &mut self.part {
            part.order = u128::MAX;
        }
    }

    /// Handles the events before an instant; fewer if a limit ends the run.
    pub(crate) fn run_window(&mut self, before: Time) {
        self.events.set_end(before);
        if self.events.is_full() { self.handle_window::<true>() } else { self.handle_window::<false>() }
    }

    #[inline(never)]
    fn handle_window<const AHEAD: bool>(&mut self) {
        let mut until_look = self.part.as_ref().map_or(BETWEEN_LOOKS, |part| part.until_look);
        let mut most = until_look;
        loop {
            let key = self.events.next_key(&mut self.links);
            if key == Key::NONE {
                break;
            }
            let event = key.event();
            (self.now, self.scheduled) = (event.time, event.scheduled);
            if let Some(part) = &mut self.part {
                // As a number at once: what the parts of an event say, put together again, costs 25 instructions.
                (part.order, part.place) = (part.order.max(key.0), 0);
            }
            if self.handle::<AHEAD>(event) {
                self.note_rows();
            }
            until_look -= 1;
            if until_look == 0 {
                self.event_count += u64::from(most);
                (until_look, most) = (BETWEEN_LOOKS, BETWEEN_LOOKS);
                if self.is_to_end() {
                    break;
                }
            }
        }
        self.event_count += u64::from(most - until_look);
        if let Some(part) = &mut self.part {
            part.until_look = until_look;
        }
    }

    /// An event is handled that every part of a run has. Only the first one counts it.
    #[inline]
    pub(crate) fn handles_event_of_all(&mut self) {
        if let Some(part) = &mut self.part {
            part.uncounted += u64::from(part.me != 0);
        }
    }

    /// [`Simulation::transmit_place`] over a link that hands packets over to another part.
    #[inline(never)]
    pub(crate) fn hand_over(&mut self, link: u32, (at, size): (u32, u16), to: u32) {
        let (now, times) = (self.now, (self.now, self.scheduled));
        let Simulation { links, pool, topology, ground, part, ack_details, payloads, .. } = self;
        let Some(part) = part.as_deref_mut() else { return };
        let state = &mut links[link as usize];
        let Some((served, waits, delay)) = state.serve_in_turn(pool, (topology, ground), size, times, to) else {
            return self.refuse(link, at);
        };
        part.forget_begun(link, &mut state.link, pool);
        // A full queue may give up a packet of low priority that waits.
        let remains = !part.tells_at_once(link, served.start) || waits && pool.get(at).0.is_low();
        let arrival = served.departure + delay;
        let (arrival, stays) = state.link.hand_over(pool, (at, size), now, &served, (arrival, remains));
        if remains {
            return part.note_offer(link);
        }
        // From its place into the mail: a copy on the stack would cost as much as the rest.
        part.send((link, pool.get(at).0), [served.start, arrival], None, ack_details, payloads);
        if stays {
            part.note_told(link, at);
        } else {
            pool.give_back(at);
        }
    }

    /// Puts the packets whose service begins before `before` into the mail of the parts that they go to.
    pub(crate) fn tell_begun(&mut self, before: Time) {
        if let Some(part) = &mut self.part {
            part.next_begin = Time::MAX;
        }
        self.retain_outgoing(|all, part, link| {
            let begin = all.tell_begun_on(part, link, part.told_before, before);
            let state = &mut all.links[link as usize];
            if part.silent[link as usize] {
                part.told[link as usize].packets -= state.link.forget_arrived_before(&mut all.pool, before);
            }
            part.next_begin = part.next_begin.min(begin.unwrap_or(Time::MAX));
            begin.is_some() || state.link.holds_deferred()
        });
        if let Some(part) = &mut self.part {
            part.told_before = before;
        }
    }

    /// Puts packets that wait on links that hand packets over into the mail, as far as nothing takes them off again.
    fn tell_safe(&mut self) {
        let Some(part) = &mut self.part else { return };
        part.safe_until = self.topology.next_change();
        self.retain_outgoing(|all, part, link| {
            let (state, from) = (&all.links[link as usize].link, part.told_before);
            let keeps = !state.hands_over() || state.holds_low(from);
            keeps || all.tell_begun_on(part, link, from, part.safe_until).is_some()
        });
    }

    /// Keeps those of the links with packets to be told that `still_has` some.
    fn retain_outgoing(&mut self, mut still_has: impl FnMut(&mut Simulation, &mut Part, u32) -> bool) {
        let Some(mut part) = self.part.take() else { return };
        let mut outgoing = std::mem::take(&mut part.outgoing);
        outgoing.retain(|&link| {
            let stays = still_has(self, &mut part, link);
            part.is_outgoing[link as usize] = stays;
            stays
        });
        part.outgoing = outgoing;
        self.part = Some(part);
    }

    /// Takes the packets that have arrived elsewhere by now off the links without events.
    pub(crate) fn forget_arrived_elsewhere(&mut self) {
        let Some(part) = &mut self.part else { return };
        let after = self.now + Duration::from_nanos(1);
        for (link, _) in part.silent.iter().enumerate().filter(|&(_, &silent)| silent) {
            part.told[link].packets -= self.links[link].link.forget_arrived_before(&mut self.pool, after);
        }
    }

    /// Packets that have been told and are still in the line of a link that hands packets over.
    pub(super) fn told_on(&self, link: usize) -> Option<usize> {
        self.part.as_ref().filter(|_| self.links[link].link.hands_over()).map(|part| part.told[link].packets)
    }

    /// [`Simulation::tell_begun`] on one link. Gives the start of the first service that is not told.
    fn tell_begun_on(&mut self, part: &mut Part, link: u32, from: Time, before: Time) -> Option<Time> {
        let Simulation { links, pool, flows, ack_details, payloads, .. } = self;
        let state = &mut links[link as usize];
        let judges = part.judged[link as usize];
        let is_silent = part.silent[link as usize];
        let told = part.told[link as usize];
        let mut entries = match is_silent {
            true => state.link.entries_behind(pool, (told.packets > 0).then_some(told.last)),
            false => state.link.entries_from(pool, from),
        };
        loop {
            let place = entries.place();
            let entry = entries.next()?;
            if entry.start >= before {
                return Some(entry.start);
            }
            if is_silent {
                part.note_told(link, place);
            }
            let packet = &entry.packet;
            let lost = (judges && !packet.flags.has(Flags::UNREACHABLE)).then(|| {
                let key = flows.get(packet.flow as usize).map_or(0, |flow| flow.key);
                let arrival = Arrival { at: entry.arrival, key, packet };
                state.errors.iter_mut().any(|model| model.loses(&arrival))
            });
            let owner = part.owners[packet.to as usize];
            if owner == part.me {
                part.verdicts[link as usize].extend(lost);
                continue;
            }
            part.send((link, packet), [entry.start, entry.arrival], lost, ack_details, payloads);
        }
    }

    /// Takes in what another part has sent.
    pub(crate) fn take_in(&mut self, mail: &mut Mail) {
        // Another core has written these lines. In a loop that does nothing else, the processor fetches several of them
        // at a time. Below it would wait for each: 7 % of a run over GEO.
        std::hint::black_box(mail.crossings.iter().fold(0, |all, crossing| all ^ crossing.link));
        let mut cargo = mail.cargo.drain(..);
        for Crossing { packet, start, arrival, link, lost, has_cargo } in &mut mail.crossings {
            match if *has_cargo { cargo.next() } else { None } {
                None => {}
                Some(Cargo::Details(details)) => packet.detail = self.ack_details.keep(details),
                Some(Cargo::Load(load)) => packet.detail = Packet::PAYLOAD | self.payloads.keep(load),
            }
            let link = *link;
            if let Some(part) = &mut self.part {
                if let Some(lost) = *lost {
                    part.verdicts[link as usize].push_back(lost);
                }
                part.overtaken |= *arrival < part.told_before;
            }
            if self.links[link as usize].link.receive(&mut self.pool, packet, [*start, *arrival]) {
                self.await_event(link, *arrival, *start);
            }
        }
        mail.crossings.clear();
        if let Some(part) = &mut self.part {
            part.asked.append(&mut mail.asked);
        }
    }

    /// Writes the rows of events that sinks elsewhere have told of sources here, as far as the part has come, and
    /// forgets the states of sources before `before`: no part tells of anything earlier from now on.
    pub(crate) fn answer_asked(&mut self, before: Time) {
        let Some(part) = &mut self.part else { return };
        if part.asked.is_empty() && part.remembered.is_empty() {
            return;
        }
        let Part { asked, remembered, last_remembered, late_rows, told_before, remembers, .. } = &mut **part;
        let mut needed_from = before;
        asked.retain(|&Asked { flow, event, time, order, place }| {
            if time >= *told_before {
                needed_from = needed_from.min(time);
                return true;
            }
            if !remembers[flow as usize] {
                // A connection of a workload, or a source without a report: a whole run has no row of it either.
                return false;
            }
            let newest = remembered.iter().rev().find(|state| state.flow == flow && state.order < order);
            let (cwnd, ssthresh) = match newest {
                Some(state) => (state.cwnd, state.ssthresh),
                None => last_remembered[flow as usize],
            };
            let row = crate::records::FlowEventRow { time, flow, event, cwnd, ssthresh };
            late_rows.push(LateRow { order, place, row });
            false
        });
        while let Some(&Remembered { flow, cwnd, ssthresh, .. }) =
            remembered.front().filter(|state| state.time < needed_from)
        {
            last_remembered[flow as usize] = (cwnd, ssthresh);
            remembered.pop_front();
        }
    }

    /// When the part does something next, if nothing comes from elsewhere.
    pub(crate) fn next_time(&mut self) -> Time {
        let own = self.events.next_time().unwrap_or(Time::MAX);
        self.part.as_ref().map_or(own, |part| own.min(part.next_begin))
    }

    /// When the part, or a packet that it has sent to another one, does something after the window.
    pub(crate) fn next_time_of_all(&mut self) -> Time {
        let own = self.next_time();
        self.part.as_ref().map_or(own, |part| own.min(part.next_elsewhere))
    }

    /// Begins a window. What there is to tell already is in the mail then.
    pub(crate) fn begin_window(&mut self, end: Time) {
        if let Some(part) = &mut self.part {
            (part.window_end, part.next_elsewhere) = (end, Time::MAX);
        }
        self.tell_safe();
    }

    /// The application of a flow whose source is elsewhere goes on by the clock, as far as the sink needs to know.
    #[cold]
    pub(crate) fn follow_application(&mut self, flow_id: u32) {
        let now = self.now;
        let flow = &mut self.flows[flow_id as usize];
        let step = flow.application.step(0);
        if let (Some(AppStep::Start | AppStep::Produce), Some(bytes)) = (step, flow.application.portion_bytes()) {
            flow.updates.written(now, bytes);
        }
        if step == Some(AppStep::Stop) {
            flow.at_stop = Some(Box::new(flow.totals));
        }
        self.arm_application(flow_id);
        if let Some(part) = &mut self.part {
            part.uncounted += 1;
        }
    }
}
