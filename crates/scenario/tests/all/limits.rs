//! A run can be ended at any moment, and takes no more memory than it may.

use skyhop_scenario::Scenario;
use skyhop_sim::{Halt, Limits, Records, Simulation};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn simulation(text: &str, cancelled: bool, memory_bytes: u64) -> Simulation {
    let scenario = Scenario::from_toml(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let limits = Limits { cancelled: Arc::new(AtomicBool::new(cancelled)), memory_bytes };
    Simulation::new(&scenario.simulation_spec(), 1).unwrap().with_limits(limits)
}

/// Ten flows whose first windows are 100,000 segments each, all of which fit into the queue: one event of a flow sends
/// its window. Entries of the queue, ages and send times of 72 B each are 72 MB in all.
const BURST: &str = r#"
duration = "10 s"
profile = "rfc"

[[links]]
between = ["left", "right"]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "unlimited"

[[flows]]
name = "flow"
count = 10
from = "left"
to = "right"
tcp = { name = "newreno", initial_window = 100_000, window = 1_000_000, handshake = "none" }
"#;

#[test]
fn a_burst_within_one_event_ends_when_the_run_is_cancelled() {
    let mut running = simulation(BURST, true, u64::MAX);
    running.run_until(running.end());
    assert_eq!(running.halted(), Some(Halt::Cancelled));
    let sent: Vec<u64> = running.finish().flows.iter().map(|flow| flow.packets_sent).collect();
    assert_eq!(
        (sent[0], sent.iter().sum::<u64>()),
        (65_536, 65_536),
        "part of the first flow's window, and no other's"
    );
}

#[test]
fn a_burst_within_one_event_ends_at_the_limit_of_memory() {
    let mut running = simulation(BURST, false, 20_000_000);
    running.run_until(running.end());
    let Some(Halt::Memory { bytes }) = running.halted() else { panic!("{:?}", running.halted()) };
    assert!((20_000_000..35_000_000).contains(&bytes), "{bytes}");
    let now = running.now();
    running.run_until(running.end());
    assert_eq!(running.now(), now, "a run that has ended goes no further");
}

/// A link of 1 kbit/s is offered 25 packets of 125 B per millisecond for 100 s: 2.5 million, of which all but some 150
/// are lost.
const LOSSES: &str = r#"
duration = "100 s"
profile = "rfc"

[[links]]
between = ["left", "right"]
rate = "1 kbit/s"
delay = "10 ms"

[[flows]]
name = "flow"
from = "left"
to = "right"
udp = { header = "0 B" }
application = { constant_rate = { rate = "25 Mbit/s", payload = "125 B" } }
"#;

fn finished(mut running: Simulation) -> Records {
    running.run_until(running.end());
    assert_eq!(running.halted(), None);
    running.finish()
}

#[test]
fn the_table_of_drops_is_bounded_and_the_totals_are_not() {
    let records = finished(simulation(LOSSES, false, u64::MAX));
    assert_eq!(records.drops.len(), 2_000_000);
    let lost = records.flows[0].drops[0];
    assert!(lost > 2_490_000, "{lost}");
    assert_eq!(records.drops_left_out, lost - 2_000_000);
    let warning = format!("{} later ones are in the totals only", records.drops_left_out);
    assert!(records.warnings.iter().any(|found| found.contains(&warning)), "{:?}", records.warnings);
    assert!(records.conservation.holds());
}

#[test]
fn a_table_that_grows_ends_the_run_at_the_limit_of_memory() {
    let mut running = simulation(LOSSES, false, 30_000_000);
    running.run_until(running.end());
    assert!(matches!(running.halted(), Some(Halt::Memory { bytes }) if bytes < 90_000_000), "{:?}", running.halted());
}

/// Limits only read.
#[test]
fn limits_change_no_packet() {
    let text = BURST.replace("100_000", "100").replace("1_000_000", "2_000");
    let scenario = Scenario::from_toml(&text, "test", &[]).unwrap();
    let free = Simulation::new(&scenario.simulation_spec(), 1).unwrap().run();
    let bound = finished(simulation(&text, false, 1_000_000_000));
    let of = |records: &Records| (records.events, records.packet_hops, records.flows[0].bytes_delivered);
    assert_eq!(of(&free), of(&bound));
}

/// Ten million steps of 0.1 ms for a flow and two links.
#[test]
fn what_a_recording_will_take_is_known_before() {
    let text = LOSSES.replace("100 s\"", "1000 s\"\nrecords = { grid = \"0.1 ms\" }");
    let scenario = Scenario::from_toml(&text, "test", &[]).unwrap();
    let needed = skyhop_sim::least_memory(&scenario.simulation_spec());
    assert!((1_500_000_000..4_000_000_000).contains(&needed), "{needed}");
    let without = Scenario::from_toml(LOSSES, "test", &[]).unwrap();
    assert!(skyhop_sim::least_memory(&without.simulation_spec()) < 100_000);
}
