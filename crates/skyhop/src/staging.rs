//! Folders that appear whole or not at all: runs, sweeps, studies, exported pages.
//!
//! Everything is written into a hidden folder beside the target, the *workshop*, and moved to its place by one rename.
//! The workshop is locked as long as its process lives. One that is not locked was left by a process that died: whoever
//! writes beside it removes it, after putting back what it may have moved out of its place. What the folder must hold
//! stands in its list [`LIST`], which is also how Skyhop knows its own folders: it replaces no other.
//! Why it is so: `docs/decisions/run-folders.md`.

use crate::{Error, TABLES};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

/// The file that lists what else the folder holds.
pub const LIST: &str = ".skyhop.json";

/// Begins the name of every workshop.
const WORKSHOP: &str = ".skyhop-";
/// In a workshop: the folder that is being written, and after an exchange the one that it replaced.
const NEW: &str = "new";
/// In a workshop, where two folders cannot be exchanged: the replaced folder under its own name.
const REPLACED: &str = "replaced";
/// Other processes may come between two of our steps, but not so often.
const TRIES: usize = 100;
/// So many files are on their way to the disk at a time; the file system takes them together.
const SYNCS: usize = 16;
/// Bytes of stack for a thread that waits for the disk.
const SYNC_STACK: usize = 128 * 1024;

/// What kind of folder it is; one kind does not replace another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FolderKind {
    /// One run.
    Run,
    /// A run in a store, whose folder is named by hash: who finds it whole leaves it alone.
    Kept,
    /// The tables of a sweep.
    Sweep,
    /// A study's report, figures and runs.
    Study,
    /// The page as files.
    Page,
    /// A run in the format of another tool.
    Export,
}

impl FolderKind {
    /// The kind of that name: `run`, `kept`, `sweep`, `study`, `page` or `export`.
    pub fn from_name(name: &str) -> Option<FolderKind> {
        serde_json::from_value(name.into()).ok()
    }

    fn described(self) -> &'static str {
        match self {
            FolderKind::Run => "a run folder",
            FolderKind::Kept => "a kept run",
            FolderKind::Sweep => "the folder of a sweep",
            FolderKind::Study => "the folder of a study",
            FolderKind::Page => "an exported page",
            FolderKind::Export => "an exported run",
        }
    }
}

#[derive(Serialize, Deserialize)]
struct List {
    kind: FolderKind,
    version: String,
    /// Sizes in bytes by path, with `/` between the parts.
    files: BTreeMap<String, u64>,
}

impl List {
    fn read(folder: &Path) -> Option<List> {
        serde_json::from_slice(&fs::read(folder.join(LIST)).ok()?).ok()
    }
}

/// Whether `folder` holds every file that its list names, in its full size.
pub fn is_whole(folder: &Path) -> bool {
    List::read(folder).is_some_and(|list| {
        let is_there = |(name, size): (&String, &u64)| {
            fs::metadata(folder.join(name)).is_ok_and(|file| file.is_file() && file.len() == *size)
        };
        list.files.iter().all(is_there)
    })
}

/// A folder on its way to its place. Dropped before it is [published](Staging::publish), it leaves nothing behind.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    kind: FolderKind,
    workshop: Workshop,
    _made: Made,
}

/// A folder of our own beside the target, which is cleared in the end.
#[derive(Debug)]
struct Workshop {
    path: PathBuf,
    /// Held open: the lock goes when the process does.
    _lock: Option<File>,
}

impl Drop for Workshop {
    fn drop(&mut self) {
        clear(&self.path);
    }
}

/// Folders above the target that were made for it, outermost first. Those that are empty in the end go.
#[derive(Debug, Default)]
struct Made(Vec<PathBuf>);

