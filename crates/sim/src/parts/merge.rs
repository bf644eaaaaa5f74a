//! One simulation from its parts: rows in the order in which one event queue would have written them, as often as the
//! parts stand at one instant; at the end the state of whoever owns it, and sums.

use super::part::{LateRow, Lengths, Part};
use crate::byte_numbers::ByteNumbers;
use crate::flow::Flow;
use crate::host::Ends;
use crate::link_state::LinkState;
use crate::recorder::MOST_DROP_ROWS;
use crate::records::{DropCounts, FlowSeriesRow, PageRow, Records, moved};
use crate::settled::{HandedOver, each_table};
use crate::simulation::Simulation;
use skyhop_base::Time;
use std::mem::{swap, take};
use std::ops::Range;

/// Rows of all parts, in order.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub rows: Records,
    /// Rows of the table of drops, those that were handed over included.
    drops: usize,
}

/// The whole of a run; its rows are those of all parts.
pub(super) fn merged(mut parts: Vec<Simulation>) -> Simulation {
    if parts.len() > 1 {
        parts.iter_mut().for_each(Simulation::forget_arrived_elsewhere);
        parts.iter_mut().for_each(Simulation::record_begun_of_part);
        merge_rows(&mut parts, true);
    }
    let flying = flying_elsewhere(&parts);
    let mut states: Vec<Box<Part>> = parts.iter_mut().filter_map(|part| part.part.take()).collect();
    let mut others = parts.split_off(1);
    let Some(mut whole) = parts.pop() else { unreachable!("a run has a part") };
    let Some(first) = states.first_mut() else { return whole };
    let sources = sources_and_sinks(&whole, &first.owners);
    let owners = first.owners.clone();
    put_rows(&mut whole, &others, take(&mut first.merged.rows));
    for link in 0..whole.links.len() {
        let owner = owners[whole.links[link].from as usize];
        let mut drops = whole.links[link].drops;
        others.iter().for_each(|part| add(&mut drops, &part.links[link].drops));
        if let Some(near) = owner.checked_sub(1) {
            let part = &mut others[near as usize];
            swap(&mut whole.links[link], &mut part.links[link]);
            whole.links[link].link.move_packets(&part.pool, &mut whole.pool);
        }
        whole.links[link].drops = drops;
        whole.links[link].link.note_flying_elsewhere(flying[link]);
    }
    for (flow, &ends) in sources.iter().enumerate().take(whole.flows.len()) {
        merge_flow(&mut whole, &mut others, flow, ends);
    }
    whole.event_count -= states[0].uncounted;
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

/// By link: packets in flight that its near end has handed over and forgotten. The part of the far end has them.
fn flying_elsewhere(parts: &[Simulation]) -> Vec<u64> {
    let Some(owners) = parts.first().and_then(|first| first.part.as_ref()).map(|part| &part.owners) else {
        return Vec::new();
    };
    let part_of = |node: u32| &parts[owners[node as usize] as usize];
    let of_link = |(id, state): (usize, &LinkState)| {
        let told = part_of(state.from).told_on(id)?;
        let far = part_of(state.link.path.node);
        let there = far.links[id].link.front().iter(&far.pool).count();
        // A limit may end the far part earlier, and then it may not have heard of all of them.
        Some(there.saturating_sub(told) as u64)
    };
    parts[0].links.iter().enumerate().map(|link| of_link(link).unwrap_or(0)).collect()
}

/// The parts of the source and of the sink of each flow.
fn sources_and_sinks(part: &Simulation, owners: &[u32]) -> Vec<[usize; 2]> {
    part.to.iter().map(|ends| [1, 0].map(|end| owners[ends[end].node as usize] as usize)).collect()
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

/// Merges the rows of all parts, which stand at one instant, if a table has at least `least` of them.
pub(super) fn merge_long_tables(parts: &mut [Simulation], least: usize) {
    let Some(merged) = parts[0].part.as_ref().map(|part| &part.merged.rows) else { return };
    let everywhere = |rows: fn(&Records) -> usize| {
        rows(merged) + parts.iter().map(|part| rows(&part.recorder.records)).sum::<usize>()
    };
    // Every part has these.
    let in_each = |rows: fn(&Records) -> usize| rows(merged) + rows(&parts[0].recorder.records);
    let is_long = everywhere(|records| records.drops.len()) >= least
        || everywhere(|records| records.flow_events.len()) >= least
        || everywhere(|records| records.link_series.len()) >= least
        || everywhere(|records| records.transfers.len()) >= least
        || everywhere(|records| records.packets.len()) >= least
        || everywhere(|records| records.pages.len()) >= least
        || in_each(|records| records.flow_series.len()) >= least
        || in_each(|records| records.handovers.len()) >= least
        || in_each(|records| records.link_changes.len()) >= least
        || in_each(|records| records.paths.len()) >= least
        || in_each(|records| records.positions.len()) >= least;
    if is_long {
        merge_rows(parts, false);
    }
}

/// [`Simulation::take_rows`] of a run in parts, which stand at one instant.
pub(super) fn take_rows(
    parts: &mut [Simulation],
    least: usize,
    handed_over: &mut HandedOver,
    take_rows: impl FnOnce(&Records),
) {
    merge_long_tables(parts, least);
    let Some(mut merged) = parts[0].part.as_mut().map(|part| take(&mut part.merged)) else { return };
    let mut taken = merged.rows.take_settled(least);
    if merged.rows.packets.len() >= least {
        let before = parts.iter().map(Simulation::packets_settled).min().unwrap_or(Time::ZERO);
        // Segments are counted where they are sent.
        let numbers = |flow| parts.iter().find_map(|part| part.numbers_of_source(flow));
        let packets = merged.rows.take_packets(before, numbers);
        (taken.packets, taken.sack_ranges, taken.stream_pieces) =
            (packets.packets, packets.sack_ranges, packets.stream_pieces);
        handed_over.packets_before = handed_over.packets_before.max(before);
    }
    handed_over.add(&taken);
    if let Some(part) = &mut parts[0].part {
        part.merged = merged;
    }
    parts[0].hand_out(taken, take_rows);
}

/// Moves the rows that the parts have written to those that are merged. At the end of the run these are all; before it
/// pages stay from the first one on that is not loaded.
fn merge_rows(parts: &mut [Simulation], is_end: bool) {
    let Some(first) = &mut parts[0].part else { return };
    let Merged { rows: mut all, drops } = take(&mut first.merged);
    let owners = first.owners.clone();
    let ends = sources_and_sinks(&parts[0], &owners);
    let pages = add_pages(&mut all.pages, parts, is_end);
    let mut tables = Vec::new();
    let mut pieces = Vec::new();
    for (part, simulation) in parts.iter_mut().enumerate() {
        let (Some(state), records) = (&mut simulation.part, &mut simulation.recorder.records) else { return };
        let mut from = Lengths::default();
        for logged in &state.log {
            let rows = Rows::Own { from, until: logged.lengths };
            pieces.push(Piece { order: logged.order, place: logged.place, part, rows });
            from = logged.lengths;
        }
        let late = state.late_rows.drain(..);
        pieces.extend(late.map(|row| Piece { order: row.order, place: row.place, part, rows: Rows::Late(row) }));
        // Rows of the sky are the same in all parts.
        if part == 0 {
            all.handovers.append(&mut records.handovers);
            all.link_changes.append(&mut records.link_changes);
            all.paths.append(&mut records.paths);
            all.positions.append(&mut records.positions);
        }
        (records.handovers, records.link_changes) = Default::default();
        (records.paths, records.positions) = Default::default();
        let own = Records {
            drops: take(&mut records.drops),
            flow_events: take(&mut records.flow_events),
            transfers: take(&mut records.transfers),
            packets: take(&mut records.packets),
            sack_ranges: take(&mut records.sack_ranges),
            stream_pieces: take(&mut records.stream_pieces),
            flow_series: take(&mut records.flow_series),
            link_series: take(&mut records.link_series),
            ..Records::default()
        };
        simulation.recorder.drops_taken += own.drops.len();
        tables.push(own);
    }
    pieces.sort_by_key(|piece| (piece.order, piece.place, piece.part));
    let drops_before = all.drops.len();
    for Piece { part, rows, .. } in pieces {
        match rows {
            Rows::Late(late) => all.flow_events.push(late.row),
            Rows::Own { from, until } => append(&mut all, &tables[part], from, until),
        }
    }
    // Each part keeps as many as the run does, which are too many together.
    let new = all.drops.len() - drops_before;
    let kept = new.min(MOST_DROP_ROWS - drops);
    all.drops.truncate(drops_before + kept);
    all.drops_left_out += (new - kept) as u64;
    all.flow_series.extend(flow_series(&tables, &ends, parts[0].own_flows));
    let series_before = all.link_series.len();
    tables.iter_mut().for_each(|own| all.link_series.append(&mut own.link_series));
    all.link_series[series_before..].sort_by_key(|row| (row.time, row.link));
    for (simulation, count) in parts.iter_mut().zip(pages) {
        simulation.forget_pages(count);
        if let Some(state) = &mut simulation.part {
            state.restart_log(&simulation.recorder.records);
        }
    }
    if let Some(first) = &mut parts[0].part {
        first.merged = Merged { rows: all, drops: drops + kept };
    }
}

/// Adds the rows of pages that do not change any more, in order, and tells how many there are of each part.
fn add_pages(all: &mut Vec<PageRow>, parts: &[Simulation], is_end: bool) -> Vec<usize> {
    let mut rows: Vec<(u128, u64, usize, &PageRow)> = Vec::new();
    for (part, simulation) in parts.iter().enumerate() {
        let orders = simulation.part.iter().flat_map(|state| &state.pages);
        let pages = orders.zip(&simulation.recorder.records.pages);
        rows.extend(pages.map(|(&(order, place), row)| (order, place, part, row)));
    }
    rows.sort_by_key(|&(order, place, part, _)| (order, place, part));
    let mut counts = vec![0; parts.len()];
    for (_, _, part, row) in rows.into_iter().take_while(|(.., row)| is_end || row.loaded.is_some()) {
        counts[part] += 1;
        all.push(*row);
    }
    counts
}

/// Gives the whole its rows: those that are merged, and those of workloads, of which each part knows its own end.
fn put_rows(whole: &mut Simulation, others: &[Simulation], mut rows: Records) {
    let all = &mut whole.recorder.records;
    macro_rules! put {
        ($($table:ident),*) => { $(all.$table = take(&mut rows.$table);)* };
    }
    each_table!(put);
    (all.packets, all.sack_ranges, all.stream_pieces) = (rows.packets, rows.sack_ranges, rows.stream_pieces);
    all.drops_left_out += rows.drops_left_out;
    let others = || others.iter().map(|part| &part.recorder.records);
    all.drops_left_out += others().map(|part| part.drops_left_out).sum::<u64>();
    for (at, row) in all.workload_transfers.iter_mut().enumerate() {
        for other in others().filter_map(|part| part.workload_transfers.get(at)) {
            row.first = row.first.or(other.first);
            row.end = row.end.or(other.end);
            row.ideal = row.ideal.or(other.ideal);
        }
    }
}

impl Simulation {
    /// The byte numbers of a flow whose source belongs to this part.
    fn numbers_of_source(&self, flow: u32) -> Option<&ByteNumbers> {
        let source = self.to[flow as usize][1].node;
        self.recorder.numbers.get(&flow).filter(|_| !self.is_elsewhere(source))
    }

    /// Forgets the first rows of pages.
    fn forget_pages(&mut self, count: usize) {
        if let Some(part) = &mut self.part {
            part.pages.drain(..count);
        }
        self.recorder.pages_taken += count;
        self.recorder.records.pages.drain(..count);
    }
}

/// Appends the rows of one event.
fn append(all: &mut Records, part: &Records, from: Lengths, until: Lengths) {
    all.drops.extend_from_slice(&part.drops[range(from.drops, until.drops)]);
    all.flow_events.extend_from_slice(&part.flow_events[range(from.flow_events, until.flow_events)]);
    all.transfers.extend_from_slice(&part.transfers[range(from.transfers, until.transfers)]);
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
