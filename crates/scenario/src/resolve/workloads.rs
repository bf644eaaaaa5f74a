//! Workloads.

use super::Resolver;
use super::content::Content;
use super::traffic::UDP_HEADER;
use crate::format::{
    ArrivalsFile, ConnectionsFile, ContentFile, ExponentialGaps, ExponentialSizes, GapsFile, InlineFile, LognormalGaps,
    LognormalSizes, ParetoGaps, ParetoSizes, PoissonFile, SizesFile, SizesName, SizesOptions, WorkloadFile,
};
use crate::names::shorten;
use crate::quantity::LONGEST;
use crate::scenario::{Flow, Transport, Workload};
use crate::tree::{Node, Path};
use skyhop_base::{Bytes, Duration, natural_order};
use skyhop_sim::distribution::{CACHE_FOLLOWER, DATA_MINING, Distribution, WEB_SEARCH};
use skyhop_sim::workload::{ArrivalConfig, MOST_TRANSFERS};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The longest list of nodes, times and sizes in a scenario.
const MOST_ROWS: usize = 1_000_000;

/// Beyond it the logarithm of a value varies more than any traffic does.
const LARGEST_SIGMA: f64 = 10.0;

/// The smallest and the largest shape of a Pareto distribution.
const SHAPES: (f64, f64) = (0.01, 100.0);

/// The largest transfer, bytes: a double still counts them one by one.
const LARGEST_TRANSFER: f64 = 1e15;

/// Transfers per second, at most.
const HIGHEST_RATE: f64 = 1e9;

