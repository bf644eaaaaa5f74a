//! Faults of a run.

use std::fmt;

/// A fault that a scenario shows. `kind` says which one, without numbers: shrinking keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub kind: String,
    pub text: String,
}

impl Finding {
    pub fn new(kind: &str, text: impl Into<String>) -> Finding {
        Finding { kind: kind.to_owned(), text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.text)
    }
}

/// Collects findings; of each kind the first is enough.
#[derive(Default)]
pub struct Findings(pub Vec<Finding>);

impl Findings {
    pub fn add(&mut self, kind: &str, text: impl FnOnce() -> String) {
        if !self.0.iter().any(|finding| finding.kind == kind) {
            self.0.push(Finding::new(kind, text()));
        }
    }

    /// Adds a finding unless `holds`.
    pub fn expect(&mut self, holds: bool, kind: &str, text: impl FnOnce() -> String) {
        if !holds {
            self.add(kind, text);
        }
    }
}
