//! Sender and receiver together over the path of a case, compared with its recording.

use super::judge::Point;
use super::receiver::{WAKE, receiver_config};
use super::sender::{
    Data, Difference, Ours, Window, Windows, compare, differs, first_difference, flags, note_window, sender_config,
};
use super::{Case, Packet, ReferenceError, SenderComparison, State};
use crate::path::{Crossing, Endpoint, Exchange, PathConfig, PathDirection};
use crate::receiver::{self, Receiver};
use crate::segment::Segment;
use crate::sender::{self, Sender};
use skyhop_base::{Duration, Time};

/// From connect() to the SYN, from the answer to the SYN to the first write, and from the time of a later write to its
/// first packet: medians over the recordings.
const CONNECT: Duration = Duration::from_micros(105);
const FIRST_WRITE: Duration = Duration::from_micros(136);
const WRITE: Duration = Duration::from_micros(48);
/// From a delivery to the answer of the sender's host and of the receiver's: medians over the recordings.
const TURNAROUND: [Duration; 2] = [Duration::from_micros(8), Duration::from_micros(20)];
/// How much later the sender's host answers that was idle: medians over the recordings. A processor that slept takes
/// time to wake.
const SENDER_WAKE: [(Duration, Duration); 4] = [
    (Duration::from_millis(10), Duration::from_micros(15)),
    (Duration::from_millis(70), Duration::from_micros(28)),
    (Duration::from_millis(100), Duration::from_micros(39)),
    (Duration::from_millis(500), Duration::from_micros(50)),
];
/// The sender's timestamp at time zero: far from 0, which reads as none.
const CLOCK: u32 = 1_000_000;

/// How both halves together and a recording agree.
#[derive(Clone, Debug, Default)]
pub struct BothComparison {
    pub sender: SenderComparison,
    /// The first ACK whose number or SACK blocks differ.
    pub acks: Option<Difference>,
    /// Every packet that entered our path.
    pub points: Vec<Point>,
}

impl BothComparison {
    pub fn is_equal(&self) -> bool {
        self.sender.is_equal() && self.acks.is_none()
    }
}

/// The sending host, and the windows that each ACK finds.
#[derive(Debug)]
struct Watched {
    host: sender::Host,
    windows: Vec<Window>,
    states: Vec<State>,
    by_timer: bool,
}

impl Endpoint for Watched {
    fn on_segment(&mut self, now: Time, segment: &Segment) {
        if !segment.syn {
            note_window(&mut self.windows, now, &self.host.sender);
        }
        self.by_timer = false;
        self.host.on_segment(now, segment);
    }

    fn on_timeout(&mut self, now: Time) {
        self.by_timer = true;
        self.host.on_timeout(now);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.host.next_timeout()
    }

    fn transmit(&mut self, now: Time) -> Option<Segment> {
        let segment = self.host.transmit(now);
        State::note(&mut self.states, now, &self.host.sender);
        segment
    }
}

/// Runs a case from its row alone, and compares. Times are shifted so that both SYNs leave at once.
pub fn compare_both(
    case: &Case,
    packets: &[Packet],
    recorded: &Windows,
    told: &[State],
) -> Result<BothComparison, ReferenceError> {
    let no_syn = ReferenceError::Trace { case: case.name.clone(), problem: "there is no SYN" };
    let syn = packets.iter().find(|p| p.direction == PathDirection::Data && p.segment.syn).ok_or(no_syn)?;
    let mut config = sender_config(case)?;
    config.timestamp_base = CLOCK;
    let mut sender = Sender::new(config);
    sender.record_states();
    let writes = case.writes.iter().map(|write| (write.at + WRITE, write.bytes));
    let host = sender::Host::new(sender, Time::ZERO + CONNECT, FIRST_WRITE, writes);
    let sender = Watched { host, windows: Vec::new(), states: Vec::new(), by_timer: false };
    let receiver = receiver::Host::new(Receiver::new(receiver_config(case)?), case.reader_pause);
    let path = PathConfig { turnaround: TURNAROUND, ..case.path.clone() };
    let mut exchange = Exchange::new(sender, receiver, path).with_wake([&SENDER_WAKE, &WAKE]);
    let mut crossings: Vec<Crossing> = Vec::new();
    exchange.run(Time::ZERO + case.duration, |crossing| crossings.push(*crossing));

    let shift = |at: Time| Time::ZERO + (at + syn.entered.since(Time::ZERO)).since(Time::ZERO + CONNECT);
    let mut highest = 1;
    let mut sent = Vec::new();
    for crossing in crossings.iter().filter(|c| c.direction == PathDirection::Data && c.segment.len > 0) {
        let segment = &crossing.segment;
        let again = segment.seq < highest;
        highest = highest.max(segment.end());
        // Timers fire at edges of the wheel, which nothing else hits to a nanosecond.
        let by_timer = case.timers.is_edge(crossing.entered);
        let at = shift(crossing.entered);
        sent.push(Data { at, seq: segment.seq, len: segment.len, again, by_timer, flags: flags(segment) });
    }
    let Watched { host, mut windows, mut states, .. } = exchange.pairs.remove(0).sender;
    windows.iter_mut().for_each(|window| window.at = shift(window.at));
    states.iter_mut().for_each(|state| state.at = shift(state.at));
    let changes: Vec<_> = host.sender.states().iter().map(|&(at, state)| (shift(at), state)).collect();
    let ours = Ours { sent: &sent, windows: &windows, changes: &changes, states, carry: true };
    let comparison = compare(case, packets, recorded, told, ours);
    let key = |segment: &Segment| (segment.ack, segment.sack);
    let ours: Vec<(Time, Segment)> =
        crossings.iter().filter(|c| c.direction == PathDirection::Ack).map(|c| (shift(c.entered), c.segment)).collect();
    let theirs: Vec<(Time, Segment)> =
        packets.iter().filter(|p| p.direction == PathDirection::Ack).map(|p| (p.entered, p.segment)).collect();
    let place = first_difference(&ours, &theirs, |a, b| key(&a.1) == key(&b.1));
    let acks = place.map(|place| differs(place, &ours, &theirs, |&(at, _)| at, ack_words));
    let mut points = comparison.points.clone();
    points.extend(ours.iter().map(|(at, segment)| Point::of_ack(*at, segment)));
    Ok(BothComparison { sender: comparison, acks, points })
}

fn ack_words((at, segment): &(Time, Segment)) -> String {
    let blocks: String = segment.sack.iter().map(|b| format!(" {}-{}", b.start as i64 - 1, b.end as i64 - 1)).collect();
    format!("{}{blocks} at {:.6}", segment.ack.map_or(-1, |ack| ack as i64 - 1), at.as_secs_f64())
}
