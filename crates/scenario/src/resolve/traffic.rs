//! Flows.

use super::red::Line;
use super::{Kind, Resolver};
use crate::format::{AccessFile, ApplicationFile, ApplicationName, FlowFile, QueueFile, QueueName, QuicFile};
use crate::names;
use crate::scenario::{Access, Flow, Quic, Transport};
use crate::tree::{Node, Path};
use skyhop_base::{Bytes, Duration, Faults, natural_order};
use skyhop_cc::ConfigError;
use skyhop_sim::applications::{ApplicationConfig, Carrier, FtpOptions};
use std::collections::BTreeMap;

/// More flows than a run can hold in memory.
const MOST_FLOWS: u64 = 1_000_000;

/// Nodes, those of access links included, that a network can have; the route search packs their ids.
const MOST_NODES: u64 = 1_000_000;

/// Hops of a packet: the recommended default of IP (RFC 1700 "Internet Protocol numbers"), and ns-2's
/// (`algorithms.md` §5.3).
pub(super) const TTL: (u8, u8) = (255, 32);

/// Headers of a datagram: IPv4 (RFC 791 §3.1) and UDP (RFC 768) without options; ns-2's agent adds none.
pub(super) const UDP_HEADER: (Bytes, Bytes) = (Bytes(20 + 8), Bytes(0));

