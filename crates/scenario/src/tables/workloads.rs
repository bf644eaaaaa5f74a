//! Workloads: transfers that begin at random, each of its own size.

use super::content::ContentFile;
use super::flows::{Transport, UdpFile};
use super::quic::QuicFile;
use super::tcp::TcpFile;
use crate::tree::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Rate};
use skyhop_sim::distribution::Distribution;
use skyhop_sim::pages::PagesConfig;
use skyhop_sim::workload::ArrivalConfig;
use std::sync::Arc;

/// Transfers that begin one after another, each of its own size and between its own pair of nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadFile {
    pub name: String,
    /// The node that sends, or a list of nodes of which each transfer draws one.
    pub from: NodesFile,
    /// The node that receives, or a list of nodes of which each transfer draws one that does not send it.
    pub to: NodesFile,
    /// TCP: a name, or a table of its parts and options. A workload has this, `quic` or `udp`.
    pub tcp: Option<TcpFile>,
    /// A QUIC stack: a name, or a table of its options.
    pub quic: Option<QuicFile>,
    /// UDP: each transfer is a burst of datagrams, and nothing is sent again.
    pub udp: Option<UdpFile>,
    /// How the datagrams of a transfer follow one another. Goes with `udp`, and is needed there.
    pub burst: Option<BurstFile>,
    /// When transfers begin.
    pub arrivals: ArrivalsFile,
    /// How many bytes a transfer has. Needed unless `arrivals` is a file that gives each its bytes, and not with
    /// `pages`.
    pub sizes: Option<SizesFile>,
    /// Which connection carries a transfer. Without it: "new". Not with `pages`.
    pub connections: Option<ConnectionsFile>,
    /// Each arrival is a user who loads web pages from `from`, in place of a transfer.
    pub pages: Option<PagesFile>,
    /// Without it: 0 s.
    pub start: Option<Duration>,
    /// No transfer begins from here on. Without it: the end of the run.
    pub stop: Option<Duration>,
    /// So many transfers at most. Without it: no limit.
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// As of a flow.
    #[schemars(range(min = 1))]
    pub ttl: Option<u8>,
    /// As of a flow.
    #[schemars(range(max = 63))]
    pub class: Option<u8>,
    /// As of a flow.
    pub jitter: Option<Duration>,
}

/// Datagrams at a constant rate, until all bytes of the transfer are sent. A transfer that loses one does not finish.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstFile {
    /// Rate of the payload, without headers.
    pub rate: Rate,
    /// User data of a datagram; the last one of a transfer has the rest.
    pub payload: Bytes,
}

/// What a user loads, and how.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PagesFile {
    /// What a page consists of. Without it: "median-2024".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<PageContentFile>,
    /// How objects are fetched. Without it: "http/2", over QUIC "http/3".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<WebProtocolFile>,
    /// Pages that a user loads one after another, over the same connections. Without it: 1.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub views: Option<u32>,
    /// Mean of the exponential time between the end of a page and the request for the next one. Goes with more than one
    /// view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Duration>,
    /// Size of a request, all headers included. Without it: 700 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Bytes>,
}

/// What a page consists of.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PageContentFile {
    Named(PageName),
    Objects(Box<PageObjectsFile>),
}

/// Pages that somebody has measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum PageName {
    /// 71 objects and 2,652 kB: the medians of desktop pages in the Web Almanac 2024.
    #[serde(rename = "median-2024")]
    Median2024,
}

/// A document, and the objects that load with it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageObjectsFile {
    /// Size of the document.
    pub document: SizesFile,
    /// How many other objects there are.
    pub objects: ObjectCountFile,
    /// Their sizes.
    pub sizes: SizesFile,
    /// The share of them that other objects name, and not the document. Without it: 0.
    #[schemars(range(min = 0.0, max = 0.99))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<f64>,
}

/// How many objects a page has.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ObjectCountFile {
    /// All pages have so many.
    Constant(#[schemars(range(max = 10000))] u32),
    Options(ObjectCountOptions),
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectCountOptions {
    Lognormal(LognormalCount),
}

/// The logarithm of a count is normal; the count is rounded, and at most 10,000.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LognormalCount {
    /// Half of the pages have more.
    #[schemars(range(min = 1, max = 10000))]
    pub median: u32,
    /// Standard deviation of the natural logarithm.
    pub sigma: f64,
}

/// How objects are fetched, by a name or in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum WebProtocolFile {
    Named(WebProtocolName),
    Options(WebProtocolOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum WebProtocolName {
    /// Six connections, and one request at a time on each.
    #[serde(rename = "http/1.1")]
    Http1,
    /// One connection that takes any number of requests.
    #[serde(rename = "http/2")]
    Http2,
    /// One connection of QUIC, and a stream for each object.
    #[serde(rename = "http/3")]
    Http3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebProtocolOptions {
    /// Connections of a user to the server.
    #[schemars(range(min = 1, max = 256))]
    pub connections: u32,
    /// Whether a connection takes any number of requests at once, or one.
    pub multiplexed: bool,
}

/// One node, or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NodesFile {
    One(String),
    Several(Vec<String>),
}

impl NodesFile {
    pub fn names(&self) -> &[String] {
        match self {
            NodesFile::One(name) => std::slice::from_ref(name),
            NodesFile::Several(names) => names,
        }
    }
}

/// When transfers begin.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalsFile {
    /// At random, independent instants: exponential gaps.
    Poisson(PoissonFile),
    /// Independent gaps of any distribution; the first one begins at `start`.
    Renewal(GapsFile),
    /// At given instants after `start`: CSV with a column time_s and, if wanted, bytes.
    At(ContentFile),
}

