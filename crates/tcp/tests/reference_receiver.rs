//! The receiver and the path alone against every given case of what Linux did. Needs `../shared`.

use skyhop_tcp::reference::{compare_path, compare_receiver, read_cases, read_packets};
use std::path::PathBuf;

fn folder() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let folder = root.join("shared/reference/linux-reactions");
    if folder.join("cases.csv").is_file() {
        return Some(folder);
    }
    eprintln!("skipped: {} is absent", folder.display());
    None
}

#[test]
fn the_path_does_to_every_packet_what_the_reference_did() {
    let Some(folder) = folder() else { return };
    let mut wrong = Vec::new();
    for case in read_cases(&folder).unwrap() {
        let packets = read_packets(&folder, &case.name).unwrap();
        let path = compare_path(&case, &packets);
        eprintln!(
            "{}: {} packets, fates {}, queues {}, p99 {:?}, largest {:?}",
            case.name, path.packets, path.fates, path.queues, path.p99(), path.largest()
        );
        if path.fates > 0 || path.queues > 0 {
            wrong.push(format!("{}: {}", case.name, path.first.unwrap_or_default()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_receiver_sends_the_acks_of_the_reference() {
    let Some(folder) = folder() else { return };
    let (mut cases, mut acks, mut windows, mut times, mut echoes, mut all) = (0, 0, 0, 0, 0, 0);
    for case in read_cases(&folder).unwrap() {
        let packets = read_packets(&folder, &case.name).unwrap();
        let result = compare_receiver(&case, &packets).unwrap();
        cases += 1;
        let equal = result.acks.is_none();
        acks += usize::from(equal);
        windows += usize::from(equal && result.windows.is_none());
        times += usize::from(equal && result.times.is_none());
        echoes += usize::from(equal && result.echoes.is_none());
        all += usize::from(equal && result.times.is_none() && result.windows.is_none() && result.echoes.is_none());
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
    }
    eprintln!("of {cases}: acks {acks}, times {times}, windows {windows}, echoes {echoes}, all {all}");
}
