//! Problems with an entry of a file of elements.

use crate::OrbitError;
use std::fmt;

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ElementPlace {
    /// Counted from 1.
    Line(u32),
    /// The n-th entry of a file whose lines mean nothing, counted from 1.
    Entry(u32),
}

impl fmt::Display for ElementPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElementPlace::Line(line) => write!(f, "line {line}"),
            ElementPlace::Entry(entry) => write!(f, "entry {entry}"),
        }
    }
}

/// An entry that was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementProblem {
    pub place: ElementPlace,
    /// Of the satellite, as far as known.
    pub name: Option<String>,
    pub error: ElementError,
}

impl fmt::Display for ElementProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if let Some(name) = &self.name {
            write!(f, "{name}: ")?;
        }
        write!(f, "{}", self.error)
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ElementError {
    #[error("the file holds no elements")]
    Empty,
    #[error("neither the first nor the second line of elements, nor a name before them: \"{text}\"")]
    Stray { text: String },
    #[error("the first line of elements is not followed by its second line")]
    NoSecondLine,
    #[error("the second line of elements does not follow a first line")]
    NoFirstLine,
    #[error("{line} line: {length} characters instead of 69 (68 without the checksum)")]
    Length { line: &'static str, length: usize },
    #[error("{line} line: a character that is not ASCII at column {column}")]
    NotAscii { line: &'static str, column: usize },
    #[error("{line} line: the checksum is {found}, the characters before it make {expected}")]
    Checksum { line: &'static str, found: char, expected: u32 },
    #[error("{line} line: columns {first} to {last} hold no {what}: \"{text}\"")]
    Columns { line: &'static str, first: usize, last: usize, what: &'static str, text: String },
    #[error("the first line belongs to object {first}, the second to object {second}")]
    Mismatch { first: u32, second: u32 },
    #[error("{format}: {text}")]
    Syntax { format: &'static str, text: String },
    #[error("{key} is missing")]
    Missing { key: &'static str },
    #[error("{key} is not a {what}: \"{text}\"")]
    Field { key: &'static str, what: &'static str, text: String },
    #[error("{key} is \"{text}\"; only {valid} can be used")]
    Unsupported { key: &'static str, text: String, valid: &'static str },
    #[error("elements for SGP4-XP (ephemeris type 4), which SGP4 cannot propagate")]
    Sgp4Xp,
    #[error(transparent)]
    Values(#[from] OrbitError),
}

/// A text for a message: its beginning, on one line.
pub(super) fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}
