//! Takes down what happens. Nothing that runs ever reads it: recording more, less or not at all changes no packet.

use crate::application::Transfer;
use crate::byte_numbers::ByteNumbers;
use crate::flow::Flow;
use crate::host::endpoint::Report;
use crate::measure::{delivery_fraction, information_efficiency, jain, tcp_efficiency};
use crate::packet::Packet;
use crate::records::{
    CallSummary, Conservation, DropCause, DropRow, FlowEventRow, FlowSeriesRow, FlowSummary, HandoverRow,
    LinkSeriesRow, LinkSummary, MessageSummary, PacketEvent, PageRow, PathRow, PositionRow, Records, Total,
    TransferRow,
};
use crate::simulation::Simulation;
use crate::spec::SimulationSpec;
use skyhop_base::{Duration, Index, Time};
use skyhop_orbit::{Earth, GroundPoint};
use skyhop_topology::{Handover, NodeId, NodeKind, Topology};
use std::collections::BTreeMap;

/// Rows of the table of drops: 100 MB. A run in which more packets are lost keeps the first ones and counts the others.
pub(crate) const MOST_DROP_ROWS: usize = 2_000_000;

/// What the end of a run wants to know of a flow's rows in the table of paths.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowPaths {
    /// When its path changed last, and whether it has one since then.
    since: Time,
    has_path: bool,
    /// The part of its own time before then in which there was no path for its data.
    without: Duration,
    pub most_hops: usize,
}

pub(crate) struct Recorder {
    pub grid: Option<Duration>,
    pub positions: Option<Duration>,
    earth: Earth,
    /// Under this link the arrivals of ACKs are recorded: the first of those whose packets are.
    pub ack_link: Option<u32>,
    last_rtt: Vec<Option<Duration>>,
    /// Flows that have rows of their own: [`Simulation::own_flows`].
    own_flows: usize,
    /// The amount of each link used at the last grid point: [`crate::link::Link::used`].
    used_at_grid: Vec<u64>,
    /// Rows of the table of drops that are not in `records` any more.
    pub drops_taken: usize,
    /// The same of the table of pages.
    pub pages_taken: usize,
    /// Rows of pages that [`Simulation::take_rows`] has handed over, by workload: all of them loaded.
    pub pages_loaded: BTreeMap<u32, usize>,
    /// By flow.
    flow_paths: Vec<FlowPaths>,
    /// By flow, for Skyhop's own TCP where packets are recorded.
    pub numbers: BTreeMap<u32, ByteNumbers>,
    /// By flow, for those whose messages have a deadline: what has been judged so far.
    messages: BTreeMap<u32, MessageSummary>,
    pub records: Records,
}

impl Recorder {
    pub fn new(spec: &SimulationSpec, own_flows: usize, topology: &Topology) -> Recorder {
        let recorded = |link: &skyhop_topology::NetworkLink| spec.records.packets.contains(&link.name);
        Recorder {
            grid: spec.records.grid.filter(|step| !step.is_zero()),
            earth: spec.topology.earth,
            positions: spec.records.positions.filter(|step| !step.is_zero()),
            ack_link: topology.links().iter().position(recorded).map(|link| link as u32),
            last_rtt: vec![None; own_flows],
            own_flows,
            used_at_grid: vec![0; topology.links().len()],
            drops_taken: 0,
            pages_taken: 0,
            pages_loaded: BTreeMap::new(),
            flow_paths: vec![FlowPaths::default(); own_flows],
            numbers: BTreeMap::new(),
            messages: BTreeMap::new(),
            records: Records {
                flow_names: spec.flows.iter().map(|flow| flow.name.clone()).collect(),
                link_names: topology
                    .links()
                    .iter()
                    .map(|link| spec.labels.get(&link.name).unwrap_or(&link.name).clone())
                    .collect(),
                node_names: topology.nodes().iter().map(|node| node.name.clone()).collect(),
                ..Records::default()
            },
        }
    }

