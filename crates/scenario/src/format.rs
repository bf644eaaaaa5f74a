//! The scenario file as it is written: the serde twin, from which the JSON Schema is generated. What may be left
//! out is an `Option`; its default is filled in by `resolve`. The comments here are the descriptions in the schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Duration;
use skyhop_sim::agents::config::AgentFile;
use std::collections::BTreeMap;

pub use crate::tables::constellation::{
    ConstellationFile, EarthName, GEO, PatternName, PhasingFile, PhasingName, PresetName, SatelliteFile, ShellFile,
};
pub use crate::tables::content::{ContentFile, InlineFile};
pub use crate::tables::flows::{AccessFile, ApplicationFile, ApplicationName, FlowFile, UdpFile};
pub use crate::tables::gsl::{
    BeamsFile, BeamsName, BeamsOptions, GatewaysName, GslFile, HandoverChecksFile, HandoverChecksName,
    HandoverChecksOptions, HandoverFile, HandoverPolicyName, OnDownName, OutageFile, SlotsFile, SwitchingFile,
    SwitchingName, SwitchingOptions,
};
pub use crate::tables::isl::{
    GridFile, IslChecksName, IslFile, LayoutFile, LayoutName, LayoutOptions, NearestFile, UnpairedName,
};
pub use crate::tables::links::{DirectionFile, LinkFile, TransmitterFile};
pub use crate::tables::queue::{
    CountsName, DropTailFile, PriorityName, QueueFile, QueueName, QueueOptions, RedCountingName, RedFile,
    RedSpacingName,
};
pub use crate::tables::quic::{
    QuicControlFile, QuicControlName, QuicFile, QuicOptions, QuicOursFile, QuicRuntimeName, QuicStackName,
    QuicTimersName,
};
pub use crate::tables::records::RecordsFile;
pub use crate::tables::repair::{ArqFile, CodeFile, ErasureFile, OrderName, RepairFile, RepeatsName};
pub use crate::tables::routing::{MetricName, RoutingFile};
pub use crate::tables::starlink::{
    AllowanceFile, AllowanceOrNone, FadesFile, FadesOrNone, GrantsFile, HoursFile, HoursName, LinkProfileFile,
    LinkProfileName, LinkProfileOptions, LossFile, NoneOfSet, ObstructedAtName, PauseFile, StarlinkDirection,
    StarlinkFile, StarlinkValues, UpToFile,
};
pub use crate::tables::stations::{
    ByDistanceFile, ClassOfStationsFile, ClassWireFile, CoverageFile, FibreFile, ObstructionFile, StationFile,
    TerrestrialFile, TerrestrialRuleFile, TerrestrialRuleName, TerrestrialRuleOptions, WaypointFile, WireDelayFile,
};
pub(crate) use crate::tables::tcp::name_of_other_profile;
pub use crate::tables::tcp::{
    LinuxControlFile, LinuxName, LinuxOptions, LinuxPacing, LinuxSpec, LinuxTable, ProfileName, TcpFile, TimersName,
};
pub use crate::tables::trace::TraceFile;
pub use crate::tables::workloads::{
    ArrivalsFile, BurstFile, ConnectionsFile, ExponentialGaps, ExponentialSizes, GapsFile, LognormalCount,
    LognormalGaps, LognormalSizes, NodesFile, ObjectCountFile, ObjectCountOptions, PageContentFile, PageName,
    PageObjectsFile, PagesFile, ParetoGaps, ParetoSizes, PoissonFile, SizesFile, SizesName, SizesOptions,
    WebProtocolFile, WebProtocolName, WebProtocolOptions, WorkloadFile,
};

/// Newest version of the scenario format. It rises when a file that was right before gets another meaning or is
/// refused. Version 2 differs from version 1 in the default of `profile` alone (`ProfileName::of_file`).
pub const FORMAT: u32 = 2;

/// The version in which canonical forms are written. They state every value, so a new default need not change their
/// text, and with it the hash of a scenario. In version 1 a TCP without `profile` is Skyhop's own.
pub const CANONICAL_FORMAT: u32 = 1;

/// A network with its traffic.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Version of this format. In version 1 `profile` is "rfc" by default. Another number is refused. Without it: 2.
    #[schemars(range(min = 1, max = 2))]
    pub format: Option<u32>,
    /// Simulated time.
    pub duration: Duration,
    /// Defaults to start from, and whose TCP the flows have. Without it: "linux"; in files with `format = 1`: "rfc".
    pub profile: Option<ProfileName>,
    /// What orders the events of a run. Without it: "nanoseconds".
    pub clock: Option<ClockName>,
    /// Satellites and the links between them and to the ground.
    pub constellation: Option<ConstellationFile>,
    /// Ground stations by name.
    #[serde(default)]
    pub stations: BTreeMap<String, StationFile>,
    /// Further ground stations: a file of CSV with the columns name, latitude_deg, longitude_deg and, if wanted,
    /// altitude_km and antennas, or of GeoJSON with points that have a name.
    pub stations_file: Option<ContentFile>,
    /// Kinds of stations by name, such as gateways and terminals.
    #[serde(default)]
    pub station_classes: BTreeMap<String, ClassOfStationsFile>,
    /// Wired links, each for both directions. The nodes at their ends exist by being named here.
    #[serde(default)]
    pub links: Vec<LinkFile>,
    /// Traffic.
    #[serde(default)]
    pub flows: Vec<FlowFile>,
    /// Transfers that begin at random.
    #[serde(default)]
    pub workloads: Vec<WorkloadFile>,
    /// Helpers at nodes.
    #[serde(default)]
    pub agents: Vec<AgentFile>,
    /// How routes follow the network.
    pub routing: Option<RoutingFile>,
    /// Records that a run keeps besides its totals.
    pub records: Option<RecordsFile>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum ClockName {
    /// Whole nanoseconds, and within one when the event was scheduled.
    #[default]
    #[serde(rename = "nanoseconds")]
    Nanoseconds,
    /// ns-2's: a double, whose rounding orders what exact arithmetic finds simultaneous. For wires of a steady rate.
    #[serde(rename = "ns-2")]
    Ns2,
}
