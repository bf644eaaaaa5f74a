//! The text of a scenario, and where in it an offset lies.

use crate::overrides::Override;

/// Name, text and overrides of one scenario, for the places in messages.
pub(crate) struct Source {
    name: String,
    text: Option<String>,
    /// Offsets at which lines start; empty without text.
    lines: Vec<usize>,
    overrides: Vec<String>,
}

/// From 1, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub line: usize,
    pub column: usize,
}

impl Source {
    pub(crate) fn of_text(name: &str, text: &str, overrides: &[Override]) -> Source {
        let starts = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Source { text: Some(text.to_owned()), lines, ..Source::without_text(name, overrides) }
    }

    /// For values that come from a program.
    pub(crate) fn without_text(name: &str, overrides: &[Override]) -> Source {
        let overrides = overrides.iter().map(|o| format!("--set {o}")).collect();
        Source { name: name.to_owned(), text: None, lines: Vec::new(), overrides }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn has_text(&self) -> bool {
        self.text.is_some()
    }

    pub(crate) fn override_name(&self, index: usize) -> String {
        self.overrides.get(index).cloned().unwrap_or_default()
    }

    /// The part of the text between two offsets; empty when they are none of the text.
    pub(crate) fn slice(&self, span: std::ops::Range<usize>) -> &str {
        self.text.as_deref().and_then(|text| text.get(span)).unwrap_or_default()
    }

    /// Where `offset` lies; behind the end of the text it is the end.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let text = self.text.as_deref().unwrap_or_default();
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines.partition_point(|&start| start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        Position { line, column: text[start..offset].chars().count() + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let source = Source::of_text("x", "ab\nµs = 1\n", &[]);
        let at = |offset| (source.position(offset).line, source.position(offset).column);
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(2), (1, 3));
        assert_eq!(at(3), (2, 1));
        assert_eq!(at(4), (2, 1), "inside a character");
        assert_eq!(at(5), (2, 2), "after the two bytes of µ");
        assert_eq!(at(999), (3, 1), "behind the end");
    }
}
