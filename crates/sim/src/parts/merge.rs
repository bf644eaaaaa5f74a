//! One simulation from its parts, once they are at the end: the state of whoever owns it, sums, and rows in the order
//! in which one event queue would have written them.

use super::part::{LateRow, Lengths, Part};
use crate::flow::Flow;
use crate::host::Ends;
use crate::recorder::MOST_DROP_ROWS;
use crate::records::{DropCounts, FlowSeriesRow, LinkSeriesRow, Records, moved};
use crate::simulation::Simulation;
use std::mem::{swap, take};
use std::ops::Range;

/// The whole of a run; its rows are those of all parts.
pub(super) fn merged(mut parts: Vec<Simulation>) -> Simulation {
    if parts.len() > 1 {
        parts.iter_mut().for_each(Simulation::record_begun_of_part);
    }
    let states: Vec<Box<Part>> = parts.iter_mut().filter_map(|part| part.part.take()).collect();
    let mut others = parts.split_off(1);
    let Some(mut whole) = parts.pop() else { unreachable!("a run has a part") };
    let Some(first) = states.first() else { return whole };
    let owners = first.owners.clone();
    let sources: Vec<[usize; 2]> =
        whole.to.iter().map(|ends| [1, 0].map(|end| owners[ends[end].node as usize] as usize)).collect();
    merge_rows(&mut whole, &mut others, &states, &sources);
    for link in 0..whole.links.len() {
        let owner = owners[whole.links[link].from as usize];
        let mut drops = whole.links[link].drops;
        others.iter().for_each(|part| add(&mut drops, &part.links[link].drops));
        if let Some(near) = owner.checked_sub(1) {
            swap(&mut whole.links[link], &mut others[near as usize].links[link]);
        }
        whole.links[link].drops = drops;
    }
    for (flow, &ends) in sources.iter().enumerate().take(whole.flows.len()) {
        merge_flow(&mut whole, &mut others, flow, ends);
    }
    whole.event_count -= first.uncounted;
    for (part, state) in others.into_iter().zip(&states[1..]) {
        whole.event_count += part.event_count - state.uncounted;
        whole.packet_hops += part.packet_hops;
        whole.late_copies += part.late_copies;
        whole.agents.totals.sent += part.agents.totals.sent;
        whole.payloads.absorb(part.payloads);
        whole.late.absorb(part.late);
    }
    whole
}

fn add(sum: &mut DropCounts, more: &DropCounts) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// Both ends of a flow, from the parts that own them.
fn merge_flow(whole: &mut Simulation, others: &mut [Simulation], flow: usize, [source, sink]: [usize; 2]) {
    let (mut drops, mut ack_drops) = (whole.flows[flow].totals.drops, whole.flows[flow].totals.ack_drops);
    let near = source.checked_sub(1).and_then(|near| others[near].recorder.numbers.remove(&(flow as u32)));
    whole.recorder.numbers.extend(near.map(|numbers| (flow as u32, numbers)));
    for part in &*others {
        add(&mut drops, &part.flows[flow].totals.drops);
        add(&mut ack_drops, &part.flows[flow].totals.ack_drops);
    }
    if let Some(at) = source.checked_sub(1) {
        swap(&mut whole.flows[flow], &mut others[at].flows[flow]);
    }
    if source != sink {
        // The first part's flow stands where that of the source did.
        let at = sink.checked_sub(1).unwrap_or_else(|| source - 1);
        whole.flows[flow].adopt_sink(&mut others[at].flows[flow]);
    }
    let totals = &mut whole.flows[flow].totals;
    (totals.drops, totals.ack_drops) = (drops, ack_drops);
}

impl Flow {
    /// Takes over the sink's side.
    fn adopt_sink(&mut self, sink: &mut Flow) {
        match (&mut self.ends, &mut sink.ends) {
            (Ends::Tcp(own), Ends::Tcp(of_sink)) => swap(&mut own.receiver, &mut of_sink.receiver),
            (Ends::Hosts(own), Ends::Hosts(of_sink)) => swap(&mut own.ends[1], &mut of_sink.ends[1]),
            _ => {}
        }
        swap(&mut self.updates, &mut sink.updates);
        swap(&mut self.call, &mut sink.call);
        swap(&mut self.meter, &mut sink.meter);
        self.completed = sink.completed;
        self.at_stop = sink.at_stop.take();
        self.numbers[1] = sink.numbers[1];
        let (own, of_sink) = (&mut self.totals, &sink.totals);
        own.received = of_sink.received;
        own.duplicate = of_sink.duplicate;
        own.wire_bytes = of_sink.wire_bytes;
        own.bytes_delivered = of_sink.bytes_delivered;
        own.acks_sent = of_sink.acks_sent;
        own.copies = of_sink.copies;
    }
}

