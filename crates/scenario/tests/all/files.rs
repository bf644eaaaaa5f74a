//! Which files a scenario reads, and what its messages tell of those that it may not read.

use skyhop_scenario::{Files, Scenario};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const SECRET: &str = "root-of-all-secrets";

/// A folder for one test with `inside/stations.csv` and `secret.csv`; it goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("skyhop-files-{test}-{}", std::process::id()));
        fs::create_dir_all(folder.join("inside/deeper")).unwrap();
        // The system's folder for such things may be a link.
        let folder = folder.canonicalize().unwrap();
        fs::write(folder.join("inside/stations.csv"), "name,latitude_deg,longitude_deg\na,1,2\nb,3,4\n").unwrap();
        fs::write(folder.join("secret.csv"), SECRET).unwrap();
        Scratch(folder)
    }

    fn inside(&self) -> PathBuf {
        self.0.join("inside")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn naming(file: &Path) -> String {
    format!(
        "duration = \"1 s\"\nstations_file = {:?}\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \
         \"1 ms\"\n",
        file.display().to_string()
    )
}

fn read(file: &Path, files: &Files) -> Result<Scenario, String> {
    Scenario::from_toml_with(&naming(file), "text", &[], files).map_err(|problems| problems.to_string())
}

#[track_caller]
fn refused(file: &Path, files: &Files) -> String {
    let message = read(file, files).expect_err("a file was read that must not be");
    assert!(message.contains("is not read: "), "{message}");
    assert!(!message.contains(SECRET), "{message}");
    message
}

#[test]
fn every_key_that_names_a_file_is_refused_where_no_file_may_be_read() {
    let scratch = Scratch::new("none");
    let secret = scratch.0.join("secret.csv").display().to_string();
    let with = |keys: &str| format!("duration = \"1 s\"\n{}\n", keys.replace("FILE", &secret));
    let link = "[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";
    let cases = [
        with("stations_file = 'FILE'"),
        with("[constellation]\nelements = 'FILE'"),
        with("[constellation]\n\"el\\x65ments\" = 'FILE'"),
        with(&format!("{link}trace = {{ table = 'FILE' }}")),
        with(&format!("{link}trace = {{ opportunities = 'FILE', }}")),
        with(&format!("{link}trace = {{ delays = 'FILE' }}")),
        with(&format!("tcp = \"v\\x65gas\"\n{link}backward = {{ trace = {{ table = 'FILE' }} }}")),
    ];
    for text in cases {
        let message = Scenario::from_toml_with(&text, "text", &[], &Files::none()).unwrap_err().to_string();
        assert!(message.contains("this scenario may read no files; give its content in its place"), "{text}{message}");
        assert!(!message.contains(SECRET), "{text}{message}");
        // The same file would otherwise have been looked at.
        let message = Scenario::from_toml_with(&text, "text", &[], &Files::Any).unwrap_err().to_string();
        assert!(!message.contains("is not read"), "{text}{message}");
    }
}

#[test]
fn an_override_names_no_file_that_the_scenario_may_not() {
    let scratch = Scratch::new("override");
    let file = scratch.inside().join("stations.csv");
    let set = format!("stations_file={}", file.display()).parse().unwrap();
    let text = naming(&file).lines().filter(|line| !line.starts_with("stations_file")).collect::<Vec<_>>().join("\n");
    let read = |files| Scenario::from_toml_with(&text, "text", std::slice::from_ref(&set), &files);
    assert_eq!(read(Files::Any).unwrap().stations.len(), 2);
    assert!(read(Files::none()).unwrap_err().to_string().contains("may read no files"));
}

#[test]
fn values_of_a_program_name_only_what_they_may() {
    let scratch = Scratch::new("json");
    let value = serde_json::json!({"duration": "1 s", "stations_file": scratch.0.join("secret.csv")});
    let message = Scenario::from_json_with(&value, "values", &[], &Files::none()).unwrap_err().to_string();
    assert!(message.contains("may read no files"), "{message}");
}

#[test]
fn a_file_that_may_be_read_is_read_and_no_other() {
    let scratch = Scratch::new("only");
    let inside = scratch.inside();
    let below = Files::Only(vec![inside.clone()]);
    let this = Files::Only(vec![inside.join("stations.csv")]);
    for files in [&below, &this] {
        assert_eq!(read(&inside.join("stations.csv"), files).unwrap().stations.len(), 2);
        assert_eq!(read(&inside.join("deeper/../stations.csv"), files).unwrap().stations.len(), 2);
        refused(&scratch.0.join("secret.csv"), files);
        refused(&inside.join("../secret.csv"), files);
        refused(Path::new("/etc/passwd"), files);
    }
    // A folder whose name begins alike is another one.
    fs::create_dir(scratch.0.join("inside-out")).unwrap();
    fs::copy(inside.join("stations.csv"), scratch.0.join("inside-out/stations.csv")).unwrap();
    refused(&scratch.0.join("inside-out/stations.csv"), &below);
}

#[test]
fn the_scenario_itself_lies_anywhere_and_names_only_what_it_may() {
    let scratch = Scratch::new("from-file");
    let scenario = scratch.0.join("scenario.toml");
    fs::write(&scenario, naming(Path::new("inside/stations.csv"))).unwrap();
    let read = |files| Scenario::from_file_with(&scenario, &[], &files).map_err(|problems| problems.to_string());
    assert_eq!(read(Files::Only(vec![scratch.inside()])).unwrap().stations.len(), 2);
    assert!(read(Files::none()).unwrap_err().contains("may read no files"));
}

#[test]
fn links_lead_nowhere_else() {
    let scratch = Scratch::new("links");
    let inside = scratch.inside();
    symlink("../secret.csv", inside.join("link.csv")).unwrap();
    symlink("..", inside.join("up")).unwrap();
    symlink("stations.csv", inside.join("same.csv")).unwrap();
    let below = Files::Only(vec![inside.clone()]);
    refused(&inside.join("link.csv"), &below);
    refused(&inside.join("up/secret.csv"), &below);
    assert_eq!(read(&inside.join("same.csv"), &below).unwrap().stations.len(), 2);
}

#[test]
fn a_refusal_does_not_tell_whether_the_file_exists() {
    let scratch = Scratch::new("exists");
    let inside = scratch.inside();
    symlink("..", inside.join("up")).unwrap();
    let below = Files::Only(vec![inside.clone()]);
    for (there, missing) in [("../secret.csv", "../absent.csv"), ("up/secret.csv", "up/absent.csv")] {
        let there = refused(&inside.join(there), &below).replace("secret", "absent");
        assert_eq!(there, refused(&inside.join(missing), &below));
    }
    // Where it might be read, a missing file is said to be missing.
    let message = read(&inside.join("absent.csv"), &below).unwrap_err();
    assert!(message.contains("No such file"), "{message}");
}

#[test]
fn pipes_and_devices_are_never_read() {
    let scratch = Scratch::new("pipes");
    let pipe = scratch.inside().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    // Opening a pipe that nobody writes into would wait for ever.
    for files in [Files::Any, Files::Only(vec![scratch.inside()])] {
        let message = read(&pipe, &files).unwrap_err();
        assert!(message.contains("is a pipe, not a file"), "{message}");
    }
    let message = read(Path::new("/dev/zero"), &Files::Any).unwrap_err();
    assert!(message.contains("is a device, not a file"), "{message}");
    let message = Scenario::from_file(&pipe, &[]).unwrap_err().to_string();
    assert!(message.contains("is a pipe, not a file"), "{message}");
}

/// What opens files elsewhere would ask nobody.
#[test]
fn one_place_opens_files() {
    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { sources(&path, found) } else { found.push(path) }
        }
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for name in ["base", "orbit", "cc", "topology", "transport", "sim", "scenario"] {
        sources(&crates.join(name).join("src"), &mut found);
    }
    assert!(found.len() > 100, "{}", found.len());
    for path in found.iter().filter(|path| !path.ends_with("scenario/src/files.rs")) {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for opener in ["fs::", "File::", "OpenOptions"] {
            let opens = code.match_indices(opener).any(|(at, _)| {
                // `DropTailFile::default` and the like do not open files.
                !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
            });
            assert!(!opens || path.ends_with("transport/src/sender/tests.rs"), "{}: {opener}", path.display());
        }
    }
}

