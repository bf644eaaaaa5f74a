//! Snoop (Balakrishnan, Seshan, Amir and Katz 1995; `algorithms.md` §3.2): a node in front of a lossy link keeps the
//! data that it forwards, sends again what duplicate ACKs or its own timer say is lost, and keeps these ACKs from the
//! sender.
//!
//! - Data: new ones are kept and forwarded. A packet that the sender retransmits starts anew here. A packet below the
//!   highest that was not kept was lost before this node, by congestion: its duplicate ACKs go to the sender.
//! - ACKs: a new one frees what it acknowledges. The first duplicate sends the missing packet again, and as many as
//!   packets are behind it that have passed before are expected and suppressed. One more says that the repetition is
//!   lost.
//! - The timer is max(100 ms, srtt + 4 rttvar), both with a weight of 0.8 for the old value, as in ns-2.
//! - Nothing is kept while the queue ahead is full, so that congestion stays the sender's business.
//!
//! Deviation: ns-2 lets the first duplicate pass and repeats at the second; its weight of 0.8 in srtt is that of the
//! new value in rttvar. A repetition goes behind what waits, without priority. Selective reports are suppressed with
//! their ACKs.

use super::Agents;
use super::config::SnoopOptions;
use crate::packet::Packet;
use crate::simulation::Simulation;
use skyhop_base::{Duration, Index, Time};
use skyhop_topology::NodeId;
use std::collections::BTreeMap;

/// Weight of the old value in both averages (`algorithms.md` §3.2).
const OLD_WEIGHT: f64 = 0.8;

/// The timer before anything was measured (RFC 6298 §2.1).
const INITIAL_TIMER: Duration = Duration::from_secs(1);

/// Copies that a node sends are numbered from here on, apart from those of the sender: each has an outcome of its own.
pub(crate) const COPIES: u32 = 1 << 31;

/// Whether a packet was sent by a node that keeps data, not by its source.
pub(crate) fn is_copy(packet: &Packet) -> bool {
    packet.number & COPIES != 0
}

/// A packet that was forwarded and is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Kept {
    packet: Packet,
    sent: Time,
    /// Count of packets forwarded at this node when this one last left.
    order: u64,
    /// How often it was sent again from here.
    again: u32,
    /// The sender has sent it again, or before this node something was lost: its duplicate ACKs are the sender's.
    of_sender: bool,
}

/// One connection as its node sees it.
#[derive(Clone, Debug, Default)]
struct Connection {
    kept: BTreeMap<u32, Kept>,
    /// One past the highest segment seen.
    high: u32,
    /// The next segment that the receiver expects, as far as it said.
    acknowledged: u32,
    /// Duplicate ACKs that are still to be suppressed.
    expected: u32,
    order: u64,
    /// Smoothed round trip behind this node and its deviation, in seconds.
    measured: Option<(f64, f64)>,
    timer: Option<Time>,
}

/// What becomes of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckAction {
    Forward,
    Suppress,
    /// The packet leaves again instead.
    Repeat(Packet),
}

impl Connection {
    fn timeout(&self, config: &SnoopOptions) -> Duration {
        let (srtt, deviation) = match self.measured {
            None => return INITIAL_TIMER.max(config.timer),
            Some(measured) => measured,
        };
        Duration::from_secs_f64(srtt + 4.0 * deviation).max(config.timer)
    }

    fn measure(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        self.measured = Some(match self.measured {
            // RFC 6298 §2.2.
            None => (rtt, rtt / 2.0),
            Some((srtt, deviation)) => {
                let srtt = OLD_WEIGHT * srtt + (1.0 - OLD_WEIGHT) * rtt;
                (srtt, OLD_WEIGHT * deviation + (1.0 - OLD_WEIGHT) * (rtt - srtt).abs())
            }
        });
    }

