//! The memory that a run takes, added up from the structures that grow and not asked of the system, so that it is that
//! of the run alone; and the looks at what may end the run early.

use crate::call::CallMeter;
use crate::flow::Flow;
use crate::host::TcpEnds;
use crate::limits::{Halt, Limits};
use crate::link_state::LinkState;
use crate::records::{FlowSeriesRow, LinkSeriesRow, PositionRow, Records, WorkloadTransferRow};
use crate::simulation::Simulation;
use crate::spec::{FlowConfig, SimulationSpec, TransportConfig};
use crate::visit::Visit;
use crate::workload::{ConnectionUse, WorkloadConfig};
use skyhop_base::{Duration, Time};
use skyhop_topology::NodeKind;
use std::sync::atomic::Ordering;

/// Names, routes and the topology's share of a node and of a link, bytes.
const PER_NODE: u64 = 300;
const PER_LINK: u64 = 300;

/// Links to and between satellites that a flow's packets cross, as far as the estimate goes.
const LINKS_OF_A_WAY: u64 = 32;

/// Names, slots of the event queue and lists of a connection of a workload, bytes.
const PER_CONNECTION: usize = 400;

impl Simulation {
    /// The same simulation within limits. They change no packet.
    pub fn with_limits(mut self, limits: Limits) -> Simulation {
        self.limits = Some(Box::new(limits));
        self
    }

    /// Why the run has ended early, if it has.
    pub fn halted(&self) -> Option<Halt> {
        self.halted
    }

    /// Looks whether a limit ends the run, which a run does by itself only where it handles much at a time.
    pub fn look_at_limits(&mut self) {
        self.is_to_end();
    }

    /// Looks whether the run is to end; then no further event is handled.
    #[cold]
    #[inline(never)]
    pub(crate) fn is_to_end(&mut self) -> bool {
        let Some(limits) = &self.limits else { return false };
        let cancelled = limits.cancelled.load(Ordering::Relaxed);
        let own = self.memory_bytes();
        let bytes = self.part.as_ref().map_or(own, |part| part.memory_of_all(own));
        if cancelled {
            self.halted = Some(Halt::Cancelled);
        } else if bytes > limits.memory_bytes {
            self.halted = Some(Halt::Memory { bytes });
        }
        if self.halted.is_some() {
            self.events.set_end(Time::ZERO);
        }
        self.halted.is_some()
    }

    /// Memory that the run takes at present, as far as it grows with what happens.
    pub fn memory_bytes(&self) -> u64 {
        let links: u64 = self.links.iter().map(|state| state.link.memory_bytes() + of_vec(&state.held)).sum();
        let flows: u64 = self.flows.iter().map(Flow::memory_bytes).sum();
        let built = (size_of::<LinkState>() * self.links.len() + size_of::<Flow>() * self.flows.len()) as u64;
        built
            + links
            + self.pool.memory_bytes()
            + flows
            + self.late.memory_bytes()
            + self.payloads.memory_bytes()
            + self.visits.iter().map(Visit::memory_bytes).sum::<u64>()
            + self.recorder.records.memory_bytes()
            + self.part.as_ref().map_or(0, |part| part.memory_bytes())
    }
}

/// What a list has taken, bytes.
fn of_vec<T>(list: &Vec<T>) -> u64 {
    (list.capacity() * size_of::<T>()) as u64
}

impl Flow {
    fn memory_bytes(&self) -> u64 {
        let call = self.call.as_deref().map_or(0, CallMeter::memory_bytes);
        self.ends.memory_bytes() + self.ages.memory_bytes() + self.updates.memory_bytes() + call
    }
}

impl Records {
    pub(crate) fn memory_bytes(&self) -> u64 {
        let paths: u64 = self.paths.iter().map(|row| of_vec(&row.nodes)).sum();
        paths
            + of_vec(&self.paths)
            + of_vec(&self.drops)
            + of_vec(&self.flow_series)
            + of_vec(&self.link_series)
            + of_vec(&self.flow_events)
            + of_vec(&self.handovers)
            + of_vec(&self.link_changes)
            + of_vec(&self.positions)
            + of_vec(&self.packets)
            + of_vec(&self.sack_ranges)
            + of_vec(&self.stream_pieces)
            + of_vec(&self.transfers)
            + of_vec(&self.workload_transfers)
            + of_vec(&self.pages)
    }
}

