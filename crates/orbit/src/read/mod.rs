//! Files of orbital elements: TLE, 3LE and OMM in its four spellings. A broken entry is listed and the rest is read.

mod build;
mod csv;
mod json;
mod kvn;
mod problem;
mod tle;
mod xml;

use crate::MeanElements;
pub use problem::{ElementError, ElementPlace, ElementProblem};
use std::fmt;

/// How a file of elements is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementFormat {
    /// Two-line elements, with or without a line for the name before them (3LE, with or without its leading 0).
    Tle,
    /// Orbit mean-elements messages (CCSDS 502.0-B-3) as CelesTrak and Space-Track spell them in JSON.
    OmmJson,
    OmmCsv,
    OmmXml,
    /// Keyword = value, the original spelling of CCSDS.
    OmmKvn,
}

impl fmt::Display for ElementFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ElementFormat::Tle => "TLE",
            ElementFormat::OmmJson => "OMM in JSON",
            ElementFormat::OmmCsv => "OMM in CSV",
            ElementFormat::OmmXml => "OMM in XML",
            ElementFormat::OmmKvn => "OMM in KVN",
        })
    }
}

/// One entry of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementSet {
    /// As the file gives it.
    pub name: Option<String>,
    /// The international designator, "1998-067A" or as the file gives it.
    pub designator: Option<String>,
    pub elements: MeanElements,
    pub place: ElementPlace,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementFile {
    pub format: ElementFormat,
    /// In the order of the file.
    pub sets: Vec<ElementSet>,
    /// Entries that were left out, and why.
    pub problems: Vec<ElementProblem>,
}

/// Reads a file of elements in any of the formats, told apart by what it begins with. Never fails: what cannot be read
/// is among the problems.
pub fn read_elements(bytes: &[u8]) -> ElementFile {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let format = guess(text);
    let mut file = ElementFile { format, sets: Vec::new(), problems: Vec::new() };
    match format {
        ElementFormat::Tle => tle::read(text, &mut file),
        ElementFormat::OmmJson => json::read(text, &mut file),
        ElementFormat::OmmCsv => csv::read(text, &mut file),
        ElementFormat::OmmXml => xml::read(text, &mut file),
        ElementFormat::OmmKvn => kvn::read(text, &mut file),
    }
    if file.sets.is_empty() && file.problems.is_empty() {
        file.problem(ElementPlace::Line(1), None, ElementError::Empty);
    }
    file
}

fn guess(text: &str) -> ElementFormat {
    let text = text.trim_start();
    let first_line = text.lines().next().unwrap_or("");
    match text.chars().next() {
        Some('{' | '[') => ElementFormat::OmmJson,
        Some('<') => ElementFormat::OmmXml,
        _ if first_line.contains(',') && first_line.to_ascii_uppercase().contains("EPOCH") => ElementFormat::OmmCsv,
        _ if kvn::looks_like(text) => ElementFormat::OmmKvn,
        _ => ElementFormat::Tle,
    }
}

impl ElementFile {
    fn problem(&mut self, place: ElementPlace, name: Option<String>, error: ElementError) {
        self.problems.push(ElementProblem { place, name, error });
    }

    /// Takes an entry over, or says why not.
    fn take(&mut self, place: ElementPlace, name: Option<String>, set: Result<ElementSet, ElementError>) {
        match set {
            Ok(set) => self.sets.push(set),
            Err(error) => self.problem(place, name, error),
        }
    }
}