    pub fn drop(&mut self, time: Time, cause: DropCause, link: Option<u32>, node: u32, packet: &Packet) {
        if self.drops_taken + self.records.drops.len() >= MOST_DROP_ROWS {
            self.records.drops_left_out += 1;
            return;
        }
        self.records.drops.push(DropRow {
            time,
            cause,
            link,
            node,
            flow: packet.flow,
            seq: packet.seq,
            size_bytes: u32::from(packet.size),
            is_ack: packet.is_ack(),
        });
    }

    #[inline]
    pub fn rtt(&mut self, flow: u32, rtt: Duration) {
        if self.grid.is_some()
            && let Some(last) = self.last_rtt.get_mut(flow as usize)
        {
            *last = Some(rtt);
        }
    }

    /// The path of a flow has changed. `own` is the flow's start and stop.
    pub fn path(&mut self, row: PathRow, own: (Time, Time)) {
        let flow_paths = &mut self.flow_paths[row.flow as usize];
        flow_paths.without = flow_paths.without_until(row.time, own);
        (flow_paths.since, flow_paths.has_path) = (row.time, !row.nodes.is_empty());
        flow_paths.most_hops = flow_paths.most_hops.max(row.nodes.len().saturating_sub(1));
        self.records.paths.push(row);
    }

    pub fn flow_paths(&self, flow: usize) -> &FlowPaths {
        &self.flow_paths[flow]
    }

    /// Begins the next page's row; its number.
    pub fn page(&mut self, row: PageRow) -> usize {
        self.records.pages.push(row);
        self.pages_taken + self.records.pages.len() - 1
    }

    /// The row of a page that is not loaded.
    pub fn page_row(&mut self, number: usize) -> &mut PageRow {
        &mut self.records.pages[number - self.pages_taken]
    }

    /// Without a report there is no row: the source has no events.
    pub fn flow_event(&mut self, time: Time, flow: u32, event: &'static str, report: Option<Report>) {
        let Some(Report { cwnd, ssthresh, .. }) = report else { return };
        if flow as usize >= self.own_flows {
            return;
        }
        self.records.flow_events.push(FlowEventRow { time, flow, event, cwnd, ssthresh });
    }

    pub fn transfer(&mut self, time: Time, flow: u32, transfer: &Transfer) {
        let Transfer { number, bytes, begin } = *transfer;
        self.records.transfers.push(TransferRow { time, flow, number, bytes, begin, arrived: true });
    }

    /// Counts messages of flows, by rank, that have a deadline.
    pub fn expect_messages(&mut self, deadlines: impl Iterator<Item = Option<Duration>>) {
        let expected = (0..).zip(deadlines).filter_map(|(flow, deadline)| {
            Some((flow, MessageSummary { flow, deadline: deadline?, messages: 0, late: 0, lost: 0 }))
        });
        self.messages = expected.collect();
    }

    /// Counts the messages among `transfers` of which a run to `end` can tell whether they were in time.
    pub fn judge_messages(&mut self, transfers: &[TransferRow], end: Time) {
        for row in transfers {
            // Messages that were written too late to be judged do not count.
            let Some(summary) = self.messages.get_mut(&row.flow).filter(|it| row.begin + it.deadline <= end) else {
                continue;
            };
            summary.messages += 1;
            summary.late += u64::from(row.arrived && row.time.since(row.begin) > summary.deadline);
            summary.lost += u64::from(!row.arrived);
        }
    }

    pub fn handover(&mut self, handover: &Handover) {
        self.records.handovers.push(HandoverRow {
            time: handover.at,
            terminal: handover.terminal.as_u32(),
            from: handover.from.map(NodeId::as_u32),
            to: handover.to.map(NodeId::as_u32),
            elevation_deg: handover.elevation.degrees(),
            slant_range_km: handover.slant_range.km(),
            why: handover.why.words(),
            kind: handover.kind.name(),
            from_beam: handover.beams[0],
            to_beam: handover.beams[1],
        });
    }
}

impl FlowPaths {
    /// The part of the flow's own time up to an instant in which there was no path for its data. The first path is
    /// known from its row on.
    pub fn without_until(&self, until: Time, (start, stop): (Time, Time)) -> Duration {
        let last = if self.has_path { Duration::ZERO } else { until.min(stop).since(self.since.max(start)) };
        self.without + last
    }
}

