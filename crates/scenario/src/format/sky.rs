//! Constellations, ground stations and routing.

use super::{LinkProfileFile, QueueFile, RepairFile, TraceFile};
use crate::instant::Instant;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use skyhop_base::{Angle, Bytes, Duration, Length, Rate};
use skyhop_sim::errors::ErrorConfig;
use std::borrow::Cow;

/// Satellites: a preset, shells, published elements, satellites that are given one by one.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstellationFile {
    /// A known constellation; "iridium" with its links.
    pub preset: Option<PresetName>,
    /// Where the satellites of the preset "geo" stand, east positive; the n-th is called geo-n, counted from 0.
    pub longitudes: Option<Vec<Angle>>,
    /// Walker constellations.
    pub shells: Option<Vec<ShellFile>>,
    /// Satellites from published elements, propagated by SGP4: a file of TLE, 3LE or OMM.
    pub elements: Option<ContentFile>,
    /// The instant of the calendar at which the run starts. Without it: the middle one of the elements' epochs.
    pub epoch: Option<Instant>,
    /// Elements whose epoch is further away from the start are used with a warning. Without it: 7 d.
    pub oldest: Option<Duration>,
    /// Satellites one by one.
    pub satellites: Option<Vec<SatelliteFile>>,
    /// Model of the Earth.
    pub earth: Option<EarthName>,
    /// Links between satellites. A preset has them; without a preset and without this key there are none.
    pub isl: Option<IslFile>,
    /// Links between satellites and ground stations.
    pub gsl: Option<GslFile>,
}

/// A file, by its path from the folder of the scenario, or what would stand in it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ContentFile {
    Path(String),
    Inline(InlineFile),
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InlineFile {
    pub text: String,
}

/// The name of a preset, of an alias of one, or of one of its shells.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PresetName(pub String);

/// Name of the preset whose satellites stand at given longitudes.
pub const GEO: &str = "geo";

impl PresetName {
    /// All names: "starlink", "kuiper", "starlink-1", ...
    pub fn all() -> Vec<String> {
        let mut names = vec![GEO.to_owned()];
        for preset in skyhop_orbit::presets() {
            names.push(preset.name.to_owned());
            names.extend(preset.aliases.iter().map(|&alias| alias.to_owned()));
            if preset.shells.len() > 1 {
                names.extend((1..=preset.shells.len()).map(|shell| format!("{}-{shell}", preset.name)));
            }
        }
        names
    }
}

impl JsonSchema for PresetName {
    fn schema_name() -> Cow<'static, str> {
        "PresetName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": PresetName::all() })
    }
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

/// Links between satellites.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IslFile {
    pub rate: Option<Rate>,
    pub queue: Option<QueueFile>,
    /// What happens to the packets of a link that goes down.
    pub on_down: Option<OnDownName>,
    /// Bytes added to each packet while it is sent.
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorConfig>>,
    /// What the link does about its errors.
    pub repair: Option<RepairFile>,
    /// Whether the first and the last plane of a star are linked.
    pub cross_seam: Option<bool>,
    /// Links between planes are down while one end is beyond this latitude, north or south.
    pub latitude_cut: Option<Angle>,
    /// Links between planes are down while their line of sight comes closer to the ground than this.
    pub grazing_altitude: Option<Length>,
    /// Which satellites are linked. Without it: "grid".
    pub layout: Option<LayoutFile>,
    /// Links are down while they are longer than this.
    pub longest: Option<Length>,
    /// Time between checks.
    pub every: Option<Duration>,
    /// When links are checked. Without it: "regular".
    pub checks: Option<IslChecksName>,
}

