//! What a run keeps in memory: flows that wait for their start, and packets in flight.

mod support;

use skyhop_base::Duration;
use skyhop_sim::spec::TransportConfig;
use skyhop_transport::{Profile, TcpSpec};
use support::{START, each_idle, idle, live};

/// Segments that a sender may have in flight.
const WINDOW: u32 = 20_000;

fn tcp() -> TransportConfig {
    let table = serde_json::json!({ "recovery": "sack", "window": WINDOW, "initial_window": WINDOW, "ack_every": 2 });
    TransportConfig::Tcp(Box::new(serde_json::from_value::<TcpSpec>(table).unwrap().resolve(Profile::Rfc).unwrap()))
}

#[test]
fn an_idle_flow_holds_at_most_two_kibibytes() {
    let each = each_idle(&tcp());
    eprintln!("{each} B per idle flow");
    // Two endpoints, an application and the flow's measures cannot be kept in less than the lower bound.
    assert!((500..=2 * 1024).contains(&each), "{each} B per idle flow");
}

#[test]
fn a_packet_in_flight_holds_at_most_160_bytes() {
    let (mut simulation, built) = idle(1, &tcp());
    let before = live();
    // Ten round trips: the window is full all the time, its segments on the path out or as ACKs on the path back.
    simulation.run_until(START + Duration::from_secs(6));
    let held = live() - before;
    let each = held / WINDOW as isize;
    eprintln!("{each} B per packet in flight, {held} B beside {built} B");
    // At times only ACKs are in flight, one of 48 B for two segments, and links keep no more than they need.
    assert!((24..=160).contains(&each), "{each} B per packet in flight");
}
