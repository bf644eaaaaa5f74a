//! Files that a scenario names.

use super::Resolver;
use crate::files::Unread;
use crate::format::ContentFile;
use crate::tree::Path;
use flate2::read::GzDecoder;
use std::fmt::Display;
use std::io::Read;
use std::path::Path as FilePath;

/// Elements of every object in orbit, in the most verbose format, need half of it.
pub(super) const LARGEST_FILE: u64 = 64 << 20;

/// So many entries of one file are warned about.
const MOST_WARNINGS: usize = 10;

/// The content of a file.
pub(super) struct Content {
    /// What problems call it, which stand at its key.
    pub name: String,
    /// What warnings call it.
    pub place: String,
    pub text: String,
}

impl Resolver<'_, '_, '_> {
    /// Unpacks compressed files (`.gz`) and replaces bytes that are not UTF-8; a file that cannot be read is a problem.
    pub(super) fn content(&mut self, file: &ContentFile, path: &Path) -> Option<Content> {
        let name = match file {
            ContentFile::Inline(inline) => {
                let (name, place) = ("the text".to_owned(), path.to_string());
                return Some(Content { name, place, text: inline.text.clone() });
            }
            ContentFile::Path(name) => name,
        };
        let file = match self.shelf.open(FilePath::new(name)) {
            Ok(file) => file,
            Err(Unread { reason, help }) => {
                self.add(path, format!("the file {name:?} {reason}"), help);
                return None;
            }
        };
        let mut bytes = Vec::new();
        let read = match FilePath::new(name).extension().is_some_and(|extension| extension == "gz") {
            true => GzDecoder::new(file).take(LARGEST_FILE + 1).read_to_end(&mut bytes),
            false => file.take(LARGEST_FILE + 1).read_to_end(&mut bytes),
        };
        let refused = match read {
            Err(error) => format!("cannot be read: {error}"),
            Ok(_) if bytes.len() as u64 > LARGEST_FILE => {
                format!("is too large: at most {LARGEST_FILE} bytes are read")
            }
            Ok(_) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                return Some(Content { name: name.clone(), place: name.clone(), text });
            }
        };
        self.add(path, format!("the file {name:?} {refused}"), None);
        None
    }

    /// A warning about an entry of a file; those beyond the first few are only counted.
    pub(super) fn warn_some(&mut self, file: &str, entry: &impl Display) {
        let start = format!("{file}: ");
        let count = self.warnings.iter().filter(|warning| warning.starts_with(&start)).count();
        match count {
            0..MOST_WARNINGS => self.warnings.push(format!("{start}{entry}")),
            MOST_WARNINGS => self.warnings.push(format!("{start}and further entries that cannot be read")),
            _ => {}
        }
    }
}