impl Drop for Made {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // Another process may be at work in it.
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Staging {
    /// Begins a folder that shall appear at `target`. Everything that can be found out before the writing is found out
    /// here: whether something else is at `target`, and whether its parent can be written.
    ///
    /// # Errors
    /// [`Error::Exists`] if `target` may not be replaced, [`Error::Write`] if nothing can be written there.
    pub fn begin(target: impl AsRef<Path>, kind: FolderKind) -> Result<Staging, Error> {
        let given = target.as_ref();
        let target = place_of(given)?;
        let parent = target.parent().expect("a place has a parent").to_owned();
        sweep(&parent);
        may_replace(&target, kind)?;
        let mut made = Made::default();
        let workshop = workshop_in(&parent, &mut made.0).map_err(Error::write(given))?;
        step();
        fs::create_dir(workshop.path.join(NEW)).map_err(Error::write(given))?;
        Ok(Staging { target, kind, workshop, _made: made })
    }

    /// Where to write: a folder that is empty at first.
    pub fn folder(&self) -> PathBuf {
        self.workshop.path.join(NEW)
    }

    /// Where the folder will be.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Lists the files, waits until they are on the disk, and puts the folder into its place. An existing folder
    /// is replaced as a whole. If several processes write to one place, each puts its folder there whole, and the last
    /// one stays.
    ///
    /// # Errors
    /// [`Error::Exists`] if something else came to the place meanwhile, [`Error::Write`] if the disk refuses.
    pub fn publish(self) -> Result<(), Error> {
        let (folder, target) = (self.folder(), self.target.clone());
        let files = files_of(&folder).map_err(Error::write(&target))?;
        let files = files.into_iter().map(|(name, path)| Ok((name, fs::metadata(path)?.len())));
        let files = files.collect::<io::Result<_>>().map_err(Error::write(&target))?;
        let list = List { kind: self.kind, version: env!("CARGO_PKG_VERSION").to_owned(), files };
        let text = serde_json::to_string_pretty(&list).expect("names and numbers can always be written");
        step();
        fs::write(folder.join(LIST), text + "\n").map_err(Error::write(&target))?;
        step();
        if self.kind != FolderKind::Kept {
            // A kept run that a crash of the machine cut short is found out by its list, and made again.
            sync(&folder).map_err(Error::write(&target))?;
        }
        step();
        for _ in 0..TRIES {
            if self.put()? {
                step();
                if self.kind != FolderKind::Kept {
                    sync_folder(target.parent().expect("a place has a parent")).map_err(Error::write(&target))?;
                }
                step();
                return Ok(());
            }
        }
        Err(Error::write(&target)(io::ErrorKind::ResourceBusy.into()))
    }

    /// One attempt to put the folder into its place; false if another process came between.
    fn put(&self) -> Result<bool, Error> {
        let (folder, target) = (self.folder(), &self.target);
        if is_filled(target).map_err(Error::write(target))? {
            if self.kind == FolderKind::Kept && is_whole(target) {
                return Ok(true);
            }
            may_replace(target, self.kind)?;
            return self.replace();
        }
        // Of folders, a rename replaces an empty one only.
        match fs::rename(&folder, target) {
            Err(error) if is_race(&error) => Ok(false),
            done => done.map(|()| true).map_err(Error::write(target)),
        }
    }

    fn replace(&self) -> Result<bool, Error> {
        let (folder, target) = (self.folder(), &self.target);
        match exchange(&folder, target) {
            Ok(()) => match may_replace(&folder, self.kind) {
                Ok(()) => Ok(true),
                // Something was put there between the look and the exchange.
                Err(_) => exchange(&folder, target).map(|()| false).map_err(Error::write(target)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            // Not every file system can exchange two names.
            Err(_) => self.replace_in_two_steps(),
        }
    }

    fn replace_in_two_steps(&self) -> Result<bool, Error> {
        let (folder, target) = (self.folder(), &self.target);
        let aside = self.workshop.path.join(REPLACED);
        // What an earlier attempt moved aside, another process has replaced since.
        remove(&aside).map_err(Error::write(target))?;
        fs::create_dir(&aside).map_err(Error::write(target))?;
        step();
        match fs::rename(target, aside.join(target.file_name().expect("a place has a name"))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            done => done.map_err(Error::write(target))?,
        }
        step();
        match fs::rename(&folder, target) {
            Err(error) if is_race(&error) => Ok(false),
            // The replaced folder goes back to its place when the workshop is cleared.
            done => done.map(|()| true).map_err(Error::write(target)),
        }
    }
}

/// Writes a file that appears whole or not at all, in place of an older one. A link stays, what it leads to is
/// replaced. A device or a pipe takes the content as it comes.
///
/// # Errors
/// [`Error::Exists`] if `path` is a folder, [`Error::Write`] if it cannot be written.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), Error> {
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
        return fs::write(path, content).map_err(Error::write(path));
    }
    if there.as_ref().is_some_and(fs::Metadata::is_dir) || path.file_name().is_none() {
        return Err(Error::Exists { path: path.to_owned(), why: "is not the name of a file".to_owned() });
    }
    let target = if there.is_some() { fs::canonicalize(path) } else { std::path::absolute(path) };
    let target = target.map_err(Error::write(path))?;
    match fs::symlink_metadata(&target) {
        Ok(_) if there.is_none() => {
            return Err(Error::Exists { path: path.to_owned(), why: "is a link that leads to nothing".to_owned() });
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::write(path)(error)),
        _ => {}
    }
    let parent = target.parent().expect("a file is in a folder");
    sweep(parent);
    let mut made = Made::default();
    let workshop = workshop_in(parent, &mut made.0).map_err(Error::write(path))?;
    let new = workshop.path.join(NEW);
    step();
    fs::write(&new, content)
        .and_then(|()| {
            step();
            there.map_or(Ok(()), |there| fs::set_permissions(&new, there.permissions()))
        })
        .and_then(|()| File::open(&new)?.sync_all())
        .and_then(|()| fs::rename(&new, &target))
        .map_err(Error::write(path))
}

/// A new workshop in `parent`, which is created if it does not exist; created folders are added to `made`.
fn workshop_in(parent: &Path, made: &mut Vec<PathBuf>) -> io::Result<Workshop> {
    for _ in 0..TRIES {
        make_parents(parent, made)?;
        let path = parent.join(format!("{WORKSHOP}{}-{:016x}", std::process::id(), random()));
        step();
        match fs::create_dir(&path) {
            // Another process that had made the parent took it away, or, hardly, has the same name.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => continue,
            done => done?,
        }
        step();
        // Otherwise another process swept it before it was locked.
        if let Some(_lock) = lock(&path) {
            return Ok(Workshop { path, _lock });
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Removes a workshop. What it had moved out of its place goes back if the place is free. Nothing is done about a
/// failure: the next one who writes here tries again.
fn clear(workshop: &Path) {
    let parent = workshop.parent().unwrap_or(Path::new("."));
    for replaced in fs::read_dir(workshop.join(REPLACED)).into_iter().flatten().flatten() {
        let place = parent.join(replaced.file_name());
        // A rename replaces no folder that holds something.
        if fs::rename(replaced.path(), &place).is_err() && !place.exists() {
            return;
        }
    }
    step();
    let _ = remove(workshop);
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Removes what dead processes left in `parent`; whoever writes a folder there does so, too. What cannot be removed
/// stays.
pub fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && is_workshop(&entry.file_name()) {
            // Locked by us while we clear it: nobody else does, and its maker cannot take it up.
            if let Some(Some(_lock)) = lock(&entry.path()) {
                clear(&entry.path());
            }
        }
    }
}

/// `.skyhop-<process>-<16 hexadecimal digits>`.
fn is_workshop(name: &OsStr) -> bool {
    let parts = name.to_str().and_then(|name| name.strip_prefix(WORKSHOP)).and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(process, random)| {
        !process.is_empty()
            && process.bytes().all(|digit| digit.is_ascii_digit())
            && random.len() == 16
            && random.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// The target as an absolute path with a name, links followed.
fn place_of(given: &Path) -> Result<PathBuf, Error> {
    let refuse = |why: &str| Error::Exists { path: given.to_owned(), why: why.to_owned() };
    if given.as_os_str().is_empty() {
        return Err(refuse("an empty name is not the name of a folder"));
    }
    let place = match fs::symlink_metadata(given) {
        Ok(there) => match fs::canonicalize(given) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if there.is_symlink() {
                    return Err(refuse("is a link that leads to nothing"));
                }
                // Another process has moved it away since.
                std::path::absolute(given)
            }
            done => done,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::path::absolute(given),
        Err(error) => Err(error),
    };
    let place = place.map_err(Error::write(given))?;
    if place.file_name().is_none() {
        return Err(refuse("has no name that a folder could have"));
    }
    if std::env::current_dir().and_then(fs::canonicalize).is_ok_and(|current| current.starts_with(&place)) {
        return Err(refuse("is the current folder or holds it, and cannot be replaced as a whole"));
    }
    Ok(place)
}

/// Whether the place is free, or holds a folder of this kind and nothing else. Another process may exchange the folder
/// while it is read; then what was read belongs to two folders, and it is read again.
fn may_replace(place: &Path, kind: FolderKind) -> Result<(), Error> {
    let mut verdict = Ok(());
    for _ in 0..TRIES {
        // Held open, so that its number cannot pass to another folder.
        let opened = File::open(place);
        verdict = look_at(place, kind);
        if verdict.is_ok() || opened.is_ok_and(|opened| is_at(&opened, place)) {
            break;
        }
    }
    verdict
}

fn look_at(place: &Path, kind: FolderKind) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::Exists { path: place.to_owned(), why });
    match fs::symlink_metadata(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::write(place)(error)),
        Ok(there) if !there.is_dir() => return refuse("exists and is not a folder".to_owned()),
        Ok(_) => {}
    }
    if is_mount(place) {
        return refuse("is the root of a file system and cannot be replaced as a whole".to_owned());
    }
    if !is_filled(place).map_err(Error::write(place))? {
        return Ok(());
    }
    let files = files_of(place).map_err(Error::write(place))?;
    let stranger = match List::read(place).filter(|list| list.kind == kind) {
        Some(list) => files.into_iter().find(|(name, _)| name != LIST && !list.files.contains_key(name)),
        // A run folder of an earlier version, or a kept run that a crash damaged.
        None if kind == FolderKind::Kept || kind == FolderKind::Run && place.join("manifest.json").is_file() => {
            files.into_iter().find(|(name, _)| name != LIST && !is_of_a_run(name))
        }
        None => return refuse(format!("exists and is not {}", kind.described())),
    };
    match stranger {
        Some((name, _)) => refuse(format!("holds {name:?}, which is not part of {}", kind.described())),
        None => Ok(()),
    }
}

/// Whether the opened folder is still the one at `place`.
fn is_at(opened: &File, place: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let number = |there: io::Result<fs::Metadata>| there.map(|there| (there.dev(), there.ino())).ok();
        number(opened.metadata()) == number(fs::symlink_metadata(place))
    }
    #[cfg(not(unix))]
    {
        // A folder that is open cannot be moved.
        let _ = (opened, place);
        true
    }
}