impl Resolver<'_, '_, '_> {
    /// All workloads, in the order of their names, each with its place.
    pub(super) fn workloads(&mut self, flows: &[(Flow, Path)]) -> Vec<(Workload, Path)> {
        let path = Path::root().key("workloads");
        let count = self.tree.find(&path).and_then(Node::list).map_or(0, <[Node]>::len);
        let mut workloads: Vec<(Workload, Path)> = Vec::new();
        for path in (0..count).map(|i| path.index(i)) {
            let Some(file) = self.take::<WorkloadFile>(&path) else { continue };
            let taken = flows.iter().map(|(flow, at)| (&flow.name, at));
            let taken = taken.chain(workloads.iter().map(|(workload, at)| (&workload.name, at)));
            if let Some((_, at)) = taken.into_iter().find(|(name, _)| **name == file.name) {
                let message = format!("the name {:?} is taken by {at}", file.name);
                self.add(&path.key("name"), message, None);
            }
            if let Some(workload) = self.workload(file, &path) {
                workloads.push((workload, path));
            }
        }
        if let (Some((_, place)), Some(duration)) = (workloads.first(), self.duration) {
            let expected: f64 = workloads.iter().map(|(workload, _)| workload.expected_transfers(duration)).sum();
            if expected > MOST_TRANSFERS as f64 {
                let message =
                    format!("these are some {expected:.0} transfers, at most {MOST_TRANSFERS} are possible in a run");
                let help = "use a count, a stop, larger sizes or longer gaps".to_owned();
                self.add(&place.clone(), message, Some(help));
            }
        }
        if !workloads.is_empty() {
            for (path, _) in self.queues_by_flow.clone() {
                let message =
                    "takes the number of a flow for its class, and the connections of workloads have no class there";
                self.add(&path, message, Some("give a map of classes".to_owned()));
            }
        }
        workloads.sort_by(|(a, _), (b, _)| natural_order(&a.name, &b.name));
        workloads
    }

    fn workload(&mut self, file: WorkloadFile, path: &Path) -> Option<Workload> {
        let before = self.problems.count();
        self.check_name(&file.name, &path.key("name"));
        let mut ends = Vec::new();
        for (key, nodes) in [("from", &file.from), ("to", &file.to)] {
            ends.push(self.nodes_of(nodes.names(), &path.key(key)));
        }
        let (to, from) = (ends.pop()?, ends.pop()?);
        if let ([only], Some(alone)) = (to.as_slice(), from.iter().find(|name| to.len() == 1 && **name == to[0])) {
            let message = format!("a transfer cannot go from {alone:?} to itself, and {only:?} is the only node here");
            self.add(&path.key("to"), message, None);
        }
        let start = file.start.unwrap_or(Duration::ZERO);
        self.check_times(start, file.stop, path);
        let transport = self.transport_of_workload(&file, path);
        let pages = match &file.pages {
            Some(pages) => Some(self.pages(pages.clone(), &file, path)?),
            None => None,
        };
        let sizes = match &pages {
            // Arrivals by load ask for the mean of what an arrival brings.
            Some((_, config)) => Some(Some((None, Distribution::Constant(config.mean_bytes())))),
            None => file.sizes.map(|sizes| {
                let (sizes, distribution) = self.sizes(sizes, &path.key("sizes"))?;
                Some((Some(sizes), distribution))
            }),
        };
        let arrivals = self.arrivals(&file.arrivals, &sizes, path);
        if self.problems.count() > before {
            return None;
        }
        let (arrivals, arrival_config) = arrivals?;
        let (sizes, distribution) = match sizes {
            Some(sizes) => sizes?,
            None => (None, Distribution::Constant(1.0)),
        };
        let (pages, page_config) = pages.unzip();
        let is_transfers = pages.is_none();
        Some(Workload {
            name: file.name,
            from,
            to,
            transport: transport?,
            burst: file.burst,
            arrivals,
            sizes,
            connections: is_transfers.then(|| file.connections.unwrap_or(ConnectionsFile::New)),
            pages,
            start,
            stop: file.stop.filter(|&stop| self.duration.is_none_or(|duration| stop < duration)),
            count: file.count,
            ttl: file.ttl.unwrap_or(self.by_profile(super::traffic::TTL.0, super::traffic::TTL.1)),
            class: file.class.unwrap_or(0),
            jitter: file.jitter.filter(|jitter| !jitter.is_zero()),
            arrival_config,
            distribution,
            page_config: page_config.map(Arc::new),
        })
    }

    fn transport_of_workload(&mut self, file: &WorkloadFile, path: &Path) -> Option<Transport> {
        let given = [("tcp", file.tcp.is_some()), ("quic", file.quic.is_some()), ("udp", file.udp.is_some())];
        let mut given = given.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key);
        let Some(first) = given.next() else {
            let help = "write tcp = \"cubic\", quic = \"quinn\" or udp = {} with burst = { rate, payload }";
            self.add(path, "has no transport", Some(help.to_owned()));
            return None;
        };
        if let Some(second) = given.next() {
            self.add(&path.key(second), format!("excludes {first:?}"), Some("keep one of them".to_owned()));
            return None;
        }
        if file.burst.is_some() != file.udp.is_some() {
            let help = "write udp = {} and burst = { rate = \"1 Mbit/s\", payload = \"1200 B\" }".to_owned();
            let message = "goes with \"udp\", and \"udp\" with it: UDP does not say how fast to send";
            self.add(&path.key("burst"), message, Some(help));
            return None;
        }
        if let (Some(udp), Some(burst)) = (&file.udp, &file.burst) {
            let needs = [("pages", file.pages.is_some(), "TCP or QUIC"), ("jitter", file.jitter.is_some(), "TCP")];
            for (key, _, what) in needs.into_iter().filter(|&(_, is_given, _)| is_given) {
                self.add(&path.key(key), format!("needs {what}, and this workload has UDP"), None);
            }
            if matches!(file.connections, Some(ConnectionsFile::Persistent(_))) {
                self.add(&path.key("connections"), "have no meaning for UDP, whose datagrams need none", None);
            }
            let header = udp.header.unwrap_or(self.by_profile(UDP_HEADER.0, UDP_HEADER.1));
            self.check_packet_size(header, 0, &path.key("udp").key("header"));
            self.check_packet_size(burst.payload, 1, &path.key("burst").key("payload"));
            return Some(Transport::Udp { header });
        }
        match &file.quic {
            Some(quic) => {
                if quic.sends_messages() {
                    let help = "leave it out, or write a flow with constant_rate, messages or call".to_owned();
                    let message = "sends messages, and a workload's transfers need streams";
                    self.add(&path.key("quic").key("datagrams"), message, Some(help));
                }
                self.quic(quic, false, file.jitter.is_some(), path)
            }
            None => self.tcp(&[], file.jitter, path),
        }
    }

    /// The names of nodes in their order, each once.
    fn nodes_of(&mut self, names: &[String], path: &Path) -> Vec<String> {
        let is_list = self.tree.find(path).and_then(Node::list).is_some();
        if names.is_empty() {
            self.add(path, "must name a node", None);
        }
        let mut known = BTreeSet::new();
        for (i, name) in names.iter().enumerate() {
            let path = if is_list { path.index(i) } else { path.clone() };
            self.look_up(name, &path);
            if !known.insert(name) {
                self.add(&path, format!("{name:?} is in the list twice"), None);
            }
        }
        let mut names = names.to_vec();
        names.sort_by(|a, b| natural_order(a, b));
        names
    }

    fn arrivals(
        &mut self,
        file: &ArrivalsFile,
        sizes: &Option<Option<(Option<SizesFile>, Distribution)>>,
        path: &Path,
    ) -> Option<(ArrivalsFile, ArrivalConfig)> {
        let at = path.key("arrivals");
        if sizes.is_none() && !matches!(file, ArrivalsFile::At(_)) {
            self.add(
                path,
                "has no sizes",
                Some("write sizes = { constant = \"100 kB\" }, sizes = \"web-search\" or pages = {}".to_owned()),
            );
            return None;
        }
        match file {
            ArrivalsFile::Poisson(PoissonFile { per_s: Some(per_s), load: None }) => {
                let place = at.key("poisson").key("per_s");
                if !(*per_s > 0.0 && *per_s <= HIGHEST_RATE) {
                    self.add(&place, format!("is {per_s}; use more than 0 and at most {HIGHEST_RATE}"), None);
                    return None;
                }
                Some((file.clone(), ArrivalConfig::Renewal(Distribution::Exponential { mean: 1.0 / per_s })))
            }
            ArrivalsFile::Poisson(PoissonFile { per_s: None, load: Some(load) }) => {
                // The problem with the sizes has been reported.
                let (_, distribution) = sizes.as_ref()?.as_ref()?;
                let mean = distribution.mean() * 8.0 / load.bps_f64();
                Some((file.clone(), ArrivalConfig::Renewal(Distribution::Exponential { mean })))
            }
            ArrivalsFile::Poisson(_) => {
                let help = "write { poisson = { per_s = 10.0 } } or { poisson = { load = \"5 Mbit/s\" } }".to_owned();
                self.add(&at.key("poisson"), "needs one of \"per_s\" and \"load\"", Some(help));
                None
            }
            ArrivalsFile::Renewal(gaps) => {
                let (gaps, distribution) = self.gaps(gaps, &at.key("renewal"))?;
                Some((ArrivalsFile::Renewal(gaps), ArrivalConfig::Renewal(distribution)))
            }
            ArrivalsFile::At(content) => {
                let place = at.key("at");
                let has_sizes = sizes.is_some();
                let (inline, list) = self.table(content, &place, |text| times(text, has_sizes))?;
                Some((ArrivalsFile::At(ContentFile::Inline(inline)), ArrivalConfig::Given(list)))
            }
        }
    }

    fn gaps(&mut self, file: &GapsFile, path: &Path) -> Option<(GapsFile, Distribution)> {
        let s = |duration: &Duration| duration.as_secs_f64();
        let distribution = match file {
            GapsFile::Constant(gap) => Distribution::Constant(s(gap)),
            GapsFile::Exponential(ExponentialGaps { mean }) => Distribution::Exponential { mean: s(mean) },
            GapsFile::Lognormal(LognormalGaps { median, sigma }) => {
                Distribution::Lognormal { median: s(median), sigma: *sigma }
            }
            GapsFile::Pareto(ParetoGaps { least, largest, shape }) => {
                Distribution::Pareto { least: s(least), largest: s(largest), shape: *shape }
            }
            GapsFile::Empirical(content) => {
                let read = |text: &str| empirical(text, "seconds", LONGEST.as_secs_f64());
                let (inline, distribution) = self.table(content, &path.key("empirical"), read)?;
                return Some((GapsFile::Empirical(ContentFile::Inline(inline)), distribution));
            }
        };
        self.check_distribution(&distribution, path, "0 s").then(|| (file.clone(), distribution))
    }

    pub(super) fn sizes(&mut self, file: SizesFile, path: &Path) -> Option<(SizesFile, Distribution)> {
        let b = |bytes: &Bytes| bytes.0 as f64;
        let distribution = match &file {
            SizesFile::Named(SizesName::WebSearch) => Distribution::of_segments(&WEB_SEARCH),
            SizesFile::Named(SizesName::DataMining) => Distribution::of_segments(&DATA_MINING),
            SizesFile::Named(SizesName::CacheFollower) => Distribution::Empirical(CACHE_FOLLOWER.into()),
            SizesFile::Options(SizesOptions::Constant(bytes)) => Distribution::Constant(b(bytes)),
            SizesFile::Options(SizesOptions::Exponential(ExponentialSizes { mean })) => {
                Distribution::Exponential { mean: b(mean) }
            }
            SizesFile::Options(SizesOptions::Lognormal(LognormalSizes { median, sigma })) => {
                Distribution::Lognormal { median: b(median), sigma: *sigma }
            }
            SizesFile::Options(SizesOptions::Pareto(ParetoSizes { least, largest, shape })) => {
                Distribution::Pareto { least: b(least), largest: b(largest), shape: *shape }
            }
            SizesFile::Options(SizesOptions::Empirical(content)) => {
                let read = |text: &str| empirical(text, "bytes", LARGEST_TRANSFER);
                let (inline, distribution) = self.table(content, &path.key("empirical"), read)?;
                let inline = SizesFile::Options(SizesOptions::Empirical(ContentFile::Inline(inline)));
                return Some((inline, distribution));
            }
        };
        self.check_distribution(&distribution, path, "0 B").then_some((file, distribution))
    }

    /// Whether the parameters are those of a distribution.
    pub(super) fn check_distribution(&mut self, distribution: &Distribution, path: &Path, zero: &str) -> bool {
        let before = self.problems.count();
        let above = format!("must be more than {zero}");
        match *distribution {
            Distribution::Constant(0.0) => self.add(&path.key("constant"), above, None),
            Distribution::Exponential { mean: 0.0 } => self.add(&path.key("exponential").key("mean"), above, None),
            Distribution::Lognormal { median, sigma } => {
                let path = path.key("lognormal");
                if median == 0.0 {
                    self.add(&path.key("median"), above, None);
                }
                if !(sigma > 0.0 && sigma <= LARGEST_SIGMA) {
                    self.add(
                        &path.key("sigma"),
                        format!("is {sigma}; use more than 0 and at most {LARGEST_SIGMA}"),
                        None,
                    );
                }
            }
            Distribution::Pareto { least, largest, shape } => {
                let path = path.key("pareto");
                if least == 0.0 {
                    self.add(&path.key("least"), above, None);
                }
                if largest <= least {
                    self.add(&path.key("largest"), "must be more than \"least\"", None);
                }
                if !(SHAPES.0..=SHAPES.1).contains(&shape) {
                    self.add(&path.key("shape"), format!("is {shape}; use {} to {}", SHAPES.0, SHAPES.1), None);
                }
            }
            _ => {}
        }
        self.problems.count() == before
    }

    /// A file with what it says; a line that says nothing is a problem.
    fn table<T>(
        &mut self,
        file: &ContentFile,
        path: &Path,
        read: impl FnOnce(&str) -> Result<T, Unread>,
    ) -> Option<(InlineFile, T)> {
        let Content { name, text, .. } = self.content(file, path)?;
        match read(&text) {
            Ok(found) => Some((InlineFile { text }, found)),
            Err((line, message)) => {
                self.add(path, format!("{name}, line {line}: {message}"), None);
                None
            }
        }
    }
}

