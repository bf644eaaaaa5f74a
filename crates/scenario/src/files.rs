//! Which files of the machine a scenario may read. Whatever opens a file in this crate goes through [`Shelf::open`].

use rustix::fs::{Mode, OFlags};
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The files that a scenario may name. A text from somebody else should be read with [`Files::none`], or with a folder
/// of its own: a scenario that names `/etc/passwd` as its stations would show lines of it in its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// Every file that the process can read.
    #[default]
    Any,
    /// These files, and everything below these folders. Links that lead elsewhere are not followed.
    Only(Vec<PathBuf>),
}

impl Files {
    /// No file at all.
    pub const fn none() -> Files {
        Files::Only(Vec::new())
    }
}

/// Where the names of files begin, and which of them may be read.
pub(crate) struct Shelf<'f> {
    /// The folder of the scenario.
    pub folder: &'f Path,
    pub files: &'f Files,
    /// Files that were read, by their names and by how they were read.
    kept: RefCell<BTreeMap<(String, String), Rc<dyn Any>>>,
}

/// Why a file was not read, for a message that begins with the file's name. It tells nothing about a file that may not
/// be read, not even whether it exists.
pub(crate) struct Unread {
    pub reason: String,
    pub help: Option<String>,
}

impl<'f> Shelf<'f> {
    pub(crate) fn new(folder: &'f Path, files: &'f Files) -> Shelf<'f> {
        Shelf { folder, files, kept: RefCell::default() }
    }

    /// What [`Shelf::keep`] was given for this file, read in this manner.
    pub(crate) fn kept<T: Clone + 'static>(&self, name: &str, how: &str) -> Option<T> {
        self.kept.borrow().get(&(name.to_owned(), how.to_owned()))?.downcast_ref().cloned()
    }

    /// Keeps what was read. Both directions of a link name the same recording, and so does each of the hundred variants
    /// in a search for keys without effect.
    pub(crate) fn keep<T: Clone + 'static>(&self, name: &str, how: &str, read: &T) {
        self.kept.borrow_mut().insert((name.to_owned(), how.to_owned()), Rc::new(read.clone()));
    }

    /// The file of that name, if it may be read and is a regular one. Opening a pipe waits for whoever writes into it,
    /// and some devices have no end: neither is opened for longer than it takes to know it.
    pub(crate) fn open(&self, name: &Path) -> Result<File, Unread> {
        let path = self.folder.join(name);
        let (path, links) = match self.files {
            Files::Any => (path, OFlags::empty()),
            // The path has no links any more; one that took its place since is not followed.
            Files::Only(allowed) => (allowed_path(&path, allowed)?, OFlags::NOFOLLOW),
        };
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | links;
        let file =
            File::from(rustix::fs::open(&path, flags, Mode::empty()).map_err(|error| unreadable(&error.into()))?);
        let kind = file.metadata().map_err(|error| unreadable(&error))?.file_type();
        match kind.is_file() {
            true => Ok(file),
            false => Err(Unread { reason: format!("is {}, not a file", name_of(kind)), help: None }),
        }
    }
}

/// The path without links, when it is one of `allowed` or lies below one of them.
fn allowed_path(path: &Path, allowed: &[PathBuf]) -> Result<PathBuf, Unread> {
    let allowed: Vec<PathBuf> = allowed.iter().filter_map(|one| one.canonicalize().ok()).collect();
    let is_allowed = |real: &Path| allowed.iter().any(|one| real.starts_with(one));
    if allowed.is_empty() {
        return Err(forbidden("this scenario may read no files"));
    }
    let missing = match path.canonicalize() {
        Ok(real) if is_allowed(&real) => return Ok(real),
        Ok(_) => None,
        Err(error) => Some(error),
    };
    // That a file is missing is said only where it would have been allowed.
    let parent = path.ancestors().skip(1).map(or_here).find_map(|ancestor| ancestor.canonicalize().ok());
    match (missing, parent) {
        (Some(error), Some(parent)) if is_allowed(&parent) => Err(unreadable(&error)),
        _ => Err(forbidden("it is none of the files that this scenario may read")),
    }
}

/// The last ancestor of a relative path is empty and means the current folder.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn forbidden(why: &str) -> Unread {
    Unread {
        reason: format!("is not read: {why}"),
        help: Some("give its content in its place, as { text = \"...\" }".to_owned()),
    }
}

fn unreadable(error: &io::Error) -> Unread {
    Unread { reason: format!("cannot be read: {error}"), help: None }
}

fn name_of(kind: FileType) -> &'static str {
    match kind {
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    }
}
