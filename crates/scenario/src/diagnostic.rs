//! Problems of a scenario, each with its place, the key, the reason and a correct alternative.

use crate::names;
use crate::source::Source;
use crate::tree::{Origin, Path};
use serde::Serialize;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;

/// One problem of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The file (or what the caller called the text), or the override that brought the value.
    pub file: String,
    /// From 1; `None` when the value came from no text.
    pub line: Option<usize>,
    /// In characters, from 1.
    pub column: Option<usize>,
    /// The key: `flows[2].from`. Empty when the whole file is meant.
    pub path: String,
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// All problems of a scenario, in the order of the text. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Diagnostics {
    pub problems: Vec<Diagnostic>,
    /// Problems beyond the first [`MOST_PROBLEMS`], which nobody would read.
    pub not_shown: usize,
}

/// So many problems are shown; a file of noise has millions.
pub const MOST_PROBLEMS: usize = 100;

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        if self.not_shown > 0 {
            write!(f, "\n... and {} more problems", self.not_shown)?;
        }
        Ok(())
    }
}

/// Collects the problems of one text.
pub(crate) struct Problems<'s> {
    source: &'s Source,
    found: Vec<(usize, Diagnostic)>,
    not_shown: usize,
    /// Every path with a problem: components that are not worth a second look.
    dirty: BTreeSet<Path>,
    /// So many names may still be held beside a misspelt one.
    comparisons: Cell<usize>,
}

/// What comparing names may cost in all, in names: about a second. A text of 8 MB with as many misspelt names as right
/// ones would take longer than anybody waits.
const MOST_COMPARISONS: usize = 300_000;

impl<'s> Problems<'s> {
    pub(crate) fn new(source: &'s Source) -> Problems<'s> {
        Problems {
            source,
            found: Vec::new(),
            not_shown: 0,
            dirty: BTreeSet::new(),
            comparisons: Cell::new(MOST_COMPARISONS),
        }
    }

    /// Whether so many names may still be compared with one that is unknown.
    pub(crate) fn may_compare(&self, count: usize) -> bool {
        !self.is_full() && count <= self.comparisons.get()
    }

    /// The one of `known` that was probably meant by `name`; `None` also when too many were looked at.
    pub(crate) fn nearest<'c>(&self, name: &str, known: impl ExactSizeIterator<Item = &'c str>) -> Option<&'c str> {
        if !self.may_compare(known.len()) {
            return None;
        }
        self.comparisons.set(self.comparisons.get() - known.len());
        names::nearest(name, known)
    }

    /// What would be right in place of a name that nothing has.
    pub(crate) fn name_help<'c>(
        &self,
        name: &str,
        known: impl ExactSizeIterator<Item = &'c str> + Clone,
    ) -> Option<String> {
        if self.is_full() {
            return None;
        }
        Some(match self.nearest(name, known.clone()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => names::there_are(known),
        })
    }

    /// Notes that `path` is wrong because of `message`. `help` says what would be right.
    pub(crate) fn add(&mut self, origin: &Origin, path: &Path, message: impl Into<String>, help: Option<String>) {
        if self.is_full() {
            self.dirty.insert(path.head(2));
            self.not_shown += 1;
            return;
        }
        let (file, place) = match origin {
            Origin::Override(index) => (self.source.override_name(*index), None),
            Origin::Text(span) => (self.source.name().to_owned(), Some(span.start)),
            Origin::Nowhere => (self.source.name().to_owned(), self.source.has_text().then_some(0)),
        };
        let position = place.map(|offset| self.source.position(offset));
        let diagnostic = Diagnostic {
            file,
            line: position.map(|p| p.line),
            column: position.map(|p| p.column),
            path: path.to_string(),
            message: message.into(),
            help,
        };
        self.dirty.insert(path.clone());
        // Both directions of a link may miss the same key.
        if self.found.iter().any(|(_, known)| *known == diagnostic) {
            return;
        }
        self.found.push((place.unwrap_or(usize::MAX), diagnostic));
    }

    /// Further problems are only counted: their messages need not be composed with care.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= MOST_PROBLEMS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// No problem lies at, below or above `path`.
    pub(crate) fn is_clean(&self, path: &Path) -> bool {
        let steps = path.steps().len();
        // Paths below it follow it in the order.
        let below = self.dirty.range(path..).next().is_some_and(|found| found.head(steps) == *path);
        !below && !(0..steps).any(|above| self.dirty.contains(&path.head(above)))
    }

    /// Problems so far.
    pub(crate) fn count(&self) -> usize {
        self.found.len() + self.not_shown
    }

    /// Drops the problems behind the first `count` that lie on a line of one of those: they follow from it.
    pub(crate) fn drop_followers(&mut self, count: usize) {
        let first = self.found.len().min(count);
        let lines: BTreeSet<usize> = self.found[..first].iter().filter_map(|(_, problem)| problem.line).collect();
        let mut index = 0;
        self.found.retain(|(_, problem)| {
            index += 1;
            index <= first || problem.line.is_none_or(|line| !lines.contains(&line))
        });
    }

    /// What came out, when nothing was found.
    pub(crate) fn into_result<T>(mut self, outcome: Option<T>) -> Result<T, Diagnostics> {
        match outcome {
            Some(outcome) if self.found.is_empty() => return Ok(outcome),
            None if self.found.is_empty() => {
                debug_assert!(false, "refused without a reason");
                self.add(&Origin::Nowhere, &Path::root(), "cannot be resolved", None);
            }
            _ => {}
        }
        self.found.sort_by_key(|(place, _)| *place);
        let problems = self.found.into_iter().map(|(_, diagnostic)| diagnostic).collect();
        Err(Diagnostics { problems, not_shown: self.not_shown })
    }
}
