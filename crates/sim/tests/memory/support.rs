//! Two nodes with flows between them, and the bytes that a run of them holds, counted at the allocator.

use skyhop_base::{Duration, Rate, Time};
use skyhop_orbit::Earth;
use skyhop_sim::applications::FtpOptions;
use skyhop_sim::spec::{
    FlowConfig, LinkConfig, LinkConfigs, LinkVariation, OnDown, QueueConfig, QueueLimit, RecordConfig, RepairConfig,
    RunClock, TransportConfig,
};
use skyhop_sim::{Simulation, SimulationSpec};
use skyhop_topology::{NodeId, NodeKind, NodeSpec, RoutingRules, SkyOptions, TopologySpec, WiredLink};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with a count of the bytes that are handed out.
struct Counting;

thread_local! {
    /// Bytes of this thread: other tests do not count.
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    BYTES.set(BYTES.get() + bytes);
}

// SAFETY: every call goes to `System` with the caller's arguments unchanged; only a number is kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's contract is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

pub fn live() -> isize {
    BYTES.get()
}

pub const START: Time = Time::from_nanos(1_000_000_000);

/// `flows` between two nodes, 1 Gbit/s and 250 ms apart; a segment takes 10 µs, a window of them 0.2 s.
pub fn spec(flows: usize, transport: &TransportConfig) -> SimulationSpec {
    let node = |name: &str| NodeSpec { name: name.into(), kind: NodeKind::Wired };
    let wire = |from, to| WiredLink { from: NodeId::new(from), to: NodeId::new(to), delay: Duration::from_millis(250) };
    let link = LinkConfig {
        rate: Rate::from_bps(1_000_000_000).unwrap(),
        queue: QueueConfig::drop_tail(QueueLimit::Unlimited),
        framing_bytes: 0,
        on_down: OnDown::Drop,
        errors: Vec::new(),
        pace: LinkVariation::Steady,
        repair: RepairConfig::default(),
    };
    let flow = |number: usize| FlowConfig {
        name: format!("flow-{number:05}"),
        from: NodeId::new(0),
        to: NodeId::new(1),
        transport: transport.clone(),
        application: FtpOptions { bytes: None }.into(),
        start: START,
        stop: None,
        ttl: 64,
        class: 0,
        jitter: Duration::ZERO,
    };
    SimulationSpec {
        duration: Duration::from_secs(60),
        clock: RunClock::default(),
        sky: SkyOptions::default(),
        topology: TopologySpec {
            earth: Earth::WGS84,
            nodes: vec![node("left"), node("right")],
            wired: vec![wire(0, 1), wire(1, 0)],
            isl: None,
            gsl: None,
            routing: RoutingRules::default(),
        },
        links: LinkConfigs { wired: vec![link.clone(), link], ..LinkConfigs::default() },
        flows: (0..flows).map(flow).collect(),
        labels: Default::default(),
        workloads: Vec::new(),
        agents: Vec::new(),
        records: RecordConfig::default(),
    }
}

/// A simulation run to half a second before its flows start, and the bytes that it holds.
pub fn idle(flows: usize, transport: &TransportConfig) -> (Simulation, isize) {
    let spec = spec(flows, transport);
    let before = live();
    let mut simulation = Simulation::new(&spec, 1).unwrap();
    simulation.run_until(Time::from_nanos(START.as_nanos() / 2));
    (simulation, live() - before)
}

/// Bytes that a flow holds before it starts.
pub fn each_idle(transport: &TransportConfig) -> isize {
    let (few, many) = (idle(1000, transport).1, idle(3000, transport).1);
    (many - few) / 2000
}