    fn restart_timer(&mut self, now: Time, config: &SnoopOptions) {
        let timeout = self.timeout(config);
        self.timer = (!self.kept.is_empty()).then(|| now + timeout);
    }

    /// Data pass. `room`: the queue ahead would take another.
    fn on_data(&mut self, now: Time, packet: &Packet, room: Room, config: &SnoopOptions) {
        let seq = packet.seq;
        if seq < self.acknowledged {
            return;
        }
        self.order += 1;
        let order = self.order;
        if let Some(kept) = self.kept.get_mut(&seq) {
            *kept = Kept { packet: *packet, sent: now, order, again: 0, of_sender: true };
            if seq == self.acknowledged {
                self.expected = 0;
                self.restart_timer(now, config);
            }
        } else if room == Room::Some && self.kept.len() < config.packets as usize {
            let of_sender = seq < self.high;
            self.kept.insert(seq, Kept { packet: *packet, sent: now, order, again: 0, of_sender });
            if self.timer.is_none() {
                self.restart_timer(now, config);
            }
        }
        self.high = self.high.max(seq + 1);
    }

    fn on_ack(&mut self, now: Time, next: u32, config: &SnoopOptions) -> AckAction {
        if next < self.acknowledged {
            return AckAction::Forward;
        }
        if next > self.acknowledged {
            let left = self.kept.split_off(&next);
            let freed = std::mem::replace(&mut self.kept, left);
            // Karn: what was sent twice measures nothing.
            if let Some(last) = freed.values().next_back().filter(|kept| kept.again == 0 && !kept.of_sender) {
                self.measure(now.since(last.sent));
            }
            (self.acknowledged, self.expected) = (next, 0);
            self.restart_timer(now, config);
            return AckAction::Forward;
        }
        let Some(kept) = self.kept.get(&next).filter(|kept| !kept.of_sender) else { return AckAction::Forward };
        if self.expected > 0 {
            self.expected -= 1;
            return AckAction::Suppress;
        }
        if kept.again >= config.repeats {
            return AckAction::Forward;
        }
        // This one is of the first packet behind it that has arrived since.
        AckAction::Repeat(self.repeat(now, next, 1, config))
    }

    /// Sends again what `next` is; `seen` duplicate ACKs of its present absence have come.
    fn repeat(&mut self, now: Time, next: u32, seen: u32, config: &SnoopOptions) -> Packet {
        let last = self.kept[&next].order;
        let behind = self.kept.range(next + 1..).filter(|(_, kept)| kept.order > last).count() as u32;
        self.expected = behind.saturating_sub(seen);
        self.order += 1;
        let order = self.order;
        let timeout = self.timeout(config);
        self.timer = Some(now + timeout);
        match self.kept.get_mut(&next) {
            Some(kept) => {
                (kept.sent, kept.order, kept.again) = (now, order, kept.again + 1);
                kept.packet
            }
            None => unreachable!("the caller has seen it"),
        }
    }

    /// The time of the timer has come.
    fn on_timer(&mut self, now: Time, config: &SnoopOptions) -> Option<Packet> {
        self.timer = None;
        let next = self.acknowledged;
        let kept = self.kept.get(&next)?;
        if kept.again >= config.repeats {
            return None;
        }
        Some(self.repeat(now, next, 0, config))
    }
}

/// Whether the queue ahead would take another packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Some,
    None,
}

/// The helper at a node.
pub(super) struct Snoop {
    node: u32,
    config: SnoopOptions,
    connections: BTreeMap<u32, Connection>,
    copies: u32,
}

impl Snoop {
    pub(super) fn new(node: NodeId, config: &SnoopOptions) -> Snoop {
        Snoop { node: node.as_u32(), config: config.clone(), connections: BTreeMap::new(), copies: COPIES }
    }

    fn next_timer(&self) -> Option<Time> {
        self.connections.values().filter_map(|connection| connection.timer).min()
    }
}

