//! Controls whose code is outside of the project: their source, or the hash of their library, becomes part of the
//! scenario.

use super::Resolver;
use super::content::LARGEST_FILE;
use crate::files::{Files, Unread};
use crate::format::ContentFile;
use crate::tree::{Node, Path};
use sha2::{Digest, Sha256};
use skyhop_cc::plugin::{self, Code};
use skyhop_cc::{ControlConfig, PluginConfig, PythonConfig, outside};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Libraries that this process has read, by their hash. A scenario in canonical form, which states the hash, finds its
/// library here from any folder.
static READ: Mutex<BTreeMap<String, Arc<[u8]>>> = Mutex::new(BTreeMap::new());

impl Resolver<'_, '_, '_> {
    /// Reads the code of a control from outside, so that the scenario's hash covers it. `owner`: the flow, workload or
    /// agent whose TCP it is. `None` if there is a problem.
    pub(super) fn read_code(&mut self, control: &mut ControlConfig, owner: &Path) -> Option<()> {
        let path = owner.key("tcp").key("control");
        match control {
            ControlConfig::Python(python) => self.read_source(python, &path.key("python")),
            ControlConfig::Plugin(plugin) => {
                plugin.user = self.called(owner);
                self.read_library(plugin, &path.key("plugin"))
            }
            _ => Some(()),
        }
    }

    fn read_source(&mut self, python: &mut PythonConfig, path: &Path) -> Option<()> {
        let Some(file) = python.file() else {
            let message = format!("{:?} names no class of a module", python.class);
            let help =
                "write \"module:Class\", such as \"mycontrol:MyControl\" for the class MyControl in mycontrol.py";
            self.add(path, message, Some(help.to_owned()));
            return None;
        };
        let place = match self.shelf.files {
            Files::Any => Some(file),
            Files::Only(_) if !python.source.is_empty() => None,
            Files::Only(files) => named(files, &file).and_then(|one| one.to_str()).map(str::to_owned),
        };
        let Some(place) = place else {
            let help = "run it with the program skyhop, or start the page with skyhop serve --python-controls";
            let message = "this scenario may not run code of its own, and a control in Python is code";
            self.add(path, message, Some(help.to_owned()));
            return None;
        };
        if !outside::runs_python() {
            let help = "use the program skyhop or the Python package".to_owned();
            self.add(path, "a control in Python needs a process that runs Python", Some(help));
            return None;
        }
        if python.source.is_empty() {
            let content = self.content(&ContentFile::Path(place), path)?;
            python.source = content.text;
        }
        Some(())
    }

    fn read_library(&mut self, plugin: &mut PluginConfig, path: &Path) -> Option<()> {
        let place = match self.shelf.files {
            Files::Any => Some(PathBuf::from(&plugin.file)),
            Files::Only(files) => named(files, &plugin.file).filter(|one| is_library(one)).map(PathBuf::from),
        };
        let Some(place) = place else {
            let help = "run it with the program skyhop, or start the page with skyhop serve --plugin-controls";
            let message = "this scenario may not run code of its own, and a plug-in is code";
            self.add(path, message, Some(help.to_owned()));
            return None;
        };
        if !plugin::loads_plugins() {
            let help = "use the program skyhop or the Python package; in Rust, call skyhop_plugin::install() first";
            self.add(path, "a control from a plug-in needs a process that loads plug-ins", Some(help.to_owned()));
            return None;
        }
        let stated = (!plugin.sha256.is_empty()).then(|| plugin.sha256.clone());
        if let Some(stated) = &stated {
            if stated.len() != 64 || !stated.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
                let message = format!("{stated:?} is not a SHA-256: 64 digits from 0 to 9 and a to f");
                self.add(&path.key("sha256"), message, None);
                return None;
            }
            if let (Files::Any, Some(bytes)) = (self.shelf.files, known().get(stated)) {
                plugin.code = Code::Read(Arc::clone(bytes));
                return Some(());
            }
        }
        match (self.library(&place), stated) {
            (Ok(bytes), stated) => {
                let found = hexadecimal(&bytes);
                if let Some(stated) = stated.filter(|stated| *stated != found) {
                    let message = format!("the file {:?} has the SHA-256 {found}, not {stated}", plugin.file);
                    let help = "the library was built anew: leave \"sha256\" out to run it as it is now";
                    self.add(&path.key("sha256"), message, Some(help.to_owned()));
                    return None;
                }
                plugin.code = Code::Read(Arc::clone(known().entry(found.clone()).or_insert(bytes)));
                plugin.sha256 = found;
                Some(())
            }
            (Err(Unread { reason, .. }), Some(_)) => {
                let message = format!("the file {:?} {reason}: the scenario can be looked at, not run", plugin.file);
                self.warn(path, message);
                plugin.code = Code::Missing(reason);
                Some(())
            }
            (Err(Unread { reason, help }), None) => {
                self.add(path, format!("the file {:?} {reason}", plugin.file), help);
                None
            }
        }
    }

    /// The content of a library.
    fn library(&self, place: &FilePath) -> Result<Arc<[u8]>, Unread> {
        let unread = |reason: String| Unread { reason, help: None };
        let mut bytes = Vec::new();
        let file = self.shelf.open(place)?;
        file.take(LARGEST_FILE + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| unread(format!("cannot be read: {error}")))?;
        match bytes.len() as u64 > LARGEST_FILE {
            true => Err(unread(format!("is too large: at most {LARGEST_FILE} bytes are read"))),
            false => Ok(bytes.into()),
        }
    }

    /// "flow \"f\"", or the place of a flow without a name.
    fn called(&self, owner: &Path) -> String {
        let place = owner.to_string();
        let kind = place.split(['[', '.']).next().unwrap_or_default().trim_end_matches('s');
        match self.tree.find(owner).and_then(|node| node.get("name")).and_then(Node::text) {
            Some(name) => format!("{kind} {name:?}"),
            None => place,
        }
    }
}

/// The one of these files that ends with this name. Code can do all that the program can: from whoever may not read
/// every file, only that of files which are named to them one by one, not of folders that may hold data.
fn named<'f>(files: &'f [PathBuf], name: &str) -> Option<&'f PathBuf> {
    // Every path ends with the empty one.
    files.iter().find(|one| !name.is_empty() && one.ends_with(name) && one.is_file())
}

fn is_library(file: &FilePath) -> bool {
    file.extension().is_some_and(|extension| extension == "so" || extension == "dylib")
}

fn known() -> std::sync::MutexGuard<'static, BTreeMap<String, Arc<[u8]>>> {
    // The map is whole at any moment.
    READ.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
