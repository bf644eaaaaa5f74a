//! Links between satellites, and between satellites and stations.

use super::sky::Preset;
use super::wires::{TransmitterKind, Usual};
use super::{Kind, Resolver};
use crate::build;
use crate::format::{
    BeamsFile, BeamsName, BeamsOptions, ConstellationFile, EarthName, GatewaysName, GslFile, HandoverChecksFile,
    HandoverChecksName, HandoverChecksOptions, HandoverFile, HandoverPolicyName, IslChecksName, IslFile, LayoutFile,
    LayoutName, LayoutOptions, OnDownName, SlotsFile, StarlinkDirection, SwitchingFile, SwitchingName,
    SwitchingOptions, TransmitterFile,
};
use crate::scenario::{ElementPlanes, Gsl, Handover, Isl, LinkProfile, Shell, Transmitter};
use crate::tree::Path;
use skyhop_base::{Angle, Bytes, Duration, Length, natural_order};
use skyhop_orbit::visibility;
use skyhop_topology::{BeamOptions, Unpaired};

/// Time between checks of satellite links: ns-2's for both kinds (`algorithms.md` §5.5).
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Our choice: a beam lasts about a minute.
const BEAM_CHECKS: Duration = Duration::from_secs(1);

/// Without a mask of its own a station uses satellites above 10 deg, the usual minimum of user terminals; ns-2's
/// default is 0 (`algorithms.md` appendix A, elevation_mask_).
const ELEVATION_MASK: (Angle, Angle) = (Angle::from_degrees(10.0), Angle::from_degrees(0.0));

/// No limit; ns-2's default is 70 deg (`algorithms.md` appendix A, latitude_threshold_).
const LATITUDE_CUT: (Angle, Angle) = (Angle::from_degrees(90.0), Angle::from_degrees(70.0));

/// Above the weather, as Hypatia has it (Kassing et al., IMC 2020); ns-2's margin is 150 km (`algorithms.md` §5.5).
const GRAZING_ALTITUDE: (Length, Length) = (Length::from_km(80.0), Length::from_km(150.0));

/// ns-2's satellite link layer adds this to the time of serialisation (`algorithms.md` appendix A).
const NS2_FRAMING: Bytes = Bytes(16);