/// Memory in bytes that a run takes for what is known before it starts: its network, its flows, and rows at the steps
/// of its recording. Rows of packets, drops and handovers, queues and windows come to it.
pub fn least_memory(spec: &SimulationSpec) -> u64 {
    least_memory_with_rows(spec, u64::MAX)
}

/// The same for a run whose rows are handed over ([`Simulation::take_rows`]) when a table has so many of them.
pub fn least_memory_with_rows(spec: &SimulationSpec, rows: u64) -> u64 {
    let (flows, wires, nodes) =
        (spec.flows.len() as u64, spec.topology.wired.len() as u64, spec.topology.nodes.len() as u64);
    let satellites =
        spec.topology.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Satellite { .. })).count() as u64;
    let isls = if spec.topology.isl.is_some() { 4 * satellites } else { 0 };
    let ground = if spec.topology.gsl.is_some() { nodes } else { 0 };
    let links = wires + isls + ground;
    let tcps = spec.flows.iter().filter(|flow| matches!(flow.transport, TransportConfig::Tcp(_))).count() as u64;
    let size = |bytes: usize| bytes as u64;
    let network = nodes * PER_NODE + links * (PER_LINK + size(size_of::<LinkState>()));
    let traffic = flows * size(size_of::<Flow>()) + tcps * size(size_of::<TcpEnds>());
    let traffic =
        traffic.saturating_add(spec.workloads.iter().map(|workload| of_workload(workload, spec.duration)).sum());
    let steps = |step: Option<Duration>| match step.map(Duration::as_nanos) {
        None | Some(0) => 0,
        Some(step) => spec.duration.as_nanos() / step,
    };
    // Links that never carry a packet have no rows.
    let carrying = wires + (isls + ground).min(flows * LINKS_OF_A_WAY);
    // A table may exceed the limit by the rows of one instant.
    let table = |step: Option<Duration>, rows_of_step: u64, row: usize| {
        let all = steps(step).saturating_mul(rows_of_step);
        all.min(rows.saturating_add(rows_of_step)).saturating_mul(size(row))
    };
    let flow_rows = table(spec.records.grid, flows, size_of::<FlowSeriesRow>());
    let link_rows = table(spec.records.grid, carrying, size_of::<LinkSeriesRow>());
    let positions = table(spec.records.positions, satellites, size_of::<PositionRow>());
    [traffic, flow_rows, link_rows, positions].into_iter().fold(network, u64::saturating_add)
}

/// Memory in bytes of the transfers that a workload makes on average, and of their connections.
fn of_workload(workload: &WorkloadConfig, duration: Duration) -> u64 {
    let transfers = workload.expected_transfers(duration);
    let pairs = (workload.from.len() * workload.to.len()) as f64;
    let connections = match workload.connections {
        ConnectionUse::New => transfers,
        ConnectionUse::Persistent(count) => transfers.min(pairs * f64::from(count)),
    };
    let per_connection = size_of::<Flow>() + size_of::<FlowConfig>() + size_of::<TcpEnds>() + PER_CONNECTION;
    (transfers * size_of::<WorkloadTransferRow>() as f64 + connections * per_connection as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::{SackRange, StreamPiece};
    use crate::records::{DropRow, FlowEventRow, HandoverRow, LinkChangeRow, PacketRow, PageRow, PathRow, TransferRow};

    /// Each kind of row counts.
    #[test]
    fn every_table_counts() {
        let mut records = Records::default();
        assert_eq!(records.memory_bytes(), 0);
        let mut before = 0;
        let mut grown = |records: &Records, what: &str| {
            let bytes = records.memory_bytes();
            assert!(bytes >= before + 1000, "{what}: {bytes}");
            before = bytes;
        };
        macro_rules! reserve {
            ($($table:ident: $row:ty),*) => {$(
                records.$table.reserve_exact(1000_usize.div_ceil(size_of::<$row>()));
                grown(&records, stringify!($table));
            )*};
        }
        reserve!(
            drops: DropRow, flow_series: FlowSeriesRow, link_series: LinkSeriesRow, flow_events: FlowEventRow,
            handovers: HandoverRow, link_changes: LinkChangeRow, paths: PathRow, positions: PositionRow,
            packets: PacketRow, sack_ranges: SackRange, stream_pieces: StreamPiece, transfers: TransferRow,
            workload_transfers: WorkloadTransferRow, pages: PageRow
        );
    }
}
