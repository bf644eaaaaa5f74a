//! What a network may have beyond the rules of [`TopologySpec`](crate::TopologySpec).

use crate::{BeamOptions, HandoverPolicy, NodeId, TerrestrialOptions};
use skyhop_base::{Angle, Duration, Length, Time};
use skyhop_orbit::{Track, Utc};
use std::collections::BTreeSet;

/// The default adds nothing: +Grid, handovers without outage, shortest delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkyOptions {
    pub isl: IslOptions,
    pub gsl: GslOptions,
    pub metric: Metric,
    /// Stations that move, have several antennas, or a mask or a policy of their own.
    pub stations: Vec<StationOptions>,
    /// Beams of every satellite; `None`: it lights all its stations with one.
    pub beams: Option<BeamOptions>,
    /// Stations with a terrestrial network to fall back on, each once.
    pub terrestrial: Vec<TerrestrialOptions>,
    /// Wired nodes that belong to a flow of the station that they are wired to. A wire to one makes no gateway.
    pub hosts: BTreeSet<NodeId>,
}

impl SkyOptions {
    pub(crate) fn station(&self, node: NodeId) -> Option<&StationOptions> {
        self.stations.iter().find(|options| options.station == node)
    }

    pub(crate) fn track(&self, node: NodeId) -> Option<&Track> {
        self.station(node)?.track.as_ref()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct IslOptions {
    pub layout: IslLayout,
    /// Links are down while their ends are further apart than this.
    pub longest: Option<Length>,
    pub checks: IslChecks,
    /// Links between planes that drift follow the phases; `None`: they remain those of t = 0.
    pub pairing: Option<Pairing>,
    /// With [`IslLayout::Planes`] only.
    pub unpaired: Unpaired,
}

/// What becomes of a satellite from elements to which the pairs of two neighbouring planes give no partner, because its
/// plane has more satellites or the other one has a hole there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unpaired {
    /// It has no link to that plane.
    #[default]
    Open,
    /// It is linked to the nearest in phase over there that has a terminal free. Every satellite has so many
    /// terminals: two for its plane, one for its partner in each neighbouring plane or across a seam, and the others
    /// for satellites without one.
    Nearest { terminals: u32 },
}

impl Unpaired {
    /// Terminals of a satellite that +Grid takes.
    pub const LEAST_TERMINALS: u32 = 4;
    pub const MOST_TERMINALS: u32 = 16;
}

/// When satellites of neighbouring planes are paired again. Only pairs by phase follow, those of one slot do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Phases are checked at every multiple of this.
    pub every: Duration,
    /// The last check is at this time at the latest: all links of a run are laid out at its start.
    pub until: Time,
}

/// Between which satellites there may be links.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum IslLayout {
    /// Neighbours in plane and slot; not for satellites from elements, which have no planes.
    #[default]
    Grid,
    /// As `Grid`, and satellites from elements have the planes, slots and shells that their nodes say
    /// ([`skyhop_orbit::Planes`] finds some). Their planes may have different numbers of satellites; planes further
    /// apart than 1½ usual gaps are neighbours only if their satellites see each other everywhere.
    Planes(PlaneNeighbours),
    /// Each satellite has so many transmitters. At every check the closest two satellites that have one free are
    /// linked, then the next closest, until none can be; so the links depend on the positions alone. The longest
    /// link must be given. The latitude limit does not apply.
    Nearest { links: u32 },
    /// These pairs. The latitude limit applies to those of different planes.
    List(Vec<[NodeId; 2]>),
}

/// Which satellites of neighbouring planes are linked, in planes of satellites from elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneNeighbours {
    /// Those whose phases (angles from the ascending node) are nearest: the pairs with the least sum of squares. They
    /// are those of t = 0, also where planes drift against each other, unless [`IslOptions::pairing`] says otherwise.
    ByPhase,
    /// Those of one slot; from the last plane to the first by phase.
    BySlot,
}

