//! Satellites and the rules of their links.

use crate::format::{
    CoverageFile, EarthName, GatewaysName, GridFile, HandoverChecksFile, HandoverChecksName, HandoverChecksOptions,
    HandoverPolicyName, IslChecksName, LayoutFile, LayoutOptions, MetricName, ObstructionFile, SwitchingFile,
    SwitchingOptions, TerrestrialFile, TerrestrialRuleFile, TerrestrialRuleName, TerrestrialRuleOptions,
};
use crate::resolve::{track, walker};
use crate::scenario::{Constellation, Handover, Isl, Scenario, Station};
use skyhop_base::{Duration, Index, Length, Time};
use skyhop_orbit::{Earth, GroundPoint, Orbit};
use skyhop_topology::{
    BeamOptions, CheckTimes, CrossSeam, GatewayRule, GslOptions, GslRules, HandoverPolicy, IslChecks, IslLayout,
    IslOptions, IslRules, Metric, NodeId, NodeKind, Obstruction, Pairing, PlaneNeighbours, SkyOptions, StationOptions,
    Switching, TerrestrialOptions, TerrestrialRule, TopologySpec, Unpaired, slot_phase,
};

/// The satellites of all shells, and behind them as shells of their own those from elements and those that were given
/// one by one.
pub(super) fn satellites(sky: &Constellation) -> Vec<(String, NodeKind)> {
    let mut satellites = Vec::new();
    for (shell, description) in (0..).zip(&sky.shells) {
        // The scenario was found right, so there are satellites.
        let members = walker(description).satellites().unwrap_or_default();
        satellites.extend(members.into_iter().map(|satellite| {
            let kind =
                NodeKind::Satellite { orbit: satellite.orbit, plane: satellite.plane, slot: satellite.slot, shell };
            (satellite.name, kind)
        }));
    }
    let mut shell = sky.shells.len() as u32;
    if let Some(elements) = &sky.elements {
        let shells = elements.planes.as_ref().map(|planes| &planes.shell_of);
        for (n, satellite) in elements.satellites.iter().enumerate() {
            let (plane, slot) = (satellite.plane, satellite.slot);
            let shell = shell + shells.map_or(0, |shells| shells[n]);
            let kind = NodeKind::Satellite { orbit: satellite.orbit, plane, slot, shell };
            satellites.push((satellite.name.clone(), kind));
        }
        shell += elements.planes.as_ref().map_or(0, |planes| planes.shells.len() as u32);
    }
    for satellite in &sky.satellites {
        shell += 1;
        let orbit = Orbit::Geostationary { longitude: satellite.geostationary };
        satellites.push((satellite.name.clone(), NodeKind::Satellite { orbit, plane: 0, slot: 0, shell }));
    }
    satellites
}

pub(crate) fn earth(name: EarthName) -> Earth {
    match name {
        EarthName::Wgs84 => Earth::WGS84,
        EarthName::Ns2 => Earth::NS2,
    }
}

pub(super) fn isl_rules(isl: &Isl) -> IslRules {
    IslRules {
        cross_seam: if isl.cross_seam { CrossSeam::Nearest } else { CrossSeam::Open },
        latitude_limit: (isl.latitude_cut.degrees() < 90.0).then_some(isl.latitude_cut),
        grazing_altitude: isl.grazing_altitude,
        every: isl.every,
    }
}

pub(super) fn gsl_rules(sky: &Constellation) -> Option<GslRules> {
    let gsl = sky.gsl.as_ref()?;
    Some(GslRules {
        elevation_mask: gsl.elevation_mask,
        policy: policy(gsl.handover.policy),
        every: gsl.handover.every,
        check_times: check_times(&gsl.handover, sky),
    })
}