impl Agents {
    fn next_timer(&self) -> Option<Time> {
        self.snoops.iter().filter_map(Snoop::next_timer).min()
    }
}

/// Whether a packet goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnoopOutcome {
    On,
    /// It ends here and is accounted for.
    Ends,
}

impl Simulation {
    /// A packet comes through the node of a helper that keeps data.
    pub(super) fn snoop(&mut self, packet: &Packet) -> SnoopOutcome {
        let now = self.now;
        let Some(index) = self.agents.snoops.iter().position(|snoop| snoop.node == packet.to) else {
            return SnoopOutcome::On;
        };
        if !self.is_of_connection(packet) {
            return SnoopOutcome::On;
        }
        // What ends here passes nothing.
        let (source, to) = self.data_ends(packet.flow as usize);
        if packet.to == source || packet.to == to.node {
            return SnoopOutcome::On;
        }
        let room = if packet.is_ack() { Room::None } else { self.room_ahead(packet) };
        let Snoop { config, connections, .. } = &mut self.agents.snoops[index];
        let connection = connections.entry(packet.flow).or_default();
        let verdict = if packet.is_ack() {
            connection.on_ack(now, packet.seq, config)
        } else {
            connection.on_data(now, packet, room, config);
            AckAction::Forward
        };
        match verdict {
            AckAction::Forward => {}
            AckAction::Suppress => self.absorb(packet),
            AckAction::Repeat(copy) => {
                self.absorb(packet);
                self.send_copy(index, copy);
            }
        }
        self.arm_agents();
        if verdict == AckAction::Forward { SnoopOutcome::On } else { SnoopOutcome::Ends }
    }

    /// Whether the link that data leave a node by has room.
    fn room_ahead(&mut self, packet: &Packet) -> Room {
        let (_, to) = self.data_ends(packet.flow as usize);
        let Some(hop) = self.forwarding.next_hop(to.index as usize, NodeId::new(packet.to)) else { return Room::None };
        if self.links[hop.link.index()].link.is_full(&self.pool, self.now, packet.size) {
            Room::None
        } else {
            Room::Some
        }
    }

    fn absorb(&mut self, packet: &Packet) {
        self.agents.totals.delivered += 1;
        if packet.detail != Packet::NO_DETAIL {
            self.ack_details.take(packet.detail);
        }
    }

    fn send_copy(&mut self, index: usize, mut packet: Packet) {
        let snoop = &mut self.agents.snoops[index];
        packet.number = snoop.copies;
        snoop.copies = snoop.copies.wrapping_add(1) | COPIES;
        let node = snoop.node;
        self.agents.totals.sent += 1;
        self.forward_from(node, packet);
    }

    fn arm_agents(&mut self) {
        let slot = self.slots.agents();
        match self.agents.next_timer() {
            Some(time) => self.events.arm(slot, time, self.now),
            None => self.events.disarm(slot),
        }
    }

