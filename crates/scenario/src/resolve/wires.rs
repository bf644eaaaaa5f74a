//! Wired links, and what every transmitter has: rate, queue, framing, errors.

use super::profile::{self, ProfilePlace};
use super::red::Line;
use super::repair::Repaired;
use super::trace::mean_rate;
use super::{Kind, MOST_COMPONENTS, Resolver};
use crate::format::{
    CountsName, DirectionFile, DropTailFile, LinkFile, LinkProfileFile, PriorityName, QueueFile, QueueName,
    QueueOptions, RedFile, StarlinkDirection, TransmitterFile,
};
use crate::names::shorten;
use crate::scenario::{Direction, Fifo, Flow, Queue, Room, Scenario, Transmitter, Transport, WiredLink};
use crate::tree::{Node, Path};
use serde::de::DeserializeOwned;
use skyhop_base::{Bytes, Duration, Faults, natural_order};
use skyhop_queue::QueueSpec;
use skyhop_queue::drr::DrrConfig;
use skyhop_sim::errors::{ErrorConfig, ErrorModel, LinkFacts};
use skyhop_sim::spec::Service;
use std::collections::{BTreeMap, BTreeSet};

/// Room of a queue for which none is given, in packets: ns-2's default (`algorithms.md` appendix A).
pub(super) const QUEUE_PACKETS: u32 = 50;

/// Largest packet, header and framing on the wire, in bytes.
pub(super) const LARGEST_PACKET: u64 = 65_535;

/// The route search holds delays in a limited number of bits; light goes to Jupiter and back in this time.
const LONGEST_WIRE: Duration = Duration::from_secs(3600);

/// The direction in which a transmitter sends, and the kind of its link.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransmitterKind {
    pub direction: StarlinkDirection,
    /// Not towards or from a satellite.
    pub is_wire: bool,
}

/// What a transmitter is without being told.
pub(super) struct Usual {
    pub framing: Bytes,
    /// Propagation delay of the link; zero if it changes.
    pub delay: Duration,
    pub kind: TransmitterKind,
}