/// The names of the columns of a table, and its rows with the number of each line.
type Columns = (Vec<String>, Vec<(usize, Vec<f64>)>);

/// The line that says nothing, and why.
type Unread = (usize, String);

/// The columns of a table of CSV with their names in the first line, and the number of each line. Lines that are empty
/// or begin with "#" do not count.
fn columns(text: &str, allowed: &[&str]) -> Result<Columns, Unread> {
    let numbered = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    let mut lines = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let Some((first, head)) = lines.next() else { return Err((1, "there is no header".to_owned())) };
    let names: Vec<String> = head.split(',').map(|name| name.trim().to_owned()).collect();
    if names.first().map(String::as_str) != allowed.first().copied() {
        return Err((first, format!("the first column must be {}", allowed[0])));
    }
    let twice =
        names.iter().enumerate().find(|(i, name)| names[..*i].contains(name) || !allowed.contains(&name.as_str()));
    if let Some((_, odd)) = twice {
        return Err((first, format!("{:?} is not a column here: use {}", shorten(odd), allowed.join(" and "))));
    }
    let mut rows = Vec::new();
    for (number, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != names.len() {
            return Err((number, format!("has {} fields, the header {}", fields.len(), names.len())));
        }
        let value = |(name, field): (&String, &&str)| {
            let value = field.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
            value.ok_or_else(|| (number, format!("{name} is {:?}; use a number that is not negative", shorten(field))))
        };
        rows.push((number, names.iter().zip(&fields).map(value).collect::<Result<Vec<f64>, _>>()?));
        if rows.len() > MOST_ROWS {
            return Err((number, format!("at most {MOST_ROWS} rows are read")));
        }
    }
    if rows.is_empty() { Err((first, "there is no row".to_owned())) } else { Ok((names, rows)) }
}

