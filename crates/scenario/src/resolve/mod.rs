//! From the file's twin to a [`Scenario`]: defaults are filled in, names are looked up, and what no schema can say
//! is checked. Components that are wrong in themselves are left out, so that the others are still looked at.

mod agents;
mod content;
mod hops;
mod linux;
mod list;
mod nodes;
mod outside;
mod pages;
mod planes;
mod profile;
mod quic;
mod reach;
mod red;
mod repair;
mod sky;
mod sky_links;
mod starlink_sets;
mod station_classes;
mod station_file;
mod stations;
mod trace;
mod traffic;
mod wires;
mod workloads;

use nodes::{Kind, Nodes};
pub(crate) use sky::walker;
pub(crate) use stations::track;
pub(crate) use traffic::{SINK, SOURCE};

use crate::diagnostic::Problems;
use crate::files::Shelf;
use crate::format::{CANONICAL_FORMAT, ClockName, MetricName, ProfileName, RecordsFile, RoutingFile};
use crate::scenario::{Queue, Records, Routing, Scenario, Transmitter, WiredLink};
use crate::tree::{Node, Path};
use serde::de::DeserializeOwned;
use skyhop_base::{Duration, Faults, Step, natural_order};
use skyhop_sim::LONGEST_RUN;
use skyhop_sim::errors::ErrorConfig;

/// Most satellites, stations and links each: more would be a mistake of the file.
const MOST_COMPONENTS: usize = 100_000;

/// Whole days in the longest run that the engine can do.
const LONGEST_RUN_DAYS: u64 = LONGEST_RUN.as_nanos() / 86_400_000_000_000;

/// Most steps of an interval in a run: checks, samples.
const MOST_STEPS: u64 = 10_000_000;

/// Names that stand for the changing end of a link: "berkeley->sky", "iridium-0-3->ground", "iridium-0-3->seam".
const RESERVED_NAMES: [&str; 3] = ["sky", "ground", "seam"];

/// The scenario of a tree that the schema has been compared with. `None` when it has problems, which are added.
/// Files that it names come from `shelf`.
pub(crate) fn resolve(tree: &Node, shelf: &Shelf<'_>, problems: &mut Problems<'_>) -> Option<Scenario> {
    let (profile, nodes, warnings) = (ProfileName::of_file(tree), Nodes::default(), Vec::new());
    let queues_by_flow = Vec::new();
    let mut resolver = Resolver { tree, shelf, problems, profile, duration: None, nodes, warnings, queues_by_flow };
    let (mut scenario, flows, agents) = resolver.run()?;
    resolver.check_link_names(&scenario);
    resolver.check_agents(&scenario, &agents);
    resolver.check_hop_limits(&scenario, &flows);
    scenario.warnings = resolver.warnings;
    problems.is_empty().then_some(scenario)
}

/// Turns the tree of a file into a scenario and collects every problem that it finds.
///
/// Large because every key reports its problems to it. Functions stand in the file of the table that they read.
struct Resolver<'t, 'p, 's> {
    tree: &'t Node,
    shelf: &'t Shelf<'t>,
    problems: &'p mut Problems<'s>,
    profile: ProfileName,
    /// Unknown while it is wrong.
    duration: Option<Duration>,
    nodes: Nodes,
    warnings: Vec<String>,
    /// Queues that take the number of a packet's flow for its class, and how many classes they have.
    queues_by_flow: Vec<(Path, usize)>,
}

