//! Stations and constellations.

use super::reach::Group;
use super::{Kind, MOST_COMPONENTS, Resolver};
use crate::format::{
    ConstellationFile, EarthName, GslFile, HandoverFile, HandoverPolicyName, IslFile, OnDownName, PatternName,
    PhasingFile, PhasingName, PresetName, SatelliteFile, ShellFile, StationFile, TransmitterFile,
};
use crate::names::natural_order;
use crate::scenario::{Constellation, Gsl, Handover, Isl, Satellite, Shell, Station, Transmitter};
use crate::tree::{Path, Step};
use skyhop_base::{Angle, Bytes, Duration, Length, Rate};
use skyhop_orbit::{GroundPoint, GroundStation, Orbit, OrbitError, Pattern, Phasing, Walker};
use std::collections::BTreeMap;

/// Name of a shell that has none.
const SHELL_NAME: &str = "shell";

/// Time between checks of satellite links: ns-2's for both kinds (`algorithms.md` §5.5).
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Without a mask of its own a station uses satellites above 10 deg, the usual minimum of user terminals; ns-2's
/// default is 0 (`algorithms.md` appendix A, elevation_mask_).
const ELEVATION_MASK: (Angle, Angle) = (Angle::from_degrees(10.0), Angle::from_degrees(0.0));

/// No limit; ns-2's default is 70 deg (`algorithms.md` appendix A, latitude_threshold_).
const LATITUDE_CUT: (Angle, Angle) = (Angle::from_degrees(90.0), Angle::from_degrees(70.0));

/// Above the weather, as Hypatia has it (Kassing et al., IMC 2020); ns-2's margin is 150 km (`algorithms.md` §5.5).
const GRAZING_ALTITUDE: (Length, Length) = (Length::from_km(80.0), Length::from_km(150.0));

/// ns-2's satellite link layer adds this to the time of serialisation (`algorithms.md` appendix A).
const NS2_FRAMING: Bytes = Bytes(16);

/// The values of Table 1 of the Iridium paper (Nirmala and Pujeri), which a preset puts under those of the file.
struct Preset {
    shell: fn() -> Walker,
    isl_rate: Option<Rate>,
    gsl_rate: Option<Rate>,
    elevation_mask: Angle,
    latitude_cut: Angle,
    grazing_altitude: Length,
}

fn preset(name: PresetName) -> Preset {
    match name {
        PresetName::Iridium => Preset {
            shell: Walker::iridium,
            isl_rate: Rate::from_bps(25_000_000),
            gsl_rate: Rate::from_bps(1_500_000),
            elevation_mask: Angle::from_degrees(8.2),
            latitude_cut: Angle::from_degrees(60.0),
            // Of ns-2's model, as the paper gives none.
            grazing_altitude: Length::from_km(150.0),
        },
    }
}

