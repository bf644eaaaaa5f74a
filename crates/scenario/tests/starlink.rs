//! The profile `starlink`: its defaults, its switches, and a recorded link beside it.

use flate2::read::GzDecoder;
use serde_json::json;
use skyhop_base::{Duration, Rate, Time};
use skyhop_scenario::Scenario;
use skyhop_sim::records::PacketEvent;
use skyhop_sim::spec::{Discipline, ErrorConfig, LinkConfig, Pace, QueueConfig, QueueLimit, SlotConfig};
use skyhop_sim::{Records, Simulation};
use skyhop_topology::CheckTimes;
use std::io::Read;
use std::path::{Path, PathBuf};

fn scenario(value: &serde_json::Value) -> Scenario {
    let scenario = Scenario::from_json(value, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let again = Scenario::from_json(&scenario.canonical(), "canonical", &[]).unwrap();
    assert_eq!(again.hash(), scenario.hash(), "the canonical form is the same scenario");
    scenario
}

/// A terminal and the internet; `link` has the values of the wire.
fn wire(link: &serde_json::Value, flow: &serde_json::Value, records: &serde_json::Value) -> Scenario {
    let mut value = json!({
        "duration": "600 s",
        "links": [{ "between": ["terminal", "internet"], "delay": "7 ms" }],
        "flows": [{ "name": "f", "from": "terminal", "to": "internet", "udp": { "header": "0 B" },
            "application": { "constant_rate": flow } }],
        "records": records,
    });
    let of = value["links"][0].as_object_mut().unwrap();
    of.extend(link.as_object().unwrap().clone());
    scenario(&value)
}

fn slots(link: &LinkConfig) -> &SlotConfig {
    let Pace::Slots(slots) = &link.pace else { panic!("{link:?}") };
    slots
}

const PROBES: &str = r#"{ "rate": "51.2 kbit/s", "payload": "64 B" }"#;

fn probes() -> serde_json::Value {
    serde_json::from_str(PROBES).unwrap()
}

#[test]
fn a_wire_has_the_values_of_both_directions() {
    let spec = wire(&json!({ "profile": "starlink" }), &probes(), &json!({})).simulation_spec();
    // In the order of names: internet->terminal is the way down.
    let [down, up] = &spec.links.wired[..] else { panic!() };
    assert_eq!(down.queue, QueueConfig::drop_front(QueueLimit::Packets(50_000)));
    assert_eq!(up.queue, QueueConfig::drop_front(QueueLimit::Packets(500)));
    let (down_slots, up_slots) = (slots(down), slots(up));
    assert_eq!(up_slots.rates, [10_000_000, 70_000_000]);
    assert_eq!(down_slots.rates, [10_000_000, 370_000_000]);
    assert_eq!((up.rate, down.rate), (Rate::from_bps(40_000_000).unwrap(), Rate::from_bps(190_000_000).unwrap()));
    assert_eq!((up_slots.loss, down_slots.loss), (0.002, 0.0001));
    assert_eq!((up_slots.every, up_slots.phase), (Duration::from_secs(15), Duration::from_secs(12)));
    // 6 % of a second's packets in 215 ms.
    assert!((up_slots.edge_loss[1] - 0.06 / 0.215).abs() < 1e-12);
    assert!(matches!(up.errors[..], [ErrorConfig::Slots(_)]));
}

#[test]
fn every_part_can_be_switched_off() {
    let off = json!({ "profile": { "starlink": { "step": "0 ms", "jitter": "0 ms", "spike": ["0 ms", "0 ms"],
        "edge_loss": [0, 0], "loss": 0 } }, "rate": "20 Mbit/s", "queue": "drop_tail" });
    let scenario = wire(&off, &probes(), &json!({}));
    assert_eq!(slots(&scenario.simulation_spec().links.wired[0]).rates, [20_000_000, 20_000_000]);
    let flow = Simulation::new(&scenario.simulation_spec(), 1).unwrap().run().flows[0].clone();
    // 64 B at 20 Mbit/s and the wire.
    assert_eq!(flow.packets_received + 1, flow.packets_sent);
    assert!((flow.delay.min_s - 0.007_025_6).abs() < 1e-9 && (flow.delay.max_s - 0.007_025_6).abs() < 1e-9);
    // One direction without.
    let half = json!({ "profile": "starlink", "rate": "1 Mbit/s", "backward": { "profile": "none" } });
    let spec = wire(&half, &probes(), &json!({})).simulation_spec();
    assert_eq!(spec.links.wired[0].pace, Pace::Steady);
    assert!(matches!(spec.links.wired[0].queue.discipline, Discipline::DropTail { .. }));
    assert_eq!(slots(&spec.links.wired[1]).rates, [1_000_000; 2]);
}

/// A bent pipe: the gateway is no terminal.
fn sky() -> serde_json::Value {
    json!({
        "duration": "60 s",
        "constellation": { "preset": "starlink-1", "epoch": "2025-10-07T00:00:05Z",
            "gsl": { "rate": "1 Gbit/s", "gateways": "bent-pipe",
                "uplink": { "profile": { "starlink": { "rates": ["20 Mbit/s", "60 Mbit/s"] } } },
                "downlink": { "profile": "starlink" },
                "handover": { "policy": "highest-elevation" } } },
        "stations": { "palermo": { "city": "Palermo" }, "rome": { "city": "Rome" } },
        "links": [{ "between": ["rome", "internet"], "rate": "1 Gbit/s", "delay": "1 ms" }],
        "flows": [
            { "name": "up", "from": "palermo", "to": "internet", "udp": {}, "application":
                { "constant_rate": { "rate": "100 kbit/s", "payload": "100 B" } } },
            { "name": "down", "from": "internet", "to": "palermo", "udp": {}, "application":
                { "constant_rate": { "rate": "100 kbit/s", "payload": "100 B" } } },
        ],
    })
}

#[test]
fn terminals_follow_the_slots_and_gateways_do_not() {
    let spec = scenario(&sky()).simulation_spec();
    // Five seconds past the minute: the slots begin at :12.
    let phase = Duration::from_secs(7);
    assert_eq!(spec.topology.gsl.unwrap().check_times, CheckTimes::Slots { phase });
    let uplink = slots(spec.links.uplink.as_ref().unwrap());
    assert_eq!((uplink.phase, uplink.rates, uplink.step), (phase, [20_000_000, 60_000_000], Duration::ZERO));
    assert_eq!(slots(spec.links.feeder.as_ref().unwrap()).rates, [1_000_000_000; 2]);
    assert_eq!(spec.links.downlink.as_ref().unwrap().pace, Pace::Steady);
    let records = Simulation::new(&spec, 1).unwrap().run();
    for flow in &records.flows {
        // One jittered hop each way: 14.4 ms and a spike of 25 ms over up to 7.5 ms and a wire. Two would reach 86 ms.
        assert!(flow.delay.max_s < 0.05 && flow.delay.max_s - flow.delay.min_s > 0.02, "{:?}", flow.delay);
    }
}

#[test]
fn links_to_satellites_follow_recordings() {
    let mut value = sky();
    let list: String = (1..=100).map(|n| format!("{}\n", n * 10)).collect();
    value["constellation"]["gsl"]["uplink"] = json!({ "trace": { "opportunities": { "text": list } } });
    value["constellation"]["gsl"]["downlink"] = json!({});
    value["flows"] = json!([{ "name": "up", "from": "palermo", "to": "internet", "udp": { "header": "0 B" },
        "application": { "constant_rate": { "rate": "4 Mbit/s", "payload": "1504 B" } } }]);
    let spec = scenario(&value).simulation_spec();
    let records = Simulation::new(&spec, 1).unwrap().run();
    assert!(records.conservation.holds(), "{:?}", records.conservation);
    // One packet in 10 ms, less what is under way at the end and what handovers drop from the queue.
    assert!(records.handovers.len() >= 4, "{:?}", records.handovers);
    let rate = records.flows[0].goodput_bps / 1_203_200.0;
    assert!((0.97..=1.0).contains(&rate), "{rate}");
}

/// Numbers that a recording and a run are compared by.
#[derive(Debug)]
struct Shape {
    /// Quantiles of what the delay is above the least: 5, 50, 95, 99.9 %.
    above_ms: [f64; 4],
    /// Mean distance of delays 10 ms apart.
    change_ms: f64,
    /// Largest delay near the edges of slots, above the least, in order.
    spikes_ms: Vec<f64>,
}

/// Delays of probes every 10 ms, the first edge at so many probes.
fn shape(ms: &[f64], edge: usize) -> Shape {
    let mut sorted = ms.to_vec();
    sorted.sort_by(f64::total_cmp);
    let least = sorted[0];
    let quantile = |q: f64| sorted[(q * (sorted.len() - 1) as f64) as usize] - least;
    let mut spikes_ms: Vec<f64> = (edge..ms.len() - 20)
        .step_by(1500)
        .map(|at| ms[at.saturating_sub(10)..at + 20].iter().copied().fold(0.0, f64::max) - least)
        .collect();
    spikes_ms.sort_by(f64::total_cmp);
    let change_ms = ms.windows(2).map(|two| (two[1] - two[0]).abs()).sum::<f64>() / (ms.len() - 1) as f64;
    Shape { above_ms: [0.05, 0.5, 0.95, 0.999].map(quantile), change_ms, spikes_ms }
}

/// Mean rate of each slot, Mbit/s, and the mean deviation of its seconds from it, as a share.
fn slot_rates(seconds_mbps: &[f64], edge: usize) -> (Vec<f64>, f64) {
    // The seconds with an edge are left out.
    let slots: Vec<&[f64]> = seconds_mbps[edge + 1..].chunks(15).filter(|slot| slot.len() >= 14).collect();
    let means: Vec<f64> = slots.iter().map(|slot| slot[..14].iter().sum::<f64>() / 14.0).collect();
    let off: f64 = slots
        .iter()
        .zip(&means)
        .map(|(slot, mean)| slot[..14].iter().map(|mbps| (mbps / mean - 1.0).abs()).sum::<f64>() / 14.0)
        .sum();
    (means, off / slots.len() as f64)
}

fn recording() -> Option<(Vec<f64>, Vec<f64>)> {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/starlink-trace");
    let delays = std::fs::read_to_string(folder.join("one-way-delay-ms.txt")).ok()?;
    let file = std::fs::File::open(folder.join("uplink-opportunities-ms.txt.gz")).ok()?;
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).ok()?;
    let mut seconds = vec![0.0; 120];
    for ms in text.lines().filter_map(|line| line.parse::<usize>().ok()).filter(|ms| *ms < 120_000) {
        seconds[ms / 1000] += 1504.0 * 8.0 / 1e6;
    }
    Some((delays.lines().filter_map(|line| line.parse().ok()).collect(), seconds))
}

