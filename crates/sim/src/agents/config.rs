//! The agents that a scenario can name, with their options. One line in the list registers an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults};
use skyhop_transport::TcpSpec;

/// In a list of links: all between satellites.
pub const ISLS: &str = "isl";

/// Most bytes of a packet on the wire.
const LARGEST_PACKET: u64 = u16::MAX as u64;

/// The options of an agent, as a scenario writes them.
pub trait AgentModel {
    /// Says what is wrong with the options beyond what their schema tells.
    fn check(&self, _faults: &mut Faults) {}

    /// The links that it watches, for an agent that does: names as among the records, or [`ISLS`]. A scenario fills in
    /// those that leave the agent's node.
    fn links(&mut self) -> Option<&mut Option<Vec<String>>> {
        None
    }

    /// What its error rates are per, for an agent that estimates some. A scenario fills in the unit of the links'
    /// errors.
    fn unit(&mut self) -> Option<&mut Option<CountUnit>> {
        None
    }

    /// What one agent alone may do on a link, as in "another agent already reports the errors of".
    fn claim(&self) -> &'static str {
        ""
    }
}

macro_rules! agents {
    ($($(#[doc = $doc:literal])+ $key:ident: $variant:ident($options:ty);)+) => {
        /// What an agent does.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum AgentTask {
            $($(#[doc = $doc])+ $variant($options),)+
        }

        /// A helper at a node.
        #[derive(Clone, Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct AgentFile {
            /// The node.
            pub at: String,
            $($(#[doc = $doc])+ pub $key: Option<$options>,)+
            /// It splits the connections of the flows that go `via` it.
            pub pep: Option<PepOptions>,
        }

        impl AgentFile {
            /// The keys of which an agent has one.
            pub const KEYS: &'static [&'static str] = &[$(stringify!($key),)+ "pep"];

            /// The keys that are given.
            pub fn given(&self) -> Vec<&'static str> {
                let all = [$((stringify!($key), self.$key.is_some()),)+ ("pep", self.pep.is_some())];
                all.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect()
            }

            /// What the engine has it do; one that splits connections becomes legs of flows.
            pub fn task(&self) -> Option<AgentTask> {
                $(if let Some(options) = &self.$key {
                    return Some(AgentTask::$variant(options.clone()));
                })+
                None
            }
        }

        impl AgentTask {
            /// The key under which a scenario has it.
            pub fn key(&self) -> &'static str {
                match self { $(AgentTask::$variant(_) => stringify!($key),)+ }
            }

            /// Its options.
            pub fn model(&mut self) -> &mut dyn AgentModel {
                match self { $(AgentTask::$variant(options) => options,)+ }
            }
        }
    };
}

agents! {
    /// It learns which packets were corrupted on some links, and tells their senders.
    error_report: ErrorReport(ErrorReportOptions);
    /// It keeps the TCP data that it forwards, and repairs losses behind it.
    snoop: Snoop(SnoopOptions);
    /// It makes links tell data how many errors they make.
    survival: Survival(SurvivalOptions);
    /// It marks the ACKs that ask for what was corrupted.
    eln: Eln(ElnOptions);
}

/// Backward explicit error notification (Govindarajan and Kousalya 2016). Senders listen whose `tcp` has a
/// `notification`.
//
// Window and weight are those of the paper's section 4.1.2; packets without data are 40 B, an IP option of two words
// 8 B. The model stands in `report.rs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ErrorReportOptions {
    /// Links whose far ends check what arrives, as in "berkeley->sky"; "isl" for all between satellites. Without it:
    /// the station's own "…->sky", elsewhere all that leave the node.
    pub links: Option<Vec<String>>,
    /// Packets of one estimate of the error rate. Without it: 10.
    #[schemars(range(min = 1))]
    pub window: u32,
    /// Weight of a new estimate in the smoothed one. Without it: 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub weight: f64,
    /// What the error rate is per. Without it: "byte" where a link has errors per byte, else "bit".
    pub unit: Option<CountUnit>,
    /// Size of the packet that takes a record to the node when nothing waits for the way there. Without it: 40 B.
    pub probe: Bytes,
    /// What a record takes when it goes with packets that wait. Without it: 8 B.
    pub option: Bytes,
    /// Size of a report to a sender. Without it: 40 B.
    pub report: Bytes,
}

