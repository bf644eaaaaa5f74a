//! Loading: from the content of a library to its table of functions.

use crate::abi;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use std::collections::BTreeMap;
use std::fs;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// What a plug-in exports.
const ENTRY: &str = "skyhop_cc_plugin";

type Entry = unsafe extern "C" fn() -> *const abi::Table;

/// The tables of the libraries that this process has loaded, by the hash of the library. Each is loaded once, and none
/// is unloaded, so that its functions stay valid.
static LOADED: Mutex<BTreeMap<String, abi::Table>> = Mutex::new(BTreeMap::new());

/// The table of a library. `file` is its name in messages, `sha256` the hash of `bytes`.
///
/// The library is loaded from a private copy: the bytes that were hashed run, also when somebody writes to the file.
pub(crate) fn load(file: &str, sha256: &str, bytes: &[u8]) -> Result<abi::Table, String> {
    // Held while the library is loaded: its initialisers run once.
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = loaded.get(sha256) {
        return Ok(*table);
    }
    let cannot = |error: std::io::Error| format!("the library cannot be copied to be loaded: {error}");
    let folder = tempfile::Builder::new().prefix("skyhop-plugin-").tempdir().map_err(cannot)?;
    let name = Path::new(file).file_name().map_or_else(|| "plugin.so".into(), ToOwned::to_owned);
    let copy = folder.path().join(name);
    fs::write(&copy, bytes).map_err(cannot)?;
    let table = table_of(&copy).map_err(|why| why.replace(&copy.display().to_string(), file))?;
    loaded.insert(sha256.to_owned(), table);
    Ok(table)
}

fn table_of(copy: &Path) -> Result<abi::Table, String> {
    // SAFETY: loading runs the library's initialisers, which are code of the user's own choice: a scenario that may not
    // run code was refused before. RTLD_NOW finds missing functions now and not in a call.
    let opened = unsafe { Library::open(Some(copy), RTLD_NOW | RTLD_LOCAL) };
    let library = opened.map_err(|error| format!("it is not a library that this machine can load: {error}"))?;
    // SAFETY: the symbol is taken for a function of this type, as the header demands; nothing can check its type.
    let entry: Result<Symbol<Entry>, _> = unsafe { library.get(ENTRY.as_bytes()) };
    let entry = entry.map_err(|_| format!("it does not export the function {ENTRY}() of skyhop_cc.h"))?;
    // SAFETY: the function takes no arguments; see above for its type.
    let table = unsafe { entry() };
    if table.is_null() {
        return Err(format!("{ENTRY}() returned no table"));
    }
    // SAFETY: every version of the table begins with its version and its size, two u32. Nothing is assumed about its
    // alignment.
    let [version, size] = unsafe { table.cast::<[u32; 2]>().read_unaligned() };
    if version != abi::ABI {
        let why =
            format!("it was built for version {version} of skyhop_cc.h, and this Skyhop has version {}", abi::ABI);
        return Err(format!("{why}: build it with the header of this one"));
    }
    if (size as usize) < size_of::<abi::Table>() {
        let need = size_of::<abi::Table>();
        return Err(format!("its table says it has {size} bytes, and one of version {version} has {need}"));
    }
    // SAFETY: the plug-in states that so many bytes are there. A function pointer that is NULL is `None`.
    let table = unsafe { table.read_unaligned() };
    let needed = [("create", table.create.is_none()), ("on_ack", table.on_ack.is_none())]
        .into_iter()
        .chain([("on_congestion", table.on_congestion.is_none())]);
    if let Some((name, _)) = needed.into_iter().find(|(_, missing)| *missing) {
        return Err(format!("its table has no function {name}, which every control needs"));
    }
    // It stays loaded until the process ends.
    let _ = ManuallyDrop::new(library);
    Ok(table)
}
