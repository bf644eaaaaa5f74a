//! Mutated scenarios: whatever is read, nothing panics, problems have a place in the text, and what is found right
//! survives a round trip through its canonical form.
//!
//! Runs for 5 s, or for SKYHOP_FUZZ_SECONDS.

use skyhop_base::Stream;
use skyhop_scenario::{Override, Scenario};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// So many texts are tried however slow the machine is.
const AT_LEAST: u64 = 2_000;

/// Above this many flows or satellites only the messages are looked at: building takes too long here.
const LARGEST_BUILT: usize = 2_000;

const WORDS: &[&str] = &[
    "duration",
    "profile",
    "constellation",
    "stations",
    "links",
    "flows",
    "records",
    "routing",
    "preset",
    "shells",
    "satellites",
    "isl",
    "gsl",
    "rate",
    "delay",
    "queue",
    "drop_tail",
    "packets",
    "bytes",
    "counts",
    "between",
    "from",
    "to",
    "count",
    "start",
    "stop",
    "tcp",
    "udp",
    "application",
    "ftp",
    "constant_rate",
    "payload",
    "errors",
    "segments",
    "iridium",
    "ns-2",
    "rfc",
    "reno",
    "bic",
    "vegas",
    "left",
    "right",
    "a",
    "geo",
    "sky",
    "\"\"",
    "true",
    "[",
    "]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\n",
    "[[flows]]",
    "[links]",
    "\u{0}",
    "\u{feff}",
    "µ",
    "😀",
    "#",
    "'''",
    "\"\"\"",
    "\\",
];

const UNITS: &[&str] = &[
    "ns", "us", "µs", "ms", "s", "min", "h", "d", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "B", "kB", "MB",
    "GB", "KiB", "m", "km", "deg", "°", "rad", "mbps", "",
];

const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e-9",
    "1e9",
    "1e300",
    "-1e300",
    "1e400",
    "nan",
    "inf",
    "-inf",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "0x10",
    "1_000",
    "00",
    "9007199254740993",
    "65536",
    "0.1",
    "90",
    "180",
    "360",
    "99999999999999999999999999999999999999999999",
];

struct Corpus {
    texts: Vec<Vec<u8>>,
}

impl Corpus {
    fn read() -> Corpus {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files: Vec<_> = ["examples", "tests/bad-scenarios"]
            .iter()
            .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap())
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .collect();
        files.sort();
        let mut texts: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
        // Good scenarios lead to more places than broken ones.
        for name in ["dumbbell", "iridium", "mixed"] {
            let good = fs::read(root.join(format!("examples/{name}.toml"))).unwrap();
            texts.extend(std::iter::repeat_n(good, 100));
        }
        Corpus { texts }
    }

    fn pick(&self, random: &mut Stream) -> &[u8] {
        &self.texts[below(random, self.texts.len())]
    }

    /// A text with one to four changes.
    fn mutant(&self, random: &mut Stream) -> Vec<u8> {
        let mut text = self.pick(random).to_vec();
        // Often one change alone: most of several break the text somewhere.
        let changes = if below(random, 2) == 0 { 1 } else { 2 + below(random, 3) };
        for _ in 0..changes {
            self.change(&mut text, random);
            text.truncate(100_000);
        }
        text
    }

    fn change(&self, text: &mut Vec<u8>, random: &mut Stream) {
        let (from, to) = range(text, random);
        match below(random, 12) {
            0 if !text.is_empty() => {
                let at = below(random, text.len());
                text[at] ^= 1 << below(random, 8);
            }
            1 => text.truncate(from),
            2 => drop(text.drain(from..to)),
            3 => {
                let copy = text[from..to].to_vec();
                text.splice(to..to, copy);
            }
            4 => {
                let other = self.pick(random);
                let (start, end) = range(other, random);
                text.splice(from..to, other[start..end].iter().copied());
            }
            5 => replace_token(text, random, |byte| byte.is_ascii_alphabetic() || byte == b'/', UNITS),
            6 | 7 => replace_token(text, random, |byte| byte.is_ascii_digit() || byte == b'.', NUMBERS),
            8 | 9 => replace_token(text, random, |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte), WORDS),
            10 => {
                let word = WORDS[below(random, WORDS.len())];
                text.splice(from..from, word.bytes());
            }
            _ => {
                let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
                let (a, b) = (below(random, lines.len()), below(random, lines.len()));
                lines.swap(a, b);
                if below(random, 2) == 0 {
                    lines.remove(a);
                }
                *text = lines.join(&b'\n');
            }
        }
    }
}

