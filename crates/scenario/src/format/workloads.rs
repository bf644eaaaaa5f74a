//! Workloads: transfers that begin at random, each of its own size.

use super::{ContentFile, TcpFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Rate};

/// Transfers that begin one after another, each of its own size and between its own pair of nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadFile {
    pub name: String,
    /// The node that sends, or a list of nodes of which each transfer draws one.
    pub from: NodesFile,
    /// The node that receives, or a list of nodes of which each transfer draws one that does not send it.
    pub to: NodesFile,
    /// TCP: a name, or a table of its parts and options.
    pub tcp: TcpFile,
    /// When transfers begin.
    pub arrivals: ArrivalsFile,
    /// How many bytes a transfer has. Needed unless `arrivals` is a file that gives each its bytes.
    pub sizes: Option<SizesFile>,
    /// Which connection carries a transfer. Without it: "new".
    pub connections: Option<ConnectionsFile>,
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
    /// CSV with a column bytes: each value is equally likely; or with the columns bytes and cdf, the share of transfers up to
    /// that size.
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
    /// Each pair of nodes has so many, which take its transfers in turn; a transfer waits for those before it on its connection.
    Persistent(#[schemars(range(min = 1))] u32),
}
