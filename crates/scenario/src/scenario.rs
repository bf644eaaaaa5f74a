//! A scenario that was found right: every default filled in, every name known. Written out it is a scenario again,
//! the canonical form.

use crate::diagnostic::{Diagnostics, Problems};
use crate::files::{Files, Shelf};
use crate::format::{ClockName, ProfileName};
use crate::overrides::{self, Override};
use crate::source::Source;
use crate::tree::{DEEPEST, Node, Origin, Path};
use crate::{check, effect, resolve, text};
use serde::Serialize;
use sha2::{Digest, Sha256};
use skyhop_base::Duration;
use skyhop_sim::{Simulation, SimulationError};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

mod effective;

pub use crate::tables::agents::{Agent, Pep, Task};
pub use crate::tables::constellation::{Constellation, ElementPlanes, Elements, OutOfPlanes, Satellite, Shell};
pub use crate::tables::flows::{Access, Flow, Transport};
pub use crate::tables::gsl::{Gsl, Handover};
pub use crate::tables::isl::Isl;
pub use crate::tables::links::{Direction, Transmitter, WiredLink};
pub use crate::tables::queue::{Fifo, Queue, Red, RedRoom, Room};
pub use crate::tables::quic::{Quic, QuicControl};
pub use crate::tables::records::Records;
pub use crate::tables::routing::Routing;
pub use crate::tables::starlink::{Allowance, Fades, Grants, LinkProfile, Starlink};
pub use crate::tables::stations::Station;
pub use crate::tables::tcp::Linux;
pub use crate::tables::trace::Trace;
pub use crate::tables::workloads::Workload;

/// One network with its traffic, as a file describes it.
#[derive(Clone, Debug, Serialize)]
pub struct Scenario {
    /// Version of the format in which the canonical form is written: `format::CANONICAL_FORMAT`.
    pub format: u32,
    /// Simulated time.
    pub duration: Duration,
    pub clock: ClockName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constellation: Option<Constellation>,
    pub stations: BTreeMap<String, Station>,
    /// In the order of the names of their ends.
    pub links: Vec<WiredLink>,
    /// In the order of their names.
    pub flows: Vec<Flow>,
    /// In the order of their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<Workload>,
    /// In the order of the names of their nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Agent>,
    pub routing: Routing,
    pub records: Records,
    /// What reading it found that a user should know, though the scenario is right. See [`Scenario::all_warnings`].
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// What it was made of.
    #[serde(skip)]
    pub(crate) written: Option<Arc<Written>>,
}

/// The values of a scenario as they were given, and the files that they may name.
#[derive(Debug)]
pub(crate) struct Written {
    tree: Node,
    folder: PathBuf,
    files: Files,
    /// Warnings of keys without effect, once they were asked for.
    idle: OnceLock<Vec<String>>,
}

impl Scenario {
    /// Reads a scenario from TOML. `origin` is what messages call the text; the overrides are applied first. Files that
    /// it names are looked for in the current folder.
    ///
    /// # Errors
    /// Every problem of the text, at its place.
    pub fn from_toml(text: &str, origin: &str, overrides: &[Override]) -> Result<Scenario, Diagnostics> {
        Scenario::from_toml_with(text, origin, overrides, &Files::Any)
    }

    /// [`Scenario::from_toml`] of a text whose files are looked for in `folder`.
    ///
    /// # Errors
    /// Every problem of the text, at its place.
    pub fn from_toml_in(
        text: &str,
        origin: &str,
        folder: &std::path::Path,
        overrides: &[Override],
    ) -> Result<Scenario, Diagnostics> {
        Scenario::from_text(text, origin, overrides, &Shelf::new(folder, &Files::Any))
    }

    /// [`Scenario::from_toml`] of a text that may name only these files.
    ///
    /// # Errors
    /// Every problem of the text, at its place; a file that may not be read is one.
    pub fn from_toml_with(
        text: &str,
        origin: &str,
        overrides: &[Override],
        files: &Files,
    ) -> Result<Scenario, Diagnostics> {
        Scenario::from_text(text, origin, overrides, &Shelf::new(std::path::Path::new(""), files))
    }

    fn from_text(text: &str, origin: &str, overrides: &[Override], shelf: &Shelf<'_>) -> Result<Scenario, Diagnostics> {
        let source = Source::of_text(origin, text, overrides);
        let mut problems = Problems::new(&source);
        let tree = text::parse(text, &source, &mut problems);
        finish(tree, shelf, overrides, problems)
    }

