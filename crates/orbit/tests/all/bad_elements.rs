//! Broken files of elements: each says what is wrong where, and none stops the reader.

use skyhop_base::{Stream, Time};
use skyhop_orbit::{Catalogue, Earth, read_elements};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Names and contents of `tests/bad-elements`, by name.
fn files() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/bad-elements"));
    let entries = std::fs::read_dir(&folder).expect("the broken files are part of the project");
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().is_some_and(|name| name != "README.md"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn every_broken_file_says_what_is_wrong_and_where() {
    let files = files();
    assert!(files.len() >= 50, "{}", files.len());
    let mut all = String::new();
    for (name, bytes) in files {
        let file = read_elements(&bytes);
        assert!(!file.problems.is_empty(), "{name} has no problem");
        writeln!(all, "{name} ({}, {} read)", file.format, file.sets.len()).unwrap();
        for problem in &file.problems {
            assert!(!problem.to_string().contains(['\n', '\0']), "{name}: one line each");
            writeln!(all, "  {problem}").unwrap();
        }
    }
    insta::assert_snapshot!(all);
}

const GOOD: [&str; 5] = [
    "ISS (ZARYA)
1 25544U 98067A   20194.88612269 -.00002218  00000-0 -31515-4 0  9992
2 25544  51.6461 221.2784 0001413  89.1723 280.4612 15.49507896236008
",
    r#"[{"OBJECT_NAME": "A", "EPOCH": "2020-07-12T21:16:01.000416", "MEAN_MOTION": 2.00507896,
"ECCENTRICITY": 0.7001413,
"INCLINATION": 51.6461, "RA_OF_ASC_NODE": 221.2784, "ARG_OF_PERICENTER": 89.1723, "MEAN_ANOMALY": 280.4612,
"NORAD_CAT_ID": "25544", "BSTAR": -0.000031515}]"#,
    "OBJECT_NAME,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,\
NORAD_CAT_ID,BSTAR
A,2020-07-12T21:16:01,1.0027,0.0001413,0.6461,221.2784,89.1723,280.4612,25544,-.000031515
",
    "<?xml version=\"1.0\"?><ndm><omm><OBJECT_NAME>A</OBJECT_NAME><EPOCH>2020-194T21:16:01</EPOCH>
<MEAN_MOTION>15.4950</MEAN_MOTION><ECCENTRICITY>.0001413</ECCENTRICITY><INCLINATION>51.6461</INCLINATION>
<RA_OF_ASC_NODE>221.2784</RA_OF_ASC_NODE><ARG_OF_PERICENTER>89.1723</ARG_OF_PERICENTER>
<MEAN_ANOMALY>280.4612</MEAN_ANOMALY><NORAD_CAT_ID>25544</NORAD_CAT_ID><BSTAR>-.000031515</BSTAR></omm></ndm>",
    "CCSDS_OMM_VERS = 3.0
EPOCH = 2020-07-12T21:16:01
MEAN_MOTION = 15.4950 [rev/day]
ECCENTRICITY = .0001413
INCLINATION = 51.6461 [deg]
RA_OF_ASC_NODE = 221.2784
ARG_OF_PERICENTER = 89.1723
MEAN_ANOMALY = 280.4612
NORAD_CAT_ID = 25544
BSTAR = -.000031515
",
];

/// What mutations put in place of what was there.
const PIECES: [&str; 16] =
    ["", "-", "+", ".", "e", "9", "0", " ", "\n", "\u{0}", "ä", "1e308", "nan", "inf", "999999999", ","];

#[test]
fn mutated_files_stop_nobody() {
    let broken = files();
    let sources: Vec<&[u8]> = GOOD.iter().map(|text| text.as_bytes()).chain(broken.iter().map(|f| &f.1[..])).collect();
    assert!(GOOD.iter().all(|text| read_elements(text.as_bytes()).sets.len() == 1));
    // Longer by hand: SKYHOP_MUTATION_SECONDS=60.
    let seconds = std::env::var("SKYHOP_MUTATION_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut stream = Stream::new(1, "elements", "mutation");
    let mut random = |below: usize| (stream.uniform() * below as f64) as usize;
    let start = "2020-07-13".parse().unwrap();
    let (mut rounds, mut flown) = (0_u64, 0_u64);
    while Instant::now() < end {
        // Half of all rounds begin with a file that is right.
        let source = if rounds % 2 == 0 { random(GOOD.len()) } else { random(sources.len()) };
        let mut bytes = sources[source].to_vec();
        for _ in 0..1 + random(4) {
            let at = random(bytes.len() + 1);
            let until = (at + random(6)).min(bytes.len());
            match random(4) {
                0 => bytes.truncate(at),
                1 => {
                    let again = bytes[at..].to_vec();
                    bytes.extend_from_slice(&again[..again.len().min(400)]);
                }
                2 => bytes[at..until].iter_mut().for_each(|b| *b = random(256) as u8),
                _ => drop(bytes.splice(at..until, PIECES[random(PIECES.len())].bytes())),
            }
        }
        let file = read_elements(&bytes);
        file.problems.iter().for_each(|problem| assert!(!problem.to_string().is_empty()));
        // Accepted elements can be propagated, also far from their epoch.
        let catalogue = Catalogue::new(&file.sets, start, Catalogue::OLDEST);
        for satellite in &catalogue.satellites {
            let position = satellite.orbit.earth_fixed_km(&Earth::WGS84, Time::from_secs_f64(1e6));
            assert!(position.norm().is_finite());
            flown += 1;
        }
        rounds += 1;
    }
    eprintln!("{rounds} files, {flown} satellites of them flown");
    assert!(rounds > 100 && flown > 10, "{rounds} {flown}");
}