fn policy(name: HandoverPolicyName) -> HandoverPolicy {
    match name {
        HandoverPolicyName::UntilBelowMask => HandoverPolicy::UntilBelowMask,
        HandoverPolicyName::Nearest => HandoverPolicy::Nearest,
        HandoverPolicyName::HighestElevation => HandoverPolicy::HighestElevation,
        HandoverPolicyName::LongestVisibility => HandoverPolicy::LongestVisibility,
        // The run puts its own seed here and below: a scenario has none.
        HandoverPolicyName::Random => HandoverPolicy::Random { seed: 0 },
    }
}

fn check_times(handover: &Handover, sky: &Constellation) -> CheckTimes {
    match &handover.checks {
        HandoverChecksFile::Named(HandoverChecksName::Regular) => CheckTimes::Regular,
        HandoverChecksFile::Named(HandoverChecksName::Randomised) => CheckTimes::Randomised { seed: 0 },
        HandoverChecksFile::Named(HandoverChecksName::Exact) => CheckTimes::Exact,
        HandoverChecksFile::Options(HandoverChecksOptions::Slots(slots)) => {
            let every = handover.every;
            let phase = match sky.epoch {
                Some(epoch) => slot_phase(epoch.0, slots.at, every),
                None => Duration::from_nanos(slots.at.as_nanos() % every.as_nanos().max(1)),
            };
            CheckTimes::Slots { phase }
        }
    }
}

impl Scenario {
    /// What the network has beyond the rules of its [`TopologySpec`].
    pub(super) fn sky_options(&self, topology: &TopologySpec) -> SkyOptions {
        let metric = match self.routing.metric {
            MetricName::Delay => Metric::Delay,
            MetricName::Hops => Metric::Hops,
        };
        let Some(sky) = &self.constellation else { return SkyOptions { metric, ..SkyOptions::default() } };
        let until = Time::from_nanos(self.duration.as_nanos());
        let isl = sky.isl.as_ref().map(|isl| isl_options(isl, sky, topology, until)).unwrap_or_default();
        let gsl = sky.gsl.as_ref().map(|gsl| GslOptions {
            switching: match &gsl.switching {
                SwitchingFile::Named(_) => Switching::MakeBeforeBreak,
                SwitchingFile::Options(SwitchingOptions::BreakBeforeMake(switching)) => {
                    Switching::BreakBeforeMake { outage: switching.outage }
                }
            },
            longest: gsl.longest,
            users_per_satellite: gsl.users_per_satellite,
            gateways: match gsl.gateways {
                GatewaysName::Any => GatewayRule::Any,
                GatewaysName::BentPipe => GatewayRule::BentPipe,
            },
            gateway_policy: gsl.handover.gateways.map(policy),
        });
        let own = |station: &Station| station.elevation_mask.is_some() || station.handover.is_some();
        let hidden = |station: &Station| !station.obstructions.is_empty();
        let is_special =
            |station: &Station| station.antennas > 1 || station.track.is_some() || own(station) || hidden(station);
        let special = self.stations.iter().filter(|(_, station)| is_special(station));
        let stations = special.filter_map(|(name, station)| {
            Some(StationOptions {
                station: station_node(topology, name)?,
                antennas: station.antennas,
                track: station.track.as_ref().and_then(|points| track(points).ok()),
                elevation_mask: station.elevation_mask,
                policy: station.handover.map(policy),
                obstructions: station.obstructions.iter().map(obstruction).collect(),
            })
        });
        let of_gsl = sky.gsl.as_ref().and_then(|gsl| gsl.beams.as_ref());
        let beams = of_gsl.map(|beams| BeamOptions {
            rings: beams.rings.clone(),
            every: beams.every.unwrap_or(Duration::from_secs(1)),
            outage: beams.outage.unwrap_or(Duration::ZERO),
        });
        let ids = super::ids(topology);
        let falls_back = |(name, station): (&String, &Station)| {
            let terrestrial = station.terrestrial.as_ref()?;
            let (station, to) = (station_node(topology, name)?, *ids.get(terrestrial.to.as_str())?);
            Some(TerrestrialOptions { station, to, rule: terrestrial_rule(terrestrial) })
        };
        let terrestrial = self.stations.iter().filter_map(falls_back).collect();
        let with_access = self.flows.iter().filter(|flow| flow.access.is_some());
        let hosts = with_access.flat_map(|flow| flow.names()).flat_map(|name| super::access_hosts(&name));
        let hosts = hosts.filter_map(|host| ids.get(host.as_str()).copied()).collect();
        let stations = stations.collect();
        SkyOptions { isl, gsl: gsl.unwrap_or_default(), metric, stations, beams, terrestrial, hosts }
    }
}