impl Default for ErrorReportOptions {
    fn default() -> ErrorReportOptions {
        ErrorReportOptions {
            links: None,
            window: 10,
            weight: 0.2,
            unit: None,
            probe: Bytes(40),
            option: Bytes(8),
            report: Bytes(40),
        }
    }
}

impl AgentModel for ErrorReportOptions {
    fn check(&self, faults: &mut Faults) {
        for (key, size) in [("probe", self.probe), ("option", self.option), ("report", self.report)] {
            if size.0 == 0 || size.0 > LARGEST_PACKET {
                faults.key(key).add(format_args!("must be 1 to {LARGEST_PACKET} B"));
            }
        }
    }

    fn links(&mut self) -> Option<&mut Option<Vec<String>>> {
        Some(&mut self.links)
    }

    fn unit(&mut self) -> Option<&mut Option<CountUnit>> {
        Some(&mut self.unit)
    }

    fn claim(&self) -> &'static str {
        "reports the errors of"
    }
}

/// Snoop (Balakrishnan et al. 1995): losses behind the node are repaired from there, and duplicate ACKs of them do not
/// reach the sender.
//
// The defaults are those of `algorithms.md` §3.2; the model stands in `snoop.rs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SnoopOptions {
    /// Kept per connection at most. Without it: 100.
    #[schemars(range(min = 1))]
    pub packets: u32,
    /// Repetitions of a packet at most. Without it: 10.
    pub repeats: u32,
    /// The timer is at least so long. Without it: 100 ms.
    pub timer: Duration,
}

impl Default for SnoopOptions {
    fn default() -> SnoopOptions {
        SnoopOptions { packets: 100, repeats: 10, timer: Duration::from_millis(100) }
    }
}

impl AgentModel for SnoopOptions {}

/// Cumulative explicit notification (Eddy et al. 2004): data carry the probability that no link corrupts them.
/// Senders listen whose `tcp` has the notification "ceten".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SurvivalOptions {
    /// Links whose far ends check what arrives, as of `error_report`.
    pub links: Option<Vec<String>>,
    /// Packets of one estimate of the error rate. Without it: 10.
    #[schemars(range(min = 1))]
    pub window: u32,
    /// Weight of a new estimate in the smoothed one. Without it: 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub weight: f64,
    /// What the error rate is per, as of `error_report`.
    pub unit: Option<CountUnit>,
}

impl Default for SurvivalOptions {
    fn default() -> SurvivalOptions {
        let ErrorReportOptions { window, weight, .. } = ErrorReportOptions::default();
        SurvivalOptions { links: None, window, weight, unit: None }
    }
}

impl AgentModel for SurvivalOptions {
    fn links(&mut self) -> Option<&mut Option<Vec<String>>> {
        Some(&mut self.links)
    }

    fn unit(&mut self) -> Option<&mut Option<CountUnit>> {
        Some(&mut self.unit)
    }

    fn claim(&self) -> &'static str {
        "marks survivors of"
    }
}

/// Explicit loss notification (Balakrishnan and Katz 1998): the far ends of some links note which segments are missing,
/// and ACKs that ask for one of them are marked when they come to the node. Senders listen whose `tcp` has the
/// notification "eln".
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ElnOptions {
    /// Links whose far ends note what is missing, as of `error_report`.
    pub links: Option<Vec<String>>,
}

impl AgentModel for ElnOptions {
    fn links(&mut self) -> Option<&mut Option<Vec<String>>> {
        Some(&mut self.links)
    }

    fn claim(&self) -> &'static str {
        "marks losses on"
    }
}

/// A split connection (RFC 3135): the node ends one TCP connection and begins another.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PepOptions {
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

/// What an error rate is per.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountUnit {
    Byte,
    Bit,
}

impl CountUnit {
    pub const fn per_byte(self) -> u32 {
        match self {
            CountUnit::Byte => 1,
            CountUnit::Bit => 8,
        }
    }
}
