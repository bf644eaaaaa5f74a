//! A dumbbell small enough to be right by reading: store-and-forward links, unlimited access queues, a
//! DropTail bottleneck that counts as ns-2 does, ACKs over the same path back.
//!
//! It runs by either of two clocks: nanoseconds with the exact remainder of each link's rate, or ns-2's double, which
//! every event sets to the time at which it was scheduled plus its delay. Both order simultaneous events by when they
//! were scheduled. They part where two events are simultaneous in exact arithmetic and the rounding of doubles puts one
//! first: [`Dumbbell::ties`].

use super::clock::{Clock, Instant, Span};
use super::reference::{Case, Event};
use skyhop_base::{Duration, Rate, Serialiser, Stream, Time};
use skyhop_transport::{Ack, Receiver, Segment, Sender, Snapshot, Supply, TcpConfig, TickPhase, ns2_tick_phases};
use skyhop_transport::{Ns2Losses, ns2_numbers_drawn, ns2_random_losses};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
enum Content {
    Data { segment: Segment, sent_at: Time },
    Ack(Ack),
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    flow: usize,
    content: Content,
}

impl Packet {
    fn size(&self) -> u32 {
        match self.content {
            Content::Data { segment, .. } => segment.size,
            Content::Ack(ack) => ack.size,
        }
    }
}

/// A directed link: waiting packets and the one in service.
struct Link {
    serialiser: Serialiser,
    bps: f64,
    delay: Duration,
    delay_s: f64,
    limit: Option<usize>,
    waiting: VecDeque<Packet>,
    busy: bool,
}

/// Links of a flow's access, and the two shared ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hop {
    Out(usize),
    Bottleneck,
    In(usize),
    AckOut(usize),
    AckBottleneck,
    AckIn(usize),
}

/// Packets that a direction of the bottleneck loses.
struct Losses {
    numbers: BTreeSet<u32>,
    /// Packets that have crossed.
    crossed: u32,
}

impl Losses {
    fn of(numbers: impl Iterator<Item = u32>) -> Losses {
        Losses { numbers: numbers.collect(), crossed: 0 }
    }

    /// Whether the next packet is lost.
    fn next(&mut self) -> bool {
        self.crossed += 1;
        self.numbers.contains(&(self.crossed - 1))
    }
}

/// Where the order of simultaneous events matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Queue,
    AckQueue,
    Sender(usize),
    Receiver(usize),
}

/// Two events of one place at the same instant of exact arithmetic.
#[derive(Clone, Copy, Debug)]
pub struct Tie {
    pub at_s: f64,
    pub place: Place,
}

enum What {
    Start(usize),
    Served(Hop),
    Arrive(Hop, Packet),
    SenderTimer(usize),
    ReceiverTimer(usize),
}

/// An event: its time by the clock, its number in the order of scheduling, its time, and its action.
struct Entry(u64, u64, Instant, What);

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// A timer: when it is due, and the number of the event for it.
#[derive(Clone, Copy)]
struct Timer {
    due: Time,
    number: u64,
}

impl Timer {
    const IDLE: Timer = Timer { due: Time::MAX, number: u64::MAX };
}

pub struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    sender_timer: Timer,
    receiver_timer: Timer,
    /// Tick of the clock that measures RTT.
    tick: Duration,
    /// Sum in seconds and number of RTTs: from the only transmission of a segment to the ACK that ends with it.
    pub rtt: (f64, u64),
    /// When each segment left; `None` when more than once.
    left: Vec<Option<Time>>,
    pub drops: u64,
    /// (time, cwnd) whenever the window changed.
    pub windows: Vec<(f64, f64)>,
}

pub struct Dumbbell {
    links: BTreeMap<Hop, Link>,
    flows: Vec<Flow>,
    heap: BinaryHeap<Reverse<Entry>>,
    scheduled: u64,
    clock: Clock,
    now: Instant,
    to_lose: Losses,
    acks_to_lose: Losses,
    transfer: Option<u32>,
    starts: Vec<Instant>,
    ack_delay_s: f64,
    pub events: BTreeMap<&'static str, Vec<Event>>,
    /// By the exact clock.
    pub ties: Vec<Tie>,
    /// Where the events at the present instant were.
    touched: (Time, Vec<Place>),
}

