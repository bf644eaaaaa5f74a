//! Constellations: presets, shells, elements, satellites one by one.

use super::reach::Group;
use super::{Kind, MOST_COMPONENTS, Resolver};
use crate::format::{
    ConstellationFile, EarthName, GEO, GatewaysName, InlineFile, LayoutFile, LayoutName, LayoutOptions, PatternName,
    PhasingFile, PhasingName, PresetName, SatelliteFile, ShellFile,
};
use crate::instant::Instant;
use crate::scenario::{Constellation, ElementPlanes, Elements, Isl, Satellite, Shell, Station};
use crate::tree::{Node, Path, Step};
use skyhop_base::{Angle, Length, Rate, natural_order};
use skyhop_orbit::{
    Catalogue, CatalogueNote, NoteKind, Orbit, OrbitError, Pattern, Phasing, Utc, Walker, read_elements,
};
use std::collections::BTreeMap;

/// Name of a shell that has none.
const SHELL_NAME: &str = "shell";

/// Where elements are so old, the first of them are named in the warning.
const NAMED_IN_WARNINGS: usize = 3;

/// The first of what may concern thousands, and how many more there are.
fn first_of(all: &[String], between: &str) -> String {
    let named = all[..all.len().min(NAMED_IN_WARNINGS)].join(between);
    match all.len().saturating_sub(NAMED_IN_WARNINGS) {
        0 => named,
        more => format!("{named}{between}and {more} more"),
    }
}

/// What a preset puts under the values of the file.
pub(super) struct Preset {
    shells: Vec<Walker>,
    /// Whether it has links without being asked.
    pub has_links: bool,
    pub isl_rate: Option<Rate>,
    pub gsl_rate: Option<Rate>,
    pub elevation_mask: Option<Angle>,
    pub latitude_cut: Option<Angle>,
    pub grazing_altitude: Option<Length>,
}

fn preset(name: &PresetName) -> Preset {
    let shells = skyhop_orbit::preset(&name.0).unwrap_or_default();
    // Name of the constellation to which the shell belongs.
    let family =
        shells.first().map_or("", |shell| shell.name.trim_end_matches(|c: char| c == '-' || c.is_ascii_digit()));
    let mask_deg = match family {
        "iridium" | "iridium-next" => Some(8.2),
        // FCC 21-48 §III; Kassing et al., "Exploring the Internet from space with Hypatia", IMC 2020, Table 1 for the
        // other two.
        "starlink" => Some(25.0),
        "amazon-leo" => Some(30.0),
        "telesat" => Some(10.0),
        _ => None,
    };
    let none = Preset {
        elevation_mask: mask_deg.map(Angle::from_degrees),
        shells,
        has_links: false,
        isl_rate: None,
        gsl_rate: None,
        latitude_cut: None,
        grazing_altitude: None,
    };
    if name.0 != "iridium" {
        return none;
    }
    // Table 1 of the Iridium paper (Nirmala and Pujeri); the grazing altitude, which it does not give, is ns-2's.
    Preset {
        has_links: true,
        isl_rate: Rate::from_bps(25_000_000),
        gsl_rate: Rate::from_bps(1_500_000),
        latitude_cut: Some(Angle::from_degrees(60.0)),
        grazing_altitude: Some(Length::from_km(150.0)),
        ..none
    }
}

