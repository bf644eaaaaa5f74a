//! The description of a network, from which a [`Topology`](crate::Topology) is made.

use crate::NodeId;
use skyhop_base::{Angle, Duration, Length};
use skyhop_orbit::{Earth, GroundStation, Orbit};

/// Everything about a network but its packets.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologySpec {
    pub earth: Earth,
    /// A node's index in this list is its [`NodeId`]. Sort by name what was declared in any order: equal routes and
    /// equal satellites are told apart by it.
    pub nodes: Vec<NodeSpec>,
    pub wired: Vec<WiredLink>,
    /// Inter-satellite links; `None`: there are none.
    pub isl: Option<IslRules>,
    /// Ground-satellite links; `None`: there are none.
    pub gsl: Option<GslRules>,
    pub routing: RoutingRules,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// Unique.
    pub name: String,
    pub kind: NodeKind,
}

/// A node is what its description says.
pub type Node = NodeSpec;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeKind {
    Satellite {
        orbit: Orbit,
        /// Planes of one shell are neighbours in the order of their numbers.
        plane: u32,
        /// Slots of one plane count in the direction of flight: the satellite before this one trails it.
        slot: u32,
        /// Links between satellites join those of one shell only.
        shell: u32,
    },
    /// Forwards packets of others only when it has a wired link.
    Station(GroundStation),
    Wired,
}

/// One direction of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WiredLink {
    pub from: NodeId,
    pub to: NodeId,
    pub delay: Duration,
}

/// Links between satellites in a +Grid: each has its two neighbours in the plane and, in the planes before and after,
/// the satellite of its own slot.
///
/// Where the planes of a shell spread evenly over 360° (a Walker delta), the last is joined to the first, shifted by
/// the slots that the phasing makes. Otherwise (a star) a seam lies between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IslRules {
    pub cross_seam: CrossSeam,
    /// Links between planes are down while either end is beyond this latitude, north or south.
    pub latitude_limit: Option<Angle>,
    /// Links are down while their ray passes lower than this.
    pub grazing_altitude: Length,
    /// Links are checked at t = 0 and at every multiple of this.
    pub every: Duration,
}

impl IslRules {
    /// ns-2's: checks every 10 s, rays above 150 km (`algorithms.md` §5.3, §5.5); with the 60° of the Iridium paper's
    /// Table 1 and no links across the seam (§6 row 26).
    pub fn iridium() -> IslRules {
        IslRules {
            cross_seam: CrossSeam::Open,
            latitude_limit: Some(Angle::from_degrees(60.0)),
            grazing_altitude: Length::from_km(150.0),
            every: Duration::from_secs(10),
        }
    }
}

/// What joins the first and the last plane of a star, which fly against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossSeam {
    /// Nothing.
    Open,
    /// Each satellite has one transmitter across the seam and uses it while it and the nearest satellite over there
    /// are nearest to each other. The peer changes; latitude limit and grazing altitude apply.
    Nearest,
}

/// Links between stations and satellites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GslRules {
    /// A station sees the satellites that stand higher than this.
    pub elevation_mask: Angle,
    pub policy: HandoverPolicy,
    /// Mean time between two checks of a station. The first is at t = 0.
    pub every: Duration,
    pub check_times: CheckTimes,
}

impl GslRules {
    /// Mask of the Iridium paper's Table 1, ns-2's policy and interval (`algorithms.md` §5.5, §6 row 12).
    pub fn iridium() -> GslRules {
        GslRules {
            elevation_mask: Angle::from_degrees(8.2),
            policy: HandoverPolicy::UntilBelowMask,
            every: Duration::from_secs(10),
            check_times: CheckTimes::Regular,
        }
    }
}

/// Which satellite a station takes at a check. Equal ones: that of the lower [`NodeId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandoverPolicy {
    /// ns-2's: keep the satellite while it is above the mask; then the one that trails it in its plane; if that one is
    /// not above the mask, the highest of all.
    UntilBelowMask,
    /// The nearest above the mask, at each check.
    Nearest,
    /// The highest above the mask, at each check.
    HighestElevation,
    /// Keep the satellite while it is above the mask; then the one that will stay there longest.
    LongestVisibility,
    /// At each check one of those above the mask by chance, each station with a stream of its own: the n-th check of a
    /// station draws the same number whatever other stations do.
    Random { seed: u64 },
}

/// When a station checks its satellite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckTimes {
    /// At every multiple of the interval.
    Regular,
    /// After the interval times a number drawn uniformly from [½, 1½), each station with a stream of its own:
    /// `handoff_randomization_` of ns-2 (`algorithms.md` §5.5).
    Randomised { seed: u64 },
    /// At `phase` after t = 0 and then after every interval, and at t = 0: as a scheduler that follows the wall clock
    /// ([`slot_phase`](crate::slot_phase)).
    Slots { phase: Duration },
    /// When the choice changes, to the microsecond: when the satellite sinks below the mask, when another one is
    /// nearer. The interval is not used. A choice that lasts less than 1 s may be missed.
    Exact,
}

/// When routes are renewed: at each change of the links, and besides that …
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RoutingRules {
    /// … at every multiple of this, because delays move between changes.
    pub every: Option<Duration>,
}
