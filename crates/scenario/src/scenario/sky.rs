//! Constellations, ground stations and routing.

use super::Transmitter;
use crate::format::{
    BeamsOptions, EarthName, GatewaysName, HandoverChecksFile, HandoverPolicyName, InlineFile, IslChecksName,
    LayoutFile, MetricName, ObstructionFile, OnDownName, PatternName, PhasingFile, SwitchingFile, TerrestrialFile,
    WaypointFile,
};
use crate::instant::Instant;
use serde::Serialize;
use skyhop_base::{Angle, Duration, Length};

#[derive(Clone, Debug, Serialize)]
pub struct Constellation {
    pub earth: EarthName,
    /// The instant of the calendar at t = 0. Satellites from elements need one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Instant>,
    /// In the order of their names.
    pub shells: Vec<Shell>,
    #[serde(flatten)]
    pub elements: Option<Elements>,
    /// In the order of their names.
    pub satellites: Vec<Satellite>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isl: Option<Isl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gsl: Option<Gsl>,
}

/// Satellites from published elements.
#[derive(Clone, Debug, Serialize)]
pub struct Elements {
    /// All of the file: so its content enters the hash, and the canonical form needs no other file.
    pub elements: InlineFile,
    pub oldest: Duration,
    /// Those that fly at the start; with a grid, those in planes.
    #[serde(skip)]
    pub satellites: Vec<skyhop_orbit::Satellite>,
    /// With a grid.
    #[serde(skip)]
    pub planes: Option<ElementPlanes>,
}

/// The planes of satellites from elements, and who is in none.
#[derive(Clone, Debug)]
pub struct ElementPlanes {
    /// Indices of members into the satellites.
    pub shells: Vec<skyhop_orbit::FoundShell>,
    /// The index of its shell, for each satellite.
    pub shell_of: Vec<u32>,
    pub left_out: Vec<OutOfPlanes>,
    /// The file from which planes and slots come; `None` where they are found.
    pub given: Option<String>,
    /// That file says slots, by which satellites of neighbouring planes are linked.
    pub by_slot: bool,
}

/// A satellite that is left out of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfPlanes {
    pub name: String,
    pub catalogue_number: u32,
    /// One of few.
    pub reason: &'static str,
    /// With the satellite's own values.
    pub detail: String,
}

/// A Walker constellation.
#[derive(Clone, Debug, Serialize)]
pub struct Shell {
    pub name: String,
    pub planes: u32,
    pub per_plane: u32,
    pub altitude: Length,
    pub inclination: Angle,
    pub phasing: PhasingFile,
    pub pattern: PatternName,
    pub raan_spacing: Angle,
}

#[derive(Clone, Debug, Serialize)]
pub struct Satellite {
    pub name: String,
    pub geostationary: Angle,
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

/// Links between satellites and the ground.
#[derive(Clone, Debug, Serialize)]
pub struct Gsl {
    pub on_down: OnDownName,
    pub uplink: Transmitter,
    pub downlink: Transmitter,
    pub elevation_mask: Angle,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<Length>,
    pub handover: Handover,
    pub switching: SwitchingFile,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users_per_satellite: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beams: Option<BeamsOptions>,
    pub gateways: GatewaysName,
}

#[derive(Clone, Debug, Serialize)]
pub struct Handover {
    pub policy: HandoverPolicyName,
    pub every: Duration,
    pub checks: HandoverChecksFile,
    /// The policy of gateways; always there where it is not that of the others by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateways: Option<HandoverPolicyName>,
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

#[derive(Clone, Debug, Serialize)]
pub struct Routing {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    pub metric: MetricName,
}
