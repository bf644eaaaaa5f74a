//! A dumbbell small enough to be right by reading: store-and-forward links, unlimited access queues, a
//! DropTail bottleneck that counts as ns-2 does, ACKs over the same path back.

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
    delay: Duration,
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

enum What {
    Start(usize),
    Served(Hop),
    Arrive(Hop, Packet),
    SenderTimer(usize),
    ReceiverTimer(usize),
}

struct Entry(Time, u64, What);

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

pub struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    sender_timer: Time,
    receiver_timer: Time,
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
    now: Time,
    to_lose: Losses,
    acks_to_lose: Losses,
    transfer: Option<u32>,
    starts: Vec<Time>,
    pub events: BTreeMap<&'static str, Vec<Event>>,
}

impl Dumbbell {
    pub fn new(case: &Case, configs: &[TcpConfig]) -> Dumbbell {
        let mut links = BTreeMap::new();
        let access = |limit| Link {
            serialiser: Serialiser::new(Rate::from_bps(case.access_bps).expect("a rate")),
            delay: Duration::from_secs_f64(case.access_delay_s),
            limit,
            waiting: VecDeque::new(),
            busy: false,
        };
        let bottleneck = || Link {
            serialiser: Serialiser::new(Rate::from_bps(case.bottleneck_bps).expect("a rate")),
            delay: Duration::from_secs_f64(case.bottleneck_delay_s),
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
            if config.options.tick_phase == TickPhase::Ns2 {
                Arc::make_mut(&mut config.options).tick_phase = TickPhase::Share(phases[i]);
            }
            let config = &config;
            flows.push(Flow {
                sender: Sender::new(config, Stream::new(1, &i.to_string(), "tick")),
                receiver: Receiver::new(config),
                sender_timer: Time::MAX,
                receiver_timer: Time::MAX,
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
            now: Time::ZERO,
            to_lose: Losses::of(case.lost_packets.iter().copied().chain(random)),
            acks_to_lose: Losses::of(case.lost_acks.iter().copied()),
            transfer: case.transfer_packets,
            starts: case.starts_s.iter().map(|&s| Time::from_secs_f64(s)).collect(),
            events: BTreeMap::new(),
        }
    }

    /// Runs to `until` and returns the flows.
    pub fn run(mut self, until_s: f64) -> (Vec<Flow>, BTreeMap<&'static str, Vec<Event>>) {
        for flow in 0..self.flows.len() {
            self.schedule(self.starts[flow], What::Start(flow));
        }
        let until = Time::from_secs_f64(until_s);
        while let Some(Reverse(Entry(time, _, what))) = self.heap.pop() {
            if time > until {
                break;
            }
            self.now = time;
            self.happen(what);
        }
        (self.flows, self.events)
    }

    fn schedule(&mut self, time: Time, what: What) {
        self.scheduled += 1;
        self.heap.push(Reverse(Entry(time, self.scheduled, what)));
    }

    fn record(&mut self, kind: &'static str, packet: &Packet) {
        let seq = match packet.content {
            Content::Data { segment, .. } => segment.seq.into(),
            Content::Ack(ack) => i64::from(ack.next) - 1,
        };
        let event = Event { time_s: self.now.as_secs_f64(), flow: packet.flow, seq };
        self.events.entry(kind).or_default().push(event);
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Start(flow) => {
                let supply = self.transfer.map_or(Supply::Unlimited, Supply::Segments);
                self.flows[flow].sender.supply(self.now, supply);
                self.flows[flow].sender.open(self.now);
                self.pump(flow);
            }
            What::Served(hop) => self.served(hop),
            What::Arrive(hop, packet) => self.arrive(hop, packet),
            What::SenderTimer(flow) => {
                if self.flows[flow].sender.next_timeout() == self.now {
                    self.flows[flow].sender.on_timeout(self.now);
                    self.pump(flow);
                }
            }
            What::ReceiverTimer(flow) => {
                if self.flows[flow].receiver.next_timeout() == self.now {
                    self.flows[flow].receiver.on_timeout(self.now);
                    self.answer(flow);
                }
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
        let (end, delay) = (self.now + served, link.delay);
        if hop == Hop::Bottleneck {
            self.record("deq", &packet);
        }
        self.schedule(end + delay, What::Arrive(hop, packet));
        self.schedule(end, What::Served(hop));
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
                    self.flows[flow].receiver.on_segment(self.now, &segment, sent_at);
                    self.answer(flow);
                }
            }
            Hop::AckOut(_) => self.offer(Hop::AckBottleneck, packet),
            Hop::AckBottleneck if self.acks_to_lose.next() => {}
            Hop::AckBottleneck => self.offer(Hop::AckIn(flow), packet),
            Hop::AckIn(_) => {
                self.record("ack", &packet);
                if let Content::Ack(ack) = packet.content {
                    let now = self.now;
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
        while let Some(segment) = self.flows[flow].sender.poll_transmit(self.now) {
            let left = &mut self.flows[flow].left;
            match left.get_mut(segment.seq as usize) {
                Some(entry) => *entry = None,
                None => left.push(Some(self.now)),
            }
            let content = Content::Data { segment, sent_at: self.now };
            self.offer(Hop::Out(flow), Packet { flow, content });
        }
        let Snapshot { cwnd, .. } = self.flows[flow].sender.snapshot();
        let now = self.now;
        let f = &mut self.flows[flow];
        if f.windows.last().is_none_or(|last| last.1 != cwnd) {
            f.windows.push((now.as_secs_f64(), cwnd));
        }
        let next = f.sender.next_timeout();
        if next != f.sender_timer && next != Time::MAX {
            f.sender_timer = next;
            self.schedule(next, What::SenderTimer(flow));
        }
    }

    fn answer(&mut self, flow: usize) {
        while let Some(ack) = self.flows[flow].receiver.poll_ack(self.now) {
            self.offer(Hop::AckOut(flow), Packet { flow, content: Content::Ack(ack) });
        }
        let next = self.flows[flow].receiver.next_timeout();
        if next != self.flows[flow].receiver_timer && next != Time::MAX {
            self.flows[flow].receiver_timer = next;
            self.schedule(next, What::ReceiverTimer(flow));
        }
    }
}
