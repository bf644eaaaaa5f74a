//! Stations that may use a terrestrial network instead of satellites.

use crate::gsl::Gsls;
use crate::link::{End, LinkTable};
use crate::sky::Sky;
use crate::{Change, LinkId, NodeId, Why};
use skyhop_base::{Angle, Length, Time};
use skyhop_orbit::{GroundPoint, GroundStation, Site};

/// A station's wires to a node of the terrestrial network: up while it uses them, and then it uses no satellite.
#[derive(Clone, Debug, PartialEq)]
pub struct TerrestrialOptions {
    pub station: NodeId,
    /// Wires lead to it and back.
    pub to: NodeId,
    pub rule: TerrestrialRule,
}

/// When a station uses the terrestrial network. It looks when it checks its satellite.
#[derive(Clone, Debug, PartialEq)]
pub enum TerrestrialRule {
    /// When it can have no satellite.
    NoSatellite,
    /// When it can have no satellite that stands higher than this.
    Below(Angle),
    /// From the first to before the second instant of a pair.
    During(Vec<(Time, Time)>),
    /// While it is so near to a point on the ground.
    Within { centre: GroundPoint, radius: Length },
}

/// The terrestrial network of one station.
#[derive(Clone, Debug)]
pub(crate) struct Terrestrial {
    rule: TerrestrialRule,
    /// With the nodes to which they lead.
    pub wires: Vec<(LinkId, NodeId)>,
    /// In use, or about to be.
    pub on: bool,
}

impl Terrestrial {
    pub fn new(rule: TerrestrialRule, wires: Vec<(LinkId, NodeId)>) -> Terrestrial {
        Terrestrial { rule, wires, on: false }
    }

    /// Why the terrestrial network is to be used, if it is. `satellite` is what the station would take.
    pub fn wanted(&self, satellite: Option<NodeId>, site: &Site, now: Time, sky: &Sky) -> Option<Why> {
        match &self.rule {
            TerrestrialRule::NoSatellite => satellite.is_none().then_some(Why::OnlyTerrestrial),
            TerrestrialRule::Below(limit) => {
                let sine = libm::sin(limit.radians());
                let high = |satellite| site.sin_elevation(sky.position_at(satellite, now)) > sine;
                (!satellite.is_some_and(high)).then_some(Why::TooLow)
            }
            TerrestrialRule::During(times) => {
                times.iter().any(|&(from, until)| from <= now && now < until).then_some(Why::TerrestrialTime)
            }
            TerrestrialRule::Within { centre, radius } => {
                let centre = GroundStation::new(*centre).ok()?.site(&sky.earth).position();
                ((site.position() - centre).norm() <= radius.km()).then_some(Why::TerrestrialCoverage)
            }
        }
    }
}

impl Gsls {
    /// Brings the wires of a station up or down.
    pub fn switch_wires(&self, n: usize, why: Why, links: &mut LinkTable, changes: &mut Vec<Change>) {
        let terminal = &self.terminals[n];
        let Some(terrestrial) = &terminal.terrestrial else { return };
        let up = terrestrial.on && terminal.ready.is_none();
        for &(link, to) in &terrestrial.wires {
            links.set(link, if up { End::At(to) } else { End::Down }, why, changes);
        }
    }
}