/// The rate of a Poisson process, by one of its two keys.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoissonFile {
    /// Transfers per second, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_s: Option<f64>,
    /// User data per second, on average: the rate is this divided by the mean of `sizes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Rate>,
}

/// How long the gaps between transfers are.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GapsFile {
    /// All equal.
    Constant(Duration),
    Exponential(ExponentialGaps),
    Lognormal(LognormalGaps),
    /// Pareto between two bounds.
    Pareto(ParetoGaps),
    /// CSV with a column seconds: each value is equally likely; or with the columns seconds and cdf.
    Empirical(ContentFile),
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExponentialGaps {
    pub mean: Duration,
}

/// The logarithm of a gap is normal.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LognormalGaps {
    /// Half of the gaps are longer.
    pub median: Duration,
    /// Standard deviation of the natural logarithm. The mean is median · exp(sigma²/2).
    pub sigma: f64,
}

/// Pareto between two bounds.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParetoGaps {
    pub least: Duration,
    pub largest: Duration,
    /// The share of gaps longer than x falls like x to the power of minus this.
    pub shape: f64,
}

/// How many bytes transfers have.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SizesFile {
    Named(SizesName),
    Options(SizesOptions),
}

/// Sizes that the field uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizesName {
    /// Web search: 8.8 kB to 29 MB, 1.7 MB on average (DCTCP, SIGCOMM 2010, figure 4).
    WebSearch,
    /// Data mining: 1.5 kB to 973 MB, 7.5 MB on average, half of them 1.5 kB (VL2, SIGCOMM 2009, figure 2).
    DataMining,
    /// Cache follower: 68 B to 3.8 MB, 0.69 MB on average, half of them below 28 kB (Roy et al., SIGCOMM 2015, figure
    /// 6).
    CacheFollower,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizesOptions {
    /// All equal.
    Constant(Bytes),
    Exponential(ExponentialSizes),
    Lognormal(LognormalSizes),
    /// Pareto between two bounds.
    Pareto(ParetoSizes),
    /// CSV with a column bytes: each value is equally likely; or with the columns bytes and cdf, the share of transfers
    /// up to that size.
    Empirical(ContentFile),
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExponentialSizes {
    pub mean: Bytes,
}

/// The logarithm of a size is normal.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LognormalSizes {
    /// Half of the transfers are larger.
    pub median: Bytes,
    /// Standard deviation of the natural logarithm. The mean is median · exp(sigma²/2).
    pub sigma: f64,
}

/// Pareto between two bounds.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParetoSizes {
    pub least: Bytes,
    pub largest: Bytes,
    /// The share of transfers larger than x falls like x to the power of minus this.
    pub shape: f64,
}

/// Which connection carries a transfer, by its name alone or with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionsFile {
    /// Each transfer opens its own.
    New,
    /// Each pair of nodes has so many, which take its transfers in turn; a transfer waits for those before it on its
    /// connection.
    Persistent(#[schemars(range(min = 1))] u32),
}

/// Transfers of one kind, as [`WorkloadFile`](crate::format::WorkloadFile) has them.
#[derive(Clone, Debug, Serialize)]
pub struct Workload {
    pub name: String,
    /// In the order of their names.
    pub from: Vec<String>,
    /// In the order of their names.
    pub to: Vec<String>,
    #[serde(flatten)]
    pub transport: Transport,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<BurstFile>,
    pub arrivals: ArrivalsFile,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizesFile>,
    /// None with pages, which have connections of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<ConnectionsFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesFile>,
    pub start: Duration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    pub ttl: u8,
    pub class: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Duration>,
    /// What `arrivals` means.
    #[serde(skip)]
    pub arrival_config: ArrivalConfig,
    /// What `sizes` means, in bytes.
    #[serde(skip)]
    pub distribution: Distribution,
    /// What `pages` means.
    #[serde(skip)]
    pub page_config: Option<Arc<PagesConfig>>,
}

impl Workload {
    /// Senders and receivers of its transfers, a pair for each node that it names, each with the key of the receiver.
    pub(crate) fn pairs(&self, path: &Path) -> Vec<(&str, &str, Path)> {
        let mut pairs = Vec::new();
        for from in &self.from {
            if let Some(to) = self.to.iter().find(|to| *to != from) {
                pairs.push((from.as_str(), to.as_str(), path.key("to")));
            }
        }
        for to in &self.to {
            if let Some(from) = self.from.iter().find(|from| *from != to) {
                pairs.push((from.as_str(), to.as_str(), path.key("to")));
            }
        }
        pairs
    }

    /// So many transfers begin in a run of this length, on average.
    pub fn expected_transfers(&self, duration: Duration) -> f64 {
        self.config(Vec::new(), Vec::new()).expected_transfers(duration)
    }
}
