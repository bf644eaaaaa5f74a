//! Packet for packet: the event lists of ns-2 at the bottleneck, every case and agent of a reference folder.
//!
//! Each runs by two clocks, nanoseconds and ns-2's double. What parts by nanoseconds and is the same to the last event
//! by ns-2's clock parts by its rounding and nothing else; what parts by ns-2's clock, too, does something else than
//! ns-2.

use crate::support::clock::Clock;
use crate::support::dumbbell::{Dumbbell, Tie};
use crate::support::reference::{Case, Event, cases, events, ns2_folder, transports_of};
use skyhop_transport::TcpConfig;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The resolution of the traces, and what their rounding adds.
const TOLERANCE_S: f64 = 1.01e-6;

type Lists = BTreeMap<String, Vec<Event>>;

/// Where a run differs first, in words, and what was simultaneous before.
struct Difference {
    at_s: f64,
    text: String,
    tie: Option<Tie>,
}

/// Where two lists of one kind differ first.
fn difference_of(kind: &str, theirs: &[Event], ours: &[Event]) -> Option<(f64, String)> {
    let same = |a: &Event, b: &Event| a.seq == b.seq && a.flow == b.flow && (a.time_s - b.time_s).abs() <= TOLERANCE_S;
    let at = theirs.iter().zip(ours).position(|(a, b)| !same(a, b));
    let at = at.or((theirs.len() != ours.len()).then_some(theirs.len().min(ours.len())))?;
    let time_s = [theirs, ours].iter().filter_map(|list| list.get(at)).map(|e| e.time_s).fold(f64::INFINITY, f64::min);
    let show = |list: &[Event]| {
        let shown = list.iter().skip(at.saturating_sub(2)).take(5);
        shown.map(|e| format!("{:.6} {}#{}", e.time_s, e.flow, e.seq)).collect::<Vec<_>>().join(", ")
    };
    let counts = format!("{kind} {at} of {} / {}", theirs.len(), ours.len());
    Some((time_s, format!("{counts}: ns-2 [{}] ours [{}]", show(theirs), show(ours))))
}

/// One run of ns-2, and what does the same here.
struct Run<'r> {
    case: &'r Case,
    agent: &'r str,
    configs: &'r [TcpConfig],
    reference: &'r Lists,
}

impl Run<'_> {
    /// Where the run by one of the clocks differs first from ns-2's.
    fn difference(&self, clock: Clock) -> Option<Difference> {
        let run = Dumbbell::new(self.case, self.configs, clock).run(self.case.events_until_s);
        let none = Vec::new();
        let of_kind = |kind: &String| {
            let theirs = self.reference.get(kind).unwrap_or(&none);
            difference_of(kind, theirs, run.events.get(kind.as_str()).unwrap_or(&none))
        };
        let firsts = self.case.events_kinds.iter().filter_map(of_kind);
        let (at_s, text) = firsts.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let tie = run.ties.iter().rev().find(|tie| tie.at_s <= at_s + TOLERANCE_S).copied();
        Some(Difference { at_s, text, tie })
    }

    /// One line: where it parts, and what was simultaneous before.
    fn describe(&self, parts: &Difference) -> String {
        let Difference { at_s, text, tie } = parts;
        let tie = tie.map_or("nothing simultaneous before".to_owned(), |tie| {
            format!("{:.6} s after two events at once ({:?})", at_s - tie.at_s, tie.place)
        });
        format!("{} {} at {at_s:.6} s: {tie}; {text}", self.case.name, self.agent)
    }
}

/// What a comparison with a folder found.
#[derive(Default)]
struct Report {
    compared: usize,
    /// Runs that part by our clock.
    parting: String,
    /// Of those that part by ns-2's, too.
    wrong: String,
}

/// Compares every case of a folder by both clocks.
fn compare(folder: &Path) -> Report {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut report = Report::default();
    for case in cases(folder) {
        for agent in &case.events_agents {
            if !format!("{} {agent}", case.name).contains(&only) {
                continue;
            }
            let Some(configs) = transports_of(agent, &case) else {
                eprintln!("not compared: {} {agent}, no such transport yet", case.name);
                continue;
            };
            report.compared += 1;
            let reference = events(folder, &case.name, agent);
            let run = Run { case: &case, agent, configs: &configs, reference: &reference };
            if let Some(parts) = run.difference(Clock::Exact) {
                let _ = writeln!(report.parting, "{}", run.describe(&parts));
            }
            if let Some(parts) = run.difference(Clock::Double) {
                let _ = writeln!(report.wrong, "{}", run.describe(&parts));
            }
        }
    }
    assert!(report.compared > 0, "nothing was compared");
    report
}

/// With `SHOW=1` what parts by our clock is printed.
fn check(report: &Report) {
    let Report { compared, parting, wrong } = report;
    if std::env::var("SHOW").is_ok() {
        eprintln!("{parting}");
        eprintln!(
            "{compared} runs, {} part by nanoseconds, {} by ns-2's clock",
            parting.lines().count(),
            wrong.lines().count()
        );
    }
    assert!(wrong.is_empty(), "these part by ns-2's clock, too:\n{wrong}");
}

#[test]
fn every_event_list_agrees() {
    let folder = ns2_folder();
    check(&compare(&folder));
}

/// Short runs that each need one rule of ns-2: `RULES` in `tests/reference/ns2/make.py`.
#[test]
fn every_rule_of_ns2_is_there() {
    check(&compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/ns2/traces")));
}