impl Resolver<'_, '_, '_> {
    pub(super) fn stations(&mut self) -> BTreeMap<String, Station> {
        let path = Path::root().key("stations");
        let Some(node) = self.tree.find(&path) else { return BTreeMap::new() };
        let Some(table) = node.table() else {
            self.nodes.incomplete = true;
            return BTreeMap::new();
        };
        if table.len() > MOST_COMPONENTS {
            self.add(&path, format!("has {} stations, at most {MOST_COMPONENTS} are possible", table.len()), None);
            return BTreeMap::new();
        }
        let mut stations = BTreeMap::new();
        for name in table.keys() {
            let path = path.key(name);
            self.declare(name, Kind::Station, &path);
            let Some(file) = self.take::<StationFile>(&path) else { continue };
            let altitude = file.altitude.unwrap_or(Length::from_km(0.0));
            let point = GroundPoint { latitude: file.latitude, longitude: file.longitude, altitude };
            if let Err(error) = GroundStation::new(point) {
                let key = match error {
                    OrbitError::Latitude { .. } => "latitude",
                    OrbitError::StationAltitude { .. } => "altitude",
                    _ => "longitude",
                };
                self.add(&path.key(key), error.to_string(), None);
            }
            if file.longitude.degrees().abs() > 360.0 {
                let message = format!("a longitude of {} does not exist: use -180 to 180 deg", file.longitude);
                self.add(&path.key("longitude"), message, None);
            }
            stations.insert(name.clone(), Station { latitude: file.latitude, longitude: file.longitude, altitude });
        }
        stations
    }

    pub(super) fn constellation(&mut self, stations: &BTreeMap<String, Station>) -> Option<Constellation> {
        let path = Path::root().key("constellation");
        self.tree.find(&path)?;
        let Some(file) = self.take::<ConstellationFile>(&path) else {
            self.nodes.incomplete = true;
            return None;
        };
        let before = self.problems.count();
        let preset = file.preset.map(preset);
        let shells = self.shells(&file, preset.as_ref(), &path);
        let satellites = self.satellites(file.satellites.as_deref().unwrap_or_default(), shells.len(), &path);
        if shells.is_empty() && satellites.is_empty() && self.problems.count() == before {
            let help = "give preset = \"iridium\", shells = [{ ... }] or satellites = [{ ... }]".to_owned();
            self.add(&path, "has no satellites", Some(help));
        }
        let isl = self.isl(&file, preset.as_ref(), &shells, &path);
        let gsl = self.gsl(&file, preset.as_ref(), &path);
        if gsl.is_none() && !stations.is_empty() && file.gsl.is_none() {
            let help = "write gsl = { rate = \"10 Mbit/s\" }".to_owned();
            self.add(&path.key("gsl"), "is missing: the stations have no link to a satellite", Some(help));
        }
        if self.problems.count() > before {
            self.nodes.incomplete = true;
        }
        let earth = file.earth.unwrap_or(self.by_profile(EarthName::Wgs84, EarthName::Ns2));
        Some(Constellation { earth, shells, satellites, isl, gsl })
    }

    fn shells(&mut self, file: &ConstellationFile, preset: Option<&Preset>, path: &Path) -> Vec<Shell> {
        let mut shells = Vec::new();
        match (preset, &file.shells) {
            (Some(_), Some(_)) => {
                let help = Some("keep one of them".to_owned());
                self.add(&path.key("shells"), "excludes \"preset\": the preset has shells of its own", help);
            }
            (Some(preset), None) => shells.push((of_walker(&(preset.shell)()), path.key("preset"))),
            (None, Some(files)) => {
                for (i, shell) in files.iter().enumerate() {
                    let name = match (&shell.name, files.len()) {
                        (Some(name), _) => name.clone(),
                        (None, 1) => SHELL_NAME.to_owned(),
                        (None, _) => format!("{SHELL_NAME}-{i}"),
                    };
                    shells.push((of_file(shell, name), path.key("shells").index(i)));
                }
            }
            (None, None) => {}
        }
        let mut total = 0_usize;
        for (group, (shell, path)) in shells.iter().enumerate() {
            total = total.saturating_add(shell.planes as usize * shell.per_plane as usize);
            if total > MOST_COMPONENTS {
                self.add(path, format!("the satellites are {total}, at most {MOST_COMPONENTS} are possible"), None);
                break;
            }
            self.nodes.groups.push(Group::Shell { altitude: shell.altitude, inclination: shell.inclination });
            self.shell_satellites(shell, group, path);
        }
        shells.sort_by(|(a, _), (b, _)| natural_order(&a.name, &b.name));
        shells.into_iter().map(|(shell, _)| shell).collect()
    }

    fn shell_satellites(&mut self, shell: &Shell, group: usize, path: &Path) {
        let named = path.key("name");
        let is_preset = matches!(path.steps().last(), Some(Step::Key(_)));
        if !is_preset && !self.check_name(&shell.name, &named) {
            return;
        }
        let spread = f64::from(shell.planes.saturating_sub(1)) * shell.raan_spacing.degrees();
        if !(shell.raan_spacing.degrees() > 0.0 && spread < 360.0) {
            let message = format!("{} between {} planes does not fit into 360 deg", shell.raan_spacing, shell.planes);
            self.add(&path.key("raan_spacing"), message, None);
            return;
        }
        match walker(shell).satellites() {
            Ok(satellites) => {
                for satellite in satellites {
                    self.declare(&satellite.name, Kind::Satellite(group), path);
                }
            }
            Err(error) => {
                let key = match error {
                    OrbitError::Altitude { .. } => "altitude",
                    OrbitError::Inclination { .. } => "inclination",
                    OrbitError::Empty { planes: 0, .. } => "planes",
                    OrbitError::Empty { .. } => "per_plane",
                    OrbitError::Phasing { .. } => "phasing",
                    _ => "raan_spacing",
                };
                self.add(&path.key(key), error.to_string(), None);
            }
        }
    }

    fn satellites(&mut self, files: &[SatelliteFile], groups: usize, path: &Path) -> Vec<Satellite> {
        let path = path.key("satellites");
        if files.len() > MOST_COMPONENTS {
            self.add(&path, format!("has {} satellites, at most {MOST_COMPONENTS} are possible", files.len()), None);
            return Vec::new();
        }
        for (i, file) in files.iter().enumerate() {
            let path = path.index(i);
            self.nodes.groups.push(Group::Geostationary { longitude: file.geostationary });
            self.declare(&file.name, Kind::Satellite(groups + i), &path.key("name"));
            let orbit = Orbit::Geostationary { longitude: file.geostationary };
            if orbit.check().is_err() || file.geostationary.degrees().abs() > 360.0 {
                let message = format!("a longitude of {} does not exist: use -180 to 180 deg", file.geostationary);
                self.add(&path.key("geostationary"), message, None);
            }
        }
        let mut satellites: Vec<Satellite> =
            files.iter().map(|file| Satellite { name: file.name.clone(), geostationary: file.geostationary }).collect();
        satellites.sort_by(|a, b| natural_order(&a.name, &b.name));
        satellites
    }

    fn isl(&mut self, file: &ConstellationFile, preset: Option<&Preset>, shells: &[Shell], path: &Path) -> Option<Isl> {
        let path = path.key("isl");
        let given = file.isl.clone();
        if given.is_none() && preset.is_none() {
            return None;
        }
        let given: IslFile = given.unwrap_or_default();
        let latitude_cut = given
            .latitude_cut
            .or(preset.map(|p| p.latitude_cut))
            .unwrap_or(self.by_profile(LATITUDE_CUT.0, LATITUDE_CUT.1));
        if !(0.0..=90.0).contains(&latitude_cut.degrees()) {
            self.add(&path.key("latitude_cut"), format!("{latitude_cut} is no latitude limit: use 0 to 90 deg"), None);
        }
        let grazing_altitude = given
            .grazing_altitude
            .or(preset.map(|p| p.grazing_altitude))
            .unwrap_or(self.by_profile(GRAZING_ALTITUDE.0, GRAZING_ALTITUDE.1));
        let lowest = shells.iter().map(|shell| shell.altitude.km()).fold(f64::INFINITY, f64::min);
        if grazing_altitude.km() < 0.0 || grazing_altitude.km() >= lowest {
            let message =
                format!("{grazing_altitude} lets no link be: use 0 km to less than the altitude of the satellites");
            self.add(&path.key("grazing_altitude"), message, None);
        }
        let every = given.every.unwrap_or(CHECK_INTERVAL);
        self.check_interval(every, &path.key("every"));
        let own = TransmitterFile {
            rate: given.rate.or(preset.and_then(|p| p.isl_rate)),
            queue: given.queue,
            framing: given.framing,
            errors: given.errors,
        };
        let transmitter = self.satellite_transmitter(&own, None, &path)?;
        Some(Isl {
            on_down: given.on_down.unwrap_or(self.by_profile(OnDownName::Reroute, OnDownName::Drain)),
            transmitter,
            cross_seam: given.cross_seam.unwrap_or(false),
            latitude_cut,
            grazing_altitude,
            every,
        })
    }

    fn gsl(&mut self, file: &ConstellationFile, preset: Option<&Preset>, path: &Path) -> Option<Gsl> {
        let path = path.key("gsl");
        if file.gsl.is_none() && preset.is_none() {
            return None;
        }
        let given: GslFile = file.gsl.clone().unwrap_or_default();
        let elevation_mask = given
            .elevation_mask
            .or(preset.map(|p| p.elevation_mask))
            .unwrap_or(self.by_profile(ELEVATION_MASK.0, ELEVATION_MASK.1));
        if !(-90.0..90.0).contains(&elevation_mask.degrees()) {
            let message = format!("{elevation_mask} is no elevation mask: use 0 deg to less than 90 deg");
            self.add(&path.key("elevation_mask"), message, None);
        }
        let handover: HandoverFile = given.handover.unwrap_or_default();
        let every = handover.every.unwrap_or(CHECK_INTERVAL);
        self.check_interval(every, &path.key("handover").key("every"));
        let shared = TransmitterFile {
            rate: given.rate.or(preset.and_then(|p| p.gsl_rate)),
            queue: given.queue,
            framing: given.framing,
            errors: given.errors,
        };
        let uplink = self.satellite_transmitter(&given.uplink.unwrap_or_default(), Some((&shared, "uplink")), &path);
        let downlink =
            self.satellite_transmitter(&given.downlink.unwrap_or_default(), Some((&shared, "downlink")), &path);
        Some(Gsl {
            on_down: given.on_down.unwrap_or(self.by_profile(OnDownName::Drop, OnDownName::SendInVain)),
            uplink: uplink?,
            downlink: downlink?,
            elevation_mask,
            handover: Handover {
                policy: handover.policy.unwrap_or(HandoverPolicyName::UntilBelowMask),
                every,
                randomise: handover.randomise.unwrap_or(false),
            },
        })
    }

    /// The transmitter of a satellite link; `shared` is what both directions have, and the key of this one.
    fn satellite_transmitter(
        &mut self,
        own: &TransmitterFile,
        shared: Option<(&TransmitterFile, &str)>,
        path: &Path,
    ) -> Option<Transmitter> {
        let framing = self.by_profile(Bytes(0), NS2_FRAMING);
        self.transmitter(own, shared, framing, path)
    }
}

