//! The corpus of the fuzzer, and changes to it that need no fuzzer: no reader panics (`docs/howto/hunt-for-faults.md`).

use skyhop_base::Stream;
use skyhop_tests::readers::{READERS, Reader};
use std::fs;

/// Changed copies of each file that are tried, too.
const CHANGED: u64 = 20;

/// Files of more bytes are read as they are: each changed copy of them takes long.
const LARGEST_CHANGED: usize = 3000;

fn files(reader: &str) -> Vec<(String, Vec<u8>)> {
    let folder = skyhop_tests::root().join("fuzz/corpus").join(reader);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

fn read(reader: Reader, name: &str, bytes: &[u8]) {
    let outcome = std::panic::catch_unwind(|| reader(bytes));
    assert!(outcome.is_ok(), "{name} panics with {:?}", String::from_utf8_lossy(bytes));
}

#[test]
fn no_reader_panics_at_what_the_fuzzer_has_found() {
    for (name, reader) in READERS {
        let files = files(name);
        assert!(!files.is_empty(), "{name} has no corpus");
        files.iter().for_each(|(file, bytes)| read(*reader, file, bytes));
    }
}

/// A copy in which one byte or one run of bytes is another one, is missing, or is there twice.
fn changed(file: &str, bytes: &[u8], n: u64) -> Vec<u8> {
    let mut random = Stream::new(n, file.rsplit('/').next().unwrap_or_default(), "change");
    let mut below = |count: usize| (random.uniform() * count as f64) as usize;
    let (from, length) = (below(bytes.len()), 1 + below(8));
    let until = (from + length).min(bytes.len());
    let mut changed = bytes.to_vec();
    match below(4) {
        0 => changed[from] ^= 1 << below(7),
        1 => drop(changed.drain(from..until)),
        2 => drop(changed.splice(from..from, bytes[from..until].iter().copied())),
        _ => changed[from] = *b"0919.eE-+,\"[{}]\n <"[below(18)..].first().unwrap_or(&b'0'),
    }
    changed
}

#[test]
fn no_reader_panics_at_changed_files() {
    for (name, reader) in READERS {
        for (file, bytes) in files(name).iter().filter(|(_, bytes)| bytes.len() <= LARGEST_CHANGED) {
            (0..CHANGED).for_each(|n| read(*reader, file, &changed(file, bytes, n)));
        }
    }
}

/// The tables of a reference are read from a folder, which the fuzzer has not; each case that is read becomes a
/// scenario.
#[test]
fn no_changed_table_of_a_reference_makes_its_reader_panic() {
    let table = fs::read(skyhop_tests::root().join("tests/reference/ns2/cases/cases.csv")).expect("the table");
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("changed-cases");
    fs::create_dir_all(&folder).expect("a folder for the changed table");
    let read_cases = |bytes: &[u8]| {
        fs::write(folder.join("cases.csv"), bytes).expect("a changed table");
        match skyhop::validate::cases(&folder) {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(cases) => cases.iter().for_each(|case| drop(case.scenario("reno", 1))),
        }
    };
    for n in 0..50 * CHANGED {
        let bytes = changed("cases.csv", &table, n);
        let outcome = std::panic::catch_unwind(|| read_cases(&bytes));
        assert!(outcome.is_ok(), "copy {n} panics: {:?}", String::from_utf8_lossy(&bytes));
    }
}
