//! Transports that the engine does not know run over its networks: the contract of `skyhop_sim::endpoint` from outside.

mod blaster;
mod linux_tcp;
mod own_tcp;
mod packets;
mod stop_and_wait;

use blaster::Blaster;
use linux_tcp::Logged;
use own_tcp::OwnTcp;
use serde_json::{Value, json};
use skyhop_base::{Duration, Rate, Time};
use skyhop_hosts::LinuxTcp;
use skyhop_scenario::Scenario;
use skyhop_sim::endpoint::Transport;
use skyhop_sim::records::{DropCause, FlowSummary, Records};
use skyhop_sim::spec::{RunClock, SourceConfig, TransportConfig};
use skyhop_sim::{Simulation, SimulationSpec};
use skyhop_tcp::{receiver, sender};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use stop_and_wait::{ACK_SIZE, StopAndWait};

/// The network and the applications of a scenario, in which every flow has the given transport.
fn spec(network: &Value, transport: &Arc<dyn Transport>) -> SimulationSpec {
    let scenario = Scenario::from_json(network, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut spec = scenario.simulation_spec();
    for flow in &mut spec.flows {
        flow.transport = TransportConfig::Hosts(Arc::clone(transport));
    }
    spec
}

/// Runs to the end. Payloads alive then wait or are in flight, and none outlives the run.
fn run(spec: &SimulationSpec, alive: &AtomicI64) -> Records {
    let mut simulation = Simulation::new(spec, 1).unwrap_or_else(|error| panic!("{error}"));
    simulation.run_until(simulation.end());
    let left = alive.load(Ordering::Relaxed);
    let records = simulation.finish();
    let kept = &records.conservation;
    assert!(kept.holds(), "{kept:?}");
    assert_eq!(left, (kept.queued + kept.flying) as i64, "payloads alive, and packets left: {kept:?}");
    assert_eq!(alive.load(Ordering::Relaxed), 0, "payloads outlive the run");
    records
}

fn run_saw(network: &Value, transport: &StopAndWait) -> Records {
    let shared: Arc<dyn Transport> = Arc::new(transport.clone());
    run(&spec(network, &shared), &transport.alive)
}

/// Two hosts behind access links of 100 Mbit/s and 1 ms, a bottleneck of 8 Mbit/s and 10 ms.
fn dumbbell() -> Value {
    json!({
        "duration": "20 s", "profile": "rfc",
        "links": [{ "between": ["left", "right"], "rate": "8 Mbit/s", "delay": "10 ms",
                    "queue": { "drop_tail": { "packets": 20 } } }],
        "flows": [{ "name": "saw", "from": "left", "to": "right", "tcp": "newreno",
                    "access": { "rate": "100 Mbit/s", "delay": "1 ms" } }],
        "records": { "grid": "1 s" },
    })
}

/// The cycle of stop and wait is a round trip to the nanosecond, so every count is known beforehand.
#[test]
fn stop_and_wait_over_a_dumbbell_takes_a_round_trip_per_datagram() {
    let saw = StopAndWait::new(964);
    let records = run_saw(&dumbbell(), &saw);
    let one_way = |bytes: u16| {
        let bits = f64::from(bytes) * 8.0;
        2.0 * (bits / 100e6 + 1e-3) + bits / 8e6 + 10e-3
    };
    let (there, back) = (one_way(saw.data_size()), one_way(ACK_SIZE));
    let flow = &records.flows[0];
    let arrived = ((20.0 - there) / (there + back)).floor() as u64 + 1;
    assert_eq!(flow.packets_received, arrived);
    assert_eq!(flow.bytes_delivered, 964 * arrived);
    assert_eq!((flow.retransmissions, flow.timeouts, flow.packets_duplicate), (0, 0, 0));
    for rtt in [flow.rtt.min_s, flow.rtt.max_s] {
        assert!((rtt - (there + back)).abs() < 1e-9, "{rtt}");
    }
    assert_eq!(flow.cwnd_mean, Some(1.0));
    assert!((flow.delay.mean_s - there).abs() < 1e-9);
    let row = records.flow_series.last().expect("a grid");
    assert_eq!((row.cwnd, row.in_flight, row.phase, row.rto), (Some(1.0), 1, "stop-and-wait", None));
    assert_eq!(row.srtt.map(|srtt| (srtt.as_secs_f64() * 1e6).round()), Some(((there + back) * 1e6).round()));
    assert_eq!(records.flow_events.iter().map(|row| row.event).collect::<Vec<_>>(), ["start"]);
}

/// Losses of both directions cost a timeout each; every byte arrives once, in order, and the sink has compared it.
#[test]
fn stop_and_wait_over_a_lossy_link_delivers_every_byte() {
    let mut network = dumbbell();
    network["duration"] = "600 s".into();
    network["links"][0]["errors"] = json!([{ "packet": 0.05 }]);
    network["flows"][0]["application"] = json!({ "ftp": { "bytes": "4 MB" } });
    let saw = StopAndWait::new(1000);
    let records = run_saw(&network, &saw);
    let flow = &records.flows[0];
    assert_eq!(flow.bytes_delivered, 4_000_000);
    assert!(flow.completed.is_some());
    // Of 4000 datagrams each is sent until both it and its answer arrive: 1/0.95² − 1 = 0.108 more, four deviations of
    // which are 4 √(0.0975 · 4000) / 0.9025 = 88 datagrams.
    let (again, datagrams) = (flow.retransmissions as f64, 4000.0);
    assert!((again - 0.108 * datagrams).abs() < 88.0, "{again}");
    assert_eq!(flow.timeouts, flow.retransmissions);
    // Only a datagram whose answer was lost comes twice.
    assert_eq!(flow.packets_duplicate, flow.ack_drops[DropCause::Error as usize]);
    assert_eq!(flow.packets_sent, 4000 + flow.retransmissions);
    let timeouts = records.flow_events.iter().filter(|row| row.event == "timeout").count() as u64;
    assert_eq!(timeouts, flow.timeouts);
}

fn over_iridium(on_down: &str, mask: &str) -> Value {
    json!({
        "duration": "600 s", "profile": "rfc",
        "constellation": {
            "preset": "iridium",
            "isl": { "rate": "25 Mbit/s", "queue": { "drop_tail": { "packets": 50 } }, "on_down": on_down },
            "gsl": { "rate": "1.5 Mbit/s", "queue": { "drop_tail": { "packets": 50 } }, "on_down": on_down,
                     "elevation_mask": mask, "handover": { "policy": "highest-elevation", "every": "10 s" } },
        },
        "stations": {
            "berkeley": { "latitude": "37.9 deg", "longitude": "-122.3 deg" },
            "chennai": { "latitude": "13.04 deg", "longitude": "80.17 deg" },
        },
        "flows": [{ "name": "saw", "from": "berkeley", "to": "chennai", "tcp": "newreno" }],
    })
}

#[test]
fn stop_and_wait_crosses_handovers_of_satellites() {
    let saw = StopAndWait::new(1000);
    let records = run_saw(&over_iridium("drop", "8.2 deg"), &saw);
    let flow = &records.flows[0];
    assert!(records.handovers.len() >= 4, "{} handovers", records.handovers.len());
    assert!(records.paths.len() > 4, "{} ways", records.paths.len());
    // One datagram per round trip, which light alone makes 0.1 s at least between these places (13,700 km).
    let most = 600.0 / (2.0 * 13.7e6 / 299_792_458.0) * 1000.0;
    assert!(flow.bytes_delivered > 1_000_000 && (flow.bytes_delivered as f64) < most, "{}", flow.bytes_delivered);
    // Handovers move the round trip.
    assert!(flow.rtt.max_s > 1.02 * flow.rtt.min_s, "{:?}", flow.rtt);
}

fn blaster(burst: u32, every_ms: u64) -> (Arc<dyn Transport>, Arc<AtomicI64>) {
    let alive = Arc::new(AtomicI64::new(0));
    let transport = Blaster { burst, every: Duration::from_millis(every_ms), size: 1200, alive: Arc::clone(&alive) };
    (Arc::new(transport), alive)
}

/// Every way in which a link drops packets, and what must have been dropped by it.
#[test]
fn no_payload_is_left_wherever_packets_die() {
    let queue = |queue: Value| json!({ "queue": queue });
    let cases = [
        ("drop tail", queue(json!({ "drop_tail": { "packets": 5 } })), DropCause::Queue),
        ("drop front", queue(json!({ "drop_front": { "packets": 5 } })), DropCause::Queue),
        ("red", queue(json!({ "red": { "packets": 40, "min": 3, "max": 9 } })), DropCause::Queue),
        ("errors", json!({ "errors": [{ "packet": 0.2 }] }), DropCause::Error),
        ("given up", json!({ "errors": [{ "packet": 0.4 }], "repair": { "arq": { "tries": 2 } } }), DropCause::Error),
        (
            "parity",
            json!({ "errors": [{ "packet": 0.3 }], "repair": { "erasure": { "n": 6, "k": 4 } } }),
            DropCause::Error,
        ),
    ];
    for (what, part, cause) in cases {
        let mut link = json!({ "between": ["left", "right"], "rate": "1 Mbit/s", "delay": "30 ms" });
        let fields = part.as_object().cloned().into_iter().flatten();
        fields.for_each(|(key, value)| link[key] = value);
        let network = json!({
            "duration": "20 s", "profile": "rfc", "links": [link],
            "flows": [{ "name": "blast", "from": "left", "to": "right", "udp": { "header": "28 B" },
                        "application": { "constant_rate": { "rate": "100 kbit/s", "payload": "1000 B" } } }],
        });
        let (transport, alive) = blaster(12, 100);
        let flow = &run(&spec(&network, &transport), &alive).flows[0];
        for (drops, direction) in [(flow.drops, "data"), (flow.ack_drops, "back")] {
            assert!(drops[cause as usize] > 0, "{what}, {direction}: {drops:?}");
        }
    }
}

/// The same where links come and go: what waited for a satellite, what had no path, what had no hops left.
#[test]
fn no_payload_is_left_where_links_come_and_go() {
    let mut seen = [0_u64; DropCause::ALL.len()];
    for on_down in ["drop", "hold", "send-in-vain", "reroute"] {
        // Above 12 degrees there is no satellite for a part of the time.
        let mut network = over_iridium(on_down, "12 deg");
        let hops = if on_down == "reroute" { 4 } else { 60 };
        network["flows"] = json!([{ "name": "blast", "from": "berkeley", "to": "chennai", "ttl": hops,
            "udp": { "header": "28 B" },
            "application": { "constant_rate": { "rate": "100 kbit/s", "payload": "1000 B" } } }]);
        let (transport, alive) = blaster(40, 200);
        let records = run(&spec(&network, &transport), &alive);
        for cause in DropCause::ALL {
            seen[cause as usize] += records.flows[0].drops[cause as usize];
        }
    }
    for cause in [DropCause::Queue, DropCause::LinkChange, DropCause::NoRoute, DropCause::Ttl] {
        assert!(seen[cause as usize] > 0, "nothing was lost by {}: {seen:?}", cause.name());
    }
}

/// A gateway writes its error rate on the ACKs of Skyhop's own TCP; it must leave those alone that it cannot read.
#[test]
fn helpers_on_the_way_leave_payloads_alone() {
    let mut network = dumbbell();
    network["links"][0]["errors"] = json!([{ "packet": 0.02 }]);
    network["agents"] = json!([
        { "at": "left", "error_report": { "links": ["left->right"] } },
        { "at": "right", "snoop": {} },
    ]);
    let saw = StopAndWait::new(1000);
    let records = run_saw(&network, &saw);
    assert!(records.flows[0].retransmissions > 0);
}

/// What of a summary does not depend on how records measure.
fn facts(flow: &FlowSummary) -> Value {
    json!({
        "sent": flow.packets_sent, "received": flow.packets_received, "duplicate": flow.packets_duplicate,
        "again": flow.retransmissions, "timeouts": flow.timeouts, "fast": flow.fast_retransmits,
        "cuts": flow.cwnd_cuts, "bytes": flow.bytes_delivered, "drops": flow.drops, "ack_drops": flow.ack_drops,
        "goodput": flow.goodput_bps, "delay": flow.delay.mean_s, "cwnd": flow.cwnd_mean,
        "efficiency": flow.tcp_efficiency, "completed": flow.completed.map(|time| time.as_nanos()),
    })
}

/// Skyhop's own TCP as boxed hosts sends the same packets at the same time as when the engine calls it directly: the
/// contract carries all that a TCP needs.
#[test]
fn the_own_tcp_behind_the_contract_sends_the_same_packets() {
    for (name, application) in [
        ("newreno", json!("ftp")),
        ("sack", json!({ "ftp": { "bytes": "3 MB" } })),
        ("cubic", json!("ftp")),
        ("newreno", json!({ "files": { "sizes": ["200 kB", "50 kB", "300 kB"], "pause": "100 ms" } })),
        ("sack", json!({ "requests": { "request": "300 B", "response": "100 kB", "think": "200 ms" } })),
    ] {
        let mut network = dumbbell();
        network["links"][0]["errors"] = json!([{ "packet": 0.003 }]);
        network["flows"][0]["tcp"] = json!({ "name": name, "ack_every": 2 });
        network["flows"][0]["application"] = application.clone();
        let scenario = Scenario::from_json(&network, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let direct = scenario.simulation_spec();
        let mut boxed = direct.clone();
        for flow in &mut boxed.flows {
            let TransportConfig::Tcp(config) = &flow.transport else { panic!("a TCP") };
            flow.transport = TransportConfig::Hosts(Arc::new(OwnTcp(*config.clone())));
        }
        let [direct, boxed] = [direct, boxed].map(|spec| {
            let simulation = Simulation::new(&spec, 1).unwrap_or_else(|error| panic!("{error}"));
            simulation.run()
        });
        assert!(direct.flows[0].retransmissions > 0 || name == "newreno", "{name}: nothing was lost");
        assert_eq!(facts(&direct.flows[0]), facts(&boxed.flows[0]), "{name} {application}");
        assert_eq!(direct.packet_hops, boxed.packet_hops, "{name} {application}");
        assert_eq!(format!("{:?}", direct.drops), format!("{:?}", boxed.drops), "{name} {application}");
        assert_eq!(format!("{:?}", direct.transfers), format!("{:?}", boxed.transfers), "{name} {application}");
    }
}

#[test]
fn payloads_count_in_the_memory_of_a_run() {
    let mut network = dumbbell();
    network["links"][0]["delay"] = "2 s".into();
    network["links"][0]["queue"] = "unlimited".into();
    network["flows"][0]["application"] = json!({ "constant_rate": { "rate": "100 kbit/s", "payload": "1000 B" } });
    let (transport, _) = blaster(500, 60_000);
    let spec = spec(&network, &transport);
    let mut simulation = Simulation::new(&spec, 1).unwrap_or_else(|error| panic!("{error}"));
    let before = simulation.memory_bytes();
    simulation.run_until(Time::from_secs_f64(0.1));
    // 500 packets of 48 B on their links with a payload of 32 B and its place.
    let each = (simulation.memory_bytes() - before) / 500;
    assert!((80..=400).contains(&each), "{each} B per packet");
}

/// The TCP of Linux over this engine sends every segment at the instant at which it leaves over the path of its own
/// crate, through slow start, an overflow of the queue and its repair.
#[test]
fn the_tcp_of_linux_sends_the_same_segments_over_this_engine_as_over_its_own_path() {
    let network = json!({
        "duration": "8 s", "profile": "rfc",
        // A byte takes a microsecond, so neither side rounds.
        "links": [{ "between": ["left", "right"], "rate": "8 Mbit/s", "delay": "20 ms",
                    "forward": { "queue": { "drop_tail": { "packets": 25 } } }, "backward": { "queue": "unlimited" } }],
        "flows": [{ "name": "linux", "from": "left", "to": "right", "tcp": "newreno",
                    "application": { "ftp": { "bytes": "5 MB" } } }],
        "records": { "grid": "1 s" },
    });
    // The other path has an application that writes all at once.
    let hosts = LinuxTcp::new(sender::Config::default(), receiver::Config::default(), u64::MAX, false);
    let linux = Logged { hosts, ..Logged::default() };
    let transport: Arc<dyn Transport> = Arc::new(linux.clone());
    let records = Simulation::new(&spec(&network, &transport), 1).unwrap_or_else(|error| panic!("{error}")).run();
    let flow = &records.flows[0];
    assert_eq!(flow.bytes_delivered, 5_000_000);
    assert!(flow.completed.is_some_and(|at| at > Time::from_secs_f64(5e6 * 8.0 / 8e6)), "{:?}", flow.completed);
    assert!(flow.drops[DropCause::Queue as usize] > 0 && flow.retransmissions > 0, "{flow:?}");

    let rate = Rate::from_bps(8_000_000).expect("a rate");
    let end = Time::from_secs_f64(8.0);
    let elsewhere = Logged::elsewhere(5_000_000, rate, Duration::from_millis(20), 25, end);
    let here = linux.log.lock().expect("one thread");
    for (number, (here, elsewhere)) in here.iter().zip(&elsewhere).enumerate() {
        assert_eq!(here, elsewhere, "segment {number} of both directions");
    }
    assert_eq!(here.len(), elsewhere.len());
    assert!(here.len() > 5000, "{} segments", here.len());
}

/// What only Skyhop's own TCP can do is refused by name, not ignored.
#[test]
fn what_needs_the_own_tcp_is_refused() {
    let (unreliable, _) = blaster(1, 100);
    let reliable: Arc<dyn Transport> = Arc::new(StopAndWait::new(1000));
    let refused = |spec: &SimulationSpec| match Simulation::new(spec, 1) {
        Ok(_) => panic!("it was built"),
        Err(error) => error.to_string(),
    };
    let whole = spec(&dumbbell(), &unreliable);
    assert!(refused(&whole).contains("acknowledged stream"), "{}", refused(&whole));

    let mut whole = spec(&dumbbell(), &reliable);
    whole.flows[0].jitter = Duration::from_millis(1);
    assert!(refused(&whole).contains("jitter"), "{}", refused(&whole));

    let mut whole = spec(&dumbbell(), &reliable);
    whole.clock = RunClock::Ns2;
    assert!(refused(&whole).contains("ns-2's clock"), "{}", refused(&whole));

    let mut whole = spec(&dumbbell(), &reliable);
    let mut leg = whole.flows[0].clone();
    leg.name = "second".into();
    leg.application = SourceConfig::Relay {
        before: whole.flows[0].name.clone(),
        buffer_bytes: 1000,
        share: skyhop_sim::spec::RelayShare::OfTcp,
    };
    whole.flows.push(leg);
    assert!(refused(&whole).contains("split connection"), "{}", refused(&whole));
}