    /// Reads a scenario from a file of TOML. Files that it names are looked for in its folder.
    ///
    /// # Errors
    /// A file that cannot be read, that is too large or no UTF-8; every problem of its text.
    pub fn from_file(path: &std::path::Path, overrides: &[Override]) -> Result<Scenario, Diagnostics> {
        Scenario::from_file_with(path, overrides, &Files::Any)
    }

    /// [`Scenario::from_file`] of a scenario that may name only these files. The scenario itself is read wherever it
    /// lies.
    ///
    /// # Errors
    /// A file that cannot be read, that is too large or no UTF-8; every problem of its text.
    pub fn from_file_with(
        path: &std::path::Path,
        overrides: &[Override],
        files: &Files,
    ) -> Result<Scenario, Diagnostics> {
        let name = path.display().to_string();
        let shelf = Shelf::new(path.parent().unwrap_or(path), files);
        let refuse = |message: String| {
            let source = Source::without_text(&name, overrides);
            let mut problems = Problems::new(&source);
            problems.add(&Origin::Nowhere, &Path::root(), message, None);
            finish(None, &shelf, &[], problems)
        };
        let file = match Shelf::new(std::path::Path::new(""), &Files::Any).open(path) {
            Ok(file) => file,
            Err(unread) => return refuse(unread.reason),
        };
        let mut bytes = Vec::new();
        // A file can be larger than it says it is: those of /proc say 0.
        if let Err(error) = file.take(text::LARGEST_TEXT + 1).read_to_end(&mut bytes) {
            return refuse(format!("cannot be read: {error}"));
        }
        if bytes.len() as u64 > text::LARGEST_TEXT {
            return refuse(format!("the file is too large: at most {} bytes are read", text::LARGEST_TEXT));
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => Scenario::from_text(text, &name, overrides, &shelf),
            Err(error) => {
                let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
                let source = Source::of_text(&name, &valid, overrides);
                let mut problems = Problems::new(&source);
                let place = Origin::Text(valid.len()..valid.len());
                let help = Some("save the file as UTF-8".to_owned());
                problems.add(&place, &Path::root(), "the file is not UTF-8 text", help);
                finish(None, &shelf, &[], problems)
            }
        }
    }

    /// Builds a scenario from values of a program, for example a Python dict. Null stands for a key that is not given.
    ///
    /// # Errors
    /// Every problem of the values; they have no line and column.
    pub fn from_json(value: &serde_json::Value, origin: &str, overrides: &[Override]) -> Result<Scenario, Diagnostics> {
        Scenario::from_json_with(value, origin, overrides, &Files::Any)
    }

    /// [`Scenario::from_json`] of values that may name only these files.
    ///
    /// # Errors
    /// Every problem of the values; a file that may not be read is one.
    pub fn from_json_with(
        value: &serde_json::Value,
        origin: &str,
        overrides: &[Override],
        files: &Files,
    ) -> Result<Scenario, Diagnostics> {
        Scenario::from_values(value, origin, overrides, &Shelf::new(std::path::Path::new(""), files))
    }

    /// [`Scenario::from_json`] of values whose files are looked for in `folder`.
    ///
    /// # Errors
    /// Every problem of the values; they have no line and column.
    pub fn from_json_in(
        value: &serde_json::Value,
        origin: &str,
        folder: &std::path::Path,
        overrides: &[Override],
    ) -> Result<Scenario, Diagnostics> {
        Scenario::from_values(value, origin, overrides, &Shelf::new(folder, &Files::Any))
    }

    fn from_values(
        value: &serde_json::Value,
        origin: &str,
        overrides: &[Override],
        shelf: &Shelf<'_>,
    ) -> Result<Scenario, Diagnostics> {
        let source = Source::without_text(origin, overrides);
        let mut problems = Problems::new(&source);
        let tree = Node::from_json(value);
        if tree.is_none() {
            let message = format!("tables and lists nest more than {DEEPEST} deep");
            problems.add(&Origin::Nowhere, &Path::root(), message, None);
        }
        finish(tree, shelf, overrides, problems)
    }

