//! Controls that measure delay, over a queue that never overflows for them: each settles where its paper's equation
//! says, from above (after slow start), from below (its threshold is low) and after the rate of the link has changed.

use crate::shows;
use serde_json::{Value, json};
use skyhop::Run;
use skyhop_tests::run_json;
use std::fmt::Write;

/// A link whose rate may change; packets of 1500 B.
struct Path<'a> {
    delay: &'a str,
    queue: u32,
    seconds: u32,
    /// From when on, Mbit/s.
    rates: &'a [(u32, f64)],
}

impl Path<'_> {
    fn run(&self, tcp: &Value, flows: u32) -> Run {
        // A folder of its own: tests run at the same time.
        let folder = std::env::temp_dir().join(format!("skyhop-equilibria-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for recordings");
        let mut table = String::from("time_s,rate_bps\n");
        for (from, rate) in self.rates {
            let _ = writeln!(table, "{from},{}", rate * 1e6);
        }
        let name: String = table.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = folder.join(format!("{name}.csv"));
        if !path.exists() {
            let made = folder.join(format!("{name}-{:?}", std::thread::current().id()));
            std::fs::write(&made, &table).expect("a recording");
            std::fs::rename(&made, &path).expect("a recording");
        }
        let flow = |i: u32| json!({ "name": format!("f{i}"), "from": "left", "to": "right", "tcp": tcp });
        let network = json!({
            "duration": format!("{} s", self.seconds), "profile": "rfc",
            "records": { "grid": "100 ms" },
            "links": [{
                "between": ["left", "right"], "delay": self.delay, "rate": format!("{} Mbit/s", self.rates[0].1),
                "queue": { "drop_tail": { "packets": self.queue } },
                "trace": { "table": path, "period": format!("{} s", self.seconds + 1) },
            }],
            "flows": (0..flows).map(flow).collect::<Vec<_>>(),
        });
        run_json(&network, 1)
    }
}

/// The link from left to right.
fn there(run: &Run) -> u32 {
    run.records.link_names.iter().position(|name| name.starts_with("left")).expect("a link from the left") as u32
}

/// Packets that wait for the link from left to right, at every step from `from` to before `to` seconds.
fn queue(run: &Run, from: f64, to: f64) -> Vec<f64> {
    let rows = run.records.link_series.iter().filter(|row| row.link == there(run));
    let within = rows.filter(|row| (from..to).contains(&row.time.as_secs_f64()));
    within.map(|row| f64::from(row.queue_packets)).collect()
}