impl Resolver<'_, '_, '_> {
    /// All links, in the order of the names of their ends, each with its place.
    pub(super) fn links(&mut self) -> Vec<(WiredLink, Path)> {
        let path = Path::root().key("links");
        let Some(node) = self.tree.find(&path) else { return Vec::new() };
        let Some(items) = node.list() else {
            self.nodes.incomplete = true;
            return Vec::new();
        };
        if items.len() > MOST_COMPONENTS {
            self.add(&path, format!("has {} links, at most {MOST_COMPONENTS} are possible", items.len()), None);
            return Vec::new();
        }
        let mut links = Vec::new();
        let mut taken: BTreeMap<[String; 2], Path> = BTreeMap::new();
        for (i, item) in items.iter().enumerate() {
            let path = path.index(i);
            let Some(between) = ends(item) else {
                self.nodes.incomplete = true;
                continue;
            };
            let end = |i| path.key("between").index(i);
            if !self.link_ends(&between, &mut taken, &path, &path.key("between"), end) {
                continue;
            }
            let Some(file) = self.take::<LinkFile>(&path) else { continue };
            let forward = self.direction(&file, file.forward.as_ref(), "forward", &path);
            let backward = self.direction(&file, file.backward.as_ref(), "backward", &path);
            if let (Some(forward), Some(backward)) = (forward, backward) {
                self.warn_of_outages_apart([&forward, &backward], &path);
                let link = WiredLink { name: file.name, ..in_order(between, forward, backward) };
                self.check_link_name(&link, &links, &path);
                links.push((link, path));
            }
        }
        links.sort_by(|(a, _), (b, _)| {
            natural_order(&a.between[0], &b.between[0]).then_with(|| natural_order(&a.between[1], &b.between[1]))
        });
        links
    }

    /// A link has a name of its own, if it has one.
    fn check_link_name(&mut self, link: &WiredLink, others: &[(WiredLink, Path)], path: &Path) {
        let Some(name) = &link.name else { return };
        let path = path.key("name");
        self.check_name(name, &path);
        if let Some((_, other)) = others.iter().find(|(other, _)| other.name.as_ref() == Some(name)) {
            self.add(&path, format!("the name {name:?} is taken by {other}"), None);
        }
    }

    /// Enters the nodes at the ends of a link, whose names stand at `end`. False when the link cannot be.
    pub(super) fn link_ends(
        &mut self,
        between: &[String; 2],
        taken: &mut BTreeMap<[String; 2], Path>,
        path: &Path,
        place: &Path,
        end: impl Fn(usize) -> Path,
    ) -> bool {
        for (i, name) in between.iter().enumerate() {
            match self.nodes.kind(name) {
                None => self.declare(name, Kind::Wired, &end(i)),
                Some(Kind::Satellite(_)) => {
                    let message = format!("a wired link cannot end at the satellite {name:?}");
                    self.add(&end(i), message, None);
                    return false;
                }
                Some(Kind::Station | Kind::Wired) => {}
            }
        }
        if between[0] == between[1] {
            self.add(place, format!("a link cannot join {:?} to itself", between[0]), None);
            return false;
        }
        let mut key = between.clone();
        key.sort();
        match taken.get(&key) {
            Some(other) => {
                let message = format!("{:?} and {:?} are already joined by {other}", between[0], between[1]);
                self.add(place, message, None);
                false
            }
            None => {
                taken.insert(key, path.clone());
                true
            }
        }
    }

    pub(super) fn direction(
        &mut self,
        link: &LinkFile,
        own: Option<&DirectionFile>,
        key: &str,
        path: &Path,
    ) -> Option<Direction> {
        let own = own.cloned().unwrap_or_default();
        let delay = own.delay.or(link.delay);
        if delay.is_none() {
            let help = "expected a duration such as \"10 ms\"".to_owned();
            self.add(&path.key("delay"), "is missing", Some(help));
        }
        let place = if own.delay.is_some() { path.key(key).key("delay") } else { path.key("delay") };
        self.check_wire_delay(delay.unwrap_or(Duration::ZERO), &place);
        let shared = TransmitterFile {
            rate: link.rate,
            queue: link.queue.clone(),
            framing: link.framing,
            errors: link.errors.clone(),
            repair: link.repair.clone(),
            trace: link.trace.clone(),
            profile: link.profile.clone(),
        };
        let DirectionFile { rate, queue, framing, errors, repair, trace, profile, .. } = own;
        let own = TransmitterFile { rate, queue, framing, errors, repair, trace, profile };
        let direction = if key == "forward" { StarlinkDirection::Up } else { StarlinkDirection::Down };
        let kind = TransmitterKind { direction, is_wire: true };
        let usual = Usual { framing: Bytes(0), delay: delay.unwrap_or(Duration::ZERO), kind };
        let transmitter = self.transmitter(&own, Some((&shared, key)), &usual, path);
        Some(Direction { delay: delay?, transmitter: transmitter? })
    }

    pub(super) fn check_wire_delay(&mut self, delay: Duration, path: &Path) {
        if delay > LONGEST_WIRE {
            self.add(path, format!("{delay} is too long: a wire is at most {LONGEST_WIRE} long"), None);
        }
    }

    /// A transmitter; what `own` does not say is that of `shared` (whose key for this direction comes with it).
    pub(super) fn transmitter(
        &mut self,
        own: &TransmitterFile,
        shared: Option<(&TransmitterFile, &str)>,
        usual: &Usual,
        path: &Path,
    ) -> Option<Transmitter> {
        let (common, place) = match shared {
            Some((common, key)) => (Some(common), path.key(key)),
            None => (None, path.clone()),
        };
        let own = &match shared {
            Some(_) => self.joined(own.clone(), &place, path),
            None => own.clone(),
        };
        let at = |given: bool, key: &str| if given { place.key(key) } else { path.key(key) };
        let given = own.rate.or(common.and_then(|c| c.rate));
        let recording = own.trace.as_ref().or(common.and_then(|c| c.trace.as_ref()));
        let trace = recording.and_then(|recording| self.trace(recording, &at(own.trace.is_some(), "trace")));
        if recording.is_some() && trace.is_none() {
            return None;
        }
        let known = own.profile.as_ref().or(common.and_then(|c| c.profile.as_ref()));
        let at_profile = at(own.profile.is_some(), "profile");
        let profile_place = ProfilePlace { kind: usual.kind, rate: given, path: &at_profile };
        let profile = known.and_then(|known| self.link_profile(known, &profile_place));
        if trace.is_some() && profile.is_some() {
            self.add(&at_profile, "excludes \"trace\"", Some("keep one of them".to_owned()));
        }
        // A recording of deliveries has its own rate, slots have theirs; a satellite's also has that of the
        // gateways.
        let recorded = trace.as_ref().and_then(|trace| mean_rate(&trace.config));
        let of_slots = profile.as_ref().and_then(profile::mean_rate);
        let rate = if usual.kind.is_wire { recorded.or(of_slots).or(given) } else { recorded.or(given).or(of_slots) };
        if rate.is_none() {
            self.add(&path.key("rate"), "is missing", Some("expected a rate such as \"1.5 Mbit/s\"".to_owned()));
        }
        let of_profile = known.and_then(|known: &LinkProfileFile| profile::queue(known, usual.kind));
        let queue = own.queue.as_ref().or(common.and_then(|c| c.queue.as_ref()));
        let queue = with_room_of(queue, of_profile);
        let queue = queue.as_ref();
        let line = rate.map(|rate| Line { rate, delay: usual.delay });
        let served = trace.as_ref().is_some_and(|trace| !matches!(trace.config.service, Service::Constant));
        if usual.kind.is_wire && (served || profile.is_some()) && queue.is_some_and(asks_for_priority) {
            let message = "\"low-first\" needs a link of constant rate: what a recording has served stays".to_owned();
            self.add(&at(own.queue.is_some(), "queue"), message, Some("leave \"priority\" out".to_owned()));
        }
        let mut queue = self.queue(queue, line, &at(own.queue.is_some(), "queue"));
        if usual.kind.is_wire && (served || profile.is_some()) {
            forget_priority(&mut queue);
        }
        let framing = own.framing.or(common.and_then(|c| c.framing)).unwrap_or(usual.framing);
        self.check_packet_size(framing, 0, &at(own.framing.is_some(), "framing"));
        let errors = own.errors.as_ref().or(common.and_then(|c| c.errors.as_ref()));
        let errors_path = at(own.errors.is_some(), "errors");
        let facts = LinkFacts {
            is_paced: trace.is_some() || profile.is_some(),
            repairs: own.repair.is_some() || common.is_some_and(|common| common.repair.is_some()),
        };
        let errors = self.errors(errors.map_or(&[], Vec::as_slice), &facts, &errors_path);
        let repair = own.repair.as_ref().or(common.and_then(|c| c.repair.as_ref())).map(|repair| {
            let paced = trace.is_some() || profile.is_some();
            let link = Repaired { rate, errors: &errors, errors_path: &errors_path, paced };
            self.repair(repair, &link, &at(own.repair.is_some(), "repair"))
        });
        Some(Transmitter { rate: rate?, queue, framing, errors, repair, trace, profile })
    }

    /// What a direction (at `place`) says, with what the table above it (at `path`) says about the same: so
    /// `forward = { queue = { drop_tail = { counts = "waiting" } } }` keeps the room that both directions have.
    fn joined(&self, mut own: TransmitterFile, place: &Path, path: &Path) -> TransmitterFile {
        own.queue = self.over("queue", own.queue, place, path);
        own.repair = self.over("repair", own.repair, place, path);
        own.trace = self.over("trace", own.trace, place, path);
        own.profile = self.over("profile", own.profile, place, path);
        own
    }

    fn over<T: DeserializeOwned>(&self, key: &str, own: Option<T>, place: &Path, path: &Path) -> Option<T> {
        let joined = match (self.tree.find(&place.key(key)), self.tree.find(&path.key(key))) {
            (Some(own), Some(common)) => serde_json::from_value(own.over(common).to_json()).ok(),
            _ => None,
        };
        joined.or(own)
    }

    /// Bytes that belong to one packet: from `least` to the largest packet.
    pub(super) fn check_packet_size(&mut self, bytes: Bytes, least: u64, path: &Path) {
        if bytes.0 < least || bytes.0 > LARGEST_PACKET {
            self.add(path, format!("{bytes} is not a size of a packet: use {least} B to {LARGEST_PACKET} B"), None);
        }
    }

    /// `line` is what the queue stands before, unless that is wrong.
    pub(super) fn queue(&mut self, file: Option<&QueueFile>, line: Option<Line>, path: &Path) -> Queue {
        let options = match file {
            Some(QueueFile::Named(QueueName::Unlimited)) => return Queue::Unlimited,
            Some(QueueFile::Named(QueueName::Red)) => return self.red(&RedFile::default(), line, &path.key("red")),
            Some(QueueFile::Options(QueueOptions::Red(options))) => return self.red(options, line, &path.key("red")),
            Some(QueueFile::Named(QueueName::DropFront)) => {
                return Queue::DropFront(self.fifo(&DropTailFile::default(), &path.key("drop_front")));
            }
            Some(QueueFile::Options(QueueOptions::DropFront(options))) => {
                return Queue::DropFront(self.fifo(options, &path.key("drop_front")));
            }
            Some(QueueFile::Discipline(name)) => return self.discipline(&QueueSpec::from(*name), path),
            Some(QueueFile::Spec(spec)) => return self.discipline(spec, path),
            Some(QueueFile::Named(QueueName::DropTail)) | None => &DropTailFile::default(),
            Some(QueueFile::Options(QueueOptions::DropTail(options))) => options,
        };
        Queue::DropTail(self.fifo(options, &path.key("drop_tail")))
    }

    /// A discipline that is asked at each departure.
    fn discipline(&mut self, spec: &QueueSpec, path: &Path) -> Queue {
        let written = self.tree.find(path).and_then(Node::table).and_then(|table| table.keys().next());
        let path = written.map_or_else(|| path.clone(), |name| path.key(name));
        if let Err(error) = spec.check() {
            // "limits (entries)", "rtt (ns)": the key is the first word.
            let key = error.option.split(' ').next().unwrap_or_default();
            self.add(&path.key(key), error.to_string(), None);
        }
        if let QueueSpec::Drr(DrrConfig { classes, map: None }) = spec {
            self.queues_by_flow.push((path, classes.len()));
        }
        Queue::Discipline(Box::new(spec.clone()))
    }

    /// Where the flow's number is its class, each flow needs one.
    pub(super) fn check_classes(&mut self, flows: &[(Flow, Path)]) {
        let count: usize = flows.iter().map(|(flow, _)| flow.count.unwrap_or(1) as usize * (1 + flow.via.len())).sum();
        for (path, classes) in std::mem::take(&mut self.queues_by_flow) {
            if count > classes {
                let message =
                    format!("has {classes} classes for {count} flows: packets of the others would be dropped");
                let help = "write classes = [{}, ...] with one for each flow, or a map of classes".to_owned();
                self.add(&path, message, Some(help));
            }
        }
    }

    fn fifo(&mut self, options: &DropTailFile, path: &Path) -> Fifo {
        let room = self.room(options, path);
        let (mark_above, priority) = (options.mark_above, Some(options.priority.unwrap_or_default()));
        if let (Some(above), Room::Packets { packets, .. }) = (mark_above, room)
            && above >= packets
        {
            let message = format!("never comes with room for {packets} packets: use less");
            self.add(&path.key("mark_above"), message, None);
        }
        Fifo { room, mark_above, priority }
    }

    fn room(&mut self, options: &DropTailFile, path: &Path) -> Room {
        if let Some(bytes) = options.bytes {
            for (key, given) in [("packets", options.packets.is_some()), ("counts", options.counts.is_some())] {
                if given {
                    self.add(&path.key(key), "excludes \"bytes\"", Some("keep one of them".to_owned()));
                }
            }
            return Room::Bytes { bytes };
        }
        let packets = options.packets.unwrap_or(QUEUE_PACKETS);
        let counts = options.counts.unwrap_or(self.by_profile(CountsName::Waiting, CountsName::WithService));
        if packets == 0 && counts == CountsName::WithService {
            let message = "a limit that counts the packet in service must be at least 1".to_owned();
            self.add(&path.key("packets"), message, None);
        }
        Room::Packets { packets, counts }
    }

    /// The errors of a link, found right as far as it goes, in their canonical form.
    fn errors(&mut self, errors: &[ErrorConfig], link: &LinkFacts, path: &Path) -> Vec<ErrorConfig> {
        let mut errors = errors.to_vec();
        for (i, error) in errors.iter_mut().enumerate() {
            if error.loses_all() {
                self.warn(&path.index(i), "loses every packet that it concerns");
            }
            let mut faults = Faults::default();
            error.check(link, &mut faults);
            self.add_faults(faults, &path.index(i).key(error.key()));
            error.tidy();
        }
        self.check_holds(&errors, path);
        errors
    }

    /// Flows that errors name must exist.
    pub(super) fn check_segment_errors(&mut self, flows: &[(Flow, Path)]) {
        let mut places = Vec::new();
        segment_errors(self.tree, &Path::root(), &mut places);
        if places.is_empty() || self.flows_incomplete(flows) {
            return;
        }
        let names: BTreeSet<String> = flows.iter().flat_map(|(flow, _)| flow.names()).collect();
        for (path, flow) in places {
            if names.contains(&flow) {
                let linux = |of: &&(Flow, Path)| matches!(of.0.transport, Transport::Linux(_));
                if flows.iter().filter(linux).any(|(of, _)| of.names().any(|name| name == flow)) {
                    let message = format!("{:?} has the TCP of Linux, whose segments have no numbers", shorten(&flow));
                    let help = "name packets by their place: errors = [{ list = { data = [...] } }]".to_owned();
                    self.add(&path, message, Some(help));
                }
                continue;
            }
            let help = self.problems.name_help(&flow, names.iter().map(String::as_str));
            self.add(&path, format!("no flow is called {:?}", shorten(&flow)), help);
        }
    }

    /// Whether flows are missing because they are wrong.
    fn flows_incomplete(&self, flows: &[(Flow, Path)]) -> bool {
        let written = self.tree.get("flows").and_then(Node::list).map_or(0, <[Node]>::len);
        flows.len() < written
    }

    /// Links whose packets are to be kept must exist.
    pub(super) fn check_link_names(&mut self, scenario: &Scenario) {
        let names = &scenario.records.packets;
        if names.is_empty() || !self.problems.is_empty() {
            return;
        }
        let path = Path::root().key("records").key("packets");
        // The topology gives the links their names.
        let topology = match scenario.topology(0) {
            Ok(topology) => topology,
            Err(error) => return self.add(&path, error.to_string(), None),
        };
        let own = scenario.links.iter().filter_map(|link| link.name.as_deref());
        let known: BTreeSet<&str> = topology.links().iter().map(|link| link.name.as_str()).chain(own).collect();
        let written = self.tree.find(&path).and_then(Node::list).unwrap_or_default();
        for (i, name) in written.iter().enumerate().filter_map(|(i, item)| Some((i, item.text()?))) {
            if known.contains(name) {
                continue;
            }
            let help = self.problems.name_help(name, known.iter().copied());
            self.add(&path.index(i), format!("no link is called {:?}", shorten(name)), help);
        }
    }
}