type Given = Arc<[(Duration, Option<u64>)]>;

/// Instants in their order, with the bytes of each if the table has them.
fn times(text: &str, has_sizes: bool) -> Result<Given, Unread> {
    let (names, rows) = columns(text, &["time_s", "bytes"])?;
    match (names.len(), has_sizes) {
        (2, true) => {
            return Err((1, "it has a column bytes, and the workload has sizes or pages: keep one of them".to_owned()));
        }
        (1, false) => return Err((1, "it has no column bytes, and the workload has no sizes".to_owned())),
        _ => {}
    }
    let mut list: Vec<(Duration, Option<u64>)> = Vec::new();
    for (number, row) in rows {
        if row[0] > LONGEST.as_secs_f64() {
            return Err((number, format!("time_s is more than {}", LONGEST.as_secs_f64())));
        }
        let at = Duration::from_secs_f64(row[0]);
        if list.last().is_some_and(|(last, _)| *last > at) {
            return Err((number, "its time is before that of the line above".to_owned()));
        }
        let bytes = row.get(1).copied();
        if let Some(bytes) = bytes.filter(|bytes| !(1.0..=LARGEST_TRANSFER).contains(bytes) || bytes.fract() != 0.0) {
            return Err((number, format!("bytes is {bytes}; use a whole number from 1 to {LARGEST_TRANSFER}")));
        }
        list.push((at, bytes.map(|bytes| bytes as u64)));
    }
    Ok(list.into())
}