/// The used share of `offered`; 0 where nothing was offered.
fn share(used: u64, offered: u64) -> f64 {
    debug_assert!(used <= offered, "more than all of a link: {used} of {offered}");
    if offered > 0 { used as f64 / offered as f64 } else { 0.0 }
}

impl Simulation {
    pub(crate) fn record_grid(&mut self) {
        let Some(step) = self.recorder.grid else { return };
        let (now, step_s) = (self.now, step.as_secs_f64());
        for (id, flow) in self.flows.iter_mut().enumerate().take(self.own_flows) {
            let report = flow.ends.report().unwrap_or_default();
            let totals = flow.totals;
            let before = std::mem::replace(&mut **flow.at_grid.get_or_insert_default(), totals);
            let bps = |bytes: u64| bytes as f64 * 8.0 / step_s;
            let arrivals = flow.meter.take_step();
            self.recorder.records.flow_series.push(FlowSeriesRow {
                time: now,
                flow: id as u32,
                cwnd: report.cwnd,
                inflation: report.inflation,
                ssthresh: report.ssthresh,
                in_flight: report.in_flight,
                phase: report.phase,
                rtt: self.recorder.last_rtt[id],
                srtt: report.srtt,
                rto: report.rto,
                pacing_bps: report.pacing_bps,
                delay_mean_s: arrivals.delay,
                jitter_mean_s: arrivals.jitter,
                interarrival_mean_s: arrivals.interarrival,
                goodput_bps: bps(totals.bytes_delivered - before.bytes_delivered),
                throughput_bps: bps(totals.wire_bytes - before.wire_bytes),
                received: totals.received - before.received,
                dropped: totals.drops.iter().sum::<u64>() - before.drops.iter().sum::<u64>(),
            });
        }
        for (id, state) in self.links.iter_mut().enumerate() {
            // A constellation has hundreds of links that never carry anything: their series say nothing. A link may
            // carry the answers of another one that repeats before its first packet.
            if state.link.totals.packets == 0 && state.link.totals.busy.is_zero() {
                continue;
            }
            let queue_packets = state.link.queue_packets(&self.pool, now);
            let used = state.link.used(now);
            let before = std::mem::replace(&mut self.recorder.used_at_grid[id], used);
            // Opportunities at the very start belong to the first step.
            let step_began = Time::ZERO + now.since(Time::ZERO + step);
            let offered_before = if step_began > Time::ZERO { state.link.offered(step_began) } else { 0 };
            let utilisation = share(used.saturating_sub(before), state.link.offered(now) - offered_before);
            let row = LinkSeriesRow { time: now, link: id as u32, queue_packets, utilisation };
            self.recorder.records.link_series.push(row);
        }
    }

    pub(crate) fn record_positions(&mut self) {
        let now = self.now;
        let earth = self.recorder.earth;
        for (id, node) in self.topology.nodes().enumerated() {
            if !matches!(node.kind, NodeKind::Satellite { .. }) {
                continue;
            }
            if let Some(position) = self.topology.position(id, now) {
                let below = GroundPoint::below(&earth, position);
                self.recorder.records.positions.push(PositionRow {
                    time: now,
                    node: id.as_u32(),
                    latitude_deg: below.latitude.degrees(),
                    longitude_deg: below.longitude.degrees(),
                    altitude_km: below.altitude.km(),
                });
            }
        }
    }

