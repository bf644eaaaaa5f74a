//! A crate depends only on crates of lower layers, and a file on no file that depends on it: `docs/architecture.md`.
//! Large types say why they are large.

mod imports;
mod types;

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

const LAYERS: [(&str, u32); 17] = [
    ("rand_pcg", 0),
    ("skyhop-base", 0),
    ("skyhop-processor", 0),
    ("skyhop-orbit", 1),
    ("skyhop-cc", 1),
    ("skyhop-queue", 1),
    ("skyhop-picoquic", 1),
    ("skyhop-plugin", 2),
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

/// Two crates call C code of others, one has instructions for which Rust has no safe function: they say at each place
/// why they may.
const UNSAFE: [&str; 3] = ["plugin", "picoquic", "processor"];

/// The root of every library and program says so. What pyo3's macros write in the extension module is theirs: the lint
/// looks at our own text.
#[test]
fn no_crate_but_three_has_unsafe_code() {
    let folders = std::fs::read_dir(skyhop_tests::root().join("crates")).expect("the folder of crates");
    let names = folders.map(|entry| entry.expect("a crate").path());
    let mut roots: Vec<_> = names.map(|path| path.join("src/lib.rs")).collect();
    roots.extend(["benches/src/main.rs", "tests/lib.rs"].map(|path| skyhop_tests::root().join(path)));
    assert!(roots.len() >= 10, "{roots:?}");
    for root in roots {
        let text = std::fs::read_to_string(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
        let wanted = match UNSAFE.iter().any(|name| root.ends_with(format!("crates/{name}/src/lib.rs"))) {
            true => "#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]",
            false => "#![forbid(unsafe_code)]",
        };
        assert!(text.contains(wanted), "{} does not say {wanted}", root.display());
    }
}

/// Files that may depend on one another, by crate, each group with its reason; a name that ends with a slash is a
/// folder. A group shall only shrink.
const CYCLES: [(&str, &str, &[&str]); 4] = [
    (
        "sim",
        "the simulation holds its parts, and endpoints, agents, the recorder and the division into parts call it back: \
         a packet's next step is the simulation's business",
        &["agents", "agents/", "build", "flow", "host/", "parts", "parts/", "recorder", "simulation"],
    ),
    (
        "sim",
        "a link is one type in several files: queue, late departures and repair share its ring",
        &["deferred", "link", "link/"],
    ),
    (
        "scenario",
        "a scenario is resolved into the type that also knows how it is built, written and hashed",
        &["build", "build/", "effect", "resolve", "resolve/", "scenario"],
    ),
    (
        "scenario",
        "a diagnostic shows the place in the source, and the source reports what it cannot read as a diagnostic",
        &["diagnostic", "overrides", "source", "text"],
    ),
];

#[test]
fn no_files_depend_on_one_another_but_those_that_are_known() {
    for name in ["sim", "transport", "scenario"] {
        let dependencies = imports::dependencies(&skyhop_tests::root().join("crates").join(name).join("src"));
        let edges: usize = dependencies.values().map(std::collections::BTreeSet::len).sum();
        assert!(edges > dependencies.len(), "{name}: {edges} imports of {} files: are they read?", dependencies.len());
        for cycle in imports::cycles(&dependencies) {
            let known = CYCLES.iter().any(|(crate_name, _, files)| {
                let is_known = |file: &String| {
                    files.iter().any(|known| known == file || known.ends_with('/') && file.starts_with(known))
                };
                *crate_name == name && cycle.iter().all(is_known)
            });
            let edges: Vec<String> = cycle
                .iter()
                .map(|file| {
                    let inside: Vec<_> = dependencies[file].iter().filter(|other| cycle.contains(other)).collect();
                    format!("{file} imports {inside:?}")
                })
                .collect();
            assert!(known, "files of crates/{name}/src depend on one another:\n{}", edges.join("\n"));
        }
    }
}

const MOST_FIELDS: usize = 20;
const MOST_METHODS: usize = 40;

/// How the documentation of a type begins its reason.
const REASON: &str = "Large because";

#[test]
fn types_of_many_fields_or_methods_say_why() {
    let folders = std::fs::read_dir(skyhop_tests::root().join("crates")).expect("the folder of crates");
    let (mut all, mut large) = (0, 0);
    for folder in folders.map(|entry| entry.expect("a crate").path()) {
        for ((name, file), found) in types::types(&folder.join("src")) {
            all += 1;
            let is_large = found.fields > MOST_FIELDS || found.methods > MOST_METHODS;
            large += usize::from(is_large);
            assert!(
                !is_large || found.doc.contains(REASON),
                "{name} in {file} has {} fields and {} methods: divide it, or let its documentation say \"{REASON} …\"",
                found.fields,
                found.methods,
            );
            assert!(is_large || !found.doc.contains(REASON), "{name} in {file} is large no more: its reason can go");
        }
    }
    assert!(all > 300 && large > 5, "{all} types, {large} of them large: are they read?");
}

/// The reader of imports finds a cycle through a re-export, and none where a file only re-exports.
#[test]
fn a_cycle_through_a_re_export_is_found() {
    let folder = std::env::temp_dir().join(format!("skyhop-imports-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("part")).expect("a temporary folder");
    let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).expect("a temporary file");
    write("lib.rs", "mod a;\nmod part;\npub use a::A;\n");
    write("a.rs", "use crate::part::{self, B};\npub struct A(B);\nfn f() { part::g(); }\n");
    write("part/mod.rs", "mod b;\npub use b::B;\npub fn g() {}\n");
    write("part/b.rs", "pub struct B;\n");
    assert_eq!(imports::cycles(&imports::dependencies(&folder)), Vec::<Vec<String>>::new());
    write("part/b.rs", "use crate::A;\npub struct B(Box<A>);\n#[cfg(test)]\nmod tests {\n    use crate::part;\n}\n");
    assert_eq!(imports::cycles(&imports::dependencies(&folder)), [["a", "part/b"]]);
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}
