//! The sender, alone and together with the receiver, against every given case of what Linux did.
//!
//! Both tests need `../shared`; without it they say so and are skipped.

use skyhop_tcp::reference::{compare_both, compare_sender, read_cases, read_packets, read_windows};
use std::path::PathBuf;

fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/linux-reactions");
    if folder.join("cases.csv").is_file() {
        return Some(folder);
    }
    eprintln!("skipped: {} is absent", folder.display());
    None
}

/// Both halves together over the path that a case's row describes.
#[test]
fn sender_and_receiver_together_do_what_the_reference_did() {
    let Some(folder) = folder() else { return };
    let (mut cases, mut order, mut times, mut windows, mut states, mut acks) = (0, 0, 0, 0, 0, 0);
    for case in read_cases(&folder).unwrap() {
        let packets = read_packets(&folder, &case.name).unwrap();
        let recorded = read_windows(&folder, &case.name).unwrap();
        let result = compare_both(&case, &packets, &recorded).unwrap();
        cases += 1;
        order += usize::from(result.sender.order.is_none());
        times += usize::from(result.sender.order.is_none() && result.sender.times.is_none());
        windows += usize::from(result.sender.windows.is_none());
        states += usize::from(result.sender.states.is_none());
        acks += usize::from(result.acks.is_none());
    }
    eprintln!("of {cases}: order {order}, times {times}, windows {windows}, states {states}, ACKs {acks}");
    assert_eq!(states, cases);
    assert!(order + 5 >= cases && times + 13 >= cases && windows + 10 >= cases && acks + 17 >= cases);
}

#[test]
fn the_sender_does_what_the_reference_did() {
    let Some(folder) = folder() else { return };
    let (mut cases, mut order, mut times, mut windows, mut states, mut flags, mut equal) = (0, 0, 0, 0, 0, 0, 0);
    for case in read_cases(&folder).unwrap() {
        let packets = read_packets(&folder, &case.name).unwrap();
        let recorded = read_windows(&folder, &case.name).unwrap();
        let result = compare_sender(&case, &packets, &recorded).unwrap();
        cases += 1;
        order += usize::from(result.order.is_none());
        times += usize::from(result.order.is_none() && result.times.is_none());
        windows += usize::from(result.windows.is_none());
        states += usize::from(result.states.is_none());
        flags += usize::from(result.flags.is_none());
        equal += usize::from(result.is_equal());
        let differences = [
            ("order", &result.order),
            ("times", &result.times),
            ("windows", &result.windows),
            ("states", &result.states),
            ("flags", &result.flags),
        ];
        for (what, difference) in differences {
            if let Some(difference) = difference {
                eprintln!("{} {what}: {difference}", case.name);
            }
        }
    }
    eprintln!(
        "of {cases}: order {order}, times {times}, windows {windows}, states {states}, flags {flags}, equal {equal}"
    );
    assert_eq!((order, states), (cases, cases));
    assert!(times == cases && windows + 1 >= cases && equal + 1 >= cases && flags + 1 >= cases);
}