fn obstruction(&ObstructionFile { azimuth, elevation }: &ObstructionFile) -> Obstruction {
    Obstruction { azimuth, elevation }
}

fn terrestrial_rule(terrestrial: &TerrestrialFile) -> TerrestrialRule {
    let at = |since_start: Duration| Time::from_nanos(since_start.as_nanos());
    match &terrestrial.when {
        None | Some(TerrestrialRuleFile::Named(TerrestrialRuleName::NoSatellite)) => TerrestrialRule::NoSatellite,
        Some(TerrestrialRuleFile::Options(TerrestrialRuleOptions::Below(limit))) => TerrestrialRule::Below(*limit),
        Some(TerrestrialRuleFile::Options(TerrestrialRuleOptions::During(times))) => {
            TerrestrialRule::During(times.iter().map(|&[from, until]| (at(from), at(until))).collect())
        }
        Some(TerrestrialRuleFile::Options(TerrestrialRuleOptions::Within(coverage))) => {
            let CoverageFile { latitude, longitude, radius } = *coverage;
            let centre = GroundPoint { latitude, longitude, altitude: Length::from_km(0.0) };
            TerrestrialRule::Within { centre, radius }
        }
    }
}

fn isl_options(isl: &Isl, sky: &Constellation, topology: &TopologySpec, until: Time) -> IslOptions {
    let planes = sky.elements.as_ref().and_then(|elements| elements.planes.as_ref());
    let layout = match &isl.layout {
        LayoutFile::Named(_) | LayoutFile::Options(LayoutOptions::Grid(_)) => match planes {
            None => IslLayout::Grid,
            Some(planes) if planes.by_slot => IslLayout::Planes(PlaneNeighbours::BySlot),
            Some(_) => IslLayout::Planes(PlaneNeighbours::ByPhase),
        },
        LayoutFile::Options(LayoutOptions::Nearest(nearest)) => IslLayout::Nearest { links: nearest.links },
        LayoutFile::Options(LayoutOptions::List(pairs)) => {
            let ids = super::ids(topology);
            IslLayout::List(pairs.iter().map(|[a, b]| [ids[a.as_str()], ids[b.as_str()]]).collect())
        }
    };
    let checks = match isl.checks {
        IslChecksName::Regular => IslChecks::Regular,
        IslChecksName::Randomised => IslChecks::Randomised { seed: 0 },
        IslChecksName::Exact => IslChecks::Exact,
    };
    let (every, unpaired) = match &isl.layout {
        LayoutFile::Options(LayoutOptions::Grid(grid)) => (grid.pairs_every(), grid.unpaired()),
        _ => (Some(GridFile::PAIR_EVERY), Unpaired::Open),
    };
    let pairing = every.filter(|_| planes.is_some()).map(|every| Pairing { every, until });
    IslOptions { layout, longest: isl.longest, checks, pairing, unpaired }
}

/// Its node; `None` where a station is a node like any other, without satellites.
fn station_node(topology: &TopologySpec, name: &str) -> Option<NodeId> {
    let is_it = |node: &skyhop_topology::NodeSpec| node.name == name && matches!(node.kind, NodeKind::Station(_));
    topology.nodes.iter().position(is_it).map(NodeId::from_usize)
}
