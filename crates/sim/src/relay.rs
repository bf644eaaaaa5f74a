//! Split connections (RFC 3135): a node on the path ends one TCP connection and begins another, with a buffer between.
//!
//! Each leg is a flow of the engine; the relay hands over what has arrived in order, holds back less than a full
//! segment while some are outstanding (RFC 896), and tells the leg before how much room is left: the ACKs carry a
//! window, and one more is sent when half of the buffer has become free after it was full (RFC 1122 §4.2.3.3).
//!
//! With a share (SaTPEP, `algorithms.md` §3.1) the legs of a proxy divide the rate of the link that they leave it by:
//! its rate less what others send, smoothed with a weight of 0.9 each smoothed round trip, over the legs that have
//! data. The rate counts packets only: no leg gets the part that frames and repairs take, or small packets would fill
//! the queue.

use crate::simulation::Simulation;
use skyhop_base::{Duration, Index, Rate};
use skyhop_cc::PathHint;
use skyhop_topology::NodeId;
use skyhop_transport::Supply;

/// Weight of the old load in the smoothed one (`algorithms.md` §3.1).
const SMOOTHING: f64 = 0.9;

impl Simulation {
    /// Data has arrived at the end of a leg.
    #[cold]
    pub(crate) fn relay(&mut self, id: u32) {
        let now = self.now;
        let Some(leg) = &self.flows[id as usize].leg else { return };
        let Some(after) = leg.after else { return };
        let mut leg_opened = leg.opened;
        let Some(tcp) = self.flows[id as usize].ends.tcp() else { return };
        let fresh = tcp.in_order_bytes().saturating_sub(leg.handed);
        let next = &mut self.flows[after as usize].ends;
        let full = next.full_segment();
        let idle = next.backlog_bytes() == 0;
        let portion = if idle && fresh < full { fresh } else { fresh - fresh % full };
        if !std::mem::replace(&mut leg_opened, true) {
            next.open(now);
            self.recorder.flow_event(now, after, "start", next.report());
        } else if portion == 0 {
            return;
        }
        next.supply(now, Supply::Bytes(portion));
        if let Some(leg) = &mut self.flows[id as usize].leg {
            leg.handed += portion;
            leg.opened = leg_opened;
        }
        self.after_source_input(after);
    }

    /// User bytes that the buffer behind a leg can still take.
    fn room(&self, id: u32) -> Option<u64> {
        let leg = self.flows[id as usize].leg.as_deref()?;
        let after = leg.after?;
        let tcp = self.flows[id as usize].ends.tcp()?;
        let next = &self.flows[after as usize].ends;
        let held = tcp.receiver.counters().payload_bytes.saturating_sub(leg.handed) + next.backlog_bytes();
        Some(leg.room.saturating_sub(held))
    }

    /// The window, in segments, that an ACK of a leg carries.
    pub(crate) fn window_of(&mut self, id: u32) -> Option<u32> {
        let room = self.room(id)?;
        let flow = &mut self.flows[id as usize];
        if let Some(leg) = &mut flow.leg {
            leg.told = room;
        }
        Some((room / flow.ends.full_segment().max(1)).min(u32::MAX.into()) as u32)
    }

    /// ACKs have come back to a leg's sender: its buffer has more room, and its share may be due.
    #[cold]
    pub(crate) fn leg_acknowledged(&mut self, id: u32) {
        let Some(before) = self.flows[id as usize].leg.as_deref().and_then(|leg| leg.before) else { return };
        // Data that were less than a segment may leave now.
        self.relay(before);
        if let (Some(room), Some(leg)) = (self.room(before), self.flows[before as usize].leg.as_deref()) {
            let full = self.flows[before as usize].ends.full_segment();
            let step = (leg.room / 2).max(full);
            // It was told less than a segment, and now has much more.
            if leg.told < full.max(leg.room / 4) && room >= leg.told + step.min(leg.room) {
                self.tell_window(before);
            }
        }
        self.share(id);
    }