/// What a run leaves.
pub struct Outcome {
    pub flows: Vec<Flow>,
    pub events: BTreeMap<&'static str, Vec<Event>>,
    pub ties: Vec<Tie>,
}

impl Dumbbell {
    pub fn new(case: &Case, configs: &[TcpConfig], clock: Clock) -> Dumbbell {
        let mut links = BTreeMap::new();
        let access = |limit| Link {
            serialiser: Serialiser::new(Rate::from_bps(case.access_bps).expect("a rate")),
            bps: case.access_bps as f64,
            delay: Duration::from_secs_f64(case.access_delay_s),
            delay_s: case.access_delay_s,
            limit,
            waiting: VecDeque::new(),
            busy: false,
        };
        let bottleneck = || Link {
            serialiser: Serialiser::new(Rate::from_bps(case.bottleneck_bps).expect("a rate")),
            bps: case.bottleneck_bps as f64,
            delay: Duration::from_secs_f64(case.bottleneck_delay_s),
            delay_s: case.bottleneck_delay_s,
            // ns-2 drops when limit − 1 packets wait, whether or not one is in service.
            limit: Some(case.limit_packets - 1),
            waiting: VecDeque::new(),
            busy: false,
        };
        links.insert(Hop::Bottleneck, bottleneck());
        links.insert(Hop::AckBottleneck, bottleneck());
        let mut flows = Vec::new();
        let phases = ns2_tick_phases(1, &configs.iter().collect::<Vec<_>>());
        for (i, config) in configs.iter().enumerate() {
            for hop in [Hop::Out(i), Hop::In(i), Hop::AckOut(i), Hop::AckIn(i)] {
                links.insert(hop, access(None));
            }
            let mut config = config.clone();
            if config.options.ns2.tick_phase == TickPhase::Ns2 {
                Arc::make_mut(&mut config.options).ns2.tick_phase = TickPhase::Share(phases[i]);
            }
            let config = &config;
            flows.push(Flow {
                sender: Sender::new(config, Stream::new(1, &i.to_string(), "tick")),
                receiver: Receiver::new(config),
                sender_timer: Timer::IDLE,
                receiver_timer: Timer::IDLE,
                tick: config.options.tick,
                rtt: (0.0, 0),
                left: Vec::new(),
                drops: 0,
                windows: Vec::new(),
            });
        }
        let random = ns2_random_losses(Ns2Losses {
            seed: 1,
            drawn: configs.iter().map(|config| ns2_numbers_drawn(config.recovery)).sum(),
            probability: case.random_loss.unwrap_or(0.0),
            packets: 200_000,
        });
        let random = random.into_iter().map(|number| number as u32);
        Dumbbell {
            links,
            flows,
            heap: BinaryHeap::new(),
            scheduled: 0,
            clock,
            now: Instant::ZERO,
            to_lose: Losses::of(case.lost_packets.iter().copied().chain(random)),
            acks_to_lose: Losses::of(case.lost_acks.iter().copied()),
            transfer: case.transfer_packets,
            starts: case.starts_s.iter().map(|&s| Instant::from_secs(s)).collect(),
            ack_delay_s: case.delayed_ack_s.unwrap_or(0.0),
            events: BTreeMap::new(),
            ties: Vec::new(),
            touched: (Time::ZERO, Vec::new()),
        }
    }

    /// Runs to `until`.
    pub fn run(mut self, until_s: f64) -> Outcome {
        for flow in 0..self.flows.len() {
            self.schedule(self.starts[flow], What::Start(flow));
        }
        let until = Instant::from_secs(until_s).rank(self.clock);
        while let Some(Reverse(Entry(rank, number, at, what))) = self.heap.pop() {
            if rank > until {
                break;
            }
            self.now = at.shown(self.clock);
            self.note_tie(number, &what);
            self.happen(number, what);
        }
        Outcome { flows: self.flows, events: self.events, ties: self.ties }
    }