/// Rows that one event of one part has written.
struct Piece {
    order: u128,
    place: u64,
    part: usize,
    rows: Rows,
}

enum Rows {
    Own { from: Lengths, until: Lengths },
    Late(LateRow),
}

fn range(from: u32, until: u32) -> Range<usize> {
    from as usize..until as usize
}

fn merge_rows(whole: &mut Simulation, others: &mut [Simulation], states: &[Box<Part>], ends: &[[usize; 2]]) {
    let mut parts: Vec<Records> = vec![take(&mut whole.recorder.records)];
    parts.extend(others.iter_mut().map(|part| take(&mut part.recorder.records)));
    let mut pieces = Vec::new();
    for (part, state) in states.iter().enumerate() {
        let mut from = Lengths::default();
        for logged in &state.log {
            let rows = Rows::Own { from, until: logged.lengths };
            pieces.push(Piece { order: logged.order, place: logged.place, part, rows });
            from = logged.lengths;
        }
        let late = state.late_rows.iter();
        pieces.extend(late.map(|row| Piece { order: row.order, place: row.place, part, rows: Rows::Late(*row) }));
    }
    pieces.sort_by_key(|piece| (piece.order, piece.place, piece.part));
    // Rows of the sky are the same in all parts.
    let mut all = take(&mut parts[0]);
    let first = Records {
        drops: take(&mut all.drops),
        flow_events: take(&mut all.flow_events),
        transfers: take(&mut all.transfers),
        packets: take(&mut all.packets),
        sack_ranges: take(&mut all.sack_ranges),
        stream_pieces: take(&mut all.stream_pieces),
        pages: take(&mut all.pages),
        flow_series: take(&mut all.flow_series),
        link_series: take(&mut all.link_series),
        drops_left_out: all.drops_left_out,
        ..Records::default()
    };
    parts[0] = first;
    for Piece { part, rows, .. } in pieces {
        match rows {
            Rows::Late(late) => all.flow_events.push(late.row),
            Rows::Own { from, until } => append(&mut all, &parts[part], from, until),
        }
    }
    let lost: u64 = parts.iter().map(|part| part.drops.len() as u64 + part.drops_left_out).sum();
    all.drops.truncate(MOST_DROP_ROWS);
    all.drops_left_out = lost - all.drops.len() as u64;
    all.flow_series = flow_series(&parts, ends, whole.own_flows);
    let mut link_series: Vec<LinkSeriesRow> = parts.iter_mut().flat_map(|part| take(&mut part.link_series)).collect();
    link_series.sort_by_key(|row| (row.time, row.link));
    all.link_series = link_series;
    for (at, row) in all.workload_transfers.iter_mut().enumerate() {
        for other in parts[1..].iter().filter_map(|part| part.workload_transfers.get(at)) {
            row.first = row.first.or(other.first);
            row.end = row.end.or(other.end);
            row.ideal = row.ideal.or(other.ideal);
        }
    }
    whole.recorder.records = all;
}

/// Appends the rows of one event.
fn append(all: &mut Records, part: &Records, from: Lengths, until: Lengths) {
    all.drops.extend_from_slice(&part.drops[range(from.drops, until.drops)]);
    all.flow_events.extend_from_slice(&part.flow_events[range(from.flow_events, until.flow_events)]);
    all.transfers.extend_from_slice(&part.transfers[range(from.transfers, until.transfers)]);
    all.pages.extend_from_slice(&part.pages[range(from.pages, until.pages)]);
    for row in &part.packets[range(from.packets, until.packets)] {
        let mut row = row.clone();
        row.blocks = moved(&row.blocks, &part.sack_ranges, &mut all.sack_ranges);
        row.pieces = moved(&row.pieces, &part.stream_pieces, &mut all.stream_pieces);
        all.packets.push(row);
    }
}

/// Each part has a row for each flow and step; source and sink have measured their own side of it.
fn flow_series(parts: &[Records], ends: &[[usize; 2]], own_flows: usize) -> Vec<FlowSeriesRow> {
    let rows = 0..parts[0].flow_series.len();
    let merged = rows.map(|at| {
        let [source, sink] = ends[at % own_flows.max(1)].map(|part| &parts[part].flow_series[at]);
        FlowSeriesRow {
            delay_mean_s: sink.delay_mean_s,
            jitter_mean_s: sink.jitter_mean_s,
            interarrival_mean_s: sink.interarrival_mean_s,
            goodput_bps: sink.goodput_bps,
            throughput_bps: sink.throughput_bps,
            received: sink.received,
            dropped: parts.iter().map(|part| part.flow_series[at].dropped).sum(),
            ..*source
        }
    });
    merged.collect()
}
