//! Flows: traffic from one node to another.

use super::queue::{Queue, QueueFile};
use super::quic::{Quic, QuicFile};
use super::tcp::{Linux, TcpFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Rate};
use skyhop_sim::applications::ApplicationConfig;
use skyhop_transport::TcpConfig;

/// Traffic from one node to another: `tcp` or `udp`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowFile {
    pub name: String,
    /// So many flows of this kind: a count of 3 makes ftp-0, ftp-1 and ftp-2 of "ftp".
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// Nodes on the path, in order, that split the connection: each has an agent with `pep`. Needs TCP.
    pub via: Option<Vec<String>>,
    /// An own link to `from` and one from `to` for each flow, between which it runs.
    pub access: Option<AccessFile>,
    /// TCP: a name, or a table of its parts and options.
    pub tcp: Option<TcpFile>,
    /// UDP.
    pub udp: Option<UdpFile>,
    /// A real QUIC stack: a name, or a table of its options.
    pub quic: Option<QuicFile>,
    /// Where the data comes from. With TCP or QUIC and without this key: "ftp".
    pub application: Option<ApplicationFile>,
    /// Without it: 0 s.
    pub start: Option<Duration>,
    /// Time over which the flows of a count start, evenly: flow i of n (from 0) starts at `start` + i/n of this. Needs
    /// `count`. Without it: all start together.
    pub start_spread: Option<Duration>,
    /// When the application stops producing data. Without it: at the end.
    pub stop: Option<Duration>,
    /// Hops that a packet may take; behind them it is dropped. Without it: 255, under `ns-2` 32.
    #[schemars(range(min = 1))]
    pub ttl: Option<u8>,
    /// Traffic class of the flow's packets, data and ACKs: the DSCP (cake, codel) or priority (prio, fq) by which
    /// queues tell packets apart. Without it: 0.
    #[schemars(range(max = 63))]
    pub class: Option<u8>,
    /// Longest time that the sender takes before it sends what its window releases, each time a random one between zero
    /// and this; breaks the lock-step of flows. Needs TCP. Without it: 0 s.
    pub jitter: Option<Duration>,
}

/// Links of a flow's own: from its source to the node `from`, and from the node `to` to its sink.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessFile {
    pub rate: Rate,
    /// One-way propagation delay of each of the two.
    pub delay: Duration,
    /// Without it: "unlimited".
    pub queue: Option<QueueFile>,
}

/// UDP: datagrams without acknowledgement.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UdpFile {
    /// Bytes added to each datagram on the wire.
    pub header: Option<Bytes>,
}

/// Where data comes from, by its name alone or with its options.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ApplicationFile {
    Named(ApplicationName),
    Options(ApplicationConfig),
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApplicationName {
    /// Always has data to send.
    Ftp,
}

/// A flow, or `count` of them.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    pub from: String,
    pub to: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    #[serde(flatten)]
    pub transport: Transport,
    pub application: ApplicationConfig,
    pub start: Duration,
    /// The flows of a count start evenly over this time, from `start` on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_spread: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    pub ttl: u8,
    pub class: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Duration>,
}

impl Flow {
    /// The names of the flows that this entry makes: "ftp", or "ftp-0", "ftp-1" with a count.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        let single = self.count.is_none().then(|| self.name.clone());
        let several = (0..self.count.unwrap_or(0)).map(|index| format!("{}-{index}", self.name));
        single.into_iter().chain(several)
    }

    /// When the flow with this index in the count starts: the starts divide `start_spread` evenly.
    pub fn start_of(&self, index: u64) -> Duration {
        let count = u64::from(self.count.unwrap_or(1)).max(1);
        let spread = self.start_spread.unwrap_or(Duration::ZERO).as_nanos();
        let after = u128::from(spread) * u128::from(index) / u128::from(count);
        // The quotient is below `spread`, which is 64 bits wide.
        self.start + Duration::from_nanos(after as u64)
    }
}

impl Flow {
    /// The names of the legs of one of its flows, in the order of the path: the last leg has the name of the flow.
    pub fn legs(&self, name: &str) -> Vec<String> {
        let before = self.via.iter().map(|node| format!("{name}.to-{node}"));
        before.chain([name.to_owned()]).collect()
    }
}

/// A flow's own links.
#[derive(Clone, Debug, Serialize)]
pub struct Access {
    pub rate: Rate,
    pub delay: Duration,
    pub queue: Queue,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Tcp(Box<TcpConfig>),
    /// Under the same key: its table says so.
    #[serde(rename = "tcp")]
    Linux(Box<Linux>),
    Udp {
        header: Bytes,
    },
    Quic(Box<Quic>),
}
