//! Helpers at nodes.

use super::wires::LARGEST_PACKET;
use super::{Kind, Resolver};
use crate::format::{
    AgentFile, ApplicationFile, ApplicationOptions, DataErrors, ErrorFile, ErrorReportFile, FlowFile, PepFile,
    ShareName, UnitName,
};
use crate::names::{natural_order, nearest, shorten, there_are};
use crate::scenario::{Agent, Constellation, ErrorReport, Link, Pep, Scenario, Task, Transmitter, Transport};
use crate::tree::{Node, Path};
use skyhop_base::Bytes;
use skyhop_sim::spec::ErrorReportConfig;
use skyhop_transport::{Pacing, Recovery, SackRules};
use std::collections::BTreeSet;

/// The largest receiver window without scaling (RFC 9293 §3.1).
const LARGEST_PLAIN_WINDOW: Bytes = Bytes(65_535);

/// In a list of links: all between satellites.
pub(crate) const ISLS: &str = "isl";

impl Resolver<'_, '_, '_> {
    /// All agents, in the order of the names of their nodes, each with its place.
    pub(super) fn agents(&mut self, sky: Option<&Constellation>, links: &[(Link, Path)]) -> Vec<(Agent, Path)> {
        let path = Path::root().key("agents");
        let count = self.tree.find(&path).and_then(Node::list).map_or(0, <[Node]>::len);
        let mut agents = Vec::new();
        for i in 0..count {
            let path = path.index(i);
            let Some(file) = self.take::<AgentFile>(&path) else { continue };
            self.look_up(&file.at, &path.key("at"));
            let task = match (file.error_report, file.pep) {
                (Some(report), None) => {
                    let path = path.key("error_report");
                    Some(Task::ErrorReport(self.error_report(&file.at, report, sky, links, &path)))
                }
                (None, Some(pep)) => self.pep(pep, &path.key("pep")),
                (Some(_), Some(_)) => {
                    let help = "write another [[agents]] with the same node for one of them".to_owned();
                    self.add(&path.key("pep"), "excludes \"error_report\"", Some(help));
                    None
                }
                (None, None) => {
                    let help = "write error_report = {} or pep = {}".to_owned();
                    self.add(&path, "has nothing to do", Some(help));
                    None
                }
            };
            if let Some(task) = task {
                agents.push((Agent { at: file.at, task }, path));
            }
        }
        agents.sort_by(|(a, _), (b, _)| natural_order(&a.at, &b.at));
        agents
    }

    fn pep(&mut self, file: PepFile, path: &Path) -> Option<Task> {
        let share = file.share.unwrap_or_default();
        let mut table = file.tcp.unwrap_or_default();
        if share == ShareName::Link {
            // Its losses are errors: they are repaired one by one, and the rate is kept by spacing.
            let table = &mut table.0;
            table.recovery.get_or_insert(Recovery::Sack);
            table.sack_rules.get_or_insert(SackRules::Rfc6675);
            table.pacing.get_or_insert(Pacing::Control);
        }
        let buffer = file.buffer.unwrap_or(LARGEST_PLAIN_WINDOW);
        match table.resolve(self.profile) {
            Ok(tcp) if buffer < tcp.options.mss => {
                let message = format!("{buffer} does not hold a segment of {}", tcp.options.mss);
                self.add(&path.key("buffer"), message, None);
                None
            }
            Ok(tcp) => Some(Task::Pep(Box::new(Pep { tcp, buffer, share }))),
            Err(error) => {
                self.add_config_error(&error, &path.key("tcp"));
                None
            }
        }
    }

    /// The nodes that split a flow's connection.
    pub(super) fn via(&mut self, file: &FlowFile, path: &Path) -> Vec<String> {
        let nodes = file.via.clone().unwrap_or_default();
        let path = path.key("via");
        if nodes.is_empty() {
            return nodes;
        }
        if file.tcp.is_none() {
            self.add(&path, "needs TCP", None);
        }
        if matches!(file.application, Some(ApplicationFile::Options(ApplicationOptions::Requests(_)))) {
            self.add(&path, "requests ask the other end itself: no node can split their connection", None);
        }
        let mut seen: BTreeSet<&str> = [file.from.as_str(), file.to.as_str()].into();
        for (i, node) in nodes.iter().enumerate() {
            let path = path.index(i);
            if self.look_up(node, &path).is_some() && !seen.insert(node) {
                self.add(&path, format!("{node:?} is on the way already"), None);
            }
        }
        nodes
    }

    fn check_splits(&mut self, scenario: &Scenario) {
        let splits = |node: &String| {
            scenario.agents.iter().filter(|agent| agent.at == *node && matches!(agent.task, Task::Pep(_))).count()
        };
        for flow in &scenario.flows {
            if let Some(node) = flow.via.iter().find(|node| splits(node) != 1) {
                let found = if splits(node) == 0 { "no agent splits" } else { "several agents split" };
                let message = format!("{:?} goes via {node:?}, where {found} connections", flow.name);
                let help = format!("write [[agents]] with at = {node:?} and pep = {{}}, once");
                self.add(&Path::root().key("flows"), message, Some(help));
            }
        }
    }

    fn error_report(
        &mut self,
        at: &str,
        file: ErrorReportFile,
        sky: Option<&Constellation>,
        links: &[(Link, Path)],
        path: &Path,
    ) -> ErrorReport {
        let defaults = ErrorReportConfig::default();
        let is_station = self.nodes.by_name.get(at).is_some_and(|entry| entry.kind == Kind::Station);
        let uplink = is_station && sky.is_some_and(|sky| sky.gsl.is_some());
        let default = || if uplink { vec![format!("{at}->sky")] } else { leaving(at, links) };
        let mut names = file.links.unwrap_or_else(default);
        if names.is_empty() && self.nodes.by_name.contains_key(at) {
            let help = "write links = [\"berkeley->sky\"]".to_owned();
            self.add(&path.key("links"), format!("no link leaves {at:?}"), Some(help));
        }
        names.sort_by(|a, b| natural_order(a, b));
        names.dedup();
        let sizes = [("probe", file.probe), ("option", file.option), ("report", file.report)];
        for (key, size) in sizes.into_iter().filter_map(|(key, size)| Some((key, size?))) {
            if size.0 == 0 || size.0 > LARGEST_PACKET {
                self.add(&path.key(key), format!("must be 1 to {LARGEST_PACKET} B"), None);
            }
        }
        let per_byte = || names.iter().any(|name| has_errors_per_byte(name, sky, links));
        ErrorReport {
            window: file.window.unwrap_or(defaults.window),
            weight: file.weight.unwrap_or(defaults.weight),
            unit: file.unit.unwrap_or_else(|| if per_byte() { UnitName::Byte } else { UnitName::Bit }),
            probe: file.probe.unwrap_or(Bytes(defaults.probe_bytes.into())),
            option: file.option.unwrap_or(Bytes(defaults.option_bytes.into())),
            report: file.report.unwrap_or(Bytes(defaults.report_bytes.into())),
            links: names,
        }
    }

    /// Links that agents watch must exist, each have one agent, and senders that listen need one.
    pub(super) fn check_agents(&mut self, scenario: &Scenario, agents: &[Path]) {
        if !self.problems.is_empty() {
            return;
        }
        self.check_listeners(scenario);
        self.check_splits(scenario);
        if scenario.agents.is_empty() {
            return;
        }
        let topology = match scenario.topology(0) {
            Ok(topology) => topology,
            Err(error) => return self.add(&Path::root().key("agents"), error.to_string(), None),
        };
        let mut known: BTreeSet<&str> = topology.links().iter().map(|link| link.name.as_str()).collect();
        known.insert(ISLS);
        let mut watched = BTreeSet::new();
        for (agent, path) in scenario.agents.iter().zip(agents) {
            let Task::ErrorReport(report) = &agent.task else { continue };
            let path = path.key("error_report").key("links");
            for name in &report.links {
                if !known.contains(name.as_str()) {
                    let help = match nearest(name, known.iter().copied()) {
                        Some(near) => format!("did you mean {near:?}?"),
                        None => there_are(known.iter().copied()),
                    };
                    self.add(&path, format!("no link is called {:?}", shorten(name)), Some(help));
                } else if !watched.insert(name.as_str()) {
                    let message = format!("the errors of {name:?} are reported by another agent already");
                    self.add(&path, message, None);
                }
            }
        }
    }

    fn check_listeners(&mut self, scenario: &Scenario) {
        let reports = scenario.agents.iter().any(|agent| matches!(agent.task, Task::ErrorReport(_)));
        let path = Path::root().key("flows");
        let listens = |flow: &crate::scenario::Flow| match &flow.transport {
            Transport::Tcp(config) => config.notification.is_some(),
            Transport::Udp { .. } => false,
        };
        if let Some(flow) = scenario.flows.iter().find(|flow| listens(flow) && !reports) {
            let message = format!("{:?} listens to error reports, but no agent makes any", flow.name);
            let help = format!("write [[agents]] with at = {:?} and error_report = {{}}", flow.from);
            self.add(&path, message, Some(help));
        }
    }
}

