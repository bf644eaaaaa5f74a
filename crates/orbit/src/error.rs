//! What a caller can get wrong.

/// An orbit, a constellation or a ground station that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OrbitError {
    #[error("an altitude of {km} km is not possible for an orbit: use more than 0 km and at most 1000000 km")]
    Altitude { km: f64 },
    #[error("an inclination of {degrees} deg does not exist: use 0 to 180 deg")]
    Inclination { degrees: f64 },
    #[error("the {what} must be a finite angle, not {degrees} deg")]
    Angle { what: &'static str, degrees: f64 },
    #[error("a latitude of {degrees} deg does not exist: use -90 to 90 deg")]
    Latitude { degrees: f64 },
    #[error("a station at an altitude of {km} km is not on the ground: use -1 to 100 km")]
    StationAltitude { km: f64 },
    #[error("a constellation needs at least one plane with one satellite, not {planes} planes of {per_plane}")]
    Empty { planes: u32, per_plane: u32 },
    #[error("a constellation of {planes} planes of {per_plane} satellites is too large: at most {most} satellites")]
    TooLarge { planes: u32, per_plane: u32, most: u32 },
    #[error("a phasing of {factor} does not exist with {planes} planes: use 0 to {}", .planes - 1)]
    Phasing { factor: u32, planes: u32 },
    #[error("\"{text}\" is not an instant: write the UTC as in 2025-10-07T09:03:13.95Z, from the year 1800 to 2199")]
    Epoch { text: String },
    #[error("the {what} of the elements is {value}: use {valid}")]
    Elements { what: &'static str, value: f64, valid: &'static str },
    #[error("the elements describe no orbit: {reason}")]
    NoOrbit { reason: String },
    #[error("a track needs at least one waypoint")]
    EmptyTrack,
    #[error("waypoint {index} of a track is not later than the one before")]
    TrackOrder { index: usize },
    #[error("waypoints {index} and {} of a track are on opposite sides of the Earth: add one between them", .index + 1)]
    TrackAntipodes { index: usize },
}