fn of_walker(walker: &Walker) -> Shell {
    Shell {
        name: walker.name.clone(),
        planes: walker.planes,
        per_plane: walker.per_plane,
        altitude: walker.altitude,
        inclination: walker.inclination,
        phasing: match walker.phasing {
            Phasing::Factor(factor) => PhasingFile::Factor(factor),
            Phasing::OddPlanesHalfSpacing => PhasingFile::Named(PhasingName::OddPlanesHalfSpacing),
        },
        pattern: match walker.pattern {
            Pattern::Star => PatternName::Star,
            Pattern::Delta => PatternName::Delta,
        },
        raan_spacing: walker.raan_spacing(),
    }
}

fn of_file(file: &ShellFile, name: String) -> Shell {
    let pattern = file.pattern.unwrap_or(PatternName::Delta);
    let arc = match pattern {
        PatternName::Delta => 360.0,
        PatternName::Star => 180.0,
    };
    // No planes are a problem that is found later.
    let even = Angle::from_degrees(arc / f64::from(file.planes.max(1)));
    Shell {
        name,
        planes: file.planes,
        per_plane: file.per_plane,
        altitude: file.altitude,
        inclination: file.inclination,
        phasing: file.phasing.unwrap_or(PhasingFile::Factor(0)),
        pattern,
        raan_spacing: file.raan_spacing.unwrap_or(even),
    }
}

/// The constellation of a shell.
pub(crate) fn walker(shell: &Shell) -> Walker {
    Walker {
        name: shell.name.clone(),
        pattern: match shell.pattern {
            PatternName::Star => Pattern::Star,
            PatternName::Delta => Pattern::Delta,
        },
        planes: shell.planes,
        per_plane: shell.per_plane,
        altitude: shell.altitude,
        inclination: shell.inclination,
        phasing: match shell.phasing {
            PhasingFile::Factor(factor) => Phasing::Factor(factor),
            PhasingFile::Named(PhasingName::OddPlanesHalfSpacing) => Phasing::OddPlanesHalfSpacing,
        },
        raan_spacing: Some(shell.raan_spacing),
    }
}
