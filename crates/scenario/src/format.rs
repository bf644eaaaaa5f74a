//! The scenario file as it is written: the serde twin, from which the JSON Schema is generated. What may be left
//! out is an `Option`; its default is filled in by `resolve`. The comments here are the descriptions in the schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Angle, Bytes, Duration, Length, Rate};
use skyhop_cc::Profile;
use skyhop_transport::TcpSpec;
use std::collections::BTreeMap;

/// A network with its traffic.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Simulated time.
    pub duration: Duration,
    /// Defaults to start from. Without it: "rfc".
    pub profile: Option<Profile>,
    /// Satellites and the links between them and to the ground.
    pub constellation: Option<ConstellationFile>,
    /// Ground stations by name.
    #[serde(default)]
    pub stations: BTreeMap<String, StationFile>,
    /// Wired links, each for both directions. The nodes at their ends exist by being named here.
    #[serde(default)]
    pub links: Vec<LinkFile>,
    /// Traffic.
    #[serde(default)]
    pub flows: Vec<FlowFile>,
    /// How routes follow the network.
    pub routing: Option<RoutingFile>,
    /// What is kept of a run besides its totals.
    pub records: Option<RecordsFile>,
}

/// Satellites: a preset or shells, satellites that are given one by one, or both.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstellationFile {
    /// A known constellation with its links.
    pub preset: Option<PresetName>,
    /// Walker constellations.
    pub shells: Option<Vec<ShellFile>>,
    /// Satellites one by one.
    pub satellites: Option<Vec<SatelliteFile>>,
    /// Model of the Earth.
    pub earth: Option<EarthName>,
    /// Links between satellites. A preset has them; without a preset and without this key there are none.
    pub isl: Option<IslFile>,
    /// Links between satellites and ground stations.
    pub gsl: Option<GslFile>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PresetName {
    /// 6 planes of 11 satellites at 780 km with ISLs of 25 Mbit/s and GSLs of 1.5 Mbit/s.
    Iridium,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum EarthName {
    /// The ellipsoid WGS 84.
    #[serde(rename = "wgs-84")]
    Wgs84,
    /// The sphere of ns-2.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// A Walker constellation. Its satellites are called `<name>-<plane>-<slot>`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShellFile {
    /// Without it: "shell", or "shell-0", "shell-1" when there are several.
    pub name: Option<String>,
    /// Orbital planes.
    pub planes: u32,
    /// Satellites in each plane.
    pub per_plane: u32,
    /// Above the equator.
    pub altitude: Length,
    pub inclination: Angle,
    /// Walker's F, from 0 to planes - 1: plane p is ahead of plane 0 by p F 360 deg / T. Without it: 0.
    pub phasing: Option<PhasingFile>,
    /// Without it: "delta".
    pub pattern: Option<PatternName>,
    /// Between the ascending nodes of neighbouring planes. Without it: 360 deg (delta) or 180 deg (star) / planes.
    pub raan_spacing: Option<Angle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PhasingFile {
    Factor(u32),
    Named(PhasingName),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhasingName {
    /// Odd planes are ahead of even ones by half of the spacing in a plane: ns-2's Iridium.
    OddPlanesHalfSpacing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PatternName {
    /// Planes over 360 deg of right ascension.
    Delta,
    /// Planes over 180 deg; the first and the last fly against each other along a seam.
    Star,
}

/// A satellite that is given by itself.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SatelliteFile {
    pub name: String,
    /// Stands above the equator at this longitude, east positive.
    pub geostationary: Angle,
}

/// Links between satellites: two to the neighbours in the plane, two to the neighbouring planes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IslFile {
    pub rate: Option<Rate>,
    pub queue: Option<QueueFile>,
    /// What happens to the packets of a link that goes down.
    pub on_down: Option<OnDownName>,
    /// Bytes added to each packet while it is sent.
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorFile>>,
    /// Whether the first and the last plane of a star are linked.
    pub cross_seam: Option<bool>,
    /// Links between planes are down while one end is beyond this latitude, north or south.
    pub latitude_cut: Option<Angle>,
    /// Links between planes are down while their line of sight comes closer to the ground than this.
    pub grazing_altitude: Option<Length>,
    /// Time between checks.
    pub every: Option<Duration>,
}

/// Links between ground stations and satellites. `uplink` and `downlink` say where the two directions differ.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GslFile {
    pub rate: Option<Rate>,
    pub queue: Option<QueueFile>,
    /// What happens to the packets that wait for a satellite that is left.
    pub on_down: Option<OnDownName>,
    /// Bytes added to each packet while it is sent.
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorFile>>,
    /// From stations to satellites.
    pub uplink: Option<TransmitterFile>,
    /// From satellites to stations.
    pub downlink: Option<TransmitterFile>,
    /// A station uses satellites that stand higher than this above its horizon.
    pub elevation_mask: Option<Angle>,
    pub handover: Option<HandoverFile>,
}

/// What one direction of a ground-satellite link has of its own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransmitterFile {
    pub rate: Option<Rate>,
    pub queue: Option<QueueFile>,
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorFile>>,
}