/// The wires that leave a node.
fn leaving(at: &str, links: &[(Link, Path)]) -> Vec<String> {
    let other = |link: &Link| match &link.between {
        [a, b] if a == at => Some(b.clone()),
        [a, b] if b == at => Some(a.clone()),
        _ => None,
    };
    links.iter().filter_map(|(link, _)| other(link)).map(|other| format!("{at}->{other}")).collect()
}

/// Whether a link loses bytes.
fn has_errors_per_byte(name: &str, sky: Option<&Constellation>, links: &[(Link, Path)]) -> bool {
    let loses_bytes = |transmitter: &Transmitter| {
        transmitter
            .errors
            .iter()
            .any(|error| matches!(error, ErrorFile::Byte(_) | ErrorFile::Data(DataErrors::Byte(_))))
    };
    let by_sky = sky.is_some_and(|sky| {
        let of_isls = name == ISLS && sky.isl.as_ref().is_some_and(|isl| loses_bytes(&isl.transmitter));
        let of_uplinks = name.ends_with("->sky") && sky.gsl.as_ref().is_some_and(|gsl| loses_bytes(&gsl.uplink));
        of_isls || of_uplinks
    });
    by_sky
        || links.iter().any(|(link, _)| {
            let [a, b] = &link.between;
            name == format!("{a}->{b}") && loses_bytes(&link.forward.transmitter)
                || name == format!("{b}->{a}") && loses_bytes(&link.backward.transmitter)
        })
}