/// A file is read once for all links that name it, in each manner in which they read it.
#[test]
fn links_that_read_one_file_in_different_manners_follow_what_it_says_to_each() {
    let scratch = Scratch::new("manners");
    std::fs::write(scratch.0.join("times.txt"), "10\n20\n40\n").unwrap();
    let read = |file: &str| {
        let text = format!(
            r#"
duration = "1 s"
profile = "rfc"
links = [
    {{ between = ["a", "b"], delay = "1 ms", trace = {{ opportunities = {file} }} }},
    {{ between = ["b", "c"], delay = "1 ms", rate = "1 Mbit/s", trace = {{ delays = {file} }} }},
    {{ between = ["c", "d"], delay = "1 ms", rate = "1 Mbit/s", trace = {{ delays = {file}, delays_every = "7 ms" }} }},
]
"#
        );
        Scenario::from_toml_in(&text, "text", &scratch.0, &[]).unwrap()
    };
    let (by_name, inline) = (read(r#""times.txt""#), read(r#"{ text = "10\n20\n40\n" }"#));
    let wires = |scenario: &Scenario| format!("{:?}", scenario.simulation_spec().links.wired);
    assert_eq!(wires(&by_name), wires(&inline));
    assert_eq!(by_name.hash(), inline.hash());
    let warnings = by_name.all_warnings().join("; ");
    for period in ["40 ms", "30 ms", "21 ms"] {
        assert!(warnings.contains(&format!("period = \"{period}\"")), "{warnings}");
    }
}
