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
