//! The worked examples of `tests/vectors/algorithms_vectors.json` for reno, vegas, bic, yam and peach.

use serde_json::Value;
use skyhop_base::{Duration, Time};
use skyhop_cc::*;

fn example(name: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/algorithms_vectors.json");
    let text = std::fs::read_to_string(path).expect("the worked examples are part of the project");
    let all: Value = serde_json::from_str(&text).expect("the worked examples are JSON");
    all["vectors"].as_array().expect("a list").iter().find(|v| v["name"] == name).expect("the example").clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

fn start(cwnd: Segments, ssthresh: Segments) -> Start {
    Start { cwnd, ssthresh, clamp: f64::INFINITY, mss: 1460 }
}

fn event(kind: CongestionKind, window: Segments) -> CongestionEvent {
    let now = Time::ZERO;
    CongestionEvent { now, kind, window, in_flight: window, smoothed_rtt: None, min_rtt: None, mss: 1460 }
}

fn ack(now_s: f64, rtt_s: f64, in_flight: Segments, round: Option<Round>) -> AckSample {
    AckSample {
        now: Time::from_secs_f64(now_s),
        newly_acked: 1.0,
        newly_reported: 0.0,
        growth: Growth { slow_start: 1.0, avoidance: 1.0 },
        latest_rtt: Some(Duration::from_secs_f64(rtt_s)),
        smoothed_rtt: None,
        min_rtt: None,
        in_flight,
        round,
        acknowledged: 0,
        delivered: 0,
        ecn_marked: 0.0,
        repairing: false,
        mss: 1460,
    }
}

#[test]
fn ecn_abe_of_reno() {
    let example = example("ecn_abe");
    let cwnd = example["inputs"]["cwnd"].as_f64().unwrap();
    let abe = RenoConfig { ecn_decrease: 0.8, ..RenoConfig::of(Bundle::Rfc) };
    for (config, kind, key) in [
        (RenoConfig::of(Bundle::Rfc), CongestionKind::Loss(Lost::First), "reno_loss"),
        (RenoConfig::of(Bundle::Rfc), CongestionKind::Ecn, "reno_ecn"),
        (abe, CongestionKind::Ecn, "reno_abe"),
    ] {
        let mut reno = Reno::new(config, start(cwnd, f64::INFINITY));
        reno.on_congestion(&event(kind, cwnd));
        assert_eq!(reno.cwnd(), example["expected"][key].as_f64().unwrap(), "{key}");
    }
}

#[test]
fn vegas_diff_and_its_step() {
    let example = example("vegas_diff");
    let input = |key: &str| example["inputs"][key].as_f64().unwrap();
    let (window, base, rtt) = (input("window"), input("base_rtt_s"), input("rtt_s"));
    let diff = vegas_diff(window, window, base, rtt);
    assert!((diff - example["expected"]["diff_packets"].as_f64().unwrap()).abs() < 1e-6, "{diff}");

    // The paper's α = 1, β = 3: a diff of 4 takes one segment away.
    let mut vegas = Vegas::new(VegasConfig::of(Bundle::Rfc), start(window, 2.0));
    let in_flight = window - 1.0; // the ACK that ends the round has taken one out
    let round = |began_s: f64| Some(Round { began: Time::from_secs_f64(began_s), sent: window as u32 });
    vegas.on_ack(&ack(0.1, base, in_flight, round(0.0)));
    vegas.on_ack(&ack(0.2, rtt, in_flight, None));
    let before = vegas.cwnd();
    // The mean of the round is that of the two samples before it ended: make both the longer one.
    vegas.on_ack(&ack(0.3, rtt, in_flight, round(0.1)));
    vegas.on_ack(&ack(0.4, rtt, in_flight, round(0.3)));
    assert_eq!(vegas.cwnd() - before, example["expected"]["next_cwnd_paper_alpha1_beta3"].as_f64().unwrap() - window);
}

#[test]
fn bic_linux_cnt() {
    let example = example("bic_linux_cnt");
    let config = BicConfig::of(Bundle::Rfc);
    let last_max = example["inputs"]["last_max_cwnd"].as_u64().unwrap() as u32;
    let effective = numbers(&example["expected"]["cnt_effective_at_31"]);
    for (i, cwnd) in numbers(&example["inputs"]["cwnd"]).into_iter().enumerate() {
        let count = config.ack_count(cwnd as u32, last_max);
        assert_eq!(f64::from(count), numbers(&example["expected"]["cnt"])[i], "cwnd {cwnd}");
        let per_rtt = cwnd / f64::from(count);
        assert!((per_rtt - numbers(&example["expected"]["increment_per_rtt"])[i]).abs() < 1e-9, "cwnd {cwnd}");
        assert_eq!(f64::from(bic_with_ack_ratio(count, 31)), effective[i], "cwnd {cwnd}");
    }
}

#[test]
fn bic_linux_loss() {
    let example = example("bic_linux_loss");
    let config = BicConfig::of(Bundle::Rfc);
    let (cwnds, maxima) = (numbers(&example["inputs"]["cwnd"]), numbers(&example["inputs"]["last_max_cwnd"]));
    for (i, (cwnd, last_max)) in cwnds.into_iter().zip(maxima).enumerate() {
        let (ssthresh, new_max) = config.after_loss(cwnd as u32, last_max as u32);
        assert_eq!(f64::from(ssthresh), numbers(&example["expected"]["ssthresh"])[i], "threshold after {cwnd}");
        assert_eq!(f64::from(new_max), numbers(&example["expected"]["new_last_max"])[i], "maximum after {cwnd}");
    }
}

fn probing(name: &str, cwnd: Segments) -> Control {
    let config = ControlSpec::named(name).and_then(|spec| spec.resolve(Bundle::Rfc)).expect("a control");
    config.start(Start { cwnd, ssthresh: f64::INFINITY, clamp: f64::INFINITY, mss: 1000 })
}

fn loss(window: Segments) -> CongestionEvent {
    event(CongestionKind::Loss(Lost::First), window)
}

#[test]
fn peach_rapid_recovery() {
    let example = example("peach_rapid_recovery");
    let before = example["inputs"]["cwnd_at_loss"].as_f64().unwrap();
    let acked = example["inputs"]["dummy_acks_received"].as_array().unwrap();
    for (acked, expected) in acked.iter().zip(example["expected"]["cwnd_final"].as_array().unwrap()) {
        let mut control = probing("peach", before);
        control.on_congestion(&loss(before));
        assert_eq!(control.cwnd(), example["expected"]["cwnd_after_halving"].as_f64().unwrap());
        for _ in 0..acked.as_u64().unwrap() {
            control.on_probe_acked();
        }
        assert_eq!(control.cwnd(), expected.as_f64().unwrap());
    }
}

#[test]
fn yam_recovery() {
    let example = example("yam_recovery");
    let missing = example["inputs"]["missing_segments"].as_f64().unwrap();
    let expected = &example["expected"];
    for (i, before) in example["inputs"]["cwnd"].as_array().unwrap().iter().enumerate() {
        let before = before.as_f64().unwrap();
        let mut control = probing("yam", before);
        control.on_lost(&LossSample { now: Time::ZERO, lost: missing, in_flight: before });
        control.on_congestion(&loss(before));
        match expected["cwnd_while_retransmitting"][i].as_f64() {
            Some(cwnd) => {
                assert_eq!(
                    (control.cwnd(), control.state().ssthresh),
                    (cwnd, expected["ssthresh"][i].as_f64().unwrap())
                );
                control.on_recovered();
                assert_eq!(control.cwnd(), expected["ssthresh"][i].as_f64().unwrap());
            }
            None => assert_eq!((control.cwnd(), control.state().phase), (1.0, CcPhase::SlowStart)),
        }
    }
}

#[test]
fn yam_gives_up_with_the_third_loss() {
    // Paper §3.2 step 2.
    let mut control = probing("yam", 64.0);
    for expected in [48.0, 36.0, 1.0] {
        control.on_congestion(&loss(control.cwnd()));
        assert_eq!(control.cwnd(), expected);
    }
    assert_eq!(control.state().ssthresh, 27.0);
}

#[test]
fn yam_congestion_avoidance() {
    let example = example("yam_congestion_avoidance");
    let mut control = probing("yam", example["inputs"]["cwnd"].as_f64().unwrap() / 0.75);
    control.on_congestion(&loss(control.cwnd()));
    control.on_recovered();
    let mut after = |rtt: f64| {
        control.on_ack(&ack(0.0, rtt, 9.0, None));
        control.cwnd()
    };
    after(example["inputs"]["last_rtt_s"].as_f64().unwrap());
    for row in example["expected"].as_array().unwrap() {
        let (got, expected) = (after(row["rtt"].as_f64().unwrap()), row["cwnd"].as_f64().unwrap());
        assert!((got - expected).abs() <= example["tolerance"].as_f64().unwrap(), "{row}: {got}");
    }
}
