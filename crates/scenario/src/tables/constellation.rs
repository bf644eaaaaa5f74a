//! Constellations: which satellites fly.

use super::content::{ContentFile, InlineFile};
use super::gsl::{Gsl, GslFile};
use super::isl::{Isl, IslFile};
use crate::instant::Instant;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use skyhop_base::{Angle, Duration, Length};
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
    /// Elements whose epoch is further away from the start or the end are used with a warning. Without it: 7 d.
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

/// The name of a preset, of an alias of one, or of one of its shells.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PresetName(pub String);

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

/// Name of the preset whose satellites stand at given longitudes.
pub const GEO: &str = "geo";

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
