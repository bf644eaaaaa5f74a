//! One binary for all readers; the environment variable READER names the one to be fuzzed.
#![no_main]

#[path = "../tests/readers.rs"]
mod readers;

use libfuzzer_sys::fuzz_target;
use readers::{READERS, Reader, reader};
use std::sync::LazyLock;

static CHOSEN: LazyLock<Reader> = LazyLock::new(|| {
    let name = std::env::var("READER").unwrap_or_default();
    let names = || READERS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    reader(&name).unwrap_or_else(|| panic!("READER is {name:?}; the readers are {}", names()))
});

fuzz_target!(|bytes: &[u8]| CHOSEN(bytes));
