//! What a caller can get wrong.

use crate::NodeId;
use skyhop_base::Duration;
use skyhop_orbit::OrbitError;

/// A network that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    #[error("the network has {nodes} nodes, at most {most} can be routed")]
    TooManyNodes { nodes: usize, most: usize },
    #[error("two nodes are called \"{name}\"")]
    DuplicateNode { name: String },
    #[error("satellite \"{name}\": {source}")]
    Orbit { name: String, source: OrbitError },
    #[error("satellites \"{first}\" and \"{second}\" share one slot of a plane")]
    SharedSlot { first: String, second: String },
    #[error(
        "planes {first} and {second} of shell {shell} hold {first_len} and {second_len} satellites: +Grid links need \
         equal planes"
    )]
    UnevenPlanes { shell: u32, first: u32, first_len: usize, second: u32, second_len: usize },
    #[error("a wired link names node {}, but the network has {nodes}", .node.as_u32())]
    UnknownNode { node: NodeId, nodes: usize },
    #[error("a wired link joins \"{name}\" to itself")]
    SelfLink { name: String },
    #[error("a wired link ends at the satellite \"{name}\"")]
    WiredSatellite { name: String },
    #[error("a wired link of {delay} is longer than {longest}")]
    WiredDelay { delay: Duration, longest: Duration },
    #[error("two links are called \"{name}\"")]
    DuplicateLink { name: String },
    #[error(
        "station \"{name}\" has no satellite to talk to: the network has no satellites or no rules for ground links"
    )]
    NoConstellation { name: String },
    #[error("the interval of {what} must be longer than zero")]
    Interval { what: &'static str },
    #[error("an elevation mask of {degrees} deg does not exist: use -90 to less than 90 deg")]
    ElevationMask { degrees: f64 },
    #[error("a latitude limit of {degrees} deg does not exist: use 0 to 90 deg")]
    LatitudeLimit { degrees: f64 },
    #[error("a grazing altitude of {km} km is not an altitude")]
    GrazingAltitude { km: f64 },
    #[error("satellite \"{name}\" comes from elements and has no plane: use nearest neighbours or a list of links")]
    GridWithoutPlanes { name: String },
    #[error("satellite \"{name}\" has no place in a plane: its elements describe no motion at the start")]
    NoPlace { name: String },
    #[error("links to the nearest neighbours need the length of the longest link")]
    NoLongestIsl,
    #[error("the longest link of {km} km must be longer than zero")]
    LongestIsl { km: f64 },
    #[error("the longest range of {km} km between station and satellite must be longer than zero")]
    LongestGsl { km: f64 },
    #[error("a satellite cannot have {links} links to its neighbours: use 1 to 16")]
    NearestLinks { links: u32 },
    #[error("a satellite cannot have {terminals} terminals in a grid: use 4 to 16")]
    Terminals { terminals: u32 },
    #[error("the link {} of the list does not join two satellites of the network", .index + 1)]
    ListedLink { index: usize },
    #[error("the link between \"{first}\" and \"{second}\" is listed twice")]
    ListedTwice { first: String, second: String },
    #[error("the options number {} belong to no station of the network, or to one that has options \
        already", .index + 1)]
    StationOptions { index: usize },
    #[error(
        "the terrestrial network of entry {index} needs a station with one antenna, named once, and wires to and fro"
    )]
    Terrestrial { index: usize },
    #[error("beams need rings without an empty one, at most {most} beams in all, and an interval longer than zero")]
    Beams { most: u32 },
    #[error("station \"{name}\" cannot have {antennas} antennas: use 1 to 64")]
    Antennas { name: String, antennas: u32 },
    #[error("no user can be served when a satellite serves at most 0")]
    UsersPerSatellite,
}