impl Resolver<'_, '_, '_> {
    pub(super) fn isl(
        &mut self,
        file: &ConstellationFile,
        preset: Option<&Preset>,
        (shells, planes): (&[Shell], Option<&ElementPlanes>),
        path: &Path,
    ) -> Option<Isl> {
        let path = path.key("isl");
        let given = file.isl.clone();
        if given.is_none() && !preset.is_some_and(|p| p.has_links) {
            return None;
        }
        let given: IslFile = given.unwrap_or_default();
        let layout = given.layout.clone().unwrap_or(LayoutFile::Named(LayoutName::Grid));
        if layout == LayoutFile::Named(LayoutName::None) {
            return None;
        }
        let layout = self.layout(layout, &given, (file, planes), &path);
        let latitude_cut = given
            .latitude_cut
            .or(preset.and_then(|p| p.latitude_cut))
            .unwrap_or(self.by_profile(LATITUDE_CUT.0, LATITUDE_CUT.1));
        if !(0.0..=90.0).contains(&latitude_cut.degrees()) {
            self.add(
                &path.key("latitude_cut"),
                format!("{latitude_cut} is not a latitude limit: use 0 to 90 deg"),
                None,
            );
        }
        let grazing_altitude = given
            .grazing_altitude
            .or(preset.and_then(|p| p.grazing_altitude))
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
            repair: given.repair,
            ..TransmitterFile::default()
        };
        let transmitter = self.satellite_transmitter(&own, None, StarlinkDirection::Up, &path)?;
        Some(Isl {
            on_down: given.on_down.unwrap_or(self.by_profile(OnDownName::Reroute, OnDownName::Drain)),
            transmitter,
            layout,
            cross_seam: given.cross_seam.unwrap_or(false),
            latitude_cut,
            grazing_altitude,
            longest: given.longest,
            every,
            checks: given.checks.unwrap_or(IslChecksName::Regular),
        })
    }

    /// Which satellites are linked; a list in the order of its names.
    fn layout(
        &mut self,
        layout: LayoutFile,
        isl: &IslFile,
        (sky, planes): (&ConstellationFile, Option<&ElementPlanes>),
        path: &Path,
    ) -> LayoutFile {
        if isl.longest.is_some_and(|longest| longest.km() <= 0.0) {
            self.add(&path.key("longest"), "must be longer than 0 km", None);
        }
        match layout {
            LayoutFile::Options(LayoutOptions::Grid(grid)) => {
                let given = [
                    ("planes", grid.planes.is_some()),
                    ("shells", grid.shells.is_some()),
                    ("pair_every", grid.pair_every.is_some()),
                    ("unpaired", grid.unpaired.is_some()),
                    ("terminals", grid.terminals.is_some()),
                ];
                let path = path.key("layout").key("grid");
                for (key, _) in given.into_iter().filter(|(_, is_given)| *is_given && sky.elements.is_none()) {
                    let message = "is about satellites from elements, and the constellation has none";
                    self.add(&path.key(key), message, None);
                }
                if grid.terminals.is_some() && grid.unpaired() == Unpaired::Open && sky.elements.is_some() {
                    let message = "has no effect: satellites without a partner take no second link";
                    self.add(&path.key("terminals"), message, Some("write unpaired = \"nearest\"".to_owned()));
                }
                return super::planes::canonical(grid, planes);
            }
            LayoutFile::Options(LayoutOptions::Nearest(_)) if isl.longest.is_none() => {
                let help = "write longest = \"3000 km\"".to_owned();
                self.add(&path.key("longest"), "is missing: how long a link to a neighbour may be", Some(help));
            }
            LayoutFile::Options(LayoutOptions::List(pairs)) => return self.listed_links(pairs, path),
            _ => {}
        }
        layout
    }

    fn listed_links(&mut self, mut pairs: Vec<[String; 2]>, path: &Path) -> LayoutFile {
        let path = path.key("layout").key("list");
        let mut seen = std::collections::BTreeSet::new();
        for (i, pair) in pairs.iter_mut().enumerate() {
            let path = path.index(i);
            for (end, name) in pair.iter().enumerate() {
                match self.look_up(name, &path.index(end)) {
                    None | Some(Kind::Satellite(_)) => {}
                    Some(kind) => {
                        let message = format!("{name:?} is a {}, a link of the list joins satellites", kind.words());
                        self.add(&path.index(end), message, None);
                    }
                }
            }
            pair.sort_by(|a, b| natural_order(a, b));
            if pair[0] == pair[1] {
                self.add(&path, format!("a link cannot join {:?} to itself", pair[0]), None);
            } else if !seen.insert(pair.clone()) {
                self.add(&path, format!("{:?} and {:?} are already joined", pair[0], pair[1]), None);
            }
        }
        pairs.sort_by(|a, b| natural_order(&a[0], &b[0]).then_with(|| natural_order(&a[1], &b[1])));
        LayoutFile::Options(LayoutOptions::List(pairs))
    }

    /// A range must reach the satellites of the shells and be shorter than what the mask allows, or it does nothing.
    fn longest_range(&mut self, longest: Length, mask: Angle, earth: EarthName, shells: &[Shell], path: &Path) {
        let lowest = shells.iter().map(|shell| shell.altitude.km()).fold(f64::INFINITY, f64::min);
        if longest.km() <= 0.0 {
            self.add(path, "must be longer than 0 km", None);
        } else if shells.is_empty() {
            // The heights of other satellites are not known here.
        } else if longest.km() < lowest {
            let help = Some(format!("the lowest satellites fly at {lowest} km"));
            self.add(path, format!("no satellite comes within {longest} of a station"), help);
        } else {
            let earth = build::earth(earth);
            let at_mask = |shell: &Shell| visibility::coverage(&earth, shell.altitude, mask).slant_range.km();
            let furthest = shells.iter().map(at_mask).fold(0.0, f64::max);
            if longest.km() >= furthest {
                self.warnings.push(format!(
                    "{path}: has no effect: satellites above the elevation mask of {mask} are at most {furthest:.0} \
                     km away"
                ));
            }
        }
    }

    pub(super) fn gsl(
        &mut self,
        file: &ConstellationFile,
        preset: Option<&Preset>,
        (earth, shells): (EarthName, &[Shell]),
        path: &Path,
    ) -> Option<Gsl> {
        let path = path.key("gsl");
        if file.gsl.is_none() && !preset.is_some_and(|p| p.has_links) {
            return None;
        }
        let given: GslFile = file.gsl.clone().unwrap_or_default();
        let elevation_mask = given
            .elevation_mask
            .or(preset.and_then(|p| p.elevation_mask))
            .unwrap_or(self.by_profile(ELEVATION_MASK.0, ELEVATION_MASK.1));
        if !(-90.0..90.0).contains(&elevation_mask.degrees()) {
            let message = format!("{elevation_mask} is not an elevation mask: use -90 deg to less than 90 deg");
            self.add(&path.key("elevation_mask"), message, None);
        }
        if let Some(longest) = given.longest {
            let only_shells = file.elements.is_none() && file.satellites.is_none() && file.longitudes.is_none();
            let shells = if only_shells { shells } else { &[] };
            self.longest_range(longest, elevation_mask, earth, shells, &path.key("longest"));
        }
        let shared = TransmitterFile {
            rate: given.rate.or(preset.and_then(|p| p.gsl_rate)),
            queue: given.queue,
            framing: given.framing,
            errors: given.errors,
            repair: given.repair,
            trace: given.trace,
            profile: given.profile,
        };
        let mut of = |own: Option<TransmitterFile>, key, direction| {
            self.satellite_transmitter(&own.unwrap_or_default(), Some((&shared, key)), direction, &path)
        };
        let uplink = of(given.uplink, "uplink", StarlinkDirection::Up);
        let downlink = of(given.downlink, "downlink", StarlinkDirection::Down);
        let handover: HandoverFile = given.handover.unwrap_or_default();
        let policy = handover.policy.unwrap_or(HandoverPolicyName::UntilBelowMask);
        // With the profile terminals are told their satellites at the edges of its slots.
        let slots = uplink.as_ref().and_then(|uplink| uplink.profile.as_ref());
        let (usual_every, usual_checks) = match slots {
            Some(LinkProfile::Starlink(slots)) => {
                let at = SlotsFile { at: slots.at };
                (slots.every, HandoverChecksFile::Options(HandoverChecksOptions::Slots(at)))
            }
            None => (CHECK_INTERVAL, HandoverChecksFile::Named(HandoverChecksName::Regular)),
        };
        let every = handover.every.unwrap_or(usual_every);
        self.check_interval(every, &path.key("handover").key("every"));
        if let Some(HandoverChecksFile::Options(HandoverChecksOptions::Slots(slots))) = &handover.checks {
            if slots.at >= Duration::from_secs(60) {
                let message = format!("{} is not within a minute", slots.at);
                self.add(&path.key("handover").key("checks").key("slots").key("at"), message, None);
            }
            self.warn_of_minutes(every, slots.at, &path.key("handover").key("every"));
        }
        if let Some(SwitchingFile::Options(SwitchingOptions::BreakBeforeMake(switching))) = &given.switching
            && switching.outage >= every
        {
            let message = format!("an outage of {} is not over before the next check after {every}", switching.outage);
            self.add(&path.key("switching").key("break_before_make").key("outage"), message, None);
        }
        let beams = given.beams.as_ref().map(|beams| self.beams(beams, &path.key("beams")));
        Some(Gsl {
            on_down: given.on_down.unwrap_or(self.by_profile(OnDownName::Drop, OnDownName::SendInVain)),
            uplink: uplink?,
            downlink: downlink?,
            elevation_mask,
            longest: given.longest,
            handover: Handover {
                policy,
                every,
                checks: handover.checks.unwrap_or(usual_checks),
                gateways: match (policy, handover.gateways) {
                    (HandoverPolicyName::Random, None) => Some(HandoverPolicyName::UntilBelowMask),
                    (HandoverPolicyName::Random, given) => given,
                    (_, given) => given.filter(|&given| given != policy),
                },
            },
            switching: given.switching.unwrap_or(SwitchingFile::Named(SwitchingName::MakeBeforeBreak)),
            users_per_satellite: given.users_per_satellite,
            beams,
            gateways: given.gateways.unwrap_or(GatewaysName::Any),
        })
    }

    /// Spot beams with every value.
    fn beams(&mut self, file: &BeamsFile, path: &Path) -> BeamsOptions {
        let (rings, every, outage) = match file {
            BeamsFile::Named(BeamsName::Iridium) => (BeamOptions::IRIDIUM_RINGS.to_vec(), None, None),
            BeamsFile::Options(options) => (options.rings.clone(), options.every, options.outage),
        };
        let total = rings.iter().try_fold(0_u32, |sum, ring| sum.checked_add(*ring));
        if rings.contains(&0) || !total.is_some_and(|total| (1..=BeamOptions::MOST).contains(&total)) {
            let message = format!("needs one beam or more in each ring, and at most {} in all", BeamOptions::MOST);
            self.add(&path.key("rings"), message, Some("write rings = [3, 9, 15, 21]".to_owned()));
        }
        let (every, outage) = (every.unwrap_or(BEAM_CHECKS), outage.unwrap_or(Duration::ZERO));
        self.check_interval(every, &path.key("every"));
        if outage >= every && !every.is_zero() {
            let message = format!("an outage of {outage} is not over before the next look after {every}");
            self.add(&path.key("outage"), message, None);
        }
        BeamsOptions { rings, every: Some(every), outage: Some(outage) }
    }

    /// The transmitter of a satellite link; `shared` is what both directions have, and the key of this one.
    fn satellite_transmitter(
        &mut self,
        own: &TransmitterFile,
        shared: Option<(&TransmitterFile, &str)>,
        direction: StarlinkDirection,
        path: &Path,
    ) -> Option<Transmitter> {
        let framing = self.by_profile(Bytes(0), NS2_FRAMING);
        let usual = Usual { framing, delay: Duration::ZERO, kind: TransmitterKind { direction, is_wire: false } };
        self.transmitter(own, shared, &usual, path)
    }
}