impl Resolver<'_, '_, '_> {
    /// All flows, in the order of their names, each with its place.
    pub(super) fn flows(&mut self) -> Vec<(Flow, Path)> {
        let path = Path::root().key("flows");
        let items = self.tree.find(&path).and_then(Node::list).unwrap_or_default();
        let mut flows = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let path = path.index(i);
            let Some(file) = self.take::<FlowFile>(&path) else {
                self.look_up_ends(item, &path);
                continue;
            };
            if let Some(flow) = self.flow(file, &path) {
                flows.push((flow, path));
            }
        }
        self.check_flow_names(&flows);
        if self.check_flow_count(&flows, &path) {
            self.check_access_names(&flows);
        }
        flows.sort_by(|(a, _), (b, _)| natural_order(&a.name, &b.name));
        flows
    }

    /// The ends of a flow in which something else is wrong.
    fn look_up_ends(&mut self, item: &Node, path: &Path) {
        for key in ["from", "to"] {
            if let Some(name) = item.get(key).and_then(Node::text) {
                self.look_up(name, &path.key(key));
            }
        }
    }

    /// False when there are more flows than can be counted one by one.
    fn check_flow_count(&mut self, flows: &[(Flow, Path)], path: &Path) -> bool {
        let count = |flow: &Flow| u64::from(flow.count.unwrap_or(1));
        let total: u64 = flows.iter().map(|(flow, _)| count(flow)).sum();
        let access: u64 = flows.iter().filter(|(flow, _)| flow.access.is_some()).map(|(flow, _)| 2 * count(flow)).sum();
        if total > MOST_FLOWS {
            self.add(path, format!("these are {total} flows, at most {MOST_FLOWS} are possible"), None);
        } else if access + self.nodes.count() as u64 > MOST_NODES {
            let message = format!("the access links make {access} nodes, at most {MOST_NODES} are possible in all");
            self.add(path, message, None);
        }
        total <= MOST_FLOWS
    }

    fn flow(&mut self, file: FlowFile, path: &Path) -> Option<Flow> {
        self.check_name(&file.name, &path.key("name"));
        for (key, node) in [("from", &file.from), ("to", &file.to)] {
            if let Some(Kind::Satellite(_)) = self.look_up(node, &path.key(key))
                && file.access.is_some()
            {
                let message = format!("{node:?} is a satellite: access links are wires, which end at none");
                self.add(&path.key("access"), message, Some("leave \"access\" out, or name a station".to_owned()));
            }
        }
        if file.from == file.to && file.access.is_none() {
            self.add(&path.key("to"), format!("a flow cannot go from {:?} to itself", file.from), None);
        }
        let start = file.start.unwrap_or(Duration::ZERO);
        self.check_times(start, file.stop, path);
        self.check_start_spread(start, &file, path);
        if file.jitter.is_some() && file.tcp.is_none() && file.udp.is_some() && file.quic.is_none() {
            let help = "for UDP write application = { constant_rate = { ..., spacing = \"random\" } }".to_owned();
            self.add(&path.key("jitter"), "needs TCP", Some(help));
        }
        let access = file.access.as_ref().map(|access| self.access(access, &path.key("access")));
        let transport = self.transport(&file, path);
        let application = self.application(&file, path);
        if let (Some(Transport::Quic(quic)), Some(application)) = (&transport, &application) {
            self.check_messages(quic, application, &path.key("application"));
        }
        let via = self.via(&file, path);
        Some(Flow {
            name: file.name,
            count: file.count,
            from: file.from,
            to: file.to,
            via,
            access,
            transport: transport?,
            application: application?,
            start,
            start_spread: file.start_spread.filter(|spread| !spread.is_zero()),
            // What ends with the run has no end of its own.
            stop: file.stop.filter(|&stop| self.duration.is_none_or(|duration| stop < duration)),
            ttl: file.ttl.unwrap_or(self.by_profile(TTL.0, TTL.1)),
            class: file.class.unwrap_or(0),
            jitter: file.jitter.filter(|jitter| !jitter.is_zero()),
        })
    }

    pub(super) fn check_times(&mut self, start: Duration, stop: Option<Duration>, path: &Path) {
        if let Some(duration) = self.duration
            && start >= duration
        {
            let message = format!("{start} is not before the end of the run, {duration}");
            self.add(&path.key("start"), message, None);
        }
        if let Some(stop) = stop
            && stop <= start
        {
            self.add(&path.key("stop"), format!("{stop} is not after the start, {start}"), None);
        }
    }

    /// The last flow of a count has to start within the run and before its own end.
    fn check_start_spread(&mut self, start: Duration, file: &FlowFile, path: &Path) {
        let Some(spread) = file.start_spread else { return };
        let path = path.key("start_spread");
        if file.count.is_none() {
            let help = "add count, or leave start_spread out: one flow starts at `start`".to_owned();
            self.add(&path, "spreads the starts of a count, and this flow has none", Some(help));
            return;
        }
        for (end, what) in [(self.duration, "the end of the run"), (file.stop, "the end of the flows")] {
            if let Some(end) = end
                && start.as_nanos().saturating_add(spread.as_nanos()) > end.as_nanos()
            {
                self.add(&path, format!("{start} and {spread} together are behind {what}, {end}"), None);
                return;
            }
        }
    }

    fn access(&mut self, file: &AccessFile, path: &Path) -> Access {
        let unlimited = QueueFile::Named(QueueName::Unlimited);
        let line = Line { rate: file.rate, delay: file.delay };
        let queue = self.queue(Some(file.queue.as_ref().unwrap_or(&unlimited)), Some(line), &path.key("queue"));
        self.check_wire_delay(file.delay, &path.key("delay"));
        Access { rate: file.rate, delay: file.delay, queue }
    }

    fn transport(&mut self, file: &FlowFile, path: &Path) -> Option<Transport> {
        if let Some(quic) = &file.quic {
            for (key, other) in [("tcp", file.tcp.is_some()), ("udp", file.udp.is_some())] {
                if other {
                    let message = format!("excludes \"{key}\"");
                    self.add(&path.key("quic"), message, Some("keep one of them".to_owned()));
                    return None;
                }
            }
            return self.quic(quic, file.via.is_some(), file.jitter.is_some(), path);
        }
        match (&file.tcp, &file.udp) {
            (Some(_), None) => self.tcp(file.via.as_deref().unwrap_or_default(), file.jitter, path),
            (None, Some(udp)) => {
                let header = udp.header.unwrap_or(self.by_profile(UDP_HEADER.0, UDP_HEADER.1));
                self.check_packet_size(header, 0, &path.key("udp").key("header"));
                Some(Transport::Udp { header })
            }
            (Some(_), Some(_)) => {
                self.add(&path.key("udp"), "excludes \"tcp\"", Some("keep one of them".to_owned()));
                None
            }
            (None, None) => {
                let help = "write tcp = \"cubic\", quic = \"quinn\", or udp = {} with application = { constant_rate \
                    = { ... } }";
                self.add(path, "has no transport", Some(help.to_owned()));
                None
            }
        }
    }

    /// A problem with an option of TCP, at the option where it was written.
    pub(super) fn add_config_error(&mut self, error: &ConfigError, path: &Path) {
        let mut place = path.clone();
        if let ConfigError::OutOfRange { option, .. } | ConfigError::Contradiction { option, .. } = error
            && let Some(node) = self.tree.find(path)
        {
            place = find_key(node, path, option).unwrap_or(place);
        }
        self.add(&place, error.to_string(), None);
    }

    fn application(&mut self, file: &FlowFile, path: &Path) -> Option<ApplicationConfig> {
        let path = path.key("application");
        let mut application = match &file.application {
            Some(ApplicationFile::Named(ApplicationName::Ftp)) => FtpOptions::default().into(),
            Some(ApplicationFile::Options(options)) => options.clone(),
            None if file.tcp.is_some() || file.quic.is_some() || file.udp.is_none() => FtpOptions::default().into(),
            None => {
                let help = "write application = { constant_rate = { rate = \"1 Mbit/s\", payload = \"1000 B\" } }";
                self.add(&path, "is missing: UDP does not say how fast to send", Some(help.to_owned()));
                return None;
            }
        };
        let is_reliable = file.tcp.is_some() || file.quic.is_some();
        let sends_messages = file.quic.as_ref().is_some_and(QuicFile::sends_messages);
        match application.carrier() {
            Carrier::Reliable if file.udp.is_some() && !is_reliable => {
                let all = ApplicationConfig::ALL.iter();
                let others = all.filter(|(_, carrier)| *carrier != Carrier::Reliable).map(|(key, _)| *key);
                let help = format!("UDP carries {}", names::list(others, "or"));
                self.add(&path, "a file transfer needs TCP", Some(help));
            }
            Carrier::Reliable if sends_messages => {
                let all = ApplicationConfig::ALL.iter();
                let others = all.filter(|(_, carrier)| *carrier != Carrier::Reliable).map(|(key, _)| *key);
                let help = format!("leave \"datagrams\" out; DATAGRAM frames carry {}", names::list(others, "or"));
                self.add(&path, "a file transfer needs streams, and datagrams = true sends messages", Some(help));
            }
            Carrier::Datagrams(message) if file.udp.is_none() && !sends_messages => {
                let help = "write udp = {} in place of the other transport, or quic = { …, datagrams = true }";
                self.add(&path, message, Some(help.to_owned()));
            }
            Carrier::Any | Carrier::Reliable | Carrier::Datagrams(_) => {}
        }
        let mut faults = Faults::default();
        application.check(&mut faults);
        self.add_faults(faults, &path.key(application.key()));
        application.tidy();
        Some(application)
    }

    /// Each portion of the application is one message, if the connection carries messages.
    fn check_messages(&mut self, quic: &Quic, application: &ApplicationConfig, path: &Path) {
        let (Some([least, most]), Some(bytes)) = (quic.message_bytes(), application.payload_bytes()) else { return };
        if bytes < least {
            let message = format!("a message of {bytes} B has no room for its number and time, {least} B");
            self.add(&path.key(application.key()), message, None);
        } else if bytes > most {
            let message = format!(
                "a message of {bytes} B does not fit a DATAGRAM frame: {most} B of the {} that quic.payload allows",
                quic.payload
            );
            let help = format!("send smaller messages, or write payload = \"{} B\" in quic", bytes + 38);
            self.add(&path.key(application.key()), message, Some(help));
        }
    }

    /// No two flows may have one name, also not one that a count makes.
    fn check_flow_names(&mut self, flows: &[(Flow, Path)]) {
        let mut places: BTreeMap<&str, (&Flow, &Path)> = BTreeMap::new();
        for (flow, path) in flows {
            if let Some((_, other)) = places.get(flow.name.as_str()) {
                let message = format!("the name {:?} is taken by {other}", flow.name);
                self.add(&path.key("name"), message, None);
            } else {
                places.insert(&flow.name, (flow, path));
            }
        }
        for (flow, path) in flows.iter().filter(|(flow, _)| flow.count.is_none()) {
            let Some((base, number)) = flow.name.rsplit_once('-') else { continue };
            let Some((several, other)) = places.get(base) else { continue };
            let made =
                number.parse().is_ok_and(|n: u32| n.to_string() == number && several.count.is_some_and(|c| n < c));
            if made {
                let message = format!("the name {:?} is taken: the count at {other} makes it", flow.name);
                self.add(&path.key("name"), message, None);
            }
        }
    }

    /// The nodes of access links must not have a name that another node has.
    fn check_access_names(&mut self, flows: &[(Flow, Path)]) {
        let with_access: BTreeMap<String, &Path> = flows
            .iter()
            .filter(|(flow, _)| flow.access.is_some())
            .flat_map(|(flow, path)| flow.names().map(move |name| (name, path)))
            .collect();
        let mut taken = Vec::new();
        // The satellites of shells have other names: they end with a number.
        for (name, _, place) in self.nodes.outside_shells() {
            let base = name.strip_suffix(SOURCE).or_else(|| name.strip_suffix(SINK));
            if let Some(flow) = base.and_then(|base| with_access.get(base)) {
                taken.push((place.clone(), format!("the name {name:?} is taken by the access link of {flow}")));
            }
        }
        for (path, message) in taken {
            self.add(&path, message, None);
        }
    }
}

/// Behind a flow's name: the node in front of its access link at the sender.
pub(crate) const SOURCE: &str = ".source";

/// Behind a flow's name: the node behind its access link at the receiver.
pub(crate) const SINK: &str = ".sink";

/// The first place below `path` where `key` stands.
fn find_key(node: &Node, path: &Path, key: &str) -> Option<Path> {
    let table = node.table()?;
    if table.contains_key(key) {
        return Some(path.key(key));
    }
    table.iter().find_map(|(name, entry)| find_key(&entry.node, &path.key(name), key))
}