    /// An ACK that says nothing but how much room there is.
    fn tell_window(&mut self, id: u32) {
        let Some(window) = self.window_of(id) else { return };
        let Some(tcp) = self.flows[id as usize].ends.tcp() else { return };
        let (next, size) = (tcp.receiver.next_expected(), tcp.receiver.ack_size());
        let detail = crate::ack_details::AckDetail { window: Some(window), news: false, ..Default::default() };
        let detail = self.ack_details.keep(detail);
        self.send_ack_packet(id, next, size, detail);
    }

    /// Works out the share of a leg once per smoothed round trip.
    fn share(&mut self, id: u32) {
        let now = self.now;
        let (source, to) = self.data_ends(id as usize);
        let Some(mut share) = self.flows[id as usize].leg.as_deref().and_then(|leg| leg.share) else { return };
        let Some(rtt) = self.flows[id as usize].ends.report().and_then(|report| report.srtt) else { return };
        if share.updated.is_some_and(|at| now.since(at) < rtt) {
            return;
        }
        let Some(hop) = self.forwarding.next_hop(to.index as usize, NodeId::new(source)) else { return };
        let link = &self.links[hop.link.index()].link;
        let same = |other: &&crate::flow::Flow| other.leg.as_deref().is_some_and(|leg| leg.share.is_some());
        let (mut own_bytes, mut active) = (0, 0);
        for (other, flow) in self.flows.iter().enumerate().filter(|(_, flow)| same(flow)) {
            if self.data_ends(other).0 != source {
                continue;
            }
            own_bytes += flow.totals.sent_bytes;
            active += u32::from(other == id as usize || flow.ends.backlog_bytes() > 0);
        }
        let link_bytes = link.totals.bytes;
        if let Some(at) = share.updated {
            let others = (link_bytes - share.link_bytes).saturating_sub(own_bytes - share.own_bytes);
            let seconds = now.since(at).max(Duration::from_nanos(1)).as_secs_f64();
            share.load = SMOOTHING * share.load + (1.0 - SMOOTHING) * others as f64 * 8.0 / seconds;
        }
        (share.updated, share.link_bytes, share.own_bytes) = (Some(now), link_bytes, own_bytes);
        let rate = (link.packet_rate_bps() - share.load) / f64::from(active.max(1));
        let flow = &mut self.flows[id as usize];
        if let Some(leg) = &mut flow.leg {
            leg.share = Some(share);
        }
        if let Some(rate) = Rate::from_bps(rate.max(1.0) as u64) {
            flow.ends.on_path_hint(&PathHint::Assigned { rate });
        }
    }
}

impl Simulation {
    /// Data of a leg has arrived and was counted: on to the next leg, or to the application of the whole.
    #[cold]
    pub(crate) fn deliver_to_leg(&mut self, id: u32) {
        let ends = self.flows[id as usize].leg.as_deref().map_or([id; 2], |leg| leg.ends);
        if ends[1] == id {
            self.deliver_whole(ends);
        } else {
            self.relay(id);
        }
    }

    /// Data has arrived at the end of the last leg.
    fn deliver_whole(&mut self, [first, last]: [u32; 2]) {
        let now = self.now;
        let bytes = self.flows[last as usize].totals.bytes_delivered;
        let application = &mut self.flows[first as usize].application;
        let planned = application.next_event();
        let done = application.delivered(now, bytes);
        // Deviation: the source learns this at once, for no packet crosses all legs.
        application.confirmed(now);
        let moved = application.next_event() != planned;
        if let Some((transfer, is_last)) = done {
            self.recorder.transfer(now, last, &transfer);
            if is_last {
                for id in [first, last] {
                    self.flows[id as usize].completed = Some(now);
                    let report = self.flows[id as usize].ends.report();
                    self.recorder.flow_event(now, id, "complete", report);
                }
            }
        }
        if moved {
            self.arm_application(first);
        }
    }

    /// User bytes that have arrived where a flow, or the split connection that it begins, ends.
    pub(crate) fn delivered_in_all(&self, id: u32) -> u64 {
        let last = self.flows[id as usize].leg.as_deref().map_or(id, |leg| leg.ends[1]);
        self.flows[last as usize].totals.bytes_delivered
    }
}