/// A distribution from values, or from values with the share of all up to each.
fn empirical(text: &str, unit: &str, largest: f64) -> Result<Distribution, Unread> {
    let (names, rows) = columns(text, &[unit, "cdf"])?;
    if let Some((number, _)) = rows.iter().find(|(_, row)| row[0] > largest) {
        return Err((*number, format!("{unit} is more than {largest}")));
    }
    if rows.iter().all(|(_, row)| row[0] == 0.0) {
        return Err((rows[0].0, format!("{unit} is never more than 0")));
    }
    if names.len() == 1 {
        return Ok(Distribution::of_values(rows.into_iter().map(|(_, row)| row[0]).collect()));
    }
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (number, row) in &rows {
        let (value, share) = (row[0], row[1]);
        if share > 1.0 {
            return Err((*number, format!("cdf is {share}; use 0 to 1")));
        }
        if points.last().is_some_and(|&(before, up_to)| value < before || share < up_to) {
            return Err((*number, "values and their shares must not fall from line to line".to_owned()));
        }
        points.push((value, share));
    }
    if points.last().is_none_or(|&(_, share)| share != 1.0) {
        return Err((rows[rows.len() - 1].0, "the last cdf must be 1".to_owned()));
    }
    Ok(Distribution::Empirical(points.into()))
}
