//! The sender alone against every given case of what Linux did.
//!
//! The test needs `../shared`; without it it says so and is skipped.

use skyhop_tcp::reference::{compare_sender, read_cases, read_packets, read_windows};
use std::path::PathBuf;

#[test]
fn the_sender_does_what_the_reference_did() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/linux-reactions");
    if !folder.join("cases.csv").is_file() {
        eprintln!("skipped: {} is absent", folder.display());
        return;
    }
    let (mut cases, mut order, mut times, mut windows, mut states, mut equal) = (0, 0, 0, 0, 0, 0);
    for case in read_cases(&folder).unwrap() {
        let packets = read_packets(&folder, &case.name).unwrap();
        let recorded = read_windows(&folder, &case.name).unwrap();
        let result = compare_sender(&case, &packets, &recorded).unwrap();
        cases += 1;
        order += usize::from(result.order.is_none());
        times += usize::from(result.order.is_none() && result.times.is_none());
        windows += usize::from(result.windows.is_none());
        states += usize::from(result.states.is_none());
        equal += usize::from(result.is_equal());
        let differences = [
            ("order", &result.order),
            ("times", &result.times),
            ("windows", &result.windows),
            ("states", &result.states),
        ];
        for (what, difference) in differences {
            if let Some(difference) = difference {
                eprintln!("{} {what}: {difference}", case.name);
            }
        }
    }
    eprintln!("of {cases}: order {order}, times {times}, windows {windows}, states {states}, equal {equal}");
    assert_eq!((order, states), (cases, cases));
    assert!(times == cases && windows + 1 >= cases && equal + 1 >= cases, "times {times}, windows {windows}");
}