/// Share of the time in which the link from left to right sends.
fn utilisation(run: &Run, from: f64, to: f64) -> f64 {
    let rows = run.records.link_series.iter().filter(|row| row.link == there(run));
    let within = rows.filter(|row| (from..to).contains(&row.time.as_secs_f64()));
    mean(&within.map(|row| row.utilisation).collect::<Vec<_>>())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// Collects what lies outside of its bounds.
#[derive(Default)]
struct Report(String);

impl Report {
    fn check(&mut self, what: &str, got: f64, bounds: std::ops::RangeInclusive<f64>) {
        let broken = !bounds.contains(&got);
        if broken || shows() {
            let _ = writeln!(self.0, "{what}: {got:.3} of {bounds:?}{}", if broken { "  <- broken" } else { "" });
        }
    }

    fn end(self) {
        eprint!("{}", self.0);
        assert!(!self.0.contains("broken"), "{}", self.0);
    }
}

/// The starts: slow start that ends where the control ends it, and a threshold of 20 segments.
fn starts(name: &str) -> [(&'static str, Value); 2] {
    [
        ("from above", json!({ "name": name, "ack_every": 1 })),
        ("from below", json!({ "name": name, "ack_every": 1, "initial_ssthresh": 20.0 })),
    ]
}

/// 50 Mbit/s and 40 ms hold 167 packets; then 5 Mbit/s, then 50 Mbit/s again.
const FALLS_AND_RISES: Path =
    Path { delay: "20 ms", queue: 10_000, seconds: 300, rates: &[(0, 50.0), (60, 5.0), (180, 50.0)] };

/// Jin, Wei and Low 2004, equation of the equilibrium: α = 20 segments of every flow wait, whatever the rate.
#[test]
fn fast_keeps_alpha_segments_queued() {
    let mut report = Report::default();
    for (start, tcp) in starts("fast") {
        let run = FALLS_AND_RISES.run(&tcp, 1);
        for (from, to) in [(20.0, 60.0), (140.0, 180.0), (240.0, 300.0)] {
            report.check(&format!("fast {start}, {from} s"), mean(&queue(&run, from, to)), 17.0..=21.0);
        }
        report.check("timeouts", run.records.flows[0].timeouts as f64, 0.0..=0.0);
    }
    // Flows that begin together know the same base RTT, so each has its share.
    let run = Path { seconds: 60, rates: &[(0, 50.0)], ..FALLS_AND_RISES }.run(&starts("fast")[0].1, 3);
    report.check("three of fast", mean(&queue(&run, 20.0, 60.0)), 51.0..=63.0);
    for flow in &run.records.flows {
        report.check("a third of the link, Mbit/s", flow.goodput_bps / 1e6, 14.5..=17.5);
    }
    report.end();
}

/// Brakmo and Peterson 1995: the window is α = 1 to β = 3 segments above what the path holds by the base RTT. That is
/// the SYN's, shorter by the time of a packet, so that one segment less waits.
#[test]
fn vegas_keeps_alpha_to_beta_segments_queued() {
    let mut report = Report::default();
    for (start, tcp) in starts("vegas") {
        let run = FALLS_AND_RISES.run(&tcp, 1);
        // The window moves by one segment per round trip.
        for (from, to) in [(20.0, 60.0), (160.0, 180.0), (240.0, 300.0)] {
            report.check(&format!("vegas {start}, {from} s"), mean(&queue(&run, from, to)), 0.0..=2.2);
            let busy = utilisation(&run, from, to);
            report.check(&format!("vegas {start}, {from} s, use of the link"), busy, 0.985..=1.0 + 1e-9);
        }
        report.check("timeouts", run.records.flows[0].timeouts as f64, 0.0..=0.0);
    }
    report.end();
}

/// Baiocchi, Castellani and Vacirca 2007: where α = 80 segments are less than an eighth of the path, the queue grows by
/// a hundredth of the window per round trip to α, and decongestion empties it: a sawtooth. 60 Mbit/s and 160 ms hold
/// 800 packets. The fall of the rate is the way from above: slow start ends far above here, and leaves a reno_count
/// that no decongestion may go below.
#[test]
fn yeah_swings_between_an_empty_queue_and_alpha() {
    let mut report = Report::default();
    let path = Path { delay: "80 ms", queue: 10_000, seconds: 300, rates: &[(0, 60.0), (100, 50.0), (200, 60.0)] };
    let run = path.run(&starts("yeah")[1].1, 1);
    for (from, to) in [(60.0, 100.0), (140.0, 200.0), (240.0, 300.0)] {
        let waiting = queue(&run, from, to);
        // Growth goes on in the round that measures and in the one that shows it: 2 % of 800 and more. The mean is that
        // of the tooth.
        report.check(&format!("yeah, {from} s, most"), largest(&waiting), 80.0..=106.0);
        report.check(&format!("yeah, {from} s, mean of half the most"), mean(&waiting) / largest(&waiting), 0.4..=0.65);
    }
    report.end();
}

/// Kuzmanovic and Knightly 2003: LP halves when the smoothed delay passes 15 % of the range that it has seen. Slow
/// start fills the queue of 1000 packets at 50 Mbit/s, 240 ms: so 36 ms of queue remain its limit, whatever the rate.
/// Between the halvings the queue is a sawtooth, which the phase of inference may empty.
#[test]
fn lp_gives_way_at_its_share_of_the_delay() {
    let mut report = Report::default();
    let path = Path { delay: "20 ms", queue: 1000, seconds: 300, rates: &[(0, 50.0), (100, 20.0), (200, 50.0)] };
    let run = path.run(&starts("lp")[0].1, 1);
    for (from, to, rate) in [(60.0, 100.0, 50e6), (140.0, 200.0, 20e6), (240.0, 300.0, 50e6)] {
        let threshold = 0.15 * 0.24 * rate / 12_000.0;
        let waiting = queue(&run, from, to);
        report.check(&format!("lp, {from} s, most of {threshold:.0}"), largest(&waiting) / threshold, 0.9..=1.15);
        report.check(&format!("lp, {from} s, mean"), mean(&waiting) / threshold, 0.3..=0.7);
    }
    report.end();
}

/// Tan, Song, Zhang and Sridharan 2006: the delay part holds the window at what the path holds and γ = 30 segments, as
/// long as it has something to give; what it gives never brings slow start back.
#[test]
fn compound_waits_at_gamma_segments() {
    let mut report = Report::default();
    let path = Path { delay: "20 ms", queue: 10_000, seconds: 20, rates: &[(0, 50.0)] };
    let below = &starts("compound")[1].1;
    let run = path.run(below, 1);
    // Reno's part has grown from 20 to what the path holds after some 150 round trips, 6 s.
    let waiting = queue(&run, 3.0, 5.0);
    report.check("compound from below, mean", mean(&waiting), 5.0..=33.0);
    report.check("compound from below, most", largest(&waiting), 25.0..=45.0);
    // The rate falls to a half: the delay part gives all it has within round trips, and Reno's part grows by one
    // segment per round trip. Slow start would double it.
    let path = Path { seconds: 10, rates: &[(0, 50.0), (4, 25.0)], ..path };
    let run = path.run(below, 1);
    let waiting = queue(&run, 5.0, 10.0);
    report.check(
        "compound after a fall of the rate, growth in 5 s",
        waiting[waiting.len() - 1] - waiting[0],
        -40.0..=125.0,
    );
    report.end();
}

/// Liu, Başar and Srikant 2006: α falls with the queueing delay as κ1 / (κ2 + d), so that a cycle from half of the full
/// window takes as many round trips as the integral of 1/α over the windows says.
#[test]
fn illinois_grows_by_its_curve_of_delay() {
    let mut report = Report::default();
    // With 50 Mbit/s and 40 ms and a queue of 500 packets half of the full window still waits: queue 167 to 500.
    let path = Path { delay: "20 ms", queue: 500, seconds: 900, rates: &[(0, 50.0), (400, 25.0), (401, 25.0)] };
    for (start, tcp) in starts("illinois") {
        let run = path.run(&tcp, 1);
        for (from, to, held) in [(100.0, 400.0, 166.7), (500.0, 900.0, 83.3)] {
            let top = held + 500.0;
            // Delays in packets of this rate; the paper's constants, d_m that of a full queue at the slowest rate so
            // far.
            let longest = 500.0;
            let (d1, span) = (0.01 * longest, 10.0 - 0.3);
            let kappa1 = (longest - d1) * 0.3 * 10.0 / span;
            let kappa2 = (longest - d1) * 0.3 / span - d1;
            // Seconds from W to W + 1: one round trip of W packets at the rate, over α.
            let (mut seconds, mut packets, mut window) = (0.0, 0.0, top / 2.0);
            let rate = held / 0.04;
            while window < top {
                let waiting: f64 = window - held;
                let step = window / rate * (kappa2 + waiting) / kappa1;
                seconds += step;
                packets += waiting * step;
                window += 1.0;
            }
            let waiting = queue(&run, from, to);
            report.check(&format!("illinois {start}, {from} s, mean"), mean(&waiting) / (packets / seconds), 0.9..=1.1);
            // A cut empties the queue for more than one step.
            let steps: Vec<f64> = waiting.windows(5).map(|five| five[0] - five[4]).collect();
            let cuts = steps.windows(2).filter(|pair| pair[0] <= 100.0 && pair[1] > 100.0).count() as f64;
            report.check(
                &format!("illinois {start}, {from} s, cuts of {seconds:.0} s"),
                cuts * seconds / (to - from),
                0.6..=1.4,
            );
        }
    }
    report.end();
}
