//! Messages about broken scenarios: every file of `tests/bad-scenarios` with its full message in a snapshot, and
//! what no file of text can be.

use skyhop_scenario::{LARGEST_TEXT, Override, Scenario};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn toml_files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

/// The message of a file, which must not be a good one. The folder in front of its name is not shown.
fn message_of_file(path: &Path) -> String {
    let name = if path.is_dir() { "folder".into() } else { path.file_name().unwrap().to_string_lossy().into_owned() };
    match Scenario::from_file(path, &[]) {
        Ok(_) => panic!("{name} is a good scenario"),
        Err(problems) => problems.to_string().replace(&path.display().to_string(), &name),
    }
}

#[test]
fn every_broken_scenario_has_its_message() {
    let files = toml_files("tests/bad-scenarios");
    assert!(files.len() >= 40, "{}", files.len());
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        insta::assert_snapshot!(name, message_of_file(&file));
    }
}

/// A folder for one test that goes away with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("skyhop-scenario-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Bytes that repeat after 2^64 at the earliest (Steele et al., "Fast splittable pseudorandom number generators",
/// 2014).
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0_u64;
    let mut word = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (0..bytes.div_ceil(8)).flat_map(|_| word().to_le_bytes()).take(bytes).collect()
}

#[test]
fn files_that_are_no_text() {
    let scratch = Scratch::new("no-text");
    insta::assert_snapshot!("file-absent", message_of_file(&scratch.0.join("absent.toml")));
    insta::assert_snapshot!("file-is-a-folder", message_of_file(&scratch.0));
    let bytes = b"duration = \"1 s\"\n# caf\xe9\n";
    insta::assert_snapshot!("file-latin-1", message_of_file(&scratch.file("latin.toml", bytes)));
    insta::assert_snapshot!("file-noise-10-mb", message_of_file(&scratch.file("noise.toml", &noise(10_000_000))));
}

#[test]
fn noise_below_the_limit_is_no_scenario_either() {
    for size in [1_000, 100_000, 1_000_000] {
        let text = String::from_utf8_lossy(&noise(size)).into_owned();
        let problems = Scenario::from_toml(&text, "noise", &[]).unwrap_err();
        assert!(!problems.problems.is_empty());
    }
    let printable: String = noise(2_000_000).iter().map(|byte| char::from(b' ' + byte % 95)).collect();
    let lines = printable.replace('~', "\n");
    for text in [printable, lines] {
        let problems = Scenario::from_toml(&text, "noise", &[]).unwrap_err();
        assert!(!problems.problems.is_empty());
    }
    let huge = "x".repeat(LARGEST_TEXT as usize + 1);
    let problems = Scenario::from_toml(&huge, "huge", &[]).unwrap_err().to_string();
    assert_eq!(problems, "huge:1:1: the file has 8388609 bytes: the largest that is read has 8388608");
}

#[test]
fn depth_in_every_notation_is_refused() {
    let texts = [
        format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("a = {}1{}", "{ a = ".repeat(100_000), "}".repeat(100_000)),
        format!("{}a = 1", "a.".repeat(1_000_000)),
        format!("[{}a]", "a.".repeat(1_000_000)),
        format!("a = {{ {}a = 1 }}", "\"#\".".repeat(1_000_000)),
    ];
    for text in texts {
        let problems = Scenario::from_toml(&text, "deep", &[]).unwrap_err();
        assert!(problems.problems.iter().all(|problem| problem.line == Some(1)), "{problems}");
    }
}

#[test]
fn problems_beyond_the_first_hundred_are_counted() {
    let text: String = (0..1000).map(|i| format!("key{i} = 1\n")).collect();
    let problems = Scenario::from_toml(&text, "many", &[]).unwrap_err();
    // One more for the duration that is missing.
    assert_eq!((problems.problems.len(), problems.not_shown), (100, 901));
    assert!(problems.to_string().ends_with("\n... and 901 more problems"));
}

#[test]
fn values_of_a_program_have_the_same_messages_without_a_place() {
    let value = serde_json::json!({
        "duration": "10 s",
        "links": [{ "between": ["left", "right"], "rate": "2 Mbps", "delay": null }],
        "flows": [{ "name": "a", "from": "left", "to": "rihgt", "tcp": "reno" }],
    });
    let problems = Scenario::from_json(&value, "dict", &[]).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "dict: links[0].rate: \"Mbps\" is not a unit of a rate; did you mean \"Mbit/s\"?\n\
         dict: flows[0].to: no node is called \"rihgt\"; did you mean \"right\"?"
    );
    assert_eq!(problems.problems[0].line, None);
    let written = serde_json::to_value(&problems).unwrap();
    assert_eq!(written["problems"][1]["path"], "flows[0].to");
    assert_eq!(written["problems"][1]["help"], "did you mean \"right\"?");
}

#[test]
fn overrides_are_named_in_messages() {
    let text = fs::read_to_string(root().join("examples/iridium.toml")).unwrap();
    let message = |change: &str| {
        let change: Override = change.parse().unwrap();
        Scenario::from_toml(&text, "iridium.toml", &[change]).unwrap_err().to_string()
    };
    assert_eq!(
        message("constellation.gsl.rate=3 Mbps"),
        "--set constellation.gsl.rate=3 Mbps: constellation.gsl.rate: \"Mbps\" is not a unit of a rate; did you mean \
         \"Mbit/s\"?"
    );
    assert_eq!(
        message("flows[*].tcp.name=vegass"),
        "--set flows[*].tcp.name=vegass: flows[0].tcp.name: \"vegass\" is unknown here; did you mean \"vegas\"?"
    );
    assert_eq!(
        message("stations.berkeley.latitude=91 deg"),
        "--set stations.berkeley.latitude=91 deg: stations.berkeley.latitude: a latitude of 91 deg does not exist: \
         use -90 to 90 deg"
    );
    assert_eq!(message("fows.ftp.count=3"), "--set fows.ftp.count=3: fows: unknown key; did you mean \"flows\"?");
}
