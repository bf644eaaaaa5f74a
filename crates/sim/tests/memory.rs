//! What a run keeps in memory, counted at the allocator: flows that wait for their start, and packets in flight.

use skyhop_base::{Duration, Rate, Time};
use skyhop_orbit::Earth;
use skyhop_sim::spec::{
    ApplicationConfig, FlowConfig, LinkConfig, LinkConfigs, LinkVariation, OnDown, QueueConfig, QueueLimit,
    RecordConfig, RepairConfig, RunClock, TransportConfig,
};
use skyhop_sim::{Simulation, SimulationSpec};
use skyhop_topology::{NodeId, NodeKind, NodeSpec, RoutingRules, SkyOptions, TopologySpec, WiredLink};
use skyhop_transport::{Profile, TcpSpec};
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

fn live() -> isize {
    BYTES.get()
}

/// Segments that a sender may have in flight.
const WINDOW: u32 = 20_000;
const START: Time = Time::from_nanos(1_000_000_000);

/// `flows` between two nodes, 1 Gbit/s and 250 ms apart; a segment takes 10 µs, a window of them 0.2 s.
fn spec(flows: usize) -> SimulationSpec {
    let node = |name: &str| NodeSpec { name: name.into(), kind: NodeKind::Wired };
    let wire = |from, to| WiredLink { from: NodeId::new(from), to: NodeId::new(to), delay: Duration::from_millis(250) };
    let link = LinkConfig {
        rate: Rate::from_bps(1_000_000_000).unwrap(),
        queue: QueueConfig::drop_tail(QueueLimit::Unlimited),
        framing_bytes: 0,
        on_down: OnDown::Drop,
        errors: Vec::new(),
        listed: Vec::new(),
        pace: LinkVariation::Steady,
        repair: RepairConfig::default(),
    };
    let table = serde_json::json!({ "recovery": "sack", "window": WINDOW, "initial_window": WINDOW, "ack_every": 2 });
    let tcp = serde_json::from_value::<TcpSpec>(table).unwrap().resolve(Profile::Rfc).unwrap();
    let flow = |number: usize| FlowConfig {
        name: format!("flow-{number:05}"),
        from: NodeId::new(0),
        to: NodeId::new(1),
        transport: TransportConfig::Tcp(Box::new(tcp.clone())),
        application: ApplicationConfig::Ftp { bytes: None },
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
fn idle(flows: usize) -> (Simulation, isize) {
    let spec = spec(flows);
    let before = live();
    let mut simulation = Simulation::new(&spec, 1).unwrap();
    simulation.run_until(Time::from_nanos(START.as_nanos() / 2));
    (simulation, live() - before)
}

#[test]
fn an_idle_flow_holds_at_most_two_kibibytes() {
    let few = idle(1000).1;
    let many = idle(3000).1;
    let each = (many - few) / 2000;
    eprintln!("{each} B per idle flow");
    // Two endpoints, an application and the flow's measures cannot be kept in less than the lower bound.
    assert!((500..=2 * 1024).contains(&each), "{each} B per idle flow");
}

#[test]
fn a_packet_in_flight_holds_at_most_160_bytes() {
    let (mut simulation, built) = idle(1);
    let before = live();
    // Ten round trips: the window is full all the time, its segments on the way out or as ACKs on the way back.
    simulation.run_until(START + Duration::from_secs(6));
    let held = live() - before;
    let each = held / WINDOW as isize;
    eprintln!("{each} B per packet in flight, {held} B beside {built} B");
    // The packet on its link alone is 48 B.
    assert!((48..=160).contains(&each), "{each} B per packet in flight");
}