    /// The canonical form: a scenario in the same format with every default written out, sorted. Scenarios that mean
    /// the same network have the same one, however their text was arranged.
    pub fn canonical(&self) -> serde_json::Value {
        // Every type in a scenario has a form in JSON: numbers were found finite, keys are texts.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value.sort_all_objects();
        value
    }

    /// What a user should know about a scenario that is right: what reading it found, and which of its keys have no
    /// effect, for which some hundred variants of it are compared (`effect.rs`).
    pub fn all_warnings(&self) -> Vec<String> {
        let idle = self.written.as_ref().map(|written| {
            let shelf = Shelf::new(&written.folder, &written.files);
            let found = || {
                let mut idle = effect::keys_without_effect(&written.tree, &shelf, self);
                idle.extend(self.second_links_without_effect());
                idle
            };
            written.idle.get_or_init(found).clone()
        });
        self.warnings.iter().cloned().chain(idle.into_iter().flatten()).collect()
    }

    /// Whether flows have the TCP of Linux because nothing names a profile or a version of the format: what a file that
    /// was written before format 2 may not mean.
    pub fn has_tcp_by_default(&self) -> bool {
        let Some(written) = &self.written else { return false };
        let is_linux = |transport: &Transport| matches!(transport, Transport::Linux(_));
        let flows = self.flows.iter().map(|flow| &flow.transport);
        let mut transports = flows.chain(self.workloads.iter().map(|workload| &workload.transport));
        let is_open = ["profile", "format"].iter().all(|key| written.tree.get(key).is_none());
        is_open && transports.any(is_linux) && !ProfileName::all_tcps_name_theirs(&written.tree)
    }

    /// Leaves out of [`Scenario::all_warnings`] the keys without effect, which take longer to find than a short run:
    /// for a scenario whose keys a program wrote, because nobody would read what is said of them.
    pub fn forget_written(&mut self) {
        self.written = None;
    }

    /// [`Scenario::canonical`] as one line of text.
    pub fn canonical_json(&self) -> String {
        self.canonical().to_string()
    }

    /// SHA-256 of the canonical form, in hexadecimal.
    pub fn hash(&self) -> String {
        Sha256::digest(self.canonical_json()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What building a simulation can refuse is a problem of the scenario. It is found by building one.
fn check_builds(scenario: &Scenario, tree: &Node, problems: &mut Problems<'_>) {
    let Err(error) = Simulation::check(&scenario.simulation_spec()) else { return };
    let path = match &error {
        SimulationError::NotByNs2Clock { .. } => Path::root().key("clock"),
        SimulationError::TooLong { .. } => Path::root().key("duration"),
        other => {
            // One of a count, or a leg, is called after its entry.
            let is_meant = |item: &Node| {
                let name = item.get("name").and_then(Node::text);
                let rest = name.and_then(|name| other.flow()?.strip_prefix(name));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
            };
            let entry = |key: &str| {
                let list = Path::root().key(key);
                let items = tree.find(&list).and_then(Node::list).unwrap_or_default();
                items.iter().position(is_meant).map(|i| list.index(i))
            };
            entry("flows").or_else(|| entry("workloads")).unwrap_or(Path::root())
        }
    };
    problems.add(&tree.origin_of(&path), &path, error.to_string(), None);
}

/// Applies overrides and runs all checks.
fn finish(
    tree: Option<Node>,
    shelf: &Shelf<'_>,
    overrides: &[Override],
    mut problems: Problems<'_>,
) -> Result<Scenario, Diagnostics> {
    let scenario = tree.and_then(|mut tree| {
        let broken_text = !problems.is_empty();
        overrides::apply(&mut tree, overrides, &mut problems);
        if broken_text {
            // What could be read of the rest is worth a look, but nothing can be concluded from what is missing.
            let syntax = problems.count();
            check::check(&tree, check::Scope::WhatIsThere, &mut problems);
            problems.drop_followers(syntax);
            return None;
        }
        check::check(&tree, check::Scope::Everything, &mut problems);
        let mut scenario = resolve::resolve(&tree, shelf, &mut problems)?;
        check_builds(&scenario, &tree, &mut problems);
        let written =
            Written { tree, folder: shelf.folder.to_owned(), files: shelf.files.clone(), idle: OnceLock::new() };
        scenario.written = Some(Arc::new(written));
        problems.is_empty().then_some(scenario)
    });
    problems.into_result(scenario)
}