    /// Ends the run: sums up, checks that every packet is accounted for, hands the records over.
    pub fn finish(mut self) -> Records {
        self.record_begun();
        let rest = self.take_packets(Time::MAX);
        let records = &mut self.recorder.records;
        (records.packets, records.sack_ranges, records.stream_pieces) =
            (rest.packets, rest.sack_ranges, rest.stream_pieces);
        for (id, flow) in self.flows.iter().enumerate() {
            flow.updates.end(self.now, id as u32, &mut self.recorder.records.transfers);
        }
        let (calls, messages) = self.of_people();
        let flows: Vec<FlowSummary> = (0..self.own_flows).map(|id| self.flow_summary(id)).collect();
        let of_connections = self.flows.iter().zip(&flows).filter(|(flow, _)| is_last_leg(flow));
        let goodputs: Vec<f64> = of_connections.map(|(_, summary)| summary.goodput_bps).collect();
        let links = (0..self.links.len()).map(|id| self.link_summary(id)).collect();
        let conservation = self.conservation();
        let (warnings, total) = (self.warnings(&flows), self.total());
        debug_assert!(conservation.holds(), "packets unaccounted for: {conservation:?}");
        debug_assert_eq!(self.payloads.count(), self.payloads_due(), "payloads kept, and packets that carry one");
        let mut records = self.recorder.records;
        records.jain = jain(&goodputs);
        records.warnings = warnings;
        records.calls = calls;
        records.messages = messages;
        for (id, flow) in self.flows.iter().enumerate() {
            flow.application.record(id as u32, self.now, &mut records);
        }
        records.workloads = records.workload_summaries();
        records.total = total;
        records.flows = flows;
        records.links = links;
        records.conservation = conservation;
        records.packet_hops = self.packet_hops;
        records.events = self.event_count;
        records.end = self.now;
        records
    }

    /// What became of calls and of messages with a deadline.
    fn of_people(&mut self) -> (Vec<CallSummary>, Vec<MessageSummary>) {
        let end = self.now;
        let transfers = std::mem::take(&mut self.recorder.records.transfers);
        self.recorder.judge_messages(&transfers, end);
        self.recorder.records.transfers = transfers;
        let flows = self.flows.iter().enumerate();
        let calls = flows.filter_map(|(id, flow)| {
            let sent = flow.ends.counters().messages.map_or(flow.totals.sent, |messages| messages.written);
            Some(flow.call.as_ref()?.summary(id as u32, end, sent))
        });
        (calls.collect(), std::mem::take(&mut self.recorder.messages).into_values().collect())
    }

    /// Departures are written when a packet has arrived: those of packets still in flight are missing, and the
    /// order is that of writing.
    fn record_begun(&mut self) {
        let now = self.now;
        let recorded = self.links.iter().enumerate().filter(|(_, state)| state.recorded);
        let begun = recorded.flat_map(|(id, state)| {
            let begun = state.link.entries(&self.pool).filter(|entry| entry.start <= now);
            begun.map(move |entry| (id as u32, entry.start, entry.packet))
        });
        for (link, start, packet) in begun.collect::<Vec<_>>() {
            self.at_place(link.into());
            self.record_packet(start, link, PacketEvent::Dequeue, &packet);
        }
    }

    /// The same in a part of a run, before it is merged with the others.
    pub(crate) fn record_begun_of_part(&mut self) {
        self.after_last_event();
        self.record_begun();
        self.at_place(u64::MAX);
        self.links.iter_mut().for_each(|state| state.recorded = false);
    }

    fn flow_summary(&mut self, id: usize) -> FlowSummary {
        let (from, to) = self.data_ends(id);
        let flow = &mut self.flows[id];
        let (arrivals, rtt) = (flow.meter.distributions(), flow.rtt.distribution());
        let (start, stop) = (flow.application.start.min(self.now), flow.end(self.now));
        let own_s = stop.since(start).as_secs_f64();
        let at_stop = flow.at_stop.as_deref().unwrap_or(&flow.totals);
        let bps = |bytes: u64| if own_s > 0.0 { bytes as f64 * 8.0 / own_s } else { 0.0 };
        let totals = flow.totals;
        let counters = flow.ends.counters();
        FlowSummary {
            flow: id as u32,
            from,
            to: to.node,
            start,
            stop,
            completed: flow.completed,
            goodput_bps: bps(at_stop.bytes_delivered),
            throughput_bps: bps(at_stop.wire_bytes),
            packets_sent: totals.sent,
            packets_received: totals.received,
            packets_duplicate: totals.duplicate,
            retransmissions: counters.retransmissions,
            probes: counters.probes,
            timeouts: counters.timeouts,
            fast_retransmits: counters.fast_retransmits,
            cwnd_cuts: counters.cwnd_cuts,
            spurious_losses: counters.spurious_losses,
            data_blocked: counters.data_blocked,
            streams_blocked: counters.streams_blocked,
            messages: counters.messages,
            bytes_delivered: totals.bytes_delivered,
            drops: totals.drops,
            ack_drops: totals.ack_drops,
            delivery_fraction: delivery_fraction(&totals).unwrap_or(0.0),
            tcp_efficiency: tcp_efficiency(totals.sent_bytes, totals.resent_bytes),
            information_efficiency: information_efficiency(&totals),
            rtt,
            delay: arrivals.delay,
            jitter: arrivals.jitter,
            interarrival: arrivals.interarrival,
            cwnd_mean: flow.cwnd.map(|average| average.mean(stop)),
        }
    }