/// When links between satellites are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IslChecks {
    /// At every multiple of the interval of [`IslRules`](crate::IslRules).
    #[default]
    Regular,
    /// Each satellite after the interval times a number drawn uniformly from [½, 1½), with a stream of its own; it
    /// checks the links of which it is the first end (ns-2's `handoff_randomization_`, `algorithms.md` §5.5).
    Randomised { seed: u64 },
    /// When something changes, to the microsecond. What lasts less than 5 s may be missed.
    Exact,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GslOptions {
    pub switching: Switching,
    /// A station sees only satellites that are at most so far away (slant range), besides the elevation mask; `None`:
    /// the mask alone decides.
    pub longest: Option<Length>,
    /// Most users (stations without a wired link) that a satellite serves; `None`: any number.
    pub users_per_satellite: Option<u32>,
    pub gateways: GatewayRule,
    /// How gateways (stations with a wired link) take their satellites; `None`: as all stations do.
    pub gateway_policy: Option<HandoverPolicy>,
}

/// What happens while a station changes its satellite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switching {
    /// Nothing: the new link is there when the old one ends.
    #[default]
    MakeBeforeBreak,
    /// The old link ends, and the new one comes up after the outage; also after a time without any satellite. The
    /// first contact, at t = 0, is there at once.
    BreakBeforeMake { outage: Duration },
}

/// Which satellites a user may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GatewayRule {
    /// Any in sight: links between satellites carry the packets on.
    #[default]
    Any,
    /// Only those that serve a gateway (a station with a wired link) at that moment: bent pipes.
    BentPipe,
}

/// One station's own options.
#[derive(Clone, Debug, PartialEq)]
pub struct StationOptions {
    pub station: NodeId,
    /// Each has an uplink of its own and a satellite of its own. At least one.
    pub antennas: u32,
    /// Where it is when, in place of the point of its node.
    pub track: Option<Track>,
    /// It uses satellites higher than this; `None`: than the mask of [`GslRules`](crate::GslRules).
    pub elevation_mask: Option<Angle>,
    /// How it takes its satellites; `None`: as the rules and `gateway_policy` say.
    pub policy: Option<HandoverPolicy>,
    /// Parts of its sky in which it sees no satellite.
    pub obstructions: Vec<Obstruction>,
}

/// A part of a station's sky behind a tree, a building or a mast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obstruction {
    /// From the first clockwise to the second: of a station that moves from its front, of one that stands from north.
    pub azimuth: [Angle; 2],
    /// From the first up to the second.
    pub elevation: [Angle; 2],
}

impl Obstruction {
    /// Whether a direction lies in it; `bearing_deg` from 0° to 360°.
    pub(crate) fn hides(&self, bearing_deg: f64, elevation_deg: f64) -> bool {
        let [from, to] = self.azimuth.map(Angle::degrees);
        let width = to - from;
        let within = width >= 360.0 || (bearing_deg - from).rem_euclid(360.0) <= width.rem_euclid(360.0);
        let [low, high] = self.elevation.map(Angle::degrees);
        within && (low..=high).contains(&elevation_deg)
    }
}

impl StationOptions {
    /// One antenna, at the point of the node, by the rules of all.
    pub fn new(station: NodeId) -> StationOptions {
        StationOptions {
            station,
            antennas: 1,
            track: None,
            elevation_mask: None,
            policy: None,
            obstructions: Vec::new(),
        }
    }
}

/// What makes a route short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// Propagation delay.
    #[default]
    Delay,
    /// Links passed; of equal numbers the shorter delay.
    Hops,
}

/// Time from t = 0, the instant `start` of the calendar, to the first of the slots of length `every` one of which
/// begins at `second` of each full minute: for Starlink's 15 s slots at :12, :27, :42 and :57
/// (Tanveer et al., "Making sense of constellations", CoNEXT Companion 2023) `slot_phase(start, 12 s, 15 s)`.
pub fn slot_phase(start: Utc, second: Duration, every: Duration) -> Duration {
    let every = every.as_nanos().max(1);
    let begun = start.second_of_minute().as_nanos() % every;
    Duration::from_nanos((second.as_nanos() % every + every - begun) % every)
}
