//! Links between satellites.

use super::content::ContentFile;
use super::gsl::OnDownName;
use super::links::Transmitter;
use super::queue::QueueFile;
use super::repair::RepairFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Angle, Bytes, Duration, Length, Rate};
use skyhop_sim::errors::ErrorConfig;
use skyhop_topology::Unpaired;

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
    /// Time between checks of the phases of neighbouring planes that are linked by phase: if planes have drifted,
    /// satellites are paired again. "0 s": the links of the start remain. Without it: 10 min.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair_every: Option<Duration>,
    /// What becomes of a satellite that has no partner in a neighbouring plane, because one plane has more satellites
    /// than the other or a hole. Without it: "open".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpaired: Option<UnpairedName>,
    /// Laser terminals of each satellite with `unpaired = "nearest"`: two for its plane and one for each neighbouring
    /// plane; a second link takes one that is free at either end. Without it: 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4, max = 16))]
    pub terminals: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnpairedName {
    /// It has no link to that plane.
    Open,
    /// It is linked to the nearest in phase there that has a terminal free: a second link of that one.
    Nearest,
}

impl GridFile {
    /// The fastest planes of October 2025 (OneWeb's) drift by 0.02 spacings in this time.
    pub const PAIR_EVERY: Duration = Duration::from_secs(600);

    pub const TERMINALS: u32 = Unpaired::LEAST_TERMINALS;

    pub fn unpaired(&self) -> Unpaired {
        match self.unpaired {
            None | Some(UnpairedName::Open) => Unpaired::Open,
            Some(UnpairedName::Nearest) => {
                Unpaired::Nearest { terminals: self.terminals.unwrap_or(GridFile::TERMINALS) }
            }
        }
    }

    /// The time between looks; `None`: the links of the start remain.
    pub fn pairs_every(&self) -> Option<Duration> {
        Some(self.pair_every.unwrap_or(GridFile::PAIR_EVERY)).filter(|every| !every.is_zero())
    }
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

/// Links between satellites.
#[derive(Clone, Debug, Serialize)]
pub struct Isl {
    pub on_down: OnDownName,
    #[serde(flatten)]
    pub transmitter: Transmitter,
    pub layout: LayoutFile,
    pub cross_seam: bool,
    pub latitude_cut: Angle,
    pub grazing_altitude: Length,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<Length>,
    pub every: Duration,
    pub checks: IslChecksName,
}