/// A number below `count`, or 0.
fn below(random: &mut Stream, count: usize) -> usize {
    (random.uniform() * count as f64) as usize
}

fn range(text: &[u8], random: &mut Stream) -> (usize, usize) {
    let from = below(random, text.len() + 1);
    let length = below(random, 60).min(text.len() - from);
    (from, from + length)
}

/// Puts one of `instead` in place of a run of bytes that `belongs` accepts.
fn replace_token(text: &mut Vec<u8>, random: &mut Stream, belongs: impl Fn(u8) -> bool, instead: &[&str]) {
    let start = below(random, text.len() + 1);
    let Some(from) = text[start..].iter().position(|&byte| belongs(byte)).map(|at| start + at) else { return };
    let to = text[from..].iter().position(|&byte| !belongs(byte)).map_or(text.len(), |at| from + at);
    let chosen = instead[below(random, instead.len())];
    text.splice(from..to, chosen.bytes());
}

fn some_override(random: &mut Stream) -> Option<Override> {
    let keys = ["duration", "flows[*].tcp", "flows.0.count", "constellation.gsl.rate", "links[0].queue", "records"];
    let values = [NUMBERS, UNITS, WORDS][below(random, 3)];
    Override::new(keys[below(random, keys.len())], values[below(random, values.len())]).ok()
}

fn try_text(text: &str, overrides: &[Override]) -> Result<(), ()> {
    match Scenario::from_toml(text, "mutant", overrides) {
        Err(problems) => {
            assert!(!problems.problems.is_empty(), "no scenario and no problem:\n{text}");
            let lines: Vec<&str> = text.split('\n').collect();
            for problem in &problems.problems {
                let (Some(line), Some(column)) = (problem.line, problem.column) else {
                    assert!(problem.file.starts_with("--set "), "no place: {problem}\n{text}");
                    continue;
                };
                let inside =
                    (1..=lines.len()).contains(&line) && (1..=lines[line - 1].chars().count() + 1).contains(&column);
                assert!(inside, "outside of the text: {problem}\n{text}");
            }
            Err(())
        }
        Ok(scenario) => {
            let canonical = scenario.canonical();
            let again = Scenario::from_json(&canonical, "canonical", &[])
                .unwrap_or_else(|problems| panic!("{problems}\n{canonical:#}\n{text}"));
            assert_eq!(again.hash(), scenario.hash(), "{canonical:#}\n{text}");
            let flows: usize = scenario.flows.iter().map(|flow| flow.count.unwrap_or(1) as usize).sum();
            let shells = scenario.constellation.iter().flat_map(|sky| &sky.shells);
            let satellites: usize = shells.map(|shell| shell.planes as usize * shell.per_plane as usize).sum();
            if flows.max(satellites) <= LARGEST_BUILT {
                let spec = scenario.simulation_spec();
                assert_eq!(spec.flows.len(), flows);
                skyhop_topology::Topology::new(spec.topology).unwrap_or_else(|error| panic!("{error}\n{text}"));
            }
            Ok(())
        }
    }
}

#[test]
fn mutants_are_read_or_refused_at_a_place() {
    let seconds = std::env::var("SKYHOP_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let corpus = Corpus::read();
    let start = Instant::now();
    let (mut tried, mut good) = (0, 0_u64);
    while tried < AT_LEAST || start.elapsed() < Duration::from_secs(seconds) {
        // Each text depends on its number alone: a failure is found again.
        let mut random = Stream::new(tried, "mutant", "text");
        let bytes = corpus.mutant(&mut random);
        let text = String::from_utf8_lossy(&bytes);
        let overrides: Vec<Override> =
            if below(&mut random, 4) == 0 { some_override(&mut random).into_iter().collect() } else { Vec::new() };
        good += u64::from(try_text(&text, &overrides).is_ok());
        tried += 1;
    }
    eprintln!("{tried} texts, {good} of them good");
    // Both cases occur: most texts are broken, but not all.
    assert!(good * 50 > tried && good < tried, "{good} of {tried} were good");
}