impl Resolver<'_, '_, '_> {
    /// The scenario, and the places of its flows and agents.
    fn run(&mut self) -> Option<(Scenario, Vec<Path>, Vec<Path>)> {
        let root = Path::root();
        self.duration = self.take(&root.key("duration"));
        if self.duration.is_some_and(Duration::is_zero) {
            self.add(&root.key("duration"), "must be longer than zero", None);
            self.duration = None;
        }
        if let Some(duration) = self.duration.filter(|&duration| duration > LONGEST_RUN) {
            let help = Some(format!("use at most {LONGEST_RUN_DAYS} d"));
            self.add(&root.key("duration"), format!("a run of {duration} is too long"), help);
            self.duration = None;
        }
        let mut classes = self.station_classes();
        let mut stations = self.stations(&mut classes);
        self.stations_of_files(&mut stations, &mut classes);
        let constellation = self.constellation(&stations);
        let mut links = self.links();
        self.class_wires(&classes, &stations, &mut links);
        self.check_station_rules(&stations, &classes, constellation.as_ref());
        let clock = self.clock(constellation.is_some(), &links);
        self.check_terrestrial(&stations, &links);
        let flows = self.flows();
        let workloads = self.workloads(&flows);
        self.check_segment_errors(&flows);
        self.check_classes(&flows);
        Self::settle_antennas(&mut stations, constellation.as_ref(), &links);
        let pairs = flows.iter().map(|(flow, path)| (&*flow.from, &*flow.to, path.key("to")));
        let pairs = pairs.chain(workloads.iter().flat_map(|(workload, path)| workload.pairs(path))).collect::<Vec<_>>();
        self.check_reach(constellation.as_ref(), &stations, &links, &flows, &pairs);
        let flow_places = flows.iter().map(|(_, path)| path.clone()).collect();
        let (agents, places) = self.agents(constellation.as_ref(), &links).into_iter().unzip();
        let routing = self.routing();
        let records = self.records(&links);
        let scenario = Scenario {
            format: CANONICAL_FORMAT,
            duration: self.duration?,
            clock,
            constellation,
            stations,
            links: links.into_iter().map(|(link, _)| link).collect(),
            flows: flows.into_iter().map(|(flow, _)| flow).collect(),
            workloads: workloads.into_iter().map(|(workload, _)| workload).collect(),
            agents,
            routing,
            records,
            warnings: Vec::new(),
            written: None,
        };
        Some((scenario, flow_places, places))
    }

    /// The value at `path` as a type of the format. `None` when it is not given or the schema found it wrong.
    fn take<T: DeserializeOwned>(&mut self, path: &Path) -> Option<T> {
        let node = self.tree.find(path)?;
        if !self.problems.is_clean(path) {
            return None;
        }
        match serde_json::from_value(node.to_json()) {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(path, error.to_string(), None);
                None
            }
        }
    }

    /// Something that is right and may not be meant, once.
    fn warn(&mut self, path: &Path, message: impl std::fmt::Display) {
        let warning = format!("{path}: {message}");
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn add(&mut self, path: &Path, message: impl Into<String>, help: Option<String>) {
        let origin = self.tree.origin_of(path);
        self.problems.add(&origin, path, message, help);
    }

    /// What a component says about its parameters, which stand at `path`.
    fn add_faults(&mut self, faults: Faults, path: &Path) {
        for fault in faults.0 {
            let place = fault.at.iter().fold(path.clone(), |place, step| match step {
                Step::Key(key) => place.key(key),
                Step::Index(index) => place.index(*index),
            });
            self.add(&place, fault.message, fault.help);
        }
    }

    /// The profile's value. "linux" is about TCP alone.
    fn by_profile<T>(&self, rfc: T, ns2: T) -> T {
        match self.profile {
            ProfileName::Rfc | ProfileName::Linux => rfc,
            ProfileName::Ns2 => ns2,
        }
    }

    /// An interval at which something happens during the whole run.
    fn check_interval(&mut self, every: Duration, path: &Path) {
        if every.is_zero() {
            self.add(path, "must be longer than zero", None);
        } else if let Some(duration) = self.duration
            && duration.as_nanos() / every.as_nanos() > MOST_STEPS
        {
            let least = Duration::from_nanos(duration.as_nanos().div_ceil(MOST_STEPS));
            let message = format!("{every} makes more than {MOST_STEPS} steps in {duration}");
            self.add(path, message, Some(format!("use at least {least}")));
        }
    }

    /// ns-2's clock is for what it has: wires whose rate alone says when a packet leaves.
    fn clock(&mut self, has_sky: bool, links: &[(WiredLink, Path)]) -> ClockName {
        let path = Path::root().key("clock");
        let clock = self.take(&path).unwrap_or_default();
        if clock == ClockName::Nanoseconds {
            return clock;
        }
        let steady = |transmitter: &Transmitter| {
            let Transmitter { queue, repair, trace, profile, errors, .. } = transmitter;
            let is_precomputed = matches!(queue, Queue::Unlimited | Queue::DropTail(_) | Queue::Red(_));
            let has_list = errors.iter().any(|error| matches!(error, ErrorConfig::List(_)));
            repair.is_none() && trace.is_none() && profile.is_none() && !has_list && is_precomputed
        };
        let unsteady =
            links.iter().find(|(link, _)| !steady(&link.forward.transmitter) || !steady(&link.backward.transmitter));
        let what = match unsteady {
            _ if has_sky => "satellites".to_owned(),
            Some((WiredLink { between: [a, b], .. }, _)) => format!("a link like that between {a:?} and {b:?}"),
            None => return clock,
        };
        let help = "it requires wires of constant rate without repair and lists, with unlimited, drop_tail or red \
            queues; otherwise leave it out";
        self.add(&path, format!("the clock of ns-2 does not go with {what}"), Some(help.to_owned()));
        clock
    }

    fn routing(&mut self) -> Routing {
        let path = Path::root().key("routing");
        let file: RoutingFile = self.take(&path).unwrap_or_default();
        if let Some(every) = file.every {
            self.check_interval(every, &path.key("every"));
        }
        Routing { every: file.every, metric: file.metric.unwrap_or(MetricName::Delay) }
    }

    fn records(&mut self, links: &[(WiredLink, Path)]) -> Records {
        let path = Path::root().key("records");
        let file: RecordsFile = self.take(&path).unwrap_or_default();
        for (key, step) in [("grid", file.grid), ("positions", file.positions)] {
            if let Some(step) = step {
                self.check_interval(step, &path.key(key));
                if let Some(duration) = self.duration.filter(|&duration| step > duration) {
                    self.warn(&path.key(key), format!("a step of {step} is longer than the run of {duration}"));
                }
            }
        }
        // The name of a wired link stands for both of its directions.
        let directions = |name: String| match links.iter().find(|(link, _)| link.name.as_ref() == Some(&name)) {
            Some((WiredLink { between: [a, b], .. }, _)) => vec![format!("{a}->{b}"), format!("{b}->{a}")],
            None => vec![name],
        };
        let mut packets: Vec<String> = file.packets.unwrap_or_default().into_iter().flat_map(directions).collect();
        packets.sort_by(|a, b| natural_order(a, b));
        packets.dedup();
        let RecordsFile { grid, positions, updates, csv, .. } = file;
        Records { grid, positions, packets, updates: updates.unwrap_or(false), csv: csv.unwrap_or(false) }
    }
}
