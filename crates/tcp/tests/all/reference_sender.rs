//! The sender, alone and together with the receiver, against what Linux did.
//!
//! The sample in `tests/reference/linux-reactions` is always run. The full reference needs `../shared`; where it is
//! absent, those tests say so and are skipped.

use skyhop_tcp::reference::{
    compare_both, compare_sender, read_cases, read_packets, read_rows, read_states, read_windows,
};
use std::path::{Path, PathBuf};

/// Cases, and of these those that agree in a respect.
#[derive(Debug, Default)]
struct Tally {
    cases: usize,
    order: usize,
    times: usize,
    windows: usize,
    states: usize,
    timeouts: usize,
    flags: usize,
    acks: usize,
    equal: usize,
}

fn below(place: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(place)
}

fn full() -> Option<PathBuf> {
    let folder = below("../../../shared/reference/linux-reactions");
    if folder.join("cases.csv").is_file() {
        return Some(folder);
    }
    eprintln!("skipped: {} is absent", folder.display());
    None
}

fn sample() -> PathBuf {
    below("../../tests/reference/linux-reactions")
}

fn tally(folder: &Path, both: bool) -> Tally {
    let mut tally = Tally::default();
    for case in read_cases(folder).unwrap() {
        let packets = read_packets(folder, &case.name).unwrap();
        let recorded = read_windows(folder, &case.name).unwrap();
        let told = read_states(folder, &case.name).unwrap();
        let (sender, acks) = if both {
            let result = compare_both(&case, &packets, &recorded, &told).unwrap();
            (result.sender, result.acks)
        } else {
            (compare_sender(&case, &packets, &recorded, &told).unwrap(), None)
        };
        tally.cases += 1;
        tally.order += usize::from(sender.order.is_none());
        tally.times += usize::from(sender.order.is_none() && sender.times.is_none());
        tally.windows += usize::from(sender.windows.is_none());
        tally.states += usize::from(sender.states.is_none());
        tally.timeouts += usize::from(sender.timeouts.is_none());
        tally.flags += usize::from(sender.flags.is_none());
        tally.acks += usize::from(acks.is_none());
        tally.equal += usize::from(sender.is_equal() && acks.is_none());
        let differences = [
            ("order", &sender.order),
            ("times", &sender.times),
            ("windows", &sender.windows),
            ("states", &sender.states),
            ("timeouts", &sender.timeouts),
            ("flags", &sender.flags),
            ("ACKs", &acks),
        ];
        for (what, difference) in differences {
            if let Some(difference) = difference {
                eprintln!("{} {what}: {difference}", case.name);
            }
        }
    }
    eprintln!("{tally:?}");
    tally
}

#[test]
fn the_sender_does_what_the_sample_did() {
    let t = tally(&sample(), false);
    assert!(t.cases > 40);
    assert_eq!((t.order, t.times, t.windows, t.states, t.equal), (t.cases, t.cases, t.cases, t.cases, t.cases));
    assert!(t.flags + 1 >= t.cases);
}

#[test]
fn the_sender_does_what_the_reference_did() {
    let Some(folder) = full() else { return };
    let t = tally(&folder, false);
    assert_eq!((t.order, t.times, t.windows, t.states, t.timeouts), (t.cases, t.cases, t.cases, t.cases, t.cases));
    assert!(t.flags + 1 >= t.cases);
}

#[test]
fn sender_and_receiver_together_do_what_the_reference_did() {
    let Some(folder) = full() else { return };
    let t = tally(&folder, true);
    assert_eq!(t.states, t.cases);
    assert!(t.order + 1 >= t.cases && t.times + 5 >= t.cases && t.windows + 3 >= t.cases && t.acks + 8 >= t.cases);
    assert!(t.equal + 12 >= t.cases);
}

/// Rows that cannot be built stand for themselves: the others are still read.
#[test]
fn a_row_that_cannot_be_read_says_its_line_and_hides_no_other() {
    let text = std::fs::read_to_string(sample().join("cases.csv")).unwrap();
    let folder = std::env::temp_dir().join(format!("skyhop-rows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut lines: Vec<String> = text.lines().take(4).map(str::to_owned).collect();
    lines[2] = lines[2].split(',').take(5).collect::<Vec<_>>().join(",");
    std::fs::write(folder.join("cases.csv"), lines.join("\n")).unwrap();
    let rows = read_rows(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    let rows = rows.unwrap();
    assert_eq!(rows.iter().map(|row| row.case.is_ok()).collect::<Vec<_>>(), [true, false, true]);
    let problem = rows[1].case.as_ref().unwrap_err().to_string();
    assert!(problem.contains("cases.csv, row 3: 5 fields"), "{problem}");
}
