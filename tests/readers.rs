//! Every reader of the engine as a function over bytes, for the fuzzer in `fuzz/` and for the test that replays its
//! corpus. None may panic, and what a reader accepts must survive the way through its own written form.

use serde_json::{Value as Json, json};
use skyhop_base::{Angle, Bytes, Duration, Length, Rate};
use skyhop_orbit::{Catalogue, read_elements};
use skyhop_scenario::{Files, Instant, Override, Scenario};
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// A reader under test.
pub type Reader = fn(&[u8]);

/// All of them, by the names of their folders in `fuzz/corpus/`.
pub const READERS: &[(&str, Reader)] = &[
    ("scenario", scenario),
    ("values", values),
    ("overrides", overrides),
    ("elements", elements),
    ("opportunities", |bytes| trace("opportunities", bytes)),
    ("table", |bytes| trace("table", bytes)),
    ("delays", |bytes| trace("delays", bytes)),
    ("stations", stations),
    ("quantities", quantities),
    ("places", places),
];

/// Above these sizes a scenario is read, but its canonical form is not worth the time here.
const LARGEST_TEXT: usize = 20_000;

/// The reader of that name.
pub fn reader(name: &str) -> Option<Reader> {
    READERS.iter().find(|(known, _)| *known == name).map(|(_, reader)| *reader)
}

/// A scenario as TOML.
pub fn scenario(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    check(Scenario::from_toml_with(&text, "fuzz", &[], &Files::none()));
}

/// A scenario as the values of a program.
pub fn values(bytes: &[u8]) {
    if let Ok(value) = serde_json::from_slice::<Json>(bytes) {
        check(Scenario::from_json_with(&value, "fuzz", &[], &Files::none()));
    }
}

/// Lines of `KEY=VALUE` over a scenario that is right.
pub fn overrides(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parts = text.lines().filter_map(|line| line.split_once('='));
    let overrides: Vec<Override> = parts.filter_map(|(key, value)| Override::new(key, value).ok()).collect();
    check(Scenario::from_json_with(&small(), "fuzz", &overrides, &Files::none()));
}

/// Elements of satellites in any format, and where they put them.
pub fn elements(bytes: &[u8]) {
    let file = read_elements(bytes);
    assert!(!file.sets.is_empty() || !file.problems.is_empty(), "nothing read and nothing wrong");
    file.problems.iter().for_each(|problem| drop(problem.to_string()));
    let Some(epoch) = file.sets.first().map(|set| set.elements.epoch) else { return };
    let catalogue = Catalogue::new(&file.sets, epoch, Catalogue::OLDEST);
    let names: Vec<&str> = catalogue.satellites.iter().map(|satellite| satellite.name.as_str()).collect();
    assert!(names.iter().all(|name| !name.is_empty()), "a satellite without a name: {names:?}");
}

fn trace(key: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut scenario = small();
    scenario["links"][0]["trace"] = json!({ key: { "text": text } });
    check(Scenario::from_json(&scenario, "fuzz", &[]));
}

/// A list of stations: CSV or GeoJSON.
pub fn stations(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let scenario = json!({
        "duration": "1 s", "constellation": { "preset": "geo", "longitudes": ["0 deg"], "gsl": { "rate": "1 Mbit/s" } },
        "stations_file": { "text": text },
    });
    check(Scenario::from_json(&scenario, "fuzz", &[]));
}

/// A number with a unit, of every kind; an instant of the calendar.
pub fn quantities(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    reads_itself::<Duration>(&text);
    reads_itself::<Rate>(&text);
    reads_itself::<Bytes>(&text);
    reads_itself::<Length>(&text);
    reads_itself::<Angle>(&text);
    let _ = serde_json::from_value::<Instant>(json!(text)).map(|instant| {
        let written = serde_json::to_value(instant).expect("an instant is a text");
        let again: Instant = serde_json::from_value(written.clone()).unwrap_or_else(|e| panic!("{written}: {e}"));
        assert_eq!(written, serde_json::to_value(again).expect("an instant is a text"));
    });
}

fn reads_itself<T: FromStr + Display + PartialEq + Debug>(text: &str)
where
    T::Err: Display,
{
    let Ok(value) = text.parse::<T>() else { return };
    let written = value.to_string();
    let again = written.parse::<T>().unwrap_or_else(|e| panic!("{text:?} is written {written:?}: {e}"));
    assert_eq!(again, value, "{text:?} is written {written:?}");
}

/// The name of a city.
pub fn places(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = (skyhop_scenario::find_place(&text), skyhop_scenario::nearest_place(&text));
}

/// Two nodes, a link, a flow.
fn small() -> Json {
    json!({
        "duration": "2 s",
        "links": [{ "between": ["left", "right"], "rate": "1 Mbit/s", "delay": "10 ms" }],
        "flows": [{ "name": "a", "from": "left", "to": "right", "tcp": "newreno" }],
    })
}

/// Problems have a message; a scenario that is right is its canonical form's scenario.
fn check(read: Result<Scenario, skyhop_scenario::Diagnostics>) {
    match read {
        Err(problems) => assert!(!problems.problems.is_empty() && !problems.to_string().is_empty()),
        Ok(scenario) => {
            let canonical = scenario.canonical_json();
            if canonical.len() > LARGEST_TEXT {
                return;
            }
            let value: Json = serde_json::from_str(&canonical).unwrap_or_else(|e| panic!("{e}: {canonical}"));
            let again = Scenario::from_json(&value, "canonical", &[])
                .unwrap_or_else(|problems| panic!("the canonical form is refused: {problems}\n{canonical}"));
            assert_eq!(again.canonical_json(), canonical, "the canonical form is not a fixed point");
        }
    }
}
