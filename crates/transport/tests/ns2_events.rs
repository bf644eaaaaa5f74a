//! Packet for packet: the event lists of ns-2 at the bottleneck, every case and agent of the reference folder.

mod support;

use std::fmt::Write;
use std::path::Path;
use support::dumbbell::Dumbbell;
use support::reference::{Event, cases, events, ns2_folder, transports_of};

/// The resolution of the traces, and what their rounding adds.
const TOLERANCE_S: f64 = 1.01e-6;

/// Where two lists of one kind differ first.
fn difference(theirs: &[Event], ours: &[Event]) -> Option<String> {
    let same = |a: &Event, b: &Event| a.seq == b.seq && a.flow == b.flow && (a.time_s - b.time_s).abs() <= TOLERANCE_S;
    let at = theirs.iter().zip(ours).position(|(a, b)| !same(a, b));
    let at = at.or((theirs.len() != ours.len()).then_some(theirs.len().min(ours.len())))?;
    let show = |list: &[Event]| {
        let shown = list.iter().skip(at.saturating_sub(2)).take(5);
        shown.map(|e| format!("{:.6} {}#{}", e.time_s, e.flow, e.seq)).collect::<Vec<_>>().join(", ")
    };
    Some(format!("event {at} of {} / {}: ns-2 [{}] ours [{}]", theirs.len(), ours.len(), show(theirs), show(ours)))
}

/// Compares every case of a folder; says where one parts.
fn compare(folder: &Path) -> String {
    let only = std::env::var("ONLY").unwrap_or_default();
    let (mut report, mut compared) = (String::new(), 0);
    for case in cases(folder) {
        for agent in &case.events_agents {
            if !format!("{} {agent}", case.name).contains(&only) {
                continue;
            }
            let Some(configs) = transports_of(agent, &case) else {
                eprintln!("not compared: {} {agent}, no such transport yet", case.name);
                continue;
            };
            compared += 1;
            let reference = events(folder, &case.name, agent);
            let (_, ours) = Dumbbell::new(&case, &configs).run(case.events_until_s);
            for kind in &case.events_kinds {
                let none = Vec::new();
                let theirs = reference.get(kind).unwrap_or(&none);
                let mine = ours.get(kind.as_str()).unwrap_or(&none);
                if let Some(difference) = difference(theirs, mine) {
                    let _ = writeln!(report, "{} {agent} {kind}: {difference}", case.name);
                }
            }
        }
    }
    assert!(compared > 0, "nothing was compared");
    report
}

#[test]
fn every_event_list_agrees() {
    let Some(folder) = ns2_folder() else { return };
    let report = compare(&folder);
    assert!(report.is_empty(), "{report}");
}

/// Short runs that each need one rule of ns-2: `RULES` in `tests/reference/ns2/make.py`.
#[test]
fn every_rule_of_ns2_is_there() {
    let report = compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/ns2/traces"));
    assert!(report.is_empty(), "{report}");
}