    /// The timer of a helper may have run out.
    #[cold]
    pub(crate) fn on_agents(&mut self) {
        let now = self.now;
        for index in 0..self.agents.snoops.len() {
            let Snoop { config, connections, .. } = &mut self.agents.snoops[index];
            let due = connections.values_mut().filter(|connection| connection.timer.is_some_and(|timer| timer <= now));
            let copies: Vec<Packet> = due.filter_map(|connection| connection.on_timer(now, config)).collect();
            copies.into_iter().for_each(|copy| self.send_copy(index, copy));
        }
        self.arm_agents();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    fn data(seq: u32) -> Packet {
        let flags = Flags::NONE;
        Packet { stamp: Time::ZERO, flow: 0, seq, number: seq, detail: 960, to: 0, size: 1000, ttl: 64, flags }
    }

    /// A connection whose segments 0 to `until` have passed, one per ms, and of which 0 is acknowledged at 100 ms.
    fn passed(until: u32, config: &SnoopOptions) -> Connection {
        let mut connection = Connection::default();
        (0..until).for_each(|seq| connection.on_data(ms(seq.into()), &data(seq), Room::Some, config));
        assert_eq!(connection.on_ack(ms(100), 1, config), AckAction::Forward);
        connection
    }

    #[test]
    fn the_first_duplicate_repeats_and_those_expected_are_suppressed() {
        let config = SnoopOptions::default();
        let mut connection = passed(6, &config);
        // 1 is lost; 2 to 5 make four duplicates.
        let mut duplicate = |at| connection.on_ack(ms(at), 1, &config);
        assert_eq!(duplicate(102), AckAction::Repeat(data(1)));
        assert_eq!([duplicate(103), duplicate(104), duplicate(105)], [AckAction::Suppress; 3]);
        // 6 leaves after the repetition: its duplicate says that the repetition is lost, and there is none more to
        // come.
        connection.on_data(ms(106), &data(6), Room::Some, &config);
        assert_eq!(connection.on_ack(ms(206), 1, &config), AckAction::Repeat(data(1)));
        assert_eq!(connection.expected, 0);
        assert_eq!(connection.on_ack(ms(310), 7, &config), AckAction::Forward);
        assert!(connection.kept.is_empty() && connection.timer.is_none());
        assert_eq!(connection.on_ack(ms(320), 3, &config), AckAction::Forward, "out of order");
    }

    #[test]
    fn what_congestion_took_or_the_sender_repeats_is_the_sender_s() {
        let config = SnoopOptions::default();
        let mut connection = passed(1, &config);
        // 1 never came here.
        connection.on_data(ms(101), &data(2), Room::Some, &config);
        assert_eq!(connection.on_ack(ms(200), 1, &config), AckAction::Forward);
        // The sender's repetition is kept, but its duplicates still go on.
        connection.on_data(ms(300), &data(1), Room::Some, &config);
        assert_eq!(connection.on_ack(ms(310), 1, &config), AckAction::Forward);
        // Nor is anything kept that a full queue may drop, or beyond the room for packets.
        connection.on_ack(ms(400), 3, &config);
        connection.on_data(ms(410), &data(3), Room::None, &config);
        assert_eq!(connection.on_ack(ms(500), 3, &config), AckAction::Forward);
        let few = SnoopOptions { packets: 2, ..config };
        assert_eq!(passed(6, &few).kept.len(), 1, "0 and 1 were kept, 0 is acknowledged");
    }

    #[test]
    fn the_timer_repeats_ten_times_and_then_gives_up() {
        let config = SnoopOptions::default();
        let mut connection = passed(3, &config);
        // One sample of 100 ms: 100 + 4 · 50 ms after the ACK.
        assert_eq!(connection.timer, Some(ms(400)));
        let mut count = 0;
        while let Some(at) = connection.timer {
            count += u32::from(connection.on_timer(at, &config) == Some(data(1)));
        }
        assert_eq!(count, config.repeats);
        assert_eq!(connection.on_ack(ms(99_000), 1, &config), AckAction::Forward, "it is given up");
    }

    #[test]
    fn round_trips_are_those_of_packets_that_were_sent_once() {
        let config = SnoopOptions::default();
        let mut connection = passed(4, &config);
        assert_eq!(connection.measured, Some((0.1, 0.05)));
        connection.on_ack(ms(102), 1, &config);
        connection.on_ack(ms(300), 2, &config);
        assert_eq!(connection.measured, Some((0.1, 0.05)), "1 was sent twice");
        connection.on_ack(ms(303), 4, &config);
        let (srtt, deviation) = connection.measured.unwrap();
        assert!((srtt - 0.14).abs() < 1e-12 && (deviation - (0.8 * 0.05 + 0.2 * 0.16)).abs() < 1e-12);
        // However short the path, the timer is not less than 100 ms.
        connection.measured = Some((0.001, 0.0));
        assert_eq!(connection.timeout(&config), Duration::from_millis(100));
    }
}