    fn total(&self) -> Total {
        let last_legs = self.flows.iter().filter(|flow| is_last_leg(flow));
        let sums = last_legs.map(|flow| [flow.totals.bytes_delivered, flow.totals.wire_bytes]);
        let [delivered, wire] = sums.fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
        let span = self.now.as_secs_f64();
        let bps = |bytes: u64| if span > 0.0 { bytes as f64 * 8.0 / span } else { 0.0 };
        Total { bytes_delivered: delivered, goodput_bps: bps(delivered), throughput_bps: bps(wire) }
    }

    fn link_summary(&mut self, id: usize) -> LinkSummary {
        let end = self.now;
        let span = end.as_secs_f64();
        let of_span = |time: Duration| if span > 0.0 { time.as_secs_f64() / span } else { 0.0 };
        let state = &mut self.links[id];
        let totals = state.link.totals_at(&self.pool, end);
        let of_discipline = state.link.of_discipline();
        let link = self.topology.links().iter().nth(id);
        LinkSummary {
            link: id as u32,
            kind: link.map_or("", |link| link.kind.name()),
            from: state.from,
            to: link.and_then(|link| link.to).map(|node| node.index() as u32),
            rate_bps: state.link.rate().bps_f64(),
            utilisation: share(state.link.used(end), state.link.offered(end)),
            packets: totals.packets,
            bytes: totals.bytes,
            queue_mean_packets: of_span(totals.waiting),
            queue_max_packets: totals.queue_max,
            marked: totals.marked,
            early: of_discipline.map(|(_, early)| early),
            sojourn: of_discipline.map(|(sojourn, _)| sojourn),
            drops: state.drops,
        }
    }

    /// Packets with a payload that are neither delivered nor lost.
    fn payloads_due(&self) -> u64 {
        let with_payload = self.flows.iter().filter(|flow| flow.ends.carries_payloads());
        let counts = with_payload.map(|flow| {
            let totals = &flow.totals;
            let lost: u64 = totals.drops.iter().chain(&totals.ack_drops).sum();
            (totals.sent + totals.acks_sent, totals.received + totals.acks_received + lost)
        });
        let (sent, gone) = counts.fold((self.late_copies, 0), |(sent, gone), (a, b)| (sent + a, gone + b));
        sent - gone
    }

    fn conservation(&mut self) -> Conservation {
        let mut sum = Conservation::default();
        for flow in &self.flows {
            sum.sent += flow.totals.sent + flow.totals.acks_sent;
            sum.delivered += flow.totals.received + flow.totals.acks_received;
            for cause in DropCause::ALL {
                let dropped = flow.totals.drops[cause as usize] + flow.totals.ack_drops[cause as usize];
                if dropped > 0 {
                    *sum.dropped.entry(cause.name()).or_default() += dropped;
                }
            }
        }
        let notices = &self.agents.totals;
        sum.sent += notices.sent;
        sum.delivered += notices.delivered;
        for cause in DropCause::ALL.into_iter().filter(|&cause| notices.dropped[cause as usize] > 0) {
            *sum.dropped.entry(cause.name()).or_default() += notices.dropped[cause as usize];
        }
        for state in &mut self.links {
            let (queued, flying) = state.link.left_over(&self.pool, self.now);
            sum.queued += queued + state.held.len() as u64;
            sum.flying += flying;
        }
        sum.flying += self.late.count();
        sum
    }
}

/// Whether a flow ends where its connection does: the other legs of a split one carry the same data before it.
fn is_last_leg(flow: &Flow) -> bool {
    flow.leg.as_ref().is_none_or(|leg| leg.after.is_none())
}