    /// The number of the event.
    fn schedule(&mut self, at: Instant, what: What) -> u64 {
        self.scheduled += 1;
        self.heap.push(Reverse(Entry(at.rank(self.clock), self.scheduled, at, what)));
        self.scheduled
    }

    /// Whether a timer's event still counts.
    fn is_due(&self, number: u64, what: &What) -> bool {
        match *what {
            What::SenderTimer(flow) => self.flows[flow].sender_timer.number == number,
            What::ReceiverTimer(flow) => self.flows[flow].receiver_timer.number == number,
            _ => true,
        }
    }

    /// Takes note of an event at an instant and a place at which there was one already.
    fn note_tie(&mut self, number: u64, what: &What) {
        let place = match *what {
            What::Served(Hop::Bottleneck) | What::Arrive(Hop::Out(_), _) => Place::Queue,
            What::Served(Hop::AckBottleneck) | What::Arrive(Hop::AckOut(_), _) => Place::AckQueue,
            What::Arrive(Hop::In(flow), _) | What::ReceiverTimer(flow) => Place::Receiver(flow),
            What::Arrive(Hop::AckIn(flow), _) | What::SenderTimer(flow) => Place::Sender(flow),
            _ => return,
        };
        if !self.is_due(number, what) {
            return;
        }
        if self.touched.0 != self.now.exact {
            self.touched = (self.now.exact, Vec::new());
        }
        if self.touched.1.contains(&place) {
            self.ties.push(Tie { at_s: self.now.exact.as_secs_f64(), place });
        }
        self.touched.1.push(place);
    }

    fn record(&mut self, kind: &'static str, packet: &Packet) {
        let seq = match packet.content {
            Content::Data { segment, .. } => segment.seq.into(),
            Content::Ack(ack) => i64::from(ack.next) - 1,
        };
        let event = Event { time_s: self.now.seconds(self.clock), flow: packet.flow, seq };
        self.events.entry(kind).or_default().push(event);
    }

    fn happen(&mut self, number: u64, what: What) {
        if !self.is_due(number, &what) {
            return;
        }
        match what {
            What::Start(flow) => {
                let supply = self.transfer.map_or(Supply::Unlimited, Supply::Segments);
                self.flows[flow].sender.supply(self.now.exact, supply);
                self.flows[flow].sender.open(self.now.exact);
                self.pump(flow);
            }
            What::Served(hop) => self.served(hop),
            What::Arrive(hop, packet) => self.arrive(hop, packet),
            // The double may be a nanosecond short.
            What::SenderTimer(flow) => {
                self.now.exact = self.now.exact.max(self.flows[flow].sender_timer.due);
                self.flows[flow].sender_timer = Timer::IDLE;
                self.flows[flow].sender.on_timeout(self.now.exact);
                self.pump(flow);
            }
            What::ReceiverTimer(flow) => {
                self.now.exact = self.now.exact.max(self.flows[flow].receiver_timer.due);
                self.flows[flow].receiver_timer = Timer::IDLE;
                self.flows[flow].receiver.on_timeout(self.now.exact);
                self.answer(flow);
            }
        }
    }

    /// A packet comes to the queue of a link.
    fn offer(&mut self, hop: Hop, packet: Packet) {
        if hop == Hop::Bottleneck {
            self.record("enq", &packet);
        }
        let link = self.links.get_mut(&hop).expect("a link");
        if link.limit.is_some_and(|limit| link.waiting.len() >= limit) {
            if hop == Hop::Bottleneck {
                self.record("drop", &packet);
                self.flows[packet.flow].drops += 1;
            }
            return;
        }
        link.waiting.push_back(packet);
        if !link.busy {
            self.serve(hop);
        }
    }