fn is_of_a_run(name: &str) -> bool {
    let table = name.strip_suffix(".parquet").or_else(|| name.strip_suffix(".csv"));
    ["manifest.json", "summary.json", "scenario.json", "title.txt"].contains(&name)
        || table.is_some_and(|table| TABLES.contains(&table))
}

fn is_mount(place: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let device = |path: &Path| fs::metadata(path).map(|there| there.dev());
        place.parent().is_some_and(
            |parent| matches!((device(place), device(parent)), (Ok(inside), Ok(outside)) if inside != outside),
        )
    }
    #[cfg(not(unix))]
    {
        let _ = place;
        false
    }
}

/// Whether something is at the place that is not an empty folder.
fn is_filled(place: &Path) -> io::Result<bool> {
    match fs::read_dir(place) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(true),
        Err(error) => Err(error),
    }
}

/// Every file below a folder: its path from there with `/` between the parts, and where it is. A link is a file.
fn files_of(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    fn add(folder: &Path, above: &str, found: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{above}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                add(&entry.path(), &format!("{name}/"), found)?;
            } else {
                found.push((name, entry.path()));
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    add(folder, "", &mut found)?;
    found.sort();
    Ok(found)
}

/// Makes the folder and those above it; adds those that were not there to `made`.
fn make_parents(folder: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    let missing: Vec<_> = folder.ancestors().take_while(|above| !above.exists()).map(Path::to_owned).collect();
    for above in missing.into_iter().rev() {
        step();
        match fs::create_dir(&above) {
            Ok(()) => made.push(above),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && above.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits until every file of the folder, and the folder itself, is on the disk.
fn sync(folder: &Path) -> io::Result<()> {
    let files = files_of(folder)?;
    let share = files.len().div_ceil(SYNCS).max(1);
    let sync_part = |part: &[(String, PathBuf)]| {
        part.iter().try_for_each(|(_, path)| File::open(path).and_then(|file| file.sync_all()))
    };
    thread::scope(|scope| {
        // A process whose memory is limited may get no further thread; then this one does the work.
        let spawn = |part| thread::Builder::new().stack_size(SYNC_STACK).spawn_scoped(scope, move || sync_part(part));
        let parts: Vec<_> = files.chunks(share).map(|part| spawn(part).map_err(|_| part)).collect();
        parts.into_iter().try_for_each(|part| match part {
            Ok(thread) => thread.join().expect("reading a file does not panic"),
            Err(part) => sync_part(part),
        })
    })?;
    let mut folders: Vec<_> = files.iter().filter_map(|(_, path)| path.parent()).collect();
    folders.push(folder);
    folders.dedup();
    folders.into_iter().try_for_each(sync_folder)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|opened| opened.sync_all()) {
        // Some file systems know no such thing for folders.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied) => Ok(()),
        done => done,
    }
}

/// A name that no other process takes: the seed of the standard library's hash maps comes from the system.
fn random() -> u64 {
    RandomState::new().hash_one(std::time::SystemTime::now())
}

/// Whether a rename failed because another process was there first.
fn is_race(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | NotADirectory)
}

/// Swaps two folders in one step.
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    #[cfg(test)]
    if std::env::var_os("SKYHOP_TEST_NO_EXCHANGE").is_some() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
    }
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    {
        let _ = (one, other);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Locks a workshop: `None` if another process has it or it is gone, `Some(None)` where there are no locks, so that
/// nobody sweeps.
fn lock(workshop: &Path) -> Option<Option<File>> {
    #[cfg(unix)]
    {
        use rustix::fs::{FlockOperation, flock};
        use std::os::unix::fs::MetadataExt;
        let opened = File::open(workshop).ok()?;
        match flock(&opened, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return None,
            Err(_) => return Some(None),
        }
        // It may have been removed, after it was opened and before it was locked.
        let is_same = match (opened.metadata(), fs::metadata(workshop)) {
            (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
            _ => false,
        };
        is_same.then_some(Some(opened))
    }
    #[cfg(not(unix))]
    {
        let _ = workshop;
        Some(None)
    }
}

/// In tests, a place at which the process may be killed.
#[inline]
pub(crate) fn step() {
    #[cfg(test)]
    tests::step();
}

#[cfg(test)]
mod tests;