/// Between which satellites there may be links, by name alone or with values.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LayoutFile {
    Named(LayoutName),
    Options(LayoutOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LayoutName {
    /// Two neighbours in the plane and one in each neighbouring plane (+Grid). Planes of satellites from elements are
    /// found in them.
    Grid,
    /// No links.
    None,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LayoutOptions {
    /// At every check the closest two satellites that have a transmitter free are linked, then the next closest.
    Nearest(NearestFile),
    /// These pairs of satellites.
    List(Vec<[String; 2]>),
    /// As "grid", with choices about satellites from elements.
    Grid(GridFile),
}

/// The planes of satellites from elements. Satellites in no plane are left out of the scenario, with a warning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridFile {
    /// Who flies in which plane: CSV with the columns satellite (name or catalogue number), plane and, if wanted, slot
    /// and shell. Neighbouring planes are linked slot by slot; without slots by phase. Without it: planes are found by
    /// inclination, altitude and node, and linked by phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planes: Option<ContentFile>,
    /// The shells that stay, by their names in `skyhop planes`. Without it: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shells: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NearestFile {
    /// Transmitters of each satellite.
    #[schemars(range(min = 1, max = 16))]
    pub links: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IslChecksName {
    /// At t = 0 and after every interval.
    Regular,
    /// Each satellite by itself, after half to one and a half of the interval.
    Randomised,
    /// When something changes, to the microsecond.
    Exact,
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
    pub errors: Option<Vec<ErrorConfig>>,
    /// What the link does about its errors.
    pub repair: Option<RepairFile>,
    /// A recording that the transmitters of both directions follow, each for itself.
    pub trace: Option<TraceFile>,
    /// How links of an operator behave; concerns stations without a wired link. Not with a recording.
    pub profile: Option<LinkProfileFile>,
    /// From stations to satellites.
    pub uplink: Option<TransmitterFile>,
    /// From satellites to stations.
    pub downlink: Option<TransmitterFile>,
    /// A station uses satellites that stand higher than this above its horizon.
    pub elevation_mask: Option<Angle>,
    /// A station uses satellites that are at most so far away (slant range), besides `elevation_mask`. Without it: the
    /// mask alone decides.
    pub longest: Option<Length>,
    pub handover: Option<HandoverFile>,
    /// What happens to the link while a station changes its satellite. Without it: "make_before_break".
    pub switching: Option<SwitchingFile>,
    /// A satellite serves at most so many stations that have no wired link. Without it: any number.
    #[schemars(range(min = 1))]
    pub users_per_satellite: Option<u32>,
    /// Spot beams of every satellite: "iridium", or their rings. Without it: one beam.
    pub beams: Option<BeamsFile>,
    /// Which satellites stations without a wired link may take. Without it: "any".
    pub gateways: Option<GatewaysName>,
}

/// Spot beams, by name alone or with values.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BeamsFile {
    Named(BeamsName),
    Options(BeamsOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BeamsName {
    /// 48 beams in four rings.
    Iridium,
}

/// Rings of equal sectors around the point below the satellite; all beams cover the same area.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeamsOptions {
    /// Beams of each ring, the innermost first.
    pub rings: Vec<u32>,
    /// Time between looks for the beam. Without it: 1 s.
    pub every: Option<Duration>,
    /// Time without a link at each change of beams. Without it: 0 s.
    pub outage: Option<Duration>,
}

/// A change of satellites, by name alone or with values.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SwitchingFile {
    Named(SwitchingName),
    Options(SwitchingOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwitchingName {
    /// The new link is there when the old one ends.
    MakeBeforeBreak,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwitchingOptions {
    /// The old link ends, and the new one comes up after the outage.
    BreakBeforeMake(OutageFile),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutageFile {
    /// Time without a link.
    pub outage: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GatewaysName {
    /// Any in sight.
    Any,
    /// Only those that serve a gateway, a station with a wired link, at that moment.
    BentPipe,
}

/// What one direction of a ground-satellite link has of its own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransmitterFile {
    pub rate: Option<Rate>,
    pub queue: Option<QueueFile>,
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorConfig>>,
    /// What the link does about its errors.
    pub repair: Option<RepairFile>,
    /// A recording that the transmitters follow, each for itself.
    pub trace: Option<TraceFile>,
    /// How links of an operator behave; concerns stations without a wired link.
    pub profile: Option<LinkProfileFile>,
}

/// When a station changes its satellite.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoverFile {
    pub policy: Option<HandoverPolicyName>,
    /// Time between checks.
    pub every: Option<Duration>,
    /// When a station checks its satellite. Without it: "regular".
    pub checks: Option<HandoverChecksFile>,
    /// The policy of gateways, stations with a wired link. Without it: `policy`, but "until-below-mask" where that is
    /// "random": a gateway that left its satellites by chance would break the way of those whom they serve.
    pub gateways: Option<HandoverPolicyName>,
}

/// Times of checks, by name alone or with values.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum HandoverChecksFile {
    Named(HandoverChecksName),
    Options(HandoverChecksOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandoverChecksName {
    /// At t = 0 and after every interval.
    Regular,
    /// Each station by itself, after half to one and a half of the interval.
    Randomised,
    /// When the choice changes, to the microsecond.
    Exact,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandoverChecksOptions {
    /// By the wall clock: slots of the interval.
    Slots(SlotsFile),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotsFile {
    /// A slot begins so much after each full minute. Without an epoch t = 0 is a full minute.
    pub at: Duration,
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
    /// At each check one of those in sight by chance.
    Random,
}

/// What happens to the packets of a satellite link that goes away. Packets that already propagate arrive in every case.
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

/// A ground station: at `latitude` and `longitude`, in a `city`, or on a `track`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationFile {
    /// North positive.
    pub latitude: Option<Angle>,
    /// East positive.
    pub longitude: Option<Angle>,
    /// Above the surface of the Earth. Without it: 0 km.
    pub altitude: Option<Length>,
    /// One of the 1,000 largest cities or a research site: "Palermo"; "Cambridge, GB" where several share a name.
    pub city: Option<String>,
    /// Where a user on the move is when.
    pub track: Option<Vec<WaypointFile>>,
    /// Satellites that the station uses at a time, each over an antenna of its own. Without it: 1; a gateway of bent
    /// pipes has 8.
    #[schemars(range(min = 1, max = 64))]
    pub antennas: Option<u32>,
    /// A wired link that the station uses instead of satellites at times.
    pub terrestrial: Option<TerrestrialFile>,
    /// One of `station_classes`: what the station does not say is said there.
    pub class: Option<String>,
    /// The station uses satellites higher than this. Without it: that of the class, or of `constellation.gsl`.
    pub elevation_mask: Option<Angle>,
    /// How the station takes its satellites. Without it: as the class says, or `constellation.gsl.handover`.
    pub handover: Option<HandoverPolicyName>,
    /// Parts of the sky in which the station sees no satellite. Without it: none.
    pub obstructions: Option<Vec<ObstructionFile>>,
}

/// A part of a station's sky behind a tree, a building or a mast.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObstructionFile {
    /// From the first clockwise to the second: from north, or on a `track` from the direction in which it goes.
    pub azimuth: [Angle; 2],
    /// From the first up to the second.
    pub elevation: [Angle; 2],
}

/// What stations of one kind have in common.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassOfStationsFile {
    /// Stations of this class, besides those that name it: a file as `stations_file`.
    pub file: Option<ContentFile>,
    /// Satellites that each station uses at a time, each over an antenna of its own. Without it: as without a class.
    #[schemars(range(min = 1, max = 64))]
    pub antennas: Option<u32>,
    /// The stations use satellites higher than this. Without it: than the mask of `constellation.gsl`.
    pub elevation_mask: Option<Angle>,
    /// How the stations take their satellites. Without it: as `constellation.gsl.handover` says.
    pub handover: Option<HandoverPolicyName>,
    /// A wired link from each station, which makes gateways of them.
    pub wire: Option<ClassWireFile>,
}

/// A wired link from each station of a class to one node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassWireFile {
    /// The other end of all these links.
    pub to: String,
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: WireDelayFile,
    pub queue: Option<QueueFile>,
}

/// The delay of wires from the stations of a class: the same for all, or by distance.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum WireDelayFile {
    Same(Duration),
    ByDistance(ByDistanceFile),
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ByDistanceFile {
    /// Light in fibre, along the great circle from each station.
    Fibre(FibreFile),
}

/// Fibre along the great circle, at c / 1.468 (G.652 fibre at 1550 nm).
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FibreFile {
    /// The city of the other end.
    pub to: String,
    /// How much longer the fibre is than the great circle. ITU-T Y.1541: 1.5 up to 1000 km, 1.25 beyond 1200 km.
    pub stretch: f64,
}

/// A terrestrial network to fall back on.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TerrestrialFile {
    /// The other end of the wired link.
    pub to: String,
    /// When it is used. Without it: "no_satellite".
    pub when: Option<TerrestrialRuleFile>,
}

/// A condition, by name alone or with values.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TerrestrialRuleFile {
    Named(TerrestrialRuleName),
    Options(TerrestrialRuleOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TerrestrialRuleName {
    /// When no satellite can be had.
    NoSatellite,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TerrestrialRuleOptions {
    /// When no satellite can be had that stands higher.
    Below(Angle),
    /// From the first to before the second moment of a pair.
    During(Vec<[Duration; 2]>),
    /// While the station is so near to a point.
    Within(CoverageFile),
}

/// The place that a terrestrial network covers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoverageFile {
    /// Latitude of its middle, north positive.
    pub latitude: Angle,
    /// Longitude of its middle, east positive.
    pub longitude: Angle,
    pub radius: Length,
}

/// A point of a track; between two the user moves on the shortest way at an even pace.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaypointFile {
    /// Since the start of the run.
    pub at: Duration,
    /// North positive.
    pub latitude: Angle,
    /// East positive.
    pub longitude: Angle,
    /// Above the surface of the Earth. Without it: 0 km.
    pub altitude: Option<Length>,
}

/// How routes follow the network.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutingFile {
    /// Routes are renewed when a link comes or goes, and also after so much time.
    pub every: Option<Duration>,
    /// What makes a route short. Without it: "delay".
    pub metric: Option<MetricName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetricName {
    /// Propagation delay.
    Delay,
    /// Links passed; of equal numbers the shorter delay.
    Hops,
}