/// The two names of a link's ends, whatever else is wrong with it.
fn ends(item: &Node) -> Option<[String; 2]> {
    match item.get("between")?.list()? {
        [a, b] => Some([a.text()?.to_owned(), b.text()?.to_owned()]),
        _ => None,
    }
}

/// A link is the same from both its ends: the one whose name comes first stands first.
pub(super) fn in_order(between: [String; 2], forward: Direction, backward: Direction) -> WiredLink {
    let [a, b] = between;
    if natural_order(&a, &b).is_le() {
        WiredLink { name: None, between: [a, b], forward, backward }
    } else {
        WiredLink { name: None, between: [b, a], forward: backward, backward: forward }
    }
}

/// Whether the key says so, not its default.
fn asks_for_priority(queue: &QueueFile) -> bool {
    let asked = match queue {
        // What drops from its front serves late.
        QueueFile::Named(_)
        | QueueFile::Options(QueueOptions::DropFront(_))
        | QueueFile::Discipline(_)
        | QueueFile::Spec(_) => None,
        QueueFile::Options(QueueOptions::DropTail(options)) => options.priority,
        QueueFile::Options(QueueOptions::Red(options)) => options.priority,
    };
    asked == Some(PriorityName::LowFirst)
}

/// A packet that a recording or a profile has served stays, so the key has no meaning there and is refused when it is
/// given.
fn forget_priority(queue: &mut Queue) {
    match queue {
        Queue::DropTail(fifo) => fifo.priority = None,
        Queue::Red(red) => red.priority = None,
        Queue::Unlimited | Queue::DropFront(_) | Queue::Discipline(_) => {}
    }
}

