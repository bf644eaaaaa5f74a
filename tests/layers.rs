//! A crate depends only on crates of lower layers: `docs/architecture.md`.

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

const LAYERS: [(&str, u32); 14] = [
    ("rand_pcg", 0),
    ("skyhop-base", 0),
    ("skyhop-orbit", 1),
    ("skyhop-cc", 1),
    ("skyhop-queue", 1),
    ("skyhop-quic", 2),
    ("skyhop-topology", 2),
    ("skyhop-tcp", 2),
    ("skyhop-transport", 2),
    ("skyhop-sim", 3),
    ("skyhop-hosts", 4),
    ("skyhop-scenario", 5),
    ("skyhop", 6),
    ("skyhop-python", 7),
];

#[test]
fn no_crate_depends_on_its_own_layer_or_a_higher_one() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(skyhop_tests::root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let layers = BTreeMap::from(LAYERS);
    let mut edges = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let Some(layer) = layers.get(name) else {
            assert!(
                ["skyhop-tests", "skyhop-benches"].contains(&name),
                "{name} has no layer: give it one in docs/architecture.md and here"
            );
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            // Dependencies of tests alone do not count.
            if dependency["kind"] == "dev" {
                continue;
            }
            if let Some(below) = layers.get(dependency["name"].as_str().unwrap()) {
                assert!(below < layer, "{name} (layer {layer}) depends on {} (layer {below})", dependency["name"]);
                edges += 1;
            }
        }
    }
    assert!(edges >= 12, "only {edges} edges found: is the metadata read rightly?");
}

/// The root of every library and program says so. What pyo3's macros write in the extension module is theirs: the lint looks
/// at our own text.
#[test]
fn no_crate_has_unsafe_code() {
    let folders = std::fs::read_dir(skyhop_tests::root().join("crates")).expect("the folder of crates");
    let names = folders.map(|entry| entry.expect("a crate").path());
    let mut roots: Vec<_> = names.map(|path| path.join("src/lib.rs")).collect();
    roots.extend(["benches/src/main.rs", "tests/lib.rs"].map(|path| skyhop_tests::root().join(path)));
    assert!(roots.len() >= 10, "{roots:?}");
    for root in roots {
        let text = std::fs::read_to_string(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
        assert!(text.contains("#![forbid(unsafe_code)]"), "{} does not forbid unsafe code", root.display());
    }
}
