//! The path and the receiver alone against what Linux did: every case of `../shared`, and the sample that is part of
//! the project (`tests/reference/linux-reactions`).

use skyhop_base::Duration;
use skyhop_tcp::reference::{compare_path, compare_receiver, read_cases, read_packets};
use std::io::Write;
use std::path::{Path, PathBuf};

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sample() -> PathBuf {
    project().join("tests/reference/linux-reactions")
}

fn full() -> Option<PathBuf> {
    let folder = project().join("../shared/reference/linux-reactions");
    if folder.join("cases.csv").is_file() {
        return Some(folder);
    }
    // Not eprintln, which the test harness captures; the form is the one that the test runner counts.
    let _ = writeln!(std::io::stderr(), "\nskipped: no ../shared/reference/linux-reactions beside the project");
    None
}

#[test]
fn the_path_does_to_every_packet_what_the_reference_did() {
    if let Some(folder) = full() {
        the_path_is_equal(&folder);
    }
}

#[test]
fn the_path_does_to_every_packet_what_the_sample_did() {
    the_path_is_equal(&sample());
}

fn the_path_is_equal(folder: &Path) {
    // Times are recorded to a microsecond.
    let resolution = Duration::from_micros(2);
    let mut wrong = Vec::new();
    for case in read_cases(folder).unwrap() {
        let packets = read_packets(folder, &case.name).unwrap();
        let path = compare_path(&case, &packets);
        if path.outcomes > 0 || path.queues > 0 {
            wrong.push(format!("{}: {}", case.name, path.first.unwrap_or_default()));
        } else if path.largest() > case.recording_error + resolution {
            let bound = case.recording_error;
            wrong.push(format!("{}: off by {:?}, the recording by {bound:?}", case.name, path.largest()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The kernel's own repetitions agree in 150 of the 153 cases (README of the reference).
#[test]
fn the_receiver_sends_the_acks_of_the_reference() {
    let Some(folder) = full() else { return };
    let equal = compare(&folder);
    assert!(equal.cases >= 153 && equal.all >= equal.cases - 1, "{equal:?}");
}

#[test]
fn the_receiver_sends_the_acks_of_the_sample() {
    let equal = compare(&sample());
    assert!(equal.cases >= 45 && equal.all == equal.cases, "{equal:?}");
}

/// What the reference does not show: lost SYN-ACKs, small buffers, readers that pause, options switched off
/// (`tests/reference/linux-receiver/README.md`).
#[test]
fn the_receiver_sends_the_acks_of_runs_made_for_it() {
    let equal = compare(&project().join("tests/reference/linux-receiver"));
    assert!(equal.cases >= 34 && equal.all == equal.cases, "{equal:?}");
}

/// Cases that are equal in each respect.
#[derive(Debug, Default)]
struct Equal {
    cases: usize,
    acks: usize,
    times: usize,
    /// Times without those of ACKs that the kernel's delayed-ACK timer sent a jiffy late.
    strict_times: usize,
    windows: usize,
    echoes: usize,
    all: usize,
}

fn compare(folder: &Path) -> Equal {
    let mut equal = Equal::default();
    for case in read_cases(folder).unwrap() {
        let packets = read_packets(folder, &case.name).unwrap();
        let result = compare_receiver(&case, &packets).unwrap();
        let acks = result.acks.is_none();
        let times = acks && result.times.is_none();
        let windows = acks && result.windows.is_none();
        let echoes = acks && result.echoes.is_none();
        equal.cases += 1;
        equal.acks += usize::from(acks);
        equal.times += usize::from(times);
        equal.strict_times += usize::from(times && result.late_timers == 0);
        equal.windows += usize::from(windows);
        equal.echoes += usize::from(echoes);
        equal.all += usize::from(times && windows && echoes);
        let differences = [result.acks, result.times, result.windows, result.echoes];
        for (what, difference) in ["acks", "times", "windows", "echoes"].into_iter().zip(differences) {
            if let Some(difference) = difference {
                eprintln!("{} {what}: {difference}", case.name);
            }
        }
        if result.late_timers > 0 {
            eprintln!("{}: {} delayed ACKs one jiffy later in the recording", case.name, result.late_timers);
        }
    }
    eprintln!("{equal:?}");
    equal
}
