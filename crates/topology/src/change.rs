//! What a check of the sky finds.

use crate::{LinkId, NodeId};
use skyhop_base::{Angle, Length, Time};
use std::fmt;

/// One thing that changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    LinkUp {
        link: LinkId,
        why: Why,
    },
    LinkDown {
        link: LinkId,
        why: Why,
    },
    /// A station has another satellite. The links that go up or down with it follow.
    Handover(Handover),
    /// Routes must be renewed. At most once per check, and last.
    Routes,
}

/// Between what a station changes: the kinds of Nirmala and Pujeri, "Performance of TCP Vegas, Bic and Reno Congestion
/// Control Algorithms on Iridium Satellite Constellations" (intra-satellite, inter-satellite, inter-system), but for
/// that between gateways, which concerns a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverKind {
    /// Satellites, or one and none.
    Satellite,
    /// Beams of one satellite.
    Beam,
    /// Satellites and the terrestrial network.
    Terrestrial,
}

impl HandoverKind {
    /// As records call it.
    pub const fn name(self) -> &'static str {
        match self {
            HandoverKind::Satellite => "satellite",
            HandoverKind::Beam => "beam",
            HandoverKind::Terrestrial => "terrestrial",
        }
    }
}

/// A station changes its satellite, its beam, or its network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Handover {
    pub at: Time,
    pub kind: HandoverKind,
    pub terminal: NodeId,
    /// `None`: it had none.
    pub from: Option<NodeId>,
    /// `None`: it has none now.
    pub to: Option<NodeId>,
    /// Beams of the two satellites, if they have beams.
    pub beams: [Option<u32>; 2],
    /// Of the new satellite, or of the lost one when there is no new one; zero when there is neither.
    pub elevation: Angle,
    /// To the same satellite.
    pub slant_range: Length,
    pub why: Why,
}

/// Why something changed. [`Display`](fmt::Display) writes it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    InSight,
    BeyondLatitude,
    Grazing,
    SeamNeighbour,
    PhaseNeighbour,
    FirstContact,
    TrailingSatellite,
    HighestAfterLoss,
    LongestAfterLoss,
    NearestAfterLoss,
    Nearer,
    Higher,
    NoneInSight,
    ServesStation,
    ServesNone,
    TooFar,
    Nearest,
    NearerPair,
    Drawn,
    DrawnAfterLoss,
    NoGateway,
    NoRoom,
    Acquiring,
    Acquired,
    NextBeam,
    OnlyTerrestrial,
    TooLow,
    TerrestrialTime,
    TerrestrialCoverage,
    BackToSatellite,
}

impl Why {
    pub const fn words(self) -> &'static str {
        match self {
            Why::InSight => "both ends in sight of each other",
            Why::BeyondLatitude => "link between planes, an end beyond the latitude limit",
            Why::Grazing => "the ray passes below the grazing altitude",
            Why::SeamNeighbour => "another satellite across the seam is nearer",
            Why::PhaseNeighbour => "another satellite of the next plane is nearer in phase",
            Why::FirstContact => "no satellite before, now one in sight",
            Why::TrailingSatellite => "below the mask, trailing satellite of the plane",
            Why::HighestAfterLoss => "below the mask, highest satellite in sight",
            Why::LongestAfterLoss => "below the mask, satellite that stays in sight longest",
            Why::NearestAfterLoss => "below the mask, nearest satellite in sight",
            Why::Nearer => "another satellite is nearer",
            Why::Higher => "another satellite is higher",
            Why::NoneInSight => "below the mask, no satellite in sight",
            Why::ServesStation => "serves a station",
            Why::ServesNone => "serves no station",
            Why::TooFar => "the ends are further apart than the longest link",
            Why::Nearest => "the closest two with a transmitter free",
            Why::NearerPair => "other satellites are closer",
            Why::Drawn => "drawn by chance at the check",
            Why::DrawnAfterLoss => "below the mask, drawn by chance",
            Why::NoGateway => "the satellite serves no gateway any more",
            Why::NoRoom => "every satellite in sight serves as many users as it can",
            Why::Acquiring => "the next satellite is being acquired",
            Why::Acquired => "the outage of the handover is over",
            Why::NextBeam => "another spot beam of the satellite",
            Why::OnlyTerrestrial => "no satellite can be had, the terrestrial network can",
            Why::TooLow => "no satellite stands high enough, the terrestrial network is used",
            Why::TerrestrialTime => "the terrestrial network is used at this time",
            Why::TerrestrialCoverage => "the terrestrial network covers the place",
            Why::BackToSatellite => "the terrestrial network is left for a satellite",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
