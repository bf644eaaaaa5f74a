//! Helpers at nodes.

use super::{Kind, Resolver};
use crate::format::{ApplicationFile, FlowFile};
use crate::names::shorten;
use crate::scenario::{Agent, Constellation, Pep, Scenario, Task, Transmitter, Transport, WiredLink};
use crate::tree::{Node, Path};
use skyhop_base::{Bytes, Faults, natural_order};
use skyhop_sim::agents::config::{AgentFile, AgentTask, CountUnit, ISLS, PepOptions, ShareName};
use skyhop_sim::errors::{ErrorModel, ErrorUnit};
use skyhop_transport::{Notification, Pacing, Recovery, SackRules};
use std::collections::BTreeSet;

/// The largest receiver window without scaling (RFC 9293 §3.1).
const LARGEST_PLAIN_WINDOW: Bytes = Bytes(65_535);

impl Resolver<'_, '_, '_> {
    /// All agents, in the order of the names of their nodes, each with its place.
    pub(super) fn agents(&mut self, sky: Option<&Constellation>, links: &[(WiredLink, Path)]) -> Vec<(Agent, Path)> {
        let path = Path::root().key("agents");
        let count = self.tree.find(&path).and_then(Node::list).map_or(0, <[Node]>::len);
        let mut agents = Vec::new();
        for i in 0..count {
            let path = path.index(i);
            let Some(file) = self.take::<AgentFile>(&path) else { continue };
            let at = file.at.clone();
            self.look_up(&at, &path.key("at"));
            let has_one = self.the_only_task(&file, &path);
            let task = match (file.task(), file.pep) {
                _ if !has_one => None,
                (Some(task), _) => Some(Task::Engine(self.task(&at, task, sky, links, &path))),
                (None, Some(pep)) => self.pep(pep, &path.key("pep")),
                (None, None) => None,
            };
            if let Some(task) = task {
                agents.push((Agent { at, task }, path));
            }
        }
        // Several at one node: whatever tells them apart.
        let text = |agent: &Agent| serde_json::to_string(agent).unwrap_or_default();
        agents.sort_by(|(a, _), (b, _)| natural_order(&a.at, &b.at).then_with(|| text(a).cmp(&text(b))));
        agents
    }

    /// Whether an agent has one task, as it should.
    fn the_only_task(&mut self, file: &AgentFile, path: &Path) -> bool {
        let given = file.given();
        let Some(first) = given.first() else {
            let keys = AgentFile::KEYS.iter().map(|key| format!("{key} = {{}}")).collect::<Vec<_>>();
            let help = match keys.split_last() {
                Some((last, rest)) => format!("write {} or {last}", rest.join(", ")),
                None => String::new(),
            };
            self.add(path, "has nothing to do", Some(help));
            return false;
        };
        let Some(second) = given.get(1) else { return true };
        let help = "write another [[agents]] with the same node for one of them".to_owned();
        self.add(&path.key(second), format!("excludes {first:?}"), Some(help));
        false
    }

    fn pep(&mut self, file: PepOptions, path: &Path) -> Option<Task> {
        let share = file.share.unwrap_or_default();
        let mut table = file.tcp.unwrap_or_default();
        if share == ShareName::Link {
            // Its losses are errors: they are repaired one by one as NAKs tell, and the rate is kept by spacing.
            let table = &mut table.0;
            if table.name.is_none() {
                table.recovery.get_or_insert(Recovery::Sack);
            }
            table.sack_rules.get_or_insert(SackRules::Nak);
            table.pacing.get_or_insert(Pacing::Control);
        }
        let buffer = file.buffer.unwrap_or(LARGEST_PLAIN_WINDOW);
        let Some(profile) = table.0.profile.or(self.profile.own()) else {
            let help = "write profile = \"rfc\" at the top, or tcp = { profile = \"rfc\" } here and in the flow";
            self.add(
                path,
                "a split connection needs Skyhop's own TCP, and the profile is \"linux\"",
                Some(help.to_owned()),
            );
            return None;
        };
        match table.resolve(profile) {
            Ok(tcp) if buffer < tcp.options.mss => {
                let message = format!("{buffer} does not hold a segment of {}", tcp.options.mss);
                self.add(&path.key("buffer"), message, None);
                None
            }
            Ok(mut tcp) => {
                self.read_code(&mut tcp.control, path)?;
                Some(Task::Pep(Box::new(Pep { tcp, buffer, share })))
            }
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
        if file.tcp.is_none() && file.quic.is_none() {
            self.add(&path, "needs TCP", None);
        }
        if let Some(ApplicationFile::Options(application)) = &file.application
            && application.request_bytes().is_some()
        {
            let message =
                format!("{:?} asks the other end itself: no node can split its connection", application.key());
            self.add(&path, message, None);
        }
        let mut seen: BTreeSet<&str> = [file.from.as_str(), file.to.as_str()].into();
        for (i, node) in nodes.iter().enumerate() {
            let path = path.index(i);
            if self.look_up(node, &path).is_some() && !seen.insert(node) {
                self.add(&path, format!("{node:?} is on the path already"), None);
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

    /// An agent of the engine with every value filled in.
    fn task(
        &mut self,
        at: &str,
        mut task: AgentTask,
        sky: Option<&Constellation>,
        links: &[(WiredLink, Path)],
        path: &Path,
    ) -> AgentTask {
        let path = path.key(task.key());
        let model = task.model();
        let mut faults = Faults::default();
        model.check(&mut faults);
        self.add_faults(faults, &path);
        let Some(given) = model.links() else { return task };
        let names = self.checked_links(at, given.take(), sky, links, &path);
        *given = Some(names.clone());
        if let Some(unit) = model.unit() {
            unit.get_or_insert_with(|| usual_unit(&names, sky, links));
        }
        task
    }

    /// The links whose far ends check what arrives: those given, or those that leave the node.
    fn checked_links(
        &mut self,
        at: &str,
        given: Option<Vec<String>>,
        sky: Option<&Constellation>,
        links: &[(WiredLink, Path)],
        path: &Path,
    ) -> Vec<String> {
        let is_station = self.nodes.kind(at) == Some(Kind::Station);
        let uplink = is_station && sky.is_some_and(|sky| sky.gsl.is_some());
        let default = || if uplink { vec![format!("{at}->sky")] } else { leaving(at, links) };
        // The name of a wire stands for both of its directions, as among the records.
        let directions = |name: String| match links.iter().find(|(link, _)| link.name.as_ref() == Some(&name)) {
            Some((link, _)) => {
                let [a, b] = &link.between;
                vec![format!("{a}->{b}"), format!("{b}->{a}")]
            }
            None => vec![name],
        };
        let given = given.map(|names| names.into_iter().flat_map(directions).collect());
        let mut names = given.unwrap_or_else(default);
        if names.is_empty() && self.nodes.kind(at).is_some() {
            let help = "write links = [\"berkeley->sky\"]".to_owned();
            self.add(&path.key("links"), format!("no link leaves {at:?}"), Some(help));
        }
        names.sort_by(|a, b| natural_order(a, b));
        names.dedup();
        names
    }

    /// Links that agents watch must exist, each have one agent, and senders that listen need one.
    pub(super) fn check_agents(&mut self, scenario: &Scenario, agents: &[Path]) {
        if !self.problems.is_empty() {
            return;
        }
        self.check_listeners(scenario);
        self.check_splits(scenario);
        self.check_helped(scenario, agents);
        self.warn_of_unused(scenario, agents);
        if scenario.agents.is_empty() {
            return;
        }
        let topology = match scenario.topology(0) {
            Ok(topology) => topology,
            Err(error) => return self.add(&Path::root().key("agents"), error.to_string(), None),
        };
        let mut known: BTreeSet<&str> = topology.links().iter().map(|link| link.name.as_str()).collect();
        known.insert(ISLS);
        // Only to be offered in place of a wrong name: those that were given stand for their directions by now.
        known.extend(scenario.links.iter().filter_map(|link| link.name.as_deref()));
        let mut watched: BTreeSet<(&str, String)> = BTreeSet::new();
        for (agent, path) in scenario.agents.iter().zip(agents) {
            let Task::Engine(task) = &agent.task else { continue };
            let (mut task, path) = (task.clone(), path.key(task.key()).key("links"));
            let key = task.key();
            let claim = task.model().claim();
            for name in task.model().links().and_then(Option::take).unwrap_or_default() {
                if !known.contains(name.as_str()) {
                    let help = self.problems.name_help(&name, known.iter().copied());
                    self.add(&path, format!("no link is called {:?}", shorten(&name)), help);
                } else if !watched.insert((key, name.clone())) {
                    self.add(&path, format!("another agent already {claim} {name:?}"), None);
                }
            }
        }
    }

    /// Helpers of Skyhop's own TCP do nothing where every TCP is that of Linux.
    fn check_helped(&mut self, scenario: &Scenario, agents: &[Path]) {
        let flows = scenario.flows.iter().map(|flow| &flow.transport);
        let transports = || flows.clone().chain(scenario.workloads.iter().map(|workload| &workload.transport));
        let has_own = transports().any(|transport| matches!(transport, Transport::Tcp(_)));
        if has_own || !transports().any(|transport| matches!(transport, Transport::Linux(_))) {
            return;
        }
        for (agent, path) in scenario.agents.iter().zip(agents) {
            let Task::Engine(task) = &agent.task else { continue };
            let message = "helps Skyhop's own TCP alone, and each TCP here is that of Linux";
            let help = "write profile = \"rfc\" at the top, or tcp = { profile = \"rfc\", ... } in a flow".to_owned();
            self.add(&path.key(task.key()), message, Some(help));
        }
    }

    fn check_listeners(&mut self, scenario: &Scenario) {
        let reports = scenario.agents.iter().any(|agent| matches!(agent.task, Task::Engine(AgentTask::ErrorReport(_))));
        let marks = scenario.agents.iter().any(|agent| matches!(agent.task, Task::Engine(AgentTask::Survival(_))));
        let marks_losses = scenario.agents.iter().any(|agent| matches!(agent.task, Task::Engine(AgentTask::Eln(_))));
        for (list, name, from, notification) in listeners(scenario) {
            let (message, key) = match notification {
                Notification::Ceten(_) if !marks => ("weighs its losses, but no agent marks what survives", "survival"),
                Notification::Eln if !marks_losses => ("listens to marks of losses, but no agent makes any", "eln"),
                Notification::Eten | Notification::Been(_) if !reports => {
                    ("listens to error reports, but no agent makes any", "error_report")
                }
                _ => continue,
            };
            let help = format!("write [[agents]] with at = {from:?} and {key} = {{}}");
            return self.add(&Path::root().key(list), format!("{name:?} {message}"), Some(help));
        }
    }

    /// Agents to which nobody listens, and which no connection uses.
    fn warn_of_unused(&mut self, scenario: &Scenario, agents: &[Path]) {
        let heard = |by: fn(Notification) -> bool| listeners(scenario).any(|(_, _, _, notification)| by(notification));
        for (agent, path) in scenario.agents.iter().zip(agents) {
            let (key, said) = match &agent.task {
                Task::Pep(_) if !scenario.flows.iter().any(|flow| flow.via.contains(&agent.at)) => {
                    ("pep", format!("no connection is split here: write via = [{:?}] in a flow", agent.at))
                }
                Task::Engine(task @ AgentTask::ErrorReport(_))
                    if !heard(|to| matches!(to, Notification::Eten | Notification::Been(_))) =>
                {
                    (task.key(), "no sender listens: write notification = \"eten\" or \"been\" in a tcp".to_owned())
                }
                Task::Engine(task @ AgentTask::Survival(_)) if !heard(|to| matches!(to, Notification::Ceten(_))) => {
                    (task.key(), "no sender listens: write notification = \"ceten\" in a tcp".to_owned())
                }
                Task::Engine(task @ AgentTask::Eln(_)) if !heard(|to| matches!(to, Notification::Eln)) => {
                    (task.key(), "no sender listens: write notification = \"eln\" in a tcp".to_owned())
                }
                _ => continue,
            };
            self.warnings.push(format!("{}: {said}", path.key(key)));
        }
    }
}

/// Flows and workloads whose senders listen to agents: the list in which they stand, name, source, and to what they
/// listen.
fn listeners(scenario: &Scenario) -> impl Iterator<Item = (&'static str, &str, &str, Notification)> {
    let flows = scenario.flows.iter().map(|flow| ("flows", flow.name.as_str(), flow.from.as_str(), &flow.transport));
    let workloads = scenario.workloads.iter().map(|workload| {
        let from = workload.from.first().map_or("", String::as_str);
        ("workloads", workload.name.as_str(), from, &workload.transport)
    });
    flows.chain(workloads).filter_map(|(list, name, from, transport)| match transport {
        Transport::Tcp(config) => Some((list, name, from, config.notification?)),
        Transport::Udp { .. } | Transport::Linux(_) | Transport::Quic(_) => None,
    })
}

/// The wires that leave a node.
fn leaving(at: &str, links: &[(WiredLink, Path)]) -> Vec<String> {
    let other = |link: &WiredLink| match &link.between {
        [a, b] if a == at => Some(b.clone()),
        [a, b] if b == at => Some(a.clone()),
        _ => None,
    };
    links.iter().filter_map(|(link, _)| other(link)).map(|other| format!("{at}->{other}")).collect()
}

/// The unit of the links' errors.
fn usual_unit(names: &[String], sky: Option<&Constellation>, links: &[(WiredLink, Path)]) -> CountUnit {
    let per_byte = names.iter().any(|name| has_errors_per_byte(name, sky, links));
    if per_byte { CountUnit::Byte } else { CountUnit::Bit }
}

/// Whether a link loses bytes.
fn has_errors_per_byte(name: &str, sky: Option<&Constellation>, links: &[(WiredLink, Path)]) -> bool {
    let loses_bytes =
        |transmitter: &Transmitter| transmitter.errors.iter().any(|error| error.unit() == ErrorUnit::Byte);
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
