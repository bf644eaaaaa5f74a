//! Helpers at nodes of the network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration};
use skyhop_transport::TcpSpec;

/// A helper at a node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentFile {
    /// The node.
    pub at: String,
    /// It learns which packets were corrupted on some links, and tells their senders.
    pub error_report: Option<ErrorReportFile>,
    /// It keeps the TCP data that it forwards, and repairs losses behind it.
    pub snoop: Option<SnoopFile>,
    /// It makes links tell data how many errors they make.
    pub survival: Option<SurvivalFile>,
    /// It marks the ACKs that ask for what was corrupted.
    pub eln: Option<ElnFile>,
    /// It splits the connections of the flows that go `via` it.
    pub pep: Option<PepFile>,
}

/// Backward explicit error notification (Govindarajan and Kousalya 2016). Senders listen whose `tcp` has a
/// `notification`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorReportFile {
    /// Links whose far ends check what arrives, as in "berkeley->sky"; "isl" for all between satellites. Without it:
    /// the station's own "…->sky", elsewhere all that leave the node.
    pub links: Option<Vec<String>>,
    /// Packets of one estimate of the error rate. Without it: 10.
    #[schemars(range(min = 1))]
    pub window: Option<u32>,
    /// Weight of a new estimate in the smoothed one. Without it: 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub weight: Option<f64>,
    /// What the error rate is per. Without it: "byte" where a link has errors per byte, else "bit".
    pub unit: Option<UnitName>,
    /// Size of the packet that takes a record to the node when nothing waits for the way there. Without it: 40 B.
    pub probe: Option<Bytes>,
    /// What a record takes when it goes with packets that wait. Without it: 8 B.
    pub option: Option<Bytes>,
    /// Size of a report to a sender. Without it: 40 B.
    pub report: Option<Bytes>,
}

/// Snoop (Balakrishnan et al. 1995): losses behind the node are repaired from there, and duplicate ACKs of them do not
/// reach the sender.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnoopFile {
    /// Kept per connection at most. Without it: 100.
    #[schemars(range(min = 1))]
    pub packets: Option<u32>,
    /// Repetitions of a packet at most. Without it: 10.
    pub repeats: Option<u32>,
    /// The timer is at least so long. Without it: 100 ms.
    pub timer: Option<Duration>,
}

/// Cumulative explicit notification (Eddy et al. 2004): data carry the probability that no link corrupts them.
/// Senders listen whose `tcp` has the notification "ceten".
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SurvivalFile {
    /// Links whose far ends check what arrives, as of `error_report`.
    pub links: Option<Vec<String>>,
    /// Packets of one estimate of the error rate. Without it: 10.
    #[schemars(range(min = 1))]
    pub window: Option<u32>,
    /// Weight of a new estimate in the smoothed one. Without it: 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub weight: Option<f64>,
    /// What the error rate is per, as of `error_report`.
    pub unit: Option<UnitName>,
}

/// Explicit loss notification (Balakrishnan and Katz 1998): the far ends of some links note which segments are missing,
/// and ACKs that ask for one of them are marked when they come to the node. Senders listen whose `tcp` has the
/// notification "eln".
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ElnFile {
    /// Links whose far ends note what is missing, as of `error_report`.
    pub links: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnitName {
    Byte,
    Bit,
}

/// A split connection (RFC 3135): the node ends one TCP connection and begins another.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PepFile {
    /// TCP of the connections that begin here. Without it: "newreno", with `share` SACK that is paced.
    pub tcp: Option<TcpSpec>,
    /// Room for what has arrived and is not acknowledged further on, per flow. Without it: 65535 B.
    pub buffer: Option<Bytes>,
    /// How fast the connections that begin here send. Without it: "tcp".
    pub share: Option<ShareName>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShareName {
    /// As their TCP has it.
    #[default]
    Tcp,
    /// Each at an equal share of the rate of the link that it leaves by, whatever is lost (SaTPEP).
    Link,
}
