//! Ground stations.

use super::content::ContentFile;
use super::gsl::HandoverPolicyName;
use super::queue::QueueFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Angle, Duration, Length, Rate};

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

/// A point of a track; between two of them the user moves along the great circle at constant speed.
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

#[derive(Clone, Debug, Serialize)]
pub struct Station {
    /// With a track: where it begins.
    pub latitude: Angle,
    pub longitude: Angle,
    pub altitude: Length,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track: Option<Vec<WaypointFile>>,
    pub antennas: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elevation_mask: Option<Angle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverPolicyName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terrestrial: Option<TerrestrialFile>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub obstructions: Vec<ObstructionFile>,
}