/// A queue that says nothing about its room has that of the operator's profile, if it is of the same kind.
fn with_room_of(queue: Option<&QueueFile>, of_profile: Option<QueueFile>) -> Option<QueueFile> {
    let Some(queue) = queue else { return of_profile };
    let usual = match of_profile {
        Some(QueueFile::Options(QueueOptions::DropFront(usual))) => usual,
        _ => return Some(queue.clone()),
    };
    let given = match queue {
        QueueFile::Named(QueueName::DropFront) => DropTailFile::default(),
        QueueFile::Options(QueueOptions::DropFront(given)) => given.clone(),
        _ => return Some(queue.clone()),
    };
    let packets = given.packets.or(usual.packets.filter(|_| given.bytes.is_none()));
    let counts = given.counts.or(usual.counts.filter(|_| given.bytes.is_none()));
    Some(QueueFile::Options(QueueOptions::DropFront(DropTailFile { packets, counts, ..given })))
}

/// Every place `errors[..].segments.flow` in the tree, with the name there.
fn segment_errors(node: &Node, path: &Path, found: &mut Vec<(Path, String)>) {
    if let Some(table) = node.table() {
        for (key, entry) in table {
            segment_errors(&entry.node, &path.key(key), found);
        }
    }
    let Some(items) = node.list() else { return };
    for (i, item) in items.iter().enumerate() {
        let path = path.index(i);
        match item.get("segments").and_then(|segments| segments.get("flow")).and_then(Node::text) {
            Some(flow) => found.push((path.key("segments").key("flow"), flow.to_owned())),
            None => segment_errors(item, &path, found),
        }
    }
}
