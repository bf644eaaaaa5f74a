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

/// A station changes its satellite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Handover {
    pub at: Time,
    pub terminal: NodeId,
    /// `None`: it had none.
    pub from: Option<NodeId>,
    /// `None`: it has none now.
    pub to: Option<NodeId>,
    /// Of the new satellite, or of the lost one when there is no new one.
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
}

impl Why {
    pub const fn words(self) -> &'static str {
        match self {
            Why::InSight => "both ends in sight of each other",
            Why::BeyondLatitude => "link between planes, an end beyond the latitude limit",
            Why::Grazing => "the ray passes below the grazing altitude",
            Why::SeamNeighbour => "another satellite across the seam is nearer",
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
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