fn run(scenario: &Scenario) -> Records {
    Simulation::new(&scenario.simulation_spec(), 1).unwrap().run()
}

/// `docs/models/starlink.md` has the numbers that this prints.
#[test]
fn the_profile_looks_like_a_recorded_link() {
    let Some((delays, seconds)) = recording() else {
        eprintln!("skipped: no recording in ../shared/data/starlink-trace");
        return;
    };
    let link = json!({ "profile": "starlink" });
    let received = json!({ "packets": ["terminal->internet"] });
    let probed = run(&wire(&link, &probes(), &received));
    // One probe leaves every 10 ms; what is lost is taken to be like the one before.
    let mut ms = vec![f64::NAN; 60_000];
    for row in probed.packets.iter().filter(|row| row.event == PacketEvent::Receive) {
        let n = row.seq.unwrap() as usize;
        ms[n] = row.time.since(Time::ZERO).as_secs_f64() * 1e3 - 10.0 * n as f64;
    }
    // The first one might be.
    ms[0] = if ms[0].is_nan() { ms[1] } else { ms[0] };
    for n in 1..ms.len() {
        ms[n] = if ms[n].is_nan() { ms[n - 1] } else { ms[n] };
    }
    ms.truncate(59_990);
    // Large packets, so that there are few.
    let flooded = run(&wire(&link, &json!({ "rate": "80 Mbit/s", "payload": "9000 B" }), &received));
    let mut mbps = vec![0.0; 600];
    for row in flooded.packets.iter().filter(|row| row.event == PacketEvent::Receive) {
        mbps[row.time.since(Time::ZERO).as_secs_f64() as usize] += f64::from(row.size_bytes) * 8.0 / 1e6;
    }
    // In the recording the first edge is at 8.7 s; the profile's is at 12 s.
    let (real, ours) = (shape(&delays, 870), shape(&ms, 1200));
    let ((real_rates, real_off), (our_rates, our_off)) = (slot_rates(&seconds, 8), slot_rates(&mbps, 12));
    eprintln!("recorded: {real:.1?}\n  slots {real_rates:.0?} Mbit/s, seconds off by {real_off:.3}");
    eprintln!("profile: {ours:.1?}\n  slots {our_rates:.0?} Mbit/s, seconds off by {our_off:.3}");
    let lost = 1.0 - probed.flows[0].delivery_fraction;
    eprintln!("profile: {:.2} % of probes lost", lost * 1e2);
    // Every edge is seen in both, and as high as in the other.
    let middle = |shape: &Shape| shape.spikes_ms[shape.spikes_ms.len() / 2];
    assert!(real.spikes_ms[0] > 3.0 * real.above_ms[2] && ours.spikes_ms[0] > 1.5 * ours.above_ms[2]);
    assert!((0.67..1.5).contains(&(middle(&ours) / middle(&real))), "{} {}", middle(&ours), middle(&real));
    // Between edges the profile moves more: its jitter is that of another terminal, in another year.
    let [wider, restless] = [ours.above_ms[2] / real.above_ms[2], ours.change_ms / real.change_ms];
    assert!((1.0..4.0).contains(&wider) && (1.0..5.3).contains(&restless), "{wider} {restless}");
    // Rates belong to slots, and to one range.
    for (rates, off) in [(&real_rates, real_off), (&our_rates, our_off)] {
        assert!(rates.iter().all(|mbps| (10.0..=70.0).contains(mbps)) && off < 0.06, "{rates:?} {off}");
    }
    // 0.2 % and at edges 0.5 to 6 % of one second in 15, 0.22 % on average: four standard deviations are 0.16 %.
    assert!((lost - 0.0042).abs() < 0.0016, "{lost}");
}