    fn serve(&mut self, hop: Hop) {
        let link = self.links.get_mut(&hop).expect("a link");
        let Some(packet) = link.waiting.pop_front() else { return };
        link.busy = true;
        let served = link.serialiser.next(packet.size());
        // ns-2 adds what the packet takes and the delay first, then both to its clock.
        let taken_s = 8.0 * f64::from(packet.size()) / link.bps;
        let (end, far) = (
            Span { exact: served, double_s: taken_s },
            Span { exact: served + link.delay, double_s: taken_s + link.delay_s },
        );
        if hop == Hop::Bottleneck {
            self.record("deq", &packet);
        }
        self.schedule(self.now + far, What::Arrive(hop, packet));
        self.schedule(self.now + end, What::Served(hop));
    }

    fn served(&mut self, hop: Hop) {
        self.links.get_mut(&hop).expect("a link").busy = false;
        self.serve(hop);
    }

    /// A packet reaches the far end of a link.
    fn arrive(&mut self, hop: Hop, packet: Packet) {
        let flow = packet.flow;
        match hop {
            Hop::Out(_) => self.offer(Hop::Bottleneck, packet),
            Hop::Bottleneck => {
                if self.to_lose.next() {
                    self.record("loss", &packet);
                } else {
                    self.record("rcv", &packet);
                    self.offer(Hop::In(flow), packet);
                }
            }
            Hop::In(_) => {
                if let Content::Data { segment, sent_at } = packet.content {
                    self.flows[flow].receiver.on_segment(self.now.exact, &segment, sent_at);
                    self.answer(flow);
                }
            }
            Hop::AckOut(_) => self.offer(Hop::AckBottleneck, packet),
            Hop::AckBottleneck if self.acks_to_lose.next() => {}
            Hop::AckBottleneck => self.offer(Hop::AckIn(flow), packet),
            Hop::AckIn(_) => {
                self.record("ack", &packet);
                if let Content::Ack(ack) = packet.content {
                    let now = self.now.exact;
                    let f = &mut self.flows[flow];
                    if ack.next > f.sender.unacknowledged()
                        && let Some(left) = f.left[ack.next as usize - 1]
                    {
                        f.rtt.0 += now.since(left).as_secs_f64();
                        f.rtt.1 += 1;
                    }
                    f.sender.on_ack(now, &ack);
                    self.pump(flow);
                }
            }
        }
    }

    fn pump(&mut self, flow: usize) {
        let now = self.now.exact;
        while let Some(segment) = self.flows[flow].sender.poll_transmit(now) {
            let left = &mut self.flows[flow].left;
            match left.get_mut(segment.seq as usize) {
                Some(entry) => *entry = None,
                None => left.push(Some(now)),
            }
            let content = Content::Data { segment, sent_at: now };
            self.offer(Hop::Out(flow), Packet { flow, content });
        }
        let Snapshot { cwnd, .. } = self.flows[flow].sender.snapshot();
        let f = &mut self.flows[flow];
        if f.windows.last().is_none_or(|last| last.1 != cwnd) {
            f.windows.push((now.as_secs_f64(), cwnd));
        }
        let due = f.sender.next_timeout();
        if due != f.sender_timer.due {
            let span = Span::of_ticks(due.since(now), f.tick);
            let timer = self.set_timer(due, span, What::SenderTimer(flow));
            self.flows[flow].sender_timer = timer;
        }
    }

    fn set_timer(&mut self, due: Time, span: Span, what: What) -> Timer {
        if due == Time::MAX {
            return Timer::IDLE;
        }
        let number = self.schedule(Instant { exact: due, ..self.now + span }, what);
        Timer { due, number }
    }

    fn answer(&mut self, flow: usize) {
        while let Some(ack) = self.flows[flow].receiver.poll_ack(self.now.exact) {
            self.offer(Hop::AckOut(flow), Packet { flow, content: Content::Ack(ack) });
        }
        let f = &self.flows[flow];
        let due = f.receiver.next_timeout();
        if due != f.receiver_timer.due {
            let span = Span::from_secs(self.ack_delay_s);
            let timer = self.set_timer(due, span, What::ReceiverTimer(flow));
            self.flows[flow].receiver_timer = timer;
        }
    }
}