/// When a station changes its satellite.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoverFile {
    pub policy: Option<HandoverPolicyName>,
    /// Time between checks.
    pub every: Option<Duration>,
    /// Whether each interval is drawn between half and one and a half of `every`.
    pub randomise: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandoverPolicyName {
    /// Keep the satellite until it is below the mask; then the one that follows it in its plane, or else the
    /// highest: what ns-2 does.
    UntilBelowMask,
    /// The nearest at each check.
    Nearest,
    /// The highest above the horizon at each check.
    HighestElevation,
    /// The one that stays visible longest.
    LongestVisibility,
}

/// What happens to the packets of a satellite link that goes away. What is in the air arrives in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnDownName {
    /// Queued packets are lost at once.
    Drop,
    /// Queued packets are sent to the old peer and lost there.
    SendInVain,
    /// Queued packets wait for the link, or go to the new peer.
    Hold,
    /// Queued packets are routed afresh from the node where they wait.
    Reroute,
    /// Queued packets still cross to the old peer.
    Drain,
}

/// A ground station.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationFile {
    /// North positive.
    pub latitude: Angle,
    /// East positive.
    pub longitude: Angle,
    /// Above the surface of the Earth. Without it: 0 km.
    pub altitude: Option<Length>,
}

/// A wired link. `forward` (from the first to the second node) and `backward` say where the directions differ.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFile {
    /// The nodes at the ends.
    pub between: [String; 2],
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    pub delay: Option<Duration>,
    pub queue: Option<QueueFile>,
    /// Bytes added to each packet while it is sent.
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorFile>>,
    pub forward: Option<DirectionFile>,
    pub backward: Option<DirectionFile>,
}

/// What one direction of a link has of its own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionFile {
    pub rate: Option<Rate>,
    pub delay: Option<Duration>,
    pub queue: Option<QueueFile>,
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorFile>>,
}

/// A queue discipline, by its name alone or with its options.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum QueueFile {
    Named(QueueName),
    Options(QueueOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueName {
    /// First in, first out; an arrival that finds no room is dropped.
    DropTail,
    /// First in, first out, without limit.
    Unlimited,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueOptions {
    /// First in, first out; an arrival that finds no room is dropped.
    DropTail(DropTailFile),
}

/// The room of a queue, in packets or in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropTailFile {
    /// At most so many packets. Without `packets` and `bytes`: 50.
    pub packets: Option<u32>,
    /// At most so many bytes wait.
    pub bytes: Option<Bytes>,
    /// What the limit in packets counts.
    pub counts: Option<CountsName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountsName {
    /// Packets that wait, as Linux counts.
    Waiting,
    /// Also the one that is being sent, as ns-2 counts.
    WithService,
}

/// Losses that are no congestion. The packet has used the link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorFile {
    /// Each packet is lost with this probability, independently of the others.
    Packet(#[schemars(range(min = 0.0, max = 1.0))] f64),
    /// These data segments of a flow are lost, each at its first transmission.
    Segments(SegmentErrors),
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SegmentErrors {
    /// Name of the flow.
    pub flow: String,
    /// Numbers of the segments, counted as the sender numbers them: segment 0 opens the connection.
    pub segments: Vec<u32>,
}

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
    /// An own link to `from` and one from `to` for each flow, between which it runs.
    pub access: Option<AccessFile>,
    /// TCP: a name, or a table of its parts and options.
    pub tcp: Option<TcpSpec>,
    /// UDP.
    pub udp: Option<UdpFile>,
    /// Where the data comes from. With TCP and without this key: "ftp".
    pub application: Option<ApplicationFile>,
    /// Without it: 0 s.
    pub start: Option<Duration>,
    /// When the application stops producing data. Without it: at the end.
    pub stop: Option<Duration>,
    /// Hops after which a packet is dropped.
    #[schemars(range(min = 1))]
    pub ttl: Option<u8>,
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
    Options(ApplicationOptions),
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApplicationName {
    /// Always has data to send.
    Ftp,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApplicationOptions {
    /// Always has data to send.
    Ftp(FtpFile),
    /// Equal portions in equal times.
    ConstantRate(SourceFile),
    /// Equal portions at random, independent instants; the rate is the mean.
    Poisson(SourceFile),
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FtpFile {
    /// So many bytes. Without it: no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
    /// Of payload, without headers.
    pub rate: Rate,
    /// Of each portion.
    pub payload: Bytes,
}

/// How routes follow the network.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutingFile {
    /// Routes are renewed when a link comes or goes, and also after so much time.
    pub every: Option<Duration>,
}

/// What is kept of a run besides its totals.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordsFile {
    /// Step of the time series. Without it there are none.
    pub grid: Option<Duration>,
    /// Step of the positions of satellites. Without it there are none.
    pub positions: Option<Duration>,
    /// Links, as in "left->right", of which every packet is kept.
    pub packets: Option<Vec<String>>,
}