impl Resolver<'_, '_, '_> {
    pub(super) fn constellation(&mut self, stations: &BTreeMap<String, Station>) -> Option<Constellation> {
        let path = Path::root().key("constellation");
        self.tree.find(&path)?;
        let Some(file) = self.take::<ConstellationFile>(&path) else {
            self.nodes.incomplete = true;
            return None;
        };
        let before = self.problems.count();
        let preset = file.preset.as_ref().filter(|name| name.0 != GEO).map(preset);
        let shells = self.shells(&file, preset.as_ref(), &path);
        let satellites = self.satellites(&self.listed(&file), &path);
        self.longitudes(&file, &path);
        let has_links = preset.as_ref().is_some_and(|preset| preset.has_links);
        let elements = self.elements(&file, has_links, &path);
        let epoch = file.epoch.or(elements.as_ref().map(|(_, epoch)| *epoch));
        let elements = elements.map(|(elements, _)| elements);
        let found_none = shells.is_empty() && satellites.is_empty() && elements.is_none();
        if found_none && self.problems.count() == before {
            let help =
                "give preset = \"iridium\", shells = [{ ... }], elements = \"file.tle\" or satellites = [{ ... }]";
            self.add(&path, "has no satellites", Some(help.to_owned()));
        }
        let earth = self.earth(&file, elements.is_some(), &path);
        let planes = elements.as_ref().and_then(|elements| elements.planes.as_ref());
        let isl = self.isl(&file, preset.as_ref(), (&shells, planes), &path);
        let gsl = self.gsl(&file, preset.as_ref(), (earth, &shells), &path);
        if let (Some(isl), Some(gsl)) = (&isl, &gsl)
            && gsl.gateways == GatewaysName::Any
            && stations.len() > 1
        {
            self.warn_of_shells(&file, isl, &shells, planes, &path);
        }
        if gsl.is_none() && !stations.is_empty() && file.gsl.is_none() {
            let help = "write gsl = { rate = \"10 Mbit/s\" }".to_owned();
            self.add(&path.key("gsl"), "is missing: the stations have no link to a satellite", Some(help));
        }
        if self.problems.count() > before {
            self.nodes.incomplete = true;
        }
        Some(Constellation { earth, epoch, shells, elements, satellites, isl, gsl })
    }

    /// Warns that a grid does not join shells, although stations use the satellites of all of them. Without this
    /// warning a run ends with "no route" and does not say why.
    fn warn_of_shells(
        &mut self,
        file: &ConstellationFile,
        isl: &Isl,
        shells: &[Shell],
        planes: Option<&ElementPlanes>,
        path: &Path,
    ) {
        if !matches!(isl.layout, LayoutFile::Named(LayoutName::Grid) | LayoutFile::Options(LayoutOptions::Grid(_))) {
            return;
        }
        let found = planes.map_or(&[][..], |planes| &planes.shells);
        let names: Vec<&str> =
            shells.iter().map(|shell| &*shell.name).chain(found.iter().map(|shell| &*shell.name)).collect();
        if names.len() < 2 {
            return;
        }
        let help = match (&file.preset, found) {
            (Some(_), []) => format!("preset = {:?} has one shell", names[0]),
            (None, _) if shells.is_empty() => {
                format!("isl.layout = {{ grid = {{ shells = [{:?}] }} }} keeps one", names[0])
            }
            _ => "keep one of them, or link satellites by layout = { nearest = ... }".to_owned(),
        };
        self.warnings.push(format!(
            "{path}: a grid joins satellites of one shell only, and stations use those of all {} ({}). Two stations \
             have no route over it while their satellites are of different shells; {help}",
            names.len(),
            names.join(", "),
        ));
    }

    fn earth(&mut self, file: &ConstellationFile, has_elements: bool, path: &Path) -> EarthName {
        match file.earth {
            Some(EarthName::Ns2) if has_elements => {
                let help = Some("use \"wgs-84\"".to_owned());
                self.add(&path.key("earth"), "satellites from elements fly around the real Earth", help);
                EarthName::Wgs84
            }
            Some(earth) => earth,
            None if has_elements => EarthName::Wgs84,
            None => self.by_profile(EarthName::Wgs84, EarthName::Ns2),
        }
    }

    /// Satellites from a file of elements, and the instant at which the run starts.
    fn elements(
        &mut self,
        file: &ConstellationFile,
        preset_has_links: bool,
        path: &Path,
    ) -> Option<(Elements, Instant)> {
        let given = file.elements.as_ref()?;
        let at = path.key("elements");
        let content = self.content(given, &at)?;
        let read = read_elements(content.text.as_bytes());
        for problem in &read.problems {
            self.warn_some(&content.place, problem);
        }
        let mut epochs: Vec<Utc> = read.sets.iter().map(|set| set.elements.epoch).collect();
        epochs.sort();
        let Some(&middle) = epochs.get(epochs.len() / 2) else {
            let first = read.problems.first().map(|problem| problem.to_string()).unwrap_or_default();
            self.add(&at, format!("{} holds no elements that can be read: {first}", content.name), None);
            return None;
        };
        let epoch = file.epoch.unwrap_or(Instant(middle));
        let oldest = file.oldest.unwrap_or(Catalogue::OLDEST);
        let mut catalogue = Catalogue::new(&read.sets, epoch.0, oldest);
        if let Some(duration) = self.duration {
            catalogue.leave_out_ends(duration);
            catalogue.note_old_at_end(duration, oldest);
        }
        self.warn_of_notes(&content.place, &catalogue.notes);
        if catalogue.satellites.is_empty() {
            let message = format!(
                "none of the {} satellites in {} flies from {} until the run ends",
                read.sets.len(),
                content.name,
                epoch.0
            );
            self.add(&at, message, Some("give another epoch, or newer elements".to_owned()));
            return None;
        }
        if catalogue.satellites.len() > MOST_COMPONENTS {
            let message =
                format!("the satellites are {}, at most {MOST_COMPONENTS} are possible", catalogue.satellites.len());
            self.add(&at, message, None);
            return None;
        }
        let mut satellites = catalogue.satellites;
        let planes = self.planes(file, preset_has_links, &mut satellites, &content.place, path);
        self.nodes.groups.push(Group::Elements);
        let group = self.nodes.groups.len() - 1;
        for satellite in &satellites {
            self.declare(&satellite.name, Kind::Satellite(group), &at);
        }
        let elements = InlineFile { text: content.text };
        Some((Elements { elements, oldest, satellites, planes }, epoch))
    }

    /// One warning for each kind of note, which may concern thousands.
    fn warn_of_notes(&mut self, file: &str, notes: &[CatalogueNote]) {
        let mut kinds: BTreeMap<u8, Vec<&CatalogueNote>> = BTreeMap::new();
        for note in notes {
            let kind = match note.kind {
                NoteKind::Old { .. } => 0,
                NoteKind::Decayed { .. } => 1,
                NoteKind::Falling { .. } => 2,
                NoteKind::ComesDown { .. } | NoteKind::Fails { .. } => 3,
                NoteKind::GrowsOld { .. } => 4,
                _ => 5,
            };
            kinds.entry(kind).or_default().push(note);
        }
        for notes in kinds.values() {
            let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
            self.warnings.push(format!("{file}: {}", first_of(&notes, "; ")));
        }
    }

    /// The satellites of `geo` have names that no list gives.
    fn listed(&self, file: &ConstellationFile) -> Vec<SatelliteFile> {
        let mut all = file.satellites.clone().unwrap_or_default();
        let is_geo = file.preset.as_ref().is_some_and(|name| name.0 == GEO);
        for (n, &longitude) in file.longitudes.iter().flatten().enumerate().filter(|_| is_geo) {
            all.push(SatelliteFile { name: format!("{GEO}-{n}"), geostationary: longitude });
        }
        all
    }

    /// Longitudes belong to the preset `geo`.
    fn longitudes(&mut self, file: &ConstellationFile, path: &Path) {
        let is_geo = file.preset.as_ref().is_some_and(|name| name.0 == GEO);
        let given = file.longitudes.as_ref().is_some_and(|list| !list.is_empty());
        let path = path.key("longitudes");
        if is_geo && !given {
            let help = Some("write longitudes = [\"-34.5 deg\"]".to_owned());
            self.add(&path, "is missing: where the satellites stand", help);
        } else if given && !is_geo {
            self.add(&path, "needs preset = \"geo\"", None);
        }
    }

    fn shells(&mut self, file: &ConstellationFile, preset: Option<&Preset>, path: &Path) -> Vec<Shell> {
        let mut shells = Vec::new();
        match (preset, &file.shells) {
            (Some(_), Some(_)) => {
                let help = Some("keep one of them".to_owned());
                self.add(&path.key("shells"), "excludes \"preset\": the preset has shells of its own", help);
            }
            (Some(preset), None) => {
                shells.extend(preset.shells.iter().map(|shell| (of_walker(shell), path.key("preset"))));
            }
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
        for (shell, path) in &shells {
            total = total.saturating_add(shell.planes as usize * shell.per_plane as usize);
            if total > MOST_COMPONENTS {
                self.add(path, format!("the satellites are {total}, at most {MOST_COMPONENTS} are possible"), None);
                break;
            }
            self.nodes.groups.push(Group::Shell { altitude: shell.altitude, inclination: shell.inclination });
            self.shell_satellites(shell, self.nodes.groups.len() - 1, path);
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
        match walker(shell).check() {
            Ok(()) => self.declare_shell(shell, group, path),
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

    fn satellites(&mut self, files: &[SatelliteFile], path: &Path) -> Vec<Satellite> {
        if files.len() > MOST_COMPONENTS {
            let message = format!("has {} satellites, at most {MOST_COMPONENTS} are possible", files.len());
            self.add(&path.key("satellites"), message, None);
            return Vec::new();
        }
        let listed = self.tree.find(&path.key("satellites")).and_then(Node::list).map_or(0, <[Node]>::len);
        for (i, file) in files.iter().enumerate() {
            // Behind the list stand those of `geo`.
            let (name, longitude) = match i.checked_sub(listed) {
                None => {
                    let path = path.key("satellites").index(i);
                    (path.key("name"), path.key("geostationary"))
                }
                Some(i) => (path.key("longitudes").index(i), path.key("longitudes").index(i)),
            };
            self.nodes.groups.push(Group::Geostationary { longitude: file.geostationary });
            self.declare(&file.name, Kind::Satellite(self.nodes.groups.len() - 1), &name);
            let orbit = Orbit::Geostationary { longitude: file.geostationary };
            if orbit.check().is_err() || file.geostationary.degrees().abs() > 360.0 {
                let message = format!("a longitude of {} does not exist: use -180 to 180 deg", file.geostationary);
                self.add(&longitude, message, None);
            }
        }
        let mut satellites: Vec<Satellite> =
            files.iter().map(|file| Satellite { name: file.name.clone(), geostationary: file.geostationary }).collect();
        satellites.sort_by(|a, b| natural_order(&a.name, &b.name));
        satellites
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
