//! The path and the receiver alone against every given case of what Linux did.
//!
//! Both tests need `../shared`; without it they say so and are skipped.

use skyhop_base::Duration;
use skyhop_tcp::reference::{compare_path, compare_receiver, read_cases, read_packets};
use std::io::Write;
use std::path::PathBuf;

fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/linux-reactions");
    if folder.join("cases.csv").is_file() {
        return Some(folder);
    }
    // Not eprintln, which the test harness captures; the form is the one that the test runner counts.
    let _ = writeln!(std::io::stderr(), "\nskipped: no ../shared/reference/linux-reactions beside the project");
    None
}

#[test]
fn the_path_does_to_every_packet_what_the_reference_did() {
    let Some(folder) = folder() else { return };
    // Times are recorded to a microsecond.
    let resolution = Duration::from_micros(2);
    let mut wrong = Vec::new();
    for case in read_cases(&folder).unwrap() {
        let packets = read_packets(&folder, &case.name).unwrap();
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

#[test]
fn the_receiver_sends_the_acks_of_the_reference() {
    let Some(folder) = folder() else { return };
    let (mut cases, mut acks, mut times, mut strict, mut windows, mut echoes) = (0, 0, 0, 0, 0, 0);
    for case in read_cases(&folder).unwrap() {
        let packets = read_packets(&folder, &case.name).unwrap();
        let result = compare_receiver(&case, &packets).unwrap();
        let equal = result.acks.is_none();
        cases += 1;
        acks += usize::from(equal);
        times += usize::from(equal && result.times.is_none());
        strict += usize::from(equal && result.times.is_none() && result.late_timers == 0);
        windows += usize::from(equal && result.windows.is_none());
        echoes += usize::from(equal && result.echoes.is_none());
        let differences = [
            ("acks", &result.acks),
            ("times", &result.times),
            ("windows", &result.windows),
            ("echoes", &result.echoes),
        ];
        for (what, difference) in differences {
            if let Some(difference) = difference {
                eprintln!("{} {what}: {difference}", case.name);
            }
        }
        if result.late_timers > 0 {
            eprintln!("{} times: {} delayed ACKs one jiffy later in the recording", case.name, result.late_timers);
        }
    }
    eprintln!(
        "of {cases}: acks {acks}, times {times} ({strict} without late timers), windows {windows}, echoes {echoes}"
    );
    // The kernel's own repetitions agree in 150 of 153 cases (README of the reference).
    assert!(acks >= 152 && times >= 152 && windows >= 152 && echoes >= 152);
}
