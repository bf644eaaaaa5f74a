//! Nodes by name, and the names that are taken.

use super::reach::Group;
use super::{RESERVED_NAMES, Resolver};
use crate::names;
use crate::scenario::Shell;
use crate::tree::Path;
use skyhop_orbit::{satellite_name, split_satellite_name};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// All nodes by name.
#[derive(Default)]
pub(super) struct Nodes {
    /// All but the satellites of shells.
    others: BTreeMap<String, Entry>,
    /// The satellites of shells, by the name of the shell: their names follow from it, and a search for keys without
    /// effect would enter thousands of them a hundred times.
    shells: HashMap<String, ShellEntry>,
    /// Satellites that belong together, in the order of the text.
    pub groups: Vec<Group>,
    /// Every name in order, once somebody has asked for one that is unknown. A file may have a hundred of these, and
    /// a hundred thousand satellites.
    listed: RefCell<Rc<[String]>>,
    /// Something that makes nodes could not be read: a node that is not known here may exist.
    pub incomplete: bool,
}

struct Entry {
    kind: Kind,
    /// The table that makes it.
    path: Path,
}

struct ShellEntry {
    planes: u32,
    per_plane: u32,
    entry: Entry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Station,
    Wired,
    /// The index of its group: a shell or a satellite by itself.
    Satellite(usize),
}

impl Kind {
    pub fn words(self) -> &'static str {
        match self {
            Kind::Station => "station",
            Kind::Wired => "wired node",
            Kind::Satellite(_) => "satellite",
        }
    }
}

impl Nodes {
    /// The kind of the node that is called `name`.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.entry(name).map(|entry| entry.kind)
    }

    pub fn count(&self) -> usize {
        let satellites = |shell: &ShellEntry| shell.planes as usize * shell.per_plane as usize;
        self.others.len() + self.shells.values().map(satellites).sum::<usize>()
    }

    /// Every name, in order.
    fn names(&self) -> Rc<[String]> {
        // Nodes are only added, so that as many names are the same names.
        if self.listed.borrow().len() != self.count() {
            *self.listed.borrow_mut() = self.list_names().into();
        }
        Rc::clone(&self.listed.borrow())
    }

    fn list_names(&self) -> Vec<String> {
        let of_shell = |(shell, entry): (&String, &ShellEntry)| {
            let places = (0..entry.planes).flat_map(|plane| (0..entry.per_plane).map(move |slot| (plane, slot)));
            places.map(|(plane, slot)| satellite_name(shell, plane, slot)).collect::<Vec<_>>()
        };
        let mut names: Vec<String> = self.others.keys().cloned().collect();
        names.extend(self.shells.iter().flat_map(of_shell));
        names.sort_unstable();
        names
    }

    /// Stations, nodes of wires and satellites that belong to no shell, with their places, in the order of names.
    pub fn outside_shells(&self) -> impl Iterator<Item = (&str, Kind, &Path)> {
        self.others.iter().map(|(name, entry)| (name.as_str(), entry.kind, &entry.path))
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.others.get(name).or_else(|| {
            let (shell, plane, slot) = split_satellite_name(name)?;
            let shell = self.shells.get(shell)?;
            (plane < shell.planes && slot < shell.per_plane).then_some(&shell.entry)
        })
    }
}

impl Resolver<'_, '_, '_> {
    /// False when `name` cannot name a component.
    pub(super) fn check_name(&mut self, name: &str, path: &Path) -> bool {
        let mut problem = names::name_problem(name);
        if RESERVED_NAMES.contains(&name) {
            problem = Some(format!("{name:?} is reserved: it stands for the changing end of a satellite link"));
        }
        let Some(problem) = problem else { return true };
        self.add(path, problem, None);
        false
    }

    /// Enters a node. A name that another one has is a problem.
    pub(super) fn declare(&mut self, name: &str, kind: Kind, path: &Path) {
        self.check_name(name, path);
        match self.nodes.entry(name) {
            Some(_) => self.add_taken(name, path),
            None => _ = self.nodes.others.insert(name.to_owned(), Entry { kind, path: path.clone() }),
        }
    }

    /// Enters the satellites of a shell, which has some. A name that another node has is a problem.
    pub(super) fn declare_shell(&mut self, shell: &Shell, group: usize, path: &Path) {
        let (planes, per_plane) = (shell.planes, shell.per_plane);
        // No satellite of the shell has a longer name.
        if !self.check_name(&satellite_name(&shell.name, planes - 1, per_plane - 1), path) {
            return;
        }
        if self.nodes.shells.contains_key(&shell.name) {
            self.add_taken(&satellite_name(&shell.name, 0, 0), path);
            return;
        }
        let start = format!("{}-", shell.name);
        let alike = self.nodes.others.range(start.clone()..).map(|(name, _)| name);
        let is_of_shell = |name: &&String| {
            split_satellite_name(name)
                .is_some_and(|(of, plane, slot)| of == shell.name && plane < planes && slot < per_plane)
        };
        let taken = alike.take_while(|name| name.starts_with(&start)).find(is_of_shell).cloned();
        match taken {
            Some(name) => self.add_taken(&name, path),
            None => {
                let entry = Entry { kind: Kind::Satellite(group), path: path.clone() };
                self.nodes.shells.insert(shell.name.clone(), ShellEntry { planes, per_plane, entry });
            }
        }
    }

    fn add_taken(&mut self, name: &str, path: &Path) {
        let Some(other) = self.nodes.entry(name) else { return };
        let message = format!("the name {name:?} is taken by the {} at {}", other.kind.words(), other.path);
        self.add(path, message, None);
    }

    /// The kind of the node that is called `name`; a problem when there is none.
    pub(super) fn look_up(&mut self, name: &str, path: &Path) -> Option<Kind> {
        let known = self.nodes.kind(name);
        if known.is_some() {
            return known;
        }
        let near = match self.problems.may_compare(self.nodes.count()) {
            true => {
                let known = self.nodes.names();
                self.problems.nearest(name, known.iter().map(String::as_str)).map(str::to_owned)
            }
            false => None,
        };
        // While nodes are missing because something else is wrong, only an evident misspelling is one.
        if !self.nodes.incomplete || near.is_some() {
            let help = match near {
                Some(near) => format!("did you mean {near:?}?"),
                None if self.nodes.count() == 0 => {
                    "nodes come from stations, links and constellations, and there are none".to_owned()
                }
                None if self.problems.is_full() => String::new(),
                None => names::there_are(self.nodes.names().iter().map(String::as_str)),
            };
            self.add(path, format!("no node is called {:?}", names::shorten(name)), Some(help));
        }
        None
    }
}
