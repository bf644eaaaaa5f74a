//! Controls that heed hints of a handover.

use crate::support::*;
use skyhop_tcp::control::{ControlKind, PathHint};
use skyhop_tcp::sender::Sender;

/// A path with a short queue, whose packets are lost from 10 to 10.4 s, while a handover lasts.
fn path() -> Bottleneck {
    let mut path = Bottleneck::new(20.0, 60.0, 20);
    path.loss = 1.0;
    path.loss_between = (10.0, 10.4);
    path
}

/// The volume in Mbit that a control carries in the five seconds after the handover begins; `hinted`: which of its ends
/// are told.
fn carried(control: ControlKind, hinted: [bool; 2]) -> f64 {
    let mut told = [false; 2];
    // Hints come with a tick of the host: each ACK is one, and a write of the application during the outage.
    let mut flow = Flow::of(control);
    flow.writes.extend((0..40).map(|i| (10.0 + f64::from(i) * 0.02, 1)));
    let hints = [(9.95, PathHint::HandoverBegins), (10.45, PathHint::HandoverEnds)];
    let act = |sender: &mut Sender, _, now: skyhop_base::Time| {
        for (place, &(at, hint)) in hints.iter().enumerate() {
            if hinted[place] && !told[place] && now.as_secs_f64() >= at {
                told[place] = true;
                sender.on_path_hint(now, hint);
            }
        }
    };
    run_with(&path(), vec![flow], 15.0, act).goodput(0, 10.0, 15.0) * 5.0
}

#[test]
fn satcp_keeps_its_window_over_a_handover_and_is_cubic_without_hints() {
    let named = |name: &str| ControlKind::named(name).unwrap();
    let (satcp, cubic) = (carried(named("satcp"), [true; 2]), carried(named("cubic"), [false; 2]));
    assert!(satcp > 1.03 * cubic, "{satcp} Mbit, CUBIC {cubic}");
    assert_eq!(carried(named("satcp"), [false; 2]), cubic);
}

#[test]
fn each_parameter_of_satcp_has_an_effect() {
    let stock = carried(ControlKind::named("satcp").unwrap(), [true; 2]);
    let changed = |option: &str, value: serde_json::Value| with_option("satcp", option, value);
    assert_ne!(carried(changed("restore", "off".into()), [true; 2]), stock);
    // Without the window before, the time to it matters.
    let slow: ControlKind =
        serde_json::from_value(serde_json::json!({ "satcp": { "restore": "off", "shrink": 0 } })).unwrap();
    assert_ne!(carried(slow, [true; 2]), carried(changed("restore", "off".into()), [true; 2]));
    // Where the end is not told, the longest time decides.
    let begins = [true, false];
    assert_ne!(carried(changed("longest", 0.01.into()), begins), carried(changed("longest", 60.into()), begins));
}

/// A path of 10 Mbit/s and 40 ms that a handover at 12 s turns into one of 20 Mbit/s and 120 ms.
fn changed_path() -> Bottleneck {
    let mut path = Bottleneck::new(10.0, 40.0, 400);
    path.rates = vec![(0.0, 10.0), (12.0, 20.0)];
    path.rtts = vec![(0.0, 40.0), (12.0, 120.0)];
    path
}

/// A run of 30 s over a path; the handover at 12 s is told, or not.
fn over(path: &Bottleneck, control: ControlKind, told: bool) -> Run {
    let mut hinted = !told;
    let act = |sender: &mut Sender, _, now: skyhop_base::Time| {
        if !hinted && now.as_secs_f64() >= 12.0 {
            hinted = true;
            sender.on_path_hint(now, PathHint::HandoverBegins);
        }
    };
    run_with(path, vec![Flow::of(control)], 30.0, act)
}

/// When a flow enters a phase.
fn entered(run: &Run, phase: &str) -> Vec<f64> {
    run.phases(0).into_iter().filter(|(_, name)| *name == phase).map(|(at, _)| at).collect()
}

#[test]
fn leocc_measures_the_path_anew_after_a_handover() {
    let leocc = || ControlKind::named("leocc").unwrap();
    let told = over(&changed_path(), leocc(), true);
    let bbr = over(&changed_path(), ControlKind::named("bbr").unwrap(), false);
    // BBR keeps the RTT of the old path for 10 s, and with it a window of two thirds of what the new one needs.
    let (new, old) = (told.goodput(0, 14.0, 20.0), bbr.goodput(0, 14.0, 20.0));
    assert!(new > 1.2 * old && new > 17.0, "{new} Mbit/s, BBR {old}");
    // It probes the RTT at once, and the rate from there on.
    let (probes, startups) = (entered(&told, "probe-rtt"), entered(&told, "startup"));
    assert!(probes.iter().any(|at| (12.0..12.6).contains(at)), "{probes:?}");
    assert!(startups.iter().any(|at| (12.2..13.2).contains(at)), "{startups:?}");
    // Without a word from the network it never starts anew.
    assert!(entered(&over(&changed_path(), leocc(), false), "startup").iter().all(|at| *at < 1.0));
}

#[test]
fn leocc_by_the_clock_starts_anew_in_each_period() {
    let with = |options: serde_json::Value| -> ControlKind {
        serde_json::from_value(serde_json::json!({ "leocc": options })).unwrap()
    };
    let startups = |options| {
        let starts = entered(&over(&changed_path(), with(options), false), "startup");
        starts.into_iter().filter(|at| *at > 1.0).collect::<Vec<_>>()
    };
    let by_default = startups(serde_json::json!({ "clock": "on" }));
    assert!(by_default.len() == 2, "{by_default:?}");
    assert!((11.9..13.5).contains(&by_default[0]) && (26.9..28.5).contains(&by_default[1]), "{by_default:?}");
    let often = startups(serde_json::json!({ "clock": "on", "period": 5 , "offset": 4 }));
    assert!(often.len() >= 5 && (3.9..5.0).contains(&often[0]), "{often:?}");
    // The network's hints count no more.
    assert_eq!(
        over(&changed_path(), with(serde_json::json!({ "clock": "on" })), true).points.len(),
        over(&changed_path(), with(serde_json::json!({ "clock": "on" })), false).points.len()
    );
}

#[test]
fn leocc_goes_by_its_estimate_while_a_queue_stands() {
    let queue = |fluctuation: f64| {
        let control = with_option("leocc", "fluctuation", fluctuation.into());
        over(&Bottleneck::new(10.0, 40.0, 400), control, false).mean_queue(5.0, 30.0)
    };
    let (careful, bold) = (queue(2.0), queue(1000.0));
    assert!(careful < bold, "{careful} and {bold} packets wait");
}

#[test]
fn leocc_keeps_the_bandwidth_where_the_rtt_falls() {
    let mut path = Bottleneck::new(10.0, 140.0, 400);
    path.rtts = vec![(0.0, 140.0), (12.0, 40.0)];
    let acked = |fall: f64| {
        let run = over(&path, with_option("leocc", "fall", fall.into()), true);
        run.points.iter().map(|point| point.acked).collect::<Vec<_>>()
    };
    assert_ne!(acked(45.0), acked(1000.0));
}
